"""Counterexamples and verdicts as HTML: each page one file that needs nothing else, no network included."""

from __future__ import annotations

import base64
import functools
import hashlib
import os
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import jinja2
from markupsafe import Markup, escape

from highwater.claims import own
from highwater.claims.positions import in_repository
from highwater.explorer.memory import in_bytes
from highwater.reports.replaying import Subject
from highwater.viewer.comparison import Comparison
from highwater.viewer.explored import plots_of, shaded
from highwater.viewer.shown import Counterexample, Delivery, ShownLog, ShownStep, ShownTrace
from highwater.viewer.wording import settings_in_words, title_of
from highwater.visible import counted, visible

TEMPLATES = Path(__file__).parent / "templates"


def _visible(value: Any) -> Any:
    """A text made safe to look at; markup, and what is no text, as it is."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def trace_page(trace: Counterexample, index: str = "", page: str = "", *, is_file: bool = True) -> str:
    """The page of one counterexample.

    Args:
        is_file: whether a command can open it.
        page: the name of its file, for the command that opens it; made from the claim's name if empty.
        index: the address of the page of all verdicts, relative to this one; none if empty.
    """
    track = track_of(trace)
    data = {
        "arrows": arrows_of(trace),
        "reads": [sorted({writer for writers in step.reads.values() for writer in writers}) for step in trace.steps],
        "back_to": trace.violation.back_to,
        "slice": [step.number for step in trace.steps if step.distance is not None],
    }
    steady = [name for name in trace.properties if name not in track]
    page = page or f"{trace.title}.html"
    return render(
        "trace.html",
        trace=trace,
        index=index,
        track=track,
        steady=steady,
        needed=_needed(trace.steps),
        repeats=[step.number for step in trace.steps if trace.repeats(step)],
        plots=plots_of(trace.entry.get("levels"), trace.entry.get("actions"), trace.entry.get("work")),
        explore={"page": page, "command": " ".join(["highwater explore", page, *_model_path(trace.entry["model"])])}
        if is_file
        else None,
        seen=_seen(trace.entry),
        lines=_lines(trace),
        data=data,
    )


def _seen(entry: Mapping[str, Any]) -> dict[str, Any] | None:
    """What an implementation did at the end of a trace, as a report has it; None if it has none, or something else."""
    seen = entry.get("seen")
    if not isinstance(seen, dict) or not isinstance(seen.get("says"), str):
        return None
    listed = {key: each if isinstance(each := seen.get(key), list) else [] for key in ("misfits", "allowed")}
    columns = ("part", "model", "seen")
    misfits = [[each.get(key, "") for key in columns] for each in listed["misfits"] if isinstance(each, dict)]
    return {"says": seen["says"], "step": seen.get("step"), "allowed": listed["allowed"], "misfits": misfits}


def _lines(trace: Counterexample) -> list[Any]:
    """Of a trace that explains a log, the line that each step explains."""
    follow = trace.entry.get("follow")
    at = follow.get("at") if isinstance(follow, dict) else None
    return at if isinstance(at, list) and len(at) == len(trace.steps) else []


def search_page(entry: Mapping[str, Any], index: str = "", subject: Subject | None = None) -> str:
    """The page of a claim without a counterexample: what was explored.

    Args:
        entry: the report's.
        index: the address of the page of all verdicts, relative to this one; none if empty.
        subject: what the entry speaks of; without it, toggles and bounds are all listed.
    """
    protocol, bounds = settings_in_words(entry, subject)
    return render(
        "search.html",
        entry=entry,
        index=index,
        protocol=protocol,
        bounds=bounds,
        checked=[*entry["check"], *([f"refines {entry['refines']['model']}"] if entry.get("refines") else [])],
        plots=plots_of(entry["levels"], entry["actions"], entry.get("work")),
        files=shaded({file: {int(line): n for line, n in of.items()} for file, of in entry["lines"].items()}),
    )


def source_of(lines: Mapping[str, Mapping[int, int]]) -> str:
    """The lines of sources, each with the paths that ran it, as a part of a page."""
    explored: Any = _environment().get_template("explored.html").module
    return str(explored.source(shaded(lines)))


def _model_path(model: str) -> list[str]:
    """What a command needs to find a model of one's own."""
    folders = own.folders_of([model]) if own.is_reference(model) else ()
    return [f"--model-path {shlex.quote(os.path.relpath(folder))}" for folder in folders]


def track_of(trace: ShownTrace) -> list[str]:
    """The properties that have a column: those that were checked, and those that are false somewhere or not judged."""
    seen = trace.checked.union(*(step.violated | step.unjudged for step in trace.steps))
    return [name for name in trace.properties if name in seen]


def arrows_of(trace: ShownTrace, side: int = 0) -> list[dict[str, Any]]:
    """The messages as the script draws them."""
    deliveries = {Delivery.READ: "read", Delivery.DROPPED: "dropped", Delivery.IN_FLIGHT: "flying"}
    return [
        {
            "side": side,
            "sent": arrow.sent,
            "ended": arrow.ended,
            "sender": arrow.message.sender or trace.steps[arrow.sent].lane or trace.lanes[0],
            "reader": arrow.reader or arrow.message.receiver,
            "delivery": deliveries[arrow.delivery],
            "stale": arrow.newest is not None,
        }
        for arrow in trace.arrows
        if arrow.reader or arrow.message.receiver
    ]


