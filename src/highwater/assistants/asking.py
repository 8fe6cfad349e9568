"""The questions of operators: can this happen to my cluster?"""

from __future__ import annotations

import attrs

from highwater.api import ask
from highwater.asking.questions import catalogue
from highwater.asking.settings import LAST, MOST_REPLICAS
from highwater.asking.wording import deeds
from highwater.assistants.contract import a_number, a_text, fitting, seconds, short, tool
from highwater.assistants.place import Place
from highwater.claims.tables import Wrong

LONGEST = 100


@attrs.frozen(kw_only=True)
class AskedQuestions:
    """Which questions."""

    query: str = a_text(LONGEST, "words that all stand in the name, the group or the words of a question; all if empty")


@attrs.frozen
class QuestionLine:
    """A question.

    Attributes:
        question: its name.
        words: what happens.
        group: what it is about.
    """

    question: str
    words: str
    group: str


@attrs.frozen
class Questions:
    """Questions.

    Attributes:
        total: how many there are that the query fits; if more than are listed, narrow the query.
    """

    questions: tuple[QuestionLine, ...]
    total: int


@tool(AskedQuestions, Questions)
def list_questions(asked: AskedQuestions, place: Place) -> Questions:
    """List what operators may ask of a Kafka cluster with ask_kafka: rolling restarts, power loss, reassignments,
    fail-overs of the controller and more.
    """
    words = asked.query.lower().split()
    found = [QuestionLine(each.name, each.words, each.group) for each in catalogue().values()]
    found = [each for each in found if all(word in " ".join(attrs.astuple(each)).lower() for word in words)]
    return Questions(fitting(found, room=12_000)[0], len(found))


@attrs.frozen(kw_only=True)
class AskedOfKafka:
    """A question, and the cluster that it is asked of."""

    question: str = a_text(LONGEST, "a name of list_questions")
    release: str | None = a_text(LONGEST, f"of brokers and controllers, such as 3.9.2; {LAST} if left out", None)
    replication_factor: int | None = a_number(None, 1, MOST_REPLICAS, "replicas of the partition; 3 if left out")
    min_isr: int | None = a_number(None, 1, MOST_REPLICAS, "min.insync.replicas of the topic; 2 if left out")
    acks: str | None = a_text(LONGEST, "acks of the producers: 0, 1 or all; all if left out", None)
    unclean: bool | None = attrs.field(default=None, metadata={"meaning": "unclean.leader.election.enable"})
    elr: bool | None = attrs.field(
        default=None, metadata={"meaning": "eligible leader replicas; as in a new cluster of the release if left out"}
    )
    during: tuple[str, ...] = attrs.field(
        default=(),
        metadata={"meaning": "what else happens meanwhile: controller-fail-over, preferred-election", "longest": 2},
    )
    seconds: int = seconds()


@attrs.frozen
class KafkaAnswer:
    """An answer.

    Attributes:
        answer: yes (it can come about), no (not within the bounds that the sentences name), or not known.
        asked: the question in words.
        settings: the cluster that it was asked of.
        sentences: what comes about and until when; what prevents it, and which releases answer otherwise; whether it
            was seen on a cluster.
        what_helps: workarounds.
        how: of a yes, the deeds of a shortest way.
    """

    answer: str
    asked: str
    settings: str
    sentences: tuple[str, ...]
    what_helps: tuple[str, ...]
    how: tuple[str, ...]


@tool(AskedOfKafka, KafkaAnswer)
def ask_kafka(asked: AskedOfKafka, place: Place) -> KafkaAnswer:
    """Ask whether something can happen to a Kafka cluster of some release and settings: whether records are lost, a
    partition has no leader or cannot be written, and so on. The models of Kafka are checked; a no is one within the
    bounds that it names.
    """
    if not asked.question:
        raise Wrong("question: is missing; list_questions names those there are")
    given = {field.name: getattr(asked, field.name) for field in attrs.fields(AskedOfKafka)}
    found = ask(**{key: each for key, each in given.items() if key != "seconds"})
    how = next((steps for part in found.parts if (steps := deeds(part))), [])
    return KafkaAnswer(
        answer=found.says.value,
        asked=found.words,
        settings=found.settings.in_words(),
        sentences=tuple(short(each) for each in found.sentences),
        what_helps=tuple(short(each, 500) for each in found.workarounds),
        how=fitting(how)[0] if how else (),
    )
