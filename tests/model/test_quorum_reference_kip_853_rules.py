"""Kafka's own tests of changing voters, as stories about `kip-853`, and where the public specification differs; see
also `docs/models.md`.
"""

from __future__ import annotations

import inspect
from typing import Any

import attrs
import pytest

from highwater.model.quorum_reference.kip_853 import electing, reconfiguring, replicating
from highwater.model.quorum_reference.kip_853.bounds import ReconfigurationBounds
from highwater.model.quorum_reference.kip_853.definition import initial_states
from highwater.model.quorum_reference.kip_853.state import ChangingQuorum
from highwater.model.quorum_reference.messages import Kind
from highwater.model.quorum_reference.protocol import QuorumProtocol, Variant

PROTOCOL = QuorumProtocol(variant=Variant.KIP_853)
STEPS = {step.name: step for step in (*reconfiguring.STEPS, *electing.STEPS, *replicating.STEPS)}
HANDLED = {"vote": Kind.VOTE, "take_vote": Kind.VOTED, "begin_epoch": Kind.BEGIN, "take_response": Kind.FETCHED}
S1_FETCHES = "send_fetch s1 s0, serve_voter s1>s0, take_response s0>s1"
S1_LEADS = "request_votes s1, vote s1>s0, take_vote s0>s1, become_leader s1, begin_epoch s1>s0"
S0_FETCHES = "send_fetch s0 s1, serve_voter s0>s1, take_response s1>s0"
S2_JOINS = "start_server h0 s0, send_fetch s2 s0, reject_fetch s2>s0 e0 at 0, take_response s0>s2 at 0"
S2_FETCHES = "send_fetch s2 s0, serve_observer s2>s0 e1, take_response s0>s2 e1"


@attrs.frozen
class Fact:
    """A fact: the test of Kafka 3.9, the method or the action of the specification that has it, a story, and what is to
    be seen after it.

    In a story, `vote s0>s1 e2` handles the message from s0 to s1 in epoch 2, and `at 0` is the offset of a fetch. Both
    may be left out if there is one such message. What comes behind `not` must not be enabled.
    """

    source: str
    story: str
    expected: dict[str, Any]
    voters: int = 2
    changes: int = 2


def argument(words: list[str], name: str, state: ChangingQuorum) -> Any:
    """s1 is server 1, h0 is host 0, v0 is value 0, and s0>s1 the message on its way between the two."""
    word = words.pop(0)
    if ">" not in word:
        return int(word[1:])
    source, dest = (int(server[1:]) for server in word.split(">"))
    epoch = int(words.pop(0)[1:]) if words and words[0].startswith("e") else None
    offset = int(words.pop(1)) if words and words[0] == "at" else None
    kind = HANDLED.get(name, Kind.FETCH)
    (message,) = [
        each
        for each in state.on_their_way
        if (each.kind, each.source, each.dest) == (kind, source, dest)
        and epoch in (None, each.epoch)
        and offset in (None, (each.request or each).offset)
    ]
    return message


def state_after(fact: Fact) -> ChangingQuorum:
    """The state after a story."""
    bounds = ReconfigurationBounds(fact.voters, 1, 3, 3, 3, 2, 2, 3, 1, 1, fact.changes, fact.changes, 1, 2)
    (state,) = initial_states(bounds)
    for sentence in fact.story.split(", "):
        refused, (name, *words) = sentence.startswith("not "), sentence.removeprefix("not ").split()
        step = STEPS[name]
        given = {"bounds": bounds, "protocol": PROTOCOL}
        taken = inspect.signature(step.function).parameters
        filled = {key: value for key, value in given.items() if key in taken}
        filled |= {key: argument(words, name, state) for key in list(taken)[1:] if key not in given}
        after = step.function(state, **filled)
        assert (after is None) == refused, f"{sentence}: {'enabled' if refused else 'not enabled'}"
        state = state if after is None else after
    return state


