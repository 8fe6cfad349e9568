"""Models and properties of one's own: `package.module:NAME`, from a folder that the user named or from beside the spec.

A spec or a report may come from anywhere, and to import a module is to execute it. So a name in one of them imports
nothing that merely happens to be there, be it in the current folder, in the standard library or installed. An installed
distribution offers its modules to specs by entry points of the group `highwater.models`.
"""

from __future__ import annotations

import importlib
import linecache
import os
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from importlib.machinery import (
    BYTECODE_SUFFIXES,
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    PathFinder,
    SourceFileLoader,
    SourcelessFileLoader,
)
from pathlib import Path
from typing import Any

from highwater.claims.tables import Wrong, did_you_mean, shown
from highwater.explorer.blame import line_of
from highwater.explorer.sources import (
    HOUSE,
    INSTALLED,
    Stamp,
    digest,
    forget_models,
    hidden_beside,
    is_library,
    noted,
    spec_of,
    stamp_of,
)

GROUP = "highwater.models"
_REFERENCE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")
_GIVEN: dict[str, Any] = {}
_FOLDERS: dict[str, None] = {}
_BESIDE: dict[str, None] = {}
_UNPACKED: dict[str, Path] = {}
"""Folders of modules that came from another machine, by a hash of their code."""
_confined: list[Path] = []
_here: ContextVar[Path | None] = ContextVar("the folder of the spec that is being read", default=None)
_trusted: ContextVar[bool] = ContextVar("whether names were resolved before, by another process", default=False)


def is_reference(name: str) -> bool:
    """Whether a name in a spec points into a module rather than into the catalogues."""
    return ":" in name


def reference_to(given: Any) -> str:
    """A name under which `load` finds an object of this process: of a model its variable's, if it has one."""
    named = getattr(given, "function", given)
    module, name = getattr(named, "__module__", type(given).__module__), getattr(named, "__name__", None) or given.name
    defined = sys.modules.get(getattr(getattr(given, "define", None), "__module__", ""))  # where a model is
    variables = [name for name, value in vars(defined).items() if value is given] if defined else []
    reference = f"{defined.__name__}:{variables[0]}" if defined and variables else f"{module}:{name}"
    _GIVEN[reference] = given
    return reference


def search(folders: Iterable[Path]) -> None:
    """Look for modules in these folders too, after all installed ones.

    Raises:
        NotADirectoryError: one of them is no folder.
    """
    for folder in folders:
        if not folder.is_dir():
            raise NotADirectoryError(f"{folder}: --model-path needs a folder that exists")
        _FOLDERS[str(folder.resolve())] = None
        _add_to_path(folder.resolve())


def find_in(folders: Iterable[str]) -> None:
    """Let Python find what another process has found in these folders, where they exist. Specs may name nothing for
    that.
    """
    for folder in filter(Path.is_dir, map(Path, folders)):
        _add_to_path(folder.resolve())


def offer(places: Iterable[Path]) -> None:
    """Let specs name modules in these folders and archives, which are on Python's path already."""
    _FOLDERS.update(dict.fromkeys(str(place.resolve()) for place in places))


def confine(folder: Path) -> None:
    """Import nothing any more that specs name and whose file is not below a folder, links followed, be it offered or
    not. Highwater's own models stay.
    """
    _confined[:] = [folder.resolve()]


def _add_to_path(folder: Path) -> None:
    _read_as_text(folder)
    if str(folder) not in sys.path[1:]:  # what stands first may be what `python -m` put there
        sys.path.append(str(folder))
        importlib.invalidate_caches()


class _Text(SourceFileLoader):
    """Imports what stands in a file now. Bytecode may be of an older text: Python compares lengths and the second of
    the last change only.
    """

    def path_stats(self, path: str) -> Mapping[str, Any]:
        raise OSError(path)  # which says that there is no bytecode to be had

    def get_data(self, path: str) -> bytes:
        _read[path] = stamp_of(path)
        return super().get_data(path)


_LOADERS: tuple[Any, ...] = (
    (ExtensionFileLoader, EXTENSION_SUFFIXES),
    (_Text, SOURCE_SUFFIXES),
    (SourcelessFileLoader, BYTECODE_SUFFIXES),
)
_texts: dict[Path, None] = {}
_read: dict[str, Stamp] = {}  # by file that was imported, what it was


def read_again() -> None:
    """Have Python read models of one's own again, if one was saved since it was imported: a process that goes on, as in
    a notebook, is asked for the text that stands there now.
    """
    if any(stamp_of(file) not in (None, stamp) for file, stamp in _read.items()):
        _read.clear()
        forget_models()
        linecache.clearcache()


