"""Every verdict has a second judge: audits compare a search with plain Python, and notice its errors."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import attrs
import numpy as np
import pytest

from highwater.explorer.blame import JudgedOtherwise
from highwater.explorer.compiler.layout import Leaf
from highwater.explorer.compiler.meanings import ActionProgram
from highwater.explorer.compiler.permutations import permuted
from highwater.explorer.compiler.programs import Program
from highwater.explorer.compiler.storing import as_bytes
from highwater.explorer.compiler.tracing import OutOfBounds, Update
from highwater.explorer.encoding import FIRST_EFFECT, NOTHING
from highwater.explorer.kernels.arrays import ROWS
from highwater.explorer.search import audit
from highwater.explorer.search.engine import engine
from highwater.explorer.search.engine.engine import Engine
from highwater.explorer.search.keeping import kept_trees
from highwater.explorer.search.keeping.kept_trees import ACTIONS, KeptTrees, learned
from highwater.explorer.search.levels import breadth_first
from highwater.explorer.search.plain import plain_python
from highwater.explorer.system import System, abstracted
from highwater.explorer.values import Renaming, exceeded
from highwater.explorer.verdict import Auditing, Budget, Outcome, SearchOptions, Verdict
from highwater.model.language.declarations import action, invariant
from highwater.model.language.domain import Integers, Limit
from highwater.model.language.records import evolve, within
from tests.explorer.test_engine_in_small import DEPTH, MEMBER, club_of, low_thresholds, nobody_jumps_the_queue
from tests.explorer.test_folding import kept

__all__ = ["kept", "low_thresholds"]

ROOT = Path(__file__).parents[2]
JUDGE = ROOT / "explorer" / "second_judge.py"


def audited(system: System, extent: Auditing = Auditing.FULL, budget: Budget = DEPTH, **options: Any) -> Outcome:
    return breadth_first.explore(system, budget, SearchOptions(audit=extent, workers=1, **options))


# --- What is judged


@invariant(member=MEMBER)
def seats_are_fair(club: Any, member: int) -> bool:
    """Nobody pays twice, and a desk that is closed seats no one anew."""
    return club.tickets[member] < 2 and (club.seat is None or club.seat.level < 2)


@pytest.mark.parametrize("symmetry", [False, True], ids=["every state", "symmetry"])
@pytest.mark.parametrize("long", [False, True], ids=["two words", "nine words"])
def test_every_state_is_judged_twice_if_that_is_asked(long: bool, symmetry: bool) -> None:
    outcome = audited(club_of(long, seats_are_fair), symmetry=symmetry)
    assert outcome.verdict is Verdict.HOLDS_TO_DEPTH
    assert outcome.audit is not None
    assert outcome.audit.states == outcome.stored_states
    assert outcome.audit.paths == outcome.audit.walked > 0


def test_a_quick_audit_meets_every_path_and_some_states() -> None:
    outcome = audited(club_of(False, seats_are_fair), Auditing.QUICK, Budget(max_depth=9))
    assert outcome.audit is not None
    assert outcome.stored_states > audit.FEWEST_STATES
    assert audit.FEWEST_STATES <= outcome.audit.states <= outcome.stored_states
    assert outcome.audit.share == 1
    assert audited(club_of(False, seats_are_fair), Auditing.NONE).audit is None


def test_fewer_states_than_an_audit_wants_are_all_judged() -> None:
    outcome = audited(club_of(False, seats_are_fair), Auditing.QUICK, Budget(max_depth=3))
    assert outcome.audit is not None
    assert outcome.audit.states == outcome.stored_states < audit.FEWEST_STATES


def test_paths_are_judged_beyond_the_fewest_only_while_there_is_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "FEWEST_STATES", 1)
    monkeypatch.setattr(audit, "FEWEST_PATHS", 5)
    monkeypatch.setattr(audit, "MOST_SECONDS", 0)
    outcome = audited(club_of(False, seats_are_fair), Auditing.QUICK)
    assert outcome.audit is not None
    assert 5 <= outcome.audit.paths < outcome.audit.walked
    assert outcome.audit.states == 1


def test_only_searches_that_hold_are_audited() -> None:
    assert audited(club_of(False, nobody_jumps_the_queue)).verdict is Verdict.VIOLATED
    assert audited(club_of(False, nobody_jumps_the_queue)).audit is None
    assert audited(club_of(False, seats_are_fair), budget=Budget(max_states=50)).audit is None


def test_a_search_that_goes_on_from_a_snapshot_is_audited(tmp_path: Path) -> None:
    """Its trees begin anew, and its counts with those of the search before."""
    system = club_of(False, seats_are_fair)
    audited(system, Auditing.NONE, Budget(max_depth=5), checkpoint=tmp_path / "c")
    outcome = audited(system, checkpoint=tmp_path / "c", resume=True)
    assert outcome.restored > 0
    assert outcome.audit is not None
    assert outcome.audit.states == outcome.stored_states


@pytest.mark.slow
def test_a_search_whose_rows_are_folded_is_audited(kept: list[bool]) -> None:
    outcome = audited(club_of(True, seats_are_fair))
    assert kept == [True]
    assert outcome.audit is not None
    assert outcome.audit.states == outcome.stored_states


@attrs.frozen
class Ballot:
    mine: int = within(Integers(0, Limit(4, "epoch_max"), order="epochs"))
    other: int = within(Integers(0, Limit(4, "epoch_max"), order="epochs"))


@action(actor="me")
def vote(ballot: Ballot) -> Ballot:
    return evolve(ballot, mine=max(ballot.mine, ballot.other) + 1)


@action(actor="me")
def follow(ballot: Ballot) -> Ballot | None:
    return evolve(ballot, other=ballot.mine) if ballot.other < ballot.mine else None


@invariant()
def the_other_follows(ballot: Ballot) -> bool:
    return ballot.other <= ballot.mine


def test_classes_by_the_order_of_numbers_are_audited(system_of: Callable[..., System]) -> None:
    system = abstracted(system_of([Ballot(0, 0)], [vote, follow], [the_other_follows]), ["epochs"])
    outcome = audited(system, budget=Budget())
    assert outcome.any_number_of == ("epochs",)
    assert outcome.audit is not None
    assert outcome.audit.states == outcome.stored_states


def test_the_judge_renames_as_the_search_does() -> None:
    system = club_of(True, seats_are_fair)
    found, _ = breadth_first.reach(system, Budget(max_depth=4))
    for permutation in found.permutations:
        rename = Renaming(system.domain, permutation)
        for row in range(found.store.count):
            state = found.layout.unpack(found.store.words(row))
            assert rename(state) == permuted(system.domain, state, permutation)


def test_the_judge_sees_the_bounds_that_a_step_exceeds() -> None:
    system = club_of(True)
    (before,) = system.initial
    longer = evolve(before, club=evolve(before.club, queue=(0, 1, 2)))
    assert exceeded(system.domain, before, before) == exceeded(system.domain, before, evolve(before)) == frozenset()
    assert exceeded(system.domain, before, longer) == system.domain.exceeded(longer) == {"queue_max"}


def reached_by_imports(*files: Path) -> set[Path]:
    """Some modules, all that they import, and so on."""
    reached: set[Path] = set()
    left = list(files)
    while left:
        path = left.pop()
        if path in reached:
            continue
        reached.add(path)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [f"{node.module}.{alias.name}" for alias in node.names] if isinstance(node, ast.ImportFrom) else []
            found = (ROOT / f"{name.removeprefix('highwater.').replace('.', '/')}.py" for name in names)
            left += [each for each in found if each.exists()]
    return reached


def test_the_judge_shares_no_code_with_what_it_judges() -> None:
    """Neither it nor what it imports knows of trees, packed states and machine code."""
    reached = reached_by_imports(JUDGE)
    folders = {path.relative_to(ROOT).parent.as_posix() for path in reached}
    assert folders == {"explorer", "model/language"}
    assert {path.stem for path in reached if path.parent.name == "explorer"} == {
        "blame",
        "kept_files",
        "ranks",
        "second_judge",
        "sources",
        "system",
        "values",
        "verdict",
    }


# --- What is wrong


def unheld(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is held against plain Python before the audit."""
    monkeypatch.setattr(Program, "_compare", lambda *arguments: None)


