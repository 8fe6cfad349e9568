"""Changes models and properties at random, one change at a time, and shows which claim or test notices each.

    python -m tests.model_mutants                      52 changes of each model, drawn with the seed 1
    python -m tests.model_mutants --seed 7 -n 20 kraft
    python -m tests.model_mutants --write              and put the table into docs/testing.md

First each claim is searched once as it is, to know which lines it runs; that is kept in build/ until the model, its
properties or the claim change. A mutation is made in a copy of `model/` and `invariants/`. One that mypy refuses is
stillborn, as one that does not compile is in a language with a compiler: it is counted apart, and another is drawn.
For any other the claims run that run the changed line, the cheapest first, until one comes out otherwise or all have
been asked. If one fails, as by an index out of range, the others are asked all the same. If none did either, the quick
tests of the model are run.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import pickle
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from enum import Enum
from importlib import import_module
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import Any

import attrs

from highwater.claims.checking import Auditing, Status, check_spec
from highwater.claims.spec import load_spec
from highwater.explorer.search.levels import breadth_first  # noqa: F401 - loaded once, before processes are forked
from highwater.explorer.verdict import Budget
from tests import mutations
from tests.mutations import OPERATORS, ROOT, Mutation

MODELS = ("partition", "controller", "kraft")
KNOWN = ROOT / "build" / "lines_of_claims.json"
PAGE = ROOT / "docs" / "testing.md"
LONGEST = 60  # seconds of the processor for one claim; ten times as many for all tests
OF_PARTITION = ("disturbing", "fetching", "isr", "leadership", "logs", "rules", "shutdowns")
TESTS = {
    "partition": [f"tests/model/test_partition_{name}.py" for name in OF_PARTITION],
    "controller": ["tests/model/controller"],
    "kraft": ["tests/model/kraft"],
}


class By(Enum):
    """Who notices a mutation."""

    VERDICT = "a claim's verdict"
    COUNT = "a locked count"
    ERROR = "an error of a claim"
    TEST = "a quick test"
    NOBODY = "nobody"


ANSWERS = By.VERDICT, By.COUNT
"""Where there is one of these, no claim is asked any more. Where a claim has failed, another may still answer."""


@attrs.frozen
class Claim:
    """A claim as it is: its file, how long it takes in seconds, its distinct states, and the lines that it runs."""

    path: str
    seconds: float
    states: int
    lines: dict[str, list[int]]

    def runs(self, mutation: Mutation) -> bool:
        return not set(mutation.lines).isdisjoint(self.lines.get(mutation.file, ()))


@attrs.frozen
class Fate:
    """What became of a mutation: who noticed, which claim or test, and how many claims were asked for how long."""

    mutation: Mutation
    by: By
    who: str
    asked: int
    of: int
    seconds: float

    def __str__(self) -> str:
        who = f": {self.who}" if self.who else ""
        return f"{self.mutation}\n    {self.by.value}{who}; {self.asked} of {self.of} claims, {self.seconds:.0f} s"


class Late(Exception):
    """A claim takes too long."""


# What claims run


def claims_of(model: str, jobs: int, largest: int) -> list[Claim]:
    """The claims of a model that have no more than so many states, the cheapest first."""
    claimed = {path: tomllib.loads(path.read_text()) for path in sorted((ROOT / "specs").rglob("*.toml"))}
    of_model = {path: spec["expect"] for path, spec in claimed.items() if spec["model"] == model}
    paths = [path for path, expect in of_model.items() if expect.get("distinct_states", 0) <= largest]
    code = b"".join(path.read_bytes() for path in mutations.files_of(model))
    keys = {named(path): hashlib.sha256(code + path.read_bytes()).hexdigest() for path in paths}
    known = json.loads(KNOWN.read_text()) if KNOWN.exists() else {}
    missing = [path for path in paths if known.get(named(path), {}).get("key") != keys[named(path)]]
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        for found in pool.imap_unordered(looked_at, missing):
            known[found["path"]] = {**found, "key": keys[found["path"]]}
            print(f"{found['path']}: {found['states']} states, {found['seconds']:.1f} s", flush=True)
    KNOWN.parent.mkdir(exist_ok=True)
    KNOWN.write_text(json.dumps(known))
    each = [Claim(*(known[name][field] for field in ("path", "seconds", "states", "lines"))) for name in keys]
    return sorted(each, key=lambda claim: claim.seconds)


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def looked_at(path: Path) -> dict[str, Any]:
    """What a claim runs. Each path of a function runs in Python once."""
    spec, started, ran = load_spec(path), time.process_time(), defaultdict(set)
    sys.settrace(tracing(ran))
    states = check_spec(spec, workers=1).outcome.distinct_states
    sys.settrace(None)
    lines = {file: sorted(of) for file, of in ran.items()}
    return {"path": named(path), "seconds": time.process_time() - started, "states": states, "lines": lines}


def tracing(ran: dict[str, set[int]]) -> Callable[..., Any]:
    """What notes the lines that run, for `sys.settrace`."""
    files: dict[str, set[int] | None] = {}

    def at_line(frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            files[frame.f_code.co_filename].add(frame.f_lineno)
        return at_line

    def at_call(frame: FrameType, event: str, argument: Any) -> Any:
        name = frame.f_code.co_filename
        if name not in files:
            path = Path(name).resolve()
            inside = any(path.is_relative_to(ROOT / folder) for folder in ("model", "invariants"))
            files[name] = ran[named(path)] if inside else None
        return None if files[name] is None else at_line

    return at_call


# What notices a mutation


def fate_of(job: tuple[Mutation, list[Claim], float]) -> Fate:
    """What becomes of a mutation in a process of its own, which has read no model yet."""
    mutation, claims, limit = job
    running, started = [claim for claim in claims if claim.runs(mutation)], time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        copied(tree)
        plant(mutation, tree)
        read_models_from(tree)
        asked, by, who = 0, By.NOBODY, ""
        for claim in running:
            asked += 1
            answer = noticed(claim)
            if answer in ANSWERS or (answer is By.ERROR and by is By.NOBODY):
                by, who = answer, Path(claim.path).stem
            if by in ANSWERS or time.process_time() - started > limit:
                break
        if by is By.NOBODY and (test := failing_test(mutation.file.split("/")[1], tree)) is not None:
            by, who = By.TEST, test
        return Fate(mutation, by, who, asked, len(running), time.process_time() - started)


def copied(tree: Path) -> None:
    """A copy of the models, and beside it what tests and types need."""
    for path in ROOT.iterdir():
        if path.name in ("model", "invariants", "src"):  # the links in src lead to the copies
            shutil.copytree(path, tree / path.name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
        elif not path.name.startswith(".") and path.name != "build":
            (tree / path.name).symlink_to(path)


def plant(mutation: Mutation, tree: Path) -> None:
    path = tree / mutation.file
    path.write_text(mutation.planted(path.read_text(encoding="utf-8")), encoding="utf-8")


def read_models_from(tree: Path) -> None:
    """Let this process read models and properties from a tree; the language and the catalogue are as they are."""
    names = [f"highwater.{folder}.{model}" for folder in ("model", "invariants") for model in MODELS]
    read = [name for name in sys.modules if name.startswith(tuple(names))]
    assert not read, f"a model was read before it was changed: {read}"
    for folder in ("model", "invariants"):
        import_module(f"highwater.{folder}").__path__ = [str(tree / folder)]


def noticed(claim: Claim) -> By | None:
    """How a claim comes out otherwise, if it does."""
    budget = Budget(max_states=3 * claim.states + 1000)
    signal.signal(signal.SIGPROF, too_late)
    signal.setitimer(signal.ITIMER_PROF, LONGEST)
    try:
        result = check_spec(load_spec(ROOT / claim.path), budget=budget, workers=1, audit=Auditing.NONE)
    except Late:
        return None
    except Exception:  # whatever the mutation made of it
        return By.ERROR
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    if result.status is Status.UNDECIDED:  # three times as many states as there were
        return By.COUNT if result.spec.file.expect.distinct_states is not None else None
    if result.status is Status.MET:
        return None
    keys = {mismatch.key for mismatch in result.mismatches}
    return By.VERDICT if keys & {"expect.verdict", "expect.property"} else By.COUNT


def too_late(*_: Any) -> None:
    raise Late


def limited() -> None:
    """Let a process, and those that it starts, take no more of the processor than tests need."""
    resource.setrlimit(resource.RLIMIT_CPU, (10 * LONGEST, 10 * LONGEST))


def failing_test(model: str, tree: Path) -> str | None:
    """The first quick test of a model that fails."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--tb=no", "-rfE"]
    environment = {**os.environ, "PYTHONPATH": f"{tree}/src", "PYTHONDONTWRITEBYTECODE": "1"}
    tests = [
        *TESTS[model],
        "tests/model/test_every_property.py",
        "tests/model/test_every_exemption.py",
    ]
    done = subprocess.run(
        [*command, "-m", "not slow", f"--rootdir={tree}", *tests],
        cwd=tree, env=environment, capture_output=True, text=True, check=False, preexec_fn=limited,
    )  # fmt: skip
    if done.returncode == 0:
        return None
    found = re.search(r"^(?:FAILED|ERROR) ([^[\n]+?)(?:\[| - |$)", done.stdout, re.MULTILINE)
    return found.group(1) if found else done.stdout[-200:]


