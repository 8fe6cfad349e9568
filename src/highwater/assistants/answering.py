"""The process that answers one call, and then ends: `python -m highwater.assistants.answering`.

What is asked comes on standard input as JSON. On standard output come lines of JSON: how far a search is, and at last
the answer, or why there is none. What a model prints goes nowhere.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

from highwater.assistants.contract import Answered, short

LONGEST_REFUSAL = 1_000


def answered(asked: Mapping[str, Any], report: Any) -> dict[str, Any]:
    """The last line: an `answer`, with the `entry` of a counterexample; or why it is `refused`; or, of a defect, the
    `traceback`; or `interrupted`.
    """
    from highwater.assistants.place import Place, confined
    from highwater.assistants.tools import TOOLS
    from highwater.claims.names import ExpressionError
    from highwater.claims.spec import SpecError
    from highwater.claims.tables import Wrong
    from highwater.explorer.blame import Contradiction, ModelError
    from highwater.exploring.session import SessionError
    from highwater.files import ReportError

    tool = TOOLS[asked["tool"]]
    try:
        place = confined(Path(asked["root"]), asked["model_path"])
        place = Place(place.root, asked["entries"], report)
        made = tool.run(tool.read(asked["arguments"]), place)
    except KeyboardInterrupt:
        return {"interrupted": True}
    except Wrong as wrong:
        return _refused(*wrong.problems)
    except (SpecError, ReportError, ModelError, ExpressionError, SessionError, Contradiction, OSError) as error:
        return _refused(str(error))
    except BaseException as error:  # a model may raise what is no Exception
        return _unexpected(error)
    if isinstance(made, Answered):
        return {"answer": tool.written(made.answer), "entry": made.entry}
    return {"answer": tool.written(made), "entry": None}


def _refused(*problems: str) -> dict[str, Any]:
    from highwater.visible import visible

    lines = [" ".join(line.split()) for each in problems for line in each.split("\n")]
    return {"refused": short(visible("; ".join(filter(None, lines))), LONGEST_REFUSAL)}


def _unexpected(error: BaseException) -> dict[str, Any]:
    from highwater.explorer.blame import line_of, said_by

    if at := line_of(error):
        return _refused(f"the model raised {said_by(error)}; {at}")
    if isinstance(error, RecursionError):
        return _refused("what was asked is nested too deeply")
    if isinstance(error, MemoryError):
        return _refused("out of memory; lower a bound")
    return {"traceback": "".join(traceback.format_exception(error))}


def main() -> None:
    """Answer what standard input asks."""
    _be_ended_first()
    answers = _out_of_reach()
    asked = json.load(sys.stdin)
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)

    def report(so_far: Mapping[str, Any]) -> None:
        print(json.dumps({"so_far": so_far}), file=answers, flush=True)

    signal.signal(signal.SIGINT, signal.default_int_handler)
    last = answered(asked, report)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    print(json.dumps(last), file=answers, flush=True)
    if (compilers := sys.modules.get("highwater.explorer.kernels.making.compilers")) is not None:
        compilers.let_go_on()
    os._exit(0)  # threads of a model would be waited for


def _be_ended_first() -> None:
    """With the server, by whatever ends it; and before it, where memory is short."""
    from highwater.claims.side_by_side import die_with_parent

    die_with_parent()
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def _out_of_reach() -> TextIO:
    """Standard output for answers alone: what else prints, prints to nowhere."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return answers


if __name__ == "__main__":
    main()