def tampered(monkeypatch: pytest.MonkeyPatch, tamper: Callable[..., Any]) -> None:
    """Have something done to what a search has found, before it is audited; it may give other counts."""
    audit_of = breadth_first.audit_of

    def tampered_with(found: Engine, extent: Auditing, counts: Any, *more: Any, **options: Any) -> Any:
        return audit_of(found, extent, tamper(found, counts) or counts, *more, **options)

    monkeypatch.setattr(breadth_first, "audit_of", tampered_with)


def contested(system: System, extent: Auditing = Auditing.QUICK, **options: Any) -> str:
    with pytest.raises(JudgedOtherwise) as error:
        audited(system, extent, **options)
    return str(error.value)


def misread(monkeypatch: pytest.MonkeyPatch, of: str, kind: type) -> None:
    """The first path of an action with a result of a kind is learned as one that leads to nothing."""
    new_path, misread = ActionProgram._new_path, []

    def path(program: ActionProgram, number: int, words: Any) -> Any:
        tests, reference, read = new_path(program, number, words)
        known = () if reference == NOTHING else program.effects.results[reference - FIRST_EFFECT]
        if program.instances[number].of.name == of and isinstance(known, kind) and not misread:
            misread.append(number)
            reference = NOTHING
        return tests, reference, read

    monkeypatch.setattr(ActionProgram, "_new_path", path)
    monkeypatch.setattr(Program, "_audit_family", lambda *arguments: None)


