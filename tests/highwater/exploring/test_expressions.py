"""Conditions on states: what they mean, and what they may not do."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any

import attrs
import pytest

from highwater.claims.expressions import UNDEFINED, expression
from highwater.claims.names import ExpressionError
from highwater.claims.spec import load_spec
from highwater.exploring.session import Session
from highwater.model.language.domain import Integers, OneOf
from highwater.model.language.records import domain_of, within

COMPUTED = {"range(2)": "[0 1]", "enumerate((b1,))": "[[0 1]]", "zip((b0,), (b1,))": "[[0 1]]", "''": '""'}
SPEC = load_spec(Path(__file__).parents[3] / "specs/partition/durability/a_refused_record_is_exposed.toml")
PARTITION, PARTITION_BOUNDS, PARTITION_STATE = SPEC.definition, SPEC.bounds, SPEC.system().initial[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("len(b0.log) == 1", True),
        ("len(b1.log) < len(b0.log)", True),
        ("b0.leader == b0", True),
        ("b0.leader == b1", False),
        ("quorum.leader == b0 and b1 in quorum.isr", True),
        ("state.presumes_leadership(b0)", True),
        ("presumes_leadership(b0)", None),
        ("b0.log_end_offset == 1", True),
        ("any(record.leader_epoch == 0 for record in b0.log)", True),
        ("all(replica.leader is None for replica in replicas)", False),
        ("[r for r in replicas if r.leader == b0][0].high_watermark == 0", True),
        ("b1.leader is None", True),
        ("next_record_id - 1 == 0 if b0.log else False", True),
        ("quorum.isr - {b0} == {b1}", True),
        ("any(quorum.leader == b0 for state in b0.log)", True),
        ("[state for state in (1, 2)] == [1, 2] and state.quorum.leader == b0", True),
        ("[replicas for replicas in replicas][0].leader == b0", True),
        ("b1.log == []", True),
        ("[] == b1.log", True),
        ("b0.log != []", True),
        ("b0.log == [b0.log[0]]", True),
        ("[r for r in b0.log] == b0.log", True),
        ("b0.log[:0] + [] == sorted([])", True),
        ("[b1.log] == [[]] and (b1.log,) == ([],)", True),
        ("b1.log in [[]] and [] in [b1.log]", True),
        ("{b0.log} == {b0.log} and b1.log is not []", True),
    ],
)
def test_a_condition_has_the_same_value_as_in_python(
    session: Session, take: Callable[..., Session], steps: tuple[str, ...], text: str, expected: bool | None
) -> None:
    state = take(session, *steps[:5]).at.step.state
    if expected is None:
        with pytest.raises(ExpressionError, match="cannot be called"):
            expression(text, session.system.domain)
    else:
        assert expression(text, session.system.domain).of(state) is expected


@pytest.mark.parametrize(
    "text",
    [
        "b1.log == []",
        "[] == b1.log",
        "not b0.log != [b0.log[0]]",
        "b1.log in [[], [1]]",
        "b1.log + [] == ()",
        "b1.log[:1] == [] and b0.log[:1] != []",
        "[each.log for each in replicas[1:2]] == [[]]",
        "sorted({1, 0}) == [0, 1] == (0, 1)",
        "b1.log <= [] < [0]",
    ],
)
def test_a_list_equals_the_same_sequence_of_a_state(
    session: Session, take: Callable[..., Session], steps: tuple[str, ...], text: str
) -> None:
    state = take(session, *steps[:5]).at.step.state
    assert len(state.replicas[0].log) == 1 and not state.replicas[1].log
    assert expression(text, session.system.domain).of(state) is True


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("quorum.isr == []", "[] is never a set; write set() or {...}"),
        ("(0, 1) != quorum.isr", "(0, 1) is never a set; write set() or {...}"),
        ("b1.log == {1}", "{1} is never a list; write [...]"),
    ],
)
def test_a_list_that_is_compared_with_a_set_is_refused(session: Session, text: str, words: str) -> None:
    with pytest.raises(ExpressionError) as refused:
        expression(text, session.system.domain)
    assert str(refused.value) == words
    assert expression("quorum.isr in [set(), quorum.isr]", session.system.domain).of(session.at.step.state)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "().__class__.__bases__[0].__subclasses__()",
        "state.__class__",
        "b0._log",
        "(lambda: 1)()",
        "open('/etc/passwd')",
        "eval('1')",
        "getattr(state, 'quorum')",
        "[].append(1)",
        "f'{state.__class__}'",
        "'{0.__class__}'.format(state)",
        "9 ** 9 ** 9",
        "1 << 99999999",
        "'a' * 99999999",
        "10000001 > 1",
        "(x := 1)",
        "state if",
        "b0.log; b1.log",
        "",
        "x" * 3000,
        "(" * 500 + ")" * 500,
        "not " * 100 + "True",
        "foo > 1",
        "b0.lig == 1",
        "1.5 > 1",
        "b0.log[0]()()",
        "range",
        "{1: 2}",
        "*b0.log,",
        "type(state)",
        "state.presumes_leadership",
        "bool(state.presumes_leadership)",
        "not len",
        "(replica for replica in replicas)",
        "quorum.leader == b9",
    ],
)
def test_an_invalid_condition_is_refused_in_one_line(session: Session, text: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        expression(text, session.system.domain)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "sign"), [("1 * 2 > 0", "*"), ("2 ** 2 > 0", "**"), ("1 / 1 > 0", "/"), ("~1 > 0", "~"), ("+1 > 0", "+")]
)
def test_an_operator_that_is_refused_is_named_by_its_sign(session: Session, text: str, sign: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        expression(text, session.system.domain)
    assert str(caught.value).startswith(f"'{sign}' is not allowed; expressions compare and add fields")


def test_a_misspelt_name_is_answered_with_the_nearest(session: Session) -> None:
    with pytest.raises(ExpressionError, match='did you mean "quorum"'):
        expression("qorum.leader == b0", session.system.domain)
    with pytest.raises(ExpressionError, match='did you mean "log"'):
        expression("b0.lgo == 0", session.system.domain)


@pytest.mark.parametrize(
    "text", ['b1.process == "up"', '"up" != b1.process', 'b1.process in {"up", "down"}', "replicas[1].process == 1"]
)
def test_a_member_of_an_enum_is_compared_with_a_member(text: str) -> None:
    """As "no" in each state it would be taken for an answer."""
    domain = domain_of(PARTITION.state, PARTITION_BOUNDS)
    with pytest.raises(ExpressionError, match="which it never equals"):
        expression(text, domain)
    assert expression("b1.process == Process.UP", domain).shown(PARTITION_STATE) == "yes"
    assert expression('[each.process for each in replicas][1] == "up"', domain).shown(PARTITION_STATE) == UNDEFINED


def test_computed_values_are_shown_by_their_contents(session: Session) -> None:
    shown = {text: expression(text, session.system.domain).shown(session.at.step.state) for text in COMPUTED}
    assert shown == COMPUTED


class Mode(Enum):
    FAST = "fast"


@attrs.frozen
class Pump:
    mode: Any = within(OneOf((Mode.FAST, "off")))


def test_a_text_beside_a_member_of_an_enum_is_compared_with_it() -> None:
    domain = domain_of(Pump, None)
    assert [expression('mode == "off"', domain).shown(Pump(mode)) for mode in (Mode.FAST, "off")] == ["no", "yes"]
    assert expression('mode == "fast"', domain).shown(Pump(Mode.FAST)) == UNDEFINED


@attrs.frozen
class Valve:
    state: Any = within(OneOf(("open", "shut")))
    len: Any = within(Integers(0, 3))
    max: Any = within(bool)


def test_a_field_with_another_meaning_of_its_name_is_the_field() -> None:
    """`state` is the whole state, and `len` a function, where no field is called so."""
    valve = Valve("shut", 2, True)
    texts = ["state", 'state == "shut"', "len", "len(state)", "max(len, 1)", "max"]
    shown = [expression(text, domain_of(Valve, None)).shown(valve) for text in texts]
    assert shown == ["shut", "yes", "2", "4", "2", "True"]
    pump = domain_of(Pump, None)
    assert expression("state.mode", pump).domain == pump.fields["mode"]
