"""Where Kafka's classes come from, and what is said where they do not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance import distribution
from conformance.distribution import KafkaError, find, java
from highwater.cli.main import main

SPEC = "specs/partition/truncation/truncating_on_fetch_keeps_committed_records.toml"


def jar(folder: Path, name: str = "kafka_2.13-4.1.1.jar") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.touch()
    return path


def test_a_distributions_folder_stands_for_the_jars_in_its_libs(tmp_path: Path) -> None:
    core, other = jar(tmp_path / "libs"), jar(tmp_path / "libs", "kafka-clients-4.1.1.jar")
    found = find(str(tmp_path))
    assert found.release == "4.1.1"
    assert set(found.class_path) == {str(core), str(other)}


def test_a_class_path_keeps_its_order_so_that_patched_classes_come_first(tmp_path: Path) -> None:
    core, patched = jar(tmp_path / "libs"), tmp_path / "patched"
    patched.mkdir()
    assert find(f"{patched}{os.pathsep}{core}").class_path == (str(patched), str(core))
    assert find(f"{patched}{os.pathsep}{tmp_path}/libs/*").class_path == (str(patched), str(core))
    assert find(f"{patched}{os.pathsep}{tmp_path}").class_path == (str(patched), str(core))


def test_entries_are_absolute_because_java_runs_in_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    core, patched = jar(tmp_path / "libs"), tmp_path / "patched"
    patched.mkdir()
    monkeypatch.chdir(tmp_path)
    assert find("patched:libs/*").class_path == (str(patched), str(core))
    assert find("libs").class_path == (str(core),)


def test_a_folder_without_kafka_is_refused(tmp_path: Path) -> None:
    jar(tmp_path, "other.jar")
    with pytest.raises(KafkaError, match=r"there is no kafka_2\.13-VERSION\.jar"):
        find(str(tmp_path))


def test_a_release_older_than_the_harness_knows_is_refused(tmp_path: Path) -> None:
    (tmp_path / "kafka_2.13-3.4.1.jar").touch()
    with pytest.raises(KafkaError, match=r"Kafka 3\.4\.1 is too old; 3\.5 is the oldest"):
        find(str(tmp_path))


def test_what_does_not_exist_is_named() -> None:
    with pytest.raises(KafkaError, match=r"/no/such/place does not exist"):
        find("/no/such/place")


def test_a_release_needs_maven_or_what_was_resolved_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIGHWATER_CACHE", str(tmp_path))
    monkeypatch.setattr(distribution.shutil, "which", lambda *arguments, **options: None)
    with pytest.raises(KafkaError, match="Maven"):
        find("4.1.1")
    kept = tmp_path / "conform" / "kafka-4.1.1.classpath"
    kept.parent.mkdir()
    kept.write_text(str(jar(tmp_path / "libs")))
    assert find("4.1.1").release == "4.1.1"


def test_maven_is_asked_once_for_a_release_and_never_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, core = tmp_path / "asked", jar(tmp_path / "libs")
    mvn = tmp_path / "bin" / "mvn"
    mvn.parent.mkdir()
    mvn.write_text(f"#!/bin/sh\necho asked >>'{asked}'\nprintf %s '{core}' >classpath\n")
    mvn.chmod(0o755)
    monkeypatch.setenv("HIGHWATER_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", str(mvn.parent), prepend=os.pathsep)
    assert find("4.1.1").class_path == (str(core),)
    mvn.write_text(f"#!/bin/sh\necho asked >>'{asked}'\necho '[ERROR] there is no network'\nexit 1\n")
    assert find("4.1.1").class_path == (str(core),)
    assert asked.read_text() == "asked\n"
    with pytest.raises(KafkaError, match="there is no network"):
        find("4.3.1")


def test_without_java_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distribution.shutil, "which", lambda *arguments, **options: None)
    with pytest.raises(KafkaError, match="install a JDK of version 17"):
        java()


def test_an_old_java_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tmp_path / "bin" / "java"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    old.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(KafkaError, match="version 17 or newer is needed"):
        java()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([SPEC, "--kafka", "/no/such/place"], "/no/such/place does not exist"),
        ([SPEC, "--kafka", "4.1.1", "--preset", "kafka-9"], "is not one of the presets"),
        pytest.param(
            ["specs/fencing/kip_320_keeps_committed_records_on_two_brokers.toml", "--kafka", "4.1.1"],
            "has no counterpart in running code",
            marks=pytest.mark.xdist_group("kafka"),
        ),
        pytest.param(
            ["specs/partition/releases/kafka_0_11_loses_committed_records_of_two_brokers.toml", "--kafka", "4.1.1"],
            "kafka-3.0 and newer",
            marks=pytest.mark.xdist_group("kafka"),
        ),
    ],
)
def test_bad_input_is_one_clear_error(arguments: list[str], said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    ran = CliRunner().invoke(main, ["conform", *arguments])
    if "4.1.1" in arguments and "mvn" in ran.output.lower():
        pytest.skip("needs Maven")
    assert ran.exit_code == 2
    assert said in ran.output
    assert "Traceback" not in ran.output
