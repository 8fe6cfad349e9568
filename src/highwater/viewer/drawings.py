"""Drawings by the class of the states that they draw. A model without one is drawn from its domains."""

from __future__ import annotations

from collections.abc import Sequence

from highwater.explorer.blame import ModelError, blaming_the_model
from highwater.explorer.system import System
from highwater.explorer.verdict import Step
from highwater.model.controller.state import Cluster as ControllerCluster
from highwater.model.kraft.state import Cluster as KraftCluster
from highwater.model.kraft_reference.state import Cluster as ReferenceCluster
from highwater.model.language.definition import Model
from highwater.model.language.picture import Drawing, Picture
from highwater.model.partition.state import Partition
from highwater.model.quorum_reference.kip_853.state import ChangingQuorum
from highwater.model.quorum_reference.state import Quorum
from highwater.model.reference.async_isr import Agreement
from highwater.model.reference.state import Cluster
from highwater.viewer.pictures import (
    changing_quorum,
    controller,
    kraft,
    kraft_reference,
    of_any_model,
    partition,
    quorum,
    reference,
)

DRAWINGS: dict[type, Drawing] = {
    Cluster: reference.CLUSTER,
    Agreement: reference.AGREEMENT,
    Partition: partition.PARTITION,
    ControllerCluster: controller.CONTROLLER,
    KraftCluster: kraft.KRAFT,
    ReferenceCluster: kraft_reference.KRAFT_REFERENCE,
    Quorum: quorum.QUORUM,
    ChangingQuorum: changing_quorum.CHANGING_QUORUM,
}


def drawing_of(system: System, model: Model | None = None) -> Drawing:
    """How the states of a system are drawn: as its model says, or else from their domains."""
    known = (model and model.drawing) or DRAWINGS.get(system.domain.cls)
    return known or of_any_model.drawing(action.actor for action in system.actions)


def drawn(drawing: Drawing, system: System, trace: Sequence[Step]) -> list[Picture]:
    """The pictures of a trace's states.

    Raises:
        ModelError: a model's own drawing raised, or what it made is no picture.
    """
    found = []
    with blaming_the_model():
        for step in trace:
            picture = drawing.draw(system.domain, step.state)
            if not isinstance(picture, Picture):
                raise ModelError(f"the drawing of {system.domain.cls.__name__} made {picture!r}, and no Picture")
            found.append(picture)
    return found
