"""Servers are started, added, removed, restarted, lost and disconnected.

Source of all: github.com/Vanlightly/kafka-tlaplus, module kraft_kip_853; the action's name there is given with each.
"""

from __future__ import annotations

from highwater.model.language.declarations import action
from highwater.model.language.records import evolve
from highwater.model.quorum_reference.kip_853.bounds import Cut, ReconfigurationBounds, cuts, hosts, servers
from highwater.model.quorum_reference.kip_853.entries import NO_CONFIGURATION, Command, Configuration, Entry
from highwater.model.quorum_reference.kip_853.messages import BEFORE_ALL, Message, between
from highwater.model.quorum_reference.kip_853.state import ChangingQuorum, Role, Server, ServerRole
from highwater.model.quorum_reference.kip_853.transitions import leaderless, resigned
from highwater.model.quorum_reference.messages import Kind
from highwater.model.quorum_reference.protocol import QuorumProtocol


@action(
    actor="leader",
    needs=lambda bounds: bounds.max_spawned_servers > bounds.init_cluster_size,
    host=hosts,
    leader=servers,
)
def start_server(
    quorum: ChangingQuorum, host: int, leader: int, bounds: ReconfigurationBounds
) -> ChangingQuorum | None:
    """A server starts with an empty disk.

    Actor: the leader that it asks first.
    Enabled: some server leads, and the limit is not reached.
    Effect: it is an observer in the leader's configuration and fetches. It does not wait for the answer.
    Abstracts: that it may ask others first.
    Source: StartNewServer.
    """
    started = sum(server.is_started for server in quorum.servers)
    asked = quorum.servers[leader]
    if started == bounds.max_spawned_servers or asked.standing is not ServerRole.LEADER:
        return None
    changed = evolve(
        quorum.servers[started],
        host=host,
        role=Role.OBSERVER,
        configuration=asked.configuration,
        is_committed=asked.is_committed,
    )
    request = Message(Kind.FETCH, started, leader, 0, BEFORE_ALL, observer=True)
    return quorum.with_server(started, changed).sent(request)


def may_change(leader: Server, protocol: QuorumProtocol) -> bool:
    """Whether a leader may change the configuration: it has committed an entry of its epoch, and the last change.

    Source: AddVoterCheck, RemoveVoterCheck.
    """
    if leader.standing is not ServerRole.LEADER or (protocol.one_change and not leader.is_committed):
        return False
    known = leader.log[: leader.high_watermark]
    return not protocol.committed_epoch or any(entry.epoch == leader.epoch for entry in known)


def changed_by(leader: Server, command: Command, server: int, members: frozenset[int]) -> Server:
    """A leader that has appended a change of the configuration, and is in it at once."""
    configuration = Configuration(leader.configuration.number + 1, members)
    log = leader.log + (Entry(command, leader.epoch, server=server, configuration=configuration),)
    is_committed = leader.high_watermark >= len(log)
    return evolve(leader, log=log, configuration=configuration, is_committed=is_committed).tracking(members)


@action(actor="leader", needs=lambda bounds: bounds.max_add_reconfigs, leader=servers, server=servers)
def add_voter(
    quorum: ChangingQuorum, leader: int, server: int, bounds: ReconfigurationBounds, protocol: QuorumProtocol
) -> ChangingQuorum | None:
    """A leader adds a voter.

    Actor: the leader.
    Enabled: it has committed an entry of its epoch, and the last change of the voters; the server was started and is no
        voter; the limits are not reached.
    Effect: the change is in its log, and it is in the new configuration. It tells the new voter that it leads.
    Source: AcceptAddVoterRequest; KIP-853.
    """
    before = quorum.servers[leader]
    if quorum.used.adds >= bounds.max_add_reconfigs or not may_change(before, protocol):
        return None
    members = before.configuration.members
    if server in members or not quorum.servers[server].is_started or len(members) >= bounds.max_cluster_size:
        return None
    changed = changed_by(before, Command.ADD, server, members | {server})
    begin = Message(Kind.BEGIN, leader, server, before.epoch)
    used = evolve(quorum.used, adds=quorum.used.adds + 1)
    return evolve(quorum.with_server(leader, changed), used=used).sent(begin)


@action(actor="leader", needs=lambda bounds: bounds.max_remove_reconfigs, leader=servers, server=servers)
def remove_voter(
    quorum: ChangingQuorum, leader: int, server: int, bounds: ReconfigurationBounds, protocol: QuorumProtocol
) -> ChangingQuorum | None:
    """A leader removes a voter, which may be itself.

    Actor: the leader.
    Enabled: it has committed an entry of its epoch, and the last change of the voters; the server is a voter; the
        limits are not reached.
    Effect: the change is in its log, and it is in the new configuration. If it removes itself it leads as an observer
        until the change is committed.
    Source: AcceptRemoveVoterRequest; KIP-853.
    """
    before = quorum.servers[leader]
    if quorum.used.removes >= bounds.max_remove_reconfigs or not may_change(before, protocol):
        return None
    members = before.configuration.members
    if server not in members or len(members) <= bounds.min_cluster_size:
        return None
    changed = changed_by(before, Command.REMOVE, server, members - {server})
    if server == leader:
        changed = evolve(changed, role=Role.OBSERVER)
    used = evolve(quorum.used, removes=quorum.used.removes + 1)
    return evolve(quorum.with_server(leader, changed), used=used)


