"""`highwater check --watch`: check again what changed, until Ctrl-C."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Queue
from threading import Event, Thread

from highwater.claims import own
from highwater.claims.positions import may_be_spec
from highwater.claims.spec import SpecError, find_specs
from highwater.distribution import installing
from highwater.reports.progress import make_console


def watch_and_check(paths: tuple[Path, ...], check: Callable[[tuple[Path, ...]], int]) -> int:
    """Check all specs, then each spec again when its file changes, and all when a model of one's own does.

    Args:
        check: checks some specs and returns an exit code.

    Returns:
        The exit code of the last check.

    Raises:
        SpecError: the library that watches files is not installed, or a path does not exist.
    """
    folders, errors = _folders(paths), make_console(stderr=True)
    sys.dont_write_bytecode = True  # a model that changes twice within a second would be read from the older one
    with _changes(folders) as changes:
        code = check(paths)
        try:
            while True:
                errors.print(f"watching {', '.join(map(str, folders))}; Ctrl-C ends it", soft_wrap=True)
                while not (todo := specs_to_check(paths, changes.get())):
                    pass
                code = check(todo)
        except KeyboardInterrupt:
            return code


@contextmanager
def _changes(folders: Iterable[Path]) -> Iterator[Queue[set[Path]]]:
    """The files that change below some folders, from now on, also while nobody looks."""
    try:
        from watchfiles import watch
    except ModuleNotFoundError:
        raise SpecError(f"--watch needs the library watchfiles; {installing('watch')}") from None
    changes: Queue[set[Path]] = Queue()
    begun, stop = Event(), Event()

    def collect() -> None:
        # a first timeout says that the system watches
        for found in watch(*folders, stop_event=stop, yield_on_timeout=True, rust_timeout=100):
            begun.set()
            if found:
                changes.put({Path(file) for _, file in found})

    watcher = Thread(target=collect, daemon=True)
    watcher.start()
    while not begun.wait(0.1) and watcher.is_alive():
        pass
    try:
        yield changes
    finally:
        stop.set()
        watcher.join()


def specs_to_check(paths: Iterable[Path], changed: set[Path]) -> tuple[Path, ...]:
    """The specs that may come out otherwise after files have changed."""
    try:
        specs = find_specs(paths)
    except SpecError:  # the last one was removed
        return ()
    if any(file.suffix == ".py" for file in changed):
        forget_own_models()
        return tuple(specs)
    files = {file.resolve() for file in changed if may_be_spec(file)}
    return tuple(spec for spec in specs if spec.resolve() in files)


def forget_own_models() -> None:
    """Have Python read models of one's own again when a spec names them next."""
    folders = [Path(folder) for folder in own.folders()]
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file and any(Path(file).is_relative_to(folder) for folder in folders):
            del sys.modules[name]
    linecache.checkcache()


def _folders(paths: Iterable[Path]) -> list[Path]:
    """Where specs and models of one's own are."""
    near = [path if path.is_dir() else path.parent for path in (*find_specs(paths), *filter(Path.is_dir, paths))]
    folders = sorted({folder.resolve() for folder in [*near, *map(Path, own.folders())]})
    return [
        folder for folder in folders if not any(folder != other and folder.is_relative_to(other) for other in folders)
    ]
