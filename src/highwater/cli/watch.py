"""`highwater check --watch`: check again what changed, until Ctrl-C."""

from __future__ import annotations

import importlib
import linecache
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty, Queue
from threading import Event, Thread
from types import ModuleType

from highwater.claims import own
from highwater.claims.spec import SpecError, find_specs
from highwater.cli.options import INTERRUPTED, complain
from highwater.distribution import installing
from highwater.explorer.sources import Stamp, is_library, stamp_as_imported, stamp_of
from highwater.reports.progress import make_console

SECONDS_BETWEEN_LOOKS = 1.0  # at files of which the system tells nothing


def watch_and_check(paths: tuple[Path, ...], check: Callable[[tuple[Path, ...]], int]) -> int:
    """Check all specs, then each spec again when its file changes, and all when a model of one's own does.

    Args:
        check: checks some specs and returns an exit code.

    Returns:
        The exit code of the last check. One that was interrupted is the last.

    Raises:
        SpecError: the library that watches files is not installed, or a path does not exist.
    """
    folders, errors = _folders(paths), make_console(stderr=True)
    linked = Linked(paths, folders)
    with _changes(folders) as changes:
        code = check(paths)
        try:
            while code != INTERRUPTED:
                linked.note()
                errors.print(f"watching {', '.join(map(str, folders))}; Ctrl-C ends it", soft_wrap=True)
                while not (todo := specs_to_check(paths, _next(changes, linked))):
                    pass
                linked.note()
                code = check(todo)
        except KeyboardInterrupt:
            pass
    return code


class Linked:
    """The files of specs and models that links lead to, outside the folders that are watched: nothing tells that they
    change.
    """

    def __init__(self, paths: Iterable[Path], folders: Iterable[Path]) -> None:
        self._paths, self._folders = tuple(paths), tuple(folders)
        self._known: dict[Path, Stamp] = {}
        self.note()

    def __bool__(self) -> bool:
        return bool(self._known)

    def note(self) -> None:
        """Note those that came, such as modules that a check has imported."""
        seen = {file: stamp_of(str(file)) for file in _specs_at(self._paths)}
        for module in _own_modules():  # one that was saved since it was imported differs from what was imported
            seen |= dict.fromkeys(_files_of([module]), stamp_as_imported(module.__name__))
        for file, stamp in seen.items():
            if not any(map(file.resolve().is_relative_to, self._folders)):
                self._known.setdefault(file, stamp)

    def changed(self) -> set[Path]:
        """Those that have changed since they were looked at last."""
        now = {file: stamp_of(str(file)) for file in self._known}
        changed = {file for file, stamp in now.items() if stamp != self._known[file]}
        self._known = now
        return changed


def _next(changes: Queue[set[Path]], linked: Linked) -> set[Path]:
    """What has changed, once something has, or after a while."""
    try:
        return changes.get(timeout=SECONDS_BETWEEN_LOOKS if linked else None) | linked.changed()
    except Empty:
        return linked.changed()


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
    """The specs that may come out otherwise after files have changed. Of one that was removed it says so."""
    paths = tuple(paths)
    specs = _specs_at(paths)
    files = {file.resolve() for file in changed}
    for path in paths:
        if path.resolve() in files and not path.exists():
            complain(SpecError(f"{path}: was removed; it is checked again once it is there"))
    if any(map(_may_be_of_a_model, changed)):
        forget_own_models()
        return tuple(specs)
    return tuple(spec for spec in specs if any(map(spec.resolve().is_relative_to, files)))


def _specs_at(paths: Iterable[Path]) -> list[Path]:
    """The specs that are there of those that were named."""
    found: dict[Path, None] = {}
    for path in paths:
        with suppress(SpecError):  # it was removed
            found.update(dict.fromkeys(find_specs([path])))
    return list(found)


def _may_be_of_a_model(changed: Path) -> bool:
    """Whether it is a file of Python, or a folder that came or went as a whole, with what is in it."""
    came = changed.is_dir() and next(changed.rglob("*.py"), None) is not None
    return came or changed.suffix == ".py" or any(file.is_relative_to(changed) for file in _files_of(_own_modules()))


def _own_modules() -> list[ModuleType]:
    """The modules that were imported from folders of one's own, and the packages that are folders alone."""
    folders = [Path(folder) for folder in own.folders()]

    def is_own(place: Path) -> bool:
        return any(map(place.is_relative_to, folders)) and not is_library(place)

    return [module for module in list(sys.modules.values()) if any(map(is_own, _places_of(module)))]


def _places_of(module: ModuleType) -> list[Path]:
    file = getattr(module, "__file__", None)
    return [Path(each) for each in (*([file] if file else ()), *getattr(module, "__path__", ()))]


def _files_of(modules: Iterable[ModuleType]) -> list[Path]:
    return [Path(file) for file in (getattr(module, "__file__", None) for module in modules) if file]


def forget_own_models() -> None:
    """Have Python read models of one's own again when a spec names them next."""
    forgotten = _own_modules()
    for name in [name for name, module in sys.modules.items() if module in forgotten]:
        del sys.modules[name]
    linecache.clearcache()
    importlib.invalidate_caches()


def _folders(paths: Iterable[Path]) -> list[Path]:
    """Where specs and models of one's own are."""
    near = [path if path.is_dir() else path.parent for path in (*find_specs(paths), *filter(Path.is_dir, paths))]
    folders = sorted({folder.resolve() for folder in [*near, *map(Path, own.folders())]})
    return [
        folder for folder in folders if not any(folder != other and folder.is_relative_to(other) for other in folders)
    ]
