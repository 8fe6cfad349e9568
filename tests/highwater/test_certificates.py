"""Certificates on the command line: written by `check`, judged by `verify`, refused in one line."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

import highwater as front_door
from highwater.claims.spec import SpecError
from highwater.explorer.verifier.certificate import Certificate, read, write
from tests.faulty import certificate_of_a_faulty_model

SPECS = Path(__file__).parents[2] / "specs"
HOLDS = SPECS / "fencing" / "kip_320_keeps_committed_records_on_two_brokers.toml"
VIOLATED = SPECS / "truncation" / "kip_101_fails_on_two_brokers.toml"

MODULE = "highwater.model.reference.fenced"

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("certificates") / "kip_320"
    front_door.check(HOLDS, certificate=path)
    return path


def altered(path: Path, to: Path, alter: Callable[[Certificate], Certificate]) -> Path:
    """A certificate that was altered, and sealed again."""
    write(alter(read(io.BytesIO(path.read_bytes()), str(path))), to)
    return to


def with_head(path: Path, to: Path, **keys: Any) -> Path:
    """A certificate whose head was changed by hand."""
    with zipfile.ZipFile(path) as of, zipfile.ZipFile(to, "w") as archive:
        for name in of.namelist():
            data = of.read(name)
            archive.writestr(name, json.dumps(json.loads(data) | keys) if name == "certificate.json" else data)
    return to


def test_a_claim_that_holds_is_verified_from_its_certificate(highwater: Run, tmp_path: Path) -> None:
    assert highwater("check", HOLDS, "--certificate", tmp_path / "c").exit_code == 0
    ended = highwater("verify", tmp_path / "c", "--spec", HOLDS)
    assert ended.exit_code == 0
    assert "kip_320_keeps_committed_records_on_two_brokers holds" in ended.stdout
    assert "yes       957 states and 1,800 steps, and no others" in ended.stdout
    assert "yes       weak_isr holds" in ended.stdout
    assert "not       what lies behind the steps that bounds cut" in ended.stdout
    assert "treats its brokers alike" in highwater("verify", tmp_path / "c", "--symmetry").stdout


def test_a_counterexample_is_verified_from_its_certificate(highwater: Run, tmp_path: Path) -> None:
    highwater("check", VIOLATED, "--certificate", tmp_path / "c")
    ended = highwater("verify", tmp_path / "c")
    assert ended.exit_code == 0
    assert "a trace of 11 steps violates strong_isr(" in ended.stdout
    assert "not       how many states there are" in ended.stdout


def test_a_prospect_is_verified_from_its_certificate(tmp_path: Path) -> None:
    claim = SPECS / "controller" / "deletion" / "a_new_controller_resumes_deletions.toml"
    front_door.check(claim, certificate=tmp_path / "c")
    assert "deletion_can_complete holds" in front_door.verify(tmp_path / "c").verified


def test_verifying_loads_nothing_of_the_search(certificate: Path) -> None:
    code = f"""
import sys
sys.argv = ["highwater", "verify", {str(certificate)!r}]
from highwater.cli.main import main
try:
    main()
except SystemExit as end:
    assert end.code == 0, end.code
parts = ("compiler", "kernels", "search", "partitioned", "second_judge")
found = [name for name in sys.modules if name.startswith(tuple(f"highwater.explorer.{{part}}" for part in parts))]
assert not found and not {{"numpy", "numba", "llvmlite", "networkx", "rich"}} & set(sys.modules), found
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr


def test_a_certificate_with_false_contents_is_refused_with_the_difference(
    highwater: Run, certificate: Path, tmp_path: Path
) -> None:
    counts = altered(
        certificate, tmp_path / "counts", lambda of: attrs.evolve(of, counts={**of.counts, "generated": 7})
    )
    ended = highwater("verify", counts, may_fail=True)
    assert ended.exit_code == 1
    assert ended.stderr.splitlines() == [f"highwater: {counts}: refused: generated is 1800, and not 7"]
    fewer = altered(
        certificate,
        tmp_path / "fewer",
        lambda of: attrs.evolve(of, states=of.states[:-1], levels=[*of.levels[:-1], of.levels[-1] - 1]),
    )
    ended = highwater("verify", fewer, may_fail=True)
    assert ended.exit_code == 1
    assert "leads out of the set, to Cluster(" in ended.stderr
    with pytest.raises(front_door.Refused, match="leads out of the set"):
        front_door.verify(fewer)
    false = {"check": ["weak_isr"], "protocol": {"variant": "kip-101"}}
    swapped = altered(certificate, tmp_path / "swapped", lambda of: attrs.evolve(of, spec={**of.spec, **false}))
    assert highwater("verify", swapped, may_fail=True).exit_code == 1


