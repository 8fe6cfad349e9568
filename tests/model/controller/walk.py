"""Leading a cluster step by step through a scenario."""

from __future__ import annotations

from typing import Any

import attrs

from highwater.model.controller.bounds import ControllerBounds
from highwater.model.controller.definition import ACTIONS
from highwater.model.controller.protocol import ControllerProtocol
from highwater.model.controller.releases import REPAIRED
from highwater.model.controller.state import Cluster, initial_states

BY_NAME = {action.name: action for action in ACTIONS}
MOST = {field.name: 7 for field in attrs.fields(ControllerBounds) if field.default == 0}


def bounds(**given: int) -> ControllerBounds:
    chosen = {
        "brokers": 2,
        "replication_factor": 2,
        "leader_epoch_max": 9,
        "partition_epoch_max": 20,
        "queue_length_max": 8,
    }
    return ControllerBounds(**{**MOST, **chosen, **given})


class Walk:
    """A cluster that is led step by step, each action by name; a step that is not enabled fails."""

    def __init__(self, protocol: ControllerProtocol = REPAIRED, **given: int) -> None:
        self.bounds = bounds(**given)
        self.protocol = protocol
        (self.cluster,) = initial_states(self.bounds)

    def __call__(self, name: str, **arguments: Any) -> Walk:
        after = self.try_(name, **arguments)
        assert after is not None, f"{name} is not enabled"
        self.cluster = after
        return self

    def try_(self, name: str, **arguments: Any) -> Cluster | None:
        instances = BY_NAME[name].instances(self.bounds, self.protocol)
        fitting = [each for each in instances if all(each.arguments[key] == value for key, value in arguments.items())]
        assert len(fitting) == 1, f"{name}: which of {len(fitting)}?"
        return fitting[0].apply(self.cluster)

    def deliver_all(self) -> Walk:
        """Every request on its way is received, controllers and brokers in order."""
        for controller, queues in enumerate(self.cluster.queues):
            for broker in range(len(queues)):
                while self.cluster.queues[controller][broker] and self.cluster.brokers[broker].running:
                    self("receive", controller=controller, broker=broker)
        return self

    def steps(self, controller: int = 0) -> Walk:
        """The controller takes all steps that are left of a procedure, and each is received."""
        while self.cluster.controllers[controller].step is not None:
            self("take_next_step", controller=controller).deliver_all()
        return self

    @property
    def leadership(self) -> Any:
        return self.cluster.zk.leadership

    @property
    def context(self) -> Any:
        return next(context for context in self.cluster.controllers if context.active)
