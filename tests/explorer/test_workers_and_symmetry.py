"""Threads, filters and symmetry make the search faster without changing its report."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from highwater.claims.building import build_system
from highwater.claims.resolving import variants
from highwater.explorer.blame import ModelError
from highwater.explorer.compiler.effects import Effects
from highwater.explorer.compiler.layout import Layout
from highwater.explorer.compiler.meanings import ActionProgram, InvariantProgram
from highwater.explorer.compiler.permutations import Image, permuted
from highwater.explorer.compiler.prefilter import Filter, filter_of
from highwater.explorer.compiler.wide_nodes import Widened, widened
from highwater.explorer.encoding import GATHER_FIELD, JUMP, KIND_AT, NODE, NOTHING, WIDE, WIDENS
from highwater.explorer.kernels.arrays import SPARE, FlatRows
from highwater.explorer.kernels.making import entry_points
from highwater.explorer.search.engine import engine
from highwater.explorer.search.engine.compiled import Compiled
from highwater.explorer.search.engine.symmetry import permutations_of, tabulate
from highwater.explorer.search.levels import breadth_first, expansion, progress
from highwater.explorer.search.plain import plain_python
from highwater.explorer.search.states import scratch, store
from highwater.explorer.system import Cut, System, judge, successor
from highwater.explorer.verdict import Budget, Outcome, Progress, SearchOptions
from highwater.model.catalogue import MODELS
from highwater.model.language.declarations import action, invariant
from highwater.model.language.domain import BOOLEAN, ArrayOf, Integers, Limit, Maybe, SequenceOf, SetOf, Struct
from highwater.model.language.records import domain_of, evolve, records, replaced, within
from tests.gallery import FILES, loaded
from tests.outcomes import findings
from tests.small_models import CASES, cases, random_walk, small_system, tiny_system

EXPLORED = [
    ("reference", "truncate-to-high-watermark", 11, False),
    ("reference", "async-isr", None, False),
    ("reference", "async-isr", None, True),
    *(
        pytest.param(*case, marks=pytest.mark.slow)
        for case in (
            ("reference", "kip-320", None, True),
            ("partition", "kafka-2.8.0", 10, False),
            ("partition", "kafka-2.8.0", 10, True),
            ("controller", "kafka-0.10.2", 3, True),
        )
    ),
]
"""Models that the plain engine gets through in a second or two, to what depth, and whether to go on after a violation.
"""

WITHOUT = ("client-log", "controller", "kraft", "kraft-reference", "quorum-reference", "topic")
SYMMETRIC = [case for case in CASES if case[0] not in WITHOUT]
"""Models whose brokers are interchangeable. Assignments and rejected proposals list them in an order, and the log that
clients see has none.
"""


def comparable(outcome: Outcome) -> dict[str, Any]:
    """All that does not depend on how the search was done."""
    return findings(outcome, "stored_states", "words", "bits", "unreached")


@pytest.fixture
def crowded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiny batches, tables and blocks, so that threads meet, tables grow and filters change within small systems."""
    for module, name, value in (
        (scratch, "BATCH", 4),
        (store, "FIRST_TABLE", 16),
        (store, "RESERVED_ROWS", 4),
        (expansion, "RESERVED_ROWS", 4),
        (engine, "ROWS_WORTH_A_SECOND_THREAD", 2),
        (engine, "ROWS_WORTH_A_FILTER", 16),
        (progress, "ROWS_BETWEEN_REPORTS", 100),
    ):
        monkeypatch.setattr(module, name, value)


