"""Pages as text: that they need nothing else, that they hold what there is to see, and that nothing in them is markup
but theirs.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import attrs
import pytest

from highwater.claims.checking import check_spec
from highwater.explorer.system import System
from highwater.explorer.verdict import Violation
from highwater.files import ReportError
from highwater.model.language.picture import Block, Fact, Lane, Log, Message, Picture
from highwater.reports.results import entry_of
from highwater.viewer.index import counterexample_in, write_pages
from highwater.viewer.pages import IndexRow, index_page, page_name, search_page, trace_page
from highwater.viewer.showing import counterexample_of
from highwater.viewer.shown import Counterexample
from highwater.visible import visible

HOSTILE = [
    "<script>alert(1)</script>",
    "</style><b>",
    "{{ 7 * 7 }}",
    "\x1b[31mred\x1b[0m",
    "a\u202eb",
    '"><img src=x onerror=alert(1)>',
    "\x00\u2028",
]
VOID = {"meta", "link", "input", "br", "wbr", "hr", "img"}


class Reader(HTMLParser):
    """The elements of a page; complains of any that is not closed in its place."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.scripts: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert not self._open, self._open

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        (self.scripts if self._open and self._open[-1] == "script" else self.text).append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).split())


@pytest.fixture(scope="module")
def pages(toy_trace: Counterexample, long_trace: Counterexample, any_trace: Counterexample) -> dict[str, str]:
    return {"toy": trace_page(toy_trace), "long": trace_page(long_trace), "any": trace_page(any_trace)}


@pytest.mark.parametrize("which", ["toy", "long", "any"])
def test_a_page_is_one_well_formed_file_without_any_reference_to_another(pages: dict[str, str], which: str) -> None:
    page = Reader(pages[which])
    loaded = [
        (tag, a.get("src") or a.get("href"))
        for tag, a in page.elements
        if tag in ("script", "link", "img", "iframe") and (a.get("src") or a.get("href"))
    ]
    assert loaded == [("link", "data:,")]
    style = re.search(r"<style>(.*?)</style>", pages[which], re.DOTALL)[1]
    assert "url(" not in style
    assert "@import" not in style
    identifiers = [a["id"] for _, a in page.elements if a.get("id")]
    assert len(identifiers) == len(set(identifiers))


@pytest.mark.parametrize("which", ["toy", "long", "any"])
def test_only_the_pages_own_script_may_run(pages: dict[str, str], which: str) -> None:
    page = Reader(pages[which])
    policy = next(a["content"] for a in page.all("meta") if a.get("http-equiv") == "Content-Security-Policy")
    (script,) = [text for text in page.scripts if '"use strict"' in text]
    assert f"script-src 'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" in policy
    assert policy.startswith("default-src 'none'")
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]


def test_every_step_has_a_row_and_its_details(long_trace: Counterexample, pages: dict[str, str]) -> None:
    page = Reader(pages["long"])
    assert [a["data-step"] for a in page.all("tr") if "data-step" in a] == [
        str(step.number) for step in long_trace.steps
    ]
    assert [a["id"] for a in page.all("section") if (a.get("id") or "").startswith("detail-")] == [
        f"detail-{s.number}" for s in long_trace.steps
    ]


def test_links_to_steps_lead_to_steps_that_there_are(long_trace: Counterexample, pages: dict[str, str]) -> None:
    page = Reader(pages["long"])
    steps = {int(a["href"].removeprefix("#step=")) for a in page.all("a") if (a.get("href") or "").startswith("#step=")}
    assert steps <= {step.number for step in long_trace.steps}
    assert len(steps) > 10


def test_steps_of_no_consequence_are_dimmed_and_the_decisive_ones_marked(
    long_trace: Counterexample, pages: dict[str, str]
) -> None:
    rows = {int(a["data-step"]): a["class"].split() for a in Reader(pages["long"]).all("tr") if "data-step" in a}
    for step in long_trace.steps[1:]:
        assert ("idle" in rows[step.number]) == (step.distance is None)
        assert ("direct" in rows[step.number]) == (step.distance == 1)


