"""A counterexample of the partition model as a JUnit test that belongs beside Kafka's own `PartitionTest`.

Each broker of the model is a `Partition` with a `LogManager` and a log directory of its own. Learning, producing,
fetching and ISR changes are calls of `Partition`; what the controller does is in the arguments of the calls that
follow. At the end the test asserts the property. It needs JUnit and Mockito, and none of Kafka's test classes, which
not every release publishes. What releases spell differently is written as the release's jars declare it.

Source: kafka.cluster.PartitionTest, kafka.cluster.Partition (3.5 to 4.4), kafka.log.LogManager (3.5 to 4.3),
org.apache.kafka.storage.internals.log.LogManager (4.4).
"""

from __future__ import annotations

import itertools
import os
import re
import string
import subprocess
import tempfile
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from highwater.conformance.declarations import lacking
from highwater.conformance.distribution import (
    NEWEST_KAFKA,
    OLDEST_KAFKA,
    Distribution,
    KafkaError,
    junit_class_path,
    numbers_of,
)
from highwater.conformance.jvm import TOOLS_ALIKE, environment
from highwater.conformance.kafka_spelling import spelling
from highwater.conformance.programs import BRIEFLY, of_the_jdk
from highwater.explorer.system import System
from highwater.explorer.verdict import Step, Violation
from highwater.model.partition.leadership import learned
from highwater.model.partition.messages import Answer, Election
from highwater.model.partition.state import Leadership, Partition

TEMPLATE = Path(__file__).parent / "templates" / "PartitionTrace.java"
WIDTH = 112


class _Java(string.Template):
    """Text with `@@{name}` where something is to be filled in: `$` means something in Java."""

    delimiter = "@@"


def release_of(preset: str, kept: Sequence[str] = ()) -> str:
    """The release that a preset is of: the newest of those that were resolved before, or else the first one.

    Raises:
        KafkaError: it is of none, or of one that is too old.
    """
    found = re.fullmatch(r"kafka-(\d+\.\d+)(\.\d+)?", preset)
    oldest = ".".join(map(str, OLDEST_KAFKA))
    if found is None or numbers_of(found[1]) < OLDEST_KAFKA:
        of = f"a release before {oldest}, the oldest that tests are written for" if found else "no release of Kafka"
        raise KafkaError(
            f"--junit-test: {preset or 'the protocol'} is of {of}; name one with --kafka, such as {NEWEST_KAFKA}"
        )
    of_it = [each for each in kept if each.startswith(f"{found[1]}.")]
    return preset.removeprefix("kafka-") if found[2] else max(of_it, key=numbers_of, default=f"{found[1]}.0")


def class_name(claim: str) -> str:
    """The name of the class that tests a claim."""
    words = "".join(word[:1].upper() + word[1:] for word in re.split(r"[^A-Za-z0-9]+", claim))
    return f"{'' if words[:1].isalpha() else 'Trace'}{words}Test"


def class_of(file: Path) -> str:
    """The name of the class that a file must hold.

    Raises:
        KafkaError: no class can have it.
    """
    if file.suffix != ".java" or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", file.stem):
        raise KafkaError(f"--junit-test: {file.name}: a file of Java is named after its class, such as FlawTest.java")
    return file.stem


def junit_test(claim: str, name: str, system: System, violation: Violation, kafka: Distribution) -> str:
    """The source of a test class. For a release that is newer than those that are known it is compiled, too.

    Args:
        claim: what the counterexample contradicts, for people.
        name: the class's name.
        kafka: the release that it is written for.

    Raises:
        KafkaError: a step, the property or the initial state cannot be had in this way, or the release lacks what a
            test calls.
    """
    states = [step.state for step in violation.trace]
    if not isinstance(states[0], Partition):
        raise KafkaError("--junit-test: needs a counterexample of the model partition")
    _refuse_initial(states[0])
    assertion = _assertion(violation, states[-1])
    steps = "\n\n".join("\n".join(lines) for lines in _steps(violation.trace, system.protocol))
    of = next(each.of for each in system.safety if each.of.name == violation.property)
    filled = {
        **spelling(kafka),
        "class_name": name,
        "test_name": _test_name(violation.property),
        "story": _story(claim, of, violation, kafka.release),
        "replicas": _numbers(range(len(states[0].replicas))),
        "min_isr": str(system.bounds.min_insync_replicas),
        "steps": steps,
        "property": violation.property,
        "assertion": assertion,
    }
    text = _Java(TEMPLATE.read_text(encoding="utf-8")).substitute(filled)
    if numbers_of(kafka.release) > numbers_of(NEWEST_KAFKA):
        _refuse_what_does_not_compile(text, name, kafka)
    return text


