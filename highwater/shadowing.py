"""Files with the names of Highwater's own packages, which Python imports in their place if it finds them first."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("model", "invariants", "explorer", "spark")
HERE = Path(__file__).resolve().parent.parent


class Shadowed(ImportError):
    """A file hides a package of Highwater. The message names the file and says what to do."""


def refuse_shadowed() -> None:
    """Refuse to go on where a package of Highwater is not what Python finds under its name.

    Raises:
        Shadowed: another file is found, or was imported already.
    """
    for name in PACKAGES:
        found = _found(name)
        if found is not None and found != HERE / name:
            raise Shadowed(
                f"{found}: has the name of Highwater's own package {name}, and Python finds it first; "
                "rename it, or keep its folder off Python's path (the current folder of python -m, PYTHONPATH, "
                "pytest's pythonpath)"
            )


def _found(name: str) -> Path | None:
    """The folder of the package that Python takes, or the file if it is no package; None if there is none."""
    module = sys.modules.get(name)
    if module is not None:
        origin, folders = getattr(module, "__file__", None), list(getattr(module, "__path__", []))
    else:
        spec = find_spec(name)
        # a folder without __init__.py comes after every package, so it hides none
        if spec is None or spec.origin is None:
            return None
        origin, folders = spec.origin, []
    if origin is None:
        return Path(folders[0]) if folders else Path(name)
    path = Path(origin).resolve()
    return path.parent if path.stem == "__init__" else path
