"""The models by name."""

from __future__ import annotations

from model.definition import Model
from model.reference.protocols import define as define_reference
from model.reference.state import ReferenceProtocol

MODELS: dict[str, Model] = {
    model.name: model
    for model in (
        Model(
            "reference",
            "The public TLA+ family: truncation to the high watermark, KIP-101, KIP-279, KIP-320 and its first try, and AsyncIsr.",
            ReferenceProtocol,
            define_reference,
        ),
    )
}
