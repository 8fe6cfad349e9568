"""The models by name. A model is registered here, by one line."""

from __future__ import annotations

from collections.abc import MutableMapping

from model.language.definition import Model
from model.language.registration import Catalogue

MODELS: MutableMapping[str, Model] = Catalogue(
    {
        "reference": "model.reference.protocols:REFERENCE",
        "kraft-reference": "model.kraft_reference.definition:KRAFT_REFERENCE",
        "quorum-reference": "model.quorum_reference.definition:QUORUM_REFERENCE",
        "partition": "model.partition.definition:PARTITION",
        "controller": "model.controller.definition:CONTROLLER",
        "kraft": "model.kraft.definition:KRAFT",
    }
)