@pytest.mark.parametrize(("model", "name", "depth", "keep_going"), EXPLORED)
def test_workers_and_symmetry_change_nothing_that_is_reported(
    model: str, name: str, depth: int | None, keep_going: bool, crowded: None
) -> None:
    system = small_system(model, name) if model == "controller" else tiny_system(model, name)
    if not keep_going:  # what is violated at once would end it there
        broken = {
            each.of.name
            for each in system.invariants
            for state in system.initial
            if not judge(each, state, system.domain)
        }
        system = attrs.evolve(
            system, invariants=tuple(each for each in system.invariants if each.of.name not in broken)
        )
    budget = Budget(max_depth=depth)
    theirs = plain_python.explore(system, budget, SearchOptions(keep_going=keep_going), check_deadlock=True)
    assert theirs.distinct_states > 500
    expected, unreached = comparable(theirs), set()
    for workers, symmetry in ((1, False), (1, True), (2, True), (5, False)):
        outcome = breadth_first.explore(
            system,
            budget,
            SearchOptions(keep_going=keep_going, workers=workers, symmetry=symmetry),
            check_deadlock=True,
        )
        assert comparable(outcome) == expected, (workers, symmetry)
        unreached.add(frozenset((missed.of, missed.file, missed.line) for missed in outcome.unreached))
        assert outcome.stored_states == outcome.distinct_states or symmetry
    assert len(unreached) == 1


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_a_budget_of_states_is_used_up_by_any_number_of_workers(workers: int, crowded: None) -> None:
    outcome = breadth_first.explore(
        tiny_system("reference", "truncate-to-high-watermark"),
        Budget(max_states=777),
        SearchOptions(workers=workers, symmetry=False, keep_going=True),
    )
    assert (outcome.reason, outcome.stored_states, outcome.distinct_states) == ("max-states", 777, 777)


def test_as_many_states_are_stored_as_tlc_keeps_with_symmetry() -> None:
    """TLC with SYMMETRY Permutations(Replicas) on Kip320: 123,311 states; 737,794 without."""
    model = MODELS["reference"]
    protocol, definition = next((p, d) for name, p, d in variants(model) if name == "kip-320")
    system = build_system(definition, protocol, definition.bounds(3, 2, 2, 2), ())
    outcome = breadth_first.explore(system)
    assert (outcome.stored_states, outcome.distinct_states, outcome.depth) == (123_311, 737_794, 25)


@pytest.mark.parametrize("symmetry", [False, True])
def test_a_state_of_84_bits_never_takes_more_than_24_bytes(symmetry: bool) -> None:
    """Rows and visited set, at any moment once there are more than a few thousand states."""
    model = MODELS["reference"]
    protocol, definition = next((p, d) for name, p, d in variants(model) if name == "kip-320")
    system = build_system(definition, protocol, definition.bounds(3, 2, 2, 3), ())
    seen: list[Progress] = []
    outcome = breadth_first.explore(
        system, Budget(max_states=300_000), SearchOptions(on_progress=seen.append, symmetry=symmetry)
    )
    assert outcome.bits == 84
    assert max(progress.memory / progress.stored_states for progress in seen if progress.stored_states > 8192) <= 24


@cases(SYMMETRIC)
@settings(max_examples=8, deadline=None)
@given(choices=st.data(), length=st.integers(0, 15))
def test_every_model_treats_interchangeable_brokers_alike(model: str, name: str, choices: Any, length: int) -> None:
    """What an instance does to a state its images do to the state's images: else `learn` raises."""
    system = small_system(model, name)
    layout = Layout(system.domain)
    permutations = permutations_of(system, layout)
    assert len(permutations) > 1
    compiled = Compiled(system, layout, 0, permutations)
    for words in map(layout.pack, random_walk(system, choices, length)[::-5]):
        for program in (compiled.actions, compiled.invariants, compiled.prospects):
            for number in range(len(program.instances)):
                program.learn(number, words)
        for after in compiled.actions.known_successors(words):
            for number in range(len(system.step_properties)):
                compiled.steps.learn(number, (*words, *after))


