"""Kafka's own tests of the quorum, as stories about `quorum-reference`, as far as the public specification has it.
`docs/models.md` says where the two differ.
"""

from __future__ import annotations

import inspect
from typing import Any

import attrs
import pytest

from highwater.model.quorum_reference import electing, replicating
from highwater.model.quorum_reference.bounds import QuorumBounds
from highwater.model.quorum_reference.definition import initial_states
from highwater.model.quorum_reference.messages import Kind, Message
from highwater.model.quorum_reference.protocol import QuorumProtocol, Variant
from highwater.model.quorum_reference.state import Quorum

PROTOCOL = QuorumProtocol(variant=Variant.KRAFT)
STEPS = {step.name: step for step in (*electing.STEPS, *replicating.STEPS)}
HANDLED = {
    "vote": Kind.VOTE,
    "take_vote": Kind.VOTED,
    "begin_epoch": Kind.BEGIN,
    "reject_fetch": Kind.FETCH,
    "reveal_divergence": Kind.FETCH,
    "serve_fetch": Kind.FETCH,
    "take_response": Kind.FETCHED,
}
S0_LEADS = "request_votes s0, vote s0>s1, take_vote s1>s0, become_leader s0, begin_epoch s0>s1"
S2_LEADS_IN_E3 = "request_votes s2, request_votes s2, vote s2>s0 e3, take_vote s0>s2, become_leader s2"
S1_HAS_V0 = f"{S0_LEADS}, write s0 v0, send_fetch s1 s0, serve_fetch s1>s0, take_response s0>s1"
S1_LEADS_IN_E3 = "request_votes s1, vote s1>s2 e3, take_vote s2>s1, become_leader s1, begin_epoch s1>s2"
FETCH_BY_S2 = "send_fetch s2 s1, serve_fetch s2>s1, take_response s1>s2"


@attrs.frozen
class Fact:
    """A fact: the test or method of Kafka 3.2 that has it, a story, and what is to be seen after it.

    In a story, `vote s0>s1 e2` handles the message from s0 to s1 in epoch 2; the epoch may be left out if there is one
    such message. What comes behind `not` must not be enabled.
    """

    kafka: str
    story: str
    expected: dict[str, Any]
    servers: int = 3


def argument(word: str, name: str, state: Quorum) -> Any:
    """s1 is server 1, v0 is value 0, and s0>s1 the message on its way between the two."""
    if ">" not in word:
        return int(word[1:])
    ends, _, epoch = word.partition("@")
    source, dest = (int(server[1:]) for server in ends.split(">"))
    (message,) = [
        each
        for each in state.messages.on_their_way
        if (each.kind, each.source, each.dest) == (HANDLED[name], source, dest) and epoch in ("", f"e{each.epoch}")
    ]
    return message


def played(fact: Fact) -> tuple[Quorum, frozenset[Message]]:
    """The state after a story, and the messages that its last step has sent."""
    bounds = QuorumBounds(fact.servers, values=2, max_elections=4, max_restarts=1)
    (state,) = initial_states(bounds)
    sent: frozenset[Message] = frozenset()
    for sentence in fact.story.replace(" e", "@e").split(", "):
        refused, (name, *words) = sentence.startswith("not "), sentence.removeprefix("not ").split()
        step = STEPS[name]
        given = {"bounds": bounds, "protocol": PROTOCOL}
        filled = {key: value for key, value in given.items() if key in inspect.signature(step.function).parameters}
        after = step.function(state, *(argument(word, name, state) for word in words), **filled)
        assert (after is None) == refused, f"{sentence}: {'enabled' if refused else 'not enabled'}"
        if after is not None:
            sent, state = after.messages.on_their_way - state.messages.on_their_way, after
    return state, sent


