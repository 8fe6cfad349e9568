"""Whose fault an error is, a model's or Highwater's own, and the line that names it."""

from __future__ import annotations

import functools
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from highwater.explorer.sources import HOUSE
from highwater.explorer.sources import is_machinery as is_of_house
from highwater.model.language.declarations import Instance
from highwater.model.language.domain import Struct

RAISED = (Exception, SystemExit)
"""What a model's functions may raise without ending more than themselves: `sys.exit(0)` in one must not look like a
claim that was met.
"""

_OURS = {"attr", "attrs", "llvmlite", "networkx", "numba", "numpy"}
"""The libraries of the checker itself, and those of the rooms above that have named theirs."""


class ModelError(Exception):
    """A model, property or bound is wrong in itself: no verdict is possible."""


class Contradiction(Exception):
    """What a search has found and what plain Python says are not the same: no verdict is possible.

    Every learned path was compared with plain Python. So either this is a defect of Highwater, or a function of the
    model is no pure function of the state.
    """

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what}\n"
            "  does a function of the model depend on anything but its arguments? if not, this is a defect\n"
            "  of Highwater: please report it with the model; `--engine python` explores without the compiler"
        )


class JudgedOtherwise(Contradiction):
    """What a search has found is not what plain Python makes of a state that it stores: an audit has met this.

    Attributes:
        parts: what it was made of.
    """

    def __init__(self, state: str, function: str, path: str, plain: str, search: str, claim: str = "") -> None:
        """What a function does in a state along a path, as plain Python says and as the search does. The path is empty
        where it is not about one.

        Args:
            claim: what was searched for, if that is known.
        """
        self.parts = (state, function, path, plain, search)
        lines = (("state", state), ("path", path), ("plain Python", plain), ("the search", search))
        found = "".join(f"\n  {name}: {text}" for name, text in lines if text)
        where = f"{claim}: " if claim else ""
        super().__init__(f"{where}the audit contradicts the search about {function}; there is no verdict{found}")

    def __reduce__(self) -> tuple[Any, ...]:
        return JudgedOtherwise, self.parts


def failed(instance: Instance, error: BaseException, state: Any, domain: Struct) -> ModelError:
    """The error that names the function, the line and the state at which a model function raised."""
    at = line_of(error) or where(instance)
    return ModelError(f"{instance} raised {said_by(error)}; {at}; in the state {domain.show(state)}")


def impure(instance: Instance) -> ModelError:
    """The error for a function that went on differently though all it had read was the same."""
    return ModelError(
        f"{instance} is not a pure function of the state: it read equal values and went on differently; "
        f"{where(instance)}; look for randomness, time, globals, caches and iteration in an order that varies"
    )


def where(instance: Instance) -> str:
    """File and first line of the function behind an instance."""
    code = instance.of.written.__code__
    return f"({code.co_filename}:{code.co_firstlineno})"


@contextmanager
def blaming_the_model() -> Iterator[None]:
    """For what surrounds a model's functions, such as its bounds and initial states.

    Raises:
        ModelError: the model's own code raised; names the line. What is no fault of the model passes as it is.
    """
    try:
        yield
    except ModelError:
        raise
    except RAISED as error:
        if (at := line_of(error)) is None:
            raise
        raise ModelError(f"the model raised {said_by(error)}; {at}") from error


def said_by(error: BaseException) -> str:
    """What an exception of a model's says, on one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def line_of(error: BaseException) -> str | None:
    """File, line and function of the innermost frame that belongs to a model rather than to the machinery around it."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"at {error.filename}:{error.lineno}: {(error.text or '').strip()}"
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not is_machinery(Path(frame.filename)):
            return f"at {frame.filename}:{frame.lineno} in {frame.name}: {frame.line}"
    return None


def interrupted_in(interrupt: KeyboardInterrupt) -> str:
    """Where a model was as it was interrupted, in words; empty if no function of a model ran. A loop in one that never
    ends is found so.
    """
    place = line_of(interrupt)
    return f"interrupted in the model, {place}" if place else ""


def count_as_ours(*libraries: str) -> None:
    """Take an error inside these for none of a model's. A room above the checker names the libraries that it brings.

    Args:
        libraries: names of top-level modules.
    """
    _OURS.update(libraries)
    _is_machinery.cache_clear()


def is_machinery(path: Path) -> bool:
    """Whether a file belongs to Highwater (but for its models and the one that it writes for a start), to what it uses,
    or is none.
    """
    loaded = (getattr(sys.modules.get(name), "__file__", None) for name in _OURS)
    return _is_machinery(path, tuple(file for file in loaded if file))


@functools.lru_cache(4096)
def _is_machinery(path: Path, libraries: tuple[str, ...]) -> bool:
    """The same by the files of the libraries that are imported, which with `spark-submit --py-files` come from no
    site-packages.
    """
    if not path.exists():
        return True
    if path.is_relative_to(HOUSE):
        return is_of_house(path)
    if any(path.is_relative_to(Path(file).parent) for file in libraries if Path(file).stem == "__init__"):
        return True
    if "site-packages" in path.parts:
        return Path(path.parts[path.parts.index("site-packages") + 1]).stem in _OURS
    return path.is_relative_to(Path(traceback.__file__).parent)
