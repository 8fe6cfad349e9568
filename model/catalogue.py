"""The models by name."""

from __future__ import annotations

from model.controller.definition import define as define_controller
from model.controller.protocol import PRESETS as CONTROLLER_PRESETS
from model.controller.protocol import ControllerProtocol
from model.definition import Model
from model.partition.definition import define as define_partition
from model.partition.protocol import PartitionProtocol
from model.partition.releases import PRESETS
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
        Model(
            "partition",
            "One partition message by message, from produce and fetch to elections and crashes, with every historical rule as a toggle.",
            PartitionProtocol,
            define_partition,
            PRESETS,
        ),
        Model(
            "controller",
            "Kafka's controller with ZooKeeper: both state machines, elections, creation and deletion, reassignment, fail-over.",
            ControllerProtocol,
            define_controller,
            CONTROLLER_PRESETS,
        ),
    )
}
