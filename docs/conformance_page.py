"""The page of what running Kafka says, from what `conformance_table.py` has found."""

from __future__ import annotations

import textwrap
from collections import Counter
from typing import Any

from highwater.claims.conformance import Wanted
from highwater.claims.contradicting import Judgement
from highwater.conformance.coverage import Code, Coverage, Share
from highwater.conformance.operations import MAPPED
from highwater.reports.conformance import percent

RELEASES = (
    ("3.5.1", "kafka-3.5"),
    ("3.6.2", "kafka-3.6"),
    ("3.7.2", "kafka-3.7"),
    ("3.8.1", "kafka-3.8"),
    ("3.9.1", "kafka-3.9.1"),
    ("4.0.0", "kafka-4.0.0"),
    ("4.0.1", "kafka-4.0.1"),
    ("4.1.1", "kafka-4.1"),
    ("4.3.1", "kafka-4.1"),
    ("4.4.0", "kafka-4.1"),
)
NEWEST = RELEASES[-1][0]
KNOWN = {
    ("fence", "leader epoch"): (
        "An abstraction of the model: if nobody leads and the controller fences the last member of the ISR, 3.5 starts "
        "one more leader epoch without a leader. `PartitionChangeBuilder#triggerLeaderEpochBumpIfNeeded` looks at the "
        "ISR that was asked for, which is empty, and not at the one that stays."
    ),
    ("unfence", "broker standing"): (
        "An abstraction of the model: it forgets that a broker which the controller has fenced was shutting down, and "
        "may unfence it while it still runs. In Kafka it stays `inControlledShutdown` until it registers again "
        "(`ReplicationControlManager#handleBrokerUnfenced`)."
    ),
    ("fetch_at_once", "follower log end offset"): (
        "An abstraction of the model: from 4.0 on a fetch from inside a batch counts from where the batch begins: "
        "`LogSegment#read` answers with that offset, and `Partition#updateFollowerFetchState` notes it."
    ),
    ("restart", "ISR"): (
        "An abstraction of the model: if a member of the ELR registers after an unclean shutdown, and the last known "
        "leader is active, Kafka elects that one in the same record "
        "(`ReplicationControlManager#handleBrokerUncleanShutdown`). The model takes a step of its own for it."
    ),
    ("send_fetch", "fetch"): (
        "An abstraction of the model: after an empty answer in a new leader epoch the thread of 3.5 and 3.6 forgets "
        "the last fetched epoch (`AbstractFetcherThread#processFetchRequest`), so that its next fetch names none. The "
        "leader has compared the log in that epoch already, at the fetch before."
    ),
}
REPLICATION = (
    "appendRecords", "appendRecordsToLeader", "appendToLocalLog", "buildProducePartitionStatus",
    "addCompletePurgatoryAction", "maybeAddDelayedProduce", "delayedProduceRequestRequired", "tryCompleteActions",
    "fetchMessages", "readFromLog", "read", "createLogReadResult", "shouldLeaderThrottle", "hasConsistentTopicId",
    "deleteRecords", "deleteRecordsOnLocalLog", "delayedDeleteRecordsRequired", "fetchOffsetForTimestamp",
    "applyDelta", "applyLocalLeadersDelta", "applyLocalFollowersDelta", "getOrCreatePartition", "getPartition",
    "getPartitionOrException", "getPartitionOrError", "onlinePartition", "initialFetchOffset", "stopPartitions",
    "completeDelayedOperationsWhenNotPartitionLeader", "completeDelayedFetchRequests",
    "updateLeaderAndFollowerMetrics", "maybeShrinkIsr", "checkpointHighWatermarks", "beginControlledShutdown",
)  # fmt: skip
"""What of ReplicaManager serves replication."""
REPLICATION_OF = "ReplicaManager, replication"
AIMS = {
    "Partition": (85, 70),
    "Replica": (85, 75),
    "AbstractFetcherThread": (80, 65),
    "ReplicaFetcherThread": (80, 65),
    "DelayedProduce": (80, 60),
    "DelayedFetch": (80, 60),
    "PartitionChangeBuilder": (95, 90),
    "ReplicationControlManager": (0, 0),
    REPLICATION_OF: (75, 0),
}
"""What is aimed at in percent of lines and of branches; 0 where nothing is."""
LOGGING = {
    "msgWithLogIdent", "isDebugEnabled", "isTraceEnabled", "trace", "info", "warn", "error", "fatal", "logIdent",
    "logIdent_", "_topicId_", "<clinit>", "new",
}  # fmt: skip
"""Methods of the mixin for logging, and those that compilers make."""
LEFT_OUT = {
    "Partition": "Transactions, log directories that fail, and branches that only two threads at once can take.",
    "Replica": "A broker epoch of -1, which older brokers send.",
    "AbstractFetcherThread": "Tiered storage (36 lines), errors of the storage, a partition that another thread takes "
    "away meanwhile, a thread pool of another size, and topic ids that come later, as with ZooKeeper.",
    "ReplicaFetcherThread": "Tiered storage, which eight of the branches ask for, and a log that another thread "
    "changes meanwhile.",
    "DelayedProduce": "Nothing of replication.",
    "DelayedFetch": "Quotas, segments that roll, errors of the storage, and a follower that waits: its fetch that "
    "finds nothing expires at once, as in the model.",
    "PartitionChangeBuilder": "Log directories.",
    "ReplicationControlManager": "Creation and deletion of topics, heartbeats, directories, and requests that no "
    "broker of the model sends.",
    REPLICATION_OF: "Tiered storage, transactions, quotas, preferred read replicas, log directories that fail, errors "
    "of the storage, and topics made again.",
}
"""By class, what is never reached, and why."""
DROPPED = (
    "It decides only whether a follower with an empty log drops the answer to a fetch that was on its way "
    "(`AbstractFetcherThread#maybeTruncate`). That answer is of an older leader epoch, and is dropped for that."
)
NOT_CALLED = (
    "The harness elects uncleanly by `ReplicationControlManager#electLeaders`, which no setting forbids. What the "
    "setting decides, `#maybeTriggerUncleanLeaderElectionForLeaderlessPartitions`, is not called."
)
TWO_LOOKS = "Both looks at a follower are inside one call of `Partition#maybeExpandIsr`: the harness has one thread."
NOT_TOLD = {
    "leader_snapshot_atomic=false": TWO_LOOKS,
    "leader_snapshot_atomic=true": TWO_LOOKS,
    "inflight_cleared_by_leader_and_isr=true": (
        "Where a leader of a new epoch has a request of the one before on its way, the follower is fenced in these "
        "claims. So it proposes nothing either way."
    ),
    "ahead_of_controller_error=fenced": "The harness has one controller, which is the active one.",
    "clients_name_epochs=false": (
        "No step of these claims asks for an offset. Each broker is asked after each step, with older and newer epochs."
    ),
    "cas_conflict=skip": "It is a rule of leaders that write the ISR to ZooKeeper themselves.",
    "duplicate_update_completes=false": (
        "A leader gets such an answer only from a controller that grants the present ISR at any partition epoch, as "
        "with ZooKeeper (KIP-497)."
    ),
    "fence_truncation=false": "No release with KRaft asks where to truncate before it fetches.",
    "flush=sync": "It is what a power failure takes, and the harness takes what the model says.",
    "last_known_leader=active": (
        "Nobody is noted as the last leader without eligible leader replicas, which are on by default from 4.1 on."
    ),
    "list_offsets_guard=false": (
        "No step of these claims asks for the end offset. Each leader is asked after each step, and has to answer by "
        "this rule."
    ),
    "unclean_election_setting=ignored": NOT_CALLED,
    "truncation_skip=same-leader": DROPPED,
    "truncation_skip=same-leader-next-epoch": DROPPED,
    "unclean_election_setting=absent": NOT_CALLED,
    "unclean_election_setting=read": NOT_CALLED,
}
"""Changed rules that no claim of a release contradicts, and why."""
HEAD = """# What running Kafka says

Written by `python docs/conformance_table.py`, which keeps in `conformance.json` what it found;
[conform.md](conform.md) says what is executed and compared. Each claim is taken under the preset of
the release. "Agrees" means that every reachable path of every mapped action was executed, and that
both sides were the same after each step. A run ends at its first divergence, so that paths behind
one are not executed.

"""
TABLE = "| claim | Kafka | preset | paths executed | steps | verdict |\n|---|---|---|---|---|---|\n"
Found = dict[str, Any]
"""What was found of a release: `rows` by claim, `mutations` by changed rule, and of the newest one `coverage`."""


