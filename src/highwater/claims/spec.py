"""Claims in TOML: one file is one claim about one model under one protocol within some bounds.

A spec is checked key by key before anything runs. All that is wrong is reported at once, with the file, the
key, and the values that would be right.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import attrs

from highwater.claims import gallery, own
from highwater.claims.building import build_system
from highwater.claims.changing import Changes
from highwater.claims.expressions import watched
from highwater.claims.keys import COUNTS, Expectation, SpecFile
from highwater.claims.positions import comment_of, located, may_be_spec, text_of
from highwater.claims.refining import refinement_of
from highwater.claims.resolving import (
    RELEASE,
    choose,
    define,
    find_model,
    preset_named,
    properly_spelt,
    resolve_model,
    with_preset,
)
from highwater.claims.tables import Findings, Wrong, shown, structure
from highwater.explorer.ranks import RankError, ranks_of
from highwater.explorer.refinement import Refines
from highwater.explorer.system import System
from highwater.explorer.verdict import DEADLOCK, Verdict
from highwater.limits import LARGEST_SPEC
from highwater.model.language.definition import Definition, Model, Property
from highwater.model.language.graph_properties import GraphProperty, Prospect
from highwater.model.language.records import domain_of


class SpecError(Exception):
    """A spec, or where to find one, is wrong. The message names the file, the keys and what is allowed.

    Attributes:
        by_file: what is wrong with each file, where several were read.
    """

    def __init__(self, message: str, by_file: Mapping[Path, str] | None = None) -> None:
        super().__init__(message)
        self.by_file = dict(by_file or {})  # plain, as errors travel between processes


class AnotherModel(Wrong):
    """Under another protocol a model has other states or bounds: nothing can be compared."""


@attrs.frozen
class Spec:
    """A spec whose every name was resolved.

    Attributes:
        name: the file's name without its ending: the claim.
        path: the file.
        model, definition, protocol, bounds: the model, what it is under the protocol, and the bounds object.
        properties: the invariants, step properties, prospects and liveness properties to check; a refinement is the
            last.
        check_deadlock: whether a state without successors, which no bound explains, is a violation too.
        release: the release of Kafka that the preset was named by, if it was.
        changes: what is other than the file says. Then nothing is claimed: what comes out is an answer.
        comment: the comment with which the file begins, which explains the claim; a line for each paragraph.
    """

    name: str
    path: Path
    file: SpecFile
    model: Model
    definition: Definition
    protocol: Any
    bounds: Any
    properties: tuple[Property, ...]
    check_deadlock: bool
    release: str | None = None
    changes: tuple[str, ...] = ()
    comment: str = ""

    def __repr__(self) -> str:
        return f"<Spec {self.name} of {self.file.model}>"

    @functools.cached_property
    def _system(self) -> System:
        return build_system(self.definition, self.protocol, self.bounds, self.properties, self.file.by_order)

    @property
    def checked(self) -> tuple[str, ...]:
        """What is checked, by name as the file has it."""
        return (*self.file.check, *(each.name for each in self.properties if isinstance(each, Refines)))

    @property
    def asked(self) -> str:
        """The claim's name, with what is asked otherwise than the file says."""
        return ", ".join((self.name, *self.changes))

    def system(self) -> System:
        """The transition system of the spec. It is built once."""
        return self._system

    def under(self, protocol: Any) -> Spec:
        """The same claim under another protocol: the model is defined anew, and its properties are found in it by name.

        Raises:
            AnotherModel: the model has other states or bounds under it.
            Wrong: the model refuses it, or lacks a property under it.
        """
        definition = define(self.model, protocol)
        if definition.bounds is not self.definition.bounds or definition.state is not self.definition.state:
            raise AnotherModel("has other states or bounds")
        ours, theirs = self.definition.known_properties, {each.name: each for each in definition.known_properties}
        if gone := [each.name for each in self.properties if each in ours and each.name not in theirs]:
            raise Wrong(f"has no property {' and no '.join(gone)}")
        properties = tuple(theirs[each.name] if each in ours else each for each in self.properties)
        return attrs.evolve(self, protocol=protocol, definition=definition, properties=properties)

    def within(self, **bounds: int) -> Spec:
        """The same claim with some bounds changed.

        Raises:
            SpecError: the model refuses them, such as more replicas than brokers.
        """
        try:
            return attrs.evolve(self, bounds=attrs.evolve(self.bounds, **bounds))
        except ValueError as error:
            raise SpecError(f"{self.path}: bounds: {error}") from None


