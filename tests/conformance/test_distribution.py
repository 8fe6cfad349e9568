"""Where Kafka's classes come from, and the errors if they are missing."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from highwater.cli.main import main
from highwater.conformance import disk_reader, distribution
from highwater.conformance.distribution import KafkaError, find, find_all, java, junit_class_path
from tests.harm import foreign, linked

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


def test_a_missing_distribution_is_named() -> None:
    with pytest.raises(KafkaError, match=r"/no/such/place does not exist"):
        find("/no/such/place")


@pytest.fixture
def maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Maven]:
    """A cache of one's own, and a program in the place of Maven."""
    monkeypatch.setenv("HIGHWATER_CACHE", str(tmp_path))
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    found = Maven(tmp_path)
    found.names(jar(tmp_path / "libs"))
    yield found


class Maven:
    """What Maven says of every release, and how often it was asked."""

    def __init__(self, folder: Path) -> None:
        self._program, self._asked = folder / "bin" / "mvn", folder / "asked"
        self.kept = folder / "java" / "kafka-4.1.1.classpath"

    def names(self, *jars: Path) -> None:
        self._runs(f"printf %s '{os.pathsep.join(map(str, jars))}' >classpath")

    def names_of_modules(self, *jars: Path) -> None:
        """One in each, in this order."""
        self._runs("\n".join(f"printf %s '{each}' >{number}/classpath" for number, each in enumerate(jars)))

    def fails(self) -> None:
        self._runs("echo '[ERROR] there is no network'\nexit 1")

    @property
    def asked(self) -> int:
        return len(self._asked.read_text()) if self._asked.exists() else 0

    def _runs(self, script: str) -> None:
        self._program.write_text(f"#!/bin/sh\nprintf x >>'{self._asked}'\n{script}\n")
        self._program.chmod(0o755)