class Representatives:
    """What the kernel says of plain states under a group of permutations."""

    def __init__(self, system: System) -> None:
        self.domain = system.domain
        self.layout = Layout(system.domain)
        self.permutations = permutations_of(system, self.layout)
        self.tables = tabulate(self.layout, [Image.under(each, self.layout) for each in self.permutations])
        self.units = self.layout.units

    def orbit(self, state: Any) -> set[tuple[int, ...]]:
        """By the definition, in plain Python."""
        return {self.layout.pack(permuted(self.domain, state, permutation)) for permutation in self.permutations}

    def representative(self, words: tuple[int, ...]) -> tuple[int, ...]:
        room = self._room()
        room[0] = words
        entry_points.ALONE.representative(room, self.tables, self.units)
        return tuple(map(int, room[0]))

    def orbit_size(self, representative: tuple[int, ...]) -> int:
        rows = np.array(representative, np.uint64).view(np.uint32)
        return int(entry_points.ALONE.orbit_sizes(FlatRows(rows), 0, 1, self.tables, self._room(), self.units))

    def _room(self) -> np.ndarray:
        return np.zeros((1 + SPARE, self.layout.words), np.uint64)

    def check(self, state: Any) -> None:
        orbit = self.orbit(state)
        representative, *others = set(map(self.representative, orbit))
        assert not others
        assert representative in orbit
        assert self.orbit_size(representative) == len(orbit)


@cases(SYMMETRIC)
@settings(max_examples=8, deadline=None)
@given(choices=st.data(), length=st.integers(0, 15))
def test_all_images_of_a_state_have_one_representative(model: str, name: str, choices: Any, length: int) -> None:
    system = small_system(model, name)
    found = Representatives(system)
    for state in random_walk(system, choices, length):
        found.check(state)


@pytest.mark.slow
def test_a_group_that_is_not_trivial_has_keys() -> None:
    """Without keys all permutations of a state would be compared, which takes several times as long."""
    groups = 0
    for file in FILES:
        system = loaded(file).system()
        if system.interchangeable and len(permutations_of(system, Layout(system.domain))) > 1:
            groups += 1
            keys = Representatives(system).tables.key_masks
            assert sum(int(mask).bit_count() for mask in keys[:, 0]) > 8, file
    assert groups > 60


@attrs.frozen
class Host:
    """What one host holds; each kind of field moves in its own way when hosts are exchanged."""

    age: int = within(Integers(0, 2))
    boss: int | None = within(Maybe(Integers(0, 3, names="hosts")))
    friends: frozenset[int] = within(SetOf(Integers(0, 3, names="hosts")))
    homes: tuple[int, ...] = within(SequenceOf(Integers(0, 1, names="towns"), 2))


@attrs.frozen
class World:
    """Names of two kinds, as positions, values and members; a number wider than a table; and what belongs to nobody."""

    year: int = within(Integers(0, 5000))
    hosts: tuple[Host, ...] = within(lambda bounds: ArrayOf(records(Host)(bounds), 4, by="hosts"))
    visited: tuple[frozenset[int], ...] = within(ArrayOf(SetOf(Integers(0, 3, names="hosts")), 2, by="towns"))
    awake: frozenset[int] = within(SetOf(Integers(0, 3, names="hosts")))
    turn: int = within(Integers(0, 3, names="hosts"))
    souls: tuple[int, ...] = within(ArrayOf(Integers(0, 2), 2, by="towns"))


def drawn(domain: Any) -> st.SearchStrategy[Any]:
    """Any value of a domain."""
    match domain:
        case Maybe(of=of):
            return st.none() | drawn(of)
        case SetOf(of=of):
            return st.frozensets(st.sampled_from(list(of.values())))
        case SequenceOf(of=of, max_length=length):
            return st.lists(drawn(of), max_size=int(length)).map(tuple)
        case ArrayOf(of=of, length=length):
            return st.tuples(*[drawn(of)] * length)
        case Struct(cls=cls, fields=fields):
            return st.builds(cls, **{name: drawn(of) for name, of in fields.items()})
    return st.integers(0, domain.size - 1).map(domain.decode)


EVERYONE = World(7, (Host(0, None, frozenset(), ()),) * 4, (frozenset(),) * 2, frozenset(), 0, (0, 0))
INITIAL = {
    "everybody": [attrs.evolve(EVERYONE, turn=turn) for turn in range(4)],
    "who does not begin": [EVERYONE],
    "two pairs": [
        attrs.evolve(EVERYONE, turn=turn, awake=frozenset(awake)) for awake in ({0, 1}, {2, 3}) for turn in range(4)
    ],
}


@functools.cache
def world(interchangeable: str) -> Representatives:
    system = System(
        domain_of(World, None), tuple(INITIAL[interchangeable]), (), (), {"hosts": (0, 1, 2, 3), "towns": (0, 1)}
    )
    return Representatives(system)