def without_brokers(certificate: Certificate) -> Certificate:
    return attrs.evolve(certificate, spec={**certificate.spec, "bounds": {**certificate.spec["bounds"], "brokers": -1}})


BAD: dict[str, tuple[Callable[[Path, Path], Path], str]] = {
    "no file": (lambda path, to: to, "No such file or directory"),
    "a folder": (lambda path, to: to.parent, "Is a directory"),
    "an empty file": (lambda path, to: (to.write_bytes(b"") and to) or to, "is truncated, or no certificate"),
    "a spec": (lambda path, to: HOLDS, "is truncated, or no certificate"),
    "a part": (
        lambda path, to: (to.write_bytes(path.read_bytes()[:-100]) and to) or to,
        "is truncated, or no certificate",
    ),
    "another version": (
        lambda path, to: with_head(path, to, version=99),
        "is a certificate of version 99; this Highwater reads version 1",
    ),
    "another archive": (lambda path, to: with_head(path, to, format="zip"), "is no certificate of Highwater"),
    "edited by hand": (
        lambda path, to: with_head(path, to, claim="another"),
        "was changed after it was written; write it anew",
    ),
    "another model": (
        lambda path, to: altered(path, to, lambda of: attrs.evolve(of, spec={**of.spec, "model": "nobody.knows:IT"})),
        "there is no module nobody; name its folder with --model-path",
    ),
    "other bounds": (
        lambda path, to: altered(path, to, without_brokers),
        "bounds",
    ),
    "an edited model": (
        lambda path, to: altered(path, to, lambda of: attrs.evolve(of, code={**of.code, MODULE: "0"})),
        f"the model is not the one that the certificate was written of: {MODULE} has changed",
    ),
}


@pytest.mark.parametrize("wrong", BAD)
def test_a_file_that_is_not_a_certificate_of_the_model_exits_2_with_one_line(
    highwater: Run, certificate: Path, tmp_path: Path, wrong: str
) -> None:
    make, words = BAD[wrong]
    path = make(certificate, tmp_path / "c")
    ended = highwater("verify", path, may_fail=True)
    assert ended.exit_code == 2
    assert ended.stdout == ""
    (line,) = ended.stderr.splitlines()
    assert line.startswith(f"highwater: {path}: ")
    assert words in line
    with pytest.raises(SpecError):
        front_door.verify(path)


def test_a_certificate_of_another_claim_is_refused_if_one_was_named(highwater: Run, certificate: Path) -> None:
    ended = highwater("verify", certificate, "--spec", VIOLATED, may_fail=True)
    assert ended.exit_code == 2
    assert f"{certificate}: is of another claim than {VIOLATED}: its bounds differ" in ended.stderr


@pytest.mark.parametrize(("options", "words"), [
    ((HOLDS, VIOLATED), "--certificate is of one spec; name one"),
    ((HOLDS, "--engine", "python"), "--certificate has no meaning with --engine python"),
])  # fmt: skip
def test_there_is_a_certificate_of_one_verdict_only(
    highwater: Run, tmp_path: Path, options: tuple[Any, ...], words: str
) -> None:
    ended = highwater("check", *options, "--certificate", tmp_path / "c", may_fail=True)
    assert ended.exit_code == 2
    assert words in ended.stderr


def test_a_master_is_of_spark(highwater: Run, certificate: Path) -> None:
    ended = highwater("verify", certificate, "--master", "local[2]", may_fail=True)
    assert ended.exit_code == 2
    assert "--master has no meaning with --engine local" in ended.stderr
    with pytest.raises(SpecError, match="allowed are local, spark"):
        front_door.verify(certificate, engine="python")


