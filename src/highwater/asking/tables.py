"""Questions by class of topics: what can happen to which topics of a cluster, worst first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from highwater.asking.answering import Report, answer
from highwater.asking.answers import Answer
from highwater.asking.asked import Says
from highwater.asking.questions import Question
from highwater.asking.reading import Cluster, TopicClass
from highwater.asking.settings import MOST_REPLICAS, settings_for
from highwater.claims.tables import Wrong

BADNESS = {"records": 0, "controller": 1, "leader": 2, "writable": 3, "broker": 4, "shutdown": 5, "reassignment": 6}
"""By harm, how bad it is; the least is the worst."""


@attrs.frozen
class Row:
    """A question with its answer for each class of topics; None where it is about other settings."""

    question: Question
    answers: tuple[Answer | None, ...]

    @property
    def badness(self) -> tuple[int, int]:
        """By what rows are sorted: the worst harm of a "yes", and how many classes have one."""
        yes = [found for found in self.answers if found is not None and found.says is Says.YES]
        harms = [BADNESS[part.claim.harm] for found in yes for part in found.parts if part.says is Says.YES]
        unknown = any(found is not None and found.says is Says.NOT_KNOWN for found in self.answers)
        return min(harms, default=len(BADNESS) + (not unknown)), -len(yes)


def rows_of(cluster: Cluster, questions: Iterable[Question], given: Mapping[str, Any], report: Report) -> list[Row]:
    """Each question asked of each class of topics that the models can be asked about, the worst first.

    Args:
        given: settings that are the same for all topics.

    Raises:
        Wrong: a setting is none that can be asked.
    """
    about = [each for each in questions if not (cluster.kraft and each.is_about_zookeeper)]
    rows = [Row(each, tuple(_asked(each, alike, given, report) for alike in askable(cluster))) for each in about]
    return sorted((row for row in rows if any(row.answers)), key=lambda row: row.badness)


def askable(cluster: Cluster) -> list[TopicClass]:
    """The classes that have no more replicas than the models can be asked about."""
    return [each for each in cluster.classes if each.replication_factor <= MOST_REPLICAS]


def _asked(question: Question, alike: TopicClass, given: Mapping[str, Any], report: Report) -> Answer | None:
    """The answer for a class of topics; None if the question is about other settings than theirs."""
    own = {
        "replication_factor": alike.replication_factor,
        "min_isr": min(alike.min_isr, alike.replication_factor),
        "unclean": alike.unclean,
        "acks": given.get("acks", "all"),
    }
    if any(question.settings.get(key, value) != value for key, value in own.items()):
        return None
    return answer(question, settings_for(question, **{**given, **own}), report, alone=True)


def release_of(cluster: Cluster, given: Mapping[str, Any]) -> str:
    """The release to ask about.

    Raises:
        Wrong: nothing says which.
    """
    release = given.get("release") or cluster.release
    if release is None:
        raise Wrong("--from: nothing there names the release of Kafka; add --release")
    return str(release)
