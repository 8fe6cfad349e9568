"""Comparisons that are never true: a member of an enum with a text, a number, or a member of another enum.

Python says that they are not equal, and no more. A guard or a property that compares so asks something else than its
author meant. While a model's functions run, such a comparison raises.
"""

from __future__ import annotations

import functools
import sys
import threading
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from types import FrameType
from typing import Any

import attrs

from highwater.explorer.blame import is_machinery
from highwater.explorer.sources import HOUSE
from highwater.explorer.system import Beside, System

VALUES = (str, bytes, int, float, complex, tuple, frozenset, list, set, dict, Enum)
LISTENED_TO = ("progress.py", "plain_python.py")
VIEWS = ("views.py", "containers.py")

_refusing: list[Beside] = []
_lock = threading.RLock()


class NeverEqual(TypeError):
    """A model compares what is never equal."""


@contextmanager
def refusing_what_is_never_equal(system: System | None = None) -> Iterator[None]:
    """Let a model's functions raise `NeverEqual` where they compare a member of an enum with what it never equals.

    Args:
        system: what the functions belong to; its domains may have values of several types.
    """
    with refusing_beside({} if system is None else system.values_beside):
        yield


@contextmanager
def refusing_beside(known: Beside) -> Iterator[None]:
    """The same, given the values that are beside each other in domains."""
    _begin(known)
    try:
        yield
    finally:
        _end(known)


def refuse_while_it_lives(whose: Any, system: System) -> None:
    """The same as long as an object lives that runs the functions of a system now and then."""
    known = system.values_beside
    _begin(known)
    weakref.finalize(whose, _end, known)


def _begin(known: Beside) -> None:
    with _lock:
        if not _refusing:
            Enum.__eq__ = _equal  # type: ignore[method-assign, assignment]
        _refusing.append(known)


def _end(known: Beside) -> None:
    with _lock:
        _refusing.remove(known)
        if not _refusing:
            del Enum.__eq__


def is_never_equal(member: Enum, other: Any, beside: Iterable[Beside]) -> bool:
    """Whether a member of an enum never equals a value of another kind, and is not beside it in a domain."""
    kind, others = type(member), type(other)
    if kind.__eq__ not in (object.__eq__, _equal) or kind is others:
        return False
    if not isinstance(other, VALUES) and not attrs.has(others):
        return False
    return not any(type(each) is others and each == other for known in beside for each in known.get(kind, ()))


def never_equal(member: Enum, other: Any) -> str:
    """That a member of an enum never equals something, in words, and what to write."""
    meant = next((each for each in type(member) if other in (each.value, each.name) and type(other) is not bool), None)
    hint = f"; write {meant}" if isinstance(meant, Enum) else ""
    return f"{type(member).__name__}.{member.name} is compared with {other!r}, which it never equals{hint}"


def _equal(self: Enum, other: Any) -> Any:
    if self is other or other is None or type(other) is type(self):
        return self is other
    if _refusing and is_never_equal(self, other, _refusing) and _asked_by_a_model(sys._getframe(1)):
        raise NeverEqual(never_equal(self, other))
    return NotImplemented


def _asked_by_a_model(frame: FrameType | None) -> bool:
    """Whether a model's function asks, be it by way of a library or of a view, rather than who listens to progress.
    Code that Highwater has not called is no model's, though it may run while an engine lives.
    """
    asked = False
    while frame is not None:
        asks = _asks(frame.f_code.co_filename)
        if asks is False:
            return asked and Path(frame.f_code.co_filename).name not in LISTENED_TO
        asked |= asks is True
        frame = frame.f_back
    return False


@functools.cache
def _asks(file: str) -> bool | None:
    """Whether code of a file asks for a model, True, or for Highwater, False; None if it does so for its caller."""
    path = Path(file)
    if file.startswith(("<attrs generated", "<frozen")) or (path.name in VIEWS and path.is_relative_to(HOUSE)):
        return None
    if not path.exists() or not is_machinery(path):
        return True
    return False if path.is_relative_to(HOUSE) else None
