"""A toy cluster whose messages are slots in the state, and traces of it and of the reference family."""

from __future__ import annotations

import random
from collections.abc import Callable
from enum import Enum
from typing import Any

import attrs
import pytest

from highwater.explorer.search.plain.plain_python import explore
from highwater.explorer.system import Cut, System, judge, successor
from highwater.explorer.trace import violation_at
from highwater.explorer.verdict import Step, Violation
from highwater.model.language.declarations import Witness, action, invariant
from highwater.model.language.domain import BOOLEAN, ArrayOf, Integers, Maybe, OneOf, SequenceOf, SetOf, Struct
from highwater.model.language.picture import Badge, Drawing, Lane, Message, NameSet, Picture, Tone
from highwater.model.language.records import bound, domain_of, evolve, records, replaced, within
from highwater.viewer.pictures.of_any_model import log_of, role
from highwater.viewer.showing import counterexample_of
from highwater.viewer.shown import Counterexample


@attrs.frozen
class Size:
    brokers: int = bound(1, 7, "brokers")
    log_length_max: int = bound(1, 15, "records in a log")
    epoch_max: int = bound(0, 15, "leader epochs")
    packets_max: int = bound(1, 15, "packets in flight")


def brokers(size: Any) -> Integers:
    return Integers(0, size.brokers - 1, label="b", names="brokers")


class Kind(Enum):
    APPEND = "append"
    LEADER_AND_ISR = "LeaderAndIsr"


@attrs.frozen
class Entry:
    id: int = within(lambda size: Integers(0, size.log_length_max * 4))
    leader_epoch: int = within(lambda size: Integers(0, size.epoch_max))


@attrs.frozen
class Packet:
    kind: Kind = within(OneOf(Kind))
    sender: int | None = within(lambda size: Maybe(brokers(size)))
    receiver: int = within(brokers)
    leader_epoch: int = within(lambda size: Integers(0, size.epoch_max))
    entry: Entry | None = within(lambda size: Maybe(records(Entry)(size)))


@attrs.frozen
class Node:
    up: bool = within(BOOLEAN)
    leader: int | None = within(lambda size: Maybe(brokers(size)))
    leader_epoch: int = within(lambda size: Integers(-1, size.epoch_max))
    high_watermark: int = within(lambda size: Integers(0, size.log_length_max))
    log: tuple[Entry, ...] = within(lambda size: SequenceOf(records(Entry)(size), size.log_length_max))


@attrs.frozen
class Net:
    """Brokers, and packets in slots that are kept sorted."""

    epoch: int = within(lambda size: Integers(-1, size.epoch_max))
    leader: int | None = within(lambda size: Maybe(brokers(size)))
    isr: frozenset[int] = within(lambda size: SetOf(brokers(size)))
    written: int = within(lambda size: Integers(0, size.log_length_max * 4))
    nodes: tuple[Node, ...] = within(lambda size: ArrayOf(records(Node)(size), size.brokers, label="b", by="brokers"))
    packets: tuple[Packet, ...] = within(lambda size: SequenceOf(records(Packet)(size), size.packets_max))

    def having(self, broker: int, **changes: Any) -> Net:
        return evolve(self, nodes=replaced(self.nodes, broker, evolve(self.nodes[broker], **changes)))

    def sending(self, *packets: Packet) -> Net:
        order = sorted(
            (*self.packets, *packets),
            key=lambda p: (p.leader_epoch, p.kind.value, p.receiver, p.entry.id if p.entry else -1),
        )
        return evolve(self, packets=tuple(order))

    def without(self, slot: int) -> Net:
        return evolve(self, packets=self.packets[:slot] + self.packets[slot + 1 :])


def slots(size: Any) -> Integers:
    return Integers(0, size.packets_max - 1)


