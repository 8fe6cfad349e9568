"""What two releases of Kafka have otherwise, of the classes and methods that Highwater's Java programs use.

    python -m highwater.conformance.changed 4.3.1 4.4.0

prints a line for each class that is gone or has moved, and for each member that is gone, is declared otherwise or does
something else. So one sees what to mend and what to model before `conform` runs on a new release. What the programs use
is read from their sources: classes by their full names, or by a package and a name in quotes, and members by every name
in quotes or behind a dot. To these come the classes that the programs never name: what members return, and ancestors.
"""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress

import attrs

from highwater.conformance.distribution import Distribution, KafkaError, find_all
from highwater.conformance.jvm import TOOLS_ALIKE, environment
from highwater.conformance.programs import BRIEFLY, HARNESS, of_the_jdk

KAFKA = r"(?:org\.apache\.kafka|kafka)\.[\w.$]+"
Members = Mapping[str, list[tuple[str, str]]]
"""By a member's name, each declaration and the instructions behind it, without what any recompilation changes. A
function inside of a method stands beside it, without a declaration.
"""
INSIDE = re.compile(r"(lambda\$|\$anonfun\$)(\w+?)\$\d+(?:\$adapted)?")  # as Java and Scala name such functions
MESSAGES = ("org.apache.kafka.common.message.", "org.apache.kafka.common.metadata.")
"""Packages whose code is generated: of their classes only declarations are compared."""


@attrs.frozen
class Used:
    """What the programs name: Kafka's classes, and whatever may be a member of one."""

    classes: frozenset[str]
    members: frozenset[str]


def used() -> Used:
    """What the sources of the programs name."""
    classes, members = set[str](), set[str]()
    for source in sorted(HARNESS.rglob("*.java")):
        text = source.read_text(encoding="utf-8")
        classes.update(re.findall(rf'"({KAFKA}\w)"', text))
        classes.update(re.findall(rf"^import (?:static )?({KAFKA}\w);", text, re.MULTILINE))
        named = re.findall(r'"((?:[a-z]\w*\.)*[A-Z][\w$]*)"', text)
        classes.update(package + name for package in re.findall(rf'"({KAFKA}\.)"', text) for name in named)
        members.update(*re.findall(r'"(\w+)"|\.(\w+)\(', text))
    return Used(frozenset(classes), frozenset(members))


def classes_of(kafka: Distribution) -> frozenset[str]:
    """The names of all of Kafka's classes."""
    found = set[str]()
    for entry in kafka.class_path:
        with suppress(OSError, zipfile.BadZipFile), zipfile.ZipFile(entry) as jar:  # folders hold no classes of Kafka's
            names = (
                name.removesuffix(".class").replace("/", ".") for name in jar.namelist() if name.endswith(".class")
            )
            found.update(name for name in names if re.fullmatch(KAFKA, name))
    return frozenset(found)


def reached(kafka: Distribution, wanted: Used, classes: Collection[str]) -> frozenset[str]:
    """What the programs use of a release's classes: the named, what used members hold or return, and ancestors."""
    found = set[str]()
    new = set(wanted.classes) & frozenset(classes)
    while new:
        found |= new
        shown = _declared(kafka, new)
        heads = [head for head, _ in shown.values()]
        members = (
            each for _, members in shown.values() for name in members.keys() & wanted.members for each in members[name]
        )
        heads += [declaration.partition("(")[0] for declaration, _ in members]
        new = set(re.findall(KAFKA, "\n".join(heads))) & frozenset(classes) - found
    return frozenset(found)


def members_of(kafka: Distribution, classes: Collection[str], *, code: bool = True) -> dict[str, Members]:
    """The members of some classes that a release has, by class.

    Args:
        code: whether with the instructions behind declarations.
    """
    return {name: members for name, (_, members) in _declared(kafka, classes, code=code).items()}


