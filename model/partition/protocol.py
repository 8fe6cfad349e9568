"""The rules of partition replication that changed over Kafka's history, one toggle each.

Every toggle is read in the one function that it changes; `truncation` and `isr_path` in the property that says what
they mean, which many ask; settings of a cluster (`acks`, `unclean_election`) wherever they matter. `releases` says what
each release made of them.

Source: the commits and KIPs named with each toggle, in github.com/apache/kafka.
"""

from __future__ import annotations

from enum import Enum

import attrs

from model.language.definition import toggle
from model.partition.truncation_rules import TRUNCATION_RULES, Truncation, TruncationRules


class TruncationSkip(Enum):
    """When a follower that gets a new leader epoch does not look for divergence."""

    SAME_LEADER = "same-leader"
    SAME_LEADER_NEXT_EPOCH = "same-leader-next-epoch"
    NEVER = "never"


class OutOfRange(Enum):
    """What a follower does that is ahead of its leader where unclean election is off."""

    EXIT = "exit"
    TRUNCATE = "truncate"


class OutOfRangeBehind(Enum):
    """What a follower does whose offset was out of range, and whose leader has meanwhile passed it."""

    TRUNCATE_ALL = "truncate-all"
    KEEP = "keep"


class FetchResponseChecks(Enum):
    """What must still be so for a follower to act on a fetch response.

    Nothing more once it has read where to truncate; that it still follows who sent the response; or that it does so in
    the leader epoch of its request, too.
    """

    NONE = "none"
    LEADER = "leader"
    LEADER_EPOCH = "leader-epoch"


class Flush(Enum):
    """What a lossy crash leaves of a log: any prefix, or all of it."""

    ASYNC = "async"
    SYNC = "sync"


class HighWatermarkCheckpoint(Enum):
    """What a broker that starts knows of its high watermark: nothing, the last one written, or the last one it had."""

    ZEROED = "zeroed"
    LAGGING = "lagging"
    DURABLE = "durable"


class CheckpointCovers(Enum):
    """Which partitions the high watermark checkpoint keeps: those in use, or all that have a log."""

    KNOWN = "known"
    ALL = "all"


class FollowerReset(Enum):
    """When a leader forgets what it knows of its followers."""

    NEVER = "never"
    NEW_LEADER = "new-leader"
    NEW_EPOCH = "new-epoch"


class LeaderChecks(Enum):
    """Whom a leader does not propose: it asks nothing; who is fenced or shutting down; or whose broker epoch is not the
    one known, too.
    """

    NOTHING = "nothing"
    STANDING = "standing"
    BROKER_EPOCH = "broker-epoch"


class IsrPath(Enum):
    """How a leader changes the ISR: by writing to ZooKeeper itself, or by asking the controller, one with ZooKeeper or
    one with KRaft.
    """

    ZK_CAS = "zk-cas"
    ZK_ALTER_PARTITION = "zk-alter-partition"
    ALTER_PARTITION = "alter-partition"


class CasConflict(Enum):
    """What a leader does whose write to ZooKeeper met a version that it did not know."""

    SKIP = "skip"
    REREAD = "reread"


class HighWatermarkSet(Enum):
    """Which replicas the high watermark waits for while an ISR change is on its way."""

    COMMITTED = "committed"
    PROPOSED = "proposed"
    MAXIMAL = "maximal"


class PendingPolicy(Enum):
    """What becomes of an ISR change on its way when the leader wants another one."""

    OVERWRITE = "overwrite"
    UNION = "union"
    SINGLE_INFLIGHT = "single-inflight"


class AlterError(Enum):
    """After which failures a leader takes its proposal back: any, or only those that prove that it was not applied."""

    REVERT_ANY = "revert-any"
    DEFINITE_ONLY = "definite-only"


class AheadOfController(Enum):
    """What a deposed controller answers to a leader epoch that it has not heard of."""

    FENCED = "fenced"
    NOT_CONTROLLER = "not-controller"


class WaitsForNonIsr(Enum):
    """Which replicas outside the ISR the high watermark waits for while they keep up."""

    NO = "no"
    ANY_RECENT = "any-recent"
    ELIGIBLE_ONLY = "eligible-only"


