"""Whether functions treat interchangeable names alike, tried on everything that is reached.

The image of an instance under a permutation of names must do to the image of a state what the instance does to the
state. A function is a black box, so this is tried for every learned path under every permutation. The instance runs on
its state, and its image runs on the image of the state. An image does not run again if another run has taken its path
already. All these runs record what they read into one path. If they agree on one state, they agree on every state of
that path. A search reaches only states whose paths it has learned, and the images of such states.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn, Protocol

import attrs

from highwater.explorer.blame import ModelError, impure, where
from highwater.explorer.compiler.effects import Effects
from highwater.explorer.compiler.layout import Layout, Leaf, holders
from highwater.explorer.compiler.permutations import Image, Permutation, renamed
from highwater.explorer.compiler.settings import Settings
from highwater.explorer.compiler.tracing import OutOfBounds, Recorder, Update
from highwater.explorer.encoding import FIRST_EFFECT
from highwater.explorer.system import Cut
from highwater.explorer.trace import Change, changes
from highwater.model.language.declarations import Instance

ABSENT = object()
"""What a leaf holds that a step clears."""

WHAT_TO_DO = (
    "  declare every field and parameter that holds such names (`names=`, `by=`), and treat no name in its own way: "
    "never compare it with\n"
    "  a number, go by order (`min`, `sorted`, `<`), or take what comes first in a set or range; or else leave the "
    "name out of\n"
    "  `interchangeable`, or explore without symmetry"
)
APART = "apart, which the model declares interchangeable"


@attrs.frozen
class Run:
    """What a run led to, and which settings it has read; as `Settings.begin` returns them."""

    reference: int
    settings: frozenset[str] | None = attrs.field(eq=False)


class Runs(Protocol):
    """The program whose instances run."""

    instances: Sequence[Instance]
    settings: Settings
    layout: Layout
    effects: Effects

    def run(
        self,
        number: int,
        words: Callable[[], Sequence[int]],
        read: Callable[[Leaf], int] | None = None,
        *,
        both_orders: bool = True,
    ) -> tuple[list[tuple[Leaf, int]], int]:
        """The path that an instance takes in a state, and what it leads to, as a reference."""

    def image_of(self, reference: int, image: Image) -> int:
        """The reference of the image of what a reference means."""

    def meant(self, reference: int, words: Any) -> Any:
        """What a reference says of a state."""


class Equivariance:
    """Runs instances together with their images, and remembers the paths that they took, each as a tree of its own."""

    def __init__(self, program: Runs, images: Iterable[Image]) -> None:
        """
        Args:
            images: those of the permutations, but for the identity.

        Raises:
            ModelError: an instance has no image among the instances.
        """
        self._program = program
        self._exchanges = sorted(
            (Exchange.of(image, program.instances) for image in images), key=lambda exchange: exchange.moved
        )
        self._taken: dict[int, Any] = {}  # by instance a run, or a leaf and by its packed values what follows
        self._holders = dict(holders(program.layout.root))

    def run(self, number: int, base: Recorder, words: Callable[[], Sequence[int]]) -> int:
        """Run an instance on a state, and its images on that state's images; what the result means, as a reference.

        Args:
            base: records what any of the runs reads, as it is in the state.
            words: gives the state's words.

        Raises:
            ModelError: an image of the instance does something else; or a function raised.
        """
        reference = self._follow(number, base.raw, words, both_orders=True)
        for exchange in self._exchanges:

            def read(leaf: Leaf, sources: Any = exchange.sources) -> int:
                source, codes = sources[leaf]
                return int(codes[base.raw(source)])

            found = self._follow(
                exchange.goes_to[number], read, functools.partial(exchange.of_state, words), both_orders=False
            )
            if found != self._program.image_of(reference, exchange.image) and not self._equal(
                reference, found, exchange, base
            ):
                self._refuse(number, reference, exchange, found, words())
        return reference

    def _follow(
        self, number: int, read: Callable[[Leaf], int], words: Callable[[], Sequence[int]], *, both_orders: bool
    ) -> int:
        """The reference at the end of the path that an instance takes; the instance runs if it has not taken the path
        before.

        Images go through sets in one order only: that of an image is another order of the state's own names, so that
        all images together try all of them.
        """
        node = self._taken.get(number)
        while type(node) is tuple:
            leaf, following = node
            node = following.get(read(leaf))
        if node is None:
            node = self._run(number, read, words, both_orders=both_orders)
        self._program.settings.note(node.settings)
        return node.reference

    def _run(
        self, number: int, read: Callable[[Leaf], int], words: Callable[[], Sequence[int]], *, both_orders: bool
    ) -> Run:
        settings = self._program.settings
        before = settings.begin()
        path, reference = self._program.run(number, words, read, both_orders=both_orders)
        run = Run(reference, settings.begin(before))
        self._note(number, path, run)
        return run

    def _note(self, number: int, path: Sequence[tuple[Leaf, int]], run: Run) -> None:
        """Remember the path that a run took."""
        at, key = self._taken, number
        for leaf, raw in path:
            node = at.setdefault(key, (leaf, {}))
            if type(node) is not tuple or node[0] is not leaf:
                raise impure(self._program.instances[number])
            at, key = node[1], raw
        if at.setdefault(key, run) != run:
            raise impure(self._program.instances[number])

    def _equal(self, reference: int, found: int, exchange: Exchange, base: Recorder) -> bool:
        """Whether what a step does and what its image was found to do are one thing, though written in
        different ways.
        """
        if min(reference, found) < FIRST_EFFECT:
            return False
        ours, theirs = (self._program.effects.results[each - FIRST_EFFECT] for each in (reference, found))
        if isinstance(ours, OutOfBounds) or isinstance(theirs, OutOfBounds) or ours.tops != theirs.tops:
            return False
        theirs = exchange.origin_of(theirs)
        if self._done(ours, base) == self._done(theirs, base):
            return True
        touched = {
            leaf
            for each in (ours, theirs)
            for leaf in (*dict(each.constants), *each.cleared, *itertools.chain(*each.copies))
        }
        # let the path hold all that either copies or overwrites
        for leaf in sorted(touched, key=lambda leaf: (leaf.word, leaf.shift)):
            if not self._is_absent(leaf, base.raw):
                base.raw(leaf)
        return self._done(ours, base) == self._done(theirs, base)

    def _done(self, update: Update, base: Recorder) -> dict[Leaf, Any]:
        """What a step does to each leaf that it changes, as far as is known what that one holds."""
        done: dict[Leaf, Any] = dict.fromkeys(
            (leaf for leaf in update.cleared if not self._is_absent(leaf, base.known)), ABSENT
        )
        done |= dict(update.constants)
        for target, source in update.copies:
            raw = base.known(source)
            done[target] = source if raw is None else raw
        return {leaf: value for leaf, value in done.items() if value is not leaf and value != base.known(leaf)}

    def _is_absent(self, leaf: Leaf, value_of: Callable[[Leaf], int | None]) -> bool:
        """Whether a leaf holds nothing in the state before, if that can be said."""
        holder, most = self._holders.get(leaf, (leaf, -1))
        value = value_of(holder) if most >= 0 else None
        return value is not None and value <= most

    def _refuse(self, number: int, reference: int, exchange: Exchange, found: int, words: Sequence[int]) -> NoReturn:
        names, image = named(exchange.image.permutation), exchange.image.of_state(words)
        ours, theirs = self._program.instances[number], self._program.instances[exchange.goes_to[number]]
        done, other = self._program.meant(reference, tuple(words)), self._program.meant(found, tuple(image))
        layout = self._program.layout
        before = layout.unpack(words)
        if not any(each is None or isinstance(each, Cut | bool) for each in (done, other)):
            wanted = layout.unpack(exchange.image.of_state(done))
            apart = changes(layout.domain, wanted, layout.unpack(other))
            difference = (
                f"  {ours} leads to {_parts(changes(layout.domain, before, layout.unpack(done)))}\n"
                f"  after an exchange of {names}, {theirs} should lead to "
                f"{', '.join(f'{part.path} {part.before}' for part in apart)}, and leads to "
                f"{', '.join(f'{part.path} {part.after}' for part in apart)}"
            )
        else:
            difference = (
                f"  {ours} {_outcome(done)}\n    in the state {layout.domain.show(before)}\n"
                f"  {theirs} {_outcome(other)}\n"
                f"    in its image: {_parts(changes(layout.domain, before, layout.unpack(image)))}"
            )
        raise ModelError(f"{ours.of.name} tells {names} {APART}\n  {where(ours)}\n{difference}\n{WHAT_TO_DO}")


def _outcome(meant: Any) -> str:
    """What a function gives, in words."""
    match meant:
        case None:
            return "is not enabled"
        case Cut(bounds=bounds):
            return f"is cut by {', '.join(sorted(bounds))}"
        case bool() as holds:
            return "is true" if holds else "is false"
        case _:
            return "is enabled"


def _parts(found: Sequence[Change]) -> str:
    return ", ".join(map(str, found)) or "the same state"


@attrs.frozen(eq=False)
class Exchange:
    """A permutation of names, other than the identity, and what it does.

    Attributes:
        sources: for every leaf, the leaf whose image is there, and the image of each of its packed values.
        goes_to: by the number of an instance, that of its image.
    """

    image: Image
    sources: Mapping[Leaf, tuple[Leaf, Sequence[int]]]
    goes_to: Sequence[int]

    @classmethod
    def of(cls, image: Image, instances: Sequence[Instance]) -> Exchange:
        """
        Raises:
            ModelError: an instance has no image among the instances.
        """
        numbers = {renamed(instance, {}): number for number, instance in enumerate(instances)}
        goes_to = [numbers.get(renamed(instance, image.permutation), -1) for instance in instances]
        if -1 in goes_to:
            instance = instances[goes_to.index(-1)]
            raise ModelError(
                f"{instance.of.name} tells {named(image.permutation)} {APART}\n  {where(instance)}\n"
                f"  there is {instance}, and none for the other name\n{WHAT_TO_DO}"
            )
        return cls(image, {target: (leaf, codes) for leaf, (target, codes) in image.moves.items()}, goes_to)

    def of_state(self, words: Callable[[], Sequence[int]]) -> Sequence[int]:
        """The words of a state's image."""
        return self.image.of_state(words())

    @property
    def moved(self) -> int:
        """How many names move."""
        return sum(name != image for of in self.image.permutation.values() for name, image in of.items())

    def origin_of(self, update: Update) -> Update:
        """What a step does whose image does this."""
        return Update(
            frozenset((self.sources[leaf][0], self.sources[leaf][1].index(raw)) for leaf, raw in update.constants),
            frozenset((self.sources[target][0], self.sources[source][0]) for target, source in update.copies),
            frozenset(self.sources[leaf][0] for leaf in update.cleared),
        )


def named(permutation: Permutation) -> str:
    """The names that a permutation moves."""
    moved = {of: [str(name) for name, image in found.items() if name != image] for of, found in permutation.items()}
    return ", ".join(f"{of} {', '.join(names[:-1])} and {names[-1]}" for of, names in moved.items() if names)
