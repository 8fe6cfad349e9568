"""Counterexamples in other tools' formats: ITF, Mermaid, Graphviz, CSV."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from highwater.viewer.story import Arrow, Delivery, Scene, Story
from highwater.visible import visible
from model.language.domain import ArrayOf, Integers, Maybe, OneOf, SequenceOf, SetOf, Struct

ITF = "https://apalache-mc.org/docs/adr/015adr-trace.html"


def itf(story: Story) -> str:
    """The Informal Trace Format of Apalache and Quint (ADR-015).

    Records are records, sets `#set`, arrays by name `#map`. Names are texts, `none` where there is none; any other
    value that may be absent is a set of at most one, so that every variable has one type. `loop` is the index of the
    state that the last one of a lasso is again.
    """
    domain = story.system.domain
    states = [
        {
            "#meta": {
                "index": scene.number,
                "action": scene.name or "init",
                "arguments": dict(scene.arguments),
                "actor": scene.actor,
            },
            **_itf_value(domain, step.state),
        }
        for scene, step in zip(story.scenes, story.violation.trace, strict=True)
    ]
    meta = {
        "format": "ITF",
        "format-description": ITF,
        "description": f"{story.title}: {story.violation.property} is false: {story.violation.witness}",
        "source": story.entry.get("file", ""),
    }
    loop = {} if story.violation.back_to is None else {"loop": story.violation.back_to}
    return json.dumps({"#meta": meta, "vars": list(domain.fields), "states": states, **loop}, indent=1) + "\n"


def _itf_value(domain: Any, value: Any) -> Any:
    match domain:
        case Struct(fields=fields):
            return {name: _itf_value(of, getattr(value, name)) for name, of in fields.items()}
        case SetOf(of=of):
            return {"#set": [_itf_value(of, member) for member in of.values() if member in value]}
        case ArrayOf(of=of, label=label):
            if label:
                return {"#map": [[f"{label}{i}", _itf_value(of, element)] for i, element in enumerate(value)]}
            return [_itf_value(of, element) for element in value]
        case SequenceOf(of=of):
            return [_itf_value(of, element) for element in value]
        case Maybe(of=Integers(names=names)) if names:
            return domain.show(value)
        case Maybe(of=of):
            return {"#set": [] if value is None else [_itf_value(of, value)]}
        case Integers(names=names) if names:
            return domain.show(value)
        case OneOf() if not isinstance(value, bool | int):
            return domain.show(value)
    return value


def mermaid(story: Story) -> str:
    """A Mermaid sequence diagram: a participant per lane, an arrow where a message is read, a note per step."""
    numbers = {lane: f"L{i}" for i, lane in enumerate(story.lanes)}
    lines = ["sequenceDiagram", *(f"    participant {numbers[lane]} as {_mermaid_text(lane)}" for lane in story.lanes)]
    back_to = story.violation.back_to
    for scene in story.scenes[1:]:
        here = numbers[scene.lane]
        if back_to is not None and scene.number == back_to + 1:
            lines.append("    loop for ever")
        for arrow in scene.ended:
            stale = f", stale e{arrow.message.epoch} < e{arrow.newest}" if arrow.newest is not None else ""
            text = f"{_named(arrow)} sent in {arrow.sent}{stale}"
            line = "--x" if arrow.delivery is Delivery.DROPPED else "->>"
            sender = numbers[arrow.message.sender or story.scenes[arrow.sent].lane or story.lanes[0]]
            lines.append(f"    {sender}{line}{numbers[arrow.reader or scene.lane]}: {_mermaid_text(text)}")
        lines.append(
            f"    Note over {here}: {_mermaid_text(f'{scene.number} {scene.name} {scene.shown_arguments}'.rstrip())}"
        )
    if any(map(story.repeats, story.scenes)):
        lines.append("    end")
    last = f"{story.violation.property} is false: {story.violation.witness or 'no reason given'}"
    first, *_, end = (numbers[lane] for lane in (*story.lanes, story.lanes[-1]))
    lines.append(f"    Note over {first},{end}: {_mermaid_text(last)}")
    return "\n".join(lines) + "\n"


def _named(arrow: Arrow) -> str:
    epoch = "" if arrow.message.epoch is None else f" e{arrow.message.epoch}"
    return f"{arrow.message.kind}{epoch}"


def _mermaid_text(text: str) -> str:
    """A text in which nothing means anything to Mermaid or to HTML."""
    return re.sub(r"[^\w .,:()=+→-]", lambda match: f"#{ord(match[0])};", visible(text))


def dot(story: Story) -> str:
    """A Graphviz graph: the steps, a column per lane, what reads from what, and messages."""
    lines = [
        "digraph trace {",
        "    rankdir=TB; node [shape=box, fontname=monospace, fontsize=10]; edge [fontname=monospace, fontsize=9];",
    ]
    lines.append(f"    label={_quoted(f'{story.title}: {story.violation.property} is false')}; labelloc=t;")
    for scene in story.scenes[1:]:
        label = _quoted(f"{scene.number} {scene.actor}", scene.name, scene.shown_arguments)
        style = (
            ", style=bold" if scene.distance == 1 else ", color=gray, fontcolor=gray" if scene.distance is None else ""
        )
        lines.append(f"    s{scene.number} [label={label}, group={_quoted(scene.lane)}{style}];")
    last = len(story.scenes) - 1
    lines.append(f"    violation [label={_quoted(story.violation.property + ' is false')}, color=red, fontcolor=red];")
    lines += [f"    s{a} -> s{a + 1} [color=gray80, arrowhead=none, weight=8];" for a in range(1, last)]
    if any(map(story.repeats, story.scenes)):
        lines.append(
            f'    s{last} -> s{story.violation.back_to + 1} [color=red, style=bold, label="for ever", '
            "constraint=false];"
        )
    for scene in story.scenes[1:]:
        for writer in sorted({step for steps in scene.reads.values() for step in steps if step}):
            parts = ", ".join(part for part, steps in scene.reads.items() if writer in steps)
            lines.append(f"    s{writer} -> s{scene.number} [style=dotted, color=gray50, tooltip={_quoted(parts)}];")
    for arrow in story.arrows:
        if arrow.ended and arrow.sent:
            colour = ", color=red" if arrow.delivery is Delivery.DROPPED or arrow.newest is not None else ""
            lines.append(f"    s{arrow.sent} -> s{arrow.ended} [label={_quoted(_named(arrow))}{colour}];")
    lines += [
        f"    s{found.since} -> violation [label={_quoted(found.part)}, color=red];"
        for found in story.looked_at
        if found.since
    ]
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(*lines: str) -> str:
    """A Graphviz string of some lines."""
    return '"' + "\\n".join(visible(line).replace("\\", "\\\\").replace('"', '\\"') for line in lines if line) + '"'


COLUMNS = ("step", "action", "arguments", "actor", "lane", "changes", "sent", "read", "lost", "false", "repeats")


def steps_csv(story: Story) -> str:
    """The steps as comma-separated values, one row each (RFC 4180)."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for scene in story.scenes:
        writer.writerow([_harmless(value) for value in (*_row(scene), "for ever" if story.repeats(scene) else "")])
    return out.getvalue()


def _row(scene: Scene) -> list[str]:
    ended = {
        how: [f"{_named(arrow)} from {arrow.sent}" for arrow in scene.ended if arrow.delivery is how]
        for how in Delivery
    }
    return [
        str(scene.number),
        scene.name,
        scene.shown_arguments,
        scene.actor,
        scene.lane,
        "; ".join(map(str, scene.changes)),
        "; ".join(_named(arrows[0]) for arrows in scene.sent_together),
        "; ".join(ended[Delivery.READ]),
        "; ".join(ended[Delivery.DROPPED]),
        "; ".join(sorted(scene.violated)),
    ]


def _harmless(text: str) -> str:
    """A value that no spreadsheet takes for a formula."""
    return f"'{visible(text)}" if text[:1] in ("=", "+", "-", "@") else visible(text)


EXPORTS: Mapping[str, Callable[[Story], str]] = {"itf": itf, "mermaid": mermaid, "dot": dot, "csv": steps_csv}
