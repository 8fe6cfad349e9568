"""Brokers' lines about leader epochs are read as they were printed, placed into the history by epochs, and held against
it.

The lines in `recorded/lost_record` are those of 4.1.1 that led to a lost record; they are read without Kafka's classes.
"""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import attrs
import pytest

from highwater.conformance.events import Event
from highwater.conformance.history import History
from highwater.conformance.learning import judge_learned, place, remarks
from highwater.conformance.state_changes import Learned, StateChanges, read_lines
from tests.conformance.test_explaining import CREATED, TOPIC, change

LOST_RECORD = Path(__file__).parent / "recorded" / "lost_record"
ELECTIONS = (
    change(replicas=[2, 0, 1]),
    change(leader=2),
    change(replicas=[0, 1, 2]),
    change(leader=0),
    change(replicas=[1, 0, 2]),
    change(leader=1),
)
LEADS = (
    "[2026-11-22 17:06:13,165] INFO [Broker id=0] Leader t-0 with topic id Some(3QVXWEHBQWiIUCXnfiZhhw) starts at "
    "leader epoch {epoch} from offset 5 with partition epoch {version}, high watermark 4, ISR [0,1,2], adding replicas "
    "[] and removing replicas [] . Previous leader Some(0) and previous leader epoch was {before}. (logger)\n"
)
FOLLOWS = (
    "[2026-11-22 17:06:13,165] INFO [Broker id=0] Follower t-0 starts at leader epoch {epoch} from offset 5 with "
    "partition epoch {version} and high watermark 4. Current leader is 2. Previous leader Some(2) and previous leader "
    "epoch was {epoch}. (state.change.logger)\n"
)
MADE = "[2026-11-22 17:06:12,933] INFO [Broker id=0] Creating new partition t-0 with topic id 3QVXWEHBQWiIUCXnfiZhhw.\n"


def leads(epoch: int, version: int = 0, before: int = -1) -> str:
    return LEADS.format(epoch=epoch, version=version, before=before)


def follows(epoch: int, version: int = 0) -> str:
    return FOLLOWS.format(epoch=epoch, version=version)


def history(*records: dict[str, Any]) -> list[Event]:
    """The history of t-0 after it was created, a batch for each record."""
    found = History("kafka-4.1")
    for number, batch in enumerate((CREATED, *((record,) for record in records))):
        found.take({"base": number, "time": 0, "records": batch})
    return found["t-0"]


def read(folder: Path, text: str | bytes, name: str = "state-change.log") -> StateChanges:
    """What is read of a file."""
    (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
    return read_lines(folder)


def epochs(found: StateChanges) -> list[int]:
    return [each.leader_epoch for each in found.learned]


# Reading


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (  # 3.3 to 3.7
            "[Broker id=2] Leader a.b-c-11 with topic id Some(x) starts at leader epoch 3 from offset 7 with partition "
            "epoch 9, high watermark 6, ISR [2,0], adding replicas [] and removing replicas [] (under-min-isr). "
            "Previous leader epoch was 1.",
            Learned(2, "a.b-c-11", 2, 3, 9, 7, 6, frozenset({0, 2}), None, 1),
        ),
        (  # 3.8 and later
            "[Broker id=2] Leader t-0 with topic id Some(x) starts at leader epoch 0 from offset 0 with partition "
            "epoch 0, high watermark 0, ISR [2], adding replicas [] and removing replicas [] . Previous leader None "
            "and previous leader epoch was -1.",
            Learned(2, "t-0", 2, 0, 0, 0, 0, frozenset({2}), None, None),
        ),
        (
            "[Broker id=2] Leader t-0 with topic id Some(x) starts at leader epoch 4 from offset 0 with partition "
            "epoch 8, high watermark 0, ISR [2], adding replicas [] and removing replicas [] . Previous leader Some(1) "
            "and previous leader epoch was 3.",
            Learned(2, "t-0", 2, 4, 8, 0, 0, frozenset({2}), 1, 3),
        ),
        (  # 3.3 to 3.7
            "[Broker id=0] Follower t-0 starts at leader epoch 3 from offset 7 with partition epoch 9 and high "
            "watermark 6. Current leader is 2. Previous leader epoch was 1.",
            Learned(0, "t-0", 2, 3, 9, 7, 6, None, None, None),
        ),
        (  # nobody leads
            "[Broker id=0] Follower t-0 starts at leader epoch 3 from offset 7 with partition epoch 9 and high "
            "watermark 6. Current leader is -1. Previous leader Some(-1) and previous leader epoch was 3.",
            Learned(0, "t-0", None, 3, 9, 7, 6, None, None, None),
        ),
    ],
)
def test_each_form_of_a_line_is_read(line: str, expected: Learned, tmp_path: Path) -> None:
    (learned,) = read(tmp_path, f"17:06 INFO {line} (state.change.logger)\n").learned
    assert learned.where == "state-change.log:1"
    assert attrs.evolve(learned, where="", run=0) == expected


