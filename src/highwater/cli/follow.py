"""`highwater follow`: a log of one's own implementation, searched for in the model."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from highwater.cli.options import MET, PATH, UNKNOWN, UNMET, Count, model_path, refusing


@click.command()
@click.argument("path", metavar="SPEC", type=PATH)
@click.argument("log", metavar="LOG", type=PATH)
@click.option(
    "--unlogged",
    multiple=True,
    metavar="ACTION",
    help="Between two lines this action may happen any number of times; may be given several times.",
)
@click.option(
    "--max-states",
    type=Count(min=1),
    default=100_000,
    show_default=True,
    metavar="N",
    help="Give up where more states are possible after a line.",
)
@click.option("--json", "json_path", type=PATH, metavar="FILE", help="Write what was found, for `highwater trace`.")
@click.option("--html", "html_path", type=PATH, metavar="FILE", help="Write the behaviour as one self-contained page.")
@model_path
def follow(
    path: Path,
    log: Path,
    unlogged: tuple[str, ...],
    max_states: int,
    json_path: Path | None,
    html_path: Path | None,
) -> None:
    """Search for LOG, what an implementation did, in the model of SPEC.

    A line of LOG is a JSON object: {"action": "acquire", "arguments": {"client": 0}, "state": {"granted": 1}}. Each may
    leave out what it does not know. Without "action" it is a step of any action, and with null it is none.

    The answer is a behaviour of the model that explains all lines, or the first line that no behaviour explains.

    Exit codes: 0 the log is explained; 1 a line is not; 2 spec, log or usage are wrong; 3 not known, as a bound cuts
    what may explain it, or too many states are possible; 70 a defect of Highwater; 130 interrupted.
    """
    from highwater.claims.log_search import Finding, follow_log
    from highwater.claims.logs import LogError
    from highwater.claims.spec import SpecError, load_spec
    from highwater.cli.outputs import try_out
    from highwater.explorer.blame import ModelError, blaming_the_model
    from highwater.files import ReportError, write_text
    from highwater.reports.following import explanation_report, show_explanation
    from highwater.reports.progress import make_console
    from highwater.reports.results import write_json
    from highwater.viewer.index import page_of

    with refusing(SpecError, LogError, ModelError, ReportError), blaming_the_model():
        spec = load_spec(path)
        try_out({"json": json_path, "html": html_path}, [path, log])
        found = follow_log(spec, log, unlogged, max_states)
        show_explanation(make_console(), found)
        report = explanation_report(found)
        if json_path is not None:
            write_json(json_path, report)
        if html_path is not None:
            write_text(html_path, page_of(report["results"][0], spec, found.way[-1].trace, html_path.name))
    sys.exit({Finding.EXPLAINED: MET, Finding.REFUSED: UNMET, Finding.UNKNOWN: UNKNOWN}[found.finding])