FACTS = [
    Fact(
        "KafkaRaftClientTest#testHandleValidVoteRequestAsFollower",
        "request_votes s0, vote s0>s1",
        {"s1.standing": "voted", "s1.epoch": 2, "s1.voted_for": 0, "sent": "vote response s1 to s0 e2: granted"},
    ),
    Fact(
        "KafkaRaftClientTest#testHandleVoteRequestAsFollowerWithVotedCandidate",
        "request_votes s0, request_votes s2, vote s0>s1, vote s2>s1",
        {"s1.standing": "voted", "s1.voted_for": 0, "sent": "vote response s1 to s2 e2: refused"},
    ),
    Fact(
        "KafkaRaftClientTest#testHandleVoteRequestAsFollowerWithElectedLeader",
        f"request_votes s2, {S0_LEADS}, vote s2>s1",
        {"s1.standing": "follower", "s1.leader": 0, "sent": "vote response s1 to s2 e2: refused, leader s0"},
    ),
    Fact(
        "KafkaRaftClientTest#testHandleInvalidVoteRequestWithOlderEpoch",
        "request_votes s0, request_votes s1, request_votes s1, vote s0>s1",
        {"s1.epoch": 3, "sent": "vote response s1 to s0 e3: refused, fenced leader epoch"},
    ),
    Fact(
        "KafkaRaftClientTest#testLeaderIgnoreVoteRequestOnSameEpoch",
        f"request_votes s2, {S0_LEADS}, vote s2>s0",
        {"s0.standing": "leader", "s0.epoch": 2, "sent": "vote response s0 to s2 e2: refused, leader s0"},
    ),
    Fact(
        "KafkaRaftClientTest#testCandidateIgnoreVoteRequestOnSameEpoch",
        "request_votes s0, request_votes s1, vote s1>s0",
        {"s0.standing": "candidate", "s0.voted_for": 0, "sent": "vote response s0 to s1 e2: refused"},
    ),
    Fact(
        "KafkaRaftClientTest#testInitializeAsCandidateAndBecomeLeader",
        "request_votes s0, not become_leader s0, vote s0>s1, take_vote s1>s0, become_leader s0",
        {"s0.standing": "leader", "s0.leader": 0, "sent": "begin quorum epoch request s0 to s1 e2"},
        servers=2,
    ),
    Fact(
        "KafkaRaftClientTest#testInitializeAsCandidateAndBecomeLeaderQuorumOfThree",
        "request_votes s0, vote s0>s1, take_vote s1>s0, become_leader s0",
        {"s0.standing": "leader", "s0.votes": {0, 1}, "s2.epoch": 1},
    ),
    Fact(
        "KafkaRaftClientTest#testRetryElection",
        "request_votes s0, request_votes s1, vote s0>s1, take_vote s1>s0, not become_leader s0, request_votes s0",
        {"s0.standing": "candidate", "s0.epoch": 3, "s0.votes": {0}},
        servers=2,
    ),
    Fact(
        "KafkaRaftClientTest#testVoterBecomeCandidateAfterFetchTimeout",
        f"{S0_LEADS}, send_fetch s1 s0, request_votes s1",
        {"s1.standing": "candidate", "s1.epoch": 3, "s1.voted_for": 1, "s1.leader": None},
    ),
    Fact(
        "KafkaRaftClientTest#testHandleBeginQuorumRequest",
        S0_LEADS,
        {"s1.standing": "follower", "s1.leader": 0, "s1.epoch": 2},
    ),
    Fact(
        "KafkaRaftClient#handleBeginQuorumEpochRequest, of an older epoch",
        f"{S0_LEADS}, request_votes s2, request_votes s2, begin_epoch s0>s2",
        {"s2.standing": "candidate", "sent": "begin quorum epoch response s2 to s0 e3, fenced leader epoch"},
    ),
    Fact(
        "KafkaRaftClientTest#testVoteResponseIgnoredAfterBecomingFollower",
        f"request_votes s2, {S0_LEADS}, vote s2>s1, begin_epoch s0>s2, not take_vote s1>s2",
        {"s2.standing": "follower", "s2.leader": 0},
    ),
    Fact(
        "KafkaRaftClientTest#testRejectVotesFromSameEpochAfterResigningLeadership",
        f"request_votes s2, {S0_LEADS}, restart s0, vote s2>s0",
        {"s0.epoch": 2, "s0.voted_for": 0, "sent": "vote response s0 to s2 e2: refused"},
    ),
    Fact(
        "KafkaRaftClientTest#testGrantVotesFromHigherEpochAfterResigningLeadership",
        f"{S0_LEADS}, restart s0, request_votes s1, vote s1>s0",
        {"s0.standing": "voted", "s0.epoch": 3, "s0.voted_for": 1},
    ),
    Fact(
        "KafkaRaftClientTest#testAppendFailedWithNotLeaderException",
        f"not write s0 v0, {S0_LEADS}, not write s1 v0, write s0 v0",
        {"s0.log": "v0@e2", "s1.log": ""},
    ),
    Fact(
        "KafkaRaftClientTest#testFollowerReplication",
        S1_HAS_V0,
        {"s1.log": "v0@e2", "s1.high_watermark": 0, "s0.high_watermark": 0},
    ),
    Fact(
        "LeaderStateTest#testUpdateHighWatermarkQuorumSizeThree",
        f"{S1_HAS_V0}, send_fetch s1 s0, serve_fetch s1>s0",
        {"s0.high_watermark": 1, "s0.end_offsets": (0, 1, 0)},
    ),
    Fact(
        "KafkaRaftClientTest#testEmptyRecordSetInFetchResponse",
        f"{S1_HAS_V0}, send_fetch s1 s0, serve_fetch s1>s0, take_response s0>s1",
        {"s1.log": "v0@e2", "s1.high_watermark": 1},
    ),
    Fact(
        "LeaderState#updateHighWatermark, below the start of the epoch",
        f"{S1_HAS_V0}, {S1_LEADS_IN_E3}, {FETCH_BY_S2}, {FETCH_BY_S2}",
        {"s2.log": "v0@e2", "s1.end_offsets": (0, 0, 1), "s1.high_watermark": 0},
    ),
    Fact(
        "KafkaRaftClientTest#testHandleClaimCallbackFiresAfterHighWatermarkReachesEpochStartOffset",
        f"{S1_HAS_V0}, {S1_LEADS_IN_E3}, {FETCH_BY_S2}, write s1 v1, {FETCH_BY_S2}, not write s1 v1, {FETCH_BY_S2}",
        {"s1.log": "v0@e2 v1@e3", "s1.high_watermark": 2},
    ),
    Fact(
        "KafkaRaftClientTest#testFollowerLogReconciliation",
        f"{S0_LEADS}, write s0 v0, {S1_LEADS_IN_E3}, write s1 v1, begin_epoch s1>s0, send_fetch s0 s1, "
        "not serve_fetch s0>s1, reveal_divergence s0>s1, take_response s1>s0",
        {"s0.log": "", "s0.standing": "follower", "s0.leader": 1},
    ),
    Fact(
        "KafkaRaftClient#handleVoteRequest, of a candidate whose log is older",
        f"{S1_HAS_V0}, request_votes s2, request_votes s2, vote s2>s1 e3",
        {"s1.standing": "unattached", "s1.epoch": 3, "sent": "vote response s1 to s2 e3: refused"},
    ),
    Fact(
        "KafkaRaftClientTest#testFetchResponseIgnoredAfterBecomingCandidate",
        f"{S0_LEADS}, write s0 v0, send_fetch s1 s0, request_votes s1, serve_fetch s1>s0, not take_response s0>s1",
        {"s1.standing": "candidate", "s1.log": ""},
    ),
    Fact(
        "KafkaRaftClientTest#testFetchResponseIgnoredAfterBecomingFollowerOfDifferentLeader",
        f"{S0_LEADS}, send_fetch s1 s0, serve_fetch s1>s0, {S2_LEADS_IN_E3}, begin_epoch s2>s1, "
        "not take_response s0>s1",
        {"s1.leader": 2, "s1.epoch": 3},
    ),
    Fact(
        "KafkaRaftClientTest#testPurgatoryFetchCompletedByFollowerTransition",
        f"{S0_LEADS}, send_fetch s1 s0, {S2_LEADS_IN_E3}, begin_epoch s2>s0, reject_fetch s1>s0",
        {
            "s0.leader": 2,
            "sent": "fetch response s0 to s1 e3 (for e2 at offset 0): not leader, leader s2, high watermark 0",
        },
    ),
    Fact(
        "KafkaRaftClient#maybeHandleCommonResponse, of a newer epoch",
        f"{S0_LEADS}, send_fetch s1 s0, {S2_LEADS_IN_E3}, begin_epoch s2>s0, reject_fetch s1>s0, take_response s0>s1",
        {"s1.standing": "follower", "s1.leader": 2, "s1.epoch": 3},
    ),
]


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: fact.kafka)
def test_the_quorum_behaves_as_in_kafkas_tests(fact: Fact) -> None:
    state, sent = played(fact)
    assert {path: seen(state, sent, path) for path in fact.expected} == fact.expected


def seen(state: Quorum, sent: frozenset[Message], path: str) -> Any:
    if path == "sent":
        return min(map(str, sent))
    server, name = path.split(".")
    value = getattr(state.servers[int(server[1:])], name)
    if name == "log":
        return " ".join(map(str, value))
    return set(value) if isinstance(value, frozenset) else getattr(value, "value", value)