@pytest.mark.parametrize(
    ("interchangeable", "permutations", "keys"),
    [("everybody", 48, 4), ("who does not begin", 12, 3 + 2), ("two pairs", 16, 4)],
)
@settings(max_examples=60, deadline=None)
@given(state=drawn(domain_of(World, None)), alike=st.booleans())
def test_representatives_are_right_for_any_group_and_any_state(
    interchangeable: str, permutations: int, keys: int, state: World, alike: bool
) -> None:
    """Also where only some exchanges are allowed, and where hosts that look alike differ in whom they know."""
    found = world(interchangeable)
    assert len(found.permutations) == permutations
    assert found.tables.key_words.shape[1] == keys, "of hosts and, where there is room, of towns"
    if alike:
        state = attrs.evolve(
            state, hosts=tuple(attrs.evolve(host, age=1, homes=()) for host in state.hosts), awake=frozenset()
        )
    found.check(state)


@settings(max_examples=40, deadline=None)
@given(state=drawn(domain_of(World, None)), number=st.integers(1, 47))
def test_images_of_packed_states_are_images_of_states(state: World, number: int) -> None:
    found = world("everybody")
    image = Image.under(found.permutations[number], found.layout)
    words, expected = (
        found.layout.pack(state),
        found.layout.pack(permuted(found.domain, state, found.permutations[number])),
    )
    assert tuple(image.of_state(words)) == expected
    assert tuple(image.origin_of(expected)) == words


@pytest.mark.slow
@cases(CASES)
@settings(max_examples=5, deadline=None)
@given(choices=st.data(), length=st.integers(4, 15))
def test_a_filter_rules_out_only_trees_without_successors(model: str, name: str, choices: Any, length: int) -> None:
    """Also for states that the filter was not chosen by, and while trees are not known."""
    system = small_system(model, name)
    layout = Layout(system.domain)
    program = ActionProgram(layout, system.actions, Effects(layout.words), audit=0)
    states = random_walk(system, choices, length)
    words = [layout.pack(state) for state in states]
    for state in words[::2]:
        for tree in range(len(system.actions)):
            program.learn(tree, state)
    found = filter_of(program, words[::2])
    for state, packed in zip(states, words, strict=True):
        left = candidates(found, packed)
        for tree, instance in enumerate(system.actions):
            if not left[tree]:
                assert successor(instance, state, system.domain) is None
                assert program.path(tree, packed)[1] == NOTHING


def candidates(found: Filter, state: tuple[int, ...]) -> list[bool]:
    """What the kernel does with a filter, in plain Python."""
    left = [int(group) for group in found.candidates[-1, 0]]
    for chunk, gathering in enumerate(found.chunks.tolist()):
        left = [
            group & int(ruled)
            for group, ruled in zip(left, found.candidates[chunk, index(state, *gathering)], strict=True)
        ]
    return [bool(group >> tree & 1) for group in left for tree in range(64)]


@pytest.mark.slow
@cases(CASES)
@settings(max_examples=5, deadline=None)
@given(choices=st.data(), length=st.integers(4, 15), copies=st.integers(1, 3))
def test_wide_nodes_lead_where_the_trees_lead(model: str, name: str, choices: Any, length: int, copies: int) -> None:
    """Also for states that they were not made for, and after the trees have grown."""
    system = small_system(model, name)
    layout = Layout(system.domain)
    program = ActionProgram(layout, system.actions, Effects(layout.words), audit=0)
    words = [layout.pack(state) for state in random_walk(system, choices, length)]
    for state in words[::2]:
        for tree in range(len(system.actions)):
            program.learn(tree, state)
    found = widened(program, np.array(words[::2] * copies, np.uint64))
    for tree in range(len(system.actions)):
        for state in words:
            assert wide_walk(found, program, tree, state) == program.path(tree, state)[1]
        for state in words:
            program.learn(tree, state)
            assert wide_walk(found, program, tree, state) == program.path(tree, state)[1]


