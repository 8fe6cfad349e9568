"""Which code something depends on: files by what is in them, installed distributions by version.

A checkpoint, and machine code kept on disk, are of use only to the code that made them. What a module imports is read
off its source, within functions too, and found without importing it: two processes agree however much each has imported
so far.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.resources
import importlib.util
import json
import os
import re
import sys
import sysconfig
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from highwater.explorer.kept_files import make_folder, own_folder, read, write

if TYPE_CHECKING:  # imports much
    from importlib.metadata import Distribution

HOUSE = Path(__file__).parent.parent
"""The folder of the package `highwater`, in which everything of Highwater is."""
SCAFFOLD = HOUSE / "scaffold"
LANGUAGE = HOUSE / "model" / "language"
INSTALLED = {"site-packages", "dist-packages"}
ANSWERS, NAME = "sources", "answers-1"
STANDARD = tuple(Path(sysconfig.get_path(which)) for which in ("stdlib", "platstdlib"))


class Origin(Enum):
    """Where a module is from: Highwater's models and properties, its machinery and modelling language, or elsewhere.
    What is KNOWN is known by name, as its version is part of every description.
    """

    STANDARD = "the standard library"
    INSTALLED = "a distribution"
    MACHINERY = "Highwater"
    MODELS = "a model of Highwater"
    ELSEWHERE = "elsewhere"


KNOWN = (Origin.STANDARD, Origin.INSTALLED, Origin.MACHINERY)


class SourceError(Exception):
    """The code that something depends on cannot be known, as a file of it was removed or spoiled."""


@attrs.frozen
class Sources:
    """What some modules depend on.

    Attributes:
        modules: the hash of each module's file, by the module's name.
        distributions: the version of each installed distribution, by its name.
    """

    modules: dict[str, str]
    distributions: dict[str, str]


def sources_of(modules: Iterable[str]) -> Sources:
    """The code of some modules, and of all that they import, and so on.

    The standard library is left out, as its version is Python's. So are Highwater's own packages but for its models and
    properties. An installed distribution counts by its version, unless one of the given modules is part of it.

    Raises:
        SourceError: a file cannot be read.
    """
    asked = frozenset(modules)
    known = _known.get(asked)
    if known is not None and all(_is_as_it_was(name, *found) for name, found in known[1].items()):
        return known[0]
    todo = set(asked)
    stamps: dict[str, tuple[str, Stamp]] = {}
    own = {_top(name) for name in todo}
    files: dict[str, str] = {}
    versions = {"python": f"{sys.version_info.major}.{sys.version_info.minor}"}
    seen: set[str] = set()
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        todo |= {name.rpartition(".")[0]} - {""}  # importing a.b runs a first
        if _top(name) not in own and _is_installed(_top(name)):
            versions |= _version_of(_top(name))
            continue
        spec = spec_of(name)
        if spec is None or spec.origin is None or not spec.has_location or _is_left_out(Path(spec.origin)):
            continue
        stamps[name] = spec.origin, stamp_of(spec.origin)
        try:
            code = _read(spec)
            todo |= _imported(code, _package_of(spec)) if spec.origin.endswith(".py") else set()
        except (OSError, SyntaxError) as error:
            why = f"cannot be read: {error.strerror}" if isinstance(error, OSError) else f"is no Python: {error}"
            raise SourceError(f"{spec.origin}: the module {name} is of this file, which {why}") from None
        files[name] = hashlib.sha256(code).hexdigest()
    _keep_answers()
    found = Sources(dict(sorted(files.items())), dict(sorted(versions.items())))
    _known[asked] = found, stamps
    return found


def hidden_beside(module: str) -> tuple[str, str] | None:
    """Of what a module imports, and what that imports and so on, a file that Python takes in place of one that is
    beside the importing file, and the latter; None if there is none. A library hides what it hides for every model, and
    is not looked into; nor is an archive.

    Raises:
        OSError, SyntaxError: a file cannot be read, or is no Python.
    """
    todo, seen = [module], set[str]()
    while todo:
        name = todo.pop()
        spec = None if name in seen else spec_of(name)
        seen.add(name)
        file = Path(str(spec.origin)) if spec is not None and spec.has_location else Path()
        if spec is None or file.suffix != ".py" or is_library(file) or not file.is_file():
            continue
        imported = sorted(_imported_by(_read(spec), _package_of(spec)))
        folder = file.parents[name.count(".") + (spec.submodule_search_locations is not None)]
        for top in sorted(set(map(_top, imported))):
            found = spec_of(top), PathFinder.find_spec(top, [str(folder)])
            theirs, ours = (Path(str(each.origin)) if each and each.has_location else None for each in found)
            if theirs and ours and theirs.resolve() != ours.resolve() and not is_library(theirs):
                return str(theirs), str(ours)
        todo += imported
    return None


def texts_of(modules: Iterable[str]) -> dict[str, bytes]:
    """The code of some modules, and of all that they import and so on, but what is installed: by the path at which
    Python finds each below a folder.

    Raises:
        SourceError: a file cannot be read.
    """
    found = {}
    for name in sources_of(modules).modules:
        spec = spec_of(name)
        if spec is None or spec.origin is None or _is_of_highwater(Path(spec.origin)):
            continue
        inside = name if spec.submodule_search_locations is not None else name.rpartition(".")[0]
        try:
            found["/".join((*filter(None, inside.split(".")), Path(spec.origin).name))] = _read(spec)
        except OSError as error:
            raise SourceError(f"{spec.origin}: cannot be read: {error.strerror}") from None
    return found


Stamp = tuple[int, int, int, int] | None
_known: dict[frozenset[str], tuple[Sources, dict[str, tuple[str, Stamp]]]] = {}
"""By the modules that were asked for, what was found; and of each module its file, and when that was changed last."""


def _is_as_it_was(module: str, file: str, stamp: Stamp) -> bool:
    """Whether a module is still of that file, where it is imported, and this was not changed since."""
    spec = getattr(sys.modules.get(module), "__spec__", None)
    return (spec is None or spec.origin == file) and stamp_of(file) == stamp


def stamp_of(path: str) -> Stamp:
    """When a file was changed last, how long and which it is; None if there is none."""
    try:
        found = os.stat(path)
    except OSError:  # inside an archive, which nobody changes meanwhile
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


def _process_began() -> float:
    """When this process began, or a little earlier, in seconds since 1970; now where the system does not say."""
    with suppress(OSError, ValueError, AttributeError):
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + ticks / os.sysconf("SC_CLK_TCK")
    return time.time()


BEGAN = _process_began()
CLOCK_STEP = 0.02  # seconds by which a file's times may be behind the clock
_imported_from: dict[str, tuple[str, Stamp]] = {}
_came_with_models: set[str] = set()


@contextmanager
def noted() -> Iterator[None]:
    """While something is imported: which files all new modules are of, if these were not written meanwhile."""
    before, begins = set(sys.modules), time.time()
    yield
    for name in set(sys.modules) - before:
        _came_with_models.add(name)
        file = getattr(getattr(sys.modules[name], "__spec__", None), "origin", None)
        if file and _written_before(file, begins):
            _imported_from[name] = file, stamp_of(file)


def stamp_as_imported(module: str) -> Stamp:
    """What `stamp_of` said of the file of a module when it was imported; None if that was not noted."""
    return _imported_from[module][1] if module in _imported_from else None


def forget_models() -> None:
    """Let what was imported with users' models be imported anew, as in a new process."""
    for name in _came_with_models:
        if name in sys.modules and origin_of(name) is Origin.ELSEWHERE:
            del sys.modules[name]
    _came_with_models.clear()
    importlib.invalidate_caches()


