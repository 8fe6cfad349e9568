"""Certificates: what a verdict rests on, in a file that plain Python reads.

A certificate is a zip archive. `certificate.json` says what was claimed of which model, and what was counted; `states`
has every stored state, level by level; `ranks.json` says how far each state is from what it promises; `traces.json` has
counterexamples. Nothing in it is believed, see `highwater.explorer.verifier.closed_set`.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, cast

import attrs

from highwater.explorer.values import MOST_REMEMBERED, Permutation
from highwater.model.language.shape import Domain, Shape

FORMAT, VERSION = "highwater certificate", 1
HEAD, STATES, RANKS, TRACES = "certificate.json", "states", "ranks.json", "traces.json"
MOST_BYTES = 1 << 36  # of a part, unpacked
WHEN = (1980, 1, 1, 0, 0, 0)  # the same content makes the same file

Stack = tuple[tuple[int, int], ...]


class Unfit(Exception):
    """A file is no certificate that can be judged here."""


@attrs.frozen(kw_only=True)
class Certificate:
    """What a verdict rests on.

    Attributes:
        claim: its name.
        spec: the keys of a spec that makes the system anew, every toggle included.
        code: by module, the hash of the model's code; by distribution, the version of what it imports besides.
        verdict: as `highwater.explorer.verdict.Verdict` spells it.
        counts: the counts of the `Outcome`, by the names that they have there.
        permutations: the exchanges of names under which stored states stand for others, the identity first.
        levels: how many states are stored of each depth.
        states: the stored states as `Codec` writes them, in the order of their depth.
        prospects: by prospect and by state, how many steps the goal is away; below 0 where a step leads there that a
            bound cuts, -1 being the state before that step.
        liveness: by liveness property and by state, what keeps a fair behaviour from waiting there for ever; see
            `highwater.explorer.verifier.rankings`.
        traces: the counterexamples.
    """

    claim: str
    spec: dict[str, Any]
    code: dict[str, str]
    verdict: str
    counts: dict[str, Any] = attrs.field(factory=dict)
    permutations: list[Permutation] = attrs.field(factory=lambda: [{}])
    levels: list[int] = attrs.field(factory=list)
    states: list[bytes] = attrs.field(factory=list, repr=False)
    prospects: dict[str, list[int]] = attrs.field(factory=dict, repr=False)
    liveness: dict[str, list[Stack]] = attrs.field(factory=dict, repr=False)
    traces: list[dict[str, Any]] = attrs.field(factory=list)


def write(certificate: Certificate, path: Path) -> None:
    """Write a certificate.

    Raises:
        OSError: it cannot be written.
    """
    parts = {
        STATES: b"".join(_with_length(each) for each in certificate.states),
        RANKS: _json({"prospects": certificate.prospects, "liveness": certificate.liveness}),
        TRACES: _json(certificate.traces),
    }
    head = {key: getattr(certificate, key) for key in ("claim", "spec", "code", "verdict", "counts", "levels")}
    head["permutations"] = [
        {names: sorted(goes_to.items()) for names, goes_to in each.items()} for each in certificate.permutations
    ]
    head["seal"] = _seal(head, parts)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name, part in {HEAD: _json({"format": FORMAT, "version": VERSION, **head}, 1), **parts}.items():
            archive.writestr(zipfile.ZipInfo(name, WHEN), part, zipfile.ZIP_DEFLATED)


# RuntimeError: encrypted, compressed in another way, or nested too deeply.
_DAMAGE = (zipfile.BadZipFile, zlib.error, OSError, EOFError, KeyError, ValueError, RuntimeError)


def read(file: BinaryIO, path: str) -> Certificate:
    """Read a certificate.

    Args:
        path: what the file is called.

    Raises:
        Unfit: there is none, it is of another version, or it is not as it was written.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            if HEAD not in archive.namelist():
                raise Unfit(f"{path}: is no certificate: it has no {HEAD}")
            if too_large := [each.filename for each in archive.infolist() if each.file_size > MOST_BYTES]:
                raise Unfit(f"{path}: {too_large[0]} is too large")
            head = json.loads(archive.read(HEAD))
            if not isinstance(head, dict) or head.pop("format", "") != FORMAT:
                raise Unfit(f"{path}: is no certificate of Highwater")
            if (version := head.pop("version", None)) != VERSION:
                raise Unfit(f"{path}: is a certificate of version {version}; this Highwater reads version {VERSION}")
            parts = {name: archive.read(name) for name in (STATES, RANKS, TRACES)}
    except _DAMAGE as error:
        raise Unfit(f"{path}: is truncated, or no certificate: {' '.join(str(error).split())}") from None
    if head.pop("seal", "") != _seal(head, parts):
        raise Unfit(f"{path}: was changed after it was written; write it anew")
    try:
        return _made(head, parts)
    except (TypeError, ValueError, KeyError, IndexError, AttributeError, RecursionError) as error:
        raise Unfit(f"{path}: is no certificate: {type(error).__name__}: {error}") from None