def wide_walk(found: Widened, program: ActionProgram, tree: int, state: tuple[int, ...]) -> int:
    """What the kernel does with wide nodes, in plain Python."""
    entry = WIDENS | tree
    while entry >> KIND_AT == WIDE:
        *gathering, first = found.nodes[entry ^ WIDENS].tolist()
        entry = int(found.entries[first + index(state, *gathering)])
    if entry >> KIND_AT != JUMP:
        return entry
    position = entry & (1 << KIND_AT) - 1
    while (branch := int(program.branches.array[position])) & NODE:
        (word, shift, width), first = program.node(branch)
        position = first + (state[word] >> shift & (1 << width) - 1)
    return branch


def index(state: tuple[int, ...], low: int, high: int, where: int) -> int:
    """What `highwater.explorer.compiler.prefilter.gathering` means."""
    place, low_word, high_word = (where >> GATHER_FIELD * number & (1 << GATHER_FIELD) - 1 for number in range(3))
    return gathered(state[low_word], low) + (gathered(state[high_word], high) << place)


def gathered(word: int, mask: int) -> int:
    bits = [position for position in range(64) if mask >> position & 1]
    return sum((word >> position & 1) << place for place, position in enumerate(bits))


@attrs.frozen
class Seats:
    """Guests who take seats."""

    taken: tuple[int, ...] = within(lambda bounds: ArrayOf(Integers(0, 2), 3, by="guests"))
    here: frozenset[int] = within(lambda bounds: SetOf(Integers(0, 2, names="guests")))


@action(actor="guest", guest=Integers(0, 2, names="guests"))
def arrive(seats: Seats, guest: int) -> Seats | None:
    """A guest comes."""
    return None if guest in seats.here else evolve(seats, here=seats.here | {guest})


@action(actor="guest")
def the_first_leaves(seats: Seats) -> Seats | None:
    """Guest 0 is treated like no other."""
    return evolve(seats, here=seats.here - {0}) if 0 in seats.here else None


@invariant()
def guest_one_is_never_alone(seats: Seats) -> bool:
    """Speaks of one guest by name."""
    return seats.here != frozenset({1})


def seats(actions: Any, invariants: Any = (), initial: Any = (Seats((0, 0, 0), frozenset()),)) -> System:
    return System(
        domain_of(Seats, None),
        tuple(initial),
        tuple(i for a in actions for i in a.instances(None)),
        tuple(i for v in invariants for i in v.instances(None)),
        {"guests": (0, 1, 2)},
    )


@attrs.frozen
class Letter:
    """Names inside what may be absent, where an absent name is packed as the first name is."""

    sender: int = within(Integers(0, 2, names="guests"))
    urgent: bool = within(BOOLEAN)


@attrs.frozen
class Post:
    """A queue of letters, the one that lies open, and who has read it."""

    letters: tuple[Letter, ...] = within(lambda bounds: SequenceOf(records(Letter)(bounds), Limit(2, "letters")))
    open: Letter | None = within(lambda bounds: Maybe(records(Letter)(bounds)))
    readers: frozenset[int] = within(SetOf(Integers(0, 2, names="guests")))


@action(actor="guest", guest=Integers(0, 2, names="guests"), urgent=BOOLEAN)
def send(post: Post, guest: int, urgent: bool) -> Post | None:
    """A guest writes, unless a letter of theirs is under way."""
    if any(letter.sender == guest for letter in post.letters):
        return None
    return evolve(post, letters=post.letters + (Letter(guest, urgent),))


@action(actor="somebody")
def open_first(post: Post) -> Post | None:
    """The first letter is opened."""
    if not post.letters or post.open is not None:
        return None
    return evolve(post, letters=post.letters[1:], open=post.letters[0])


@action(actor="guest", guest=Integers(0, 2, names="guests"))
def read(post: Post, guest: int) -> Post | None:
    """A guest reads the open letter of another; when all others have, it is thrown away."""
    if post.open is None or post.open.sender == guest or guest in post.readers:
        return None
    if len(post.readers) == 1:
        return evolve(post, open=None, readers=frozenset())
    return evolve(post, readers=post.readers | {guest})


@invariant(guest=Integers(0, 2, names="guests"))
def nobody_reads_urgent_letters_after(post: Post, guest: int) -> bool:
    """False for whoever reads an urgent letter."""
    return post.open is None or not post.open.urgent or guest not in post.readers


