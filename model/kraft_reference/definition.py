"""The two public specifications of replication under the KRaft controller as one model."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs

from highwater.model.kraft_reference import failing, fetching, proposing
from highwater.model.kraft_reference.applying import apply_metadata
from highwater.model.kraft_reference.bounds import Kafka35Bounds, Kip966Bounds, KraftBounds
from highwater.model.kraft_reference.controlling import fence, reassign, register, unfence
from highwater.model.kraft_reference.messages import NO_FETCH
from highwater.model.kraft_reference.protocol import KraftProtocol, Messages, Variant
from highwater.model.kraft_reference.state import (
    BEFORE_THE_LOG,
    UNKNOWN_FOLLOWER,
    Broker,
    Change,
    Clients,
    Cluster,
    Registration,
    Role,
    Status,
    Used,
)
from highwater.model.language.declarations import Action
from highwater.model.language.definition import Definition, Model

COMMON = (
    failing.start,
    register,
    failing.finish_start,
    apply_metadata,
    *proposing.STEPS,
    *fetching.STEPS,
    fence,
    unfence,
    reassign,
)
SHUTDOWNS: dict[Variant, tuple[Action, ...]] = {
    Variant.V3_5: (failing.shut_down_uncleanly, failing.shut_down_cleanly),
    Variant.KIP_966: (failing.shut_down_losing_data, failing.shut_down_keeping_data),
}


@attrs.frozen
class StaleKafka35Bounds(Kafka35Bounds):
    """The bounds of v3.5 without the check of partition epochs."""

    accepts_stale_proposals: ClassVar[bool] = True


@attrs.frozen
class StaleKip966Bounds(Kip966Bounds):
    """The bounds of KIP-966 without the check of partition epochs."""

    accepts_stale_proposals: ClassVar[bool] = True


@attrs.frozen
class ForgetfulKafka35Bounds(Kafka35Bounds):
    """The bounds of v3.5 if the state does not keep messages that can no longer be handled."""

    keeps_messages: ClassVar[bool] = False


@attrs.frozen
class ForgetfulKip966Bounds(Kip966Bounds):
    """The bounds of KIP-966 if the state does not keep messages that can no longer be handled."""

    keeps_messages: ClassVar[bool] = False


def bounds_of(protocol: KraftProtocol) -> type[KraftBounds]:
    """The bounds of a protocol.

    Raises:
        ValueError: the protocol would forget messages that the controller may still accept.
    """
    if protocol.messages is Messages.FORGOTTEN:
        if not protocol.partition_epoch_check:
            raise ValueError('without the check of partition epochs old messages still matter: messages must be "kept"')
        return ForgetfulKip966Bounds if protocol.has_elr else ForgetfulKafka35Bounds
    if not protocol.partition_epoch_check:
        return StaleKip966Bounds if protocol.has_elr else StaleKafka35Bounds
    return Kip966Bounds if protocol.has_elr else Kafka35Bounds


def initial_states(bounds: KraftBounds) -> list[Cluster]:
    """The one initial state: broker 0 leads in epoch 1 with an empty log. Replicas outside the ISR are fenced, and
    believe that all replicas are in the ISR.
    """
    replicas, isr = frozenset(range(bounds.init_replication_factor)), frozenset(range(bounds.init_isr_size))
    first = Change(
        replicas=replicas,
        isr=isr,
        elr=frozenset(),
        last_known_elr=frozenset(),
        leader=0,
        leader_epoch=1,
        adding=frozenset(),
        removing=frozenset(),
        left=(),
        rejections=(),
    )
    nothing: tuple[frozenset[Any], ...] = (frozenset(),) * bounds.broker_count

    def broker(number: int) -> Broker:
        fenced = number in replicas - isr
        role = Role.NONE if number not in replicas else Role.FOLLOWER if number else Role.LEADER
        return Broker(
            status=Status.RUNNING,
            role=role,
            known=BEFORE_THE_LOG if fenced else int(number in replicas),
            applied=0 if fenced else 1,
            broker_epoch=1,
            incarnation=1,
            log=(),
            high_watermark=0,
            epoch_start=0 if role is Role.LEADER else None,
            first_written=None,
            fetches_from=0 if number else None,
            delayed=False,
            proposal=None,
            rejections=(),
            followers=(UNKNOWN_FOLLOWER,) * bounds.broker_count,
            fetches=(NO_FETCH,) * bounds.broker_count,
            handled=nothing,
        )

    return [
        Cluster(
            brokers=tuple(map(broker, range(bounds.broker_count))),
            registrations=tuple(Registration(number in replicas - isr, 1, 1) for number in range(bounds.broker_count)),
            metadata_log=(first,),
            starts=(),
            clients=Clients(frozenset(), frozenset(), frozenset(), ()),
            used=Used(0, 0, 0, 0, 0),
        )
    ]


def define(protocol: KraftProtocol) -> Definition:
    """The transition system of one specification."""
    actions: tuple[Action, ...] = (*COMMON, *SHUTDOWNS[protocol.variant])
    return Definition(
        bounds_of(protocol),
        Cluster,
        initial_states,
        actions,
        properties="highwater.invariants.kraft_reference.catalogue:KRAFT",
    )


KRAFT_REFERENCE = Model(
    "kraft-reference",
    "The public TLA+ specifications of replication under KRaft: Kafka 3.5, and KIP-966 with eligible leader replicas.",
    KraftProtocol,
    define,
)