class ShrinkStartsEpoch(Enum):
    """Which removals from an ISR start a leader epoch: none, those by the controller, or those that a leader asks for,
    too.
    """

    NEVER = "never"
    BY_CONTROLLER = "by-controller"
    ALWAYS = "always"


class LastKnownLeader(Enum):
    """Whether who led last is elected once ISR and ELR are empty: never, whether or not it is alive, or if it is
    active.
    """

    NEVER = "never"
    UNCHECKED = "unchecked"
    ACTIVE = "active"


class Acks(Enum):
    """When a producer learns that its record is written."""

    NONE = "0"
    LEADER = "1"
    ALL = "all"


@attrs.frozen
class PartitionProtocol:
    """The rules, in the order of the groups truncation, fencing, durability, ISR expansion, ISR agreement, high
    watermark, KIP-966.
    """

    truncation: Truncation = toggle("where a new follower cuts its log: KAFKA-1211, KIP-101, KIP-279, KIP-320, KIP-595")
    epoch_entry_on_election: bool = toggle("a new leader notes its epoch before it writes: KAFKA-7415")
    truncation_skip: TruncationSkip = toggle("which new epochs a follower ignores: KAFKA-7164")
    epoch_cache_clean_at_end: bool = toggle("cutting a log at its end forgets epochs without records: KAFKA-10706")
    out_of_range_policy: OutOfRange = toggle("what a follower ahead of its leader does: KAFKA-3410, KAFKA-7414")
    out_of_range_when_behind: OutOfRangeBehind = toggle("what it does once the leader has passed it: KAFKA-2143")
    truncation_lowers_high_watermark: bool = toggle(
        "a high watermark never stays beyond the end of the log: KAFKA-8457"
    )
    high_watermark_before_truncation: bool = toggle(
        "a diverging answer raises the high watermark before the log is cut: KAFKA-14704"
    )
    fetch_response_checks: FetchResponseChecks = toggle(
        "which late fetch responses a follower drops: KAFKA-13207, KAFKA-18991"
    )

    fetch_sessions_keep_epochs: bool = toggle("incremental fetches carry the follower's leader epoch, too: KAFKA-9338")
    fence_fetch: bool = toggle("records go to followers in the leader's epoch only: KIP-320")
    fence_truncation: bool = toggle("only a leader in the follower's epoch says where to truncate: KIP-320")
    fence_high_watermark: bool = toggle("followers in another epoch do not count for the high watermark: KIP-320")
    fence_isr: bool = toggle("followers in another epoch do not count for the ISR: KIP-320")
    fence_offset_lookups: bool = toggle(
        "only a leader in the follower's epoch says where its log begins and ends: KIP-320"
    )
    diverging_fetch_updates_leo: bool = toggle("a diverging fetch counts as caught up: KAFKA-13141")

    flush: Flush = toggle("what survives a power loss")
    high_watermark_checkpoint: HighWatermarkCheckpoint = toggle(
        "what is known of the high watermark after a restart: KAFKA-1647"
    )
    high_watermark_checkpoint_covers: CheckpointCovers = toggle("which high watermarks a checkpoint keeps: KAFKA-1647")

    expand_requires_epoch_start: bool = toggle(
        "the ISR takes only replicas that have all records of earlier epochs: KAFKA-7128"
    )
    expand_requires_fetch_in_epoch: bool = toggle(
        "the ISR takes only replicas that have fetched since leadership last changed"
    )
    reset_follower_state: FollowerReset = toggle("when a leader forgets its followers' offsets")
    newer_isr_restarts_epoch: bool = toggle("a newer ISR counts as a new start of the leader epoch: KAFKA-13790")
    leader_checks: LeaderChecks = toggle(
        "what a leader has heard of a broker before it proposes it for the ISR: KIP-841, KIP-903"
    )
    controller_rejects_ineligible: bool = toggle(
        "the controller accepts no broker that is fenced or shutting down: KIP-841"
    )
    controller_checks_broker_epoch: bool = toggle("the controller accepts no broker that restarted meanwhile: KIP-903")
    shrink_spares_caught_up: bool = toggle(
        "a replica that has all of the log stays in the ISR, however long ago that was: KAFKA-7152"
    )
    leader_snapshot_atomic: bool = toggle("a leader reads offset and broker epoch of a follower together: KAFKA-15221")

    isr_path: IsrPath = toggle("how the ISR is changed: KIP-497")
    isr_cas: bool = toggle("an ISR change names the version that it changes: KAFKA-428")
    cas_conflict: CasConflict = toggle("what a leader with an old version does: KAFKA-1382, KAFKA-2729")
    high_watermark_set: HighWatermarkSet = toggle("which replicas the high watermark waits for: KIP-497")
    pending_policy: PendingPolicy = toggle("how many ISR changes may be on their way: KIP-497")
    on_alter_error: AlterError = toggle("which failures undo a proposal: KIP-497")
    inflight_cleared_by_leader_and_isr: bool = toggle("a LeaderAndIsr frees the way for a second request: KAFKA-12686")
    metadata_end_proposals: bool = toggle(
        "metadata that repeat the ISR that the leader knows end its open proposal: KAFKA-13790"
    )
    duplicate_update_completes: bool = toggle("an answer without a newer version completes a change: KAFKA-12751")
    repeated_change_succeeds: bool = toggle(
        "the controller grants an ISR that it has already, at any partition epoch: KIP-497"
    )
    ahead_of_controller_error: AheadOfController = toggle("how a deposed controller fails a request: KAFKA-14154")

    high_watermark_recheck_on_isr_commit: bool = toggle("a committed ISR change moves the high watermark: KAFKA-13091")
    high_watermark_recheck_on_every_fetch: bool = toggle(
        "a fetch moves the high watermark, also from the offset of the one before: KAFKA-8841"
    )
    high_watermark_waits_for_non_isr: WaitsForNonIsr = toggle(
        "who outside the ISR holds it back: KAFKA-4485, KAFKA-15021"
    )
    list_offsets_guard: bool = toggle("a new leader gives no end offset before it is sure: KIP-207")

    effective_min_isr: bool = toggle("min.insync.replicas counts at most as many as there are replicas: KAFKA-15583")
    high_watermark_requires_min_isr: bool = toggle("no commit below min.insync.replicas: KAFKA-15583")
    elr: bool = toggle("who leaves an ISR that is too small may still be elected: KIP-966")
    isr_may_be_empty: bool = toggle("the last member of the ISR can leave it: KIP-966")
    unclean_shutdown_removes_from_elr: bool = toggle("who was killed may not be elected: KIP-966, KAFKA-18635")
    last_known_leader: LastKnownLeader = toggle("who leads once ISR and ELR are empty: KIP-966, KAFKA-18922")
    registering_again_fences: bool = toggle("a broker that registers before it was fenced leaves the ISR: KAFKA-18062")
    isr_shrink_bumps_leader_epoch: ShrinkStartsEpoch = toggle(
        "an ISR that gets smaller starts a leader epoch: KAFKA-15021"
    )

    acks: Acks = toggle("configuration: acks of producers")
    unclean_election: bool = toggle("configuration: unclean.leader.election.enable")
    consumer_reads_follower: bool = toggle("configuration: consumers may read from followers, KIP-392")

    @property
    def truncation_rules(self) -> TruncationRules:
        """What `truncation` means."""
        return TRUNCATION_RULES[self.truncation]

    @property
    def by_zookeeper(self) -> bool:
        """Whether the controller is one with ZooKeeper, so that brokers learn of leadership by LeaderAndIsr requests
        only.
        """
        return self.isr_route is not IsrPath.ALTER_PARTITION

    @property
    def leader_writes_isr(self) -> bool:
        """Whether a leader writes the ISR to ZooKeeper itself."""
        return self.isr_route is IsrPath.ZK_CAS

    @property
    def isr_route(self) -> IsrPath:
        """How the ISR is changed."""
        return self.isr_path

    @property
    def reads_follower_twice(self) -> bool:
        """Whether a leader looks at a follower's offset and at its broker epoch at different moments."""
        return not self.leader_snapshot_atomic
