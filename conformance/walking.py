"""Random walks of Kafka's own code, step by step in one thread: of controllers with brokers and metadata loaders, or of
the quorum that keeps the metadata log.

The Java side, `harness/walk/`, draws steps from a seed, takes them, and checks invariants after each. What it breaks is
made short there. A defect of Kafka that is known is recognised by its cause (`KnownDefect.java`), and only counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from itertools import count, islice
from typing import Any

import attrs

from highwater.conformance.distribution import KafkaError
from highwater.conformance.process import OPTIONS, Harness
from highwater.conformance.programs import walk_harness

# of Kafka, without and with eligible leader replicas: they are on for new clusters since 4.1
OLDEST = {False: (3, 9), True: (4, 1)}
RUN_STEPS = 1_000
RUNS_AT_ONCE = 10
SHORTEST_OF = 3  # the runs that are made short, of those that break an invariant


class WalkFault(Exception):
    """The walk itself has failed, and not Kafka."""


class Who(Enum):
    """What walks."""

    CONTROLLER = "controller"
    QUORUM = "quorum"


class Log(Enum):
    """Where the replicas of a quorum have their logs."""

    MEMORY = "memory"
    DISK = "disk"


class Walker(Harness):
    """The walks' Java process."""

    program = "Walk"
    options = ("--add-opens", "java.base/java.lang=ALL-UNNAMED", *OPTIONS)

    def compiled(self) -> list[bytes]:
        """The jar with the walks' classes, some of which take the place of Kafka's."""
        return [walk_harness(self.distribution)]

    def checked(self, answer: Any) -> list[dict[str, Any]]:
        """The results, unless the walk has failed."""
        if isinstance(answer, dict) and "own" in answer:
            raise WalkFault(answer["own"])
        return super().checked(answer)


@attrs.frozen
class Setting:
    """What walks, and which known defects count as new.

    Attributes:
        who: controllers with brokers, or replicas of the metadata log.
        elr: whether eligible leader replicas are on; controllers have them.
        new: names of known defects that are to be treated as new ones.
        log: where replicas have their logs; those of a quorum.
    """

    who: Who
    elr: bool = False
    new: tuple[str, ...] = ()
    log: Log = Log.MEMORY


@attrs.frozen
class Schedule:
    """Steps that break an invariant.

    Attributes:
        seed: of the run that broke it.
        invariant: its name.
        violation: what is wrong, in words.
        steps: who does what, and what each step changes.
    """

    seed: int
    invariant: str
    violation: str
    steps: tuple[tuple[str, tuple[str, ...]], ...]


@attrs.define
class Walked:
    """What walks have found.

    Attributes:
        kafka: the release.
        setting: what walked.
        seed: of the first run.
        runs: how many.
        steps: that had an effect, of all runs.
        seconds: of processor time, in the Java process's one thread.
        taken: how often steps of each kind were taken.
        known: runs that met a known defect, and the seed of the first, by its name.
        found: schedules of new violations, one for each invariant, and in how many runs it was broken.
    """

    kafka: str
    setting: Setting
    seed: int
    runs: int = 0
    steps: int = 0
    seconds: float = 0.0
    taken: Counter[str] = attrs.Factory(Counter)
    known: dict[str, tuple[int, int]] = attrs.Factory(dict)
    found: dict[str, tuple[int, Schedule]] = attrs.Factory(dict)


def refuse_unless_possible(setting: Setting, release: str) -> None:
    """Refuse releases that the walks do not know.

    Raises:
        KafkaError: it is too old.
    """
    oldest = OLDEST[setting.elr]
    if tuple(map(int, re.findall(r"\d+", release)[:2])) < oldest:
        what = "eligible leader replicas are walked" if setting.elr else f"the {setting.who.value} is walked"
        raise KafkaError(f"--kafka {release}: {what} from Kafka {'.'.join(map(str, oldest))} on")


def known_defects(walker: Walker) -> list[str]:
    """The names of the defects that walks recognise."""
    return list(walker.run([{"do": "known", "who": Who.QUORUM.value}])[0]["names"])


def kinds(walker: Walker, who: Who) -> set[str]:
    """The names of the kinds of steps."""
    return set(walker.run([{"do": "known", "who": who.value}])[0]["kinds"])


