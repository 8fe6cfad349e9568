"""The processors that machine code can be made for ahead of time: the least of each kind that counts."""

from __future__ import annotations

import os
from typing import NamedTuple

import llvmlite.binding as llvm


class Target(NamedTuple):
    """Processors of one kind.

    Attributes:
        name: as people call them.
        processor, triple: the least of them, and architecture and system, as LLVM spells them.
        features: what a processor must have besides what every one of the architecture has, as LLVM spells it.
    """

    name: str
    processor: str
    triple: str
    features: frozenset[str]

    @property
    def architecture(self) -> str:
        return self.triple.partition("-")[0]


_V2 = frozenset({"cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"})
_V3 = _V2 | {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"}
TARGETS = (
    Target("x86-64-v3", "x86-64-v3", "x86_64-unknown-linux-gnu", _V3),  # Haswell, Zen and later
    Target("x86-64-v2", "x86-64-v2", "x86_64-unknown-linux-gnu", _V2),
    Target("aarch64", "generic", "aarch64-unknown-linux-gnu", frozenset()),
)


def fitting() -> list[Target]:
    """Of which targets this process's processor is, the best first."""
    architecture, _, system = llvm.get_process_triple().partition("-")
    if "linux" not in system:
        return []
    features = _of_this_processor()
    return [each for each in TARGETS if each.architecture == architecture and each.features <= features]


def has(feature: str) -> bool:
    """Whether the processor that numba compiles for has a feature: this one, unless NUMBA_CPU_NAME names another."""
    name = os.environ.get("NUMBA_CPU_NAME")
    if name is None:
        return feature in _of_this_processor()
    return any(feature in each.features for each in TARGETS if each.processor == name)


def _of_this_processor() -> frozenset[str]:
    try:
        return frozenset(name for name, there in llvm.get_host_cpu_features().items() if there)
    except RuntimeError:  # LLVM cannot say
        return frozenset()