def posts() -> System:
    return System(
        domain_of(Post, None),
        (Post((), None, frozenset()),),
        tuple(instance for each in (send, open_first, read) for instance in each.instances(None)),
        tuple(nobody_reads_urgent_letters_after.instances(None)),
        {"guests": (0, 1, 2)},
    )


@pytest.mark.parametrize("workers", [1, 3])
def test_names_in_optional_fields_are_exchanged(workers: int, crowded: None) -> None:
    system = posts()
    expected = comparable(plain_python.explore(system, options=SearchOptions(keep_going=True)))
    for symmetry in (False, True):
        outcome = breadth_first.explore(
            system, options=SearchOptions(keep_going=True, workers=workers, symmetry=symmetry)
        )
        assert comparable(outcome) == expected
    assert outcome.stored_states * 5 < outcome.distinct_states


@attrs.frozen
class Seat:
    """Whose turn it is at the desk."""

    client: int = within(Integers(0, 2, names="clients"))


@attrs.frozen
class Office:
    """How many tickets each client has, who sits at the desk, and who waits, the first one longest."""

    tickets: tuple[int, ...] = within(ArrayOf(Integers(0, 2), 3, by="clients"))
    desk: Seat | None = within(lambda bounds: Maybe(records(Seat)(bounds)))
    queue: tuple[int, ...] = within(SequenceOf(Integers(0, 2, names="clients"), 2))


@action(actor="client", client=Integers(0, 2, names="clients"))
def sit(office: Office, client: int) -> Office | None:
    """A client sits down at the empty desk."""
    return None if office.desk is not None else evolve(office, desk=Seat(client))


@action(actor="clerk")
def work(office: Office) -> Office | None:
    """Who sits at the desk hands a ticket in; who has none left, leaves."""
    if office.desk is None:
        return None
    left = office.tickets[office.desk.client]
    if not left:
        return evolve(office, desk=None)
    return evolve(office, tickets=replaced(office.tickets, office.desk.client, left - 1))


@action(actor="client", client=Integers(0, 2, names="clients"))
def queue_up(office: Office, client: int) -> Office | None:
    """A client queues, unless they do."""
    return None if client in office.queue or len(office.queue) == 2 else evolve(office, queue=(*office.queue, client))


@action(actor="clerk")
def call(office: Office) -> Office | None:
    """The first of the queue sits down, if they have a ticket; otherwise they leave."""
    if not office.queue:
        return None
    first, rest = office.queue[0], office.queue[1:]
    if office.tickets[first]:
        return None if office.desk is not None else evolve(office, desk=Seat(first), queue=rest)
    return evolve(office, queue=rest)


@pytest.mark.parametrize("steps", [(sit, work), (queue_up, call, work)], ids=["emptying a desk", "popping a queue"])
def test_names_that_are_taken_away_leave_nothing_behind(steps: tuple[Any, ...]) -> None:
    """Whoever they are: what the first name is packed as is 0, and no other name."""
    instances = tuple(instance for each in steps for instance in each.instances(None))
    system = System(domain_of(Office, None), (Office((2, 2, 2), None, ()),), instances, (), {"clients": (0, 1, 2)})
    expected = comparable(plain_python.explore(system))
    for audit in (0, 1000):
        outcome = breadth_first.explore(system, audit=audit)
        assert comparable(outcome) == expected
        assert outcome.stored_states * 2 < outcome.distinct_states


def test_a_path_is_learned_once_for_equivalent_parameters() -> None:
    shared, alone = (
        breadth_first.explore(posts(), options=SearchOptions(keep_going=True, symmetry=symmetry))
        for symmetry in (True, False)
    )
    assert shared.compiled_paths * 2 < alone.compiled_paths


