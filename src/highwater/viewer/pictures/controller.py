"""How the controller model is drawn: ZooKeeper's truth, what each controller believes, and each broker with what it was
told.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from highwater.model.controller.brokers import Role
from highwater.model.controller.context import Answer, Context
from highwater.model.controller.state import Cluster
from highwater.model.language.domain import Struct
from highwater.model.language.picture import Badge, Drawing, Fact, Lane, Message, NameSet, Picture, Tone
from highwater.viewer.pictures.of_any_model import names, role

ZOOKEEPER = "zookeeper"
READS = {"receive", "fail_to_take_role", "read_answer"}  # what is gone after any other action was lost


def draw(domain: Struct, cluster: Cluster) -> Picture:
    """The picture of a state."""
    lanes = {ZOOKEEPER: zookeeper_lane(cluster)}
    lanes |= {f"c{number}": controller_lane(cluster, number) for number in range(len(cluster.controllers))}
    lanes |= {f"b{broker}": broker_lane(cluster, broker) for broker in cluster.ids}
    leadership = cluster.zk.leadership
    leader = f"b{leadership.leader}" if leadership and leadership.leader is not None else None
    return Picture(lanes, tuple(messages(cluster)), leadership.leader_epoch if leadership else None, leader)


def zookeeper_lane(cluster: Cluster) -> Lane:
    """What is durable."""
    zk = cluster.zk
    in_charge = "no controller" if zk.controller is None else f"c{zk.controller} in charge"
    badges = [
        Badge(
            f"{in_charge} e{zk.controller_epoch}",
            short=f"{'-' if zk.controller is None else f'c{zk.controller}'} e{zk.controller_epoch}",
        )
    ]
    name_sets = [
        NameSet("registered", names(broker for broker, epoch in enumerate(zk.registrations) if epoch is not None))
    ]
    facts = [Fact("replicas", listed(zk.assignment))] if zk.assignment else []
    if zk.leadership is not None:
        who = "no leader" if zk.leadership.leader is None else f"b{zk.leadership.leader} leads"
        badges.append(Badge(f"{who} e{zk.leadership.leader_epoch}", short=who))
        name_sets.insert(0, NameSet("ISR", names(zk.leadership.isr)))
        facts.append(Fact("version", str(zk.leadership.partition_epoch)))
    if zk.reassignment is not None:
        facts.append(Fact("reassignment", str(zk.reassignment)))
    asked = {
        "deletion": "asked for",
        "preferred_election": "asked for",
        "partition_added": "during the deletion",
        "isr_changed": "noted",
    }
    facts += [Fact(name.replace("_", " "), text) for name, text in asked.items() if getattr(zk, name)]
    return Lane(tuple(badges), name_sets=tuple(name_sets), facts=tuple(facts))


def controller_lane(cluster: Cluster, number: int) -> Lane:
    """What one controller believes; blank while it is not active."""
    context, zk = cluster.controllers[number], cluster.zk
    if not context.active:
        left = (Fact("left in its queue", "a changed ISR"),) if context.notification_queued else ()
        return Lane((Badge("not active", Tone.IDLE, "-"),), facts=left)
    deposed = zk.controller != number or context.epoch != zk.controller_epoch
    tone, text = (Tone.STALE, "deposed, active") if deposed else (Tone.LEADS, "active")
    badges = [
        Badge(
            f"{text} e{context.epoch}",
            tone,
            f"{'D' if deposed else 'C'}{context.epoch}",
            "It acts as controller in this controller epoch.",
        )
    ]
    if context.step is not None:
        badges.append(Badge(f"next: {context.step.value}", short=context.step.value))
    registered = names(broker for broker, epoch in enumerate(zk.registrations) if epoch is not None)
    name_sets = [
        NameSet("live", names(broker for broker, epoch in enumerate(context.live) if epoch is not None), registered)
    ]
    facts = [Fact("partition", context.partition.value), *replica_states(context)]
    if context.leadership is not None:
        truth = names(zk.leadership.isr) if zk.leadership else None
        name_sets.append(NameSet("ISR", names(context.leadership.isr), truth))
        leader = "nobody" if context.leadership.leader is None else f"b{context.leadership.leader}"
        facts.insert(0, Fact("leader", f"{leader} e{context.leadership.leader_epoch}"))
    if context.shutting_down:
        name_sets.append(NameSet("shutting down", names(context.shutting_down)))
    if context.reassignment is not None:
        facts.append(Fact("reassignment", str(context.reassignment)))
    if context.deleting:
        if context.added.name != "NON_EXISTENT":
            facts.append(Fact("added partition's replica", context.added.value))
        facts.append(
            Fact("deletion", "halted" if context.deletion_halted else "begun" if context.deletion_begun else "queued")
        )
    return Lane(tuple(badges), name_sets=tuple(name_sets), facts=tuple(facts))


def replica_states(context: Context) -> list[Fact]:
    """The state machine's state of each replica that has one."""
    return [
        Fact(f"replica b{broker}", state.value)
        for broker, state in enumerate(context.replicas)
        if state.name != "NON_EXISTENT"
    ]