# What is drawn, and what came out


def drawn(model: str, seed: int) -> Iterator[Mutation]:
    """Mutations of a model at random: each operator is as likely as any other."""
    by_operator: dict[str, list[Mutation]] = {name: [] for name in OPERATORS}
    for path in mutations.files_of(model):
        for operator, found in mutations.mutations_of(path).items():
            by_operator[operator] += found
    draw = random.Random(f"{model} {seed}")
    while any(by_operator.values()):
        of = by_operator[draw.choice([name for name, left in by_operator.items() if left])]
        yield of.pop(draw.randrange(len(of)))


def chosen(model: str, number: int, seed: int) -> tuple[list[Mutation], list[Mutation]]:
    """So many mutations that have the right types, as they are drawn, and those between them that have not."""
    draws = drawn(model, seed)
    born: list[Mutation] = []
    stillborn: list[Mutation] = []
    with tempfile.TemporaryDirectory() as folder:
        copied(Path(folder))
        with suppress(FileNotFoundError):  # what mypy knows of the files that nobody changes
            shutil.copytree(ROOT / ".mypy_cache", Path(folder) / ".mypy_cache")
        while len(born) < number and (batch := list(islice(draws, number - len(born)))):
            refused = refused_by_types(batch, Path(folder))
            stillborn += refused
            born += [each for each in batch if each not in refused]
    return born, stillborn


