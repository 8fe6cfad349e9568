"""Harms, bounds and steps in words that somebody on call understands."""

from __future__ import annotations

from collections.abc import Mapping

from highwater.asking.asked import Part
from highwater.asking.questions import Seen

HARMS: Mapping[str, tuple[str, str]] = {
    "acknowledged_records_survive": ("a record that was acknowledged is lost", "for good"),
    "acting_leaders_hold_committed_records": (
        "a record that was acknowledged is lost, in an election that counts as clean",
        "for good",
    ),
    "candidates_are_complete": (
        "a replica that a clean election may choose lacks a record that consumers could read",
        "until it has fetched the record; if it is elected before, the record is lost for good",
    ),
    "committed_records_survive": ("a record that was acknowledged is lost", "for good"),
    "controlled_shutdowns_complete": (
        "a controlled shutdown never completes",
        "until the broker is killed; by itself it gives up after five minutes",
    ),
    "failed_leaders_are_replaced": ("a leader without a log goes on leading", "until its broker is stopped"),
    "leaders_are_found": (
        "the partition has no leader although all brokers run",
        "until an operator elects one uncleanly",
    ),
    "leaders_take_records": (
        "producers with acks=all get NotEnoughReplicas for a while",
        "until as many replicas are in sync as min.insync.replicas asks for",
    ),
    "partitions_are_writable_once_all_run": (
        "producers with acks=all are refused although all brokers run",
        "until an operator changes something",
    ),
    "partitions_stay_led": ("the partition has no leader", "until a broker returns that may lead"),
    "partitions_stay_writable": ("producers with acks=all are refused", "until a broker returns and is in sync"),
    "leaders_hold_committed_records": ("a record that was acknowledged is lost", "for good"),
    "partitions_can_be_led": (
        "the partition has no leader, and no election by hand gives it one",
        "until a broker of it returns",
    ),
    "reassignments_can_be_cancelled": (
        "the reassignment does not end, and the request to cancel it is refused",
        "until a former replica returns",
    ),
    "reassignments_end": ("the reassignment does not end", "until the broker returns, or an operator cancels it"),
    "reassignments_end_once_all_run": (
        "the reassignment never ends although all brokers run",
        "until an operator cancels it or asks for another one",
    ),
    "registrations_depose_no_controller": (
        "each active controller renounces in turn",
        "until controllers start from a newer snapshot of the metadata",
    ),
    "replacements_complete": (
        "the reassignment does not end although all new replicas run",
        "until the broker that is down returns, or an operator cancels it",
    ),
    "replicas_join_the_isr": ("a replica never joins the ISR", "until its broker is started again"),
    "running_brokers_are_unfenced": ("a broker that runs is never taken back", "until it is started again"),
    "leaders_are_not_fenced": ("a broker that is fenced goes on as the leader", "until its broker is started again"),
    "lagging_followers_stay_out_of_the_isr": (
        "a slow follower joins the ISR and leaves it over and over, and producers with acks=all wait in vain",
        "until the follower keeps up, or another replica is in sync",
    ),
}
"""By property: what comes about where it is false, and until when."""

COUNTED: Mapping[str, tuple[str, str]] = {
    "records_max": ("record", "records"),
    "commits": ("committed record", "committed records"),
    "controlled_shutdowns": ("controlled shutdown", "controlled shutdowns"),
    "shutdowns": ("controlled shutdown", "controlled shutdowns"),
    "shutdown_attempts": ("attempt of each shutdown", "attempts of each shutdown"),
    "unanswered_shutdowns": ("attempt without an answer", "attempts without an answer"),
    "process_crashes": ("killed broker", "killed brokers"),
    "crashes": ("killed broker", "killed brokers"),
    "lossy_crashes": ("power failure", "power failures"),
    "lost_sessions": ("lost session", "lost sessions"),
    "spurious_fences": ("lost session", "lost sessions"),
    "restarts": ("return of each broker", "returns of each broker"),
    "leader_moves": ("move of leadership", "moves of leadership"),
    "elections": ("requested election", "requested elections"),
    "unclean_elections": ("unclean election", "unclean elections"),
    "isr_shrinks": ("lagging follower", "lagging followers"),
    "shrinks": ("lagging follower", "lagging followers"),
    "reassignments": ("reassignment", "reassignments"),
    "cancellations": ("cancellation", "cancellations"),
    "min_isr_changes": ("change of min.insync.replicas", "changes of min.insync.replicas"),
    "directory_failures": ("failed directory", "failed directories"),
    "directory_assignments": ("replica in another directory", "replicas in another directory"),
    "topic_deletions": ("deleted topic", "deleted topics"),
    "unregistrations": ("unregistered broker", "unregistered brokers"),
    "upgrades": ("upgrade", "upgrades"),
    "fail_overs": ("controller fail-over", "controller fail-overs"),
    "leader_epoch_max": ("new leader epoch", "new leader epochs"),
    "partition_epoch_max": ("change of leader or ISR", "changes of leader or ISR"),
}
"""By bound, what it counts: one of it, and several."""

