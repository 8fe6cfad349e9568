"""Paths that a search takes over from another one, under another protocol or within other bounds: those that it would
learn itself, and no others.
"""

from __future__ import annotations

import copy
import functools
import itertools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import attrs
import pytest

from highwater.claims.spec import load_spec
from highwater.explorer import kept_files, sources
from highwater.explorer.compiler.effects import Effects
from highwater.explorer.compiler.layout import Layout
from highwater.explorer.compiler.meanings import ActionProgram
from highwater.explorer.compiler.permutations import Image
from highwater.explorer.compiler.programs import Program
from highwater.explorer.compiler.settings import Noting, Settings
from highwater.explorer.compiler.storing import as_bytes, from_bytes
from highwater.explorer.search.engine.symmetry import permutations_of
from highwater.explorer.search.keeping import kept_trees
from highwater.explorer.search.levels import breadth_first
from highwater.explorer.search.plain import plain_python
from highwater.explorer.system import System, look_alike
from highwater.explorer.verdict import Outcome, SearchOptions
from highwater.model.language.declarations import action
from highwater.model.language.domain import BOOLEAN, ArrayOf, Integers
from highwater.model.language.records import domain_of, evolve, within
from tests.outcomes import timeless

SPECS = Path(__file__).parents[2] / "specs"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where trees are kept."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(sources, "BEGAN", float("inf"))  # as if this file had been there
    return tmp_path / "cache" / "highwater"


