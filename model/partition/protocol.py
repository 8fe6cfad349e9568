"""The rules of partition replication that changed over Kafka's history, one toggle each.

One function reads each toggle, namely the one that it changes. `truncation` and `isr_path` are read in properties that
many functions use; settings of a cluster (`acks`, `unclean_election`) are read wherever they matter. `releases` has the
rules of each release.

Source: the commits and KIPs named with each toggle, in github.com/apache/kafka.
"""

from __future__ import annotations

from enum import Enum

import attrs

from highwater.model.language.definition import toggle
from highwater.model.partition.truncation_rules import TRUNCATION_RULES, Truncation, TruncationRules
from highwater.model.partition_rules import AheadOfController


class TruncationSkip(Enum):
    """In which new leader epochs a follower does not look for divergence."""

    SAME_LEADER = "same-leader"
    SAME_LEADER_NEXT_EPOCH = "same-leader-next-epoch"
    NEVER = "never"


class OutOfRange(Enum):
    """What a follower ahead of its leader does if unclean election is off."""

    EXIT = "exit"
    TRUNCATE = "truncate"


class OutOfRangeBehind(Enum):
    """What a follower does if its offset was out of range and its leader has overtaken it since."""

    TRUNCATE_ALL = "truncate-all"
    KEEP = "keep"


class FetchResponseChecks(Enum):
    """What a follower checks before it truncates as a fetch response says: nothing, that it still follows the sender,
    or that it also does so in the leader epoch of its request.
    """

    NONE = "none"
    LEADER = "leader"
    LEADER_EPOCH = "leader-epoch"


class Flush(Enum):
    """What a failed machine leaves of a log: any prefix (async), or all of it (sync)."""

    ASYNC = "async"
    SYNC = "sync"


class HighWatermarkCheckpoint(Enum):
    """The high watermark after a restart: none, the one in the checkpoint, or the one before the restart."""

    ZEROED = "zeroed"
    LAGGING = "lagging"
    DURABLE = "durable"


class CheckpointCovers(Enum):
    """The partitions in the high watermark checkpoint: those in use, or all that have a log."""

    KNOWN = "known"
    ALL = "all"


class FollowerReset(Enum):
    """When a leader forgets what it knows of its followers."""

    NEVER = "never"
    NEW_LEADER = "new-leader"
    NEW_EPOCH = "new-epoch"


class ExpandRequiresCaughtUp(Enum):
    """When only a follower that has caught up with the log end, and not just with the high watermark, joins the ISR:
    never, while the ISR is below min.insync.replicas, or always.
    """

    NEVER = "never"
    BELOW_MIN_ISR = "below-min-isr"
    ALWAYS = "always"


class LeaderChecks(Enum):
    """What a leader checks before it proposes a follower for the ISR: nothing, that it is alive, that it is neither
    fenced nor shutting down, or also that its broker epoch is the registered one.
    """

    NOTHING = "nothing"
    ALIVE = "alive"
    STANDING = "standing"
    BROKER_EPOCH = "broker-epoch"


class IsrPath(Enum):
    """How a leader changes the ISR: a write to ZooKeeper, or a request to a controller with ZooKeeper or KRaft."""

    ZK_CAS = "zk-cas"
    ZK_ALTER_PARTITION = "zk-alter-partition"
    ALTER_PARTITION = "alter-partition"


class CasConflict(Enum):
    """What a leader does after its write to ZooKeeper has failed on a version that it did not know."""

    SKIP = "skip"
    REREAD = "reread"


class HighWatermarkSet(Enum):
    """Which replicas the high watermark waits for: the ISR, of which a change may be in flight, and in no release all
    that are assigned, or any majority of these.
    """

    COMMITTED = "committed"
    PROPOSED = "proposed"
    MAXIMAL = "maximal"
    ASSIGNED = "assigned"
    MAJORITY = "majority"


class PendingPolicy(Enum):
    """What a leader does with an open proposal when it wants another ISR: overwrite it, merge it, or wait."""

    OVERWRITE = "overwrite"
    UNION = "union"
    SINGLE_INFLIGHT = "single-inflight"


class AlterError(Enum):
    """After which errors a leader takes its proposal back: any, or only those that prove that it was not applied."""

    REVERT_ANY = "revert-any"
    DEFINITE_ONLY = "definite-only"


class WaitsForNonIsr(Enum):
    """Which replicas outside the ISR the high watermark waits for as long as they keep up."""

    NO = "no"
    ANY_RECENT = "any-recent"
    ELIGIBLE_ONLY = "eligible-only"


class ShrinkStartsEpoch(Enum):
    """Which removals from the ISR start a leader epoch: none, those by the controller, or all."""

    NEVER = "never"
    BY_CONTROLLER = "by-controller"
    ALWAYS = "always"


