"""The transition system of the KRaft control plane under each protocol."""

from __future__ import annotations

from highwater.model.kraft import (
    administering,
    alter_partition,
    assigning,
    metadata_log,
    reading,
    registering,
    requests,
    serving,
    topics,
    upgrading,
)
from highwater.model.kraft.bounds import KraftBounds
from highwater.model.kraft.initial import initial_states
from highwater.model.kraft.protocol import KraftProtocol
from highwater.model.kraft.releases import LAST_RELEASES, PRESETS, RELEASES
from highwater.model.kraft.state import Cluster
from highwater.model.language.definition import Definition, Model

CONTROLLING = (
    metadata_log.commit_batch,
    metadata_log.learn_of_fail_over,
    registering.fence,
    registering.unfence,
    registering.register_again,
    registering.enter_controlled_shutdown,
    registering.stay_in_controlled_shutdown,
    registering.grant_shutdown,
    registering.take_out_failed_directory,
    requests.send_request,
    alter_partition.answer_alter_partition,
    administering.balance_leaders,
    upgrading.register_directories,
)
HEALING = (*CONTROLLING, reading.read_metadata, *serving.HEALING)
"""What happens by itself in a cluster that nobody disturbs; together with `serving.RETURNS` if brokers come back."""

ACTIONS = (
    *HEALING,
    *serving.RETURNS,
    registering.fence_two,
    registering.end_session,
    alter_partition.answer_as_deposed,
    administering.elect_preferred_leader,
    administering.reassign,
    administering.cancel_reassignment,
    administering.set_min_isr,
    administering.elect_uncleanly,
    assigning.assign_directory,
    registering.unregister_broker,
    upgrading.upgrade_metadata_version,
    topics.delete_topic,
    topics.create_topic,
    metadata_log.fail_over,
    metadata_log.append_no_op,
    metadata_log.change_voters,
    *serving.DISTURBING,
)


def define(protocol: KraftProtocol) -> Definition:
    """The transition system of a controller, brokers and a topic of one partition or two."""
    del protocol  # every step exists under every protocol
    return Definition(
        KraftBounds, Cluster, initial_states, ACTIONS, properties="highwater.invariants.kraft.catalogue:KRAFT"
    )


KRAFT = Model(
    "kraft",
    (
        "The control plane of one partition or two under KRaft: registrations, fencing, elections with ELR, "
        "AlterPartition, reassignment, controlled shutdown."
    ),
    KraftProtocol,
    define,
    PRESETS,
    RELEASES,
    LAST_RELEASES,
)