def _refuse_what_does_not_compile(text: str, name: str, kafka: Distribution) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, f"{name}.java")
        source.write_text(text, encoding="utf-8")
        class_path = os.pathsep.join([*kafka.class_path, *junit_class_path()])
        options = [*TOOLS_ALIKE, *BRIEFLY, "-nowarn", "-proc:none", "-d", folder, "-cp", class_path]
        command = [of_the_jdk("javac"), *options, str(source)]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", env=environment())
    if done.returncode:
        raise lacking(kafka.release, _first_error(done.stderr))


def _first_error(printed: str) -> str:
    """Class and member that the compiler does not find, or else its own words."""
    said = re.search(r"error: (.*)", printed)
    member = re.search(r"^ +symbol: +(?:method|variable|class) (\w+)", printed, re.MULTILINE)
    place = re.search(r"^ +location: (?:.* of type|class|interface) ([\w.]+)", printed, re.MULTILINE)
    if said is None or member is None or "cannot find symbol" not in said[1]:
        return said[1] if said else printed.strip()
    return f"{place[1].rpartition('.')[2]}#{member[1]}" if place else member[1]


def _story(claim: str, of: Any, violation: Violation, release: str) -> str:
    meaning = (of.__doc__ or "").strip().splitlines()[0]
    paragraphs = [
        f"A counterexample of Highwater's claim {claim}, for Kafka {release}.",
        f"{violation.property}: {re.sub(r'^S[0-9]+: ', '', meaning)} It is false after "
        f"{violation.length_in_words}: {violation.witness}.",
        "Each broker has a Partition and a log directory of its own. The test hands over metadata, fetches and the "
        "controller's answers in the order of the steps. Broker b0 of the model has the id 0.",
    ]
    wrapped = [textwrap.wrap(each, WIDTH - 3, break_long_words=False) for each in paragraphs]
    return "\n *\n".join("\n".join(f" * {line}" for line in lines) for lines in wrapped)


def _test_name(of: str) -> str:
    words = of.split("_")
    return "test" + "".join(word.capitalize() for word in words)


def _numbers(brokers: Any) -> str:
    return ", ".join(map(str, sorted(brokers)))


def _refuse_initial(partition: Partition) -> None:
    everyone = frozenset(range(len(partition.replicas)))
    if partition.quorum.isr != everyone or any(each.log or not each.is_up for each in partition.replicas):
        raise KafkaError(
            "--junit-test: the trace begins with records, or with brokers that are down; a test begins with empty logs"
        )


def _assertion(violation: Violation, last: Partition) -> str:
    """The call that asserts the property at the end."""
    if violation.property == "candidates_are_complete":
        if int(violation.arguments["broker"].removeprefix("b")) not in last.quorum.isr:
            raise KafkaError("--junit-test: the candidate is an eligible leader replica, which Partition does not know")
        return "assertExposedRecordsAreOn(isr)"
    leader = violation.arguments.get("leader", "").removeprefix("b")
    if violation.property == "exposed_records_survive":
        return f"assertExposedRecordsAreOn(setOf({leader}))"
    if violation.property == "own_isr_is_complete":
        return f"assertExposedRecordsAreOn(brokers.get({leader}).knownIsr())"
    raise KafkaError(
        f"--junit-test: {violation.property} cannot be asserted; a test can assert candidates_are_complete, "
        "exposed_records_survive and own_isr_is_complete"
    )


# What each step is


def _steps(trace: tuple[Step, ...], protocol: Any) -> Iterator[list[str]]:
    first = trace[0].state.elections[0]
    learn = _learn("broker", 0, first)
    yield [
        "        // every broker learns of the first leader",
        "        for (Broker broker : brokers)",
        f"    {learn}",
    ]
    for number, (before, step) in enumerate(itertools.pairwise(trace), 1):
        action = step.action
        assert action is not None
        call = CALLS.get(action.of.name)
        if call is None:
            known = ", ".join(CALLS)
            raise KafkaError(f"--junit-test: step {number}, {action}, is no call of Partition; what can be: {known}")
        try:
            lines = call(before.state, step.state, **action.arguments)
        except ValueError as error:
            raise KafkaError(f"--junit-test: step {number}, {action}: {error}") from None
        arguments = ", ".join(f"{name} {value}" for name, value in action.shown.items())
        yield [f"        // {number}. {action.actor}: {action.of.name}({arguments})", *lines]