def refused_by_types(mutations_: list[Mutation], tree: Path) -> list[Mutation]:
    """Those with which mypy, as the project has set it up, finds an error in the changed file. Each run has one of each
    file: what a function says of itself does not change.
    """
    refused, left = [], mutations_
    while left:
        of_files = {each.file: each for each in reversed(left)}
        left = [each for each in left if each is not of_files[each.file]]
        for mutation in of_files.values():
            plant(mutation, tree)
        modules = [".".join(("highwater", *Path(file).with_suffix("").parts)) for file in of_files]
        command = [sys.executable, "-m", "mypy", *(f"--module={module}" for module in modules)]
        done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
        assert done.returncode in (0, 1), done.stderr
        refused += [each for file, each in of_files.items() if f"/{file}:" in done.stdout]
        for file in of_files:
            shutil.copy(ROOT / file, tree / file)
    return refused


def fates(born: list[Mutation], claims: list[Claim], jobs: int, limit: float, kept: Path | None) -> Iterator[Fate]:
    known = known_fates(kept)
    yield from (known[str(each)] for each in born if str(each) in known)
    with multiprocessing.get_context("fork").Pool(jobs, maxtasksperchild=1) as pool:
        jobs_left = [(each, claims, limit) for each in born if str(each) not in known]
        for fate in pool.imap_unordered(fate_of, jobs_left):
            if kept is not None:
                with kept.open("ab") as file:
                    file.write(pickle.dumps(fate))
            yield fate


def known_fates(kept: Path | None) -> dict[str, Fate]:
    """What a run that was interrupted has found already."""
    found: dict[str, Fate] = {}
    if kept is not None and kept.exists():
        with kept.open("rb") as file:
            while file.peek():
                fate = pickle.load(file)
                found[str(fate.mutation)] = fate
    return found


def table(found: dict[str, list[Fate]], stillborn: dict[str, int]) -> str:
    """The result in Markdown."""
    of = {"all": [fate for each in found.values() for fate in each], **found}
    refused = [sum(stillborn.values()), *stillborn.values()]
    rows = ["| | " + " | ".join(of) + " |", "|---|" + "---|" * len(of)]
    rows += ["| changes | " + " | ".join(str(len(each)) for each in of.values()) + " |"]
    for by in By:
        counts = [Counter(fate.by for fate in each)[by] for each in of.values()]
        rows.append(f"| {by.value} | " + " | ".join(map(str, counts)) + " |")
    rows.append("| besides: refused by the type checker | " + " | ".join(map(str, refused)) + " |")
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", choices=[*MODELS, []], help="whose (default: all three)")
    parser.add_argument("-n", type=int, default=52, help="how many changes of each model (default: 52)")
    parser.add_argument("--seed", type=int, default=1, help="of what is drawn (default: 1)")
    parser.add_argument("--seconds", type=float, default=30, help="of the processor on claims for each (default: 30)")
    parser.add_argument("--states", type=int, default=30_000, help="larger claims are not asked (default: 30000)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many at once")
    parser.add_argument("--keep", type=Path, help="a file of what was found, from which another run goes on")
    parser.add_argument("--write", action="store_true", help="put the table into docs/testing.md")
    given = parser.parse_args()
    found: dict[str, list[Fate]] = {}
    stillborn: dict[str, int] = {}
    for model in given.models or MODELS:
        with multiprocessing.get_context("spawn").Pool(1) as pool:  # so that this process reads no model
            born, refused = pool.apply(chosen, (model, given.n, given.seed))
        found[model], stillborn[model] = [], len(refused)
        print("\n".join(f"{each}\n    refused by the type checker" for each in refused), flush=True)
        if (test := failing_test(model, ROOT)) is not None:
            parser.exit(1, f"{test} fails where nothing is changed\n")
        claims = claims_of(model, given.jobs, given.states)
        for fate in fates(born, claims, given.jobs, given.seconds, given.keep):
            print(fate, flush=True)
            found[model].append(fate)
    print(f"seed {given.seed}\n{table(found, stillborn)}")
    if given.write:
        write(table(found, stillborn))


def write(text: str) -> None:
    """Put the table between its marks in the page."""
    begin, end = "<!-- begin of the table of mutations -->\n", "<!-- end of the table of mutations -->"
    head, _, rest = PAGE.read_text(encoding="utf-8").partition(begin)
    PAGE.write_text(f"{head}{begin}{text}\n{end}{rest.partition(end)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main()