def broker_lane(cluster: Cluster, broker: int) -> Lane:
    """A broker, its role and the metadata that it serves."""
    this, leadership = cluster.brokers[broker], cluster.zk.leadership
    badges: list[Badge] = []
    name_sets: tuple[NameSet, ...] = ()
    facts: list[Fact] = []
    if not this.running:
        badges.append(Badge("down", Tone.DOWN, "x"))
    leads = this.role is Role.LEADER
    rightly = leadership is not None and leadership.leader == broker
    epoch = this.leader_epoch if this.leader_epoch >= 0 else None
    followed = None if this.leader is None else f"b{this.leader}"
    badges.append(
        Badge("stopped", Tone.IDLE, "stopped")
        if this.role is Role.STOPPED
        else role(followed, epoch, leads=leads, stale=this.leads and not rightly)
    )
    if this.leaving:
        badges.append(Badge("shutting down", short="leaving"))
    if this.change is not None:
        facts.append(
            Fact("asks for ISR", " ".join(names(this.change.isr)) + (", gave up" if this.change.given_up else ""))
        )
    if this.coordinates != leads:
        facts.append(Fact("coordinates", "still" if this.coordinates else "not any more"))
    if leads:
        name_sets = (NameSet("its ISR", names(this.isr), names(leadership.isr) if leadership else ()),)
    if this.log is not None:
        facts.append(Fact("log", f"of t{this.log}, {'complete' if this.complete else 'incomplete'}"))
    if this.metadata is not None:
        leader = "nobody" if this.metadata.leader is None else f"b{this.metadata.leader}"
        facts.append(Fact("metadata", f"{leader} leads e{this.metadata.leader_epoch}"))
    if this.dead:
        facts.append(Fact("not alive by metadata", " ".join(names(this.dead))))
    if this.epoch:
        facts.append(Fact("broker epoch", str(this.epoch)))
    return Lane(tuple(badges), name_sets=name_sets, facts=tuple(facts))


def messages(cluster: Cluster) -> Iterable[Message]:
    """Requests in the queue of each controller to each broker, and answers to StopReplica."""
    for number, queues in enumerate(cluster.queues):
        for broker, queue in enumerate(queues):
            for place, request in enumerate(queue):
                key = ("request", number, broker, request, queue[:place].count(request))
                epoch = request.leader_epoch if request.leader_epoch >= 0 else None
                text = f"{request} of controller epoch {request.controller_epoch}"
                yield Message(key, request.kind.value, text, f"c{number}", f"b{broker}", epoch)
        for broker, answer in enumerate(cluster.controllers[number].answers):
            if answer is not Answer.NONE:
                yield Message(
                    ("answer", number, broker, answer), "StopReplica answer", answer.value, f"b{broker}", f"c{number}"
                )


def listed(brokers: Sequence[Any]) -> str:
    return " ".join(f"b{broker}" for broker in brokers)


CONTROLLER = Drawing(draw, drops=lambda action: action.of.name not in READS)
