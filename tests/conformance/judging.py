"""An answer judged a second time: what Kafka's own classes do in its place.

The way of a "yes" is taken on them, step by step. Of a "no" each path of each step within its bounds is.
"""

from __future__ import annotations

from highwater.asking.asked import Part, Says
from highwater.asking.judged import MODEL
from highwater.claims.conformance import Conformance, Session, Wanted, run_of
from highwater.conformance.operations import MAPPED

MOST_STATES = 10_000


def judge(part: Part, session: Session) -> Conformance | None:
    """What Kafka's classes do in place of a part of an answer; None if they cannot be asked.

    Raises:
        SpecError, KafkaError: as `Session.conform` says.
    """
    if part.claim.model != MODEL or part.result is None or part.says is Says.NOT_KNOWN:
        return None
    spec = part.result.spec
    if part.violation is None:
        return session.conform(spec, Wanted(max_states=MOST_STATES))
    taken = {step.action.of.name for step in part.violation.trace if step.action is not None}
    if part.violation.back_to is not None or not taken <= MAPPED.keys():
        return None
    system = spec.system()
    return session.replay(spec, system, run_of(system, part.violation.trace))
