"""A certificate is judged on Spark as it is on one machine."""

from __future__ import annotations

import io
from itertools import accumulate
from pathlib import Path
from typing import Any

import attrs
import pytest

import highwater
from highwater.explorer.verifier.certificate import read, write
from tests.faulty import certificate_of_a_faulty_model

SPECS = Path(__file__).parents[2] / "specs"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("certificates") / "kip_320"
    highwater.check(SPECS / "fencing" / "kip_320_keeps_committed_records_on_two_brokers.toml", certificate=path)
    return path


@pytest.mark.parametrize("symmetry", [False, True], ids=["every image", "one of each orbit"])
def test_executors_verify_the_same_as_one_machine(spark: Any, certificate: Path, symmetry: bool) -> None:
    found = highwater.verify(certificate, engine="spark", symmetry=symmetry)
    assert found == highwater.verify(certificate, symmetry=symmetry)
    assert found.verified[0] == "957 states and 1,800 steps, and no others"


@pytest.mark.parametrize("missing", [1, 30])
def test_the_first_row_that_an_executor_refuses_is_named(
    spark: Any, certificate: Path, tmp_path: Path, missing: int
) -> None:
    given = read(io.BytesIO(certificate.read_bytes()), "a certificate")
    states, ends = given.states[:-missing], accumulate(given.levels)
    levels = [len(states[end - count : end]) for end, count in zip(ends, given.levels, strict=True)]
    short = attrs.evolve(given, states=states, levels=[count for count in levels if count])
    write(short, tmp_path / "fewer")
    with pytest.raises(highwater.Refused, match="leads out of the set, to Cluster") as there:
        highwater.verify(tmp_path / "fewer", engine="spark")
    with pytest.raises(highwater.Refused) as here:
        highwater.verify(tmp_path / "fewer")
    assert str(there.value) == str(here.value)


@pytest.mark.parametrize("raises", ["step", "can_begin"])
def test_a_fault_of_the_model_is_the_same_on_executors(spark: Any, tmp_path: Path, raises: str) -> None:
    path = certificate_of_a_faulty_model(tmp_path, raises)
    with pytest.raises(highwater.SpecError, match=rf"raised KeyError: .* in {raises}: ") as here:
        highwater.verify(path)
    with pytest.raises(highwater.SpecError) as there:
        highwater.verify(path, engine="spark")
    assert str(there.value) == str(here.value)
