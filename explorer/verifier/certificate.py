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

from highwater.explorer.blame import RAISED
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


# RuntimeError: encrypted, compressed in another way, or nested too deeply; IndexError: the last number has no end.
_DAMAGE = (zipfile.BadZipFile, zlib.error, OSError, EOFError, KeyError, ValueError, IndexError, RuntimeError)


def read(file: BinaryIO, path: str) -> Certificate:
    """Read a certificate.

    Args:
        path: what the file is called.

    Raises:
        Unfit: there is none, it is of another version, or it is not as it was written.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            if sorted(archive.namelist()) != sorted((HEAD, STATES, RANKS, TRACES)):
                raise Unfit(f"{path}: is no certificate: its parts are not {HEAD}, {STATES}, {RANKS} and {TRACES}")
            if too_large := [each.filename for each in archive.infolist() if each.file_size > MOST_BYTES]:
                raise Unfit(f"{path}: {too_large[0]} is too large")
            parts = {name: archive.read(name) for name in (STATES, RANKS, TRACES)}
            head, ranks, traces = map(_read_json, (archive.read(HEAD), parts[RANKS], parts[TRACES]))
            if not isinstance(head, dict) or head.pop("format", "") != FORMAT:
                raise Unfit(f"{path}: is no certificate of Highwater")
            if (version := head.pop("version", None)) != VERSION:
                raise Unfit(f"{path}: is a certificate of version {version}; this Highwater reads version {VERSION}")
            if head.pop("seal", "") != _seal(head, parts):
                raise Unfit(f"{path}: was changed after it was written; write it anew")
            return _made({**head, "ranks": ranks, "traces": traces}, _parted(parts[STATES]))
    except _DAMAGE as error:
        raise Unfit(f"{path}: is truncated, or no certificate: {' '.join(str(error).split())}") from None


_RANKS = {"prospects": {str: [int]}, "liveness": {str: [[[int]]]}}
_TRACE = {"property": str, "back_to": (int, type(None)), "actions": [str], "states": [str]}
_CERTIFICATE = {
    "claim": str,
    "spec": {str: object},
    "code": {str: str},
    "verdict": str,
    "levels": [int],
    "counts": {str: (int, [int], {str: int})},
    "permutations": [{str: [[int]]}],
    "ranks": _RANKS,
    "traces": [_TRACE],
}


def _fits(value: Any, shape: Any) -> bool:
    """Whether JSON is made as a shape says: exactly of its types, so that neither true nor 1.0 passes for 1."""
    if isinstance(shape, tuple):
        return any(_fits(value, each) for each in shape)
    if isinstance(shape, list):
        return type(value) is list and all(_fits(each, shape[0]) for each in value)
    if not isinstance(shape, dict):
        return shape is object or type(value) is shape
    if type(value) is not dict:
        return False
    shapes = dict.fromkeys(value, shape[str]) if str in shape else shape
    return value.keys() == shapes.keys() and all(_fits(value[key], shapes[key]) for key in value)


def _made(found: dict[str, Any], states: list[bytes]) -> Certificate:
    for name in sorted({*found, *_CERTIFICATE}):
        if not _fits({name: found.get(name)}, {name: _CERTIFICATE.get(name)}):
            raise ValueError(f"{name} is not what it is in a certificate")
    if any(len(dict(pairs)) < len(pairs) for each in found["permutations"] for pairs in each.values()):
        raise ValueError("a name is exchanged twice")
    ranks = found.pop("ranks")
    found["permutations"] = [{names: dict(pairs) for names, pairs in each.items()} for each in found["permutations"]]
    liveness = {
        name: [cast("Stack", tuple((number, demand) for number, demand in stack)) for stack in stacks]
        for name, stacks in ranks["liveness"].items()
    }
    return Certificate(**found, states=states, prospects=ranks["prospects"], liveness=liveness)


def _read_json(data: bytes) -> Any:
    """Raises ValueError of what readers may understand differently: a key that is there twice."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(found := dict(pairs)) < len(pairs):
            raise ValueError("a key is there twice")
        return found

    return json.loads(data, object_pairs_hook=once)


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
        if shift > 63:
            raise ValueError("a number is too large")
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
        self._met: dict[tuple[int, Any], tuple[Domain, bytes]] = {}  # a domain that is kept lends its id to no other

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
            found = self._met[key] = domain, self._joined(domain, value)
        return found[1]

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
        except RAISED:  # by a class of the model, too
            pass
        raise ValueError("these bytes are no state within the bounds")

    def _value(self, domain: Any, data: bytes, at: int) -> tuple[Any, int]:
        if domain.is_scalar:
            number, at = _number_at(data, at)
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
