"""The program `highwater`, which is also `python -m highwater`. It imports next to nothing before it can answer
Ctrl-C.
"""

import sys


def main() -> None:
    """Run the command line."""
    try:
        from highwater.cli.main import main as commands
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(130)  # highwater.cli.options.INTERRUPTED, whose import was interrupted
    commands(prog_name="highwater")


if __name__ == "__main__":
    main()