@pytest.fixture
def lent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The instances whose paths were lent; each path is held against the one that is learned here."""
    names: list[str] = []
    lend = Program._lent_path

    def held(program: Program, number: int, words: Any) -> Any:
        found = lend(program, number, words)
        if found is not None:
            names.append(str(program.instances[number]))
            path, *meaning = program._new_path(number, words)
            assert ([each for each in path if each[0].width], *meaning) == (found[0], *found[1:])
        return found

    monkeypatch.setattr(Program, "_lent_path", held)
    return names


def explored(system: System, **options: Any) -> Outcome:
    return breadth_first.explore(system, options=SearchOptions(keep_trees=True, **options))


@pytest.mark.parametrize("symmetry", [True, False])
@pytest.mark.parametrize(
    "names",
    [
        ("partition/isr_agreement/a*", "partition/isr_agreement/p*"),
        pytest.param(("partition/truncation/*",), marks=pytest.mark.slow),
        pytest.param(("controller/reassignment/*",), marks=pytest.mark.slow),
        pytest.param(("kraft/a_[a-d]*",), marks=pytest.mark.slow),
    ],
    ids=lambda names: names[0],
)
def test_lent_paths_equal_learned_paths(names: tuple[str, ...], symmetry: bool, lent: list[str]) -> None:
    systems = [load_spec(path).system() for path in found(names)]
    for system in systems:
        ours, alone = (
            explored(system, symmetry=symmetry),
            breadth_first.explore(system, options=SearchOptions(symmetry=symmetry)),
        )
        assert ours.compiled_paths >= alone.compiled_paths  # another claim may ask more of the same actions
        assert timeless(attrs.evolve(ours, compiled_paths=alone.compiled_paths)) == timeless(alone)
    assert len(lent) > 30


def found(names: Iterable[str]) -> list[Path]:
    """Claims of few states."""
    paths = sorted(path for name in names for path in SPECS.glob(f"{name}.toml"))
    return [path for path in paths if (load_spec(path).file.expect.distinct_states or 2_000) < 5_000][:8]


# A room with lamps


@attrs.frozen
class Rules:
    at_once: int = 1
    only_forward: bool = False
    unread: int = 0

    @functools.cached_property
    def doubled(self) -> int:
        return 2 * self.at_once

    @property
    def step(self) -> int:
        return self.at_once

    def steps(self, times: int) -> int:
        return self.step * times

    @classmethod
    def of_two(cls) -> Rules:
        return cls(2)


@attrs.frozen
class Sizes:
    most: int = 5


@attrs.frozen
class Room:
    light: int = within(Integers(0, 9))
    closed: bool = within(BOOLEAN)


@action(actor="somebody")
def brighten(room: Room, protocol: Rules, bounds: Sizes) -> Room | None:
    if room.closed:
        return None
    return evolve(room, light=room.light + protocol.at_once) if room.light < bounds.most else None


@action(actor="somebody")
def darken(room: Room, protocol: Rules) -> Room | None:
    if room.closed or not room.light:
        return None
    return None if protocol.only_forward else evolve(room, light=0)


@action(actor="somebody")
def brighten_by_one(room: Room) -> Room | None:
    return evolve(room, light=room.light + 1) if room.light < 5 else None


@action(actor="somebody")
def close_late(room: Room) -> Room | None:
    return evolve(room, closed=True) if room.light == 4 else None


@action(actor="somebody")
def close(room: Room) -> Room | None:
    return None if room.closed else evolve(room, closed=True)


def room(protocol: Any = None, bounds: Any = None, actions: Iterable[Any] = (brighten, darken, close)) -> System:
    protocol, bounds = protocol or Rules(), bounds or Sizes()
    return System(
        domain=domain_of(Room, bounds),
        initial=(Room(0, False),),
        actions=tuple(instance for each in actions for instance in each.instances(bounds, protocol)),
        protocol=protocol,
        bounds=bounds,
    )


@pytest.mark.parametrize(
    ("change", "not_lent"),
    [
        ({"protocol": Rules(unread=7)}, set()),
        ({"protocol": Rules(at_once=2)}, {"brighten()"}),
        ({"protocol": Rules(only_forward=True)}, {"darken()"}),
        ({"bounds": Sizes(4)}, {"brighten()"}),
        ({"actions": (close, darken, brighten)}, set()),
    ],
)
def test_a_path_is_lent_unless_a_setting_that_it_reads_differs(
    change: dict[str, Any], not_lent: set[str], lent: list[str]
) -> None:
    explored(room())
    assert lent == []
    assert timeless(explored(room(**change))) == timeless(breadth_first.explore(room(**change)))
    states = Room(0, False), Room(1, False)
    for instance in room().actions:
        assert lent.count(str(instance)) >= (1 if str(instance) in not_lent else len(states))
    assert not_lent or len(lent) == breadth_first.explore(room(**change)).compiled_paths


@attrs.frozen
class Lamps:
    lit: tuple[bool, ...] = within(ArrayOf(BOOLEAN, 3, by="lamps"))


@action(actor="somebody")
def turn_off(lamps: Lamps, protocol: Rules) -> Lamps | None:
    if not any(lamps.lit) or protocol.only_forward:
        return None
    return evolve(lamps, lit=(False, False, False))


def test_a_path_reads_what_the_images_of_its_run_read_that_are_known_from_earlier_ones() -> None:
    """With the first two lamps lit, all images of the run end at the first lamp that is lit, as some did before."""
    everything = list(itertools.product((False, True), repeat=3))
    system = System(
        domain=domain_of(Lamps, None),
        initial=tuple(map(Lamps, everything)),
        actions=tuple(turn_off.instances(None, Rules())),
        interchangeable={"lamps": (0, 1, 2)},
    )
    layout = Layout(system.domain)
    images = [Image.under(each, layout) for each in permutations_of(system, layout)]
    assert len(images) == 6
    program = ActionProgram(layout, system.actions, Effects(layout.words), 0, images)
    for lit in sorted(everything, key=sum):
        program.learn(0, layout.pack(Lamps(lit)))
    assert program.paths == len(program.reads) == len(everything)
    assert sorted(map(len, program.reads.values())) == [0] + [1] * 7


def test_protocols_of_different_classes_lend_no_paths(lent: list[str]) -> None:
    @attrs.frozen
    class OtherRules(Rules):
        @property
        def step(self) -> int:
            return 3

    explored(room())
    explored(room(OtherRules()))
    assert lent == []


def test_a_lender_that_disagrees_with_plain_python_is_dropped(folder: Path) -> None:
    """With a checksum that fits, and steps that lead elsewhere."""
    explored(room())
    for path in folder.glob("trees-*/actions-*"):
        arrays = from_bytes(kept_files.read(path.parent, path.name))
        branches = arrays["0.branches"]
        ends = (branches > 2) & (branches < 1 << 63)
        branches[ends] = branches[ends][::-1]
        kept_files.write(path.parent, path.name, as_bytes(arrays))
    other = room(Rules(unread=1))
    assert timeless(explored(other)) == timeless(breadth_first.explore(other))


@pytest.mark.parametrize("missing", ["0.instances", "0.settings", "0.branches", "0.ends", "effects.means"])
def test_damaged_trees_lend_nothing(missing: str, folder: Path, lent: list[str]) -> None:
    explored(room())
    for path in folder.glob("trees-*/actions-*"):
        arrays = from_bytes(kept_files.read(path.parent, path.name))
        del arrays[missing]
        kept_files.write(path.parent, path.name, as_bytes(arrays))
    other = room(Rules(unread=1))
    assert timeless(explored(other)) == timeless(breadth_first.explore(other))
    assert lent == []


def test_only_some_trees_are_asked_for_a_path(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(kept_trees, "Lender", lambda *arguments: asked.append(arguments) or pytest.fail())
    monkeypatch.setattr(kept_trees, "MOST_LENDERS", 0)
    for number in range(3):
        explored(room(Rules(unread=number)))
    assert len(list(folder.glob("trees-*/actions-*"))) == 3
    assert asked == []


def test_trees_of_the_nearest_settings_lend_first(lent: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that were used last read what is another here."""
    monkeypatch.setattr(kept_trees, "MOST_LENDERS", 1)
    for rules in (Rules(unread=1), Rules(at_once=2, only_forward=True, unread=2)):
        explored(room(rules))
    lent.clear()
    other = room(Rules(unread=3))
    assert timeless(explored(other)) == timeless(breadth_first.explore(other))
    assert len(lent) == breadth_first.explore(other).compiled_paths


