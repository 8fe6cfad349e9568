"""The front door: what reads specs, runs the checker, and shows what came out. `highwater.check("claim.toml")` is all of it in one call."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from highwater.api import (
        Result,
        Spec,
        SpecError,
        Status,
        Verdict,
        Violation,
        Witness,
        check,
        check_all,
        claim,
        invariant,
        prospect,
        step_property,
    )

__all__ = [
    "Result",
    "Spec",
    "SpecError",
    "Status",
    "Verdict",
    "Violation",
    "Witness",
    "check",
    "check_all",
    "claim",
    "invariant",
    "prospect",
    "step_property",
]


def __getattr__(name: str) -> Any:
    """Names of `highwater.api`, imported when they are first asked for: `highwater --help` asks for none."""
    if name in __all__:
        import_module("highwater.shadowing").refuse_shadowed()
        return getattr(import_module("highwater.api"), name)
    raise AttributeError(f"module 'highwater' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
