"""The properties by the class of the states that they speak of."""

from __future__ import annotations

from collections.abc import MutableMapping

from model.language.declarations import Invariant, Prospect, StepProperty
from model.language.registration import CatalogueByClass

PROPERTIES: MutableMapping[type, tuple[Invariant | StepProperty | Prospect, ...]] = CatalogueByClass(
    {
        "model.reference.state:Cluster": "invariants.reference:CLUSTER",
        "model.partition.state:Partition": "invariants.partition.catalogue:PARTITION",
        "model.reference.async_isr:Agreement": "invariants.reference:AGREEMENT",
        "model.controller.state:Cluster": "invariants.controller.catalogue:CONTROLLER",
    }
)
