"""An implementation of one's own, held to its model: `docs/implementation.md` shows how.

TestLocks = highwater.testing.machine("specs/locks.toml", Locks).TestCase

@highwater.testing.paths("specs/locks.toml", Locks)
def test_every_path(path):
    path.run()
"""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

from highwater.claims.spec import Spec
from highwater.distribution import installing
from highwater.implementation.adapters import AdapterError, NotEnabled
from highwater.implementation.plans import MOST_STATES, Plan, spec_of
from highwater.implementation.walks import Mismatch

if TYPE_CHECKING:
    import pytest
    from hypothesis.stateful import RuleBasedStateMachine

__all__ = ["AdapterError", "Mismatch", "NotEnabled", "machine", "paths"]


def machine(
    spec: str | PathLike[str] | Spec, adapter: type, *, max_states: int = MOST_STATES
) -> type[RuleBasedStateMachine]:
    """A state machine of Hypothesis that walks through a model and an implementation at once. Its `TestCase` is a test.

    Args:
        spec: a claim, whose model, protocol and bounds are taken; what it checks is not.
        adapter: a class with a method for each action and `observe`, which gives values of parts of the state.
        max_states: stop looking for paths when so many states are stored.

    Raises:
        SpecError: the spec cannot be read or is wrong.
        AdapterError: the adapter does not fit the model.
        ModuleNotFoundError: Hypothesis is not installed.
    """
    try:
        from highwater.implementation.machines import machine_of
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "hypothesis":
            raise
        needs = f"highwater.testing.machine needs the library hypothesis; {installing('testing')}"
        raise ModuleNotFoundError(needs, name="hypothesis") from None
    return machine_of(Plan(spec_of(spec), adapter, max_states), f"{adapter.__name__}Machine")


def paths(
    spec: str | PathLike[str] | Spec, adapter: type | None = None, *, max_states: int = MOST_STATES
) -> pytest.MarkDecorator:
    """A parametrisation of a test by `path`: one for every reachable path of the actions, with the shortest run that
    ends by it. `path.run()` takes it on the implementation.

    Args:
        spec, max_states: as for `machine`.
        adapter: as for `machine`; without one, `path.run` takes it, and paths lead through all actions.

    Raises:
        SpecError: the spec cannot be read or is wrong.
        AdapterError: the adapter does not fit the model.
    """
    from highwater.implementation.parametrized import parametrized

    return parametrized(Plan(spec_of(spec), adapter, max_states))
