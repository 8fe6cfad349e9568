"""Text for people: made safe to look at, and in the right number."""

from __future__ import annotations

import inspect
import re
import sys
import unicodedata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

# categories of characters that are not seen, or that change how others are seen
UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def visible(text: str) -> str:
    """The text with its control characters, and what else cannot be seen, written out as `\\u001b`."""
    return "".join(_spelt(c) if unicodedata.category(c) in UNSEEN else c for c in text)


def _spelt(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def counted(count: int, noun: str) -> str:
    """A number with its noun: "1 step", "2,000 steps"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def summary_and_rest(documented: Any) -> tuple[str, str]:
    """A docstring's first paragraph, in one line, and what follows it, such as `Source: KIP-279`."""
    paragraph, *rest = re.split(r"\n(?=\n|[A-Z][a-z ]+: )", inspect.getdoc(documented) or "", maxsplit=1)
    return " ".join(paragraph.split()), "".join(rest)


def room_of(console: Console) -> int:
    """How long a line may be: that of a terminal is broken between words, and that of a log or a pipe never."""
    return console.width if console.is_terminal and console.file.isatty() else sys.maxsize
