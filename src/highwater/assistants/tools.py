"""All tools by name, in the order in which assistants and readers meet them, whatever was imported first."""

from __future__ import annotations

from highwater.assistants import asking, checking, looking, stepping
from highwater.assistants.contract import DECLARED

TOOLS = {
    name: tool
    for module in (looking, checking, stepping, asking)
    for name, tool in DECLARED.items()
    if tool.run.__module__ == module.__name__
}
