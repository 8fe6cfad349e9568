"""The rules of the controller and of the brokers that obey it, each a toggle."""

from __future__ import annotations

from enum import Enum

import attrs

from model.language.definition import toggle


class StopReplicaEpoch(Enum):
    """Which leader epoch in StopReplica a broker that knows a leader epoch accepts. A topic that is being deleted
    overrides it.
    """

    ANY = "any"
    NEWER = "newer"
    NEWER_OR_EQUAL = "newer-or-equal"


class DeadReplicaAtStartup(Enum):
    """What becomes of a replica on a dead broker when a new controller takes over."""

    INELIGIBLE = "ineligible"
    OFFLINE = "offline"


class LastIsrMember(Enum):
    """Whether the last member of the ISR leaves it when it dies."""

    LEAVES = "leaves"
    LEAVES_IF_UNCLEAN = "leaves-if-unclean"
    STAYS = "stays"


class ReassignmentOrder(Enum):
    """In which order the steps of a reassignment run. All but the first are mutants, named after what comes too
    early.
    """

    PUBLISHED = "published"
    REPLICAS_FIRST = "replicas-first"
    WITHOUT_WAITING = "without-waiting"
    STOPPING_FIRST = "stopping-first"
    ASSIGNMENT_FIRST = "assignment-first"
    CLOSING_FIRST = "closing-first"


class Completion(Enum):
    """When a reassignment may complete: which replicas must be in the ISR."""

    ADDING_IN_ISR = "adding-in-isr"
    TARGET_IN_ISR = "target-in-isr"
    NO_FEWER_THAN_BEFORE = "no-fewer-than-before"


class IsrPath(Enum):
    """How a leader changes the ISR: by writing to ZooKeeper itself, or by asking the controller."""

    ZOOKEEPER = "zookeeper"
    ALTER_PARTITION = "alter-partition"


class AheadOfController(Enum):
    """What a controller answers to a leader that knows newer epochs than it does."""

    FENCED = "fenced"
    NOT_CONTROLLER = "not-controller"