FACTS = [
    Fact(
        "KafkaRaftClientReconfigTest#testAddVoter",
        f"{S2_JOINS}, {S2_FETCHES}, add_voter s0 s2, {S2_FETCHES}, send_fetch s2 s0",
        {"s0.configuration": "{s0 s1 s2}", "s2.role": "voter", "s2.is_committed": False},
    ),
    Fact(
        "KafkaRaftClientReconfigTest#testAddVoterToNotLeader",
        f"{S2_JOINS}, not add_voter s1 s2",
        {"s1.configuration": "{s0 s1}"},
    ),
    Fact(
        "KafkaRaftClientReconfigTest#testAddVoterWithExistingVoter",
        "not add_voter s0 s1",
        {"s0.configuration": "{s0 s1}"},
    ),
    Fact(
        "KafkaRaftClientReconfigTest#testAddVoterWithPendingAddVoter",
        f"remove_voter s0 s1, {S2_JOINS}, not add_voter s0 s2, not add_voter s0 s1",
        {"s0.is_committed": False},
    ),
    Fact(
        "KafkaRaftClientReconfigTest#testAddVoterWithoutFencedPreviousLeaders",
        f"{S1_LEADS}, start_server h0 s1, not add_voter s1 s2, {S0_FETCHES}, send_fetch s0 s1, serve_voter s0>s1, "
        "add_voter s1 s2",
        {"s1.configuration": "{s0 s1 s2}", "s1.high_watermark": 2},
    ),
    Fact(
        "KafkaRaftClientReconfigTest#testRemoveVoter",
        "remove_voter s0 s2, send_fetch s1 s0, serve_voter s1>s0, take_response s0>s1, send_fetch s1 s0, "
        "serve_voter s1>s0",
        {"s0.configuration": "{s0 s1}", "s0.is_committed": True, "s1.configuration": "{s0 s1}", "s2.role": "voter"},
        voters=3,
    ),
    Fact(
        "KafkaRaftClientReconfigTest#testRemoveVoterToNotLeader",
        "not remove_voter s1 s0",
        {"s1.configuration": "{s0 s1}"},
    ),
    Fact(
        "KafkaRaftClientReconfigTest#testRemoveVoterWithPendingRemoveVoter",
        "remove_voter s0 s2, not remove_voter s0 s1",
        {"s0.configuration": "{s0 s1}"},
        voters=3,
    ),
    Fact(
        "KafkaRaftClientReconfigTest#testRemoveVoterWithoutFencedPreviousLeaders",
        f"{S1_LEADS}, not remove_voter s1 s0",
        {"s1.high_watermark": 1},
    ),
    Fact(
        "KafkaRaftClientReconfigTest#testRemoveVoterWithNoneVoter",
        f"{S2_JOINS}, not remove_voter s0 s2",
        {"s0.configuration": "{s0 s1}"},
    ),
    Fact(
        "KafkaRaftClientReconfigTest#testRemoveVoterToEmptyVoterSet",
        "not remove_voter s0 s0",
        {"s0.configuration": "{s0}"},
        voters=1,
    ),
    Fact(
        "KafkaRaftClientReconfigTest#testRemoveVoterIsLeader, while it leads",
        f"remove_voter s0 s0, {S1_FETCHES}",
        {"s0.standing": "leader", "s0.role": "observer", "s1.configuration": "{s1}"},
    ),
    Fact(
        "KafkaRaftClientReconfigTest#testRemoveVoterIsLeader, once that is committed",
        f"remove_voter s0 s0, {S1_FETCHES}, send_fetch s1 s0, serve_voter s1>s0",
        {"s0.standing": "unattached", "s0.role": "observer", "s0.leader": None, "s0.high_watermark": 0},
    ),
    Fact(
        "KafkaRaftClientTest#testAppendFailedWithNotLeaderException",
        "write s0 v0, request_votes s1, vote s1>s0, not write s0 v1",
        {"s0.unacked": set(), "clients.failed": {0}},
    ),
    Fact(
        "RestartWithState: a leader has resigned, as in QuorumState#initialize",
        "restart s0, not write s0 v0, request_votes s0",
        {"s0.standing": "candidate", "s0.epoch": 2, "s0.high_watermark": 0},
    ),
    Fact(
        "DisconnectDeadServer: what is sent to a dead server is lost",
        "send_fetch s1 s0, crash s0",
        {"s0.standing": "dead", "on_their_way": set(), "cut": {(0, 1), (0, 2)}},
        changes=0,
    ),
    Fact(
        "BecomeLeader: a candidate that is the only voter never leads; in Kafka it does",
        "restart s0, request_votes s0, not become_leader s0",
        {"s0.votes": {0}, "s0.configuration": "{s0}"},
        voters=1,
    ),
    Fact(
        "ClientRequest: the only voter commits a value, and nobody acknowledges it",
        "write s0 v0",
        {"s0.high_watermark": 2, "s0.unacked": {0}, "clients.acked": set()},
        voters=1,
    ),
    Fact(
        "AcceptFetchRequestFromVoter: nobody answers a voter that was removed and has not read so",
        "send_fetch s1 s0, remove_voter s0 s1, not reject_fetch s1>s0, not reveal_divergence s1>s0, "
        "not serve_voter s1>s0, not serve_observer s1>s0",
        {"s1.role": "voter"},
    ),
    Fact(
        "StartNewServer: a new server does not wait for the answer to its first fetch",
        "start_server h0 s0, reject_fetch s2>s0, not take_response s0>s2",
        {"s2.pending": None, "s2.role": "observer", "s2.log": ""},
    ),
    Fact(
        "HandleVoteRequest: an unattached server goes back to an older epoch; in Kafka it does not",
        f"write s0 v0, {S1_FETCHES}, request_votes s1, request_votes s2, request_votes s2, vote s2>s0 e3, "
        "vote s1>s0 e2",
        {"s0.epoch": 2, "s0.standing": "voted", "s0.voted_for": 1},
        voters=3,
    ),
    Fact(
        "RestartWithState: an observer that was elected and leads cannot restart",
        f"{S1_LEADS}, {S0_FETCHES}, send_fetch s0 s1, serve_voter s0>s1, remove_voter s1 s1, not restart s1, "
        "restart s0",
        {"s1.standing": "leader", "s1.role": "observer", "s1.voted_for": 1},
    ),
]


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: fact.source)
def test_the_voters_change_as_in_kafka_or_the_specification(fact: Fact) -> None:
    state = state_after(fact)
    assert {path: seen(state, path) for path in fact.expected} == fact.expected


def seen(state: ChangingQuorum, path: str) -> Any:
    owner, _, name = path.rpartition(".")
    of = state.servers[int(owner[1:])] if owner.startswith("s") else getattr(state, owner) if owner else state
    value = getattr(of, name)
    if name == "log":
        return " ".join(map(str, value))
    if name == "configuration":
        return str(value)
    return set(value) if isinstance(value, frozenset) else getattr(value, "value", value)