def is_as_imported(module: str) -> bool:
    """Whether the file of a module is certainly the one that it was imported from, if it was: this was noted, or no
    file was written since the process began.
    """
    file = getattr(getattr(sys.modules.get(module), "__spec__", None), "origin", None)
    if file is None:
        return True
    if module in _imported_from:
        return _imported_from[module] == (file, stamp_of(file))
    return _written_before(file, BEGAN)


def _written_before(file: str, when: float) -> bool:
    try:
        found = os.stat(file)
    except OSError:  # inside an archive
        return True
    return max(found.st_mtime, found.st_ctime) < when - CLOCK_STEP


def changed_last(module: str) -> Stamp:
    """When the file of a module was changed last, if it has one outside an archive; equal only if it was not since."""
    origin = getattr(getattr(sys.modules.get(module), "__spec__", None), "origin", None)
    return stamp_of(origin) if origin else None


def origin_of(module: str) -> Origin:
    """Where an imported module is from."""
    spec = getattr(sys.modules.get(module), "__spec__", None)
    return _origin_of(module, getattr(spec, "origin", None), has_location=getattr(spec, "has_location", False))


@cache
def _origin_of(module: str, file: str | None, *, has_location: bool) -> Origin:
    if file is None or not has_location:  # built in, frozen, or of no file at all
        return Origin.STANDARD if file and _top(module) in sys.stdlib_module_names else Origin.ELSEWHERE
    path = Path(file)
    if is_machinery(path):
        return Origin.MACHINERY
    if _is_of_highwater(path):
        return Origin.MODELS
    if _is_left_out(path):
        return Origin.STANDARD
    return Origin.INSTALLED if _is_installed(_top(module)) else Origin.ELSEWHERE


