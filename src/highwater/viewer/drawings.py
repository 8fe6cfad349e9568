"""Drawings by the class of the states that they draw. A model without one is drawn from its domains."""

from __future__ import annotations

from highwater.explorer.system import System
from highwater.model.controller.state import Cluster as ControllerCluster
from highwater.model.kraft.state import Cluster as KraftCluster
from highwater.model.partition.state import Partition
from highwater.model.quorum_reference.kip_853.state import ChangingQuorum
from highwater.model.quorum_reference.state import Quorum
from highwater.model.reference.async_isr import Agreement
from highwater.model.reference.state import Cluster
from highwater.viewer.picture import Drawing
from highwater.viewer.pictures import changing_quorum, controller, kraft, of_any_model, partition, quorum, reference

DRAWINGS: dict[type, Drawing] = {
    Cluster: reference.CLUSTER,
    Agreement: reference.AGREEMENT,
    Partition: partition.PARTITION,
    ControllerCluster: controller.CONTROLLER,
    KraftCluster: kraft.KRAFT,
    Quorum: quorum.QUORUM,
    ChangingQuorum: changing_quorum.CHANGING_QUORUM,
}


def drawing_of(system: System) -> Drawing:
    """How the states of a system are drawn."""
    known = DRAWINGS.get(system.domain.cls)
    return known or of_any_model.drawing(action.actor for action in system.actions)