def test_rotated_files_are_read_from_the_oldest_to_the_newest(tmp_path: Path) -> None:
    (tmp_path / "state-change.log.2026-11-21-16").write_text(leads(0))
    (tmp_path / "state-change.log.2026-11-22-09.gz").write_bytes(gzip.compress(leads(1, 1, 0).encode()))
    dated = read(tmp_path, leads(2, 2, 1))
    assert epochs(dated) == [0, 1, 2]
    assert dated.lines == 3
    for number in (1, 2, 10):
        (tmp_path / f"server.log.{number}").write_text(leads(20 - number, 20 - number))
    assert epochs(read(tmp_path, leads(20, 20), "server.log")) == [10, 18, 19, 20, 0, 1, 2]


def test_lines_that_two_files_have_count_once(tmp_path: Path) -> None:
    read(tmp_path, leads(0) + leads(1, 1, 0))
    both = read(tmp_path, leads(0) + leads(1, 1, 0) + leads(2, 2, 1), "server.log")
    assert sorted(epochs(both)) == [0, 1, 2]
    assert epochs(read(tmp_path, MADE + leads(7) + MADE + leads(7), "other.log")).count(7) == 2  # two runs


def test_damaged_lines_are_counted_and_skipped(tmp_path: Path) -> None:
    whole, garbage = leads(1, 1, 0).encode(), bytes(range(256)) * 400
    half = leads(2, 2, 1)[: -len("1. (logger)\n")].encode()
    found = read(tmp_path, garbage + b"\n" + whole + garbage + b"\n" + half)
    assert epochs(found) == [1]
    assert found.garbled == 1
    assert found.findings == ()
    old = "[Broker id=0] Leader t-0 starts at leader epoch 1 from offset 0 with high watermark 0 ISR [0]."
    assert read(tmp_path, old + "\n" + whole.decode()).garbled == 1
    (tmp_path / "state-change.log.2026-11-20.gz").write_bytes(b"\x1f\x8b no archive")
    assert [each.property for each in read_lines(tmp_path).findings] == ["readable"]


def test_lines_of_several_brokers_in_one_file_keep_their_brokers(tmp_path: Path) -> None:
    text = leads(0) + follows(1, 2).replace("id=0", "id=2").replace("is 2", "is 0") + follows(2, 3)
    assert [each.broker for each in read(tmp_path, text, "all.txt").learned] == [0, 2, 0]


def test_segments_are_not_lines(tmp_path: Path) -> None:
    assert read(tmp_path, leads(0), f"{0:020}.log").learned == ()
    assert read(tmp_path, "nothing of this kind\n").files == {"state-change.log": 1}


# In the history


def test_the_lost_record_has_a_leader_that_missed_an_election() -> None:
    events = history(*ELECTIONS)
    found = read_lines(LOST_RECORD)
    assert (len(found.learned), found.garbled, len(found.files)) == (10, 0, 3)
    assert list(judge_learned(found.learned, events, None)) == []
    placed = place(found.learned, events)
    assert [(each.behind, each.broker, each.leader) for each in placed] == [
        (0, 0, 0), (0, 1, 0), (0, 2, 0),
        (2, 2, 2), (2, 1, 2),
        (4, 0, 0), (4, 2, 0),
        (6, 1, 1), (6, 0, 1), (6, 2, 1),
    ]  # fmt: skip
    again = placed[5]
    assert (again.leader_epoch, again.previous_leader_epoch, again.previous_leader) == (2, 0, 0)
    assert again.missed == ((1, 2),)
    flaw, legal = remarks(placed, events)
    assert flaw.words.startswith("b0 begins e2 after e0: it missed e1 of b2. It led e0, too")
    assert "docs/findings.md" in flaw.words
    assert legal.words == "b1 begins e3 after e1: it missed e2 of b0"


def test_a_leader_that_misses_an_epoch_without_another_leader_is_not_the_one_of_the_finding(tmp_path: Path) -> None:
    events = history(change(leader=0), change(leader=0))
    placed = place(read(tmp_path, leads(0) + leads(2, 2, 0)).learned, events)
    (remark,) = remarks(placed, events)
    assert remark.words == "b0 begins e2 after e0: it missed e1 of b0"