@attrs.frozen
class ControllerProtocol:
    """How controllers and brokers behave. `True` is how Kafka does it now, unless a toggle's meaning says otherwise."""

    broker_checks_controller_epoch: bool = toggle("brokers refuse requests of deposed controllers (KAFKA-532)")
    zk_write_fenced: bool = toggle("a controller's writes to ZooKeeper fail once another one was elected (KAFKA-6082)")
    zombie_learns_epoch: bool = toggle("a bug: a deposed controller adopts its successor's epoch (KAFKA-1096)")
    resign_stops_queue: bool = toggle(
        "a controller that has resigned handles no event that was in its queue (KAFKA-4447)"
    )
    found_self_elected_runs_failover: bool = toggle(
        "a controller that tries again and finds itself elected takes over (KAFKA-1387)"
    )
    leader_and_isr_needs_newer_epoch: bool = toggle(
        "brokers refuse LeaderAndIsr of a leader epoch that is not newer (KAFKA-1188)"
    )
    stop_replica_epoch: StopReplicaEpoch = toggle("which leader epoch StopReplica must have (KAFKA-9539, KAFKA-13972)")
    broker_checks_broker_epoch: bool = toggle("brokers refuse requests meant for an earlier life of theirs (KIP-380)")
    controller_detects_bounce: bool = toggle(
        "the controller sees that a broker left and came back between two looks (KIP-380)"
    )
    bounce_updates_partitions: bool = toggle(
        "a broker that left and came back loses leadership and its place in the ISR (KAFKA-18106)"
    )
    registration_keeps_epoch: bool = toggle(
        "a broker that registers again in the same life keeps its broker epoch (KAFKA-16952)"
    )
    last_isr_member: LastIsrMember = toggle("what the last member of the ISR does when it dies (KAFKA-1028)")
    one_expiry_at_a_time: bool = toggle("brokers that die together leave the ISR one after the other (KAFKA-13173)")
    epoch_stored_after_role_change: bool = toggle(
        "a broker notes a leader epoch only once it has taken up the role (KAFKA-9769)"
    )
    leaving_leader_told: bool = toggle("a leader that shuts down is told of its successor (KAFKA-7482)")
    leaving_broker_fetches: bool = toggle(
        "a bug: a broker that shuts down fetches from its successor, as KRaft's do (KAFKA-14140)"
    )
    demote_during_shutdown: bool = toggle("a broker that shuts down still gives up leadership when told (KAFKA-14296)")
    stop_replica_ends_coordination: bool = toggle(
        "a broker whose replica is deleted coordinates no more (KAFKA-4362, KAFKA-9235)"
    )
    coordinator_checks_epoch: bool = toggle(
        "a coordinator that was elected since ignores a late resignation (KAFKA-10614)"
    )
    isr_path: IsrPath = toggle("how a leader changes the ISR (KIP-497)")
    fence_fetch: bool = toggle("a leader serves only followers of its leader epoch (KIP-320)")
    controller_rejects_ineligible: bool = toggle(
        "the controller refuses an ISR with a member that is not live or shuts down (KIP-841)"
    )
    repeated_change_succeeds: bool = toggle(
        "a controller that is asked for the ISR that there is answers with it (KIP-497)"
    )
    ahead_of_controller_error: AheadOfController = toggle(
        "how a controller fails a leader that knows newer epochs (KAFKA-14154)"
    )
    metadata_follows_epoch_bumps: bool = toggle(
        "metadata of a reassigned partition has its newest leader epoch (KAFKA-9212)"
    )
    leader_forgets_removed: bool = toggle("a leader forgets replicas that the assignment no longer names (KAFKA-1097)")
    isr_repair_unassigned: bool = toggle(
        "a leader takes members out of the ISR that the assignment does not name (KAFKA-9672)"
    )
    reassignment_order: ReassignmentOrder = toggle("the order of a reassignment's steps")
    cancel_moves_leader_first: bool = toggle(
        "an overridden reassignment moves leadership off a replica before it stops it (KAFKA-14808)"
    )
    reassignment_requires_alive: bool = toggle(
        "a bug: a controller drops a reassignment that leads to a dead broker (KAFKA-4214)"
    )
    reassignment_overridable: bool = toggle("another reassignment may be asked for while one goes on (KIP-455)")
    completion: Completion = toggle("when a reassignment may complete (KAFKA-15665, KAFKA-19975)")
    offline_to_ineligible_allowed: bool = toggle(
        "an offline replica may be declared ineligible for deletion (KAFKA-8237)"
    )
    failed_deletion_becomes_ineligible: bool = toggle(
        "a replica whose deletion fails is declared ineligible, so that it is retried"
    )
    resume_deletion_on_failover: bool = toggle("a new controller goes on with deletions (KAFKA-1681)")
    offline_without_leadership: bool = toggle(
        "a replica of a partition without leadership can be taken offline (KAFKA-6650)"
    )
    dead_replica_at_startup: DeadReplicaAtStartup = toggle(
        "what a new controller does with replicas on dead brokers (KAFKA-3143)"
    )
    dead_broker_blocks_deletion: bool = toggle(
        "a deletion waits for every broker that hosts a replica, as all releases with ZooKeeper do"
    )
    added_partitions_taken_back: bool = toggle(
        "partitions that are added to a topic during its deletion are taken back (KAFKA-6612)"
    )
    topic_ids: bool = toggle("brokers tell a topic from an earlier one of the same name (KIP-516)")
    stray_replaced: bool = toggle(
        "a broker replaces the log of an earlier topic, rather than refuse the new one (KAFKA-14616)"
    )
    unclean_election: bool = toggle("a replica outside the ISR may be elected where no member is alive: a setting")
    election_type_checked: bool = toggle(
        "asked for a preferred leader, the controller holds no unclean election (KAFKA-13162)"
    )
    update_metadata: bool = toggle("the metadata that brokers serve to clients is part of the model")
