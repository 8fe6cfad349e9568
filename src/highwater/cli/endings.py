"""How a command ends: every ending has an exit code of its own, and one line that says
why.
"""

from __future__ import annotations

import errno
import os
import platform
import resource
import select
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NoReturn, TextIO

import click

from highwater.cli.options import DEFECT, INTERRUPTED, MET, NO_READER, UNKNOWN, USAGE, complain
from highwater.distribution import VERSION


class Commands(click.Group):
    """Commands that end with a documented exit code. Click's own endings give 1, which means that a claim was
    not met.
    """

    def __init__(self, *arguments: Any, places: Mapping[str, str], **options: Any) -> None:
        """
        Args:
            places: where each command is, such as `package.module:name`. It is imported when it is asked for.
        """
        super().__init__(*arguments, **options)
        self._places = places

    def list_commands(self, context: click.Context) -> list[str]:
        """The names of the commands."""
        return sorted(self._places)

    def resolve_command(
        self, context: click.Context, arguments: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the arguments begin with."""
        name = arguments[0]
        if name not in self._places and not name.startswith("-"):
            from highwater.claims.tables import did_you_mean

            context.fail(
                f'no such command: "{name}"{did_you_mean(name, self._places)}; allowed are {", ".join(self._places)}'
            )
        return super().resolve_command(context, arguments)

    def get_command(self, context: click.Context, cmd_name: str) -> click.Command | None:
        """A command by its name; None if there is none."""
        place = self._places.get(cmd_name)
        command: click.Command | None = resolve_name(place) if place else None
        return command

    def main(self, *arguments: Any, standalone_mode: bool = True, **options: Any) -> Any:
        """Run the command that the arguments name, and exit."""

        code = ending_of(lambda: super(Commands, self).main(*arguments, **{**options, "standalone_mode": False}))
        if standalone_mode:
            sys.exit(code)
        return code

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands, each with its whole first sentence, where click cuts off what is longer than a line."""
        commands = [(name, self.get_command(context, name)) for name in self.list_commands(context)]
        rows = [(name, each.get_short_help_str(limit=1_000)) for name, each in commands if each is not None]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        """Read the arguments, or print the help. If standard output is closed, click itself ends with 1."""
        try:
            return super().make_context(*arguments, **options)
        except OSError as error:
            sys.exit(_unwritten(error))

    def invoke(self, context: click.Context) -> Any:
        """Run a command. What it raises is judged here: click takes an EOFError for an interrupt, and ends with 1
        without a reader.
        """
        with without_ways_out(), terminated_as_interrupted():
            return ending_of(lambda: super(Commands, self).invoke(context))


_execv = os.execv  # as it is before `without_ways_out`


def give_way_to(line: list[str]) -> NoReturn:
    """Run another program in place of this process, which a command is.

    Args:
        line: the path of the program, and its arguments.
    """
    _execv(line[0], line)


@contextmanager
def without_ways_out() -> Iterator[None]:
    """Have `os._exit` and `os.exec...` raise SystemExit: in a model they would end this process with a code of their
    own, be it 0.
    """
    here = os.getpid()
    ways = {name: getattr(os, name) for name in ("_exit", "execv", "execve")}

    def refusing(name: str) -> Any:
        def refuse(*arguments: Any) -> None:
            if os.getpid() != here:  # processes that were forked end so
                ways[name](*arguments)
            raise SystemExit(f"os.{name} was called")

        return refuse

    for name in ways:
        setattr(os, name, refusing(name))
    try:
        yield
    finally:
        for name, way in ways.items():
            setattr(os, name, way)


@contextmanager
def terminated_as_interrupted() -> Iterator[None]:
    """Let SIGTERM do what Ctrl-C does: keep what was learned, write reports, and end."""
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    ):
        yield
        return
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def ending_of(run: Callable[[], Any]) -> int:
    """Run something, and say why it ended if it did not end by itself.

    Returns:
        The exit code.
    """
    try:
        code = _run(run)
    except KeyboardInterrupt:  # a second one, while the first is reported
        code = INTERRUPTED
    compilers = sys.modules.get("highwater.explorer.kernels.making.compilers")
    if code == INTERRUPTED and compilers is not None:
        compilers.stop()  # else what they have begun they go on with behind the command
    return _flushed(code)