@action(actor="server", needs=lambda bounds: bounds.max_restarts, server=servers)
def restart(quorum: ChangingQuorum, server: int, bounds: ReconfigurationBounds) -> ChangingQuorum | None:
    """A server restarts with its state.

    Actor: the server.
    Enabled: it is not dead, and the limit is not reached. An observer that leads must not have voted: the module both
        forgets and keeps its vote.
    Effect: a leader that is a voter has resigned; one that is an observer is unattached. Every other is what it was.
        High watermark, fetches and the knowledge of others' logs are lost, and what was not acknowledged failed.
    Source: RestartWithState; org.apache.kafka.raft.QuorumState#initialize (3.2).
    """
    before = quorum.servers[server]
    if quorum.used.restarts >= bounds.max_restarts or not before.is_started or before.standing is ServerRole.DEAD:
        return None
    after = before
    if before.standing is ServerRole.LEADER and before.role is Role.VOTER:
        after = resigned(before)
    elif before.standing is ServerRole.LEADER:
        if before.voted_for is not None:
            return None
        after = leaderless(before, before.epoch)
    tracked = frozenset(peer for peer, end in enumerate(before.end_offsets) if end is not None)
    after = evolve(after.forgetting_fetches().tracking(tracked, fresh=True), high_watermark=0)
    used = evolve(quorum.used, restarts=quorum.used.restarts + 1)
    return evolve(quorum.with_server(server, after).failing(server), used=used)


@action(actor="server", needs=lambda bounds: bounds.max_crashes, server=servers)
def crash(quorum: ChangingQuorum, server: int, bounds: ReconfigurationBounds) -> ChangingQuorum | None:
    """A voter crashes and loses its state for good.

    Actor: the voter.
    Enabled: the limits are not reached, also once it is disconnected from all others.
    Effect: it is dead, and messages from and to it are lost.
    Source: CrashLoseState, DisconnectDeadServer.
    """
    before = quorum.servers[server]
    if quorum.used.crashes >= bounds.max_crashes or before.role is not Role.VOTER:
        return None
    pairs = [pair for pair in bounds.pairs() if server in pair]
    if sum(pair in quorum.cut or pair in pairs for pair in bounds.pairs()) > bounds.max_disconnected_pairs:
        return None
    failed = quorum.failing(server)
    for pair in pairs:
        failed = failed.lost(between(bounds, pair))
    used = evolve(quorum.used, crashes=quorum.used.crashes + 1)
    return evolve(failed.with_server(server, dead(before)), cut=quorum.cut | frozenset(pairs), used=used)


def dead(server: Server) -> Server:
    return evolve(
        server.forgetting_fetches().tracking(frozenset()),
        role=Role.NONE,
        standing=ServerRole.DEAD,
        epoch=0,
        leader=None,
        voted_for=None,
        votes=frozenset(),
        configuration=NO_CONFIGURATION,
        is_committed=False,
        log=(),
        high_watermark=0,
        unacked=frozenset(),
    )


@action(actor="network", needs=lambda bounds: bounds.max_connectivity_changes, cut=cuts)
def change_connectivity(quorum: ChangingQuorum, cut: Cut, bounds: ReconfigurationBounds) -> ChangingQuorum | None:
    """Other servers than before are disconnected.

    Actor: the network.
    Enabled: the limits are not reached. Dead servers stay disconnected from all others, and either the number of pairs
        changes or a pair is disconnected that was not.
    Effect: messages between servers that are disconnected now are lost.
    Source: ChangeNetworkConnectivity.
    """
    if quorum.used.connectivity_changes >= bounds.max_connectivity_changes:
        return None
    for number, server in enumerate(quorum.servers):
        if server.standing is ServerRole.DEAD:
            apart = [pair for pair in bounds.pairs() if number in pair]
            if not apart or any(pair not in cut.pairs for pair in apart):
                return None
    if len(cut.pairs) == len(quorum.cut) and cut.pairs <= quorum.cut:
        return None
    after = quorum
    for pair in sorted(cut.pairs):
        after = after.lost(between(bounds, pair))
    used = evolve(quorum.used, connectivity_changes=quorum.used.connectivity_changes + 1)
    return evolve(after, cut=cut.pairs, used=used)


STEPS = (start_server, add_voter, remove_voter, restart, crash, change_connectivity)