class LastKnownLeader(Enum):
    """Whether the last known leader is elected if ISR and ELR are empty: never, always, or if it is active."""

    NEVER = "never"
    UNCHECKED = "unchecked"
    ACTIVE = "active"


class UncleanElectionSetting(Enum):
    """What controllers do with unclean.leader.election.enable: there is no such setting, and they elect uncleanly
    whenever nobody else can lead; they read it; or they ignore it, and elect uncleanly on request only.
    """

    ABSENT = "absent"
    READ = "read"
    IGNORED = "ignored"


class Acks(Enum):
    """When a producer learns that its record is written."""

    NONE = "0"
    LEADER = "1"
    ALL = "all"


@attrs.frozen
class PartitionProtocol:
    """The rules, in groups: truncation, fencing, durability, ISR expansion, ISR agreement, high watermark, KIP-966,
    configuration.
    """

    truncation: Truncation = toggle("where a new follower truncates: KAFKA-1211, KIP-101, KIP-279, KIP-320, KIP-595")
    epoch_entry_on_election: bool = toggle("a new leader notes its epoch before it writes: KAFKA-7415")
    truncation_skip: TruncationSkip = toggle("in which new epochs a follower does not truncate: KAFKA-7164")
    epoch_cache_clean_at_end: bool = toggle("truncation at the log end drops epochs without records: KAFKA-10706")
    out_of_range_policy: OutOfRange = toggle("what a follower ahead of its leader does: KAFKA-3410, KAFKA-7414")
    out_of_range_when_behind: OutOfRangeBehind = toggle("what it does if its leader has overtaken it: KAFKA-2143")
    truncation_lowers_high_watermark: bool = toggle(
        "truncation lowers the high watermark to the log end offset: KAFKA-8457"
    )
    high_watermark_before_truncation: bool = toggle(
        "a diverging response raises the high watermark before the follower truncates: KAFKA-14704"
    )
    fetch_response_checks: FetchResponseChecks = toggle(
        "which late fetch responses a follower drops: KAFKA-13207, KAFKA-18991"
    )

    fetch_sessions_keep_epochs: bool = toggle("incremental fetches carry the follower's leader epoch, too: KAFKA-9338")
    fence_fetch: bool = toggle("only followers in the leader's epoch get records: KIP-320")
    fence_truncation: bool = toggle("only a leader in the follower's epoch says where to truncate: KIP-320")
    fence_high_watermark: bool = toggle("followers in another epoch do not count for the high watermark: KIP-320")
    fence_isr: bool = toggle("followers in another epoch do not count for the ISR: KIP-320")
    fence_offset_lookups: bool = toggle(
        "only a leader in the follower's epoch gives its start and end offsets: KIP-320"
    )
    diverging_fetch_updates_leo: bool = toggle("a diverging fetch counts as caught up: KAFKA-13141")

    flush: Flush = toggle("what a failed machine leaves of a log")
    high_watermark_checkpoint: HighWatermarkCheckpoint = toggle(
        "which high watermark a broker has after a restart: KAFKA-1647"
    )
    high_watermark_checkpoint_covers: CheckpointCovers = toggle("which partitions are in the checkpoint: KAFKA-1647")

    expand_requires_epoch_start: bool = toggle(
        "only replicas with all records of earlier epochs join the ISR: KAFKA-7128"
    )
    expand_requires_fetch_in_epoch: bool = toggle(
        "only replicas that have fetched since the last change of leadership join the ISR"
    )
    expand_requires_caught_up: ExpandRequiresCaughtUp = toggle(
        "when only replicas that have caught up with the log end join the ISR: KAFKA-19996, in no release"
    )
    reset_follower_state: FollowerReset = toggle("when a leader forgets its followers' offsets: KAFKA-2721")
    newer_isr_restarts_epoch: bool = toggle("a newer ISR counts as a new start of the leader epoch: KAFKA-13790")
    leader_checks: LeaderChecks = toggle(
        "what a leader checks before it proposes a follower for the ISR: KIP-841, KIP-903"
    )
    controller_rejects_ineligible: bool = toggle(
        "the controller accepts no ISR with a broker that is fenced or shutting down: KIP-841"
    )
    controller_checks_broker_epoch: bool = toggle("the controller accepts no broker that restarted since: KIP-903")
    shrink_spares_caught_up: bool = toggle(
        "a replica that has all of the log stays in the ISR, however long it has not fetched: KAFKA-7152"
    )
    demote_during_shutdown: bool = toggle(
        "a broker that shuts down still becomes follower, and then fetches no more: KAFKA-13858, KAFKA-14296"
    )
    leader_snapshot_atomic: bool = toggle("a leader reads a follower's offset and broker epoch at once: KAFKA-15221")

    isr_path: IsrPath = toggle("how the ISR is changed: KIP-497")
    isr_cas: bool = toggle("an ISR change names the version that it changes: KAFKA-428")
    cas_conflict: CasConflict = toggle("what a leader with an old version does: KAFKA-1382, KAFKA-2729")
    high_watermark_set: HighWatermarkSet = toggle("which replicas the high watermark waits for: KIP-497")
    pending_policy: PendingPolicy = toggle("what becomes of an open proposal if the leader wants another: KIP-497")
    on_alter_error: AlterError = toggle("after which errors a leader takes its proposal back: KIP-497")
    inflight_cleared_by_leader_and_isr: bool = toggle("a LeaderAndIsr allows a second request in flight: KAFKA-12686")
    metadata_end_proposals: bool = toggle(
        "metadata of a partition epoch that the leader knows end its open proposal: KAFKA-13790"
    )
    duplicate_update_completes: bool = toggle("an answer without a newer version completes a proposal: KAFKA-12751")
    repeated_change_succeeds: bool = toggle("the controller grants the present ISR at any partition epoch: KIP-497")
    ahead_of_controller_error: AheadOfController = toggle("what a deposed controller answers: KAFKA-14154")

    high_watermark_recheck_on_isr_commit: bool = toggle("a committed ISR change moves the high watermark: KAFKA-13091")
    high_watermark_recheck_on_every_fetch: bool = toggle(
        "a fetch can move the high watermark even if its offset is that of the fetch before: KAFKA-8841"
    )
    high_watermark_waits_for_non_isr: WaitsForNonIsr = toggle(
        "which replicas outside the ISR it waits for: KAFKA-4485, KAFKA-15021"
    )
    list_offsets_guard: bool = toggle("no end offset before the high watermark is in the leader's epoch: KIP-207")
    clients_name_epochs: bool = toggle(
        "a client is refused by a leader of an older epoch than it has heard of: KIP-320"
    )

    effective_min_isr: bool = toggle("min.insync.replicas is at most the number of replicas: KAFKA-15583")
    high_watermark_requires_min_isr: bool = toggle("no commit below min.insync.replicas: KAFKA-15583")
    elr: bool = toggle("a replica that leaves an ISR below min.insync.replicas may still be elected: KIP-966")
    isr_may_be_empty: bool = toggle("the last member of the ISR can leave it: KIP-966")
    removed_leaves_elr: bool = toggle("a replica that a reassignment removes is not eligible: in no release")
    reassignment_waits_for_all: bool = toggle("a replica is removed only once all others are in the ISR: KAFKA-15665")
    unclean_shutdown_removes_from_elr: bool = toggle("an unclean shutdown ends eligibility: KIP-966, KAFKA-18635")
    last_known_leader: LastKnownLeader = toggle("who leads if ISR and ELR are empty: KIP-966, KAFKA-18922")
    leader_recovers_at_once: bool = toggle(
        "a leader takes itself for recovered as soon as it learns of its unclean election: KIP-704, in every release"
    )
    registering_again_fences: bool = toggle("a broker that registers again is fenced first: KAFKA-18106")
    isr_shrink_bumps_leader_epoch: ShrinkStartsEpoch = toggle(
        "which removals from the ISR start a leader epoch: KAFKA-15021"
    )
    unclean_election_setting: UncleanElectionSetting = toggle(
        "what controllers do with unclean.leader.election.enable: KAFKA-1028, KAFKA-12670"
    )

    acks: Acks = toggle("configuration: acks of producers")
    unclean_election: bool = toggle("configuration: unclean.leader.election.enable")
    consumer_reads_follower: bool = toggle("configuration: consumers may read from followers, KIP-392")

    @property
    def truncation_rules(self) -> TruncationRules:
        """What `truncation` implies."""
        return TRUNCATION_RULES[self.truncation]

    @property
    def elects_uncleanly(self) -> bool:
        """Whether the controller elects a replica that may lack committed records if nobody else can lead.

        Source: kafka.controller.OfflinePartitionLeaderSelector (0.8.0, without a setting; 0.8.2.0, with one);
            org.apache.kafka.controller.ConfigurationControlManager#uncleanLeaderElectionEnabledForTopic, which is
            always false from 3.0.0 to 3.8.1 and reads the configuration from 3.9.0 on; 2.8.0 has no such method.
        """
        if self.unclean_election_setting is UncleanElectionSetting.READ:
            return self.unclean_election
        return self.unclean_election_setting is UncleanElectionSetting.ABSENT

    @property
    def by_zookeeper(self) -> bool:
        """Whether the controller uses ZooKeeper. Brokers then learn of leadership only by LeaderAndIsr requests."""
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
        """Whether a leader reads a follower's offset and its broker epoch at different moments."""
        return not self.leader_snapshot_atomic