def _run(run: Callable[[], Any]) -> int:
    try:
        code = run()
        return code if isinstance(code, int) else MET
    except click.exceptions.Exit as error:
        return error.exit_code
    except SystemExit as error:
        return _asked_for(error)
    except (KeyboardInterrupt, click.Abort):
        _say("interrupted")
        return INTERRUPTED
    except click.ClickException as error:
        with suppress(OSError):
            error.show()
        return USAGE
    except MemoryError:
        _say("highwater: out of memory; lower a bound, or give it more")
        return UNKNOWN
    except BaseException as error:  # a model may raise what is no Exception
        contradiction = getattr(sys.modules.get("highwater.explorer.blame"), "Contradiction", ())
        if isinstance(error, contradiction):
            complain(error)
            return DEFECT
        if _is_out_of_memory(error):
            _say("highwater: out of memory; lower a bound, or give it more")
            return UNKNOWN
        return _unexpected(error)


def _is_out_of_memory(error: BaseException) -> bool:
    """Whether the system has refused memory in other words than a MemoryError: a library that finds no address space is
    not loaded.
    """
    limited = resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY
    unloaded = isinstance(error, OSError | ImportError) and "shared object" in str(error)
    return getattr(error, "errno", None) == errno.ENOMEM or (limited and unloaded)


def _asked_for(error: SystemExit) -> int:
    """The exit code that a command asked for; one that a model asks for is no success, and neither are words."""
    if _line_in_a_model(error) or isinstance(error.code, str):
        return _unexpected(error)
    return error.code if isinstance(error.code, int) else MET


def _unexpected(error: BaseException) -> int:
    """Report whose fault an exception is that no command has expected."""
    if isinstance(error, OSError) and _of_printing(error):
        return _unwritten(error)
    complain(Exception(explained(error)))
    return USAGE if _line_in_a_model(error) else DEFECT


def explained(error: BaseException) -> str:
    """What to say of an exception that nothing has expected: a line of the model's raised it, or it is a defect of
    Highwater's own.

    The traceback of a defect is kept in a file.
    """
    if at := _line_in_a_model(error):
        from highwater.explorer.blame import said_by

        return f"the model raised {said_by(error)}; {at}"
    innermost = traceback.extract_tb(error.__traceback__)[-1:]
    at = "".join(f" at {Path(frame.filename).name}:{frame.lineno}" for frame in innermost)
    message = " ".join(str(error).split())
    words = f"internal error: {type(error).__name__}{f': {message[:200]}' if message else ''}{at}"
    text = f"{_versions()}\ncommand: {sys.argv}\n\n{''.join(traceback.format_exception(error))}"
    try:
        number, path = tempfile.mkstemp(prefix="highwater-defect-", suffix=".txt")
        with open(number, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
        kept = f"{path}, which holds the traceback"
    except OSError:
        _say(text)
        kept = "the traceback above"
    return f"{words}: this is a defect of Highwater, not of your model or spec; please open an issue with {kept}"


def _versions() -> str:
    return f"highwater {VERSION}, Python {sys.version}, {platform.platform()}"


def _line_in_a_model(error: BaseException) -> str | None:
    """The line of a model's that raised, if a model has run at all: `--help` imports nothing."""
    if "highwater.explorer.blame" not in sys.modules:
        return None
    from highwater.explorer.blame import line_of

    whole = inside = error.__traceback__
    while inside is not None and not Path(inside.tb_frame.f_code.co_filename).is_relative_to(Path(__file__).parents[1]):
        inside = inside.tb_next  # what has called Highwater, such as pytest, is no model
    try:
        return line_of(error.with_traceback(inside or whole))
    finally:
        error.__traceback__ = whole


def _flushed(code: int) -> int:
    """The exit code, unless what was printed cannot be written."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        code = _unwritten(error)
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and _broken(stream):
            _discard(stream)
    return code


def _of_printing(error: OSError) -> bool:
    """Whether it comes from standard output; what standard error raises is not passed on."""
    innermost = traceback.extract_tb(error.__traceback__)[-1:]
    return error.filename is None and any({"rich", "click"} & set(Path(frame.filename).parts) for frame in innermost)


def _unwritten(error: OSError) -> int:
    _discard(sys.stdout)
    if isinstance(error, BrokenPipeError):
        return NO_READER
    _say(f"highwater: standard output cannot be written: {error.strerror}")
    return USAGE


def _discard(stream: TextIO) -> None:
    """Let go to nowhere what cannot be written: at its end Python flushes again, and has an exit code of its own for
    what fails then.
    """
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _broken(stream: TextIO) -> bool:
    """Whether nothing that is written arrives."""
    try:
        stream.flush()
        poll = select.poll()
        poll.register(stream.fileno(), 0)
        return any(event & select.POLLERR for _, event in poll.poll(0))
    except OSError as error:  # a stream in memory has no number, which is an OSError, too
        return error.errno is not None
    except ValueError:  # it is closed
        return False


def _say(line: str) -> None:
    with suppress(OSError):
        click.echo(line, err=True)