def kinds(found: Found) -> list[tuple[str, str]]:
    """Each kind of divergence as action and first field, without broker names."""
    return sorted({(name, min(fields, key=_by_what_it_shows)) for name, _, fields in found["divergences"]})


def _by_what_it_shows(field: str) -> tuple[bool, str]:
    """State before the answers to questions, which follow from it."""
    return field.startswith(("answer to", "record for")), field


def row(claim: str, release: str, preset: str, found: Found) -> str:
    """A row of the table."""
    done, reachable = (sum(each[side] for each in found["paths"].values()) for side in (0, 1))
    parted = ", ".join(f"`{action}` ({field})" for action, field in kinds(found))
    verdict = f"diverges: {parted}" if parted else "agrees"
    if not found["all_states"]:
        verdict += f", on the first {Wanted().max_states:,} states"
    link = f"[{claim.rpartition('/')[2]}](../specs/partition/{claim}.toml)"
    return f"| {link} | {release} | {preset} | {done:,} of {reachable:,} | {found['steps']:,} | {verdict} |\n"


def contradicted(found: dict[str, Found]) -> str:
    """Each release's conformance mutation score, and what it says to each changed rule that steps depend on."""
    of = {release: each["mutations"] for release, each in found.items() if "mutations" in each}
    said_how = (
        "Each rule of the release's preset is set to its other values in turn, as `highwater conform --mutate` does. A "
        "changed rule counts as contradicted if one claim of the release's rows contradicts it, and as not "
        "contradicted if steps of a claim depend on it and all claims agree all the same. A claim counts as "
        "tried once all rules were that no other one has contradicted. A dot is the release's own rule, and open is "
        "what claims that are not tried yet may contradict."
    )
    lines = ["", "## Which changed rules running code contradicts", "", textwrap.fill(said_how, 100), ""]
    lines += [
        "| Kafka | contradicted | of those that steps depend on | no effect seen | not expressible | claims tried |",
        "|---|---|---|---|---|---|",
    ]
    for release, judgements in of.items():
        tried = f"{len(found[release]['tried'])} of {len(found[release]['rows'])}"
        count = Counter(Judgement(judgement) for judgement, _ in judgements.values())
        depend = count[Judgement.CONTRADICTED] + count[Judgement.AGREES]
        score = f"{depend}, {100 * count[Judgement.CONTRADICTED] // max(1, depend)}%"
        unaffected = count[Judgement.NO_EFFECT] + count[Judgement.NO_EFFECT_SEEN]
        others = f"{unaffected} | {count[Judgement.NOT_EXPRESSIBLE]}"
        lines.append(f"| {release} | {count[Judgement.CONTRADICTED]} | {score} | {others} | {tried} |")
    lines += ["", f"| changed rule | {' | '.join(of)} |", f"|---|{'---|' * len(of)}"]
    keys = sorted({key for judgements in of.values() for key in judgements})
    cells = {key: [_cell(found[release], key) for release in of] for key in keys}
    lines += [f"| `{key}` | {' | '.join(cells[key])} |" for key in keys if key not in not_expressible(of)]
    why = [f"- `{key}`: {NOT_TOLD.get(key, 'not explained yet.')}" for key in keys if key in unexplained(of)]
    listed = ["", "Why no claim contradicts some of them:", "", *(_filled(each) for each in why)] if why else []
    return "\n".join([*lines, *listed, ""])