def test_a_leader_of_a_release_that_does_not_name_the_previous_one_is_known_by_the_history(tmp_path: Path) -> None:
    events = history(*ELECTIONS)
    text = (leads(0) + leads(2, 4, 0)).replace("Some(0) and previous leader ", "")
    (remark,) = remarks(place(read(tmp_path, text).learned, events), events)
    assert "It led e0, too" in remark.words


def test_a_former_topic_of_the_same_name_has_leader_epochs_of_its_own(tmp_path: Path) -> None:
    """b0 led in epoch 0 and missed epoch 1; then the topic was created anew, and b1 leads in epoch 0."""
    gone = {"type": "RemoveTopicRecord", "record": {"topicId": TOPIC}}
    (topic, made) = CREATED[-2:]
    again = {"type": made["type"], "record": {**made["record"], "leader": 1, "replicas": [1, 0, 2], "isr": [1, 0, 2]}}
    events = history(*ELECTIONS[:4], gone, topic, again)
    line = leads(2, 4, before=0).replace("Previous leader Some(0) and previous leader epoch", "Previous leader epoch")
    other = leads(0).replace("Broker id=0", "Broker id=1")
    placed = place(read(tmp_path, leads(0) + line + other).learned, events)
    assert [(each.broker, events[each.behind].offset) for each in placed] == [(0, 0), (0, 4), (1, 7)]
    assert ["It led e0, too" in each.words for each in remarks(placed, events)] == [True]


def test_clocks_do_not_matter(tmp_path: Path) -> None:
    events = history(*ELECTIONS)
    placed = place(read(tmp_path, (leads(0) + follows(1, 2)).replace("2026", "1999")).learned, events)
    assert [each.behind for each in placed] == [0, 2]


def test_a_broker_that_starts_again_learns_the_same_epoch_later(tmp_path: Path) -> None:
    events = history(change(leader=2), change(isr=[0, 2]), change(isr=[0, 1, 2]))
    found = read(tmp_path, MADE + leads(0) + follows(1, 1) + MADE + follows(1, 3))
    assert [each.behind for each in place(found.learned, events)] == [0, 1, 3]
    assert list(judge_learned(found.learned, events, None)) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (leads(7, 9, 6), "b0 begins e7 with partition epoch 9, and no record of the controller has this leader epoch"),
        (leads(2, 3, 1), "b0 begins e2 with partition epoch 3, and no record of the controller has both together"),
        (follows(2, 4), "b0 begins e2 with partition epoch 4 under b2, and the controller has recorded b0"),
        (
            leads(2, 4, 1).replace("[0,1,2]", "[0,2]"),
            "b0 begins e2 with partition epoch 4 and ISR b0 b2, and the controller has recorded ISR b0 b1 b2",
        ),
    ],
)
def test_a_learned_epoch_without_a_controller_record_is_a_finding(text: str, words: str, tmp_path: Path) -> None:
    (finding,) = judge_learned(read(tmp_path, text + text).learned, history(*ELECTIONS), None)
    assert (finding.property, finding.where) == ("learned_epochs_are_recorded", "state-change.log:1")
    assert finding.words == f"{words}; 1 more of its lines do not fit"


def test_lines_older_than_the_snapshot_are_not_judged(tmp_path: Path) -> None:
    events = history(*ELECTIONS)
    begun, later = events[4].after, events[5:]
    fitting = read(tmp_path, leads(0) + follows(1, 2) + leads(2, 4, 1)).learned
    assert list(judge_learned(fitting, later, begun)) == []
    assert [each.behind for each in place(fitting, later)] == [-1, -1, -1]
    (finding,) = judge_learned(read(tmp_path, leads(2, 5, 1).replace("[0,1,2]", "[0]")).learned, later, begun)
    assert finding.property == "learned_epochs_are_recorded"


def test_epochs_go_back_only_after_a_new_start(tmp_path: Path) -> None:
    events = history(*ELECTIONS)
    (finding,) = judge_learned(read(tmp_path, leads(2, 4, 1) + follows(1, 2)).learned, events, None)
    assert (finding.property, finding.words) == (
        "learned_epochs_never_decrease",
        "b0 begins e1 after e2, without a new start",
    )
    for text in (leads(2, 4, 1) + MADE + follows(1, 2), leads(2, 4, 1) + leads(0)):
        assert list(judge_learned(read(tmp_path, text).learned, events, None)) == []
