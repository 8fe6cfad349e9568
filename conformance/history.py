"""The metadata log's records of a partition as steps of the partition model's controller.

Each batch of metadata records that concerns a partition leads from one record of the controller to the next. It is
explained by a shortest sequence of the model's steps between the two, executed in plain Python. Metadata that the model
does not have, such as the order of replicas and their directories, are named beside it.

Source: org.apache.kafka.metadata.PartitionRegistration#merge (3.5 to 4.3), which says what a record leaves as it was,
    and when the leader epoch is a new one.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import attrs

from model.catalogue import MODELS
from model.language.declarations import Instance
from model.language.records import evolve, replaced
from model.log import NO_EPOCH
from model.partition.bounds import PartitionBounds
from model.partition.controlling import election_of
from model.partition.messages import Answer, IsrChange
from model.partition.protocol import PartitionProtocol
from model.partition.state import Partition, Process, Registration, Standing

KEEPS_LEADER = -2  # of a PartitionChangeRecord: no leader is named
MOST_BROKERS, MOST_STEPS = 5, 4
OF_PARTITIONS = frozenset({"PartitionRecord", "PartitionChangeRecord"})
OF_A_BROKER = frozenset({"RegisterBrokerRecord", "BrokerRegistrationChangeRecord", "UnregisterBrokerRecord"})
CONTROL = (
    "unfence", "restart", "fence", "begin_controlled_shutdown", "elect", "move_leadership", "elect_last_known_leader",
    "elect_uncleanly", "add_replica", "remove_replica", "alter_partition",
)  # fmt: skip
OF_BROKERS = {
    "unfence": Standing.ACTIVE,
    "restart": Standing.FENCED,
    "fence": Standing.FENCED,
    "begin_controlled_shutdown": Standing.SHUTTING_DOWN,
}
"""The steps that change a broker's standing, and to what: they are tried only if it ends so, or passes through it."""


@attrs.frozen
class Recorded:
    """The controller's record of a partition.

    Attributes:
        leader, leader_epoch, partition_epoch, isr, elr: as in Kafka; no leader is None.
        replicas: the assignment in its order.
        standings: by broker of the assignment, how the controller sees it.
    """

    leader: int | None
    leader_epoch: int
    partition_epoch: int
    isr: frozenset[int]
    elr: frozenset[int]
    replicas: tuple[int, ...]
    standings: Mapping[int, Standing]


@attrs.frozen
class Event:
    """What one batch of metadata records did to a partition.

    Attributes:
        offset, time: of the batch, the time in milliseconds since 1970.
        records: the types of the records that concern it.
        after: the controller's record after it.
        steps: the model's steps that explain it; None if none do.
        beside: what it changed that the model does not have.
    """

    offset: int
    time: int
    records: tuple[str, ...]
    after: Recorded
    steps: tuple[str, ...] | None
    beside: str = ""


@attrs.frozen
class Rules:
    """What the controller goes by.

    Attributes:
        protocol: the preset's, with the cluster's features and the topic's configuration.
        min_insync_replicas: the topic's.
    """

    protocol: PartitionProtocol
    min_insync_replicas: int