def not_expressible(of: dict[str, Found]) -> set[str]:
    """The changed rules that no release with KRaft has."""
    has = {key for each in of.values() for key, (said, _) in each.items() if said != Judgement.NOT_EXPRESSIBLE.value}
    return {key for each in of.values() for key in each} - has


def unexplained(of: dict[str, Found]) -> set[str]:
    """The changed rules on which steps of some release depend without a contradiction, or which none contradicts."""
    said = {(key, judgement) for each in of.values() for key, (judgement, _) in each.items()}
    refuted = {key for key, judgement in said if judgement == Judgement.CONTRADICTED.value}
    agree = {key for key, judgement in said if judgement == Judgement.AGREES.value}
    return agree | {key for key, _ in said} - refuted - not_expressible(of)


def _cell(found: Found, key: str) -> str:
    """What is known of a changed rule; before all claims are tried, only a contradiction is."""
    judgement: str = found["mutations"].get(key, ["·"])[0]
    may_change = judgement in (Judgement.AGREES.value, Judgement.NO_EFFECT_SEEN.value, Judgement.NO_EFFECT.value)
    return "open" if may_change and len(found["tried"]) < len(found["rows"]) else judgement


def _filled(line: str) -> str:
    return textwrap.fill(line, 100, subsequent_indent="  ")