def test_the_page_shows_witness_meaning_and_source(toy_trace: Counterexample, pages: dict[str, str]) -> None:
    words = Reader(pages["toy"]).words
    assert "b0 committed another record at offset 0 than b1 has" in words
    assert "The controller elects a broker and tells everybody." in words
    assert "kafka.controller.KafkaController#onBrokerFailure (0.11); KAFKA-1211 ." in words
    assert 'href="https://issues.apache.org/jira/browse/KAFKA-1211"' in pages["toy"]


def test_data_for_the_script_are_json(long_trace: Counterexample, pages: dict[str, str]) -> None:
    entry, data = [text for text in Reader(pages["long"]).scripts if '"use strict"' not in text]
    assert json.loads(entry) == long_trace.entry
    found = json.loads(data)
    assert len(found["arrows"]) == len(long_trace.arrows)
    assert len(found["reads"]) == len(long_trace.steps)


# --- hostile content


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_shows_as_text(toy: Callable[..., tuple[System, Violation]], text: str) -> None:
    system, violation = toy(20)

    def draw(domain: Any, state: Any) -> Picture:
        lane = Lane(logs=(Log((Block(text, 0),), 0, room=2, name=text),), facts=(Fact(text, text),))
        return Picture({"controller": lane, text: lane}, (Message(1, text, text, text, text, 1),))

    from highwater.model.language.picture import Drawing

    entry = {
        "name": text,
        "model": text,
        "protocol": {text: text},
        "bounds": {text: text},
        "file": text,
        "source": text,
    }
    hostile = attrs.evolve(violation, witness=text)
    page = trace_page(counterexample_of(entry, system, hostile, drawing=Drawing(draw)))
    reader = Reader(page)
    assert {tag for tag, _ in reader.elements} <= TAGS
    assert not [name for _, attributes in reader.elements for name in attributes if name.startswith("on")]
    assert visible(text).replace("_", " ") in "".join(reader.text).replace("_", " ")
    assert not set(page) & {"\x1b", "\x00", "\u202e", "\u2028"}
    assert (
        index_page(
            [IndexRow({**ROW, "name": text, "file": text, "property": text, "mismatches": [text]}, "x.html")]
        ).count("<script")
        == 1
    )


WORDS = """
html head meta title link style body a header p h1 h2 h3 strong span div section ul ol li code dl dt dd b i label input
output button details summary kbd main svg table thead tbody tr th td aside del ins footer script wbr
nav fieldset legend select option
"""
TAGS = frozenset(WORDS.split())
ROW = {
    "name": "x", "file": "x.toml", "status": "unmet", "verdict": "violated", "reason": "", "property": "p",
    "trace_length": 3, "distinct_states": 10, "depth": 3, "seconds": 0.1, "mismatches": [],
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\nb", "a\\u000ab"),
        ("\x1b[1m", "\\u001b[1m"),
        ("\u202e", "\\u202e"),
        ("größe → ok", "größe → ok"),
        ("\U000e0041", "\\U000e0041"),
    ],
)
def test_invisible_characters_are_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown


# --- files


@pytest.mark.parametrize(
    ("name", "taken", "page"),
    [
        ("plain", [], "plain.html"),
        ("plain", ["Plain.html"], "plain-2.html"),
        ("../../etc/passwd", [], "etc-passwd.html"),
        ("<b>", [], "b.html"),
        ("größe→", [], "gr-e.html"),
        ("", [], "claim.html"),
        ("index", [], "index-2.html"),
        ("x" * 500, [], "x" * 120 + ".html"),
    ],
)
def test_pages_have_plain_names_of_their_own(name: str, taken: list[str], page: str) -> None:
    assert page_name(name, taken) == page


