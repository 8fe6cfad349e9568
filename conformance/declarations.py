"""What a release of Kafka declares, and Java written against it: arguments are chosen by the types of parameters, and
classes are imported from where they are. So what releases spell differently follows from their jars.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import attrs

from highwater.conformance.changed import Members, classes_of, members_of
from highwater.conformance.distribution import Distribution, KafkaError, advice

Given = Mapping[str, str | Sequence[str]]
"""By the simple name of a type, the argument for its parameters: one for each in turn, or the same for all."""


@attrs.frozen
class Member:
    """A method, constructor or field.

    Attributes:
        name: with its class, such as Partition#makeLeader.
        types: of its parameters, by their full names and without type arguments.
        value: the type of what it returns or holds.
        is_method: whether it is called, and not read.
    """

    name: str
    types: tuple[str, ...]
    value: str
    is_method: bool = True

    def type_of(self, name: str) -> str:
        """The full name of the parameter's type that has a simple name; as it is if there is none."""
        return next((each for each in self.types if simple(each) == name), name)


class Declarations:
    """Some classes of a release, by their simple names; none that are inside of others.

    Attributes:
        imports: the classes to import, as far as Java was written.
    """

    def __init__(self, kafka: Distribution, names: Collection[str]) -> None:
        self._release = kafka.release
        self._classes = [each for each in sorted(classes_of(kafka)) if each.rpartition(".")[2] in names]
        self._members: dict[str, Members] = members_of(kafka, self._classes, code=False)
        self.imports: set[str] = set()

    def full(self, name: str, package: str = "") -> str:
        """The full name of the class of a simple name, in a package or wherever it is.

        Raises:
            KafkaError: there is none, or there are several.
        """
        found = [each for each in self._classes if simple(each) == name and package in ("", package_of(each))]
        if len(found) != 1:
            raise self.missing(
                f"{package + '.' if package else ''}{name}{', of which it has several' if found else ''}"
            )
        return found[0]

    def has(self, name: str, member: str = "") -> bool:
        """Whether there is a class of a full name, and it has a member that others may call."""
        return name in self._members and (not member or bool(self.overloads(name, member)))

    def member(self, name: str, member: str) -> Member:
        """The member of a class that others may call; of several, the one with the most parameters.

        Raises:
            KafkaError: there is none.
        """
        found = self.overloads(name, member)
        if not found:
            raise self.missing(f"{simple(name)}#{member}")
        return max(found, key=lambda each: len(each.types))

    def first(self, name: str, *members: str) -> str:
        """The first of some members that a class has.

        Raises:
            KafkaError: it has none of them.
        """
        found = [each for each in members if self.has(name, each)]
        if not found:
            raise self.missing(f"{simple(name)}#{members[0]}")
        return found[0]

    def overloads(self, name: str, member: str) -> list[Member]:
        """The members of a name that others may call."""
        declared = [text for text, _ in self._members.get(name, {}).get(member, ())]
        return [_parsed(text, f"{simple(name)}#{member}") for text in declared if not text.startswith("private ")]

    def constructor(self, name: str) -> Member:
        """The constructor of a class, as `member` finds methods."""
        return self.member(name, simple(name))

    def arguments(self, of: Member, given: Given) -> str:
        """What to call a method with.

        Raises:
            KafkaError: it takes something that is not given.
        """
        taken, chosen = Counter[str](), []
        for type_ in of.types:
            name = simple(type_)
            each = given.get(name)
            if each is None:
                raise self.missing(f"{of.name} without a {name}")
            argument = each if isinstance(each, str) else each[min(taken[name], len(each) - 1)]
            taken[name] += 1
            if "." in type_ and re.search(rf"\b{name}\b", argument):
                self.imports.add(type_)
            chosen.append(argument)
        return ", ".join(chosen)

    def named(self, type_: str) -> str:
        """A class's name in Java, which imports it."""
        self.imports.add(type_.partition("$")[0])
        return type_.rpartition(".")[2].replace("$", ".")

    def missing(self, what: str) -> KafkaError:
        """An error that names what the release lacks, and what to do."""
        return lacking(self._release, what)


def lacking(release: str, what: str) -> KafkaError:
    """An error that names what a release lacks, and what to do."""
    return KafkaError(f"--junit-test: Kafka {release} lacks what a test calls: {what}{advice(release)}")


def simple(name: str) -> str:
    """The simple name of a class."""
    return re.split(r"[.$]", name)[-1]


def package_of(name: str) -> str:
    """The package of a class."""
    return name.rpartition(".")[0]


def _parsed(text: str, name: str) -> Member:
    """A declaration as `javap` prints it."""
    while (erased := re.sub(r"<[^<>]*>", "", text)) != text:
        text = erased
    head, called, parameters = text.partition("(")
    types = parameters.partition(")")[0].replace("...", "").split(", ")
    words = head.split()
    return Member(name, tuple(filter(None, types)), words[-2] if len(words) > 1 else "", bool(called))
