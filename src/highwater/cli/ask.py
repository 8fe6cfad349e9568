"""`highwater ask`: can this happen to my cluster?"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from highwater.cli.options import MET, PATH, UNMET, USAGE, Count, complain


@click.command()
@click.argument("name", metavar="[QUESTION]", required=False)
@click.option(
    "--from",
    "source",
    type=PATH,
    metavar="FILE|DIR",
    help="Read release, topics and settings from output of kafka-topics.sh, kafka-configs.sh and kafka-features.sh "
    "--describe, from Strimzi's YAML, or from log directories or a snapshot of the metadata: a table of questions by "
    "topics, worst first.",
)
@click.option("--list", "listed", is_flag=True, help="List the questions.")
@click.option("--release", metavar="N", help="The release of brokers and controllers, such as 3.9.2.  [default: 4.4]")
@click.option("--replication-factor", type=int, metavar="N", help="Replicas of the partition, 1..3.  [default: 3]")
@click.option("--min-isr", type=int, metavar="N", help="min.insync.replicas of the topic.  [default: 2]")
@click.option("--acks", metavar="0|1|all", help="acks of the producers.  [default: all]")
@click.option("--unclean", is_flag=True, default=None, help="unclean.leader.election.enable is on.")
@click.option(
    "--elr/--no-elr", default=None, help="Eligible leader replicas are on.  [default: as in a new cluster, since 4.1]"
)
@click.option(
    "--during",
    multiple=True,
    metavar="WHAT",
    help="Something else happens meanwhile: controller-fail-over or preferred-election; may be given several times.",
)
@click.option("--alone", is_flag=True, help="Ask neither what would prevent it, nor other releases.")
@click.option("--expect", type=click.Choice(["yes", "no"]), help="End with exit code 1 if the answer is another one.")
@click.option("--json", "json_path", type=PATH, metavar="FILE", help="Write the answer as JSON.")
@click.option("--html", "html_path", type=PATH, metavar="FILE", help="Write a page: the trace, or what was explored.")
def ask(
    name: str | None,
    source: Path | None,
    *,
    listed: bool,
    alone: bool,
    expect: str | None,
    json_path: Path | None,
    html_path: Path | None,
    **given: Any,
) -> None:
    """Ask whether something can happen to a cluster, such as `highwater ask rolling-restart --release 3.9.2`.

    The answer is yes, no within the bounds that it names, or not known. With "yes" it says until when, which setting
    prevents it, which releases answer otherwise, and whether it was seen on a cluster. Without a QUESTION, and on a
    terminal, the command asks for each of these.

    Exit codes: 0 whatever the answer is; 1 --expect names another one; 2 the usage is wrong; 130 interrupted.
    """
    from highwater.asking.questions import catalogue
    from highwater.claims.spec import SpecError
    from highwater.claims.tables import Wrong
    from highwater.cli.outputs import try_out
    from highwater.files import ReportError
    from highwater.reports.asking import show_answer, show_questions
    from highwater.reports.progress import make_console

    outputs = {"--expect": expect, "--html": html_path}
    settings = {f"--{key.replace('_', '-')}": given[key] for key in ("min_isr", "replication_factor", "unclean")}
    if listed:
        _refuse("--list", {**outputs, "--json": json_path})
    if source is not None:
        _refuse("--from", {**outputs, **settings})
    console = make_console()
    if listed:
        show_questions(console, catalogue().values())
        sys.exit(MET)
    try:
        try_out({"json": json_path, "html": html_path}, [source] if source else [])
        if source is not None:
            _ask_of_all_topics(source, name, given, json_path)
            sys.exit(MET)
        if name is None:
            name, given = _from_a_person(given)
        found = _answered(name, {key: value for key, value in given.items() if value is not None}, alone=alone)
        show_answer(console, found)
        _write(found, json_path, html_path)
    except (Wrong, SpecError, ReportError) as error:
        complain(_by_option(error, given))
        sys.exit(USAGE)
    sys.exit(UNMET if expect is not None and found.says.value != expect else MET)


def _by_option(error: Exception, settings: Iterable[str]) -> Exception:
    """What is wrong with a setting, by the name of its option."""
    key, colon, words = str(error).partition(": ")
    return ValueError(f"--{key.replace('_', '-')}{colon}{words}") if key in settings else error


def _refuse(option: str, others: dict[str, Any]) -> None:
    """Refuse what would be ignored beside an option."""
    for other, value in others.items():
        if value is not None:
            raise click.UsageError(f"{other} has no meaning with {option}")


def _ask_of_all_topics(source: Path, name: str | None, given: dict[str, Any], json_path: Path | None) -> None:
    """Ask a question, or all of them, of each class of topics that files describe."""
    from highwater.asking.questions import catalogue, question_named
    from highwater.asking.reading import read
    from highwater.asking.tables import release_of, rows_of
    from highwater.reports.asking import cluster_as_data, show_cluster
    from highwater.reports.progress import Live, make_console
    from highwater.reports.results import write_json

    cluster = read(source)
    release, questions = release_of(cluster, given), [question_named(name)] if name else list(catalogue().values())
    known = {key: value for key, value in given.items() if value is not None and key in ("acks", "during", "elr")}
    settings = {"elr": cluster.elr, **known, "release": release}
    with Live(make_console(stderr=True), "") as live:
        rows = rows_of(cluster, questions, settings, lambda words, progress: live.show(f"{words}?"))
    show_cluster(make_console(), cluster, release, rows)
    if json_path is not None:
        write_json(json_path, cluster_as_data(cluster, release, rows))


def _answered(name: str, given: dict[str, Any], *, alone: bool) -> Any:
    """The answer, with a line of progress."""
    from highwater.asking.answering import answer
    from highwater.asking.questions import question_named
    from highwater.asking.settings import settings_for
    from highwater.reports.progress import Live, make_console, progress_lines

    question = question_named(name)
    settings = settings_for(question, **given)
    with Live(make_console(stderr=True), "") as live:
        return answer(
            question,
            settings,
            lambda words, progress: live.show(f"{words}?", *(progress_lines(progress) if progress else ())),
            alone=alone,
            keep=True,
        )


def _write(found: Any, json_path: Path | None, html_path: Path | None) -> None:
    """Write what was asked for."""
    from highwater.files import ReportError, write_text
    from highwater.reports.asking import answer_as_data
    from highwater.reports.replaying import subject_of
    from highwater.reports.results import entry_of, write_json

    if json_path is not None:
        write_json(json_path, answer_as_data(found))
    if html_path is None:
        return
    part = found.decisive
    if part is None or part.result is None:
        raise ReportError(f"{html_path}: no page, as no model was asked")
    from highwater.viewer.index import counterexample_in  # imports jinja2
    from highwater.viewer.pages import search_page, trace_page

    entry = {**entry_of(part.result), "name": found.question.name, "changes": []}
    page = trace_page(counterexample_in(entry)) if entry["trace"] else search_page(entry, subject=subject_of(entry))
    write_text(html_path, page)


def _from_a_person(given: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The question and settings, asked one after the other; what options say is not asked.

    Raises:
        UsageError: nobody sits there.
    """
    if not sys.stdin.isatty():
        raise click.UsageError("name a QUESTION, or --list them all")
    from highwater.asking.questions import catalogue
    from highwater.asking.settings import MOST_REPLICAS, Settings
    from highwater.reports.asking import show_questions
    from highwater.reports.progress import make_console

    show_questions(make_console(), catalogue().values())
    name = click.prompt("question", type=click.Choice(list(catalogue())), show_choices=False)
    question, usual = catalogue()[name], Settings()
    asked: dict[str, tuple[str, Any]] = {
        "release": ("release", None),
        "replication_factor": ("replication factor", Count(1, MOST_REPLICAS)),
        "min_isr": ("min.insync.replicas", Count(1, MOST_REPLICAS)),
        "acks": ("acks", None),
        "unclean": ("unclean.leader.election.enable", bool),
    }
    for key, (words, kind) in asked.items():
        if given.get(key) is None and key not in question.settings:
            given[key] = click.prompt(words, type=kind, default=question.usual.get(key, getattr(usual, key)))
    return name, given
