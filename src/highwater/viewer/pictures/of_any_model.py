"""Pictures from domains alone, for models that say nothing of how they look.

An array `by` broker gives a lane per broker, and an actor with a name of its own has a lane, too: the fields that begin
with its name are there. In a lane, sequences named like logs are logs, sets of brokers are sets of names, a `leader` is
a role, and the rest are facts under their fields' names. Blank ones are shown only in the step that made them so. All
else is in the `state` lane. Collections of records with a sender or a receiver are messages.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from highwater.model.language.domain import ArrayOf, Integers, Maybe, SequenceOf, SetOf, Struct
from highwater.model.language.picture import Badge, Block, Drawing, Fact, Lane, Log, Message, NameSet, Picture, Tone
from highwater.model.language.shape import Domain

STATE = "state"
SENDERS, RECEIVERS = ("sender", "source", "from_broker"), ("receiver", "destination", "to_broker")
EPOCHS = ("leader_epoch", "epoch")
HIGH_WATERMARKS, STARTS = ("high_watermark", "hw"), ("log_start_offset", "start")


def drawing(actors: Iterable[str] = ()) -> Drawing:
    """How states of any struct are drawn.

    Args:
        actors: who acts in the model; those that are no element of an array get a lane of their own.
    """
    return Drawing(functools.partial(draw, actors=tuple(dict.fromkeys(filter(None, actors)))))


def draw(domain: Struct, state: Any, actors: Sequence[str] = ()) -> Picture:
    """The picture of a state of any struct."""
    lanes: dict[str, list[tuple[str, Any, Any]]] = {}
    rest: list[tuple[str, Any, Any]] = []
    messages: list[Message] = []
    for path, of, value in _parts(domain, state, "", actors):
        if isinstance(of, ArrayOf):
            for i, element in enumerate(value):
                lanes.setdefault(f"{of.label}{i}", []).append((path, of.of, element))
        elif (found := _as_messages(path, of, value)) is not None:
            messages += found
        else:
            rest.append((path, of, value))
    named = [actor for actor in actors if actor not in lanes and actor != STATE]  # which has the rest
    owned = {actor: [part for part in rest if re.match(rf"{re.escape(actor)}(?![^\W_])", part[0])] for actor in named}
    taken = {part[0] for parts in owned.values() for part in parts}
    rest = [part for part in rest if part[0] not in taken]
    drawn = {STATE: lane_of(rest, "")} if rest or STATE in actors or not (lanes or named) else {}
    drawn |= {actor: lane_of(parts, "") for actor, parts in owned.items()}
    for name, parts in lanes.items():
        drawn[name] = lane_of([*_inside(parts)], name)
    return Picture(drawn, tuple(messages))


def _inside(parts: Sequence[tuple[str, Any, Any]]) -> Iterator[tuple[str, Any, Any]]:
    """The fields of a lane's elements. Of arrays with the same names the first alone has short ones, unless it is in a
    record, as all of them may be.
    """
    shared = Counter(field for _, of, _ in parts if isinstance(of, Struct) for field in of.fields)
    taken = set[str]()
    for path, of, element in parts:
        if not isinstance(of, Struct):
            yield path, of, element
            continue
        for field, inner in of.fields.items():
            long = field in taken or (shared[field] > 1 and "." in path)
            taken.add(field)
            yield f"{path}.{field}" if long else field, inner, getattr(element, field)


def _parts(domain: Struct, state: Any, path: str, actors: Sequence[str]) -> Iterator[tuple[str, Any, Any]]:
    """The parts of a state that are lanes, messages or scalars; records are entered."""
    for name, of in domain.fields.items():
        value = getattr(state, name)
        inner = of.of if isinstance(of, Maybe) and value is not None else of
        if isinstance(inner, Struct) and _as_messages(name, of, value) is None:
            yield from _parts(inner, value, f"{path}{name}.", actors)
        elif isinstance(of, ArrayOf) and not (of.by or {f"{of.label}{i}" for i in range(of.length)} & set(actors)):
            yield from ((f"{path}{name}[{of.label}{i}]", of.of, element) for i, element in enumerate(value))
        else:
            yield f"{path}{name}", of, value


def lane_of(parts: Sequence[tuple[str, Any, Any]], lane: str) -> Lane:
    """A lane from its parts: name, domain and value of each."""
    badges: list[Badge] = []
    logs: list[Log] = []
    name_sets: list[NameSet] = []
    facts: list[Fact] = []
    numbers = {name: value for name, _, value in parts if type(value) is int}
    high_watermark, start, epoch = (_first(numbers, names) for names in (HIGH_WATERMARKS, STARTS, EPOCHS))
    said = set()  # by a mark or a role
    if any(_is_log(name, of, value) for name, of, value in parts):
        said.add(high_watermark)
    if any(_is_role(name, of, lane) for name, of, _ in parts) and numbers.get(epoch, -1) >= 0:
        said.add(epoch)
    for name, of, value in parts:
        inner = of.of if isinstance(of, Maybe) else of
        if name in said:
            continue
        if _is_role(name, of, lane):
            followed = None if value is None or value < 0 else inner.show(value)
            badges.append(role(followed, numbers[epoch] if epoch in said else None, leads=followed == lane))
        elif value is None:
            facts.append(Fact(name, "none", blank=True))
        elif _is_log(name, of, value):
            logs.append(log_of(inner, value, numbers.get(high_watermark), numbers.get(start, 0), name))
        elif isinstance(inner, SetOf) and isinstance(inner.of, Integers) and inner.of.names:
            name_sets.append(NameSet(name, tuple(inner.of.show(member) for member in sorted(value))))
        else:
            blank = value is False or value in ((), frozenset()) or (isinstance(of, Integers) and value == of.low)
            facts.append(Fact(name, _shown(inner, value), blank))
    return Lane(tuple(badges), tuple(logs), tuple(name_sets), tuple(facts))


def _first(numbers: Mapping[str, int], names: Sequence[str]) -> str:
    """The first of some names that is one of a number; empty if none is."""
    return next((name for name in names if name in numbers), "")


def _is_log(name: str, domain: Domain, value: Any) -> bool:
    inner = domain.of if isinstance(domain, Maybe) else domain
    return value is not None and isinstance(inner, SequenceOf) and bool(name.endswith("log") or _epoch_field(inner.of))


def _is_role(name: str, domain: Domain, lane: str) -> bool:
    """Whether a field says whom the replica of a lane follows: another lane of its kind."""
    inner = domain.of if isinstance(domain, Maybe) else domain
    return (
        name == "leader" and isinstance(inner, Integers) and bool(re.fullmatch(rf"{re.escape(inner.label)}\d+", lane))
    )


def names(brokers: Iterable[int]) -> tuple[str, ...]:
    """Brokers as shown, in order."""
    return tuple(f"b{broker}" for broker in sorted(brokers))


def role(leader: str | None, epoch: int | None, *, leads: bool, stale: bool = False) -> Badge:
    """The badge of a replica that leads, or follows a leader, or knows of none."""
    of = "" if epoch is None else f" e{epoch}"
    number = "" if epoch is None else str(epoch)
    if stale:
        return Badge(f"stale leader{of}", Tone.STALE, f"S{number}", "It presumes leadership, but another broker leads.")
    if leads:
        return Badge(f"leads{of}", Tone.LEADS, f"L{number}", "It leads the partition in this leader epoch.")
    if leader is not None:
        return Badge(f"follows {leader}{of}", Tone.FOLLOWS, f"F{number}", f"It follows {leader} in this leader epoch.")
    return Badge(f"no leader{of}", Tone.IDLE, f"·{number}" if number else "-", "It knows of no leader.")


def log_of(
    domain: SequenceOf,
    records: Sequence[Any],
    high_watermark: int | None = None,
    start: int = 0,
    name: str = "log",
    text_of: Callable[[Any], str] | None = None,
) -> Log:
    """A log from a sequence of records, whose leader epoch is looked for by name. Without `text_of` all other fields of
    a record are its text.
    """
    epoch = _epoch_field(domain.of)

    def block(record: Any) -> Block:
        if epoch is None:
            return Block(domain.of.show(record))
        if text_of is not None:
            return Block(text_of(record), getattr(record, epoch))
        rest = {key: of for key, of in domain.of.fields.items() if key != epoch}
        text = (
            f"r{record.id}"
            if set(rest) == {"id"}
            else " ".join(of.show(getattr(record, key)) for key, of in rest.items())
        )
        return Block(text, getattr(record, epoch))

    return Log(tuple(map(block, records)), high_watermark, start, int(domain.max_length), name)


def _epoch_field(domain: Any) -> str | None:
    if not isinstance(domain, Struct):
        return None
    return next((name for name in EPOCHS if _is_number(domain.fields.get(name))), None)


def _is_number(domain: Any) -> bool:
    return isinstance(domain.of if isinstance(domain, Maybe) else domain, Integers)


def _as_messages(path: str, domain: Any, value: Any) -> list[Message] | None:
    """The messages in a collection of records, or in a record, that have a sender or a receiver; None where it holds no
    such records.
    """
    of: Any = domain
    while set(of.inside()) == {""}:
        of = of.inside()[""]
    if not isinstance(of, Struct):
        return None
    sender, receiver = (next((name for name in names if name in of.fields), None) for names in (SENDERS, RECEIVERS))
    if sender is None and receiver is None:
        return None
    return [_message(key, message, of, sender, receiver) for key, message in _flat(domain, value, path)]


def _message(key: str, message: Any, domain: Struct, sender: str | None, receiver: str | None) -> Message:
    """A message from a record; sender and receiver are separate from what it says."""
    shown = {name: of.show(getattr(message, name)) for name, of in domain.fields.items()}
    kind = next((shown[name] for name in ("kind", "type") if name in shown), domain.cls.__name__)
    text = " ".join(
        f"{name} {value}" for name, value in shown.items() if name not in (sender, receiver, "kind", "type")
    )
    epoch_field = _epoch_field(domain)
    epoch = None if epoch_field is None else getattr(message, epoch_field)
    begin, end = (
        None if name is None or getattr(message, name) is None else shown[name] for name in (sender, receiver)
    )
    return Message((key, message), kind, text, begin, end, epoch)


def _flat(domain: Domain, value: Any, key: str) -> Iterator[tuple[str, Any]]:
    """The records in a collection. The place in a sequence is no part of the key, so that a message may move up."""
    if isinstance(domain, Struct):
        yield key, value
        return
    seen: dict[Any, int] = {}
    for of, element in domain.parts(value):
        seen[element] = seen.get(element, 0) + 1
        yield from _flat(of, element, key if seen[element] == 1 else f"{key}#{seen[element]}")


def _shown(domain: Any, value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return domain.show(value) or '""'