def _read_as_text(folder: Path) -> None:
    """Import modules in a folder, and those below, from their texts."""
    if folder in _texts:
        return
    if not _texts:
        sys.path_hooks.insert(0, _finder_of_texts)
    _texts[folder] = None
    for known in [each for each in sys.path_importer_cache if Path(each).is_relative_to(folder)]:
        del sys.path_importer_cache[known]


def _finder_of_texts(folder: str) -> FileFinder:
    """A hook of Python's import system: what finds modules in a folder of one's own.

    Raises:
        ImportError: it is another one, such as of an environment inside.
    """
    path = Path(folder)
    if not path.is_dir() or is_library(path) or not any(map(path.is_relative_to, _texts)):
        raise ImportError(folder)
    return FileFinder(folder, *_LOADERS)


def folders() -> tuple[str, ...]:
    """The folders that are searched, for other processes to search."""
    return (*_FOLDERS, *_BESIDE)


def folders_of(names: Iterable[str]) -> tuple[str, ...]:
    """The same, and where this process has found the modules that some names in a spec point into, such as beside a
    script, unless they are installed.
    """
    tops = dict.fromkeys(name.partition(":")[0].partition(".")[0] for name in names if is_reference(name))
    origins = [Path(str(spec.origin)) for top in tops if (spec := spec_of(top)) is not None and spec.has_location]
    found = [each.parent.parent if each.stem == "__init__" else each.parent for each in origins]
    own = [str(each) for each in found if each != HOUSE.parent and not INSTALLED.intersection(each.parts)]
    return tuple(dict.fromkeys((*folders(), *own)))


def modules_of_ones_own(names: Iterable[str]) -> list[str]:
    """The modules that some names in a spec point into, but those that are installed."""
    specs = {module: spec_of(module) for module in _modules(names)}
    return [
        module
        for module, spec in specs.items()
        if spec is not None and spec.has_location and not INSTALLED.intersection(Path(str(spec.origin)).parts)
    ]


def _modules(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(name.partition(":")[0] for name in names if is_reference(name)))


def unpack(files: Mapping[str, bytes], names: Iterable[str]) -> None:
    """Let modules of another machine be imported here, where this one does not have those that some names point into.

    Those of an earlier search are not found any more.

    Args:
        files: their code, by path; see `highwater.explorer.sources.texts_of`.
    """
    key = digest(part for path, text in sorted(files.items()) for part in (path.encode(), text))
    for other in [folder for of, folder in _UNPACKED.items() if of != key]:
        if str(other) in sys.path:
            sys.path.remove(str(other))
    if key not in _UNPACKED and any(spec_of(name.partition(".")[0]) is None for name in _modules(names)):
        place = os.environ.get("SPARK_LOCAL_DIRS", tempfile.gettempdir()).partition(",")[0]  # which Spark removes
        _UNPACKED[key] = Path(tempfile.mkdtemp(prefix="highwater-models-", dir=place))
        for path, text in files.items():
            (_UNPACKED[key] / path).parent.mkdir(parents=True, exist_ok=True)
            (_UNPACKED[key] / path).write_bytes(text)
    if key in _UNPACKED:
        _add_to_path(_UNPACKED[key])


@contextmanager
def beside(spec: Path) -> Iterator[None]:
    """While a spec is read, modules in its folder may be named, too."""
    before = _here.set(spec.resolve().parent)
    try:
        yield
    finally:
        _here.reset(before)


@contextmanager
def trusting() -> Iterator[None]:
    """While names are resolved that the driver of a cluster has resolved before, wherever their modules are on this
    machine.
    """
    before = _trusted.set(True)
    try:
        yield
    finally:
        _trusted.reset(before)


def load(reference: str, key: str, *kind: type) -> Any:
    """The object that a reference in a spec names.

    Raises:
        Wrong: there is no such module or name, it cannot be imported, or it is of no such kind.
    """
    if reference in _GIVEN and isinstance(_GIVEN[reference], kind):
        return _GIVEN[reference]
    if not _REFERENCE.fullmatch(reference):
        raise Wrong(f'{key}: {shown(reference)} is not of the form "package.module:NAME"')
    module_name, _, name = reference.partition(":")
    module = _import(module_name, key)
    found = getattr(module, name, None)
    if isinstance(found, kind):
        return found
    there = [n for n, value in vars(module).items() if isinstance(value, kind)]
    wanted = " or ".join(one.__name__ for one in kind)
    what = (
        f"{module_name} has no {name}"
        if found is None
        else f"{name} in {module_name} is a {type(found).__name__}, no {wanted}"
    )
    allowed = f"; allowed are {', '.join(there)}" if there else f"; there is no {wanted} in {module.__file__}"
    raise Wrong(f"{key}: {what}{did_you_mean(name, there)}{allowed}")