@action(actor="controller", broker=brokers)
def elect(net: Net, broker: int) -> Net | None:
    """The controller elects a broker and tells everybody.

    Enabled: it does not lead.
    Effect: a new epoch; a packet to each broker.
    Source: kafka.controller.KafkaController#onBrokerFailure (0.11); KAFKA-1211.
    """
    if net.leader == broker:
        return None
    epoch = net.epoch + 1
    told = (Packet(Kind.LEADER_AND_ISR, None, other, epoch, None) for other in range(len(net.nodes)))
    return evolve(net.sending(*told) if epoch < 16 else net, epoch=epoch, leader=broker)


@action(actor="leader", leader=brokers, follower=brokers)
def append(net: Net, leader: int, follower: int) -> Net | None:
    """A leader appends a record and sends it to one follower."""
    node = net.nodes[leader]
    if not node.up or node.leader != leader or follower == leader:
        return None
    entry = Entry(net.written, node.leader_epoch)
    sent = net.having(leader, log=node.log + (entry,)).sending(
        Packet(Kind.APPEND, leader, follower, node.leader_epoch, entry)
    )
    return evolve(sent, written=net.written + 1)


@action(actor="broker", broker=brokers, slot=slots)
def receive(net: Net, broker: int, slot: int) -> Net | None:
    """A broker receives a packet that is meant for it."""
    if slot >= len(net.packets) or net.packets[slot].receiver != broker or not net.nodes[broker].up:
        return None
    packet, node = net.packets[slot], net.nodes[broker]
    rest = net.without(slot)
    if packet.kind is Kind.APPEND:
        return rest.having(broker, log=node.log + (packet.entry,))
    if packet.leader_epoch <= node.leader_epoch:
        return rest
    leads = net.leader == broker and packet.leader_epoch == net.epoch
    cut = node.log[: node.high_watermark]
    return rest.having(
        broker, leader=broker if leads else None, leader_epoch=packet.leader_epoch, log=node.log if leads else cut
    )


@action(actor="leader", leader=brokers)
def commit(net: Net, leader: int) -> Net | None:
    """A leader moves its high watermark."""
    node = net.nodes[leader]
    if not node.up or node.leader != leader or node.high_watermark >= len(node.log):
        return None
    return net.having(leader, high_watermark=node.high_watermark + 1)


@action(actor="network", slot=slots)
def lose(net: Net, slot: int) -> Net | None:
    """The network loses a packet."""
    return net.without(slot) if slot < len(net.packets) else None


@action(actor="broker", broker=brokers)
def toggle(net: Net, broker: int) -> Net | None:
    """A broker crashes, or comes back."""
    return net.having(broker, up=not net.nodes[broker].up)


ACTIONS = (elect, append, receive, commit, lose, toggle)


@invariant(broker=brokers, other=brokers)
def committed_records_are_everywhere(net: Net, broker: int, other: int) -> bool | Witness:
    """What one broker has committed, another that is up has at the same offset, if it has anything there."""
    for offset in range(net.nodes[broker].high_watermark):
        log = net.nodes[other].log
        if offset < len(log) and log[offset] != net.nodes[broker].log[offset]:
            return Witness(
                "b{broker} committed another record at offset {offset} than b{other} has",
                broker=broker,
                other=other,
                offset=offset,
            )
    return True


@invariant()
def little_is_written(net: Net, bounds: Size) -> bool | Witness:
    """False once many records were written: it makes long traces."""
    return net.written < bounds.log_length_max or Witness("{written} records were written", written=net.written)


def system_of(size: Size, *properties: Any) -> System:
    node = Node(True, None, -1, 0, ())
    start = Net(-1, None, frozenset(range(size.brokers)), 0, (node,) * size.brokers, ())
    return System(
        domain_of(Net, size),
        (start,),
        tuple(instance for each in ACTIONS for instance in each.instances(size)),
        tuple(instance for each in properties for instance in each.instances(size)),
    )