def test_a_certificate_to_a_depth_is_of_a_claim_to_this_depth(
    highwater: Run, tmp_path: Path, write_spec: Callable[..., Path]
) -> None:
    deep, shallow = tmp_path / "deep", tmp_path / "shallow"
    claim = write_spec("claim.toml", max_depth=3, expect={"verdict": "holds-to-depth"})
    assert highwater("check", claim, "--certificate", deep).exit_code == 0
    assert highwater("verify", deep, "--spec", claim).exit_code == 0
    assert highwater("check", claim, "--max-depth", 1, "--certificate", shallow).exit_code == 3
    ended = highwater("verify", shallow)
    assert (ended.exit_code, "it goes to a depth of 1; the claim is of a depth of 3" in ended.stderr) == (2, True)
    whole = write_spec("whole.toml", expect=None)
    assert highwater("check", whole, "--max-depth", 1, "--certificate", shallow).exit_code == 3
    assert "holds-to-depth" in highwater("verify", shallow).stdout
    ended = highwater("verify", shallow, "--spec", whole)
    assert (ended.exit_code, "it goes to a depth of 1; the claim is of every depth" in ended.stderr) == (2, True)


def test_a_trace_to_a_violation_is_no_longer_than_the_depth_that_is_claimed(highwater: Run, tmp_path: Path) -> None:
    front_door.check(VIOLATED, certificate=tmp_path / "c")
    shallow = altered(tmp_path / "c", tmp_path / "d", lambda of: attrs.evolve(of, spec={**of.spec, "max_depth": 3}))
    ended = highwater("verify", shallow)
    assert (ended.exit_code, "it goes to a depth of 11; the claim is of a depth of 3" in ended.stderr) == (2, True)


@pytest.mark.parametrize("raises", ["step", "can_begin"])
def test_a_fault_of_the_model_is_one_line_and_exit_code_2(highwater: Run, tmp_path: Path, raises: str) -> None:
    path = certificate_of_a_faulty_model(tmp_path, raises)
    ended = highwater("verify", path)
    assert (ended.exit_code, ended.stdout) == (2, "")
    (line,) = ended.stderr.splitlines()
    assert line.startswith(f"highwater: {path}: {raises}() raised KeyError: ")
    assert f"faulty_{raises}.py:" in line and f" in {raises}: " in line


@pytest.mark.parametrize(
    ("claim", "options", "why"),
    [
        (HOLDS, ["--max-states", "50", "--no-advice"], "the verdict is unknown"),
        (
            SPECS / "partition/liveness/a_committed_shrink_leaves_the_high_watermark_where_it_is.toml",
            ["--max-depth", "2"],
            "high_watermark_reaches_the_log_end() is not judged to a depth",
        ),
    ],
)
def test_an_undecided_claim_gets_no_certificate_and_exits_3(
    highwater: Run, tmp_path: Path, claim: Path, options: list[str], why: str
) -> None:
    (tmp_path / "c").write_bytes(b"of an earlier run")
    ended = highwater("check", claim, *options, "--certificate", tmp_path / "c")
    assert ended.exit_code == 3
    assert not (tmp_path / "c").exists(), "it would be taken for one of this run"
    assert f"warning  no certificate: {why}" in ended.stdout


def test_a_certificate_of_another_name_is_not_that_of_a_spec(highwater: Run, certificate: Path, tmp_path: Path) -> None:
    other = altered(certificate, tmp_path / "c", lambda each: attrs.evolve(each, claim="no_record_is_ever_lost"))
    ended = highwater("verify", other, "--spec", HOLDS)
    assert (ended.exit_code, "is of the claim no_record_is_ever_lost, not of " in ended.stderr) == (2, True)


@pytest.mark.parametrize(("part", "data"), [("states", b"\xff" * 5_000), ("ranks.json", b"[" * 100_000)])
def test_a_part_that_has_no_end_is_damage(
    highwater: Run, certificate: Path, tmp_path: Path, part: str, data: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("highwater.explorer.verifier.certificate._seal", lambda head, parts: "the same")
    with zipfile.ZipFile(certificate) as of, zipfile.ZipFile(tmp_path / "c", "w") as archive:
        for name in of.namelist():
            head = json.dumps(json.loads(of.read(name)) | {"seal": "the same"}) if name == "certificate.json" else None
            archive.writestr(name, data if name == part else head or of.read(name))
    ended = highwater("verify", tmp_path / "c")
    assert (ended.exit_code, "no certificate" in ended.stderr) == (2, True)