DEEDS: Mapping[str, str] = {
    "produce": "a record is produced to {leader}",
    "commit": "{leader} commits a record",
    "crash": "{broker} is killed",
    "crash_with_loss": "{broker} loses power, and records that were not flushed",
    "restart": "{broker} starts again",
    "start": "{broker} starts again",
    "fence": "{broker} is fenced",
    "end_session": "the session of {broker} ends while it runs",
    "begin_controlled_shutdown": "{broker} begins to shut down",
    "begin_shutdown": "{broker} begins to shut down",
    "end_controlled_shutdown": "{broker} is down",
    "end_unapproved": "{broker} is down, unapproved",
    "shut_down_broker": "{broker} asks for a controlled shutdown",
    "shut_down_broker_again": "{broker} asks again",
    "get_no_answer": "{broker} asks for a controlled shutdown, and gets no answer",
    "exit_broker": "{broker} is down",
    "stop": "{broker} is down",
    "propose_shrink": "{leader} takes {follower} for lagging",
    "shrink_isr": "{leader} takes {follower} for lagging",
    "propose_expansion": "{leader} proposes {follower} for the ISR",
    "move_leadership": "leadership moves to {candidate}",
    "elect": "{candidate} is elected",
    "elect_last_known_leader": "{candidate} is elected as the last known leader",
    "elect_uncleanly": "a leader is elected uncleanly",
    "elect_preferred_leader": "the preferred leader is elected",
    "reassign": "a reassignment takes {leaver} out and {newcomer} in",
    "cancel_reassignment": "the reassignment is cancelled",
    "set_min_isr": "min.insync.replicas is set to {min_isr}",
    "fail_directory": "the log directory of {broker} fails",
    "assign_directory": "the replica of {broker} is in another log directory",
    "delete_topic": "the topic is deleted",
    "create_topic": "the topic is created anew",
    "unregister_broker": "{broker} is unregistered",
    "upgrade_metadata_version": "the metadata version is upgraded",
    "fail_over": "another controller becomes active",
    "begin_removal": "a reassignment takes {broker} out",
    "complete_removal": "{leader} is reassigned away by its own request",
    "remove_replica": "{broker} is no replica any more",
    "add_replica": "{broker} is a replica again",
    "grant_shutdown": "{broker} may shut down",
}
"""By action, what it is to an operator. What is left out happens by itself."""


def bounds_in_words(part: Part) -> str:
    """How often what may happen, such as "1 record, 3 controlled shutdowns"."""
    assert part.result is not None
    bounds = part.result.spec.file.bounds
    return ", ".join(counted_by(key, bounds[key]) for key in COUNTED if bounds.get(key))


def counted_by(bound: str, number: int) -> str:
    one, several = COUNTED[bound]
    return f"{number} {one if number == 1 else several}"


def where_seen(seen: Seen) -> str:
    """Where a finding was seen."""
    clusters = f"on clusters of {', '.join(seen.clusters)}" if seen.clusters else ""
    classes = f"on Kafka's classes of {', '.join(seen.classes)}" if seen.classes else ""
    return " and ".join(filter(None, (clusters, classes))) or "in the model only"


def deeds(part: Part) -> list[str]:
    """How it comes about: the steps of the counterexample that do not happen by themselves."""
    if part.violation is None:
        return []
    taken = [step.action for step in part.violation.trace if step.action is not None]
    return [DEEDS[each.of.name].format_map(each.shown) for each in taken if each.of.name in DEEDS]