def find_specs(paths: Iterable[Path]) -> list[Path]:
    """The spec files named, those in the folders named, and those of the gallery, each once and in order.

    Raises:
        SpecError: a path does not exist, a folder holds no specs, or the gallery has no such claim.
    """
    found: dict[Path, None] = {}
    for path in paths:
        try:
            if gallery.is_of_gallery(path):
                found.update(dict.fromkeys(gallery.matching(path)))
                continue
            if path.is_dir():
                inside = sorted(filter(may_be_spec, path.rglob("*.toml")))
                if not inside:
                    raise SpecError(f"{path}: no specs in this folder (files that end in .toml)")
                found.update(dict.fromkeys(inside))
            else:
                path.stat()
                found[path] = None
        except Wrong as wrong:
            raise SpecError(f"{path}: {wrong}") from None
        except FileNotFoundError:
            raise SpecError(f"{path}: no such file or folder") from None
        except OSError as error:
            raise SpecError(f"{path}: {error.strerror}") from None
    return list(found)


def load_spec(path: Path, changes: Changes = Changes()) -> Spec:  # noqa: B008 - frozen
    """Read one spec file, or one claim of the gallery, and resolve every name in it.

    Args:
        changes: what is to be other than the file says.

    Raises:
        SpecError: the file cannot be read, or any of its keys or values is wrong.
    """
    try:
        path = gallery.the_only_one(path)
    except Wrong as wrong:
        raise SpecError(f"{path}: {wrong}") from None
    return spec_of_text(path, text_of_spec(path), changes, in_file=True)


def spec_of_text(path: Path, text: str, changes: Changes = Changes(), *, in_file: bool = False) -> Spec:  # noqa: B008
    """A spec that is a text, read as if it stood in a file; names of models are looked for as if it did.

    Args:
        in_file: whether it does stand there, so that what is wrong has a line.

    Raises:
        SpecError: it is no TOML, or any of its keys or values is wrong.
    """

    def with_place(problem: str) -> str:
        return located(path, problem) if in_file else f"{path}: {problem}"

    own.read_again()
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise SpecError(with_place(f"is not TOML: {error}")) from None
    try:
        with own.beside(path):
            spec = _resolve(path, changes.applied_to(data) if changes else data)
            return attrs.evolve(spec, changes=changes.in_words(), comment=comment_of(text))
    except Wrong as wrong:
        where = (lambda each: f"{path}: {each}") if changes else with_place  # what is changed is not in the file
        raise SpecError("\n".join(map(where, wrong.problems))) from None


def text_of_spec(path: Path) -> str:
    """What a spec file says, as it stands there.

    Raises:
        SpecError: the file cannot be read.
    """
    try:
        return text_of(path, LARGEST_SPEC)
    except OSError as error:
        raise SpecError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise SpecError(f"{path}: is not UTF-8 text ({error.reason} at byte {error.start})") from None


def make_spec(name: str, keys: Mapping[str, Any]) -> Spec:
    """A spec without a file, from the keys that a file would have.

    Raises:
        SpecError: any of its keys or values is wrong.
    """
    try:
        return _resolve(Path(name), dict(keys))
    except Wrong as wrong:
        raise SpecError("\n".join(f"{name}: {problem}" for problem in wrong.problems)) from None