def versions_of(tops: Iterable[str]) -> dict[str, str]:
    """The versions of the distributions that install some top-level modules."""
    return {name: version for top in sorted(tops) for name, version in _version_of(top).items()}


def files_of(*packages: str) -> list[Any]:
    """The source files of some packages without those below."""
    files = (file for package in packages for file in folder_of(package).iterdir())
    return sorted((file for file in files if file.name.endswith(".py")), key=str)


def files_below(*packages: str) -> list[Any]:
    """The source files of some packages and of those below."""
    return sorted((file for package in packages for file in _below(folder_of(package))), key=str)


def _below(folder: Any) -> Iterator[Any]:
    for each in folder.iterdir():  # an archive has no rglob
        if each.is_dir():
            yield from _below(each)
        elif each.name.endswith(".py"):
            yield each


def folder_of(package: str) -> Any:
    """Where the files of one of Highwater's packages are, be it a folder or in an archive."""
    return HOUSE.parent.joinpath(*package.split(".")) if HOUSE.is_dir() else importlib.resources.files(package)


def digest(parts: Iterable[bytes]) -> str:
    """One hash for all of these; it depends on where one ends and the next begins."""
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()


def _top(name: str) -> str:
    return name.partition(".")[0]


def spec_of(name: str) -> ModuleSpec | None:
    """Where a module comes from, found without importing anything; None if there is no such module."""
    module = sys.modules.get(name)
    if module is not None:
        spec, file = getattr(module, "__spec__", None), getattr(module, "__file__", None)
        return spec if spec is not None or file is None else importlib.util.spec_from_file_location(name, file)
    parent, _, last = name.rpartition(".")
    try:
        if not parent:
            return importlib.util.find_spec(name)
        above = spec_of(parent)
        folders = above.submodule_search_locations if above else None
        return None if folders is None else PathFinder.find_spec(f"{parent}.{last}", folders)
    except (ImportError, ValueError):
        return None


def _package_of(spec: ModuleSpec) -> str:
    """What relative imports of a module begin from. A module that runs as a program has another name than its package
    knows.
    """
    return spec.name if spec.submodule_search_locations is not None else spec.name.rpartition(".")[0]


def _is_left_out(path: Path) -> bool:
    """Whether a file is of the standard library or of Highwater's machinery."""
    if path.is_relative_to(HOUSE):
        return is_machinery(path) and not path.is_relative_to(LANGUAGE)
    return not INSTALLED.intersection(path.parts) and any(map(path.is_relative_to, STANDARD))


def _is_of_highwater(path: Path) -> bool:
    """Whether a file is of Highwater itself, which is the same code wherever it is installed; the model that it writes
    for a start is its user's.
    """
    return path.is_relative_to(HOUSE) and not path.is_relative_to(SCAFFOLD)


def is_library(path: Path) -> bool:
    """Whether a file or folder is installed, of the standard library, or of Highwater itself."""
    return bool(INSTALLED.intersection(path.parts)) or _is_of_highwater(path) or _is_left_out(path)


