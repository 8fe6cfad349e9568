"""The front door, and what authors of models import.

    from highwater import Definition, Model, action, invariant, within

`highwater.check("claim.toml")` reads a claim, checks it and gives its result.
"""

from __future__ import annotations

import sys

# `python -m highwater` searches the current folder first: a file there, such as click.py, is not to be executed
if sys.argv[:1] == ["-m"] and not sys.flags.safe_path and not __file__.startswith(f"{sys.path[0]}/highwater/"):
    del sys.path[0]

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from highwater.api import ask, check, check_all, claim, coverage, graph, load, states, verify
    from highwater.claims.checking import Status
    from highwater.claims.following import follow
    from highwater.claims.spec import SpecError
    from highwater.explorer.verdict import Verdict, Violation
    from highwater.explorer.verifier.sums import Refused
    from highwater.model.language.declarations import Transition, Witness, action, invariant, step_property
    from highwater.model.language.definition import Definition, Model, NoToggles, toggle
    from highwater.model.language.domain import BOOLEAN, ArrayOf, Integers, Maybe, OneOf, SequenceOf, SetOf
    from highwater.model.language.graph_properties import (
        always_eventually,
        eventually,
        eventually_always,
        leads_to,
        per,
        prospect,
    )
    from highwater.model.language.records import bound, evolve, records, replaced, within
    from highwater.model.language.shape import DomainError
    from highwater.model.log import brokers, epochs, offsets
    from highwater.notebooks import Coverage, Result, Spec, Trace

_PLACES = {
    "highwater.explorer.verdict": ("Verdict", "Violation"),
    "highwater.explorer.verifier.sums": ("Refused",),
    "highwater.api": ("ask", "check", "check_all", "claim", "coverage", "graph", "load", "states", "verify"),
    "highwater.claims.checking": ("Status",),
    "highwater.claims.following": ("follow",),
    "highwater.claims.spec": ("SpecError",),
    "highwater.notebooks": ("Coverage", "Result", "Spec", "Trace"),
    "highwater.model.language.declarations": ("Transition", "Witness", "action", "invariant", "step_property"),
    "highwater.model.language.definition": ("Definition", "Model", "NoToggles", "toggle"),
    "highwater.model.language.domain": (
        "BOOLEAN",
        "ArrayOf",
        "Integers",
        "Maybe",
        "OneOf",
        "SequenceOf",
        "SetOf",
    ),
    "highwater.model.language.graph_properties": (
        "always_eventually",
        "eventually",
        "eventually_always",
        "leads_to",
        "per",
        "prospect",
    ),
    "highwater.model.language.records": ("bound", "evolve", "records", "replaced", "within"),
    "highwater.model.language.shape": ("DomainError",),
    "highwater.model.log": ("brokers", "epochs", "offsets"),
}
_PLACE_OF = {name: place for place, names in _PLACES.items() for name in names}

__all__ = [
    "BOOLEAN",
    "ArrayOf",
    "Coverage",
    "Definition",
    "DomainError",
    "Integers",
    "Maybe",
    "Model",
    "NoToggles",
    "OneOf",
    "Refused",
    "Result",
    "SequenceOf",
    "SetOf",
    "Spec",
    "SpecError",
    "Status",
    "Trace",
    "Transition",
    "Verdict",
    "Violation",
    "Witness",
    "action",
    "always_eventually",
    "ask",
    "bound",
    "brokers",
    "check",
    "check_all",
    "claim",
    "coverage",
    "epochs",
    "eventually",
    "eventually_always",
    "evolve",
    "follow",
    "graph",
    "invariant",
    "leads_to",
    "load",
    "offsets",
    "per",
    "prospect",
    "records",
    "replaced",
    "states",
    "step_property",
    "toggle",
    "verify",
    "within",
]


def __getattr__(name: str) -> Any:
    """A public name, imported when it is first asked for: `highwater --help` asks for none."""
    if name in _PLACE_OF:
        return getattr(import_module(_PLACE_OF[name]), name)
    raise AttributeError(f"module 'highwater' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