def _declared(kafka: Distribution, classes: Collection[str], *, code: bool = False) -> dict[str, tuple[str, Members]]:
    """The declaration of each class, with what it extends and implements, and its members."""
    options = [*TOOLS_ALIKE, *BRIEFLY, "-p", *(["-c"] if code else [])]
    command = [of_the_jdk("javap"), *options, "-cp", ":".join(kafka.class_path), *sorted(classes)]
    shown = subprocess.run(command, capture_output=True, encoding="utf-8", env=environment()).stdout
    found: dict[str, tuple[str, Members]] = {}
    for block in re.split(r"^Compiled from .*\n", shown, flags=re.MULTILINE)[1:]:
        head, _, body = block.partition("{\n")
        name = re.search(rf"(?:class|interface) ({KAFKA})", head)
        if name is not None:
            found[name[1]] = head, _members(body)
    return found


def _members(body: str) -> Members:
    found: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for member in re.split(r"^  (?=\S)", body, flags=re.MULTILINE)[1:]:
        declaration, _, code = member.partition("\n")
        name = re.search(r"([\w$]+)(?:\(|;)", declaration)
        inside = INSIDE.fullmatch(name[1]) if name else None
        if name is None or (inside and not code.strip()):
            continue  # a function inside of a method counts by its code alone
        code = INSIDE.sub(r"\1\2", re.sub(r"#\d+(, +\d+)?", "", code))
        found[inside[2] if inside else name[1]].append(("" if inside else declaration.rstrip(";"), code))
    return {name: sorted(each) for name, each in found.items()}


def differences(before: Distribution, after: Distribution) -> Iterator[str]:
    """What has changed from one release to another, a line each: classes first, then members by class."""
    wanted, old, new = used(), classes_of(before), classes_of(after)
    moves = {name: _moved(name, wanted, old, new) for name in sorted(reached(before, wanted, old))}
    for name, now in moves.items():
        if now is None:
            yield f"gone     {name}"
        elif now != name:
            yield f"moved    {name} -> {now}"
    earlier = members_of(before, moves)
    later = members_of(after, [now for now in moves.values() if now is not None])
    for name, now in moves.items():
        if now in later and name in earlier:
            for what, member in _changes(earlier[name], later[now], wanted.members):
                if what != "changed" or not name.startswith(MESSAGES):
                    yield f"{what:<8} {name}#{member}"


def _moved(name: str, wanted: Used, old: Collection[str], new: Collection[str]) -> str | None:
    """The name that a class has in the newer release; None if it has none, or might have several."""
    if name in new:
        return name
    simple = re.split(r"[.$]", name)[-1]
    found = [
        each for each in new if re.split(r"[.$]", each)[-1] == simple and (each not in old or each in wanted.classes)
    ]
    return found[0] if len(found) == 1 else None


def _changes(earlier: Members, later: Members, names: Collection[str]) -> Iterator[tuple[str, str]]:
    for name in sorted(earlier.keys() & names):
        declared = [[shown for shown, _ in each if shown] for each in (earlier[name], later.get(name, []))]
        if not declared[0]:
            continue  # a function inside of a constructor
        if not declared[1]:
            yield "gone", name
        elif declared[0] != declared[1]:
            was, now = (", ".join(sorted({*one} - {*other})) or "-" for one, other in (declared, declared[::-1]))
            yield "declared", f"{name}: {was} -> {now}"
        elif earlier[name] != later[name]:
            yield "changed", name


def main() -> None:
    """Print the differences between the two releases that are named."""
    try:
        before, after = sys.argv[1:]
        for line in differences(*find_all([before, after])):
            print(line)
    except ValueError:
        wrong = "usage: python -m highwater.conformance.changed RELEASE RELEASE"
    except KafkaError as error:
        wrong = str(error)
    else:
        return
    print(wrong, file=sys.stderr)
    sys.exit(2)


if __name__ == "__main__":
    main()
