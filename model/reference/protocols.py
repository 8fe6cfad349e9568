"""The protocols of the family: each is a list of steps, and the differences between the lists are what the KIPs
changed.
"""

from __future__ import annotations

from highwater.model.language.declarations import Action
from highwater.model.language.definition import Definition, Model
from highwater.model.reference import async_isr, fenced, unfenced
from highwater.model.reference.controlling import become_leader, elect_leader, take_from_isr, write
from highwater.model.reference.state import (
    Cluster,
    ReferenceBounds,
    ReferenceProtocol,
    Variant,
    all_brokers,
    initial_states,
)

CONTROL = (elect_leader, take_from_isr, become_leader)

UNFENCED = (unfenced.expand_isr, unfenced.shrink_isr, write, unfenced.advance_high_watermark, unfenced.fetch)

STEPS: dict[Variant, tuple[Action, ...]] = {
    Variant.TRUNCATE_TO_HIGH_WATERMARK: (*CONTROL, *UNFENCED, unfenced.become_follower_truncating_to_high_watermark),
    Variant.KIP_101: (*CONTROL, *UNFENCED, unfenced.become_follower_truncating_by_kip_101),
    Variant.KIP_279: (*CONTROL, *UNFENCED, unfenced.become_follower_truncating_by_kip_279),
    Variant.KIP_320_FIRST_TRY: (
        *CONTROL,
        fenced.first_try_expand_isr,
        fenced.first_try_shrink_isr,
        write,
        fenced.first_try_advance_high_watermark,
        fenced.first_try_become_follower,
        fenced.first_try_fetch,
        fenced.first_try_truncate,
    ),
    Variant.KIP_320: (
        *CONTROL,
        fenced.fenced_expand_isr,
        fenced.fenced_shrink_isr,
        write,
        fenced.fenced_advance_high_watermark,
        fenced.fenced_become_follower,
        fenced.fenced_fetch,
    ),
}


def define(protocol: ReferenceProtocol) -> Definition:
    """The transition system of one protocol of the family."""
    if protocol.variant is Variant.ASYNC_ISR:
        return Definition(
            async_isr.AsyncIsrBounds,
            async_isr.Agreement,
            async_isr.initial_states,
            async_isr.ACTIONS,
            async_isr.followers,
            "highwater.invariants.reference:AGREEMENT",
        )
    return Definition(
        ReferenceBounds,
        Cluster,
        initial_states,
        STEPS[protocol.variant],
        all_brokers,
        "highwater.invariants.reference:CLUSTER",
    )


REFERENCE = Model(
    "reference",
    (
        "The public TLA+ family: truncation to the high watermark, KIP-101, KIP-279, KIP-320 and its first try, and "
        "AsyncIsr."
    ),
    ReferenceProtocol,
    define,
)
