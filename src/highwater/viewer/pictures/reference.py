"""How the reference family is drawn."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from highwater.model.language.declarations import Instance
from highwater.model.language.domain import Struct
from highwater.model.language.picture import Badge, Block, Drawing, Lane, Log, Message, NameSet, Picture, Tone
from highwater.model.reference.async_isr import LEADER, Agreement
from highwater.model.reference.state import Cluster
from highwater.viewer.pictures.of_any_model import log_of, names, role

CONTROLLER = "controller"


def draw_cluster(domain: Struct, cluster: Cluster) -> Picture:
    """The quorum's truth on the left, then each broker with what it believes."""
    quorum, epoch = cluster.quorum, cluster.leader_epoch
    truth = names(quorum.isr)
    leader = None if quorum.leader is None else f"b{quorum.leader}"
    since = f" e{epoch}" if epoch >= 0 else ""
    elected = Badge(f"{leader} leads{since}" if leader else f"no leader{since}", short=f"{leader or '-'}{since}")
    lanes = {CONTROLLER: Lane((elected,), name_sets=(NameSet("ISR", truth),))}
    log = domain.fields["replicas"].of.fields["log"]
    for broker, replica in enumerate(cluster.replicas):
        leads = cluster.presumes_leadership(broker)
        known = replica.leader_epoch if replica.leader_epoch >= 0 else None
        followed = None if replica.leader is None else f"b{replica.leader}"
        badge = role(followed, known, leads=leads, stale=leads and quorum.leader != broker)
        belief = (NameSet("its ISR", names(replica.isr), truth),) if leads else ()
        lanes[f"b{broker}"] = Lane((badge,), (log_of(log, replica.log, replica.high_watermark),), belief)
    sent = tuple(
        Message(epoch, "LeaderAndIsr", str(request), CONTROLLER, epoch=epoch)
        for epoch, request in enumerate(cluster.requests)
    )
    return Picture(lanes, sent, max(0, epoch), leader)


def requests_read(action: Instance, before: Cluster) -> Iterable[tuple[Hashable, str]]:
    """A replica that takes up a leader epoch reads the request of that epoch, which stays to be read by others."""
    return [(action.arguments["epoch"], action.actor)] if "epoch" in action.arguments else []


CLUSTER = Drawing(
    draw_cluster,
    requests_read,
    counterparts=(
        frozenset({"fetch", "fenced_fetch", "first_try_fetch"}),
        frozenset({"advance_high_watermark", "fenced_advance_high_watermark", "first_try_advance_high_watermark"}),
        frozenset({"shrink_isr", "fenced_shrink_isr", "first_try_shrink_isr"}),
        frozenset({"expand_isr", "fenced_expand_isr", "first_try_expand_isr"}),
        frozenset(
            {
                "become_follower_truncating_to_high_watermark",
                "become_follower_truncating_by_kip_101",
                "become_follower_truncating_by_kip_279",
                "fenced_become_follower",
                "first_try_become_follower",
            }
        ),
    ),
)


def draw_agreement(domain: Struct, state: Agreement) -> Picture:
    """The controller's ISR on the left, then the leader with what it asked for, then the followers."""
    truth, leader = names(state.isr), state.leader
    lanes = {
        CONTROLLER: Lane(
            (Badge(f"v{state.version}", meaning="The version of the ISR, which Kafka calls the partition epoch."),),
            name_sets=(NameSet("ISR", truth),),
        )
    }
    room = int(domain.fields["leader"].fields["offsets"].of.high)
    for broker, end in enumerate(leader.offsets):
        records = tuple(Block(str(offset)) for offset in range(end))
        if broker != LEADER:
            lanes[f"b{broker}"] = Lane((role(f"b{LEADER}", None, leads=False),), (Log(records, room=room),))
            continue
        name_sets = [NameSet("its ISR", names(leader.isr), truth)]
        if leader.pending_isr:
            name_sets += [
                NameSet("pending ISR", names(leader.pending_isr)),
                NameSet("maximal ISR", names(leader.maximal_isr)),
            ]
        badges = (role(None, None, leads=True), Badge(f"knows v{leader.version}", Tone.PLAIN, f"v{leader.version}"))
        lanes[f"b{broker}"] = Lane(badges, (Log(records, leader.high_watermark, room=room),), tuple(name_sets))
    asked = [
        Message(("request", request), "AlterIsr", str(request), f"b{LEADER}", CONTROLLER)
        for request in sorted(state.requests, key=lambda request: (request.version, sorted(request.isr)))
    ]
    answers = [
        Message(("update", version), "update", f"v{version} ISR {{{' '.join(names(isr))}}}", CONTROLLER, f"b{LEADER}")
        for version, isr in enumerate(state.updates, 1)
    ]
    return Picture(lanes, (*asked, *answers), leader=f"b{LEADER}")


def agreement_read(action: Instance, before: Agreement) -> Iterable[tuple[Hashable, str]]:
    """The controller grants a request that it knows the ISR and version of; the leader learns an update by its
    version.
    """
    from highwater.model.reference.async_isr import AlterIsr

    match action.of.name:
        case "controller_accepts":
            return [(("request", AlterIsr(action.arguments["isr"], before.version)), CONTROLLER)]
        case "leader_learns":
            return [(("update", action.arguments["version"]), f"b{LEADER}")]
    return []


AGREEMENT = Drawing(draw_agreement, agreement_read)