# What is read


TABLE = {Rules(): "the table's"}


@pytest.mark.parametrize(
    ("function", "reads"),
    [
        (lambda rules: rules.at_once, {"at_once"}),
        (lambda rules: (rules.at_once, rules.unread), {"at_once", "unread"}),
        (lambda rules: getattr(rules, "only_forward"), {"only_forward"}),  # noqa: B009
        (lambda rules: rules.step, {"at_once"}),
        (lambda rules: rules.steps(3), {"at_once"}),
        (lambda rules: rules.doubled, None),
        (lambda rules: rules == Rules(), None),
        (lambda rules: Rules() == rules, None),
        (lambda rules: rules != Rules(2), {"at_once"}),
        (lambda rules: TABLE[rules], None),
        (lambda rules: rules in (Rules(2), Rules()), None),
        (lambda rules: isinstance(rules, Rules), set()),
        (lambda rules: rules.__class__ is Rules, set()),
        (lambda rules: attrs.asdict(rules), None),
        (lambda rules: evolve(rules, unread=3), {"at_once", "only_forward"}),
        (lambda rules: attrs.evolve(rules, at_once=3), {"only_forward", "unread"}),
        (lambda rules: copy.copy(rules), None),
        (lambda rules: type(rules)(5), set()),
        (lambda rules: rules.of_two(), set()),
        (lambda rules: repr(rules), None),
        (lambda rules: hasattr(rules, "none_such"), None),
    ],
)
def test_reads_of_a_protocol_are_recorded_without_changing_results(
    function: Callable[[Any], Any], reads: set[str] | None
) -> None:
    settings, rules = Settings(), Rules()
    noting = Noting({"protocol": rules}, settings._read.add)
    assert settings._applied_watched(lambda _: function(rules), noting, (), None) == function(Rules())
    assert "__getattribute__" not in vars(Rules)
    read = settings.begin()
    fields = {f"protocol.{field.name}" for field in attrs.fields(Rules)}
    if reads is None:
        assert read is not None and ("protocol" in read or read == fields)
    else:
        assert read == {f"protocol.{name}" for name in reads}


RULES = Rules()


@action(actor="somebody")
def brighten_by_these_rules(room: Room, protocol: Rules) -> Room | None:
    return evolve(room, light=1) if protocol is RULES else None


@action(actor="somebody")
def brighten_by_this_kind(room: Room, protocol: Rules) -> Room | None:
    return evolve(room, light=1) if type(protocol) is Rules else None


def is_same(one: Any, other: Any) -> bool:
    return one is other


@action(actor="somebody")
def brighten_by_the_same_rules(room: Room, protocol: Rules) -> Room | None:
    return evolve(room, light=1) if is_same(protocol, RULES) else None


@action(actor="somebody")
def brighten_by_the_number_of_an_object(room: Room, protocol: Rules) -> Room | None:
    return evolve(room, light=1) if id(protocol) == id(RULES) else None


@action(actor="somebody")
def brighten_by_a_field_of_the_class(room: Room, protocol: Rules) -> Room | None:
    return evolve(room, light=1) if Rules.unread.__get__(protocol) == 0 else None  # type: ignore[attr-defined]


@attrs.frozen
class KnowsItself(Rules):
    @property
    def is_the_first(self) -> bool:
        return self is FIRST