def _needed(steps: Sequence[ShownStep]) -> list[list[int]]:
    """For each step, the later steps that read what it wrote."""
    needed: list[list[int]] = [[] for _ in steps]
    for step in steps:
        for writer in sorted({writer for writers in step.reads.values() for writer in writers}):
            needed[writer].append(step.number)
    needed[0] = []
    return needed


def compare_page(comparison: Comparison) -> str:
    """The page of one schedule under two protocols."""
    data = {"arrows": arrows_of(comparison.ours) + arrows_of(comparison.theirs, 1), "reads": [], "at": comparison.first}
    return render("compare.html", comparison=comparison, data=data)


@attrs.frozen
class IndexRow:
    """A report's entry, and the address of its page, if it has one."""

    entry: Mapping[str, Any]
    page: str = ""


def index_page(
    rows: Sequence[IndexRow],
    incomplete: str = "",
    coverage: Sequence[Mapping[str, Any]] = (),
    releases: Sequence[Mapping[str, Any]] = (),
) -> str:
    """The page of all verdicts of a run.

    Args:
        incomplete: why there are no more of them, if it has not ended.
        coverage: what the claims of each model reach together, as the report has it.
        releases: what came out under which releases, as the report has it.
    """
    statuses = [row.entry["status"] for row in rows]
    counts = [
        (status, statuses.count(status)) for status in ("met", "unmet", "undecided", "answered") if status in statuses
    ]
    groups: dict[str, list[IndexRow]] = {}
    for row in rows:
        groups.setdefault(os.path.dirname(str(row.entry.get("file") or "")), []).append(row)
    return render(
        "index.html",
        rows=rows,
        groups=sorted(groups.items()),
        counts=counts,
        incomplete=incomplete,
        coverage=coverage,
        releases=releases,
    )


def _by_status(rows: Sequence[IndexRow]) -> list[tuple[str, int]]:
    statuses = [row.entry["status"] for row in rows]
    return [(status, statuses.count(status)) for status in dict.fromkeys(statuses)]


def page_name(name: str, taken: Iterable[str]) -> str:
    """A file name for the page of a claim, made of letters, digits and hyphens, and not taken yet."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-")[:120] or "claim"
    candidates = (f"{plain}{'' if number == 1 else f'-{number}'}.html" for number in range(1, 1_000_000))
    used = {other.lower() for other in taken} | {"index.html"}
    return next(candidate for candidate in candidates if candidate.lower() not in used)


def described(shown: ShownLog) -> str:
    """A log in words, for who does not see it."""
    log = shown.log
    blocks = [
        f"offset {place.offset} {place.block.text}"
        + ("" if place.block.epoch is None else f" epoch {place.block.epoch}")
        + {"new": " appended now", "gone": " cut away now"}.get(
            place.change, " committed" if place.committed and log.high_watermark is not None else ""
        )
        + (" differs from the leader" if place.diverges else "")
        for place in shown.offsets
        if place.block
    ]
    high_watermark = "" if log.high_watermark is None else f", high watermark {log.high_watermark}"
    return f"{log.name}: {', '.join(blocks) or 'empty'}{high_watermark}, log end {log.end}"


def _breakable(name: str) -> Markup:
    """A name that may be broken after its underscores."""
    return Markup(str(escape(visible(name))).replace("_", "_<wbr>"))


def _linked(text: Any) -> Markup:
    """A text in which issues of Kafka and repositories on GitHub are links."""
    shown = str(escape(visible(str(text))))
    shown = re.sub(
        r"\b(KAFKA-\d+)\b", r'<a href="https://issues.apache.org/jira/browse/\1" rel="noreferrer">\1</a>', shown
    )
    return Markup(
        re.sub(r"(?<![\w/.])(github\.com/[\w.-]+/[\w.-]*\w)", r'<a href="https://\1" rel="noreferrer">\1</a>', shown)
    )


def _place(file: str, line: int) -> str:
    return f"{in_repository(Path(file))}:{line}"


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        finalize=_visible,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "breakable": _breakable,
        "by_status": _by_status,
        "bytes": lambda number: in_bytes(number) if isinstance(number, int) else "not known",
        "counted": counted,
        "linked": _linked,
        "described": described,
        "place": lambda choice: _place(choice.refused.file, choice.refused.line),
        "place_of": lambda missed: _place(missed["file"], missed["line"]),
        "words": title_of,
    }
    scripts = {name: (TEMPLATES / f"{name}.js").read_text(encoding="utf-8") for name in ("script", "explore")}
    hashes = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts.values())
    environment.globals |= {
        "style": Markup((TEMPLATES / "style.css").read_text(encoding="utf-8")),
        "script_hashes": Markup(" ".join(f"'sha256-{each}'" for each in hashes)),
        **{name: Markup(text) for name, text in scripts.items()},
    }
    return environment


def script_hashes() -> str:
    """The scripts of all pages, as a policy for a page around them has to allow them."""
    return str(_environment().globals["script_hashes"])


def render(template: str, **values: Any) -> str:
    """A page of one of the templates."""
    return _environment().get_template(template).render(values)
