"""Ends what a cluster leaves, however its owner ends. It is a process of its own, and imports nothing of the house.

It prints the number of a process group that the cluster's processes join. It reads standard input until the owner
closes it, or dies. Then it kills the group, paused processes included, and removes the folder.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys


def main(folder: str) -> None:
    """Watch over one folder."""
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    leader = os.fork()
    if leader == 0:
        os.setpgid(0, 0)
        while True:
            signal.pause()
    with contextlib.suppress(PermissionError):  # the child was faster
        os.setpgid(leader, leader)
    print(leader, flush=True)
    sys.stdin.buffer.read()
    os.killpg(leader, signal.SIGKILL)
    os.waitpid(leader, 0)
    for _ in range(50):  # a dying process may still create a file
        shutil.rmtree(folder, ignore_errors=True)
        if not os.path.exists(folder):
            return


if __name__ == "__main__":
    main(sys.argv[1])
