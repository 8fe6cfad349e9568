"""A certificate is judged on Spark as it is on one machine."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import attrs
import pytest

import highwater
from highwater.explorer.verifier.certificate import read, write

SPECS = Path(__file__).parents[2] / "specs"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("certificates") / "kip_320"
    highwater.check(SPECS / "fencing" / "kip_320_keeps_committed_records_on_two_brokers.toml", certificate=path)
    return path


@pytest.mark.parametrize("symmetry", [False, True], ids=["every image", "one of each orbit"])
def test_executors_verify_what_one_machine_does(spark: Any, certificate: Path, symmetry: bool) -> None:
    found = highwater.verify(certificate, engine="spark", symmetry=symmetry)
    assert found == highwater.verify(certificate, symmetry=symmetry)
    assert found.verified[0] == "957 states and 1,800 steps, and no others"


def test_what_an_executor_refuses_is_refused(spark: Any, certificate: Path, tmp_path: Path) -> None:
    given = read(io.BytesIO(certificate.read_bytes()), "a certificate")
    fewer = [*given.levels[:-1], given.levels[-1] - 1]
    write(attrs.evolve(given, states=given.states[:-1], levels=fewer), tmp_path / "fewer")
    with pytest.raises(highwater.Refused, match="leads out of the set, to Cluster"):
        highwater.verify(tmp_path / "fewer", engine="spark")