def draw(domain: Struct, net: Net) -> Picture:
    """As a model would declare it: lanes, and slots as messages."""
    controller = Badge(f"b{net.leader} leads e{net.epoch}" if net.leader is not None else "no leader", short="-")
    lanes = {"controller": Lane((controller,), name_sets=(NameSet("ISR", tuple(f"b{b}" for b in sorted(net.isr))),))}
    log = domain.fields["nodes"].of.fields["log"]
    for broker, node in enumerate(net.nodes):
        leads = node.leader == broker
        epoch = node.leader_epoch if node.leader_epoch >= 0 else None
        badges = (
            role(None, epoch, leads=leads, stale=leads and net.leader != broker),
            *(() if node.up else (Badge("down", Tone.DOWN, "x"),)),
        )
        lanes[f"b{broker}"] = Lane(badges, (log_of(log, node.log, node.high_watermark),))
    packets = tuple(
        Message(
            packet,
            packet.kind.value,
            "",
            "controller" if packet.sender is None else f"b{packet.sender}",
            f"b{packet.receiver}",
            packet.leader_epoch,
        )
        for packet in net.packets
    )
    return Picture(lanes, packets, net.epoch, None if net.leader is None else f"b{net.leader}")


DRAWING = Drawing(draw, drops=lambda action: action.of.name == "lose")
ENTRY = {
    "name": "a_toy",
    "model": "toy",
    "protocol": {"rule": "none"},
    "bounds": {"brokers": 3},
    "file": "toy.toml",
    "source": "",
    "depth": 3,
    "distinct_states": 10,
    "stored_states": 10,
}


def walk(system: System, steps: int, seed: int) -> Violation:
    """A random walk until a property is false, which takes at least so many steps."""
    dice = random.Random(seed)
    while True:
        trace = [Step(None, system.initial[0])]
        while len(trace) < 4 * steps:
            after = [(action, successor(action, trace[-1].state, system.domain)) for action in system.actions]
            names = sorted(
                {action.of.name for action, state in after if state is not None and not isinstance(state, Cut)}
            )
            name = dice.choice([name for name in names if name not in ("lose", "toggle")] * 4 + names)
            action, state = dice.choice(
                [(a, s) for a, s in after if a.of.name == name and s is not None and not isinstance(s, Cut)]
            )
            trace.append(Step(action, state))
            false = next(
                (instance for instance in system.invariants if not judge(instance, state, system.domain)), None
            )
            if false is not None:
                if len(trace) > steps:
                    return violation_at(system, false, trace)
                break


@pytest.fixture(scope="session")
def toy_trace() -> Counterexample:
    """The shortest way to two records at one offset, drawn as a model declares."""
    system = system_of(Size(2, 1, 1, 3), committed_records_are_everywhere)
    (violation,) = explore(system).violations
    return counterexample_of(ENTRY, system, violation, drawing=DRAWING)


@pytest.fixture(scope="session")
def toy() -> Callable[..., tuple[System, Violation]]:
    """A random walk of the toy cluster to a false property, of at least so many steps."""

    def make(steps: int, *, brokers: int = 3, seed: int = 1, log: int = 7, epochs: int = 5) -> tuple[System, Violation]:
        system = system_of(Size(brokers, log, epochs, 12), little_is_written)
        return system, walk(system, steps, seed)

    return make


@pytest.fixture(scope="session")
def long_trace(toy: Callable[..., tuple[System, Violation]]) -> Counterexample:
    """Sixty steps of five brokers."""
    system, violation = toy(60, brokers=5, seed=24)  # at its first try
    return counterexample_of({**ENTRY, "name": "sixty_steps_of_five_brokers"}, system, violation, drawing=DRAWING)


@pytest.fixture(scope="session")
def any_trace(toy: Callable[..., tuple[System, Violation]]) -> Counterexample:
    """Drawn from the domains alone."""
    system, violation = toy(20)
    return counterexample_of({**ENTRY, "name": "drawn_from_domains"}, system, violation)
