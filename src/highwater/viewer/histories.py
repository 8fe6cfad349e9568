"""The page of real log directories: each partition's history in lanes, as counterexamples are shown, and what is wrong
with what is on disk.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from highwater.conformance.controller_image import Recorded
from highwater.conformance.disk import Copy
from highwater.conformance.events import Event
from highwater.conformance.explaining import Explained
from highwater.conformance.learning import named
from highwater.conformance.state_changes import Learned
from highwater.model.language.picture import Badge, Block, Fact, Lane, Log, NameSet, Picture, Tone
from highwater.model.partition.state import Standing
from highwater.reports.explaining import lines_of, moment, shown_of, summary, under_way_in, words_of, words_of_learned
from highwater.viewer.cells import cell_of, pictures_alike
from highwater.viewer.pages import render
from highwater.viewer.shown import Cell

CONTROLLER = "controller"
MOST_BLOCKS = 24  # batches of a log that are drawn: the last ones
STANDINGS = {
    Standing.ACTIVE: Badge("active", Tone.FOLLOWS),
    Standing.SHUTTING_DOWN: Badge("shutting down", Tone.IDLE),
    Standing.FENCED: Badge("fenced", Tone.DOWN),
}


@attrs.frozen
class Row:
    """One change, a leader epoch that a broker begins, or at the end what is on disk: its words, a note if there is
    one, and each lane after it.
    """

    title: str
    when: str
    explained: bool
    note: str
    cells: dict[str, Cell]


@attrs.frozen
class Board:
    """The history of one partition."""

    partition: str
    lanes: tuple[str, ...]
    rows: tuple[Row, ...]
    findings: tuple[Any, ...]
    remarks: tuple[Any, ...]


def page(found: Explained, root: str, chosen: Sequence[str] = ()) -> str:
    """The page. Partitions with findings come first, then those with remarks.

    Args:
        chosen: the partitions to show; if none is, those that the terminal shows.
    """
    partitions, left_out = shown_of(found, chosen)
    boards = [_board(found, partition) for partition in partitions]
    boards.sort(key=lambda board: (not board.findings, not board.remarks))
    named = {board.partition for board in boards}
    others = [each for each in found.findings if each.partition not in named]
    lines = ". ".join(filter(None, [lines_of(found) if found.lines.files else "", left_out]))
    return render(
        "explain.html", found=found, root=root, boards=boards, others=others, summary=summary(found), lines=lines
    )


def _board(found: Explained, partition: str) -> Board:
    events, learned = found.history.get(partition, []), found.learned.get(partition, [])
    brokers = sorted(
        {
            *(broker for event in events for broker in event.after.replicas),
            *(each.node for each in found.copies(partition)),
            *(each.broker for each in learned),
        }
    )
    changes = list(_changes(found, partition, brokers))
    alike = pictures_alike([picture for *_, picture in changes])
    rows = [
        Row(
            title,
            when,
            explained,
            note,
            {lane: cell_of(lane, before, after) for lane in after.lanes},
        )
        for (title, when, explained, note, _), before, after in zip(changes, (alike[0], *alike), alike, strict=False)
    ]
    wrong = tuple(each for each in found.findings if each.partition == partition)
    remarks = tuple(each for each in found.remarks if each.partition == partition)
    return Board(partition, tuple(alike[0].lanes), tuple(rows), wrong, remarks)


def _changes(found: Explained, partition: str, brokers: list[int]) -> Iterator[tuple[str, str, bool, str, Picture]]:
    """Each change, what brokers have learned behind it, and at last what is on disk: a row's words, and its picture."""
    known: dict[int, Learned] = {}
    recorded: Recorded | None = None
    for number, event in enumerate((None, *found.history.get(partition, [])), start=-1):
        if event is not None:
            recorded = event.after
            picture = _picture(recorded, brokers, known)
            yield words_of(event), _when(event), event.steps is not None, "", picture
        for each in found.learned.get(partition, ()):
            if each.behind == number:
                known[each.broker] = each
                note = "missed an election" if each.skips else ""
                yield words_of_learned(each), each.where, True, note, _picture(recorded, brokers, known)
    last = found.history.recorded(partition)
    yield "on disk", "", True, "", _picture(last, brokers, known, found.copies(partition))


def _when(event: Event) -> str:
    return f"{moment(event)}, metadata offset {event.offset}"


def _picture(
    of: Recorded | None, brokers: list[int], known: Mapping[int, Learned], copies: Sequence[Copy] = ()
) -> Picture:
    """The controller's record in a lane, and a lane for each broker with what it has learned; with what is on its disk,
    if that is given.
    """
    lanes = {CONTROLLER: Lane() if of is None else _controller(of)}
    on_disk = {copy.node: copy for copy in copies}
    for broker in brokers:
        badges = [] if of is None else _badges(of, broker)
        lane = _broker(tuple(badges), on_disk.get(broker))
        if broker in known:
            lane = attrs.evolve(lane, facts=(*_facts(known[broker]), *lane.facts))
        lanes[f"b{broker}"] = lane
    leader = None if of is None or of.leader is None else f"b{of.leader}"
    return Picture(lanes, (), None if of is None else of.leader_epoch, leader)


def _facts(of: Learned) -> Iterator[Fact]:
    """The leader epoch that a broker is in by its own lines."""
    role = "leads" if of.leads else f"follows {named(of.leader)}"
    yield Fact("has learned", f"{role} e{of.leader_epoch} v{of.partition_epoch}")
    yield Fact("began at", f"offset {of.start_offset}, high watermark {of.high_watermark}")


def _controller(of: Recorded) -> Lane:
    who = "no leader" if of.leader is None else f"b{of.leader} leads"
    sets = [NameSet("ISR", _names(of.isr))]
    if of.elr:
        sets.append(NameSet("ELR", _names(of.elr)))
    facts = (
        Fact("version", str(of.partition_epoch)),
        Fact("replicas", " ".join(map(str, of.replicas))),
        *(Fact("under way", words) for words in under_way_in(of)),
    )
    return Lane((Badge(f"{who} e{of.leader_epoch}"),), name_sets=tuple(sets), facts=facts)


def _names(brokers: Any) -> tuple[str, ...]:
    return tuple(f"b{broker}" for broker in sorted(brokers))


def _badges(of: Recorded, broker: int) -> list[Badge]:
    if broker not in of.replicas:
        return [Badge("not assigned", Tone.IDLE)]
    leads = [Badge(f"leads e{of.leader_epoch}", Tone.LEADS)] if of.leader == broker else []
    return [STANDINGS[of.standings.get(broker, Standing.FENCED)], *leads]


def _broker(badges: tuple[Badge, ...], copy: Copy | None) -> Lane:
    if copy is None:
        return Lane(badges)
    blocks: list[Block] = []
    for batch in copy.batches:
        blocks += [Block(f"{offset}", batch.epoch) for offset in range(batch.base, batch.last + 1)][-MOST_BLOCKS:]
    drawn = tuple(blocks[-MOST_BLOCKS:])
    log = Log(drawn, copy.high_watermark, copy.end - len(drawn))
    epochs = "none" if copy.epochs is None else " ".join(f"e{epoch} from {start}" for epoch, start in copy.epochs)
    return Lane(badges, (log,), facts=(Fact("epoch cache", epochs),))
