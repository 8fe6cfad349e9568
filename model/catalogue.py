"""The models by name. A model is registered here, by one line."""

from __future__ import annotations

from collections.abc import MutableMapping

from highwater.model.language.definition import Model
from highwater.model.language.registration import Catalogue

MODELS: MutableMapping[str, Model] = Catalogue(
    {
        "reference": "highwater.model.reference.protocols:REFERENCE",
        "kraft-reference": "highwater.model.kraft_reference.definition:KRAFT_REFERENCE",
        "quorum-reference": "highwater.model.quorum_reference.definition:QUORUM_REFERENCE",
        "partition": "highwater.model.partition.definition:PARTITION",
        "controller": "highwater.model.controller.definition:CONTROLLER",
        "kraft": "highwater.model.kraft.definition:KRAFT",
        "requests": "highwater.model.requests.definition:REQUESTS",
        "topic": "highwater.model.topic.definition:TOPIC",
        "client-log": "highwater.model.client_log:CLIENT_LOG",
    }
)
