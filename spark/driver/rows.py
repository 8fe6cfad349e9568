"""The rows of levels as a DataFrame, read by Spark itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from pyspark.sql import DataFrame, SparkSession

from highwater.explorer.search.keeping.durable import CheckpointError
from highwater.spark.levels import Level, LevelFile, Levels


def rows_of(spark: SparkSession, store: Levels, levels: Sequence[Level], words: int) -> DataFrame:
    """The words, depth and orbit of each row, after each file was compared with its checksum. Spark's reader checks
    pages only: it would take a whole file that is another's.

    Raises:
        CheckpointError: a file is missing or damaged.
    """
    context, files = spark.sparkContext, [file for level in levels for file in level.files]
    schema = ", ".join([*(f"w{number} bigint" for number in range(words)), "depth int", "orbit int"])
    parts = context.parallelize(files, max(1, min(len(files), context.defaultParallelism)))
    for fault in parts.mapPartitions(_compare(store)).collect():
        raise CheckpointError(fault)
    reader = spark.read.schema(schema).option("parquet.page.verify-checksum.enabled", True)
    return reader.parquet(*store.locations(levels))


def _compare(store: Levels) -> Callable[[Iterable[LevelFile]], Iterator[str]]:
    """What is wrong with files, in words."""

    def compare(files: Iterable[LevelFile]) -> Iterator[str]:
        for file in files:
            try:
                store.whole(file)
            except CheckpointError as fault:
                yield str(fault)

    return compare