def _import(name: str, key: str) -> Any:
    with _without_current_folder():
        _look_beside(name.partition(".")[0])
        if not _trusted.get():
            _refuse_unless_offered(name, key)
        module = _imported(name, key)
        _refuse_what_is_hidden(name, key)
        return module


def _imported(name: str, key: str) -> Any:
    try:
        with noted():
            return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not (name + ".").startswith(error.name + "."):
            raise Wrong(f"{key}: {name} cannot be imported: {error}{_at(error)}") from error
        here = Path(*name.split("."))
        near = here.with_suffix(".py").exists() or here.is_dir()
        hint = (
            "; the current folder is searched only with --model-path ."
            if near
            else "; name its folder with --model-path"
        )
        raise Wrong(f"{key}: there is no module {error.name}{hint}") from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise Wrong(f"{key}: {name} cannot be imported: {type(error).__name__}: {error}{_at(error)}") from error


def _at(error: BaseException) -> str:
    """The line of the model that raised, with a space before it; empty if none did."""
    return f" {where}" if (where := line_of(error)) else ""


def _look_beside(top: str) -> None:
    """Add the folder of the spec to Python's path if a module is there and nowhere else."""
    here = _here.get()
    if here is None or PathFinder.find_spec(top, [str(here)]) is None:
        return
    _read_as_text(here)
    if spec_of(top) is None:
        _BESIDE[str(here)] = None
        _add_to_path(here)


def _is_offered(name: str) -> bool:
    """Whether an installed distribution offers a module to specs."""
    from importlib.metadata import entry_points  # imports much

    return any(f"{name}.".startswith(f"{each.module}.") for each in entry_points(group=GROUP))


def _refuse_unless_offered(name: str, key: str) -> None:
    """Refuse to import a module that is not offered to specs.

    Raises:
        Wrong: a file that the import executes is in none of the folders, and no entry point names the module.
    """
    parts = name.split(".")
    if parts[0] == "highwater" and parts[1:2] in (["model"], ["invariants"]):
        return
    specs = [spec_of(".".join(parts[:count])) for count in range(1, len(parts) + 1)]
    executed = [each for each in specs if each is not None and (each.origin or each.submodule_search_locations is None)]
    for root in _confined:
        for each in executed:
            if not (each.has_location and Path(str(each.origin)).resolve().is_relative_to(root)):
                raise Wrong(f"{key}: {name} ({each.origin or 'no file'}) is not below {root}, and is not imported")
    folders = [*map(Path, _FOLDERS), *filter(None, [_here.get()])]
    outside = [
        each.origin or "no file"
        for each in executed
        if not (each.has_location and _is_in(str(each.origin), folders, parts[0]))
    ]
    if outside and _is_offered(name):
        return
    here = _here.get()
    same = PathFinder.find_spec(parts[0], [str(here)]) if here is not None else None
    theirs = executed[0].origin if executed else None
    if theirs and same is not None and same.origin and Path(same.origin).resolve() != Path(theirs).resolve():
        raise _hidden(key, theirs, same.origin)
    if not outside:
        return
    how = (
        "name its folder with --model-path, "
        f'or have its distribution declare it by an entry point of the group "{GROUP}"'
    )
    raise Wrong(
        f"{key}: {name} ({outside[0]}) is neither beside the spec nor below a --model-path, and is not imported; {how}"
    )


def _refuse_what_is_hidden(name: str, key: str) -> None:
    """Refuse a module that has imported another one than lies beside it, such as that of an earlier spec.

    Raises:
        Wrong: it has.
    """
    with suppress(OSError, SyntaxError):  # whoever asks for its code reports that
        if found := hidden_beside(name):
            raise _hidden(key, *found)


def _hidden(key: str, theirs: str, ours: str) -> Wrong:
    module = Path(ours).parent.name if Path(ours).stem == "__init__" else Path(ours).stem
    return Wrong(f"{key}: Python imports {module} from {theirs}, which hides {ours}; rename the latter")


def _is_in(file: str, folders: Iterable[Path], top: str) -> bool:
    """Whether a file is that top-level module of one of the folders, or part of that package: installed ones may lie
    further below.
    """
    ways = (Path(file), Path(file).resolve())
    return any(way.parent == folder or way.is_relative_to(folder / top) for way in ways for folder in folders)


@contextmanager
def _without_current_folder() -> Iterator[None]:
    """Without the entry that `python -m` and `python -c` put first."""
    # its own options, not those of what it runs
    interpreters = sys.orig_argv[1 : len(sys.orig_argv) - len(sys.argv) + 1]
    started_so = not sys.flags.safe_path and any(word in ("-m", "-c") for word in interpreters)
    first = sys.path[0] if sys.path else None
    if not started_so or first is None or Path(first or ".").resolve() != Path(os.getcwd()).resolve():
        yield
        return
    del sys.path[0]
    try:
        yield
    finally:
        sys.path.insert(0, first)
