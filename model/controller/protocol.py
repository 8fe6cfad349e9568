"""The rules of controllers and brokers that changed over Kafka's history, one toggle each."""

from __future__ import annotations

from enum import Enum

import attrs

from highwater.model.language.definition import toggle
from highwater.model.partition_rules import AheadOfController


class StopReplicaEpoch(Enum):
    """Which leader epochs in StopReplica a broker accepts. It accepts any if the topic is being deleted."""

    ANY = "any"
    NEWER = "newer"
    NEWER_OR_EQUAL = "newer-or-equal"


class DeadReplicaAtStartup(Enum):
    """The state that a new controller gives a replica on a dead broker."""

    INELIGIBLE = "ineligible"
    OFFLINE = "offline"


class LastIsrMember(Enum):
    """Whether the last member of the ISR leaves it when it fails."""

    LEAVES = "leaves"
    LEAVES_IF_UNCLEAN = "leaves-if-unclean"
    STAYS = "stays"


class ReassignmentOrder(Enum):
    """The order of a reassignment's steps. All but the first are mutants, named after the step that comes too early."""

    PUBLISHED = "published"
    REPLICAS_FIRST = "replicas-first"
    WITHOUT_WAITING = "without-waiting"
    STOPPING_FIRST = "stopping-first"
    ASSIGNMENT_FIRST = "assignment-first"
    CLOSING_FIRST = "closing-first"


class Completion(Enum):
    """Which replicas must be in the ISR for a reassignment to complete."""

    ADDING_IN_ISR = "adding-in-isr"
    TARGET_IN_ISR = "target-in-isr"
    NO_FEWER_THAN_BEFORE = "no-fewer-than-before"


class IsrPath(Enum):
    """How a leader changes the ISR: by a write to ZooKeeper, or by a request to the controller."""

    ZOOKEEPER = "zookeeper"
    ALTER_PARTITION = "alter-partition"