@pytest.mark.parametrize("symmetry", [False, True], ids=["every state", "symmetry"])
@pytest.mark.parametrize("extent", [Auditing.QUICK, Auditing.FULL])
def test_a_path_that_leads_elsewhere_is_named(
    monkeypatch: pytest.MonkeyPatch, extent: Auditing, symmetry: bool
) -> None:
    misread(monkeypatch, "pay", Update)
    said = contested(club_of(False, seats_are_fair), extent, symmetry=symmetry)
    assert "the audit contradicts the search about pay(member m" in said
    assert "\n  state: Club(" in said
    assert "\n  path: " in said
    assert "\n  plain Python: it leads to Club(" in said
    assert "\n  the search: it is not enabled" in said


def test_a_cut_that_is_not_counted_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    misread(monkeypatch, "join", OutOfBounds)
    said = contested(club_of(False, seats_are_fair))
    assert "the audit contradicts the search about join(member m" in said
    assert "\n  plain Python: it is cut by queue_max\n  the search: it is not enabled" in said


def test_a_path_of_a_property_that_lies_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    unheld(monkeypatch)
    monkeypatch.setattr("highwater.explorer.compiler.meanings.InvariantProgram._reference", lambda *arguments: NOTHING)

    @invariant()
    def nobody_queues(club: Any) -> bool:
        return len(club.queue) < 2

    said = contested(club_of(False, nobody_queues))
    assert "the audit contradicts the search about nobody_queues" in said
    assert "\n  plain Python: it is violated\n  the search: it holds" in said


def test_an_encoding_that_loses_a_bit_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pack = Leaf.pack

    def packed(leaf: Leaf, value: Any, words: list[int]) -> None:
        pack(leaf, False if leaf.path == "closed" else value, words)

    monkeypatch.setattr(Leaf, "pack", packed)
    unheld(monkeypatch)
    said = contested(club_of(False, seats_are_fair), symmetry=False)
    assert "the audit contradicts the search about the visited set" in said
    assert "closed True" in said.partition("\n  plain Python:")[0]
    assert "\n  the search: takes it for Club(" in said


def test_a_row_outside_of_its_domain_is_named() -> None:
    """No property sees a queue that is longer than the bound allows."""
    system = club_of(False)
    (first,) = system.initial
    books: Any = SimpleNamespace(state=lambda row: evolve(first, queue=(0, 1, 2)))
    judge = audit.SecondJudge(system, books, permutations=[{}], rows=1, expanded=0, no_deadlock=False)
    with pytest.raises(JudgedOtherwise, match="plain Python: it is outside of queue_max\n  the search: found there"):
        judge.judge(0)


