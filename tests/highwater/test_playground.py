"""The Python side of the playground: a model and a claim as texts."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import highwater
from highwater import playground
from highwater.claims import own
from highwater.cli.init import SCAFFOLD
from highwater.playground import Playground, module_of

# under another name: other tests import the scaffold's
MODEL = (SCAFFOLD / "lock_service.py").read_text(encoding="utf-8")
CLAIM = (
    (SCAFFOLD / "specs" / "without_fencing_a_late_writer_gets_through.toml")
    .read_text(encoding="utf-8")
    .replace("lock_service:", "late_writers:")
)


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Playground]:
    """In a folder of its own, which nothing finds afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(own, "_BESIDE", {})
    monkeypatch.setattr("sys.path", [*__import__("sys").path])
    yield (found := Playground())
    found.check("", "")  # forgets the module


def answer(text: str) -> Any:
    return json.loads(text)


def test_a_claim_gets_the_same_report_as_on_the_command_line(asked: Playground, tmp_path: Path) -> None:
    seen: list[Any] = []
    found = answer(asked.check(MODEL, CLAIM, lambda *progress: seen.append(progress)))
    assert (found["status"], found["verdict"], found["states"]) == ("met", "violated", 46)
    assert found["levels"] == [level for _, _, level in seen]
    assert found["report"].startswith("ok  claim\n    violated: writes_never_go_back after 5 steps (as claimed)\n")
    assert (
        'id="board"' in found["page"]
        and "highwater explore" not in found["page"]
        and str(tmp_path) not in found["page"]
    )
    holds = answer(
        asked.check(MODEL, CLAIM.replace("false", "true").replace('"violated", trace_length = 5', '"holds"'))
    )
    assert holds["verdict"] == "holds" and holds["entry"] is None
    assert "unproven  beyond these bounds nothing is known: token_max" in holds["report"]


def test_an_edited_model_is_the_one_that_is_checked(asked: Playground) -> None:
    assert answer(asked.check(MODEL, CLAIM))["states"] == 46
    never = MODEL.replace(
        "    if token == 0:\n        return None\n    if protocol", "    return None\n    if protocol"
    )
    assert never != MODEL
    found = answer(asked.check(never, CLAIM))
    assert found["verdict"] == "holds" and found["status"] == "unmet"
    assert answer(asked.check(MODEL, CLAIM))["verdict"] == "violated"