def _broker(broker: int) -> str:
    return f"brokers.get({broker})"


def _learn(who: str, epoch: int, election: Election) -> str:
    leader = -1 if election.leader is None else election.leader
    return (
        f"        {who}.learn(/* leader */ {leader}, /* leader epoch */ {epoch}, "
        f"/* ISR */ Arrays.asList({_numbers(election.isr)}), /* partition epoch */ {election.partition_epoch});"
    )


def _controller(before: Partition, after: Partition, **arguments: Any) -> list[str]:
    """What the controller records. Brokers learn of it in steps of their own."""
    old, new = before.quorum, after.quorum
    if (old.leader, old.isr, old.partition_epoch) == (new.leader, new.isr, new.partition_epoch):
        return ["        // nothing that a Partition learns of"]
    leader = "nobody" if new.leader is None else f"broker {new.leader}"
    lines = [
        f"        // The controller records: {leader} leads in leader epoch {after.leader_epoch}, ISR "
        f"[{_numbers(new.isr)}], partition epoch {new.partition_epoch}."
    ]
    return [*lines, f"        isr = setOf({_numbers(new.isr)});"] if old.isr != new.isr else lines


def _produce(before: Partition, after: Partition, leader: int) -> list[str]:
    return [f'        {_broker(leader)}.append("r{before.next_record_id}");']


def _fetch(before: Partition, after: Partition, follower: int) -> list[str]:
    return [f"        {_broker(follower)}.fetchFrom({_broker(cast('int', before.replicas[follower].leader))});"]


def _learn_leadership(before: Partition, after: Partition, broker: int, epoch: int) -> list[str]:
    return [_learn(_broker(broker), epoch, cast("Election", learned(before, broker, epoch)))]


def _learn_isr(before: Partition, after: Partition, leader: int) -> list[str]:
    quorum = before.quorum
    election = Election(quorum.leader, quorum.isr, quorum.assignment, quorum.partition_epoch)
    return [_learn(_broker(leader), before.leader_epoch, election)]


def _propose_shrink(before: Partition, after: Partition, leader: int, follower: int) -> list[str]:
    replica = before.replicas[leader]
    end = replica.log_end_offset
    for member in sorted(cast("Leadership", replica.leadership).isr - {leader}):
        behind = replica.followers[member].log_end_offset != end
        if behind != (member == follower):
            raise ValueError(
                f"Partition#maybeShrinkIsr takes out every follower behind the log end, and "
                f"b{member} is {'behind' if behind else 'not behind'}"
            )
    return [f"        {_broker(leader)}.shrinkIsr();"]


def _alter_partition(before: Partition, after: Partition, leader: int) -> list[str]:
    if not any(each.answer is Answer.SUCCESS for each in after.replicas[leader].changes):
        return ["        // The controller refuses the request."]
    return [f"        isr = {_broker(leader)}.proposedIsr();"]


def _receive_isr_answer(before: Partition, after: Partition, leader: int) -> list[str]:
    change = next(each for each in before.replicas[leader].changes if each.answer is not Answer.NONE)
    if change.answer is Answer.SUCCESS:
        return [f"        {_broker(leader)}.isrGranted(/* partition epoch */ {change.partition_epoch});"]
    error = "INELIGIBLE_REPLICA" if change.answer is Answer.INELIGIBLE else "INVALID_UPDATE_VERSION"
    return [f"        {_broker(leader)}.isrRefused(Errors.{error});"]


CALLS: Mapping[str, Callable[..., list[str]]] = {
    "produce": _produce,
    "fetch_at_once": _fetch,
    "learn_leadership": _learn_leadership,
    "learn_isr": _learn_isr,
    "propose_shrink": _propose_shrink,
    "alter_partition": _alter_partition,
    "receive_isr_answer": _receive_isr_answer,
    "move_leadership": _controller,
    "elect": _controller,
    "fence": _controller,
    "unfence": _controller,
}
"""What each action of the model is in the test."""