def test_a_canonical_form_that_merges_two_orbits_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every image under an exchange of names is one of a club whose desk is open."""
    tabulate = engine.tabulate

    def merging(layout: Any, *more: Any) -> Any:
        found = tabulate(layout, *more)
        (closed,) = (leaf for leaf in layout.root.leaves() if leaf.path == "closed")
        found.images[:, :, :, closed.word] &= ~np.uint64(1 << closed.shift)
        return found

    monkeypatch.setattr(engine, "tabulate", merging)
    said = contested(club_of(False, seats_are_fair), Auditing.FULL)
    assert "the audit contradicts the search about the visited set" in said
    assert "\n  the search: takes it for Club(" in said


def without_the_last_row(found: Engine, counts: Any) -> None:
    store = found.store
    store.shared[ROWS] -= 1
    store.level_ends[-1] -= 1
    store.table[:] = 0
    store._enter(0, store.count)


def test_a_lost_successor_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    tampered(monkeypatch, without_the_last_row)
    said = contested(club_of(False, seats_are_fair), Auditing.FULL)
    assert "\n  path: " in said
    assert "\n  plain Python: it leads to Club(" in said
    assert "\n  the search: that state was never found" in said


def test_an_unreachable_stored_state_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def with_one_more(found: Engine, counts: Any) -> None:
        state = attrs.evolve(found.layout.unpack(found.store.words(0)), queue=(2, 1))
        found.store._append(np.array([found.layout.pack(state)], np.uint64).view(np.uint32)[0, : found.layout.units])
        found.store.level_ends[-1] += 1
        found.store.table[:] = 0
        found.store._enter(0, found.store.count)

    tampered(monkeypatch, with_one_more)
    monkeypatch.setattr(audit, "_compared", lambda *arguments: [])
    said = contested(club_of(False), Auditing.FULL, symmetry=False)
    assert "the audit contradicts the search about the visited set" in said
    assert "\n  plain Python: no step leads there at depth 7\n  the search: found there" in said


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (lambda counts: attrs.evolve(counts, at_rest=counts.at_rest + 1), "the number of states at rest"),
        (lambda counts: attrs.evolve(counts, generated=counts.generated - 1), "the number of steps;"),
        (
            lambda counts: attrs.evolve(counts, cut_steps=counts.cut_steps + Counter({frozenset({"queue_max"}): -1})),
            "the number of steps that queue_max cut;",
        ),
        (
            lambda counts: attrs.evolve(counts, enabled=(counts.enabled[0] + 1, *counts.enabled[1:])),
            "the number of steps of arrive(member m0)",
        ),
    ],
    ids=["at rest", "steps", "cut", "of an action"],
)
def test_a_count_that_is_one_off_is_named(monkeypatch: pytest.MonkeyPatch, count: Any, said: str) -> None:
    tampered(monkeypatch, lambda found, counts: count(counts))
    assert f"the audit contradicts the search about {said}" in contested(club_of(False), Auditing.FULL)


def test_orbits_that_are_counted_wrongly_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Machine code that walks no permutation but the identity and one more."""

    def fewer(found: Engine, counts: Any) -> None:
        found.symmetry = found.symmetry._replace(
            images=found.symmetry.images[:1].copy(), kept=found.symmetry.kept[:1].copy()
        )

    tampered(monkeypatch, fewer)
    assert "the audit contradicts the search about" in contested(club_of(False), Auditing.QUICK)


# --- What becomes of kept trees


def poisoned(system: System, of: str) -> None:
    """Let the trees that are kept of a system say that a path of an action leads to nothing."""
    wrong = Engine(system, Budget(), 8, 1, symmetry=True)
    files = KeptTrees(wrong, 8)
    files.load()
    program = wrong.actions
    number, words = next(
        (number, words)
        for number, words in program.examples
        if program.instances[number].of.name == of and not program.is_idle(number, words)
    )
    _, reference = program.path(number, words)
    position = number
    while program.branches.cells[position] != reference:
        (word, shift, width), first = program.node(program.branches.cells[position])
        position = first + (words[word] >> shift & (1 << width) - 1)
    program.branches.cells[position] = NOTHING
    files._files.write(files._names[ACTIONS], as_bytes(learned(wrong, ACTIONS) | files._signature(ACTIONS)))


def test_kept_trees_that_lie_are_forgotten_and_the_next_search_is_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(kept_trees, "SAMPLE", 0)
    monkeypatch.setattr(engine, "ROWS_WORTH_A_FILTER", 1 << 15)  # no wide node knows the path by heart
    system = club_of(False, seats_are_fair)
    right = audited(system, keep_trees=True)
    poisoned(system, "leave")
    assert "the audit contradicts the search about leave(member m" in contested(system, keep_trees=True)
    again = audited(system, keep_trees=True)
    assert (again.levels, again.enabled) == (right.levels, right.enabled)
    assert again.levels == plain_python.explore(system, DEPTH).levels
    assert audited(system, keep_trees=True).audit is not None