def walk(
    walker: Walker, setting: Setting, seed: int, steps: int, on_progress: Callable[[str], None] = lambda line: None
) -> Walked:
    """Make runs, from this seed and those after it, until so many steps are taken; make short what is new.

    Raises:
        KafkaError: the Java side died, or lacks what is called.
        WalkFault: the walk itself has failed.
    """
    refuse_unless_possible(setting, walker.distribution.release)
    walked = Walked(walker.distribution.release, setting, seed)
    length, seeds = min(steps, RUN_STEPS), count(seed)
    while walked.steps < steps:
        runs = -(-(steps - walked.steps) // length)  # fewer would not be enough
        for number, answer in _answers(walker, setting, list(islice(seeds, min(runs, RUNS_AT_ONCE))), length):
            _add(walked, number, answer)
            if "invariant" in answer:
                name = answer["invariant"]
                times, schedule = walked.found.get(name, (0, None))
                if times < SHORTEST_OF:
                    on_progress(f"{name} is broken; making the schedule short")
                    (answer,) = walker.run([_operation(walker, setting, number, do="shrink", steps=length)])
                    shorter = _schedule(number, answer)
                    schedule = shorter if schedule is None else min(schedule, shorter, key=lambda each: len(each.steps))
                assert schedule is not None
                walked.found[name] = (times + 1, schedule)
            on_progress(
                f"{walked.steps:,} of {steps:,} steps  {walked.runs:,} runs  {len(walked.found)} new violations"
            )
    return walked


def follow(walker: Walker, setting: Setting, schedule: Schedule) -> tuple[Schedule | None, list[str]]:
    """Take the steps of a schedule again.

    Returns:
        What is broken now, or None, and the known defects that were met. Steps that have no effect are left out.

    Raises:
        ValueError: a step is not one that can be taken, with its text.
    """
    refuse_unless_possible(setting, walker.distribution.release)
    steps = [step for step, _ in schedule.steps]
    (answer,) = walker.run([_operation(walker, setting, schedule.seed, do="follow", schedule=steps)])
    if "bad" in answer:
        raise ValueError(answer["bad"])
    return _schedule(schedule.seed, answer) if "invariant" in answer else None, list(answer["known"])


@attrs.frozen
class Compared:
    """The log in memory beside Kafka's own on disk.

    Attributes:
        done: how often each operation was done to both.
        refused: how often Kafka refused it.
        difference: what the first answer was, or what was there, that was not the same; or None.
    """

    done: Counter[str]
    refused: Counter[str]
    difference: str | None


def compare_logs(walker: Walker, seed: int, steps: int) -> Compared:
    """Do the same operations, drawn from a seed, to a log in memory and to one of Kafka's on disk, until they differ.

    Raises:
        KafkaError: the Java side died, or lacks what is called.
        WalkFault: the log in memory has failed, which is not to refuse.
    """
    asked = {"do": "compare", "release": walker.distribution.release, "seed": seed, "steps": steps}
    (answer,) = walker.run([asked])
    return Compared(Counter(answer["done"]), Counter(answer["refused"]), answer.get("difference"))


def _operation(walker: Walker, setting: Setting, seed: int, **more: Any) -> dict[str, Any]:
    asked = {
        "who": setting.who.value, "elr": setting.elr, "log": setting.log.value, "new": list(setting.new), "seed": seed
    }  # fmt: skip
    return {"release": walker.distribution.release, **asked, **more}


def _answers(walker: Walker, setting: Setting, seeds: Sequence[int], length: int) -> Iterator[tuple[int, Any]]:
    """One run of each seed."""
    answers = walker.run([_operation(walker, setting, each, do="walk", steps=length) for each in seeds])
    return zip(seeds, answers, strict=True)


def _add(walked: Walked, seed: int, answer: dict[str, Any]) -> None:
    walked.runs += 1
    walked.steps += max(1, answer["steps"])  # so that runs that break at once come to an end
    walked.seconds += answer["nanos"] / 1e9
    walked.taken.update(answer["taken"])
    for name in answer["known"]:
        times, first = walked.known.get(name, (0, seed))
        walked.known[name] = (times + 1, first)


def _schedule(seed: int, answer: dict[str, Any]) -> Schedule:
    steps = zip(answer["schedule"], map(tuple, answer["effects"]), strict=True)
    return Schedule(seed, answer["invariant"], answer["violation"], tuple(steps))
