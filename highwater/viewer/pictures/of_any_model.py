"""Pictures from domains alone, for models that say nothing of how they look.

An array `by` broker gives a lane per broker. In a lane, sequences named like logs are logs, sets of brokers are sets of
names, a `leader` is a role, and the rest are facts, unless they are blank or zero; all else is the `cluster` lane.
Collections of records with a sender or a receiver are messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import Any

from highwater.viewer.picture import Badge, Block, Drawing, Fact, Lane, Log, Message, NameSet, Picture, Tone
from model.language.domain import ArrayOf, Integers, Maybe, OneOf, SequenceOf, SetOf, Struct

CLUSTER = "cluster"
SENDERS, RECEIVERS = ("sender", "source", "from_broker"), ("receiver", "destination", "to_broker")
EPOCHS = ("leader_epoch", "epoch")
HIGH_WATERMARKS, STARTS = ("high_watermark", "hw"), ("log_start_offset", "start")


def draw(domain: Struct, state: Any) -> Picture:
    """The picture of a state of any struct."""
    lanes: dict[str, list[tuple[str, Any, Any]]] = {}
    rest: list[tuple[str, Any, Any]] = []
    messages: list[Message] = []
    for path, of, value in _parts(domain, state, ""):
        if isinstance(of, ArrayOf):
            for i, element in enumerate(value):
                lanes.setdefault(f"{of.label}{i}", []).append((path, of.of, element))
        elif (found := _as_messages(path, of, value)) is not None:
            messages += found
        else:
            rest.append((path, of, value))
    has_rest = any(not isinstance(of, ArrayOf) for of in domain.fields.values())
    drawn = {CLUSTER: lane_of(rest, "")} if has_rest or not lanes else {}
    for name, parts in lanes.items():
        inside: list[tuple[str, Any, Any]] = []
        for path, of, element in parts:
            if isinstance(of, Struct):
                inside += [(field, inner, getattr(element, field)) for field, inner in of.fields.items()]
            else:
                inside.append((path, of, element))
        drawn[name] = lane_of(inside, name)
    return Picture(drawn, tuple(messages))


def _parts(domain: Struct, state: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """The parts of a state that are lanes, messages or scalars; records are entered."""
    for name, of in domain.fields.items():
        value = getattr(state, name)
        inner = of.of if isinstance(of, Maybe) and value is not None else of
        if isinstance(inner, Struct) and _as_messages(name, of, value) is None:
            yield from _parts(inner, value, f"{path}{name}.")
        elif isinstance(of, ArrayOf) and not of.by:
            yield from ((f"{path}{name}[{of.label}{i}]", of.of, element) for i, element in enumerate(value))
        else:
            yield f"{path}{name}", of, value


def lane_of(parts: Sequence[tuple[str, Any, Any]], lane: str) -> Lane:
    """A lane from its parts: name, domain and value of each."""
    values = {name: value for name, _, value in parts}
    badges: list[Badge] = []
    logs: list[Log] = []
    name_sets: list[NameSet] = []
    facts: list[Fact] = []
    high_watermark = next((values[name] for name in HIGH_WATERMARKS if isinstance(values.get(name), int)), None)
    for name, of, value in parts:
        inner = of.of if isinstance(of, Maybe) else of
        if value is None or (name in EPOCHS and lane and "leader" in values):  # told by the role
            continue
        if isinstance(inner, SequenceOf) and (name.endswith("log") or _epoch_field(inner.of)):
            start = next((values[key] for key in STARTS if isinstance(values.get(key), int)), 0)
            logs.append(log_of(inner, value, high_watermark, start, name))
        elif name in HIGH_WATERMARKS and any(isinstance(other, SequenceOf) for _, other, _ in parts):
            continue
        elif name == "leader" and isinstance(inner, Integers) and lane:
            leads = inner.show(value) == lane
            epoch = next((values[key] for key in EPOCHS if isinstance(values.get(key), int) and values[key] >= 0), None)
            badges.append(role(leads, inner.show(value), epoch))
        elif isinstance(inner, SetOf) and isinstance(inner.of, Integers) and inner.of.names:
            name_sets.append(NameSet(_words(name), tuple(inner.of.show(member) for member in sorted(value))))
        elif isinstance(inner, OneOf) and (isinstance(value, Enum) or value is True):
            badges.append(Badge(_words(name) if value is True else inner.show(value)))
        elif (
            value is not False and value not in ((), frozenset()) and not (isinstance(of, Integers) and value == of.low)
        ):
            facts.append(Fact(_words(name), inner.show(value)))
    return Lane(tuple(badges), tuple(logs), tuple(name_sets), tuple(facts))


def names(brokers: Iterable[int]) -> tuple[str, ...]:
    """Brokers as shown, in order."""
    return tuple(f"b{broker}" for broker in sorted(brokers))


def role(leads: bool, leader: str | None, epoch: int | None, *, zombie: bool = False) -> Badge:
    """The badge of a replica that leads, or follows a leader, or knows of none."""
    of = "" if epoch is None else f" e{epoch}"
    number = "" if epoch is None else str(epoch)
    if zombie:
        return Badge(
            f"zombie leader{of}",
            Tone.ZOMBIE,
            f"Z{number}",
            "It presumes leadership, but another leads or a newer leader epoch began.",
        )
    if leads:
        return Badge(f"leads{of}", Tone.LEADS, f"L{number}", "It leads the partition in this leader epoch.")
    if leader is not None:
        return Badge(f"follows {leader}{of}", Tone.FOLLOWS, f"F{number}", f"It follows {leader} in this leader epoch.")
    return Badge(f"no leader{of}", Tone.IDLE, f"·{number}" if number else "-", "It knows of no leader.")


def log_of(
    domain: SequenceOf, records: Sequence[Any], high_watermark: int | None = None, start: int = 0, name: str = "log"
) -> Log:
    """A log from a sequence of records, whose leader epoch is looked for by name."""
    epoch = _epoch_field(domain.of)

    def block(record: Any) -> Block:
        if epoch is None:
            return Block(domain.of.show(record))
        rest = {key: of for key, of in domain.of.fields.items() if key != epoch}
        text = (
            f"r{record.id}"
            if set(rest) == {"id"}
            else " ".join(of.show(getattr(record, key)) for key, of in rest.items())
        )
        return Block(text, getattr(record, epoch))

    return Log(tuple(map(block, records)), high_watermark, start, int(domain.max_length), name)


def _epoch_field(domain: Any) -> str | None:
    return next((name for name in EPOCHS if name in domain.fields), None) if isinstance(domain, Struct) else None


def _as_messages(path: str, domain: Any, value: Any) -> list[Message] | None:
    """The messages in a collection of records, or in a record, that have a sender or a receiver; None where it holds no
    such records.
    """
    of: Any = domain
    while isinstance(of, SetOf | SequenceOf | ArrayOf | Maybe):
        of = of.of
    if not isinstance(of, Struct):
        return None
    sender, receiver = (next((name for name in names if name in of.fields), None) for names in (SENDERS, RECEIVERS))
    if sender is None and receiver is None:
        return None
    return [_message(key, message, of, sender, receiver) for key, message in _flat(value, path)]


def _message(key: str, message: Any, domain: Struct, sender: str | None, receiver: str | None) -> Message:
    """A message from a record; sender and receiver are separate from what it says."""
    shown = {name: of.show(getattr(message, name)) for name, of in domain.fields.items()}
    kind = next((shown[name] for name in ("kind", "type") if name in shown), domain.cls.__name__)
    text = " ".join(
        f"{_words(name)} {value}" for name, value in shown.items() if name not in (sender, receiver, "kind", "type")
    )
    epoch = next((getattr(message, name) for name in EPOCHS if name in shown), None)
    ends = (None if name is None or getattr(message, name) is None else shown[name] for name in (sender, receiver))
    return Message((key, message), kind, text, *ends, epoch)


def _flat(value: Any, key: str) -> Iterator[tuple[str, Any]]:
    """The records in a collection. The place in a sequence is no part of the key, so that a message may move up."""
    if isinstance(value, tuple | frozenset):
        seen: dict[Any, int] = {}
        for element in value:
            seen[element] = seen.get(element, 0) + 1
            yield from _flat(element, key if seen[element] == 1 else f"{key}#{seen[element]}")
    elif value is not None:
        yield key, value


def _words(name: str) -> str:
    return name.rpartition(".")[2].replace("_", " ").replace("isr", "ISR")


DRAWING = Drawing(draw)
