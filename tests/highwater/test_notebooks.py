"""Results, claims, traces, graphs and tables as an interpreter and a notebook show them."""

from __future__ import annotations

import json
import re
import sys
import webbrowser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import highwater
from highwater.explorer.analysis.plain_values import plain as plain_value
from highwater.explorer.search.levels import breadth_first
from highwater.explorer.verdict import SearchOptions
from highwater.model.language.domain import ArrayOf, Integers, Maybe, OneOf, SequenceOf, SetOf, as_domain
from highwater.notebooks import Coverage
from highwater.spaces import column_type

ROOT = Path(__file__).parents[2]
SMALL = {"brokers": 2, "log_length_max": 1, "records_max": 1, "leader_epoch_max": 1}
VIOLATED = "gallery:truncating_to_the_high_watermark_fails_on_two_brokers"


def small(**keys: Any) -> highwater.Spec:
    keys = {"protocol": {"variant": "kip-320"}, "check": ["weak_isr"], **keys}
    return highwater.claim(model="reference", bounds=SMALL, name="small", **keys)


@pytest.fixture(scope="module")
def violated() -> highwater.Result:
    return highwater.check(VIOLATED)


def test_results_and_claims_print_as_words(violated: highwater.Result) -> None:
    assert str(violated).startswith("met: truncating_to_the_high_watermark_fails_on_two_brokers\nviolated: ")
    assert violated.violation.witness in str(violated)
    words = str(violated.spec)
    for part in ("variant truncate-to-high-watermark", "brokers 2", "verdict violated"):
        assert part in words
    assert str(small()).splitlines()[0] == "small"


def test_a_notebook_shows_levels_actions_and_the_counterexample(violated: highwater.Result) -> None:
    shown = violated._repr_html_()
    assert shown.count("<rect") == len(violated.outcome.levels)
    assert f"depth 0: {violated.outcome.levels[0]:,} new states" in shown
    for action, count in violated.outcome.enabled.items():
        assert re.search(rf"{action}</td><td[^>]*>{f'{count:,}' if count else 'never enabled'}</td>", shown)
    assert violated.violation.witness in shown
    assert "<table>" in violated.spec._repr_html_()


def test_names_and_sources_are_escaped_in_html() -> None:
    spec = highwater.claim(
        model="reference", protocol={"variant": "kip-320"}, bounds=SMALL, check=["weak_isr"], name="<b>x", source="<i>"
    )
    assert "<b>x" not in spec._repr_html_() + highwater.check(spec)._repr_html_()
    assert "<i>" not in spec._repr_html_()


def test_a_trace_is_written_as_a_page_and_as_json(violated: highwater.Result, tmp_path: Path) -> None:
    trace = violated.trace
    assert trace is not None
    assert len(trace) == violated.violation.trace_length == len(trace.steps) - 1
    assert trace.to_html(tmp_path / "trace.html") == (tmp_path / "trace.html").read_text()
    assert json.loads(trace.to_json(tmp_path / "trace.json"))[-1]["step"] == len(trace)
    assert json.loads((tmp_path / "trace.json").read_text())[0]["action"] is None
    assert violated.violation.witness in str(trace)
    assert highwater.check(small()).trace is None


def test_a_trace_is_shown_in_a_browser_or_where_the_notebook_is(
    violated: highwater.Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Any] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setitem(sys.modules, "IPython", None)
    violated.trace.show()
    assert opened[0].startswith("file://") and Path(opened[0].removeprefix("file://")).is_file()
    shell = SimpleNamespace(kernel=1)
    notebook = SimpleNamespace(get_ipython=lambda: shell, display=SimpleNamespace(display=opened.append))
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    violated.trace.show()
    assert "<iframe srcdoc=" in opened[1]._repr_html_()


def test_a_graph_has_the_states_of_the_model() -> None:
    graph = highwater.graph(small())
    expected = breadth_first.explore(small().system())
    assert len(graph) == expected.distinct_states
    assert graph.number_of_edges() == expected.generated
    assert graph.nodes[0]["value"] in small().system().initial
    _, _, edge = next(iter(graph.edges(data=True)))
    assert edge["action"].startswith(edge["name"])
    assert edge["arguments"]
    with pytest.raises(highwater.SpecError, match="more than 10 states"):
        highwater.graph(small(), max_states=10)


@pytest.mark.parametrize("symmetry", [True, False])
def test_a_table_has_a_row_per_stored_state_and_counts_them_all(symmetry: bool) -> None:
    pytest.importorskip("pyarrow")
    table = highwater.states(small(), symmetry=symmetry)
    outcome = breadth_first.explore(small().system(), options=SearchOptions(symmetry=symmetry))
    assert table.num_rows == outcome.stored_states
    assert sum(table["orbit"].to_pylist()) == outcome.distinct_states
    by_depth = [0] * len(outcome.levels)
    for depth, orbit in zip(table["depth"].to_pylist(), table["orbit"].to_pylist(), strict=True):
        by_depth[depth] += orbit
    assert tuple(by_depth) == outcome.levels
    if not symmetry:
        found = {str(row) for row in table.select(["quorum", "next_record_id", "requests", "replicas"]).to_pylist()}
        assert len(found) == table.num_rows, "every state once"


