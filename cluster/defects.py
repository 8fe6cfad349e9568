"""Defects of Kafka as an operator meets them: requests and failures that bring each about on a cluster, and controls in
which one circumstance differs and nothing happens.

Most were found by driving Kafka's real controller, or its Raft client, at random in one thread; a reassignment that
never completes by the model `kraft`, consumers that do not wait by `requests`, groups without a coordinator and what is
about ZooKeeper by `controller`. docs/findings.md has the stories.
"""

from __future__ import annotations

from highwater.cluster.controller_defects import deposed, healed_by_a_snapshot, restarted
from highwater.cluster.directory_defects import moved_while_empty
from highwater.cluster.partition_defects import (
    added_in_place_of_the_dead,
    ahead,
    cancelled,
    groups_made_again,
    leaderless,
    reassigned_back,
    removed_and_added_again,
    replaced,
    throttled,
)
from highwater.cluster.quorum_defects import removed_while_slow, stored_a_leader, truncated_to_its_snapshot
from highwater.cluster.settings import Settings
from highwater.cluster.stage import SESSION_MS
from highwater.cluster.ways import Defect, Way
from highwater.cluster.zookeeper_defects import deleted, resigned
from highwater.conformance.distribution import KafkaError


def _cluster(brokers: int, **others: object) -> Settings:
    given = {"min_insync_replicas": 2, "session_ms": SESSION_MS, "eligible_replicas": True, **others}
    return Settings(brokers=brokers, **given)  # type: ignore[arg-type]


OFTEN = {"metadata.log.max.snapshot.interval.ms": "1000", "metadata.max.idle.interval.ms": "0"}  # and no idle records
PATIENT = {"controller.quorum.fetch.timeout.ms": "30000"}  # nobody is elected while the leader is paused
LATE = {"replica.fetch.wait.max.ms": "10000"}  # how long a follower with all records may not hear of a high watermark
ONE_OF_GROUPS = {"offsets.topic.num.partitions": "1"}  # so that each group is in the same partition
WITH_ZOOKEEPER = Settings(brokers=3, zookeeper=True, session_ms=30_000)  # longer than any pause

