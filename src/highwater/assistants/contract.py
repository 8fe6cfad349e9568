"""What a tool takes and answers: its JSON schemas, which are made of the classes that hold both, and its version."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, get_args, get_origin

import attrs

from highwater.claims.schema import documented
from highwater.claims.tables import Wrong, structure
from highwater.reports.results import as_data
from highwater.visible import counted, summary_and_rest

ROOM = 6_000
"""How many characters the list of an answer takes at most, as JSON; what is left out has a number, to go on from."""

LONGEST_TEXT = 1_500
"""Of an answer, in characters."""

LONGEST_ITEM = 500
"""Of a list that is asked with, in characters."""

SECONDS, MOST_SECONDS = 50, 600
QUICK = 20
"""Seconds for what searches nothing."""

_KINDS = {int: "integer", str: "string", bool: "boolean", float: "number"}


def a_number(default: int | None, low: int, high: int, meaning: str) -> Any:
    """A whole number that a tool takes."""
    return attrs.field(default=default, metadata={"low": low, "high": high, "meaning": meaning})


def a_text(longest: int, meaning: str, default: str | None = "") -> Any:
    """A text that a tool takes."""
    return attrs.field(default=default, metadata={"longest": longest, "meaning": meaning})


def seconds() -> Any:
    """The field of a tool that searches: when it is ended, whatever it does."""
    return a_number(SECONDS, 1, MOST_SECONDS, "seconds after which it is ended")


@attrs.frozen
class Answered:
    """An answer.

    Attributes:
        answer: of the tool's own class.
        entry: of a counterexample, its entry in a report, for the server to keep.
    """

    answer: Any
    entry: Mapping[str, Any] | None = None


@attrs.frozen
class Tool:
    """A tool.

    Attributes:
        version: of its schemas; it goes up with any change of them.
        asked, answers: the classes of what it takes and of what it answers.
        run: what it does with what is asked and a `highwater.assistants.place.Place`, in a process of its own.
    """

    name: str
    version: int
    asked: type
    answers: type
    run: Callable[[Any, Any], Any]

    @property
    def words(self) -> str:
        """What it is for, as assistants are shown it."""
        return summary_and_rest(self.run)[0]

    @property
    def schema(self) -> str:
        """The name of its schemas, which each answer carries."""
        return f"highwater.{self.name}/{self.version}"

    def read(self, arguments: Any) -> Any:
        """What is asked.

        Raises:
            Wrong: a key is unknown or missing, or a value is none that it may have.
        """
        asked = structure(arguments, self.asked, "")
        for field in attrs.fields(self.asked):
            longest, given = field.metadata.get("longest"), getattr(asked, field.name)
            if longest is None or given is None:
                continue
            if len(given) > longest:
                raise Wrong(f"{field.name}: has {len(given):,} characters or items; allowed are {longest:,}")
            for number, each in enumerate(given if isinstance(given, tuple) else ()):
                if len(each) > LONGEST_ITEM:
                    raise Wrong(f"{field.name}[{number}]: has {len(each):,} characters; allowed are {LONGEST_ITEM:,}")
        return asked

    def written(self, answer: Any) -> dict[str, Any]:
        """An answer as plain JSON values."""
        return {"schema": self.schema, **as_data(answer)}

    @property
    def input_schema(self) -> dict[str, Any]:
        return _schema_of(self.asked, is_answer=False)

    @property
    def output_schema(self) -> dict[str, Any]:
        made = _schema_of(self.answers, is_answer=True)
        made["properties"] = {"schema": {"const": self.schema, "type": "string"}, **made["properties"]}
        made["required"] = ["schema", *made["required"]]
        return made


DECLARED: dict[str, Tool] = {}
"""By name; the modules that declare them are those of `highwater.assistants.tools`."""

Run = TypeVar("Run", bound=Callable[..., Any])


def tool(asked: type, answers: type, *, version: int = 1) -> Callable[[Run], Run]:
    """Declare a function as a tool, which its name and the first paragraph of its docstring describe."""

    def declared(run: Run) -> Run:
        DECLARED[run.__name__] = Tool(run.__name__, version, asked, answers, run)
        return run

    return declared


def _schema_of(cls: type, *, is_answer: bool) -> dict[str, Any]:
    attrs.resolve_types(cls)
    words = documented(cls)
    found = {}
    for field in attrs.fields(cls):
        made = _schema_of_kind(field.type, is_answer=is_answer) | _limits(field)
        meaning = field.metadata.get("meaning") or words.get(field.name)
        found[field.name] = {**made, **({"description": meaning} if meaning else {})}
    needed = [field.name for field in attrs.fields(cls) if is_answer or field.default is attrs.NOTHING]
    return {"type": "object", "properties": found, "required": needed, "additionalProperties": False}


def _limits(field: Any) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if "low" in field.metadata:
        made = {"minimum": field.metadata["low"], "maximum": field.metadata["high"]}
    elif "longest" in field.metadata:
        made = {"maxItems" if get_origin(field.type) is tuple else "maxLength": field.metadata["longest"]}
    if "choices" in field.metadata:
        made["enum"] = list(field.metadata["choices"])
    if isinstance(field.default, int | str) and field.default != "":
        made["default"] = field.default
    return made


def _schema_of_kind(kind: Any, *, is_answer: bool) -> dict[str, Any]:
    if attrs.has(kind):
        return _schema_of(kind, is_answer=is_answer)
    if get_origin(kind) is tuple:
        return {"type": "array", "items": _schema_of_kind(get_args(kind)[0], is_answer=is_answer)}
    if get_origin(kind) is dict:
        return {"type": "object", "additionalProperties": _schema_of_kind(get_args(kind)[1], is_answer=is_answer)}
    if get_origin(kind) is types.UnionType:
        (one,) = [each for each in get_args(kind) if each is not type(None)]
        made = _schema_of_kind(one, is_answer=is_answer)
        return {**made, "type": [made["type"], "null"]}
    return {"type": _KINDS[kind]}


# Small answers

Item = TypeVar("Item")


def short(words: str, longest: int = LONGEST_TEXT) -> str:
    """A text that is cut where it is too long, with how much is left out."""
    words = words.strip()
    if len(words) <= longest:
        return words
    return f"{words[:longest].rstrip()} … ({counted(len(words) - longest, 'character')} more)"


def fitting(items: Sequence[Item], offset: int = 0, room: int = ROOM) -> tuple[tuple[Item, ...], int | None]:
    """As many items as there is room for, one at least.

    Returns:
        The items, and the offset of the first that is left out, if one is.

    Raises:
        Wrong: the offset is behind the last item.
    """
    if offset > len(items) or (offset == len(items) and items):
        raise Wrong(f"offset: {offset:,} is behind the last; there are {len(items):,}")
    taken: list[Item] = []
    left = room
    for item in items[offset:]:
        left -= len(str(as_data(item)))
        if taken and left < 0:
            break
        taken.append(item)
    end = offset + len(taken)
    return tuple(taken), end if end < len(items) else None
