"""Ways to bring a defect of Kafka about on a cluster, and how one is gone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import attrs

from highwater.cluster.cluster import Cluster
from highwater.cluster.runs import Observed
from highwater.cluster.settings import Settings
from highwater.cluster.stage import Stage, Stuck
from highwater.cluster.verdict import Verdict
from highwater.conformance.distribution import Distribution, KafkaError, numbers_of

WITHOUT_ZOOKEEPER = (4,)  # releases from here on


@attrs.frozen
class Way:
    """One way to bring a defect about, or a control.

    Attributes:
        words: what is done, in one sentence.
        settings: of the cluster.
        partition: the one that matters.
        play: does it, and judges.
        control: whether the defect must not come about.
        since: the first release in which it comes about, of those that start here: from 3.5 on.
        until: the last one, if a later one has repaired it, or has no ZooKeeper any more.
    """

    words: str
    settings: Settings
    partition: int
    play: Callable[[Stage], Verdict]
    control: bool = False
    since: tuple[int, int] = (4, 1)
    until: tuple[int, int, int] | None = None


@attrs.frozen
class Staged:
    """One run of a way.

    Attributes:
        deeds: as they went.
        verdict: whether the defect came about, and in what way or why not.
    """

    deeds: tuple[Observed, ...]
    verdict: Verdict


def refuse_unless_possible(distribution: Distribution, way: Way) -> None:
    """
    Raises:
        KafkaError: the release has no ZooKeeper, and the way is about that.
    """
    if way.settings.zookeeper and numbers_of(distribution.release) >= WITHOUT_ZOOKEEPER:
        raise KafkaError(
            f"--kafka {distribution.where}: Kafka {distribution.release} has no ZooKeeper, which this defect is about; "
            "allowed are 3.5.0 to 3.9.2"
        )


def bring_about(
    distribution: Distribution, way: Way, on_deed: Callable[[int, Observed], None], keep: Path | None = None
) -> Staged:
    """Start a cluster, and go one way on it.

    Args:
        keep: a folder to which the cluster's folders are copied in the end.

    Raises:
        KafkaError: the cluster does not come up.
    """
    with Cluster(distribution, way.settings) as cluster:
        stage = Stage(cluster, way.partition, on_deed)
        try:
            verdict = way.play(stage)
        except Stuck as error:
            verdict = Verdict(False, str(error))
        if keep is not None:
            cluster.keep(keep)
    return Staged(tuple(stage.deeds), verdict)


@attrs.frozen
class Defect:
    """
    Attributes:
        words: what an operator loses, in one sentence.
        ways: by name; the first one is the smallest.
    """

    words: str
    ways: dict[str, Way]
