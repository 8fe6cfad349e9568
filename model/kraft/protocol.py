"""The rules of the KRaft controller that changed over Kafka's history, one toggle each."""

from __future__ import annotations

from enum import Enum

import attrs

from highwater.model.kraft.partition_change import AssignedDirectory, LastKnownLeader, Rules, ShrinkBump
from highwater.model.kraft.reassignment import Completion
from highwater.model.language.definition import toggle
from highwater.model.partition_rules import AheadOfController


class Unfencing(Enum):
    """How far a broker must have read the metadata log to be unfenced."""

    AT_END = "at-end"
    AT_REGISTRATION = "at-registration"


class OlderBrokers(Enum):
    """Which brokers are of a release before 3.5, while the controllers are not."""

    NONE = "none"
    FIRST = "first"
    """Broker 0, who leads at the beginning."""
    SECOND = "second"
    """Broker 1, who follows at the beginning."""


class UncleanElections(Enum):
    """Which elections count as unclean: those of a leader that was not ..."""

    NOT_IN_ISR = "not-in-isr"
    """... in the ISR before (until 3.9)."""
    NOT_IN_ISR_OR_ELR = "not-in-isr-or-elr"
    """... in the ISR or the ELR before (4.0)."""
    RECORDED = "recorded"
    """The record says that the leader has to recover (since 4.1)."""


class Cancelling(Enum):
    """When a reassignment is cancelled."""

    ALWAYS = "always"
    """Whenever somebody asks; if no replica from before is in the ISR, the ISR is given to the first of them."""
    IF_REPLICAS_ARE_ACTIVE = "if-replicas-are-active"
    """If all replicas from before are active, which a fork's repair of KAFKA-14424 asks for."""
    IF_ONE_IS_IN_SYNC = "if-one-is-in-sync"
    """If a replica from before is in the ISR (every release of KRaft, unless unclean elections are on)."""


class Reregistration(Enum):
    """Whether a broker that was killed leaves the ISR, and the ELR, when its new incarnation is registered. It matters
    if the controller has not fenced it yet, or if it is in the ELR.
    """

    NOTHING = "nothing"
    """No; who is in the ISR stays (until 3.7)."""
    ISR_WITH_ELR = "isr-with-elr"
    """Yes, if eligible leader replicas are on (3.8, 3.9)."""
    ISR = "isr"
    """Yes (since 4.0)."""