def coverage(found: Found) -> str:
    """By action, the paths of the newest release's rows together."""
    text = f"\n## Paths by action\n\nOf the rows of {NEWEST} together.\n\n"
    text += "| action | executed | reachable |\n|---|---|---|\n"
    executed, reachable = Counter[str](), Counter[str]()
    for each in found["rows"].values():
        executed.update({name: done for name, (done, _) in each["paths"].items()})
        reachable.update({name: count for name, (_, count) in each["paths"].items()})
    for action in sorted(reachable):
        text += f"| `{action}` | {executed[action]:,} | {reachable[action]:,} |\n"
    missed = sorted(MAPPED.keys() - reachable.keys())
    return text + (f"\nNot reached: {', '.join(f'`{action}`' for action in missed)}.\n" if missed else "")


def covered(found: Coverage) -> str:
    """What was executed of the classes that replication goes through, and what was not."""
    of = {each.name: each for each in found.classes}
    parts = [each for each in found.methods["ReplicaManager"] if each.name in REPLICATION]
    shares = (sum((each.lines for each in parts), Share()), sum((each.branches for each in parts), Share()))
    of[REPLICATION_OF] = Code(REPLICATION_OF, *shares)
    how = (
        f"Lines and branches of Kafka {found.kafka} that the claims of its rows execute together, as `highwater "
        f"conform --coverage` counts them; of ReplicaManager the {len(parts)} methods that replication uses. In "
        "brackets is what is aimed at. In every second run the loggers of these classes are at level TRACE, so that "
        "each message is made."
    )
    lines = ["", "## What of Kafka is executed", "", textwrap.fill(how, 100), ""]
    lines += ["| class | lines | branches | methods never reached |", "|---|---|---|---|"]
    for name, aims in AIMS.items():
        methods = parts if name == REPLICATION_OF else found.methods[name]
        missed = [each.name for each in methods if not each.lines.executed]
        never = ", ".join(f"`{each}`" for each in missed if each not in LOGGING and "$" not in each)
        shown = [_percent(*each) for each in zip((of[name].lines, of[name].branches), aims, strict=True)]
        lines.append(f"| {name} | {shown[0]} | {shown[1]} | {never or 'none'} |")
    said = [f"- {name}: {LEFT_OUT[name]}" for name in AIMS]
    return "\n".join([*lines, "", *(textwrap.fill(each, 100, subsequent_indent="  ") for each in said), ""])


def _percent(share: Share, aim: int) -> str:
    return f"{share.executed} of {share.of}, {percent(share)}" + (f" ({aim}%)" if aim else "")


def divergences(met: set[tuple[str, str]]) -> str:
    """Each kind of divergence, and its cause."""
    if not met:
        return ""
    lines = [f"- `{kind[0]}`, {kind[1]}: {KNOWN.get(kind, 'not explained yet.')}" for kind in sorted(met)]
    return "\n".join(
        ["", "## Divergences", "", *(textwrap.fill(line, 100, subsequent_indent="  ") for line in lines), ""]
    )


def page(found: dict[str, Found]) -> str:
    """The page, of what was found of each release."""
    of_rows = [(release, each, claim, of) for release, each in found.items() for claim, of in each["rows"].items()]
    text = HEAD + TABLE + "".join(row(claim, release, each["preset"], of) for release, each, claim, of in of_rows)
    met = {kind for *_, of in of_rows for kind in kinds(of)}
    return text + coverage(found[NEWEST]) + found[NEWEST]["coverage"] + contradicted(found) + divergences(met)