DEFECTS = {
    "elects-an-emptied-replica": Defect(
        "Records acknowledged with acks=all and min.insync.replicas=2 are lost in a clean election.",
        {
            "removed-and-added-again": Way(
                "a replica is removed and added again, and the leader dies before it has caught up",
                _cluster(2),
                1,
                removed_and_added_again,
            ),
            "throttled": Way("the same with a throttled reassignment and without a pause", _cluster(2), 1, throttled),
            "cancelled": Way(
                "a reassignment is cancelled and begun again, and the leader dies", _cluster(4), 0, cancelled
            ),
            "replaced": Way(
                "a replacement completes below min.insync.replicas, and is taken back",
                _cluster(4),
                0,
                replaced,
                since=(4, 3),
            ),
            "first-partition": Way(
                "the same with partition 0, whose replicas the controller counts for min.insync.replicas",
                _cluster(2),
                0,
                removed_and_added_again,
                control=True,
            ),
            "in-place-of-the-dead": Way(
                "the same with partition 0, where the leader dies before the replica is added again",
                _cluster(2),
                0,
                added_in_place_of_the_dead,
                control=True,
            ),
            "without-eligible-replicas": Way(
                "the same with eligible.leader.replicas.version=0",
                _cluster(2, eligible_replicas=False),
                1,
                removed_and_added_again,
                control=True,
            ),
        },
    ),
    "leaves-a-partition-without-a-leader": Defect(
        "Nobody leads a partition though the broker that led last is back.",
        {
            "cancelled": Way(
                "a reassignment is cancelled, the leader is killed, and all brokers return", _cluster(4), 0, leaderless
            ),
            "without-eligible-replicas": Way(
                "the same with eligible.leader.replicas.version=0",
                _cluster(4, eligible_replicas=False),
                0,
                leaderless,
                control=True,
            ),
        },
    ),
    "refuses-a-restarted-broker": Defect(
        "A broker that shut down in order and starts at once is refused until its earlier session ends.",
        {
            "at-once": Way(
                "a broker shuts down in order and starts at once",
                _cluster(2),
                0,
                lambda stage: restarted(stage, wait=False),
                since=(4, 0),
            ),
            "after-the-session": Way(
                "the same with a start after the end of the earlier session",
                _cluster(2),
                0,
                lambda stage: restarted(stage, wait=True),
                control=True,
            ),
        },
    ),
    "deposes-controllers": Defect(
        "One broker that cannot register deposes every active controller in turn.",
        {
            "registering": Way(
                "min.insync.replicas is lowered while a broker is down, the topic is deleted, the broker returns",
                _cluster(2, controllers=3),
                0,
                lambda stage: deposed(stage, 1),
            ),
            "healed": Way(
                "the same, and then controllers start from a snapshot",
                _cluster(2, controllers=3, others={"metadata.log.max.snapshot.interval.ms": "5000"}),
                0,
                lambda stage: deposed(stage, 1, healed_by_a_snapshot),
            ),
            "same-min-insync-replicas": Way(
                "the same without the change of min.insync.replicas",
                _cluster(2, controllers=3),
                0,
                lambda stage: deposed(stage, 2),
                control=True,
            ),
        },
    ),
    "never-completes-a-reassignment": Defect(
        "A reassignment back to the former replicas never completes.",
        {
            "reassigned-back": Way(
                "a reassignment is in progress, and the partition is reassigned to its former replica",
                _cluster(2),
                0,
                lambda stage: reassigned_back(stage, [0]),
                since=(4, 3),
            ),
            "cancelled": Way(
                "the same with a cancellation instead of the second reassignment",
                _cluster(2),
                0,
                lambda stage: reassigned_back(stage, None),
                control=True,
            ),
        },
    ),
    "keeps-consumers-fetching": Defect(
        "A consumer that has nothing to read sends thousands of fetches a second, and does not wait.",
        {
            "below-min-insync-replicas": Way(
                "a leader dies before its follower has heard of the high watermark, and the follower leads alone",
                _cluster(2, eligible_replicas=None, others=LATE),
                0,
                lambda stage: ahead(stage, min_isr=2),
                since=(3, 8),
            ),
            "min-insync-replicas-1": Way(
                "the same with min.insync.replicas=1",
                _cluster(2, eligible_replicas=None, others=LATE),
                0,
                lambda stage: ahead(stage, min_isr=1),
                control=True,
            ),
        },
    ),
    "keeps-a-follower-out-of-the-isr": Defect(
        "A follower stays out of the ISR of an empty partition, and producers with acks=all are refused.",
        {
            "moved": Way(
                "a leader that has written nothing moves its replica to another log directory, and its follower leaves",
                _cluster(2, eligible_replicas=None, directories=2),
                0,
                lambda stage: moved_while_empty(stage, moved=True),
                since=(3, 6),
            ),
            "not-moved": Way(
                "the same without the move",
                _cluster(2, eligible_replicas=None, directories=2),
                0,
                lambda stage: moved_while_empty(stage, moved=False),
                control=True,
            ),
        },
    ),
    "leaves-groups-without-a-coordinator": Defect(
        "No consumer joins a group once __consumer_offsets was deleted and made again.",
        {
            "after-a-change-of-leader": Way(
                "a partition of __consumer_offsets gets another leader, and then the topic is deleted and made again",
                _cluster(2, eligible_replicas=None, others=ONE_OF_GROUPS),
                0,
                lambda stage: groups_made_again(stage, moved=True),
                since=(3, 5),
                until=(4, 0, 0),
            ),
            "without-a-change-of-leader": Way(
                "the same without another leader",
                _cluster(2, eligible_replicas=None, others=ONE_OF_GROUPS),
                0,
                lambda stage: groups_made_again(stage, moved=False),
                control=True,
            ),
        },
    ),
    "keeps-no-controller": Defect(
        "Every controller that is elected resigns at once, many times a second.",
        {
            "never-led": Way(
                "a partition that was never led is reassigned, its new broker ends, and then the controller",
                WITH_ZOOKEEPER,
                0,
                lambda stage: resigned(stage, reassigned=True),
                since=(3, 5),
                until=(3, 9, 2),
            ),
            "without-a-reassignment": Way(
                "the same without the reassignment",
                WITH_ZOOKEEPER,
                0,
                lambda stage: resigned(stage, reassigned=False),
                control=True,
            ),
        },
    ),
    "keeps-a-deleted-topic": Defect(
        "A topic that was deleted is there until one of its brokers is started again.",
        {
            "while-reassigned": Way(
                "a topic is deleted while it is reassigned to a broker that is paused, and the controller ends",
                WITH_ZOOKEEPER,
                0,
                lambda stage: deleted(stage, fail_over=True),
                since=(3, 5),
                until=(3, 9, 2),
            ),
            "same-controller": Way(
                "the same with a controller that goes on",
                WITH_ZOOKEEPER,
                0,
                lambda stage: deleted(stage, fail_over=False),
                control=True,
            ),
        },
    ),
    "ends-a-restarted-controller": Defect(
        "A controller that has to truncate its metadata log to a snapshot ends once.",
        {
            "cleaned": Way(
                "a controller that has cleaned its log up to a snapshot alone has more records, is killed, and starts",
                _cluster(1, controllers=3, eligible_replicas=None, others={**OFTEN, "metadata.max.retention.ms": "1"}),
                0,
                lambda stage: truncated_to_its_snapshot(stage, cleaned=True),
                since=(3, 9),
            ),
            "not-cleaned": Way(
                "the same with a log that begins at its beginning",
                _cluster(1, controllers=3, eligible_replicas=None, others=OFTEN),
                0,
                lambda stage: truncated_to_its_snapshot(stage, cleaned=False),
                control=True,
            ),
        },
    ),
    "ends-a-new-broker": Defect(
        "A broker that was killed as it first started ends at each start, until another controller leads.",
        {
            "killed-at-first": Way(
                "a new broker is killed after it has learned who leads, and then asks the controller that leads",
                _cluster(1, controllers=3, voters_change=True, eligible_replicas=None, others=PATIENT),
                0,
                lambda stage: stored_a_leader(stage, killed=True),
                since=(3, 9),
            ),
            "killed-later": Way(
                "the same with a broker that was up before",
                _cluster(1, controllers=3, voters_change=True, eligible_replicas=None, others=PATIENT),
                0,
                lambda stage: stored_a_leader(stage, killed=False),
                control=True,
            ),
        },
    ),
    "ends-the-active-controller": Defect(
        "The active controller ends when a slow voter is removed, and no other is active until it is started again.",
        {
            "slow-voter": Way(
                "a voter is paused, removed from the quorum, and resumed",
                _cluster(2, controllers=3, voters_change=True, eligible_replicas=None),
                0,
                lambda stage: removed_while_slow(stage, slow=True),
                since=(3, 9),
            ),
            "resumed-before": Way(
                "the same with a voter that has answered before it is removed",
                _cluster(2, controllers=3, voters_change=True, eligible_replicas=None),
                0,
                lambda stage: removed_while_slow(stage, slow=False),
                control=True,
            ),
        },
    ),
}


def way_of(name: str) -> tuple[str, Way]:
    """A way by the name of its defect, or by `DEFECT/WAY`, and its whole name.

    Raises:
        KafkaError: there is none; the message names those that there are.
    """
    of, slash, which = name.partition("/")
    if of not in DEFECTS:
        raise KafkaError(f"defect:{name}: there is no such defect; allowed are {', '.join(DEFECTS)}")
    ways = DEFECTS[of].ways
    which = which if slash else next(iter(ways))
    if which not in ways:
        raise KafkaError(f"defect:{name}: {of} has no such way; allowed are {', '.join(ways)}")
    return f"{of}/{which}", ways[which]