def test_a_model_edited_within_a_second_to_one_of_the_same_length_is_the_one_that_is_checked(
    asked: Playground, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As bytecode knows no more of its text than the second and the length."""
    monkeypatch.setattr("sys.dont_write_bytecode", False)
    write = Path.write_text

    def written_at_once(path: Path, text: str, **options: Any) -> int:
        count = write(path, text, **options)
        os.utime(path, (1e9, 1e9))
        return count

    monkeypatch.setattr(Path, "write_text", written_at_once)
    newer = MODEL.replace("token = world.granted + 1", "token = world.granted + 2")
    assert len(newer) == len(MODEL)
    states = [answer(asked.check(text, CLAIM))["states"] for text in (MODEL, newer, MODEL)]
    assert states[0] == states[2] != states[1]


@pytest.mark.parametrize(
    ("model", "claim", "words", "file", "line"),
    [
        (("def expire(world: World)", "def expire(world World)"), ("", ""), "SyntaxError: invalid syntax", "model", 85),
        (("world.granted + 1", "world.granted + more"), ("", ""), "name 'more' is not defined", "model", 80),
        (("import attrs", "import numpie"), ("", ""), "No module named 'numpie'", "model", 7),
        (("", ""), ("clients = 2", "cleints = 2"), 'unknown key (did you mean "clients"?)', "claim", 4),
        (("", ""), ("clients = 2", "clients = "), "is not TOML: Invalid value", "claim", 4),
        (("", ""), (":MODEL", ":MODL"), 'did you mean "MODEL"?', "claim", 2),
    ],
)
def test_an_error_in_model_or_claim_is_one_message_with_file_and_line(
    asked: Playground, model: tuple[str, str], claim: tuple[str, str], words: str, file: str, line: int
) -> None:
    for found in (
        answer(ask(MODEL.replace(*model) if model[0] else MODEL, CLAIM.replace(*claim) if claim[0] else CLAIM))
        for ask in (asked.check, asked.explore)
        if ask == asked.check or "more" not in model[1]
    ):
        assert words in found["problem"]
        assert str(Path.cwd()) not in found["problem"] and "Traceback" not in found["problem"]
        assert (found["place"]["file"], found["place"]["line"]) == (file, line)


def test_a_session_is_begun_gone_on_with_and_begun_again(asked: Playground) -> None:
    assert answer(asked.do('{"verb": "undo"}'))["problem"] == "no session was begun"
    page = answer(asked.explore(MODEL, CLAIM))["page"]
    assert 'data-answers="around"' in page and "connect-src 'none'" in page and "Ctrl-C" not in page
    verbs = [{"verb": "take", "action": 0}, {"verb": "watch", "what": "granted + 1"}]
    parts = [answer(asked.do(json.dumps(verb)))["text"] for verb in verbs]
    assert answer(asked.do('{"verb": "take", "action": 0}'))["problem"].startswith("acquire(client c0) is not enabled")
    again = answer(asked.explore(MODEL, CLAIM, done=json.dumps(verbs)))["page"]
    assert parts[-1] in again
    assert answer(asked.save("test"))["name"] == "test_claim_by_hand.py"
    assert 'class="compare"' in answer(asked.compare("protocol.fencing=true"))["page"]
    assert "is not true or false" in answer(asked.compare("protocol.fencing=perhaps"))["problem"]


def test_a_session_goes_on_from_the_end_of_a_counterexample(asked: Playground) -> None:
    entry = json.dumps(answer(asked.check(MODEL, CLAIM))["entry"])
    page = answer(asked.explore(MODEL, CLAIM, entry=entry))["page"]
    assert "After step 5" in page and "the last write came with token 1" in page
    fenced = MODEL.replace("if protocol.fencing and", "if")
    assert "step 5: write(client c0) is not enabled" in answer(asked.explore(fenced, CLAIM, entry=entry))["problem"]


def test_too_many_states_end_a_search(asked: Playground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(playground, "MOST_STATES", 10)
    found = answer(asked.check(MODEL, CLAIM))
    assert found["verdict"] == "unknown"
    assert "stopped  the playground keeps 10 states; an installed Highwater goes on" in found["report"]


def test_the_module_is_the_first_of_ones_own_that_a_claim_names() -> None:
    assert module_of(CLAIM) == "late_writers"
    assert module_of('model = "reference"\ncheck = ["weak_isr", "mine.inner:nothing_is_lost"]') == "mine"
    assert module_of('model = "reference"\ncheck = ["weak_isr"]') == ""
    assert module_of('model = "highwater.model.x:MODEL"\nrefines = { model = "log", map = "mine:as_log" }') == "mine"
    assert module_of("model = [") == module_of('model = 3\ncheck = ["a b:c"]') == ""


def test_a_property_of_ones_own_is_checked_on_a_built_in_model(asked: Playground) -> None:
    gallery = highwater.load("gallery:kip_101_fails_on_two_brokers").path.read_text(encoding="utf-8")
    claim = gallery.replace('["strong_isr"]', '["mine:nothing_is_ever_written"]').partition("expect")[0]
    model = (
        "from highwater import invariant\n\n\n@invariant()\ndef nothing_is_ever_written(state):\n"
        '    """No record was written."""\n    return state.next_record_id == 0\n'
    )
    found = answer(asked.check(model, f'{claim}expect = {{ verdict = "violated", trace_length = 3 }}\n'))
    assert found["status"] == "met", found