@attrs.frozen
class ControllerProtocol:
    """The rules. `True` is what Kafka does now, unless the toggle's meaning says that it is a bug."""

    broker_checks_controller_epoch: bool = toggle("brokers refuse requests of deposed controllers (KAFKA-532)")
    zk_write_fenced: bool = toggle("a controller's writes to ZooKeeper fail once another one was elected (KAFKA-6082)")
    zombie_learns_epoch: bool = toggle("a bug: a deposed controller adopts its successor's epoch (KAFKA-1096)")
    deposed_batch_stays: bool = toggle(
        "a bug: what a deposed controller was about to send stays in the batch of its replica state machine, which "
        "moves no replicas any more (KAFKA-12315)"
    )
    resign_stops_queue: bool = toggle("a controller that has resigned handles no more events of its queue (KAFKA-4447)")
    found_self_elected_runs_failover: bool = toggle(
        "a controller that retries and finds itself elected takes over (KAFKA-1387)"
    )
    leader_and_isr_needs_newer_epoch: bool = toggle(
        "brokers refuse LeaderAndIsr unless its leader epoch is newer (KAFKA-1188)"
    )
    stop_replica_epoch: StopReplicaEpoch = toggle(
        "which leader epochs brokers accept in StopReplica (KAFKA-9539, KAFKA-13972)"
    )
    broker_checks_broker_epoch: bool = toggle("brokers refuse requests to an earlier incarnation of theirs (KIP-380)")
    controller_detects_bounce: bool = toggle(
        "the controller notices that a broker has restarted between two reads (KIP-380)"
    )
    bounce_updates_partitions: bool = toggle(
        "a broker that has restarted loses leadership and leaves the ISR (KAFKA-18106)"
    )
    registration_keeps_epoch: bool = toggle(
        "a broker that registers again without a restart keeps its broker epoch (KAFKA-16952)"
    )
    last_isr_member: LastIsrMember = toggle("whether the last member of the ISR leaves it when it fails (KAFKA-1028)")
    one_expiry_at_a_time: bool = toggle("brokers that fail together leave the ISR one after the other (KAFKA-13173)")
    epoch_stored_after_role_change: bool = toggle(
        "a broker notes a leader epoch only after it has taken up its role (KAFKA-9769)"
    )
    follower_notes_epoch_first: bool = toggle(
        "a bug: a follower notes leader and leader epoch before it opens its log (5a67b080c7d, in 3.6)"
    )
    leaving_leader_told: bool = toggle("a leader that shuts down gets LeaderAndIsr of its successor (KAFKA-7482)")
    leaving_broker_fetches: bool = toggle(
        "a bug, in no release: a broker that shuts down fetches from its successor (KAFKA-14140)"
    )
    demote_during_shutdown: bool = toggle("a leader that shuts down still becomes follower (KAFKA-14296)")
    stop_replica_ends_coordination: bool = toggle(
        "a coordinator resigns when its replica is deleted (KAFKA-4362, KAFKA-9235)"
    )
    coordinator_checks_epoch: bool = toggle(
        "a coordinator of groups ignores elections and resignations of older leader epochs (KAFKA-10614)"
    )
    coordinator_forgets_epoch: bool = toggle(
        "in no release: a coordinator of groups forgets the leader epochs of a topic that is deleted"
    )
    isr_path: IsrPath = toggle("how a leader changes the ISR (KIP-497)")
    fence_fetch: bool = toggle("a leader serves only followers of its leader epoch (KIP-320)")
    controller_rejects_ineligible: bool = toggle(
        "the controller refuses an ISR with a member that is dead or shuts down (KIP-841)"
    )
    repeated_change_succeeds: bool = toggle("the controller grants the present ISR without a write (KIP-497)")
    ahead_of_controller_error: AheadOfController = toggle(
        "what a controller answers to a leader that knows newer epochs (KAFKA-14154)"
    )
    metadata_follows_epoch_bumps: bool = toggle(
        "metadata of a reassigned partition has its newest leader epoch (KAFKA-9212)"
    )
    leader_forgets_removed: bool = toggle("a leader forgets replicas that are no longer assigned (KAFKA-1097)")
    isr_repair_unassigned: bool = toggle("a leader removes members from the ISR that are not assigned (KAFKA-9672)")
    reassignment_order: ReassignmentOrder = toggle("the order of a reassignment's steps")
    cancel_moves_leader_first: bool = toggle(
        "an overridden reassignment moves leadership off a replica before stopping it (KAFKA-14808)"
    )
    reassignment_requires_alive: bool = toggle(
        "a bug: a controller drops a reassignment that leads to a dead broker (KAFKA-4214)"
    )
    reassignment_overridable: bool = toggle("a client may override a reassignment in progress (KIP-455)")
    completion: Completion = toggle("when a reassignment may complete (KAFKA-15665, KAFKA-19975)")
    offline_to_ineligible_allowed: bool = toggle("an offline replica can become ineligible for deletion (KAFKA-8237)")
    failed_deletion_becomes_ineligible: bool = toggle(
        "a replica whose deletion fails becomes ineligible, so that it is retried"
    )
    removed_replicas_told: bool = toggle(
        "until 2.3: replicas that a reassignment removes get the leader epoch in which it ends, too"
    )
    deletion_waits_for_reassignment: bool = toggle(
        "a topic is deleted only after its reassignment. No release does so: the controller marks a topic as "
        "ineligible before it queues it, and forgets the mark as a broker starts"
    )
    cancel_completes_at_once: bool = toggle(
        "a bug: a reassignment back to the replicas from before waits for none of them to be in sync (since KIP-455)"
    )
    failover_drops_reassignment: bool = toggle(
        "a new controller drops the reassignment of a topic that is to be deleted (since KIP-455 unless it has begun)"
    )
    resume_deletion_on_failover: bool = toggle("a new controller resumes deletions (KAFKA-1681)")
    offline_without_leadership: bool = toggle("a replica of a partition without leadership can go offline (KAFKA-6650)")
    dead_replica_at_startup: DeadReplicaAtStartup = toggle(
        "what a new controller does with replicas on dead brokers (KAFKA-3143)"
    )
    dead_broker_blocks_deletion: bool = toggle(
        "a deletion waits for every broker with a replica, as in all releases with ZooKeeper"
    )
    added_partitions_taken_back: bool = toggle(
        "partitions added to a topic during its deletion are removed again (KAFKA-6612)"
    )
    topic_ids: bool = toggle("brokers distinguish a topic from an earlier one of the same name (KIP-516)")
    stray_replaced: bool = toggle("a broker replaces the log of an earlier topic of that name (KAFKA-14616)")
    unclean_election: bool = toggle("configuration: unclean.leader.election.enable")
    election_type_checked: bool = toggle("a preferred leader election is never unclean (KAFKA-13162)")
    startup_sends_metadata_to_all: bool = toggle(
        "a broker that starts is made known to all brokers, and not only to itself (KAFKA-972)"
    )
    leader_alive_by_metadata: bool = toggle(
        "a broker follows only a leader that its metadata cache takes for alive; LeaderAndIsr names live ones only"
    )
    update_metadata: bool = toggle("the metadata that brokers serve to clients is part of the model")
    live_brokers: bool = toggle("metadata have the brokers that are alive, if metadata are part of the model")
    isr_in_metadata: bool = toggle("metadata have the ISR, if metadata are part of the model")
    isr_changes_are_noticed: bool = toggle("the controller hears of an ISR that a leader has written: KAFKA-1367")
