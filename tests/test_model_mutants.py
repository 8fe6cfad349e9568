"""The mutations of models are Python, differ from what is there, and are noticed by the claims that run them."""

from __future__ import annotations

import ast
import multiprocessing
from itertools import islice

import pytest

from tests.model_mutants import MODELS, By, Claim, drawn, fate_of
from tests.mutations import OPERATORS, ROOT, files_of, mutations_of


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_a_mutation_is_python_and_differs_from_what_is_there(model: str) -> None:
    every = dict.fromkeys(OPERATORS, 0)
    for path in files_of(model):
        text = path.read_text(encoding="utf-8")
        before = ast.parse(text)
        for operator, found in mutations_of(path).items():
            every[operator] += len(found)
            for mutation in found[:: 1 + len(found) // 5]:  # some of each: all take a minute
                after, line = ast.parse(mutation.planted(text)), mutation.lines[0]
                assert statement_at(line, after) != statement_at(line, before), mutation
    assert all(every.values()), every


def statement_at(line: int, tree: ast.Module) -> str:
    """The function or class that has a line."""
    (found,) = (each for each in tree.body if each.lineno <= line <= (each.end_lineno or 0))
    return ast.dump(found)


def test_the_same_seed_draws_the_same_mutations_of_each_kind() -> None:
    first, again, other = (list(islice(drawn("kraft", seed), 40)) for seed in (1, 1, 2))
    assert first == again != other
    assert len(set(first)) == 40
    assert len({mutation.operator for mutation in first}) > 5


def test_a_claim_that_runs_a_mutation_notices_it() -> None:
    path = "specs/partition/durability/acks_1_loses_acknowledged_records.toml"
    file = "model/partition/clients.py"
    of_acks = [
        mutation
        for mutation in mutations_of(ROOT / file)["a comparison"]
        if mutation.before == "protocol.acks is Acks.LEADER"
    ]
    lines = {file: [line for mutation in of_acks for line in mutation.lines]}
    claim = Claim(path, seconds=0, states=100, lines=lines)
    with multiprocessing.get_context("spawn").Pool(1) as pool:  # this process has read the models already
        fate = pool.apply(fate_of, [(of_acks[0], [claim], 60)])
    assert (fate.by, fate.who, fate.asked) == (By.VERDICT, "acks_1_loses_acknowledged_records", 1)