def _resolve(path: Path, data: dict[str, Any]) -> Spec:
    """Resolve what can be resolved, and report everything that is wrong with the rest together."""
    findings = Findings()
    file = findings.get(structure, data, SpecFile, "")
    model = findings.get(find_model, data["model"]) if isinstance(data.get("model"), str) else None
    tables = [data.get(key, {}) for key in ("protocol", "bounds")]
    check = data.get("check", [] if "refines" in data else None)
    if check is None:
        findings.add("check: is missing")
    refines = [findings.get(refinement_of, data["refines"])] if "refines" in data else []
    resolved = None
    if (
        model
        and "bounds" in data
        and all(isinstance(table, dict) for table in tables)
        and isinstance(check, list)
        and all(isinstance(c, str) for c in check)
    ):
        protocol = findings.get(with_preset, model, data.get("preset"), tables[0])
        resolved = (
            findings.get(resolve_model, model, protocol, tables[1], check, refines) if protocol is not None else None
        )
    expect = findings.get(_expectation, file, resolved) if file else None
    if file and file.watch and resolved:
        findings.get(watched, file.watch, resolved[1].state, resolved[2])
    findings.raise_if_any()
    assert model is not None and resolved is not None
    protocol, definition, bounds, properties = resolved
    preset = file.preset and preset_named(model, file.preset)
    check = properly_spelt(file.check, definition)
    return Spec(
        name=path.stem,
        path=path,
        file=attrs.evolve(
            file,
            model=file.model if own.is_reference(file.model) else model.name,
            check=check,
            preset=preset,
            expect=expect,
        ),
        model=model,
        definition=definition,
        protocol=protocol,
        bounds=bounds,
        properties=properties,
        check_deadlock=DEADLOCK in check,
        release=file.preset if preset != file.preset and RELEASE.fullmatch(file.preset or "") else None,
    )


def _expectation(file: SpecFile, resolved: Any) -> Expectation:
    """What the file claims, its property by its proper name, unless the claim contradicts itself."""
    expect, findings = file.expect, Findings()
    if expect.verdict is Verdict.UNKNOWN:
        findings.add('expect.verdict: "unknown" cannot be claimed; allowed are holds, holds-to-depth, violated')
    if expect.verdict is Verdict.HOLDS_TO_DEPTH and file.max_depth is None:
        findings.add('expect.verdict: "holds-to-depth" needs the key max_depth')
    for group in expect.any_number_of:
        if group not in file.by_order:
            findings.add(f'expect.any_number_of: "{group}" is not in by_order; a bound limits it')
    if expect.any_number_of and expect.verdict is not Verdict.HOLDS:
        findings.add('expect: any_number_of can be claimed for verdict = "holds" only')
    if file.by_order and resolved is not None:
        findings.get(_ranks, resolved[1], resolved[2], file.by_order)
    if file.max_depth is not None and resolved is not None:
        for each in resolved[3]:
            if isinstance(each, GraphProperty):
                kind = "a prospect" if isinstance(each, Prospect) else "a liveness property"
                findings.add(f"max_depth: {each.name} is {kind}, which needs every state; leave max_depth out")
    if expect.verdict is not Verdict.VIOLATED and (expect.property is not None or expect.trace_length is not None):
        findings.add('expect: property and trace_length can be claimed for verdict = "violated" only')
    for key, value in (("max_depth", file.max_depth), *((f"expect.{key}", getattr(expect, key)) for key in COUNTS)):
        if value is not None and value < 0:
            findings.add(f"{key}: {shown(value)} is below 0")
        if value is not None and value >= 2**63:
            findings.add(f"{key}: {shown(value)} is too large")
    if expect.property is not None and resolved is not None:
        names = [each.name for each in resolved[3]]
        names += [each.begins_as for each in resolved[3] if isinstance(each, Refines)]
        names += [DEADLOCK] if DEADLOCK in properly_spelt(file.check, resolved[1]) else []
        expect = attrs.evolve(
            expect,
            property=findings.get(
                choose, expect.property, {n: n for n in names}, "expect.property", "checked properties"
            ),
        )
    findings.raise_if_any()
    return expect


def _ranks(definition: Definition, bounds: Any, by_order: tuple[str, ...]) -> None:
    """
    Raises:
        Wrong: the model does not declare that only the order of these numbers matters.
    """
    try:
        ranks_of(domain_of(definition.state, bounds), by_order)
    except RankError as error:
        raise Wrong(f"by_order: {error}") from None
    except TypeError:
        return  # a wrong domain is reported where the system is built
