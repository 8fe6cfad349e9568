"""Highwater's own Java programs: only those compiled by this user from the current sources are executed."""

from __future__ import annotations

import os
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest

from highwater.conformance import programs
from highwater.conformance.distribution import Distribution, java
from tests.harm import foreign, linked

pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("javac") is None, reason="needs a JDK")]

SOURCE = """public class Program {
    public static void main(String[] arguments) { System.out.print("of the source" + Library.SAYS); }
}
"""
BY_NAME = """import java.util.List;

public class Program {
    static class Two {
        Two(int number, List<String> names) { }
        Two(List<Long> numbers, int number) { }
        static String of(short each) { return "short"; }
        static String of(int each) { return "int"; }
    }

    public static void main(String[] arguments) {
        say(() -> Reflect.callStatic(Two.class, "of", (short) 1) + " " + Reflect.callStatic(Two.class, "of", 1));
        say(() -> Reflect.types(Reflect.longest(Two.class, "Long"))[0].getSimpleName());
        say(() -> Reflect.method(Two.class, "of", 1));
        say(() -> Reflect.callStatic(Two.class, "of", 1L));
        say(() -> Reflect.longest(Three.class));
        say(() -> Reflect.byName(Three.class, "of"));
        say(() -> Reflect.own(Three.class, "of"));
    }

    public static class Three {
        Three(int number) { }
        Three(long number) { }
        public static void of(int each) { }
        public static void of(long each) { }
    }

    static void say(java.util.function.Supplier<Object> what) {
        try {
            System.out.println(what.get());
        } catch (Reflect.Missing e) {
            System.out.println(e.getMessage());
        }
    }
}
"""
LIBRARY = "public class Library { public static String SAYS = %s; }"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "Program.java"
    path.write_text(SOURCE)
    return path


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[list[str]]:
    """The commands of all compilations, with a cache of one's own."""
    run, commands = subprocess.run, []

    def noted(command: list[str], **options: object) -> object:
        if "--release" in command:
            commands.append(command)
        return run(command, **options)

    monkeypatch.setattr(programs.subprocess, "run", noted)
    monkeypatch.setenv("HIGHWATER_CACHE", str(tmp_path / "cache"))
    return commands


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one class."""
    folder = tmp_path_factory.mktemp("library") / "classes"
    library(folder, '""')
    return folder


@pytest.fixture
def kafka(classes: Path, tmp_path: Path) -> Distribution:
    """A class path of one folder with one class."""
    return Distribution("here", "4.1.1", (str(shutil.copytree(classes, tmp_path / "classes")),))


def library(folder: Path, says: str) -> None:
    folder.mkdir(exist_ok=True)
    source = folder.parent / "Library.java"
    source.write_text(LIBRARY % says)
    subprocess.run(["javac", *programs.BRIEFLY, "-d", str(folder), str(source)], check=True)


def printed(jar: bytes, kafka: Distribution, folder: Path) -> str:
    """What a program prints."""
    (folder / "program.jar").write_bytes(jar)
    class_path = os.pathsep.join([str(folder / "program.jar"), *kafka.class_path])
    return subprocess.run([java(), "-cp", class_path, "Program"], capture_output=True, text=True, check=True).stdout


def kept(tmp_path: Path) -> Path:
    (file,) = (tmp_path / "cache" / "java").iterdir()
    return file


def test_a_program_is_compiled_once(
    source: Path, kafka: Distribution, compilations: list[list[str]], tmp_path: Path
) -> None:
    jars = {programs.compiled(kafka, [source]) for _ in range(2)}
    assert len(compilations) == 1
    assert [printed(jar, kafka, tmp_path) for jar in jars] == ["of the source"]
    assert compilations[0][compilations[0].index("--release") + 1] == "17"


def planted(path: Path) -> None:
    """A jar as anybody can make it."""
    with zipfile.ZipFile(path, "w") as jar:
        jar.writestr("Program.class", b"anything")


HARMS = [foreign, linked, planted, lambda path: path.chmod(0o664), lambda path: path.write_bytes(b"")]


@pytest.mark.parametrize("harm", HARMS, ids=["foreign", "link", "planted", "group's", "empty"])
def test_a_jar_that_is_not_as_it_was_kept_is_made_anew(
    source: Path, kafka: Distribution, compilations: list[list[str]], tmp_path: Path, harm: Callable[[Path], None]
) -> None:
    first = programs.compiled(kafka, [source])
    harm(kept(tmp_path))
    assert [programs.compiled(kafka, [source]) for _ in range(2)] == [first, first]
    assert len(compilations) == 2


def test_a_folder_of_classes_of_another_time_is_not_executed(
    source: Path, kafka: Distribution, compilations: list[list[str]], tmp_path: Path
) -> None:
    """Classes lay in folders once, whose names everybody can compute."""
    jar = programs.compiled(kafka, [source])
    name = kept(tmp_path).name
    kept(tmp_path).unlink()
    (tmp_path / "cache" / "java" / name).mkdir()
    assert programs.compiled(kafka, [source]) == jar
    assert len(compilations) == 2


@pytest.mark.parametrize("change", ["source", "class path", "compiler", "what is beside"])
def test_a_program_is_of_all_that_it_was_made_from(
    source: Path, kafka: Distribution, compilations: list[list[str]], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, change: str,
) -> None:  # fmt: skip
    programs.compiled(kafka, [source])
    beside = b""
    match change:
        case "source":
            source.write_text(SOURCE.replace("of the source", "of another source"))
        case "class path":
            library(tmp_path / "classes", '" and another library"')
        case "compiler":
            other = tmp_path / "jdk" / "bin" / "javac"
            other.parent.mkdir(parents=True)
            other.write_text(f'#!/bin/sh\nexec {shutil.which("javac")} "$@"\n')
            other.chmod(0o755)
            (other.parent / "java").write_text(f'#!/bin/sh\nexec {shutil.which("java")} "$@"\n')
            (other.parent / "java").chmod(0o755)
            monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
        case "what is beside":
            with zipfile.ZipFile(made := BytesIO(), "w") as jar:
                jar.writestr("other", b"")
            beside = made.getvalue()
    programs.compiled(kafka, [source], beside)
    assert len(compilations) == 2


def test_overloads_are_told_apart_by_parameters_and_refused_where_these_leave_it_open(
    source: Path, kafka: Distribution, compilations: list[list[str]], tmp_path: Path
) -> None:
    source.write_text(BY_NAME)
    jar = programs.compiled(kafka, [source, programs.HARNESS / "Reflect.java"])
    assert printed(jar, kafka, tmp_path).splitlines() == [
        "short int",
        "List",
        "more than one method of with 1 arguments in Program$Two",
        "no method of with 1 arguments [1] in Program$Two",
        "more than one constructor in Program$Three",
        "more than one method of in Program$Three",
        "more than one method of in Program$Three",
    ]
