"""The claims in `specs`, each of which is read and searched once in a run of tests, whatever asks for it."""

from __future__ import annotations

import functools
import tomllib
from pathlib import Path

import pytest

from highwater.claims.checking import Result, check_spec
from highwater.claims.spec import find_specs, load_spec

SPECS = Path(__file__).parents[1] / "specs"
FILES = find_specs([SPECS])
FIRST = {path.parent: path for path in reversed(FILES)}.values()
TOGETHER = Path(__file__).parent / "model" / "together_they_reach_all.toml"
PICKED: dict[str, list[str]] = tomllib.loads(TOGETHER.read_text(encoding="utf-8"))
"""By model, the claims that together reach all that its claims do."""
OF_ALL = {name: model for model, names in PICKED.items() for name in names}


loaded = functools.cache(load_spec)


def named(path: Path) -> str:
    return path.relative_to(SPECS).with_suffix("").as_posix()


def process_of(path: Path) -> pytest.MarkDecorator:
    """All that is asked of one claim, or of those that are asked together, runs in one process."""
    return pytest.mark.xdist_group(OF_ALL.get(path.stem, named(path)))


@functools.cache
def checked(path: Path) -> Result:
    """What comes out of a claim as it is. Those that are asked together begin with nothing learned, all others with
    what claims of their model have learned in this run.
    """
    anew = path.stem in OF_ALL
    return check_spec(loaded(path), coverage=anew, keep_trees=not anew)