def test_a_gallery_has_a_page_per_counterexample_and_all_verdicts(
    tmp_path: Path, make_spec: Callable[..., Any]
) -> None:
    results = [check_spec(make_spec("holds.toml")), check_spec(make_spec("fails.toml", check=["leader_in_isr"]))]
    write_pages(tmp_path / "deep" / "pages", [entry_of(result) for result in results])
    folder = tmp_path / "deep" / "pages"
    assert sorted(path.name for path in folder.iterdir()) == ["fails.html", "holds.html", "index.html"]
    index = Reader((folder / "index.html").read_text(encoding="utf-8"))
    assert {a["href"] for a in index.all("a")} == {"fails.html", "holds.html"}
    assert "2 claims: 1 met, 1 unmet." in index.words
    assert "expected the verdict holds, but leader_in_isr is violated after 0 steps" in index.words
    page = Reader((folder / "fails.html").read_text(encoding="utf-8"))
    assert {"index.html"} < {a["href"] for a in page.all("a")}


def test_the_page_of_a_claim_that_holds_shows_bounds_and_counts(make_spec: Callable[..., Any]) -> None:
    result = check_spec(make_spec("holds.toml"), coverage=True)
    entry = json.loads(json.dumps(entry_of(result)))
    text = search_page(entry, "index.html")
    page = Reader(text)
    assert len(page.all("rect")) == len(result.outcome.levels)
    for action, count in result.outcome.enabled.items():
        assert f"{action} {f'{count:,}' if count else 'never enabled'}" in page.words
    shown = {a["title"] for a in page.all("tr") if a.get("title")}
    known = {paths for of in result.outcome.lines.values() for paths in of.values()}
    assert 0 in known
    for paths in known:
        assert (
            f"{paths:,} path{'' if paths == 1 else 's'} through here" if paths else "ran on no reached state"
        ) in shown
    assert result.outcome.audit is not None
    assert f"{result.outcome.audit.states} states, and {result.outcome.audit.paths:,} of" in page.words
    bare = search_page({**entry, "lines": {}})
    assert "highwater check --coverage" in bare
    hostile = dict.fromkeys(("name", "source", "file", "reason", "model"), HOSTILE[0])
    assert Reader(search_page({**entry, **hostile})).scripts == page.scripts


def test_the_page_of_a_search_on_spark_shows_how_each_level_was_made(make_spec: Callable[..., Any]) -> None:
    entry = entry_of(check_spec(make_spec()))
    job = {"level": 9, "expanded": 5, "rows": 1300, "seconds": 0.5, "tasks": 3, "executors": 2, "skew": 1.25}
    job |= {"shuffled": 2048, "spilled": None}
    alone = {**job, "level": 8, "seconds": 0.25, "tasks": 0, "executors": 0}
    words = Reader(search_page({**entry, "work": [alone, job]})).words
    assert "level 8: 1,300 rows in 0.25 s by the driver" in words
    made = "level 9: 1,300 rows in 0.50 s by 3 tasks on 2 executors; shuffled 2.0 KiB, spilled not known, skew 1.25"
    assert made in words
    for damaged in (None, 7, [7], [{**job, "seconds": "long"}], [{**job, "tasks": -1}]):
        assert search_page({**entry, "work": damaged}) == search_page(entry)


def test_the_page_of_a_counterexample_shows_bounds_and_counts(make_spec: Callable[..., Any]) -> None:
    result = check_spec(make_spec(check=["weak_isr"], protocol={"variant": "truncate-to-high-watermark"}))
    assert result.violation is not None
    page = Reader(trace_page(counterexample_in(entry_of(result))))
    assert len(page.all("rect")) == len(result.outcome.levels) > 1


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ReportError, match="cannot be made a folder") as caught:
        write_pages(tmp_path / "file" / "pages", [])
    assert str(tmp_path / "file" / "pages") in str(caught.value)


def test_reports_with_damaged_facts_about_the_run_are_shown(make_spec: Callable[..., Any]) -> None:
    entry = entry_of(check_spec(make_spec(check=["leader_in_isr"])))
    for damaged in ({"distinct_states": "<b>"}, {"source": ["<b>"]}, {"file": None}, {"depth": []}):
        Reader(trace_page(counterexample_in({**entry, **damaged})))
    for missing in ("source", "file", "distinct_states", "stored_states", "depth"):
        Reader(trace_page(counterexample_in({key: value for key, value in entry.items() if key != missing})))
