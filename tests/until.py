"""A form of liveness that the house does not know: `p until q`.

With p for the premise and q for the function, wherever p is true it stays true until q is. As every property, this is a
safety property and a liveness property together: no step leads from p without q to neither (what temporal logic calls
weak until), and p without q does not last for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from highwater.model.language.declarations import Action, StepProperty
from highwater.model.language.graph_properties import Form, Liveness, per

ASKED = frozenset({(True, False)})
UNTIL = Form("until", ASKED, ASKED, ASKED, "where the premise is true, it does not stay so without the function")


def until(
    premise: Callable[[Any], bool], function: Callable[[Any], bool], fair: Iterable[Action] = ()
) -> tuple[Liveness, StepProperty]:
    """The two halves of a promise."""

    def stays(before: Any, after: Any) -> bool:
        return not premise(before) or function(before) or premise(after) or function(after)

    stays.__name__ = f"{function.__name__}_comes_first"
    weakly = tuple(per(each, *each.parameters) for each in fair)
    return Liveness(function, {}, form=UNTIL, fair=weakly, premise=premise), StepProperty(stays, {})