class History:
    """The metadata log, batch by batch.

    Attributes:
        events: by partition, such as `t-0`, what happened to it.
        recorded: by partition, the controller's last record.
        begun: by partition, the record in the snapshot that the log begins with.
        compacted: the topics whose logs are compacted.
    """

    def __init__(self, preset: str) -> None:
        self.events: dict[str, list[Event]] = {}
        self.recorded: dict[str, Recorded] = {}
        self.begun: dict[str, Recorded] = {}
        self._preset: PartitionProtocol = MODELS["partition"].presets[preset]
        self._topics: dict[str, str] = {}
        self._standings: dict[int, Standing] = {}
        self._configs: dict[str, dict[str, str]] = {}
        self._elr = False

    @property
    def compacted(self) -> frozenset[str]:
        policies = {topic: configs.get("cleanup.policy", "") for topic, configs in self._configs.items()}
        return frozenset(topic for topic, policy in policies.items() if "compact" in policy)

    def begin(self, batches: Iterable[dict[str, Any]], end: int) -> None:
        """Take over what a snapshot holds: all records up to an offset."""
        time = 0
        for batch in batches:
            time = max(time, batch["time"])
            for each in _readable(batch["records"]):
                self._apply(each["type"], each["record"], {}, {})
        self.recorded = {name: self._with_standings(each) for name, each in self.recorded.items()}
        self.begun = dict(self.recorded)
        for name, each in self.begun.items():
            self.events[name] = [Event(end, time, (), each, (), "as the snapshot has it")]

    def take(self, batch: dict[str, Any]) -> None:
        """Take in one batch of the log, and explain what it did to each partition."""
        before, concerned, notes = dict[str, Recorded | None](), dict[str, list[str]](), dict[str, list[str]]()
        standings, registered, brokers = dict(self._standings), set(), list[tuple[int, str]]()
        for each in _readable(batch["records"]):
            kind, record = each["type"], each["record"]
            if kind in OF_PARTITIONS:
                before.setdefault(self._name(record), self.recorded.get(self._name(record)))
            self._apply(kind, record, concerned, notes)
            if kind == "RegisterBrokerRecord":
                registered.add(record["brokerId"])
            if kind in OF_A_BROKER:
                brokers.append((record["brokerId"], kind))
        moved = [(broker, kind) for broker, kind in brokers if standings.get(broker) != self._standings[broker]]
        touched = [name for name, of in self.recorded.items() if any(each in of.replicas for each, _ in moved)]
        for name in dict.fromkeys([*concerned, *touched]):
            if name not in self.recorded:
                continue  # its topic is gone
            old = before.get(name, self.recorded[name])
            after = self.recorded[name] = self._with_standings(self.recorded[name])
            types = (*concerned.get(name, ()), *(kind for broker, kind in moved if broker in after.replicas))
            beside = "; ".join(dict.fromkeys(notes.get(name, ())))
            if old is None:
                steps = ("created",) if after.isr <= {*after.replicas} and after.leader in {None, *after.isr} else None
            else:
                steps = explain(old, after, frozenset(registered), self._rules(name))
            if steps == () and not beside:
                steps = None  # a record that changes nothing but the partition epoch
            event = Event(batch["base"], batch["time"], types, after, steps, beside)
            self.events.setdefault(name, []).append(event)

    def _apply(
        self, kind: str, record: dict[str, Any], concerned: dict[str, list[str]], notes: dict[str, list[str]]
    ) -> None:
        match kind:
            case "TopicRecord":
                self._topics[record["topicId"]] = record["name"]
            case "RemoveTopicRecord":
                gone = self._topics.pop(record["topicId"], None)
                self.recorded = {name: each for name, each in self.recorded.items() if name.rpartition("-")[0] != gone}
            case _ if kind in OF_A_BROKER:
                self._standings[record["brokerId"]] = _standing(record, self._standings.get(record["brokerId"]))
            case "FeatureLevelRecord" if record["name"] == "eligible.leader.replicas.version":
                self._elr = record["featureLevel"] > 0
            case "ConfigRecord" if record["resourceType"] in (2, 4):
                of = self._configs.setdefault(record["resourceName"], {})
                of[record["name"]] = record["value"] or ""
            case "PartitionRecord" | "PartitionChangeRecord":
                name = self._name(record)
                concerned.setdefault(name, []).append(kind)
                old = self.recorded.get(name)
                if kind == "PartitionRecord":
                    self.recorded[name] = self._with_standings(_created(record))
                elif old is not None:
                    self.recorded[name] = self._with_standings(_merged(old, record))
                    notes.setdefault(name, []).extend(_beside(old, record))

    def _name(self, record: dict[str, Any]) -> str:
        return f"{self._topics.get(record['topicId'], record['topicId'])}-{record['partitionId']}"

    def _with_standings(self, of: Recorded) -> Recorded:
        standings = {broker: self._standings.get(broker, Standing.FENCED) for broker in of.replicas}
        return attrs.evolve(of, standings=standings)

    def _rules(self, partition: str) -> Rules:
        configs = {**self._configs.get("", {}), **self._configs.get(partition.rpartition("-")[0], {})}
        protocol = attrs.evolve(
            self._preset,
            elr=self._elr,
            isr_may_be_empty=self._elr and self._preset.isr_may_be_empty,
            unclean_election=configs.get("unclean.leader.election.enable") == "true",
        )
        return Rules(protocol, int(configs.get("min.insync.replicas", "1")))


