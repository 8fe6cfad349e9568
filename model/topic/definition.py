"""The transition system of a topic of several partitions under each protocol."""

from __future__ import annotations

from highwater.model.language.definition import Definition, Model
from highwater.model.topic import administering, controlling, reassigning, serving
from highwater.model.topic.bounds import TopicBounds
from highwater.model.topic.initial import initial_states
from highwater.model.topic.protocol import TopicProtocol
from highwater.model.topic.releases import LAST_RELEASES, PRESETS, RELEASES
from highwater.model.topic.state import Topic

RETURNS = (serving.start_broker,)
HEALING = (
    serving.receive,
    serving.end_pause,
    serving.expand_isr,
    serving.shrink_isr,
    controlling.read_context,
    controlling.start_machines,
    controlling.watch_topic,
    controlling.notice_topic,
    controlling.notice_partitions,
    controlling.notice_brokers,
    controlling.balance_leaders,
    reassigning.notice_reassignment,
    reassigning.notice_caught_up_replicas,
)
"""What happens by itself in a cluster that nobody disturbs; together with `RETURNS` where every broker comes back."""

ACTIONS = (
    *HEALING,
    *RETURNS,
    administering.create_topic,
    administering.add_partition,
    administering.request_reassignments,
    administering.write_late,
    controlling.lose_controller,
    serving.crash_broker,
    serving.fail_half_way,
    serving.get_fetch_error,
    serving.fail_to_append,
)


def define(protocol: TopicProtocol) -> Definition:
    """The transition system of a topic, its controller and its brokers."""
    del protocol  # every step exists under every protocol
    return Definition(
        TopicBounds, Topic, initial_states, ACTIONS, properties="highwater.invariants.topic.catalogue:TOPIC"
    )


TOPIC = Model(
    "topic",
    (
        "A topic of several partitions with ZooKeeper: where replicas go, failures that move many leaders, added "
        "partitions, reassignments side by side, balancing, shared requests and fetcher threads."
    ),
    TopicProtocol,
    define,
    PRESETS,
    RELEASES,
    LAST_RELEASES,
)