def is_machinery(path: Path) -> bool:
    """Whether a file is of Highwater and of none of its models and properties."""
    models = path.is_relative_to(HOUSE / "invariants") or path.is_relative_to(HOUSE / "model")
    return _is_of_highwater(path) and (path.is_relative_to(LANGUAGE) or not models)


@cache
def _is_installed(top: str) -> bool:
    """Whether a top-level module is part of an installed distribution that is known by its version."""
    spec = spec_of(top)
    if not spec or not spec.origin or _is_of_highwater(Path(spec.origin)):
        return False
    return bool(INSTALLED.intersection(Path(spec.origin).parts) and _version_of(top))


@cache
def _version_of(top: str) -> dict[str, str]:
    """The distributions that install a top-level module, and their versions. Finding out takes long: the answer is kept
    for as long as the same distributions of the same versions are installed beside the module.
    """
    spec = spec_of(top)
    inside = Path(str(spec and spec.origin)).parent
    folder = inside.parent if spec and spec.submodule_search_locations is not None else inside
    try:
        beside = sorted(name for name in os.listdir(folder) if name.endswith((".dist-info", ".egg-info")))
    except OSError:
        return dict(_found_version_of(top, ()))
    key = digest(name.encode() for name in (top, str(folder), *beside))
    return dict(_kept(key, lambda: _found_version_of(top, [folder / name for name in beside])))


def _found_version_of(top: str, beside: Iterable[Path]) -> list[list[str]]:
    """Most often one of the distributions beside a module is called much as the module is, so that few are looked at:
    listing what all have takes a third of a second.
    """
    from importlib import metadata  # imports much

    for path in sorted(beside, key=lambda path: not path.name.lower().startswith(top.lower())):
        found = metadata.Distribution.at(path)
        if _has(found, top):
            return [[found.name, found.version]]
    return [[name, metadata.version(name)] for name in metadata.packages_distributions().get(top, ())]


def _has(distribution: Distribution, top: str) -> bool:
    """Whether a distribution says that it installs a top-level module: by the list of these, or by that of its files,
    which is not parsed.
    """
    declared = (distribution.read_text("top_level.txt") or "").split()
    return top in declared or bool(
        re.search(
            rf"^{re.escape(top)}(/|\.py,|\.([\w-]+\.)?(so|pyd),)", distribution.read_text("RECORD") or "", re.MULTILINE
        )
    )


def _read(spec: ModuleSpec) -> bytes:
    """The code of a module, which may be in an archive."""
    path = Path(str(spec.origin))
    loader: Any = spec.loader
    return path.read_bytes() if path.exists() else loader.get_data(spec.origin)


def _imported(source: bytes, package: str) -> set[str]:
    """The modules, and names that may be modules, that a source imports. Parsing it takes long: the answer is kept."""
    return set(_kept(digest([source, package.encode()]), lambda: sorted(_imported_by(source, package))))


def _imported_by(source: bytes, package: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            origin = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            yield origin
            yield from (f"{origin}.{alias.name}" for alias in node.names)


# Answers that are kept

MOST_ANSWERS = 4096
_unkept: list[str] = []  # which of them are new


def _kept(key: str, found: Callable[[], list[Any]]) -> list[Any]:
    """What is kept by that key, or else what is found."""
    known = _answers()
    if key not in known:
        known[key] = found()
        _unkept.append(key)
    return known[key]


@cache
def _answers() -> dict[str, list[Any]]:
    """By a hash of a source what it imports, and by one of what is installed which distribution has a module."""
    for folder in own_folder():
        with suppress(OSError, ValueError):
            return dict(json.loads(read(folder / ANSWERS, NAME)))
    return {}


def _keep_answers() -> None:
    if not _unkept:
        return
    known = _answers()
    for key in list(known)[:-MOST_ANSWERS]:
        del known[key]
    _unkept.clear()
    for folder in own_folder():
        with suppress(OSError):
            make_folder(folder / ANSWERS, ANSWERS, 1)
            write(folder / ANSWERS, NAME, json.dumps(known).encode())