FIRST = KnowsItself()


@action(actor="somebody")
def brighten_by_the_first_rules(room: Room, protocol: KnowsItself) -> Room | None:
    return evolve(room, light=1) if protocol.is_the_first else None


def test_a_protocol_may_ask_which_object_it_is_and_then_all_of_it_is_read(lent: list[str]) -> None:
    first, other = (room(rules, actions=(brighten_by_the_first_rules,)) for rules in (FIRST, KnowsItself(unread=1)))
    found = explored(first)
    assert (found.distinct_states, explored(other).distinct_states) == (2, 1)
    assert lent == []
    assert not look_alike(first, other, found.settings_read or ())


@pytest.mark.parametrize(
    "step",
    [
        brighten_by_these_rules,
        brighten_by_this_kind,
        brighten_by_the_same_rules,
        brighten_by_the_number_of_an_object,
        brighten_by_a_field_of_the_class,
    ],
)
def test_a_function_may_ask_which_object_its_protocol_is_and_then_lends_nothing(step: Any, lent: list[str]) -> None:
    found = explored(room(RULES, actions=(step,)))
    assert (found.distinct_states, found.settings_read) == (2, None)
    assert explored(room(Rules(unread=1), actions=(step,))).distinct_states == 1 + (step is brighten_by_this_kind)
    assert lent == []


@action(actor="somebody")
def harm_by_this_kind(room: Room, protocol: Rules, bounds: Any) -> Room | None:
    """Asks only in a state that comes late, and that no comparison of a path sees."""
    known = type(protocol) is Rules and type(protocol) in {Rules} and isinstance(RULES, type(protocol))
    return evolve(room, light=0) if known and room.light == 2 else None


def test_a_question_about_the_protocol_is_answered_as_plain_python_answers_it() -> None:
    system = room(Rules(), actions=(brighten, harm_by_this_kind))
    ours, theirs = breadth_first.explore(system), plain_python.explore(system)
    assert (ours.verdict, ours.levels, ours.enabled) == (theirs.verdict, theirs.levels, theirs.enabled)
    assert theirs.enabled["harm_by_this_kind"] == 1


# What is remembered of a protocol


@attrs.frozen(eq=False)
class KnownByIdentity:
    at_once: int


@attrs.frozen
class NotAllCompared:
    at_once: int = attrs.field(eq=False)


@attrs.frozen
class Above:
    at_once: int


@attrs.frozen
class Below(Above):
    unread: int = 0

    @property
    def step(self) -> int:
        return super().at_once


@attrs.frozen
class Noted:
    at_once: int
    noted: int | None = attrs.field(default=None, init=False)

    @property
    def step(self) -> int:
        if self.noted is None:
            object.__setattr__(self, "noted", self.at_once)
        return self.noted or 0


NOTED: list[int] = []


def noted_elsewhere(rules: Rules) -> int:
    if not NOTED:
        NOTED.append(rules.at_once)
    return NOTED[0]


@functools.cache
def cached(rules: Any) -> int:
    return int(rules.at_once)


@pytest.mark.parametrize(
    ("rules", "remembered"),
    [
        (KnownByIdentity, cached),
        (Below, lambda rules: rules.step),
        (Noted, lambda rules: rules.step),
        (Rules, noted_elsewhere),
    ],
)
def test_a_path_is_not_lent_where_a_function_remembers_what_it_would_have_read(
    rules: Any, remembered: Callable[[Any], int]
) -> None:
    """All paths but the first take the number from there, and where it is 1 they look no further."""

    @action(actor="somebody")
    def dim(room: Room, protocol: Any) -> Room | None:
        if room.light < 2 or remembered(protocol) == 1:
            return None
        return evolve(room, light=0) if room.closed else None

    actions, found = (brighten_by_one, dim, close_late), {}
    for number in (1, 2):
        NOTED.clear()
        found[number] = explored(room(rules(number), actions=actions))
    assert [each.distinct_states for each in found.values()] == [8, 12]
    one, other = (room(rules(number), actions=actions) for number in (1, 2))
    assert not look_alike(one, other, found[1].settings_read or ())


def test_settings_that_are_all_read_are_alike_only_if_all_their_fields_are() -> None:
    one, other = (room(NotAllCompared(number), actions=()) for number in (1, 2))
    assert one.protocol == other.protocol
    assert look_alike(one, one, {"protocol"})
    assert not look_alike(one, other, {"protocol"})
