"""What should hold in the public specification of the KRaft quorum whose voters change; its names are given with each.

Where both specifications say the same of servers, it is said once.
"""

from __future__ import annotations

from highwater.invariants import quorum_reference
from highwater.model.language.declarations import Witness, invariant
from highwater.model.quorum_reference.kip_853.bounds import servers, values
from highwater.model.quorum_reference.kip_853.state import ChangingQuorum, Role, Server, ServerRole

OBSERVERS = (ServerRole.LEADER, ServerRole.FOLLOWER, ServerRole.UNATTACHED, ServerRole.VOTED)


def has_value(server: Server, value: int) -> bool:
    return any(entry.value == value for entry in server.log)


@invariant(value=values, server=servers)
def leader_has_all_acked_values(quorum: ChangingQuorum, value: int, server: int) -> bool | Witness:
    """A leader of the newest epoch has every acknowledged value.

    Kind: state.
    When false: a committed value is lost.
    Source: LeaderHasAllAckedValues.
    """
    leader = quorum.servers[server]
    if leader.standing is not ServerRole.LEADER or value not in quorum.clients.acked:
        return True
    if any(other.epoch > leader.epoch for other in quorum.servers) or has_value(leader, value):
        return True
    return Witness("s{server} leads without v{value}, which was acknowledged", server=server, value=value)


@invariant(value=values)
def acked_value_not_lost(quorum: ChangingQuorum, value: int) -> bool | Witness:
    """Some voter has every acknowledged value.

    Kind: state.
    When false: no voter has a value that was acknowledged to clients as committed.
    Source: AckedValueNotLost.
    """
    if value not in quorum.clients.acked:
        return True
    if any(server.role is Role.VOTER and has_value(server, value) for server in quorum.servers):
        return True
    return Witness("no voter has v{value}, which was acknowledged", value=value)


@invariant(some=servers, other=servers)
def no_log_divergence(quorum: ChangingQuorum, some: int, other: int) -> bool | Witness:
    """Below both high watermarks, two logs have the same entries.

    Kind: state.
    When false: two servers hold different entries to be committed.
    Source: NoLogDivergence.
    """
    return quorum_reference.no_log_divergence(quorum, some, other)


@invariant(some=servers, other=servers)
def never_two_leaders_in_same_epoch(quorum: ChangingQuorum, some: int, other: int) -> bool | Witness:
    """Two servers in one epoch know the same leader, if they know any.

    Kind: state.
    When false: there were two leaders in one epoch.
    Source: NeverTwoLeadersInSameEpoch.
    """
    return quorum_reference.never_two_leaders_in_same_epoch(quorum, some, other)


@invariant(server=servers)
def no_illegal_state(quorum: ChangingQuorum, server: int) -> bool | Witness:
    """No server comes into a state in which Kafka throws an exception.

    Kind: state.
    When false: messages contradict what the server knows.
    Source: NoIllegalState.
    """
    is_legal = quorum.servers[server].standing is not ServerRole.ILLEGAL
    return is_legal or Witness("s{server} is in an illegal state", server=server)


@invariant(server=servers)
def states_match_roles(quorum: ChangingQuorum, server: int) -> bool | Witness:
    """An observer is no candidate and has not resigned, and a server that is unattached knows no leader.

    Kind: state.
    When false: a server that is no voter takes part as one, or an unattached one follows.
    Source: StatesMatchRoles.
    """
    seen = quorum.servers[server]
    if seen.role is Role.OBSERVER and seen.standing not in OBSERVERS:
        return Witness("s{server} is an observer, and {standing}", server=server, standing=seen.standing.value)
    if seen.standing is ServerRole.UNATTACHED and seen.leader is not None:
        return Witness("s{server} is unattached and knows a leader", server=server)
    return True


@invariant(server=servers)
def valid_votes_recv(quorum: ChangingQuorum, server: int) -> bool | Witness:
    """Only a candidate keeps votes.

    Kind: state.
    When false: votes outlive the candidacy.
    Source: ValidVotesRecv, which the published configuration does not check.
    """
    seen = quorum.servers[server]
    return seen.standing is ServerRole.CANDIDATE or not seen.votes or Witness("s{server} keeps votes", server=server)


CHANGING_QUORUM = (
    leader_has_all_acked_values,
    acked_value_not_lost,
    no_log_divergence,
    never_two_leaders_in_same_epoch,
    no_illegal_state,
    states_match_roles,
    valid_votes_recv,
)