@attrs.frozen
class KraftProtocol:
    """One toggle per rule."""

    shrink_bump: ShrinkBump = toggle("whether a smaller ISR begins a leader epoch; KAFKA-15021, metadata version 3.6")
    completion: Completion = toggle("which replicas a complete reassignment needs in the ISR; KAFKA-15665, KAFKA-19975")
    elr: bool = toggle("whether who leaves a too small ISR stays eligible to lead; KIP-966")
    last_known_leader: LastKnownLeader = toggle("when the last known leader is noted and forgotten; KIP-966")
    last_known_leader_must_be_active: bool = toggle("whether a fenced broker cannot be elected so; KAFKA-19522")
    eligible_must_be_assigned: bool = toggle(
        "whether who is no replica any more is not eligible to lead, as a repair would; in no release"
    )
    index_follows_emptied_elrs: bool = toggle(
        "whether the controller's index forgets who was eligible as min.insync.replicas changes, as a repair would; "
        "in no release"
    )
    fences_one_at_a_time: bool = toggle(
        "whether brokers that lose their sessions together are fenced by one batch of records each; KAFKA-13173, 3.0"
    )
    members_must_be_active: bool = toggle(
        "whether AlterPartition refuses an ISR with brokers that are fenced or shutting down; KIP-841, 3.3"
    )
    ahead_of_controller_error: AheadOfController = toggle(
        "what a deposed controller answers to a request that is ahead of it; KAFKA-14154, 3.3"
    )
    unknown_topics_asked_again: bool = toggle(
        "whether a leader asks again if a controller does not know its topic, as a repair would; in no release"
    )
    older_metadata_skipped: bool = toggle(
        "whether a leader leaves alone what metadata say of before an answer that it got; KAFKA-13790, 3.3"
    )
    members_epochs_checked: bool = toggle(
        "whether AlterPartition refuses an ISR with an earlier incarnation of a broker; KIP-903, 3.5"
    )
    members_directories_checked: bool = toggle(
        "whether AlterPartition refuses an ISR with a replica whose log directory has failed, as a repair would; in no "
        "release"
    )
    older_brokers: OlderBrokers = toggle(
        "which brokers are of a release before 3.5, and name no broker epochs as they fetch and alter; KIP-903"
    )
    cancelling: Cancelling = toggle("when a reassignment is cancelled; KIP-455, KAFKA-14424")
    unclean_elections: UncleanElections = toggle("which elections count as unclean; KAFKA-18940, 4.0; KAFKA-19212, 4.1")
    elr_cleared_with_min_isr: bool = toggle(
        "whether nobody is eligible any more once min.insync.replicas changes; KAFKA-16540, 4.0"
    )
    clean_shutdowns_detected: bool = toggle(
        "whether a broker that shut down in order stays eligible when it registers; KIP-966, 4.0"
    )
    failed_directories_reported: bool = toggle(
        "whether the controller learns that a log directory has failed; KIP-858, metadata version 3.7"
    )
    assigned_directory: AssignedDirectory = toggle(
        "whether nobody is eligible any more once a replica is in another log directory; 3.7, mended in 4.3"
    )
    failed_directories_avoided: bool = toggle(
        "whether a broker makes no new log for a replica whose directory has failed; KAFKA-16234, 3.7.1"
    )
    stray_logs_deleted_first: bool = toggle(
        "whether a broker that starts deletes logs of deleted topics before it makes new ones; KAFKA-14616, 3.7"
    )
    unfencing: Unfencing = toggle("how far a broker must have read to be unfenced; KAFKA-13959, 3.3")
    shutdown_offset_kept: bool = toggle(
        "whether the offset that other brokers must reach stays during a controlled shutdown; KAFKA-14292, 3.3.2"
    )
    demoted_during_shutdown: bool = toggle(
        "whether a broker that shuts down stops to lead once it has read so; KAFKA-14296, 3.3.2"
    )
    leader_caps_min_isr: bool = toggle(
        "whether a leader needs no more in sync than its partition has replicas; KAFKA-15583, 3.7"
    )
    shutdowns_recorded: bool = toggle(
        "whether the metadata log says that a broker is in controlled shutdown; KIP-841, metadata version 3.3"
    )
    shutdown_stops_fetchers: bool = toggle(
        "whether a broker that shuts down fetches no more once it has left an ISR; KAFKA-13858, in every release"
    )
    directories_registered_after_upgrade: bool = toggle(
        "whether brokers register their directories once the metadata version has them; KAFKA-16162, before 3.7.0"
    )
    registered_again_as_it_was: bool = toggle(
        "whether a broker that registers again is fenced only if it was before; KAFKA-16757, 3.7.1"
    )
    reregistration: Reregistration = toggle(
        "whether a broker that returns before it is fenced leaves the ISR; KAFKA-15586, 3.8; KAFKA-18106, 4.0"
    )
    voter_changes_skipped: bool = toggle(
        "whether a batch of the quorum's own leaves the controller's committed offset alone; KAFKA-17608, before 3.9"
    )
    new_controller_expects_heartbeats: bool = toggle(
        "whether a new active controller fences who never sends it a heartbeat; KAFKA-18138, mended before 4.0"
    )

    unclean_election: bool = toggle(
        "configuration: unclean.leader.election.enable, which controllers with KRaft read from 3.9 on"
    )

    @property
    def compares_with_end(self) -> bool:
        """Whether the controller compares what a broker has read with the end of the metadata log."""
        return self.unfencing is Unfencing.AT_END or not self.shutdown_offset_kept

    @property
    def rules(self) -> Rules:
        """The rules of `partition_change`."""
        return Rules(
            shrink_bump=self.shrink_bump,
            completion=self.completion,
            elr=self.elr,
            last_known_leader=self.last_known_leader,
            last_known_leader_must_be_active=self.last_known_leader_must_be_active,
            eligible_must_be_assigned=self.eligible_must_be_assigned,
            assigned_directory=self.assigned_directory,
        )