def test_graph_and_table_are_as_deep_as_the_claim() -> None:
    pytest.importorskip("pyarrow")
    shallow = small(max_depth=3, expect={"verdict": "holds-to-depth"})
    outcome = highwater.check(shallow).outcome
    graph = highwater.graph(shallow)
    assert (len(graph), graph.number_of_edges()) == (outcome.distinct_states, outcome.generated)
    assert sum(highwater.states(shallow)["orbit"].to_pylist()) == outcome.distinct_states


@highwater.invariant()
def broken(cluster: Any) -> bool:
    return bool([][len(cluster.requests)])


@pytest.mark.parametrize("ask", [highwater.graph, highwater.states, highwater.coverage])
def test_what_is_wrong_is_a_spec_error_whatever_is_asked(ask: Any) -> None:
    pytest.importorskip("pyarrow")
    with pytest.raises(highwater.SpecError, match=r"small: broken\(\) raised IndexError"):
        ask(small(check=[broken]))
    with pytest.raises(highwater.SpecError, match="max_states: -1 is below 1"):
        ask(small(), max_states=-1)


def test_the_types_of_columns_do_not_depend_on_what_was_reached() -> None:
    arrow = pytest.importorskip("pyarrow")
    domains = {
        "none": (Maybe(Integers(0, 3)), None, 1),
        "word": (Maybe(OneOf(("a", "b"))), None, "a"),
        "flag": (Maybe(bool), None, True),
        "number": (OneOf((0, 1)), 0, 1),
        "mixed": (OneOf((1, "a")), 1, "a"),
        "set": (SetOf(Integers(0, 2)), frozenset(), frozenset({1})),
        "log": (SequenceOf(Maybe(Integers(0, 2)), 2), (), (1,)),
        "pair": (ArrayOf(Maybe(Integers(0, 1)), 2), (None, None), (0, 1)),
    }
    for name, (domain, *values) in domains.items():
        of = column_type(as_domain(domain))
        for value in values:
            table = arrow.table({name: [plain_value(as_domain(domain), value)]}, arrow.schema([(name, of)]))
            assert table[name].type == of and "null" not in str(of)
    table = highwater.states(small())
    assert [field.type for field in table.schema][-2:] == [table.schema.field("orbit").type] * 2
    assert "null" not in str(table.schema)


def test_a_table_of_too_many_states_or_without_arrow_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(highwater.SpecError, match="more than 50 states"):
        highwater.states(small(), max_states=50)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(highwater.SpecError, match=r"kafka-highwater\[table\]"):
        highwater.states(small())


def test_coverage_of_too_many_states_is_refused_rather_than_partial() -> None:
    with pytest.raises(highwater.SpecError, match="more than 50 states"):
        highwater.coverage(small(), max_states=50)


def test_coverage_counts_paths_by_line_and_names_lines_that_never_ran(tmp_path: Path) -> None:
    found = highwater.coverage(small())
    file = str(ROOT / "src" / "highwater" / "model" / "reference" / "fenced.py")
    texts = Path(file).read_text().splitlines()
    ran = [texts[line - 1].strip() for line, paths in found.lines[file].items() if paths]
    assert any(text.startswith("return ") for text in ran)
    page = found.to_html(tmp_path / "coverage.html")
    assert page == (tmp_path / "coverage.html").read_text()
    assert page.count("<tr") > len(found.lines[file])
    assert page.count("ran on no reached state") == len(found.never_ran)
    assert all(found.lines[name][line] == 0 for name, line in found.never_ran)


def test_coverage_is_of_prospects_and_liveness_too() -> None:
    """They are looked at in every state, also where the claim is violated."""
    (path,) = (ROOT / "specs").rglob("a_controller_that_knows_no_leadership_starts_no_replica.toml")
    (prospect,) = (spec := highwater.load(path)).properties
    code = prospect.function.__code__  # type: ignore[attr-defined]
    assert code.co_firstlineno < max(highwater.coverage(spec).lines[code.co_filename])


def test_a_line_that_no_state_reaches_is_red(tmp_path: Path) -> None:
    source = tmp_path / "model.py"
    source.write_text("def f(x):\n    if x:\n        return 1\n    return 2\n")
    shown = Coverage({str(source): {2: 4, 3: 0, 4: 4}})._repr_html_()
    assert re.search(r"ran on no reached state.*?228, 87, 86.*?return 1", shown, re.DOTALL)
    assert shown.count("4 paths through here") == 2


@pytest.mark.slow
def test_the_notebook_of_the_docs_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    notebook = nbformat.read(ROOT / "docs" / "library.ipynb", as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "outputs are left to whoever runs it"
    nbclient.NotebookClient(notebook, timeout=None, resources={"metadata": {"path": str(tmp_path)}}).execute()
    html = [
        output["data"]["text/html"]
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if "text/html" in output.get("data", {})
    ]
    assert any("<svg" in each for each in html)
    assert any("<iframe srcdoc=" in each for each in html)
    assert any("highwater-coverage" in each for each in html)


def test_the_repr_of_a_result_fits_into_a_line(violated: highwater.Result) -> None:
    assert violated.violation is not None
    step = violated.violation.trace[1]
    of = (violated, violated.spec, violated.spec.system(), violated.outcome, violated.violation, violated.trace, step)
    for each in of:
        assert len(repr(each)) < 120, each
        assert type(each).__name__ in repr(each)
    assert repr(step.action) == f"<{step.action}>"
    assert repr(violated.trace) == f"<Trace of {violated.violation!r}>"
