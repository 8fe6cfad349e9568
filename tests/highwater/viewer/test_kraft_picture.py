"""What a state of the KRaft control plane looks like."""

from __future__ import annotations

from highwater.model.kraft.releases import PRESETS
from highwater.model.kraft.state import Cluster
from highwater.model.language.picture import Picture
from highwater.model.language.records import domain_of
from highwater.viewer.pictures.kraft import draw
from tests.model.kraft.story import bounds_of, state_after


def pictured(story: str, **given: int) -> Picture:
    bounds = bounds_of(**given)
    return draw(domain_of(Cluster, bounds), state_after(story, PRESETS["kafka-4.3"], bounds))


def test_the_metadata_log_shows_what_is_committed_and_each_broker_what_it_has_read() -> None:
    shown = pictured("crash b1, fence b1, commit_batch, crash b2, fence b2, read_metadata b0", uncommitted=2)
    (log,) = shown.lanes["controller"].logs
    assert (log.end, log.high_watermark) == (3, 2)
    assert [len(shown.lanes[f"b{broker}"].logs) for broker in range(4)] == [1, 0, 0, 1]
    assert [shown.lanes[name].logs[0].end for name in ("b0", "b3")] == [2, 1]
    assert "1 not committed" in map(str, shown.lanes["controller"].badges)


def test_an_uncommitted_request_is_drawn_as_not_yet_committed() -> None:
    shown = pictured("propose_shrink b0 b2, answer_alter_partition b0", uncommitted=1)
    (message,) = shown.messages
    assert message.text == "ISR without b2, of partition epoch 0: granted, and not yet committed"


def test_a_failed_directory_and_a_deposed_controller_are_seen() -> None:
    shown = pictured("fail_directory b1, take_out_failed_directory b1, fail_over 0, set_min_isr 2", controllers=2)
    assert "directory failed" in map(str, shown.lanes["b1"].badges)
    assert "another believes it is active" in map(str, shown.lanes["controller"].badges)
    assert "directory failed b1" in map(str, shown.lanes["controller"].name_sets)
    assert "min.insync.replicas 2" in map(str, shown.lanes["controller"].facts)


def test_a_deleted_topic_its_logs_and_a_broker_that_is_not_registered_are_seen() -> None:
    shown = pictured("unregister_broker b2, delete_topic, read_metadata b0")
    assert "topic deleted" in map(str, shown.lanes["controller"].facts)
    assert "not registered b2" in map(str, shown.lanes["controller"].name_sets)
    assert "log of topic 0" in map(str, shown.lanes["b1"].facts)
    assert "log of topic 0" not in map(str, shown.lanes["b0"].facts)


def test_two_partitions_and_what_waits_are_seen() -> None:
    story = "propose_shrink b0 b1 p0, send_request b0, propose_shrink b0 b2 p1, upgrade_metadata_version"
    shown = pictured(story, partitions=2, spread=0)
    assert [message.text for message in shown.messages] == [
        "p0 ISR without b1, of partition epoch 0",
        "p1 ISR without b2, of partition epoch 0: queued",
    ]
    controller, leader = shown.lanes["controller"], shown.lanes["b0"]
    assert [log.name for log in controller.logs] == ["p0 metadata log", "p1 metadata log"]
    assert "p1 ISR b0 b1 b2" in map(str, controller.name_sets)
    assert "directories unknown b0 b1 b2 b3" in map(str, controller.name_sets)
    assert [str(badge) for badge in leader.badges] == ["p0 leads e0", "p1 leads e0"]
