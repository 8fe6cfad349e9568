"""The transition system of the KRaft control plane under each protocol."""

from __future__ import annotations

from model.kraft import controlling, serving
from model.kraft.bounds import KraftBounds
from model.kraft.presets import LAST_RELEASES, PRESETS, RELEASES_OF_PRESETS
from model.kraft.protocol import KraftProtocol
from model.kraft.state import Cluster, initial_states
from model.language.definition import Definition, Model

CONTROLLING = (controlling.fence, controlling.unfence, controlling.answer_alter_partition)
HEALING = (*CONTROLLING, *serving.HEALING)
"""What happens by itself in a cluster that nobody disturbs; together with `serving.RETURNS` if brokers come back."""

ACTIONS = (
    *HEALING,
    *serving.RETURNS,
    controlling.fence_two,
    controlling.elect_preferred_leader,
    controlling.reassign,
    controlling.cancel_reassignment,
    controlling.fail_over,
    controlling.append_no_op,
    *serving.DISTURBING,
)


def define(protocol: KraftProtocol) -> Definition:
    """The transition system of a controller, brokers and one partition."""
    del protocol  # every step exists under every protocol
    return Definition(KraftBounds, Cluster, initial_states, ACTIONS, properties="invariants.kraft.catalogue:KRAFT")


KRAFT = Model(
    "kraft",
    (
        "The control plane of one partition under KRaft: registrations, fencing, elections with ELR, AlterPartition, "
        "reassignment, controlled shutdown."
    ),
    KraftProtocol,
    define,
    PRESETS,
    RELEASES_OF_PRESETS,
    LAST_RELEASES,
)
