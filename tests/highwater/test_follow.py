"""Logs searched for in a model: their explanations, and the first unexplained line."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import attrs
import pytest
from click.testing import Result

from highwater import Definition, Integers, Model, NoToggles, action, bound, claim, evolve, within
from highwater.claims import log_search, own
from highwater.claims.log_search import Finding, follow_log
from highwater.claims.logs import LogError
from highwater.claims.observed import Observer, value_of
from highwater.claims.possible import Tracker
from highwater.claims.spec import Spec, load_spec
from highwater.claims.tables import Wrong
from highwater.cli.init import write_scaffold
from highwater.explorer.system import System, successor
from highwater.model.language.domain import Maybe, OneOf, SequenceOf, SetOf
from highwater.model.language.records import records
from highwater.reports import following
from highwater.reports.results import as_data

Run = Callable[..., Result]
ROOT = Path(__file__).parents[2]
STORY = [
    {"action": "acquire", "arguments": {"client": 0}, "state": {"granted": 1}},
    {"action": "acquire", "arguments": {"client": "c1"}, "state": {"holder": "c1"}},
    {"action": "write", "arguments": {"client": 1}, "state": {"last": 2}},
    {"action": "write", "arguments": {"client": 0}, "state": {"last": 1}, "note": "12:01 storage"},
]
"""The lease of c0 runs out between the first two lines, and c0 writes too late."""


@pytest.fixture
def locks(tmp_path: Path) -> Path:
    write_scaffold(tmp_path)
    own.search([tmp_path])
    return tmp_path


@pytest.fixture
def fenced(locks: Path) -> Spec:
    return load_spec(locks / "specs" / "fencing_keeps_late_writers_out.toml").within(clients=2, token_max=2)


def log_of(folder: Path, lines: list[Any]) -> Path:
    path = folder / "log.jsonl"
    path.write_text("".join(f"{each if isinstance(each, str) else json.dumps(each)}\n" for each in lines))
    return path


def with_holes(chance: random.Random, system: System, steps: int) -> list[dict[str, Any]]:
    """A walk as a log that leaves most things out, and gives values in any of their spellings."""
    state, lines = system.initial[0], []
    for _ in range(steps):
        after = [
            (each, next_)
            for each in system.actions
            if type(next_ := successor(each, state, system.domain)) is type(state)
        ]
        if not after:
            break
        action, state = chance.choice(after)
        line: dict[str, Any] = {}
        if chance.random() < 0.5:
            line["action"] = action.of.name
            spelt = (action.shown, as_data(dict(action.arguments)))
            line["arguments"] = {
                name: (chance.choice(spelt) if of.is_scalar else spelt[1])[name]
                for name, of in action.domains.items()
                if chance.random() < 0.5
            }
        fields = [each for each in system.domain.fields if chance.random() < 0.3]
        line["state"] = {each: as_data(getattr(state, each)) for each in fields}
        lines.append(line)
    return lines


@pytest.mark.parametrize("seed", range(20))
def test_behaviours_of_the_model_are_explained_from_logs_with_holes(fenced: Spec, tmp_path: Path, seed: int) -> None:
    lines = with_holes(random.Random(seed), fenced.system(), 12)
    found = follow_log(fenced, log_of(tmp_path, lines))
    assert (found.finding, found.explained) == (Finding.EXPLAINED, len(lines))
    assert [each.at for each in found.way] == list(range(len(lines) + 1))


@pytest.mark.parametrize("folder", ["quorum_reference", "requests", "controller", "kraft", "partition/promises"])
def test_behaviours_of_models_of_kafka_are_explained_from_logs_with_holes(folder: str, tmp_path: Path) -> None:
    """Their states and arguments have records, messages and sets in all places where a value can be."""
    spec = load_spec(sorted((ROOT / "specs" / folder).rglob("*.toml"))[0])
    for seed in range(3):
        lines = with_holes(random.Random(seed), spec.system(), 8)
        found = follow_log(spec, log_of(tmp_path, lines))
        assert found.finding is Finding.EXPLAINED, seed


def explained_by_trying(system: System, lines: list[dict[str, Any]], hidden: tuple[str, ...]) -> int:
    """How many lines some behaviour explains, with at most three hidden steps before each."""
    observer, longest = Observer(system.domain), 0

    def behaviours(state: Any, at: int, left: int) -> Iterator[int]:
        yield at
        for taken in system.actions:
            after = successor(taken, state, system.domain)
            if not isinstance(after, system.domain.cls):
                continue
            if taken.of.name in hidden and left:
                yield from behaviours(after, at, left - 1)
            if at < len(lines) and taken.of.name == lines[at].get("action", taken.of.name):
                given = lines[at].get("arguments", {})
                seen = observer.read(lines[at]["state"])
                if all(taken.shown[name] == value for name, value in given.items()) and all(
                    e.fits(after) for e in seen
                ):
                    yield from behaviours(after, at + 1, 3)

    for state in system.initial:
        longest = max(longest, *behaviours(state, 0, 3))
    return longest


def invented(chance: random.Random, system: System) -> list[dict[str, Any]]:
    """Four lines that may be of no behaviour."""
    lines = []
    for _ in range(4):
        action = chance.choice(system.actions)
        line: dict[str, Any] = {"state": {}}
        if chance.random() < 0.8:
            line |= {"action": action.of.name, "arguments": dict(action.shown)}
        if chance.random() < 0.5:
            line["state"] = {"granted": chance.randrange(3), "last": chance.randrange(3)}
        lines.append(line)
    return lines


def differences_to_trying(spec: Spec, folder: Path) -> list[int]:
    """The seeds of invented logs of which the search explains more lines, or fewer, than one finds by trying."""
    differ, refused = [], 0
    for seed in range(60):
        chance = random.Random(seed)
        lines, hidden = invented(chance, spec.system()), chance.choice([(), ("expire",), ("expire", "release")])
        found = follow_log(spec, log_of(folder, lines), hidden)
        refused += found.refused is not None
        if found.explained != explained_by_trying(spec.system(), lines, hidden):
            differ.append(seed)
    assert 20 < refused < 60
    return differ


def test_as_many_lines_are_explained_as_by_trying_all_behaviours(fenced: Spec, tmp_path: Path) -> None:
    assert differences_to_trying(fenced, tmp_path) == []


def test_a_search_that_loses_states_is_noticed(fenced: Spec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = Tracker.taken
    monkeypatch.setattr(Tracker, "taken", lambda *given: dict(list(taken(*given).items())[-1:]))
    assert differences_to_trying(fenced, tmp_path) != []


def test_the_first_line_that_nothing_explains_is_shown_with_what_the_model_allows(
    highwater: Run, locks: Path, tmp_path: Path
) -> None:
    spec, log, report = locks / "specs" / "fencing_keeps_late_writers_out.toml", log_of(locks, STORY), locks / "o.json"
    result = highwater("follow", spec, log, "--unlogged", "expire", "--json", report, "--html", locks / "o.html")
    assert result.exit_code == 1, result.output
    assert f"REFUSED  {log}\n    line 4 is the first that no behaviour of the model explains" in result.stdout
    assert "        -  service  expire             holder c0 → none\n" in result.stdout
    assert "    4  write client=c0: last t1\n       12:01 storage\n       is not enabled: " in result.stdout
    assert "token is 1, world.newest is 2" in result.stdout
    assert "the nearest first\n       write(client c1)  last t2\n" in result.stdout
    follow = json.loads(report.read_text())["results"][0]["follow"]
    assert (follow["finding"], follow["explained"], follow["at"]) == ("refused", 3, [0, 1, 0, 2, 3])
    assert follow["refused"]["allowed"][0]["values"] == {"last": "t2"}
    page = (locks / "o.html").read_text()
    assert "Line 4 is the first that no behaviour" in page
    assert page.count("In no line of the log.") == 1
    assert "Line 3 of the log." in page
    for file in ("o.json", "o.html"):
        assert highwater("trace", locks / file, "--replay").exit_code == 0


def test_of_what_the_model_allows_the_nearest_is_kept(
    highwater: Run, fenced: Spec, locks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = log_of(locks, STORY)
    whole = follow_log(fenced, log, ("expire",)).refused
    for module in (log_search, following):
        monkeypatch.setattr(module, "MOST_ALLOWED", 1)
    found = follow_log(fenced, log, ("expire",)).refused
    assert whole is not None and found is not None and found.allowed == whole.allowed[:1]
    assert len(whole.allowed) > 3 and str(found.allowed[0].action) == "write(client c1)"
    monkeypatch.setattr(following, "MOST_SHOWN", 0)
    spec = locks / "specs" / "fencing_keeps_late_writers_out.toml"
    assert "and at least 1 more" in highwater("follow", spec, log, "--unlogged", "expire").stdout


def test_without_the_rule_the_same_log_is_explained_and_what_it_breaks_is_named(highwater: Run, locks: Path) -> None:
    spec = locks / "specs" / "without_fencing_a_late_writer_gets_through.toml"
    result = highwater("follow", spec, log_of(locks, STORY), "--unlogged", "expire")
    assert result.exit_code == 0
    assert "    4 lines explained, with 1 step that is in no line; 2 states are possible at the end\n" in result.stdout
    assert result.stdout.endswith("    writes_never_go_back is false after line 4\n")


def test_a_step_that_is_in_no_line_is_assumed_only_of_actions_that_are_named(fenced: Spec, locks: Path) -> None:
    found = follow_log(fenced, log_of(locks, STORY))
    assert found.refused is not None
    assert (found.finding, found.refused.line.number) == (Finding.REFUSED, 2)
    assert str(found.refused.guard) == "world.holder is not None"


def test_a_line_that_is_not_a_step_is_reported_with_the_allowed_values(fenced: Spec, locks: Path) -> None:
    seen = [
        {"action": None, "state": {"holder": None, "max(believed)": 0}},
        STORY[0],
        {"action": None, "state": {"holder": 1}},
    ]
    found = follow_log(fenced, log_of(locks, seen))
    assert found.refused is not None
    assert (found.explained, found.refused.line.number) == (2, 3)
    assert [each.values for each in found.refused.allowed] == [{"holder": "c0"}]


def test_a_bound_that_cuts_what_may_explain_a_line_refutes_nothing(highwater: Run, locks: Path) -> None:
    again = [{"action": name, "arguments": {"client": 0}} for name in ("acquire", "release")]
    spec = locks / "specs" / "fencing_keeps_late_writers_out.toml"
    result = highwater("follow", spec, log_of(locks, again * 5))
    assert result.exit_code == 3
    assert (
        "not known: line 9 is not explained, but token_max cuts a step that fits it; raise it in the" in result.stdout
    )
    late = [*again * 3, again[0], {}, {}, {"action": "acquire"}]
    result = highwater("follow", spec, log_of(locks, late))
    assert result.exit_code == 3
    assert "token_max cuts a step that fits it; raise it in the spec" in result.stdout


@attrs.frozen
class Bounds:
    left: int = bound(0, 9, "steps to the left", 0)
    right: int = bound(0, 9, "steps to the right", 1)


@attrs.frozen
class Steps:
    left: int = within(lambda bounds: Integers(0, bounds.left))
    right: int = within(lambda bounds: Integers(0, bounds.right))


@action(actor="walker")
def go_left(steps: Steps) -> Steps | None:
    return evolve(steps, left=steps.left + 1)


@action(actor="walker")
def go_right(steps: Steps) -> Steps | None:
    return evolve(steps, right=steps.right + 1)


def test_the_bound_that_cuts_the_unexplained_line_is_named_before_those_of_other_lines(tmp_path: Path) -> None:
    actions = (go_left, go_right)
    model = Model("steps", "", NoToggles, lambda protocol: Definition(Bounds, Steps, lambda _: [Steps(0, 0)], actions))
    spec = claim(name="steps", model=model, bounds={}, check=["no_deadlock"])
    log = log_of(tmp_path, [{}, {"action": "go_right"}])
    found = follow_log(spec, log)
    assert (found.finding, found.cut) == (Finding.UNKNOWN, {"left": 1, "right": 2})
    assert following.in_words(found) == (
        "not known: line 2 is not explained, but right cuts a step that fits it, and left cuts a step that may explain "
        "line 1; raise them in the spec"
    )
    assert follow_log(spec.within(right=2), log).finding is Finding.EXPLAINED


def test_a_step_beyond_a_bound_may_explain_what_has_no_value_there(tmp_path: Path) -> None:
    model = Model("steps", "", NoToggles, lambda _: Definition(Bounds, Steps, lambda _: [Steps(0, 0)], (go_right,)))
    spec = claim(name="steps", model=model, bounds={}, check=["no_deadlock"])
    log = log_of(tmp_path, [{"action": "go_right"}, {"action": "go_right", "state": {"(8, 9)[right]": 9}}])
    assert follow_log(spec, log).finding is Finding.UNKNOWN
    log = log_of(tmp_path, [{"action": "go_right"}, {"action": "go_right", "state": {"right > 4": True}}])
    assert follow_log(spec, log).finding is Finding.REFUSED


def test_a_log_that_leaves_too_much_open_is_given_up(highwater: Run, locks: Path) -> None:
    spec = locks / "specs" / "fencing_keeps_late_writers_out.toml"
    result = highwater("follow", spec, log_of(locks, [{}] * 6), "--max-states", 9)
    assert result.exit_code == 3
    assert "not known: after line 3 more than 9 states are possible; log more of the state" in result.stdout


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{'x", "is not JSON: Expecting property name enclosed in double quotes at column 2"),
        ("[" * 5000, "is not JSON: "),
        ("[]", "[] is not a JSON object such as "),
        ('{"state": {"last": 1, "last": 2}}', 'the key "last" stands there twice'),
        ({"acton": "x"}, 'unknown key "acton" (did you mean "action"?); allowed are action, arguments, state, note'),
        ({"action": "aquire"}, 'action: "aquire" is no action of the model (did you mean "acquire"?); allowed are '),
        ({"action": 3}, "action: 3 is no action of the model; allowed are acquire, expire, release, write"),
        ({"action": "write", "arguments": {"klient": 0}}, 'no parameter "klient" (did you mean "client"?)'),
        ({"action": "write", "arguments": {"client": "x"}}, 'client: "x" is not allowed; allowed are c0, c1, c2'),
        ({"action": "write", "arguments": {"client": 9}}, "arguments.client: 9 is beyond the bound clients; raise it"),
        ({"action": None, "arguments": {"client": 0}}, "arguments: the action is null, which is no step"),
        ({"arguments": {"client": 0}}, "arguments: name the action, too; allowed are acquire,"),
        ({"state": {"holdr": 0}}, 'no field "holdr" (did you mean "holder"?); fields are holder, granted'),
        ({"state": {"granted": True}}, "granted: true is not allowed; allowed are t0, t1, t2, t3, t4"),
        ({"state": {"believed": 3}}, "believed: 3 is not a list of values"),
        ({"state": {"believed": [0]}}, "believed: (0,) is not allowed"),
        ({"state": {"open('x')": 3}}, "open cannot be called"),
        ({"state": 3}, "state: 3 is not a JSON object"),
    ],
)  # fmt: skip
def test_an_invalid_line_is_refused_with_its_number_and_reason(
    highwater: Run, locks: Path, line: Any, problem: str
) -> None:
    spec, log = locks / "specs" / "fencing_keeps_late_writers_out.toml", log_of(locks, [STORY[0], line])
    result = highwater("follow", spec, log)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"highwater: {log}:2: "), result.stderr
    assert problem in result.stderr
    assert result.stderr.count("\n") == 1


def test_logs_and_options_that_cannot_be_are_refused(highwater: Run, locks: Path) -> None:
    spec, log = locks / "specs" / "fencing_keeps_late_writers_out.toml", log_of(locks, STORY)
    (locks / "empty.jsonl").write_text("\n\n")
    (locks / "bytes.jsonl").write_bytes(b"\xff\n")
    for given, problem in (
        (
            (spec, log, "--unlogged", "expires"),
            '--unlogged: "expires" is no action (did you mean "expire"?); allowed are',
        ),
        ((spec, locks / "empty.jsonl"), "has no lines; write a JSON object a line, such as"),
        ((spec, locks / "bytes.jsonl"), "is not UTF-8 text"),
        ((spec, locks), "Is a directory"),
        ((spec, locks / "missing"), "No such file or directory"),
        ((spec, log, "--html", log), "would overwrite a spec or an input"),
        ((locks / "missing.toml", log), "No such file or directory"),
    ):
        result = highwater("follow", *given)
        assert result.exit_code == 2, result.output
        assert problem in result.stderr, result.stderr
        assert result.stderr.count("\n") == 1


def test_a_member_of_an_enum_is_read_by_its_value_also_where_that_is_a_number() -> None:
    level = Enum("level", {"OFF": 0, "LOW": 1, "WORD": "word"})
    domain = SetOf(Maybe(OneOf(level)))
    assert value_of(domain, [0, 1, "word", None]) == frozenset((*level, None))
    for wrong in (False, 1.0, 2, "1"):
        with pytest.raises(Wrong):
            value_of(domain, [wrong])


class Mode(Enum):
    FULL_SPEED = "fast"
    FAST = "slow"
    NOBODY = "none"
    HALF_SPEED = "half"


@attrs.frozen
class Visit:
    by: int = within(Integers(-1, 2, label="c"))
    mode: Mode = within(Mode)


@attrs.frozen
class Room:
    inside: frozenset[int] = within(SetOf(Integers(0, 2, label="c")))
    visits: tuple[Visit, ...] = within(lambda bounds: SequenceOf(records(Visit)(bounds), 2))
    mode: Mode | None = within(Maybe(OneOf(Mode)))


@action(actor="client", client=Integers(0, 2, label="c"), door=lambda bounds: Integers(0, 0))
def enter(room: Room, client: int, door: int = 0) -> Room | None:
    return evolve(room, inside=room.inside | {client}, visits=(*room.visits, Visit(client, Mode.HALF_SPEED)))


@pytest.fixture
def room() -> Spec:
    start = Room(frozenset({0}), (Visit(-1, Mode.NOBODY),), Mode.HALF_SPEED)
    model = Model("room", "", NoToggles, lambda protocol: Definition(Bounds, Room, lambda _: [start], (enter,)))
    return claim(name="room", model=model, bounds={}, check=["no_deadlock"])


@pytest.mark.parametrize(
    ("part", "given", "other"),
    [
        ("inside - {c1}", [0], [1]),
        ("inside | {c2}", ["c2", "c0", "c1"], ["c2", "c0"]),
        ("[inside, set()]", [["c0", "c1"], []], [["c0", "c1"], ["c0"]]),
        ("visits[-1]", {"by": "c1", "mode": "half speed"}, {"by": "c2", "mode": "half speed"}),
        ("visits[len(visits) - 2].by", "none", "c1"),
        ("visits[1:]", [{"by": "c1", "mode": "half"}], [{"by": "c1", "mode": "slow"}]),
        ("[each.by for each in visits]", ["none", "c1"], ["c0", "c1"]),
        ("max(each.by for each in visits)", "c1", "c0"),
        ("[each.mode for each in visits]", ["none", "half speed"], ["none", "half spee"]),
        ("None if inside else 1", "none", 1),
        ("len(inside) > 1", True, 1),
    ],
)
def test_what_is_computed_may_be_given_as_traces_show_it_or_as_json_has_it(
    room: Spec, tmp_path: Path, part: str, given: Any, other: Any
) -> None:
    for value, finding in ((given, Finding.EXPLAINED), (other, Finding.REFUSED)):
        line = {"action": "enter", "arguments": {"client": "c1"}, "state": {part: value}}
        assert follow_log(room, log_of(tmp_path, [line])).finding is finding, value


def test_a_value_that_is_the_name_of_one_member_and_the_value_of_another_is_refused(room: Spec, tmp_path: Path) -> None:
    for value, meant in (("fast", "Mode.FULL_SPEED or Mode.FAST"), ("none", "null or Mode.NOBODY")):
        log = log_of(tmp_path, [{"action": None, "state": {"mode": value}}])
        with pytest.raises(LogError, match=f'mode: "{value}" may be {meant}, by name or by value'):
            follow_log(room, log)


def test_an_argument_that_has_one_value_only_may_be_in_a_line(room: Spec, tmp_path: Path) -> None:
    def log(door: int) -> Path:
        return log_of(tmp_path, [{"action": "enter", "arguments": {"client": 1, "door": door}}])

    assert follow_log(room, log(0)).finding is Finding.EXPLAINED
    with pytest.raises(LogError, match=r"arguments\.door: 1 is not allowed; allowed are 0"):
        follow_log(room, log(1))


@pytest.mark.parametrize("folder", ["partition/promises", "kraft", "controller", "quorum_reference"])
def test_a_state_is_read_from_what_reports_make_of_it(folder: str) -> None:
    spec = load_spec(sorted((ROOT / "specs" / folder).rglob("*.toml"))[0])
    system, chance = spec.system(), random.Random(1)
    state = system.initial[0]
    for _ in range(12):
        assert value_of(system.domain, json.loads(json.dumps(as_data(state)))) == state
        assert value_of(system.domain, state) == state
        after = [
            each for action in system.actions if type(each := successor(action, state, system.domain)) is type(state)
        ]
        if after:
            state = chance.choice(after)


def test_a_value_outside_its_domain_is_refused_with_the_allowed_ones() -> None:
    spec = load_spec(next((ROOT / "specs" / "partition").rglob("*.toml")))
    domain = spec.system().domain
    with pytest.raises(Wrong, match=r"lacks the field"):
        value_of(domain, {})
    with pytest.raises(Wrong, match=r'no field "x"; fields are'):
        value_of(domain, {"x": 1})
    with pytest.raises(Wrong, match="is not a record with the fields"):
        value_of(domain, 3)


ODD = [3, "x", [], {}, {"says": 1}, {"says": "<blink>", "misfits": [1, {}], "allowed": 3}, {"at": 3}]


@pytest.mark.parametrize("value", ODD, ids=str)
def test_a_report_that_was_changed_by_hand_still_has_a_page(highwater: Run, locks: Path, value: Any) -> None:
    spec, report = locks / "specs" / "fencing_keeps_late_writers_out.toml", locks / "o.json"
    highwater("follow", spec, log_of(locks, STORY), "--json", report)
    data = json.loads(report.read_text())
    data["results"][0] |= {"seen": value, "follow": value}
    report.write_text(json.dumps(data))
    result = highwater("trace", report, "--html", locks / "o.html")
    assert result.exit_code == 0
    assert "<blink>" not in (locks / "o.html").read_text()
