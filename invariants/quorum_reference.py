"""What should hold in the public specification of the KRaft quorum; its names are given with each."""

from __future__ import annotations

from highwater.model.language.declarations import Witness, invariant
from highwater.model.language.graph_properties import always_eventually
from highwater.model.quorum_reference import electing, replicating
from highwater.model.quorum_reference.bounds import QuorumBounds, servers, values
from highwater.model.quorum_reference.kip_853.state import ChangingQuorum
from highwater.model.quorum_reference.state import Quorum, ServerRole


@invariant(server=servers)
def no_illegal_state(quorum: Quorum, server: int) -> bool | Witness:
    """No server comes into a state in which Kafka throws an exception.

    Kind: state.
    When false: messages contradict what the server knows.
    Source: NoIllegalState.
    """
    is_legal = quorum.servers[server].standing is not ServerRole.ILLEGAL
    return is_legal or Witness("s{server} is in an illegal state", server=server)


@invariant(some=servers, other=servers)
def no_log_divergence(quorum: Quorum | ChangingQuorum, some: int, other: int) -> bool | Witness:
    """Below both high watermarks, two logs have the same entries.

    Kind: state.
    When false: two servers hold different entries to be committed.
    Source: NoLogDivergence.
    """
    if some == other:
        return True
    ours, theirs = quorum.servers[some], quorum.servers[other]
    for offset in range(min(ours.high_watermark, theirs.high_watermark)):
        if offset >= len(ours.log) or offset >= len(theirs.log) or ours.log[offset] != theirs.log[offset]:
            return Witness("s{some} and s{other} differ at offset {offset}", some=some, other=other, offset=offset)
    return True


@invariant(some=servers, other=servers)
def never_two_leaders_in_same_epoch(quorum: Quorum | ChangingQuorum, some: int, other: int) -> bool | Witness:
    """Two servers in one epoch know the same leader, if they know any.

    Kind: state.
    When false: there were two leaders in one epoch.
    Source: NeverTwoLeadersInSameEpoch.
    """
    ours, theirs = quorum.servers[some], quorum.servers[other]
    if ours.leader is None or theirs.leader is None or ours.epoch != theirs.epoch or ours.leader == theirs.leader:
        return True
    return Witness("s{some} and s{other} know different leaders of e{epoch}", some=some, other=other, epoch=ours.epoch)


@invariant(value=values, server=servers)
def leader_has_all_acked_values(quorum: Quorum, value: int, server: int) -> bool | Witness:
    """A leader of the newest epoch has every acknowledged value.

    Kind: state.
    When false: a committed value is lost.
    Source: LeaderHasAllAckedValues.
    """
    leader = quorum.servers[server]
    if quorum.acked[value] is not True or leader.standing is not ServerRole.LEADER:
        return True
    if any(other.epoch > leader.epoch for other in quorum.servers) or any(entry.value == value for entry in leader.log):
        return True
    return Witness("s{server} leads without v{value}, which was acknowledged", server=server, value=value)


@invariant()
def committed_entries_reach_majority(quorum: Quorum, bounds: QuorumBounds) -> bool | Witness:
    """If leaders have committed anything, the last entry that one of them has committed is on a majority of servers.

    Kind: state.
    When false: an entry counts as committed that a minority holds.
    Source: CommittedEntriesReachMajority.
    """
    leaders = [server for server in quorum.servers if server.standing is ServerRole.LEADER and server.high_watermark]
    for leader in leaders:
        last = leader.high_watermark - 1
        holders = sum(len(server.log) > last and server.log[last] == leader.log[last] for server in quorum.servers)
        if 2 * holders > bounds.servers:
            return True
    return not leaders or Witness("no leader's last committed entry is on a majority of servers")


@always_eventually(fair=(*electing.STEPS, *replicating.STEPS), value=values)
def values_not_stuck(quorum: Quorum, value: int, bounds: QuorumBounds) -> bool | Witness:
    """A value is on all servers or on none, again and again, unless no leader is left and none can be elected.

    Kind: always eventually.
    When violated: a value is neither replicated nor truncated.
    Source: ValuesNotStuck, under LivenessSpec: the quorum does not stop while a step is possible.
    """
    if quorum.elections == bounds.max_elections and all(
        server.standing is not ServerRole.LEADER for server in quorum.servers
    ):
        return True
    holders = sum(any(entry.value == value for entry in server.log) for server in quorum.servers)
    return holders in (0, bounds.servers) or Witness("v{value} is on some servers and not on others", value=value)


QUORUM = (
    leader_has_all_acked_values,
    no_log_divergence,
    never_two_leaders_in_same_epoch,
    no_illegal_state,
    committed_entries_reach_majority,
    values_not_stuck,
)
