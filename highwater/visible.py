"""Text for people: made safe to look at, and in the right number."""

from __future__ import annotations

import unicodedata

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
