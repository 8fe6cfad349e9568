"""All tools by name: importing this declares them."""

from __future__ import annotations

from highwater.assistants import asking, checking, looking, stepping
from highwater.assistants.contract import TOOLS

__all__ = ["TOOLS", "asking", "checking", "looking", "stepping"]
