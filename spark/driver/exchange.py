"""Blocks to the partitions that own them, by Spark's shuffle of byte strings.

This is what PySpark's `RDD.partitionBy` does, without its lists of pickled pairs: a task yields an owner and a block in
turn, and Java hands both on as they are. A DataFrame with a binary column would be the public way. Planning it takes
longer than a small level, and Java makes a row of each block and an Arrow batch of each row: see `docs/spark.md`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any, cast

from pyspark import RDD, SparkContext
from pyspark.serializers import NoOpSerializer, pack_long

from highwater.spark.worker.tasks import exhaust

OF_PYTHON = "org.apache.spark.api.python"


@functools.cache
def java_class(jvm: Any, name: str) -> Any:
    """A class of Java's, by its whole name. Each part of the name is looked for in all of Spark's archives, before a
    package is taken for one, so this is done once.
    """
    return functools.reduce(getattr, name.split("."), jvm)


class Exchanged(RDD[Any]):
    """Blocks that have been exchanged."""

    def __init__(self, arrived: Any, sent: Any, context: SparkContext) -> None:
        super().__init__(arrived, context, NoOpSerializer())
        self._shuffle = sent.rdd().dependencies().head().shuffleId()

    def forget(self) -> None:
        """Let executors remove what was sent. Spark itself does so some time after the driver's Java has collected
        garbage, and until then a search keeps all that it has ever exchanged on their disks.
        """
        cleaner, blocking = cast("Any", self.ctx._jsc).sc().cleaner(), False
        if cleaner.isDefined():
            cleaner.get().doCleanupShuffle(self._shuffle, blocking)


def exchanged(blocks: RDD[Any], partitions: int, homes: Any) -> Exchanged:
    """The blocks of each owner in a partition of their own.

    Args:
        blocks: yields an owner as a long of Java, then a block, in turn.
        homes: see `homes_of`; None if any executor may have any partition.
    """
    pairs = _by_owner(blocks, partitions)
    together = pairs if homes is None else pairs.union(homes)
    return Exchanged(_values(together, blocks.ctx), pairs, blocks.ctx)


def numbers_at_home(context: SparkContext, partitions: int, homes: Any) -> RDD[int]:
    """The number of each partition, where the partition is at home."""
    if homes is None:
        return context.parallelize(range(partitions), partitions)

    def number(partition: int, nothing: Iterable[bytes]) -> Iterable[int]:
        exhaust(iter(nothing))
        yield partition

    empty: RDD[bytes] = RDD(_values(homes, context), context, NoOpSerializer())
    return empty.mapPartitionsWithIndex(number)


def homes_of(context: SparkContext, partitions: int) -> Any:
    """A cached partition with an empty block for each of so many. The executor that has cached it has the shard.

    Spark prefers to run a task on the executor that has cached the task's input. So what is exchanged is joined to
    these, which are partitioned in the same way and cost no exchange.
    """

    def empty(number: int) -> tuple[bytes, bytes]:
        return pack_long(number), b""  # type: ignore[no-untyped-call]  # of pyspark

    numbers = context.parallelize(range(partitions), partitions)
    homes = _by_owner(numbers.flatMap(empty), partitions).cache()
    homes.count()
    return homes


def _values(pairs: Any, context: SparkContext) -> Any:
    """The blocks of Java's pairs."""
    return java_class(context._jvm, f"{OF_PYTHON}.PythonRDD").valueOfPair(pairs)


def _by_owner(blocks: RDD[Any], partitions: int) -> Any:
    """Java's pairs of owner and block. Its own serializer would keep a hundred blocks of each owner in memory."""
    context = blocks.ctx
    names = (f"{OF_PYTHON}.PairwiseRDD", f"{OF_PYTHON}.PythonPartitioner", "org.apache.spark.serializer.KryoSerializer")
    pairwise, partitioner, serializer = (java_class(context._jvm, name) for name in names)
    blocks._bypass_serializer = True  # type: ignore[attr-defined]
    pairs = pairwise(blocks._jrdd.rdd()).asJavaPairRDD().partitionBy(partitioner(partitions, 0))
    pairs.rdd().setSerializer(serializer(context._jsc.sc().conf()))
    return pairs