def _readable(records: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    return (each for each in records if "type" in each and "error" not in each["record"])


def _standing(record: dict[str, Any], before: Standing | None) -> Standing:
    """A broker's standing after a record about it. In a change, 1 is yes, -1 is no, and 0 or nothing leaves it."""
    fenced, stopping = record.get("fenced", 0), record.get("inControlledShutdown", 0)
    if isinstance(fenced, bool):
        return Standing.FENCED if fenced else Standing.SHUTTING_DOWN if stopping else Standing.ACTIVE
    if fenced == 1:
        return Standing.FENCED
    if stopping == 1:
        return Standing.SHUTTING_DOWN if before is not Standing.FENCED or fenced == -1 else Standing.FENCED
    return Standing.ACTIVE if fenced == -1 else before or Standing.FENCED


def _leader(number: int) -> int | None:
    return None if number < 0 else number


def _created(record: dict[str, Any]) -> Recorded:
    return Recorded(
        leader=_leader(record["leader"]),
        leader_epoch=record["leaderEpoch"],
        partition_epoch=record["partitionEpoch"],
        isr=frozenset(record["isr"]),
        elr=frozenset(record.get("eligibleLeaderReplicas") or ()),
        replicas=tuple(record["replicas"]),
        standings={},
    )


def _merged(old: Recorded, record: dict[str, Any]) -> Recorded:
    named = record.get("leader", KEEPS_LEADER)
    isr, elr, replicas = (record.get(key) for key in ("isr", "eligibleLeaderReplicas", "replicas"))
    return attrs.evolve(
        old,
        leader=old.leader if named == KEEPS_LEADER else _leader(named),
        leader_epoch=old.leader_epoch + (named != KEEPS_LEADER),
        partition_epoch=old.partition_epoch + 1,
        isr=old.isr if isr is None else frozenset(isr),
        elr=old.elr if elr is None else frozenset(elr),
        replicas=old.replicas if replicas is None else tuple(replicas),
    )


def _beside(old: Recorded, record: dict[str, Any]) -> Iterator[str]:
    """What a record changes that the model does not have."""
    replicas = record.get("replicas")
    if replicas is not None and tuple(replicas) != old.replicas and set(replicas) == set(old.replicas):
        yield f"the replicas are in the order {' '.join(map(str, replicas))}"
    if replicas is None and record.get("directories") is not None:
        yield "directories are assigned"
    for key, words in (
        ("addingReplicas", "replicas are being added"),
        ("removingReplicas", "replicas are being removed"),
        ("lastKnownElr", "the last known leader changes"),
    ):
        if record.get(key) is not None:
            yield words
    if record.get("leaderRecoveryState", -1) >= 0:
        yield "the leader's recovery changes"


# The model between two records


def explain(before: Recorded, after: Recorded, registered: frozenset[int], rules: Rules) -> tuple[str, ...] | None:
    """A shortest sequence of the model's steps from one record to the next; None if there is none.

    Args:
        registered: the brokers that have registered in between.
    """
    ids = sorted({*before.replicas, *after.replicas, *before.isr, *after.isr})
    if len(ids) > MOST_BROKERS:
        return ("not judged: more than five replicas",)
    index = {broker: number for number, broker in enumerate(ids)}
    goal = _projected(after, index)
    epochs = after.leader_epoch - before.leader_epoch
    for clean in (True, False):
        start = _start(before, index, registered, clean, rules)
        found = _search(start, goal, epochs, {index[each] for each in registered if each in index}, rules)
        if found is not None:
            return tuple(_shown(instance, ids) for instance in found)
    return None


def _search(
    start: Partition, goal: tuple[Any, ...], epochs: int, registered: set[int], rules: Rules
) -> tuple[Instance, ...] | None:
    frontier: list[tuple[Partition, tuple[Instance, ...]]] = [(start, ())]
    seen = {start}
    for _ in range(MOST_STEPS + 1):
        following = []
        for state, path in frontier:
            if _projection(state) == goal and state.leader_epoch == epochs:
                return path
            for instance in _instances(len(start.replicas), rules):
                if not _may_help(instance, state, goal, registered):
                    continue
                after = instance.apply(_asking(state, goal[1]) if instance.of.name == "alter_partition" else state)
                if after is None or after.leader_epoch > epochs:
                    continue
                after = evolve(after, replicas=tuple(evolve(each, changes=()) for each in after.replicas))
                if after not in seen:
                    seen.add(after)
                    following.append((after, (*path, instance)))
        frontier = following
    return None


def _projection(state: Partition) -> tuple[Any, ...]:
    quorum = state.quorum
    return (
        quorum.leader,
        quorum.isr,
        quorum.elr,
        quorum.assignment,
        tuple(each.standing for each in quorum.registrations),
    )


def _projected(of: Recorded, index: Mapping[int, int]) -> tuple[Any, ...]:
    return (
        None if of.leader is None else index[of.leader],
        frozenset(index[each] for each in of.isr),
        frozenset(index[each] for each in of.elr),
        frozenset(index[each] for each in of.replicas),
        tuple(of.standings.get(each, Standing.FENCED) for each in index),
    )


def _may_help(instance: Instance, state: Partition, goal: tuple[Any, ...], registered: set[int]) -> bool:
    """Whether a step changes only what is to change: standings of brokers, and the assignment."""
    name, arguments = instance.of.name, instance.arguments
    if name in OF_BROKERS:
        broker = arguments["broker"]
        now, wanted = state.quorum.registrations[broker].standing, goal[4][broker]
        if name == "restart":
            return broker in registered
        return now is not wanted and (OF_BROKERS[name] is wanted or broker in registered)
    if name in ("add_replica", "remove_replica"):
        return (arguments["broker"] in goal[3]) is (name == "add_replica")
    if name == "alter_partition":
        return state.quorum.leader == arguments["leader"] and state.quorum.isr != goal[1]
    return goal[0] == arguments["candidate"]


def _asking(state: Partition, isr: frozenset[int]) -> Partition:
    """The state in which the leader asks for an ISR, in the present epochs and with the present broker epochs."""
    quorum, leader = state.quorum, state.quorum.leader
    assert leader is not None
    epochs = tuple(each.broker_epoch if broker in isr else NO_EPOCH for broker, each in enumerate(quorum.registrations))
    change = IsrChange(Answer.NONE, state.leader_epoch, quorum.partition_epoch, isr, epochs)
    return state.with_replica(leader, evolve(state.replicas[leader], changes=(change,)))


def _start(of: Recorded, index: Mapping[int, int], registered: frozenset[int], clean: bool, rules: Rules) -> Partition:
    """The model's state for a record: every broker runs but for those that are about to register."""
    initial = _definition(rules.protocol).initial_states(_bounds(len(index), rules.min_insync_replicas))[0]
    leader, isr, elr, assignment, standings = _projected(of, index)
    quorum = evolve(
        initial.quorum,
        leader=leader,
        isr=isr,
        elr=elr,
        assignment=assignment,
        registrations=tuple(Registration(each, broker_epoch=0, since=0) for each in standings),
    )
    replicas = initial.replicas
    for broker in registered & index.keys():
        down = evolve(replicas[index[broker]], process=Process.DOWN, clean=clean)
        replicas = replaced(replicas, index[broker], down)
    return evolve(initial, quorum=quorum, elections=(election_of(quorum),), replicas=replicas)


@functools.cache
def _definition(protocol: PartitionProtocol) -> Any:
    return MODELS["partition"].define(protocol)


@functools.cache
def _bounds(brokers: int, min_insync_replicas: int) -> PartitionBounds:
    budgets = dict.fromkeys(("leader_moves", "spurious_fences", "controlled_shutdowns", "reassignments"), 7)
    sizes = {"log_length_max": 1, "records_max": 1, "leader_epoch_max": MOST_STEPS, "process_crashes": 7}
    return PartitionBounds(brokers=brokers, min_insync_replicas=min(min_insync_replicas, 5), **sizes, **budgets)


@functools.cache
def _instances(brokers: int, rules: Rules) -> tuple[Instance, ...]:
    actions = {each.name: each for each in _definition(rules.protocol).actions}
    bounds = _bounds(brokers, rules.min_insync_replicas)
    known = [actions[name] for name in CONTROL if name in actions]
    return tuple(each for action in known for each in action.instances(bounds, rules.protocol))


def _shown(instance: Instance, ids: list[int]) -> str:
    """A step with the brokers' real ids."""
    arguments = {name: "none" if value is None else f"b{ids[value]}" for name, value in instance.arguments.items()}
    return f"{instance.of.name}({', '.join(f'{name} {value}' for name, value in arguments.items())})"
