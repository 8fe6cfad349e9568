"""Counterexamples in other tools' formats: ITF, Mermaid, Graphviz, CSV."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, assert_never

from highwater.model.language.shape import Domain, Shape
from highwater.viewer.shown import Arrow, Counterexample, Delivery, ShownStep
from highwater.visible import visible

ITF = "https://apalache-mc.org/docs/adr/015adr-trace.html"


def itf(trace: Counterexample) -> str:
    """The Informal Trace Format of Apalache and Quint (ADR-015).

    Records are records, sets `#set`, arrays by name `#map`. Names are texts, `none` where there is none; any other
    value that may be absent is a set of at most one, so that every variable has one type. `loop` is the index of the
    state that the last one of a lasso is again.
    """
    domain = trace.system.domain
    states = [
        {
            "#meta": {
                "index": step.number,
                "action": step.name or "init",
                "arguments": dict(step.arguments),
                "actor": step.actor,
            },
            **_itf_value(domain, executed.state),
        }
        for step, executed in zip(trace.steps, trace.violation.trace, strict=True)
    ]
    meta = {
        "format": "ITF",
        "format-description": ITF,
        "description": f"{trace.title}: {trace.ending}",
        "source": trace.entry.get("file", ""),
    }
    back_to, steps = trace.violation.back_to, trace.violation.trace
    is_loop = back_to is not None and steps[back_to].state == steps[-1].state  # else only the order of epochs is
    loop = {"loop": back_to} if is_loop else {}
    return json.dumps({"#meta": meta, "vars": list(domain.fields), "states": states, **loop}, indent=1) + "\n"


def _itf_value(domain: Domain, value: Any) -> Any:
    inside = domain.inside()
    parts = [_itf_value(of, part) for of, part in domain.in_order(value)]
    match domain.shape:
        case Shape.RECORD:
            return dict(zip(inside, parts, strict=True))
        case Shape.SET:
            return {"#set": parts}
        case Shape.LIST if domain.label:
            return {"#map": [[f"{domain.label}{i}", part] for i, part in enumerate(parts)]}
        case Shape.LIST:
            return parts
        case Shape.OPTION:
            return domain.show(value) if any(of.names for of in inside.values()) else {"#set": parts}
        case Shape.NUMBER | Shape.TRUTH:
            return domain.show(value) if domain.names else value
        case Shape.NAME:
            return value if isinstance(value, bool | int) else domain.show(value)
    assert_never(domain.shape)


def mermaid(trace: Counterexample) -> str:
    """A Mermaid sequence diagram: a participant per lane, an arrow where a message is read, a note per step."""
    numbers = {lane: f"L{i}" for i, lane in enumerate(trace.lanes)}
    lines = ["sequenceDiagram", *(f"    participant {numbers[lane]} as {_mermaid_text(lane)}" for lane in trace.lanes)]
    back_to = trace.violation.back_to
    for step in trace.steps[1:]:
        here = numbers[step.lane]
        if back_to is not None and step.number == back_to + 1:
            lines.append("    loop for ever")
        for arrow in step.ended:
            stale = f", stale e{arrow.message.epoch} < e{arrow.newest}" if arrow.newest is not None else ""
            text = f"{_named(arrow)} sent in {arrow.sent}{stale}"
            line = "--x" if arrow.delivery is Delivery.DROPPED else "->>"
            sender = numbers[arrow.message.sender or trace.steps[arrow.sent].lane or trace.lanes[0]]
            lines.append(f"    {sender}{line}{numbers[arrow.reader or step.lane]}: {_mermaid_text(text)}")
        lines.append(
            f"    Note over {here}: {_mermaid_text(f'{step.number} {step.name} {step.shown_arguments}'.rstrip())}"
        )
    if any(map(trace.repeats, trace.steps)):
        assert trace.violation.back_to is not None
        lines.append("    end")
    first, *_, end = (numbers[lane] for lane in (*trace.lanes, trace.lanes[-1]))
    lines.append(f"    Note over {first},{end}: {_mermaid_text(trace.ending)}")
    return "\n".join(lines) + "\n"


def _named(arrow: Arrow) -> str:
    epoch = "" if arrow.message.epoch is None else f" e{arrow.message.epoch}"
    return f"{arrow.message.kind}{epoch}"


def _mermaid_text(text: str) -> str:
    """A text in which nothing means anything to Mermaid or to HTML."""
    return re.sub(r"[^\w .,:()=+→-]", lambda match: f"#{ord(match[0])};", visible(text))


def dot(trace: Counterexample) -> str:
    """A Graphviz graph: the steps, a column per lane, what reads from what, and messages."""
    lines = [
        "digraph trace {",
        "    rankdir=TB; node [shape=box, fontname=monospace, fontsize=10]; edge [fontname=monospace, fontsize=9];",
    ]
    lines.append(f"    label={_quoted(f'{trace.title}: {trace.verdict}')}; labelloc=t;")
    for step in trace.steps[1:]:
        label = _quoted(f"{step.number} {step.actor}", step.name, step.shown_arguments)
        style = ", style=bold" if step.distance == 1 else ", color=gray, fontcolor=gray" if step in trace.idle else ""
        lines.append(f"    s{step.number} [label={label}, group={_quoted(step.lane)}{style}];")
    last = len(trace.steps) - 1
    if name := trace.violation.property:
        lines.append(f"    violation [label={_quoted(f'{name} is false')}, color=red, fontcolor=red];")
    lines += [f"    s{a} -> s{a + 1} [color=gray80, arrowhead=none, weight=8];" for a in range(1, last)]
    if any(map(trace.repeats, trace.steps)):
        assert trace.violation.back_to is not None
        lines.append(
            f'    s{last} -> s{trace.violation.back_to + 1} [color=red, style=bold, label="for ever", '
            "constraint=false];"
        )
    for step in trace.steps[1:]:
        for writer in sorted({writer for writers in step.reads.values() for writer in writers if writer}):
            parts = ", ".join(part for part, writers in step.reads.items() if writer in writers)
            lines.append(f"    s{writer} -> s{step.number} [style=dotted, color=gray50, tooltip={_quoted(parts)}];")
    for arrow in trace.arrows:
        if arrow.ended and arrow.sent:
            colour = ", color=red" if arrow.delivery is Delivery.DROPPED or arrow.newest is not None else ""
            lines.append(f"    s{arrow.sent} -> s{arrow.ended} [label={_quoted(_named(arrow))}{colour}];")
    lines += [
        f"    s{found.since} -> violation [label={_quoted(found.part)}, color=red];"
        for found in trace.looked_at
        if found.since
    ]
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(*lines: str) -> str:
    """A Graphviz string of some lines."""
    return '"' + "\\n".join(visible(line).replace("\\", "\\\\").replace('"', '\\"') for line in lines if line) + '"'


COLUMNS = (
    "step",
    "action",
    "arguments",
    "actor",
    "lane",
    "changes",
    "sent",
    "read",
    "lost",
    "false",
    "unjudged",
    "repeats",
)


def steps_csv(trace: Counterexample) -> str:
    """The steps as comma-separated values, one row each (RFC 4180)."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow([*COLUMNS, *map(_harmless, trace.watch)])
    for step in trace.steps:
        row = (*_row(step), "for ever" if trace.repeats(step) else "", *step.watched.values())
        writer.writerow([_harmless(value) for value in row])
    return out.getvalue()


def _row(step: ShownStep) -> list[str]:
    ended = {
        how: [f"{_named(arrow)} from {arrow.sent}" for arrow in step.ended if arrow.delivery is how] for how in Delivery
    }
    return [
        str(step.number),
        step.name,
        step.shown_arguments,
        step.actor,
        step.lane,
        "; ".join(map(str, step.changes)),
        "; ".join(_named(arrows[0]) for arrows in step.sent_together),
        "; ".join(ended[Delivery.READ]),
        "; ".join(ended[Delivery.DROPPED]),
        "; ".join(sorted(step.violated)),
        "; ".join(sorted(step.unjudged)),
    ]


def _harmless(text: str) -> str:
    """A value that no spreadsheet takes for a formula. A number below 0 is none."""
    is_number = text.removeprefix("-").isdecimal()
    return f"'{visible(text)}" if text[:1] in ("=", "+", "-", "@") and not is_number else visible(text)


EXPORTS: Mapping[str, Callable[[Counterexample], str]] = {"itf": itf, "mermaid": mermaid, "dot": dot, "csv": steps_csv}
