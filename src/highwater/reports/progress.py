"""What a terminal shows while a search runs: some changing lines, or a plain line now and then."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Self

from rich.console import Console, Group
from rich.text import Text

from highwater.explorer.kernels.making.compile_times import TIMES
from highwater.explorer.memory import in_bytes
from highwater.explorer.verdict import Progress
from highwater.visible import room_of, visible

SECONDS_BETWEEN_LINES = 10.0
GOES_ON = 4


class Terminal(Console):
    """A console whose caller learns that standard output has no reader.

    Rich exits with 1 then, which means that a claim was not met. Where standard error cannot be written, progress falls
    silent.
    """

    def on_broken_pipe(self) -> None:
        raise  # rich calls this while it handles the BrokenPipeError

    def print(self, *arguments: Any, **options: Any) -> None:
        if len(arguments) == 1 and isinstance(arguments[0], Text) and room_of(self) < sys.maxsize:
            lines = [piece for line in arguments[0].split() for piece in self._that_fit(line)]
            arguments = (Text("\n").join(lines),)
        try:
            super().print(*arguments, **options)
        except OSError:
            if not self.stderr:
                raise
            self.quiet = True

    def _that_fit(self, line: Text) -> list[Text]:
        """A line, or several that fit; what goes on stands further in than what it goes on from."""
        if line.cell_len <= self.width:
            return [line]
        indent = min(len(line.plain) - len(line.plain.lstrip()), self.width // 3)
        further = min(GOES_ON, self.width // 3)
        pieces = line[indent:].wrap(self, max(1, self.width - indent - further))
        margins = [line.plain[:indent], *[" " * (indent + further)] * len(pieces)]
        return [Text(margin).append_text(piece) for margin, piece in zip(margins, pieces, strict=False)]


def make_console(*, stderr: bool = False) -> Terminal:
    """A console that breaks lines for people, between words, and none in logs and pipes. It shows a text as it is:
    `[b0, b1]` is no markup.
    """
    return Terminal(stderr=stderr, soft_wrap=True, highlight=False, emoji=False, markup=False)


class Live:
    """Progress of one exploration: some changing lines on a terminal; elsewhere a plain line every ten seconds, and one
    when machine code is waited for.
    """

    def __init__(self, console: Console, name: str) -> None:
        self._console = console
        self._name = visible(name)
        # colour in a log, which FORCE_COLOR asks for, is no terminal
        changing = console.is_terminal and console.file.isatty()
        self._status = console.status(Text(visible(name))) if changing else None
        self._last_line = time.perf_counter()
        self._sizes: dict[int, int] = {}
        self._has_waited = False

    def __enter__(self) -> Self:
        self._context: AbstractContextManager[Any] = self._status or nullcontext()
        self._context.__enter__()
        TIMES.listeners.append(self._compiles)
        return self

    def _compiles(self) -> None:
        where = f" on {TIMES.processes} processors" if TIMES.processes > 1 else ""
        show = self.show_now if TIMES.several and not self._has_waited else self.show
        self._has_waited |= TIMES.several
        show(f"compiling machine code for {TIMES.about or 'this search'}{where}, once on this machine: some 10 s")

    def __exit__(self, *exception: Any) -> None:
        TIMES.listeners.remove(self._compiles)
        self._context.__exit__(*exception)

    def __call__(self, progress: Progress) -> None:
        self._sizes[progress.depth] = progress.frontier
        first, *rest = progress_lines(progress)
        self.show(f"{first}{time_left(list(self._sizes.values()), progress)}", *rest)

    def show_now(self, line: str) -> None:
        """Show what is awaited, in a log too, before the first ten seconds are over."""
        self._last_line = -math.inf
        self.show(line)

    def show(self, *lines: str) -> None:
        """Show how far it is, if it is time to."""
        title = [Text(self._name, "bold")] if self._name else []
        if self._status:
            # each wrapped where the terminal ends
            self._status.update(Group(*title, *map(Text, lines)))
        elif time.perf_counter() - self._last_line > SECONDS_BETWEEN_LINES:
            self._last_line = time.perf_counter()
            self._console.print(Text(": ".join([*map(str, title), "  ".join(lines)])))


class LiveClaims:
    """Progress of claims that are checked side by side: a line for each on a terminal, one plain line for all every ten
    seconds elsewhere.
    """

    def __init__(self, console: Console, claims: int) -> None:
        self._live = Live(console, "")
        self._claims, self._done = claims, 0
        self._lines: dict[str, str] = {}

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._live.__exit__(*exception)

    def __call__(self, name: str, progress: Progress | None) -> None:
        """Note how far a claim is; None at its end."""
        if progress is None:
            self._done += 1
            self._lines.pop(name, None)
        else:
            self._lines[name] = progress_lines(progress)[0]
        lines = [f"{visible(name)}: {line}" for name, line in self._lines.items()]
        self._live.show(f"{self._done} of {self._claims} claims checked", *lines)


def progress_lines(progress: Progress) -> list[str]:
    """How far a search is, and in a line of its own what its engine adds."""
    rate = (progress.stored_states - progress.restored) / max(progress.seconds, 1e-9)
    counts = (
        f"depth {progress.depth}  frontier {progress.frontier:,}  stored {progress.stored_states:,}  generated "
        f"{progress.generated:,}  "
        f"{short(rate)} states/s  {in_bytes(progress.memory)}  {progress.compiled_paths:,} paths compiled"
    )
    return [counts, progress.more] if progress.more else [counts]


def time_left(sizes: Sequence[int], progress: Progress) -> str:
    """How long it takes yet, where the levels shrink; empty where they do not, as nothing is known then of those to
    come.

    It takes longest if the levels go on to shrink by the last factor, and least if that factor goes on to fall as it
    did.

    Args:
        sizes: of the levels so far; the last one is being expanded.
    """
    if len(sizes) < 3 or not sizes[-3] > sizes[-2] > sizes[-1] > 0:
        return ""
    before, factor = sizes[-2] / sizes[-3], sizes[-1] / sizes[-2]
    most = sizes[-1] / (1 - factor)
    least, size, falling = 0.0, float(sizes[-1]), min(1.0, factor / before)
    while size > 1:
        factor *= falling
        size *= factor
        least += size
    seconds = progress.seconds / max(1, progress.stored_states)
    if most * seconds < 1:
        return ""
    return f"  {duration(least * seconds)} to {duration(most * seconds)} left"


def duration(seconds: float) -> str:
    """A time, in words."""
    for limit, unit in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * limit:
            return f"{seconds / limit:.0f} {unit}"
    return f"{seconds:.0f} s"


def short(number: float) -> str:
    """A large number, in words."""
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= limit:
            return f"{number / limit:.1f} {unit}"
    return f"{number:.0f}"
