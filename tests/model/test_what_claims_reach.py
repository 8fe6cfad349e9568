"""Every statement of actions and properties is reached by a claim, or is listed with a reason why it is not.

    python -m tests.model.test_what_claims_reach

picks anew the few claims that together reach what all of up to so many states do, and shows what these do not reach.
"""

from __future__ import annotations

import ast
import itertools
import re
import time
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
import tomlkit

from highwater.claims.checking import check_spec
from highwater.explorer.search.levels.coverage import never_ran, together
from highwater.explorer.verdict import Called
from tests.gallery import FILES, PICKED, TOGETHER, checked, loaded
from tests.mutations import ROOT, files_of
from tests.mutations import functions as functions_in

HERE = Path(__file__).parent
UNREACHED: dict[str, dict[str, str]] = tomllib.loads((HERE / "unreached.toml").read_text(encoding="utf-8"))
LARGEST = 160_000  # states of a claim that may be picked


@pytest.mark.slow
@pytest.mark.parametrize("model", [pytest.param(each, marks=pytest.mark.xdist_group(each)) for each in UNREACHED])
def test_statements_that_no_claim_reaches_are_listed_with_a_reason(model: str) -> None:
    picked = [path for path in FILES if path.stem in PICKED[model]]
    found = [function for path in picked for function in checked(path).outcome.functions]
    assert len(picked) == len(PICKED[model])
    assert set(unreached(model, found)) == set(UNREACHED[model])


def test_each_reason_is_for_a_statement_that_is_there() -> None:
    for model, listed in UNREACHED.items():
        for name in listed:
            file, line = place_of(name)
            assert Path(file) in files_of(model) and line, name


def unreached(model: str, found: Iterable[Called]) -> Iterator[str]:
    """The names of statements that never ran, and of functions that nobody called."""
    functions = [each for each in together(found) if Path(each.file).resolve() in files_of(model)]
    for function in functions:
        for missed in never_ran(function):
            lines = Path(function.file).read_text(encoding="utf-8").splitlines()[function.first_line : missed.line]
            number = sum(line.strip() == missed.text for line in lines)
            name = f"{named(function.file)}#{function.name}: {missed.text}"
            yield name if number == 1 else f"{name} ({number})"
    called = {(str(Path(function.file).resolve()), function.name) for function in functions}
    for path in files_of(model):
        for name, _ in functions_in(ast.parse(path.read_text(encoding="utf-8"))):
            if (str(path), name) not in called:
                yield f"{named(path)}#{name}"


def place_of(name: str) -> tuple[str, int]:
    """The file and the line of an entry of UNREACHED; of a function, the first line of its body."""
    file, _, rest = name.partition("#")
    function, _, text = rest.partition(": ")
    text, number = (text[:-4], int(text[-2])) if re.search(r" \(\d\)$", text) else (text, 1)
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    (body,) = [each for name, each in functions_in(tree) if name == function]
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    within = range(body.lineno + 1, (body.end_lineno or 0) + 1)
    at = [line for line in within if lines[line - 1].strip() == text] if text else [body.body[-1].lineno]
    return str(ROOT / file), at[number - 1]


def named(path: str | Path) -> str:
    return Path(path).resolve().relative_to(ROOT).as_posix()


def pick(model: str) -> list[str]:
    """Claims that reach what all do, those first that reach the most new lines for their time."""
    specs = [spec for spec in map(loaded, FILES) if spec.file.model == model]
    small = [each for each in specs if (each.file.expect.distinct_states or 0) <= LARGEST]
    ran, seconds = {}, {}
    for spec in small:
        began = time.process_time()
        ran[spec.name] = check_spec(spec, coverage=True).outcome.functions
        seconds[spec.name] = time.process_time() - began
    lines = {name: set(lines_run(functions)) for name, functions in ran.items()}
    picked, left = [], set().union(*lines.values())
    while left:
        picked.append(max(lines, key=lambda name: len(lines[name] & left) / (0.2 + seconds[name])))
        left -= lines[picked[-1]]
    missed = set(unreached(model, itertools.chain.from_iterable(ran.values())))
    for name in sorted(picked, key=seconds.__getitem__, reverse=True):
        others = [each for each in picked if each != name]
        if set(unreached(model, itertools.chain.from_iterable(map(ran.__getitem__, others)))) == missed:
            picked = others
    print(f"{model}: {len(picked)} of {len(small)} claims; none reaches", *sorted(missed), sep="\n    ")
    return sorted(picked)


def lines_run(functions: Iterable[Called]) -> Iterator[tuple[str, str | int]]:
    for each in functions:
        yield each.file, each.name
        yield from ((each.file, line) for line, paths in each.lines.items() if paths)


if __name__ == "__main__":
    document = tomlkit.document()
    for model in UNREACHED:
        document[model] = tomlkit.item(pick(model)).multiline(True)
    TOGETHER.write_text(tomlkit.dumps(document), encoding="utf-8")
