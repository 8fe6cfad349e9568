"""An adapter: a class of the user's with a method for each action, which does to the implementation what the action
does to the model, and `observe`, which looks at it.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from typing import Any

import attrs

from highwater.claims.tables import did_you_mean
from highwater.model.language.declarations import Instance, Quantified

LISTS = ("by_itself", "left_out", "refuses")
OF_ADAPTERS = ("start", "observe", "close")


class AdapterError(TypeError):
    """An adapter lacks a method, or has one that does not fit its action. The message says which."""

    __module__ = "highwater.testing"  # where users find it


class NotEnabled(Exception):
    """The implementation refuses a step, as the model does. Methods of the actions in `refuses` raise it."""

    __module__ = "highwater.testing"  # where users find it


@attrs.frozen
class Choice:
    """A call of an adapter's method.

    Attributes:
        action: the name of the action and of the method.
        arguments: for the parameters that the method takes; the rest the implementation chooses.
        shown: as traces show them.
    """

    action: str
    arguments: Mapping[str, Any] = attrs.field(hash=False)
    shown: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return f"{self.action}({', '.join(f'{name} {value}' for name, value in self.shown)})"


@attrs.frozen
class Interface:
    """What an adapter drives.

    Attributes:
        choices: by name of an action that has a method, the calls of it.
        stands_for: by call, the actions of the model that it may be.
        by_itself: the actions that the implementation may take at any time.
        refuses: the actions that are tried where they are not enabled, too.
        takes_state: whether `start` takes the initial state.
    """

    adapter: type
    choices: Mapping[str, tuple[Choice, ...]]
    stands_for: Mapping[Choice, tuple[Instance, ...]]
    by_itself: tuple[str, ...]
    refuses: tuple[str, ...]
    takes_state: bool


def interface_of(adapter: type, actions: Sequence[Instance]) -> Interface:
    """What an adapter drives of a model.

    Raises:
        AdapterError: an action has no method, a method takes what is no parameter of its action, or `by_itself`,
            `left_out` or `refuses` names what is no action.
    """
    if not inspect.isclass(adapter):
        raise AdapterError(f"the adapter is a {type(adapter).__name__}; give a class, of which each run makes one")
    of = {each.of.name: each.of for each in actions}
    if taken := [name for name in OF_ADAPTERS if name in of]:
        raise AdapterError(f"the model has an action {taken[0]}, which is a method of every adapter; rename the action")
    listed = {key: _listed(adapter, key, of) for key in LISTS}
    if not callable(getattr(adapter, "observe", None)):
        raise AdapterError(f"{adapter.__name__} lacks the method observe(), which gives values of parts of the state")
    undriven = {*listed["by_itself"], *listed["left_out"]}
    if both := [name for name in of if name in undriven and hasattr(adapter, name) and name in listed["left_out"]]:
        raise AdapterError(f"{adapter.__name__} has the method {both[0]}, which is in left_out; drop one of the two")
    driven = [name for name in of if name not in listed["left_out"] and callable(getattr(adapter, name, None))]
    if missing := [name for name in of if name not in driven and name not in undriven]:
        raise AdapterError(
            f"{adapter.__name__} lacks methods for {', '.join(missing)}; write one for each, or list it in by_itself "
            "(the implementation may do it at any time) or in left_out (it never does)"
        )
    _refuse_generators(adapter, (*OF_ADAPTERS, *driven))
    choices = {name: _choices(adapter, of[name], actions) for name in driven}
    return Interface(
        adapter,
        {name: tuple(found) for name, found in choices.items()},
        {choice: tuple(each) for found in choices.values() for choice, each in found.items()},
        listed["by_itself"],
        listed["refuses"],
        bool(_parameters(adapter, "start")),
    )


def _listed(adapter: type, key: str, actions: Iterable[str]) -> tuple[str, ...]:
    names = getattr(adapter, key, ())
    if isinstance(names, str):
        raise AdapterError(f"{adapter.__name__}.{key} is a text; write ({names!r},)")
    if not isinstance(names, Iterable):
        raise AdapterError(f"{adapter.__name__}.{key} is a {type(names).__name__}; write a tuple of names of actions")
    for name in names:
        if name not in (known := list(actions)):
            hint = did_you_mean(str(name), known)
            allowed = ", ".join(known)
            raise AdapterError(f"{adapter.__name__}.{key}: {name} is no action{hint}; allowed are {allowed}")
    return tuple(names)


def _parameters(adapter: type, method: str) -> list[str]:
    function = getattr(adapter, method, None)
    if function is None:
        return []
    is_bound = isinstance(inspect.getattr_static(adapter, method), staticmethod | classmethod)
    return list(inspect.signature(function).parameters)[0 if is_bound else 1 :]


def _refuse_generators(adapter: type, methods: Iterable[str]) -> None:
    """
    Raises:
        AdapterError: a method has a `yield`, so that nothing of it would run.
    """
    for name in methods:
        function = getattr(adapter, name, None)
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise AdapterError(
                f"{adapter.__name__}.{name} has a yield, so that a call runs nothing of it; leave it out"
            )


def _choices(adapter: type, of: Quantified, actions: Sequence[Instance]) -> dict[Choice, list[Instance]]:
    """The calls of the method of an action, each with the actions of the model that it may be."""
    instances = [each for each in actions if each.of is of]
    takes = _parameters(adapter, of.name)
    for name in takes:
        if name not in instances[0].arguments:
            allowed = ", ".join(instances[0].arguments) or "none"
            hint = did_you_mean(name, instances[0].arguments)
            raise AdapterError(
                f"{adapter.__name__}.{of.name} takes {name}, which is no parameter of the action{hint}; allowed are "
                f"{allowed}"
            )
    found: dict[Choice, list[Instance]] = {}
    for each in instances:
        arguments = {name: value for name, value in each.arguments.items() if name in takes}
        choice = Choice(of.name, arguments, tuple((name, each.shown[name]) for name in arguments))
        found.setdefault(choice, []).append(each)
    return found


class Driven:
    """An adapter at work; methods that are coroutines run in an event loop of its own."""

    def __init__(self, interface: Interface) -> None:
        self._adapter = interface.adapter()
        self._takes_state = interface.takes_state
        self._runner: asyncio.Runner | None = None

    def start(self, state: Any) -> None:
        """Bring the implementation to where a run begins."""
        self._call("start", *([state] if self._takes_state else []))

    def do(self, choice: Choice) -> None:
        """Take a step."""
        self._call(choice.action, **choice.arguments)

    def observe(self) -> Mapping[str, Any]:
        """Look at it.

        Raises:
            AdapterError: `observe` gives no mapping.
        """
        found = self._call("observe")
        if not isinstance(found, Mapping):
            kind = type(found).__name__
            raise AdapterError(
                f"{type(self._adapter).__name__}.observe gives a {kind}; give a dict such as {{'FIELD': 1}}"
            )
        return found

    def close(self) -> None:
        """Close it, and its event loop."""
        try:
            self._call("close")
        finally:
            if self._runner is not None:
                self._runner.close()

    def _call(self, method: str, *given: Any, **arguments: Any) -> Any:
        function = getattr(self._adapter, method, None)
        if function is None:  # there is nothing to start or to close
            return None
        result = function(*given, **arguments)
        if not inspect.isawaitable(result):
            return result
        self._runner = self._runner or asyncio.Runner()
        return self._runner.run(_awaited(result))


async def _awaited(result: Awaitable[Any]) -> Any:
    return await result