def test_a_release_needs_maven_or_what_was_resolved_before(maven: Maven, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find("4.1.1").release == "4.1.1"
    monkeypatch.setattr(distribution.shutil, "which", lambda *arguments, **options: None)
    assert find("4.1.1").release == "4.1.1"
    with pytest.raises(KafkaError, match="Maven"):
        find("4.3.1")
    maven.kept.chmod(0o666)
    with pytest.raises(KafkaError, match=rf"Maven.*; {maven.kept} is kept, and is not used: others may change"):
        find("4.1.1")


def test_maven_is_asked_once_for_a_release(maven: Maven, tmp_path: Path) -> None:
    core = str(tmp_path / "libs" / "kafka_2.13-4.1.1.jar")
    assert find("4.1.1").class_path == (core,)
    maven.fails()
    assert find("4.1.1").class_path == (core,)
    assert maven.asked == 1
    with pytest.raises(KafkaError, match="there is no network"):
        find("4.3.1")


def test_maven_is_asked_once_for_all_releases_that_are_not_known(maven: Maven, tmp_path: Path) -> None:
    find("4.1.1")
    maven.names_of_modules(
        jar(tmp_path / "libs", "kafka_2.13-3.9.1.jar"), jar(tmp_path / "libs", "kafka_2.13-4.4.0.jar")
    )
    asked = ["3.9.1", "4.1.1", "4.4.0", str(tmp_path / "libs" / "kafka_2.13-4.1.1.jar")]
    assert [each.release for each in find_all(asked)] == ["3.9.1", "4.1.1", "4.4.0", "4.1.1"]
    assert maven.asked == 2
    maven.fails()
    assert [find(each).class_path for each in asked] == [each.class_path for each in find_all(asked)]
    assert maven.asked == 2
    with pytest.raises(KafkaError, match=r"--kafka 3\.8\.1: .*kafka_2.13:3\.8\.1: .*no network"):
        find_all(["3.8.1", "4.1.1", "4.3.1"])


def test_maven_is_asked_once_for_junit(maven: Maven, tmp_path: Path) -> None:
    maven.names(jar(tmp_path / "libs", "junit-jupiter-5.13.1.jar"))
    assert junit_class_path() == junit_class_path()
    assert maven.asked == 1


def plain(path: Path) -> None:
    """A list of jars as anybody can write it: one that names another jar."""
    path.write_text(str(jar(path.parent, "kafka_2.13-9.9.9.jar")))


def of_another_release(path: Path) -> None:
    """A list of this user's own under the name of another release's."""
    shutil.copy(path, path.with_name("kafka-4.1.2.classpath"))
    path.with_name("kafka-4.1.2.classpath").rename(path)
    path.write_bytes(path.read_bytes().replace(b"4.1.1", b"4.1.2"))


HARMS = [
    foreign, linked, plain, of_another_release, lambda path: path.chmod(0o664), lambda path: path.write_text(""),
    lambda path: path.write_bytes(path.read_bytes()[:-9]),
]  # fmt: skip


@pytest.mark.parametrize(
    "harm", HARMS, ids=["foreign", "link", "planted", "of another", "group's", "empty", "cut short"]
)
def test_a_list_of_jars_that_is_not_as_it_was_kept_is_made_anew(
    maven: Maven, tmp_path: Path, harm: Callable[[Path], None]
) -> None:
    found = find("4.1.1")
    harm(maven.kept)
    assert find("4.1.1") == found
    assert maven.asked == 2
    assert find("4.1.1") == found
    assert maven.asked == 2, "what was made anew is kept"


def test_maven_is_asked_again_if_a_jar_has_changed(maven: Maven, tmp_path: Path) -> None:
    core = jar(tmp_path / "libs")
    find("4.1.1")
    core.write_bytes(b"another")
    assert find("4.1.1").class_path == (str(core),)
    assert maven.asked == 2
    core.unlink()
    with pytest.raises(KafkaError, match=r"kafka_2\.13-4\.1\.1\.jar"):
        find("4.1.1")


@pytest.mark.parametrize("harm", [foreign, linked, lambda path: path.chmod(0o646)], ids=["foreign", "link", "all's"])
@pytest.mark.parametrize("before", [False, True], ids=["at first", "later"])
def test_a_jar_that_others_may_change_is_not_executed(
    maven: Maven, tmp_path: Path, harm: Callable[[Path], None], before: bool
) -> None:
    core = jar(tmp_path / "libs")
    if before:
        find("4.1.1")
    harm(core)
    with pytest.raises(KafkaError, match=rf"--kafka 4\.1\.1: {core}: .*; give Maven's files to yourself alone"):
        find("4.1.1")
    assert find(str(core)).class_path == (str(core),), "what the user names is the user's business"


@pytest.mark.parametrize("names", [["kafka_2.13-9.9.9.jar"], []], ids=["another release", "no jar"])
def test_the_jar_must_be_of_the_release_that_was_asked_for(maven: Maven, tmp_path: Path, names: list[str]) -> None:
    maven.names(*(jar(tmp_path / "libs", name) for name in names))
    for _ in range(2):
        with pytest.raises(KafkaError, match=r"Maven names there is no kafka_2\.13-4\.1\.1\.jar"):
            find("4.1.1")
    assert not maven.kept.exists()


def test_disks_are_read_by_the_newest_kept_and_known_release(maven: Maven, tmp_path: Path) -> None:
    assert disk_reader.reader_release() == "4.4.0"
    for release in ("3.9.1", "4.0.2", "4.1.1", "99.9.9"):
        maven.names(jar(tmp_path / "libs", f"kafka_2.13-{release}.jar"))
        find(release)
    assert disk_reader.reader_release() == "4.1.1"
    plain(maven.kept)
    plain(maven.kept.with_name("kafka-4.2.0.classpath"))
    assert disk_reader.reader_release() == "4.0.2"


@pytest.mark.parametrize("variable", ["XDG_CACHE_HOME", "HIGHWATER_CACHE"])
def test_a_relative_cache_folder_is_not_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.delenv("HIGHWATER_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(variable, "x")
    assert list(distribution.cache_folder()) == [tmp_path / ".cache" / "highwater" / "java"]


def test_missing_java_is_reported_with_the_version_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distribution.shutil, "which", lambda *arguments, **options: None)
    with pytest.raises(KafkaError, match="install a JDK of version 17"):
        java()


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        ('openjdk version "11.0.2"', 'says: openjdk version "11.0.2"; Java 17 or newer is needed'),
        (
            "NOTE: Picked up JDK_JAVA_OPTIONS: -XX:No\nUnrecognized VM option 'No'",
            "says: Unrecognized VM option 'No'; ",
        ),
        ("", "says: nothing; "),
        (None, "says: [Errno 8] Exec format error"),
    ],
)
def test_an_old_java_or_one_that_does_not_start_is_refused(
    printed: str | None, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "bin" / "java"
    old.parent.mkdir()
    old.write_text("no program" if printed is None else f"#!/bin/sh\ncat >&2 <<'end'\n{printed}\nend\n")
    old.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(KafkaError, match=re.escape(f"{old} {said}")):
        java()


def test_a_java_that_is_replaced_is_asked_for_its_version_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    for modified, version in enumerate((17, 11)):
        program.write_text(f"#!/bin/sh\nprintf x >>{tmp_path}/asked\necho 'openjdk version \"{version}\"' >&2\n")
        program.chmod(0o755)
        os.utime(program, (modified, modified))
        if version == 17:
            assert [java(), java()] == [str(program)] * 2
    assert (tmp_path / "asked").read_text() == "x"
    with pytest.raises(KafkaError, match="Java 17 or newer is needed"):
        java()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([SPEC, "--kafka", "/no/such/place"], "/no/such/place does not exist"),
        ([SPEC, "--kafka", "4.1.1", "--preset", "kafka-9"], "is not one of the presets"),
        (  # also where that Kafka is not there
            ["specs/fencing/kip_320_keeps_committed_records_on_two_brokers.toml", "--kafka", "/no/such/place"],
            "has no counterpart in running code",
        ),
        (
            ["specs/partition/releases/kafka_0_11_loses_committed_records_of_two_brokers.toml", "--kafka", "9.9"],
            "kafka-3.0 and newer",
        ),
    ],
)
def test_bad_input_is_one_clear_error(arguments: list[str], said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    ran = CliRunner().invoke(main, ["conform", *arguments])
    assert ran.exit_code == 2
    assert said in ran.output
    assert "Traceback" not in ran.output