def _made(head: dict[str, Any], parts: Mapping[str, bytes]) -> Certificate:
    permutations: list[Permutation] = [
        {names: dict(pairs) for names, pairs in each.items()} for each in head.pop("permutations")
    ]
    ranks = json.loads(parts[RANKS])
    liveness = {
        name: [cast("Stack", tuple((number, demand) for number, demand in stack)) for stack in stacks]
        for name, stacks in ranks["liveness"].items()
    }
    states, traces = _parted(parts[STATES]), json.loads(parts[TRACES])
    return Certificate(
        **head, permutations=permutations, states=states, prospects=ranks["prospects"], liveness=liveness, traces=traces
    )


def _json(value: Any, indent: int | None = None) -> bytes:
    return json.dumps(value, indent=indent, sort_keys=True).encode()


def _seal(head: Mapping[str, Any], parts: Mapping[str, bytes]) -> str:
    """A hash of all that is written. It keeps nobody from writing another certificate: that is judged as well."""
    found = hashlib.sha256(_json(head))
    for name in sorted(parts):
        found.update(hashlib.sha256(parts[name]).digest())
    return found.hexdigest()


# States as bytes

_LOW = [bytes((number,)) for number in range(128)]


def _number(value: int) -> bytes:
    """A number from 0 on: seven bits a byte, the low ones first; the highest bit says that more follow."""
    if value < 128:
        return _LOW[value]
    return bytes((value & 127 | 128,)) + _number(value >> 7)


def _number_at(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while data[at] >= 128:
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
    return value | data[at] << shift, at + 1


def _with_length(part: bytes) -> bytes:
    return _number(len(part)) + part


def _parted(data: bytes) -> list[bytes]:
    found, at = [], 0
    while at < len(data):
        length, at = _number_at(data, at)
        if at + length > len(data):
            raise ValueError("a state is not whole")
        found.append(data[at : at + length])
        at += length
    return found


class Codec:
    """States of a domain as bytes, and back: the numbers of their scalars in the order of the fields; of a set, a
    sequence and what may be absent, after the number of its parts. Parts that were met before are not written again.
    """

    def __init__(self, domain: Domain) -> None:
        self._domain = domain
        self._met: dict[tuple[int, Any], bytes] = {}

    def bytes_of(self, state: Any) -> bytes:
        """The bytes of a state that is in the domain."""
        return self._joined(self._domain, state)

    def _bytes(self, domain: Any, value: Any) -> bytes:
        if domain.is_scalar:
            return _number(domain.encode(value))
        key = id(domain), value
        found = self._met.get(key)
        if found is None:
            if len(self._met) >= MOST_REMEMBERED:
                self._met.clear()
            found = self._met[key] = self._joined(domain, value)
        return found

    def _joined(self, domain: Domain, value: Any) -> bytes:
        parts = [self._bytes(of, part) for of, part in domain.parts(value)]
        if domain.shape is Shape.RECORD:
            return b"".join(parts)
        return _number(len(parts)) + b"".join(sorted(parts) if domain.shape is Shape.SET else parts)

    def state(self, data: bytes) -> Any:
        """The state that some bytes stand for.

        Raises:
            ValueError: none.
        """
        try:
            state, end = self._value(self._domain, data, 0)
            if end == len(data) and not self._domain.exceeded(state) and self.bytes_of(state) == data:
                return state
        except (IndexError, TypeError, ValueError, RecursionError):
            pass
        raise ValueError("these bytes are no state within the bounds")

    def _value(self, domain: Any, data: bytes, at: int) -> tuple[Any, int]:
        if domain.is_scalar:
            number, at = _number_at(data, at)
            if number >= domain.size:
                raise ValueError("there is no such value")
            return domain.decode(number), at
        inside = list(domain.inside().values())
        if domain.shape is not Shape.RECORD:
            count, at = _number_at(data, at)
            inside *= min(count, len(data))
        parts = []
        for of in inside:
            part, at = self._value(of, data, at)
            parts.append(part)
        return domain.rebuilt((), parts), at
