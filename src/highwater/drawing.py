"""What a model of one's own is drawn with; Highwater's own models are drawn with nothing else.

    from highwater.drawing import Badge, Drawing, Lane, Picture
    MODEL = Model("locks", "A lock service.", Protocol, define, drawing=Drawing(draw))

A `Drawing` has a function `draw(domain, state)` that makes a `Picture`: lanes by name, from left to right, and messages
between them. `docs/traces.md` draws the lock service.
"""

from __future__ import annotations

from highwater.model.language.picture import (
    Badge,
    Block,
    Drawing,
    Fact,
    Lane,
    Log,
    Message,
    NameSet,
    Picture,
    Tone,
)
from highwater.viewer.pictures.of_any_model import draw as picture_of
from highwater.viewer.pictures.of_any_model import log_of, names, role

__all__ = [
    "Badge",
    "Block",
    "Drawing",
    "Fact",
    "Lane",
    "Log",
    "Message",
    "NameSet",
    "Picture",
    "Tone",
    "log_of",
    "names",
    "picture_of",
    "role",
]
