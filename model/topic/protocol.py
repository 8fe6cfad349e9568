"""The rules of a topic of several partitions that changed over Kafka's history, one toggle each."""

from __future__ import annotations

import attrs

from highwater.model.language.definition import toggle


@attrs.frozen
class TopicProtocol:
    """The rules. `True` is what Kafka does now, unless the toggle's meaning says otherwise."""

    watched_before_read: bool = toggle(
        "a controller watches the topic for added partitions before it reads its assignment (KAFKA-5642)"
    )
    zk_write_fenced: bool = toggle("a deposed controller's writes to ZooKeeper fail (KAFKA-6082)")
    new_replica_asks_zookeeper: bool = toggle(
        "before KAFKA-5642: whether a new replica would lead is read from ZooKeeper, and not from the controller's "
        "memory"
    )
    additions_wait: bool = toggle("no partition is added while one is being reassigned (KIP-195)")
    reassigned_by_zookeeper: bool = toggle(
        "before KIP-455: reassignments are asked for in ZooKeeper, several in one request, and none beside another"
    )
    removed_replicas_told: bool = toggle(
        "until 2.3: replicas that a reassignment removes get the leader epoch in which it ends, too"
    )
    balancing_waits: bool = toggle(
        "until 3.3: no preferred leader is elected by itself while a partition is being reassigned (KAFKA-10149)"
    )
    dead_replicas_leave_at_startup: bool = toggle(
        "a new controller takes replicas on dead brokers offline, so that they leave the ISR (KAFKA-3143)"
    )
    partition_fails_alone: bool = toggle(
        "a partition whose log cannot be opened leaves the others of the request alone, if it has a leader (KAFKA-9769)"
    )
    known_log_needs_no_zookeeper: bool = toggle(
        "a broker that starts again opens the logs that it has without asking ZooKeeper for the topic's configuration "
        "(KAFKA-9932)"
    )
    fence_fetch: bool = toggle("only followers in the leader's epoch get records (KIP-320)")
    follower_notes_epoch_first: bool = toggle(
        "a bug: a follower notes a leader epoch before it makes its log (5a67b080c7d, in 3.6); a request that repeats "
        "it does nothing"
    )
    append_error_stops_one: bool = toggle(
        "a follower that cannot append goes on with the other partitions of its fetcher thread (KIP-461)"
    )
