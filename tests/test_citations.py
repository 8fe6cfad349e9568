"""Every citation of Kafka's code names a class and a method that the named versions have: checked where a clone of
Kafka is at hand.
"""

from __future__ import annotations

import functools
import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CLONE = os.environ.get("HIGHWATER_KAFKA_SOURCE", "")
CITATION = re.compile(
    r"((?:kafka|org\.apache\.kafka)(?:\.[a-z]\w*)+\.[A-Z]\w+) ?((?:#\w+(?:, | and )?)+) ?"
    r"\((?:KAFKA-\d+; )?([\d., to;]+)[^)]*\)"
)
FILES = sorted(
    path
    for folder in ("model", "invariants", "specs")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in (".py", ".toml")
)


def citations(path: Path) -> list[tuple[str, str, str]]:
    """Each class, method and version that a file cites; of a range of versions, its ends."""
    text = re.sub(r"\s+", " ", path.read_text(encoding="utf-8"))
    return [
        (cited, method, version)
        for cited, methods, versions in CITATION.findall(text)
        for method in re.findall(r"#(\w+)", methods)
        for version in re.findall(r"\d+(?:\.\d+)+", versions)
    ]


def git(*arguments: str) -> str:
    done = subprocess.run(["git", "-C", CLONE, *arguments], capture_output=True, text=True, check=False)
    return done.stdout


@functools.cache
def tag_of(version: str) -> str | None:
    """The tag of a version such as 3.5.1, 2.1 (its first release) or 3.9 (its newest candidate); None if the clone does
    not have it.
    """
    tags = set(git("tag").split())
    for tag in (version, f"{version}.0", f"{version}.0.0"):
        if tag in tags:
            return tag
    candidates = sorted(tag for tag in tags if re.match(rf"{re.escape(version)}(\.\d+)*-(rc|candidate-)\d+$", tag))
    return candidates[-1] if candidates else None


@functools.cache
def sources(tag: str) -> tuple[str, ...]:
    return tuple(
        name
        for name in git("ls-tree", "-r", "--name-only", tag).split("\n")
        if name.endswith((".scala", ".java")) and "/test/" not in name
    )


@functools.cache
def code_of(cited: str, tag: str) -> str:
    """The file that a class is in, or is declared in beside others; empty if there is none."""
    path = cited.replace(".", "/")
    named = [name for name in sources(tag) if name.endswith((f"/{path}.scala", f"/{path}.java"))]
    package, _, name = path.rpartition("/")
    if not named:
        found = git("grep", "-lwE", f"(class|object|trait|interface) {name}", tag, "--", "*.scala", "*.java").split()
        named = [each.partition(":")[2] for each in found if package in each and "/test/" not in each]
    return "\n".join(git("show", f"{tag}:{each}") for each in named)


def test_citations_are_found() -> None:
    """The pattern reads what docstrings say, also over two methods and a range of versions."""
    found = citations(ROOT / "model" / "partition" / "leadership.py")
    assert ("kafka.server.ReplicaManager", "becomeLeaderOrFollower", "0.10.2") in found
    assert ("kafka.server.ReplicaManager", "makeFollowers", "3.5") in found


@pytest.mark.skipif(not CLONE, reason="HIGHWATER_KAFKA_SOURCE names no clone of Kafka")
@pytest.mark.parametrize(
    "path", [path for path in FILES if citations(path)], ids=lambda path: path.relative_to(ROOT).as_posix()
)
def test_every_cited_method_is_in_the_cited_version(path: Path) -> None:
    missing = []
    for cited, method, version in citations(path):
        tag = tag_of(version)
        if tag is not None and not re.search(rf"\b{method}\b", code_of(cited, tag)):
            missing.append(f"{cited}#{method} is not in {tag}")
    assert missing == []