@settings(max_examples=50, deadline=None)
@given(states=st.lists(drawn(domain_of(Post, None)), min_size=1, max_size=6))
def test_images_of_paths_mean_what_running_the_function_means(states: list[Post]) -> None:
    """On any state: actions and invariants that others of their family taught."""
    system = posts()
    layout = Layout(system.domain)
    images = [Image.under(each, layout) for each in permutations_of(system, layout)]
    effects = Effects(layout.words)
    actions = ActionProgram(layout, system.actions, effects, 0, images)
    invariants = InvariantProgram(layout, system.invariants, effects, 0, images)
    for state in states:
        for number, instance in enumerate(system.actions):
            after = successor(instance, state, system.domain)
            expected = after if after is None or isinstance(after, Cut) else layout.pack(after)
            assert actions.evaluate(number, layout.pack(state)) == expected
        for number, instance in enumerate(system.invariants):
            assert invariants.evaluate(number, layout.pack(state)) == judge(instance, state, system.domain)


@action(actor="guest", guest=Integers(0, 2, names="guests"), other=Integers(0, 2))
def follow(seats: Seats, guest: int, other: int) -> Seats | None:
    """The second parameter is not declared as a name: all exchanges together do the same, one by one they do not."""
    return evolve(seats, here=seats.here | {other}) if guest in seats.here and other not in seats.here else None


def test_a_parameter_that_is_not_declared_as_a_name_is_refused() -> None:
    with pytest.raises(ModelError, match=r"follow tells guests \d and \d apart"):
        breadth_first.explore(seats([arrive, follow]))


def test_an_action_that_distinguishes_names_is_refused() -> None:
    with pytest.raises(ModelError, match=r"the_first_leaves tells guests 0 and \d apart"):
        breadth_first.explore(seats([arrive, the_first_leaves]))


def test_an_invariant_that_distinguishes_names_is_refused() -> None:
    with pytest.raises(ModelError, match="guest_one_is_never_alone tells"):
        breadth_first.explore(seats([arrive], [guest_one_is_never_alone]))


def test_functions_refused_with_symmetry_are_explored_without_it() -> None:
    outcome = breadth_first.explore(
        seats([arrive, the_first_leaves], [guest_one_is_never_alone]), options=SearchOptions(symmetry=False)
    )
    assert outcome.violations[0].trace_length == 1


def test_only_permutations_that_the_initial_states_allow_are_used() -> None:
    outcome = breadth_first.explore(seats([arrive], initial=[Seats((0, 0, 1), frozenset())]))
    assert (outcome.distinct_states, outcome.stored_states) == (8, 6)


def test_interchangeable_names_are_stored_once() -> None:
    outcome = breadth_first.explore(seats([arrive]))
    assert (outcome.levels, outcome.stored_states) == ((1, 3, 3, 1), 4)


def test_far_more_initial_states_than_the_budget_end_the_search() -> None:
    every = [Seats(taken, frozenset()) for taken in itertools.product(range(3), repeat=3)]
    outcome = breadth_first.explore(seats([arrive], initial=every), Budget(max_states=1), SearchOptions(symmetry=False))
    assert (outcome.verdict.value, outcome.reason, outcome.stored_states) == ("unknown", "max-states", 27)


def test_initial_states_beyond_the_reserved_rows_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "RESERVED_ROWS", 2)
    every = [Seats(taken, frozenset()) for taken in itertools.product(range(3), repeat=3)]
    outcome = breadth_first.explore(seats([arrive], initial=every), Budget(max_states=1), SearchOptions(symmetry=False))
    assert (outcome.verdict.value, outcome.reason, outcome.stored_states) == ("unknown", "max-states", 3)


@attrs.frozen
class Lot:
    """A number that nothing looks at, and whether it was taken."""

    number: int = within(Integers(0, (1 << 15) - 1))
    taken: bool = within(BOOLEAN)


@action(actor="somebody")
def take(lot: Lot) -> Lot | None:
    """The lot is taken."""
    return None if lot.taken else evolve(lot, taken=True)


@pytest.mark.parametrize("workers", [1, 2])
def test_as_many_initial_states_as_are_worth_a_filter_are_explored(workers: int) -> None:
    every = tuple(Lot(number, False) for number in range(engine.ROWS_WORTH_A_FILTER))
    system = System(domain_of(Lot, None), every, tuple(take.instances(None)))
    assert breadth_first.explore(system, options=SearchOptions(workers=workers)).levels == (len(every), len(every))
