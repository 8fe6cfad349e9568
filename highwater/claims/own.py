"""Models and properties of one's own: `package.module:NAME`, from an installed package or from a folder that the user named.

The current folder is never searched unless it is named: a spec from elsewhere must not run what happens to lie around.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from explorer.system import RAISED, line_of
from highwater.claims.tables import Wrong, did_you_mean, shown

_REFERENCE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")
_FLOORS = ("model", "invariants", "explorer", "spark", "highwater")
_GIVEN: dict[str, Any] = {}
_FOLDERS: dict[str, None] = {}


def is_reference(name: str) -> bool:
    """Whether a name in a spec points into a module rather than into the catalogues."""
    return ":" in name


def reference_to(given: Any) -> str:
    """A name under which `load` finds an object of this process."""
    named = getattr(given, "function", given)
    module, name = getattr(named, "__module__", type(given).__module__), getattr(named, "__name__", None) or given.name
    reference = f"{module}:{name}"
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
        if str(folder.resolve()) not in sys.path[1:]:  # what stands first may be what `python -m` put there
            sys.path.append(str(folder.resolve()))
            importlib.invalidate_caches()


def folders() -> tuple[str, ...]:
    """The folders that are searched, for other processes to search."""
    return tuple(_FOLDERS)


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
    what = f"{module_name} has no {name}" if found is None else f"{name} in {module_name} is a {type(found).__name__}, no {wanted}"
    allowed = f"; allowed are {', '.join(there)}" if there else f"; there is no {wanted} in {module.__file__}"
    raise Wrong(f"{key}: {what}{did_you_mean(name, there)}{allowed}{_shadowed(module_name)}")


def _shadowed(module: str) -> str:
    """A hint where a module of one's own can never be found, as Highwater has one of that name."""
    first = module.partition(".")[0]
    return f"; {first} is part of Highwater itself, which comes first: give a module of your own another name" if first in _FLOORS else ""


def _import(name: str, key: str) -> Any:
    try:
        with _without_current_folder():
            return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not (name + ".").startswith(error.name + "."):
            raise Wrong(f"{key}: {name} cannot be imported: {error}") from error
        here = Path(*name.split("."))
        near = here.with_suffix(".py").exists() or here.is_dir()
        hint = "; the current folder is searched only with --model-path ." if near else "; install it, or name its folder with --model-path"
        raise Wrong(f"{key}: there is no module {error.name}{_shadowed(name) or hint}") from None
    except RAISED as error:
        at = f" {where}" if (where := line_of(error)) else ""
        raise Wrong(f"{key}: {name} cannot be imported: {type(error).__name__}: {error}{at}") from error


@contextmanager
def _without_current_folder() -> Iterator[None]:
    """Without the entry that `python -m` and `python -c` put first."""
    interpreters = sys.orig_argv[1 : len(sys.orig_argv) - len(sys.argv) + 1]  # its own options, not those of what it runs
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
