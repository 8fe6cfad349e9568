"""A certificate judged on Spark: each task judges some of its states, and the driver adds up what they come to."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pyspark.sql import SparkSession

from highwater.explorer.blame import ModelError
from highwater.explorer.verifier.certificate import Unfit
from highwater.explorer.verifier.closed_set import ClosedSet
from highwater.explorer.verifier.sums import Refused, Sums
from highwater.spark.driver.session import SPARK_ERRORS, ClusterError, reason_of

TASKS_PER_CORE = 4

Make = Callable[[bytes], ClosedSet]
Result = Sums | Exception
_made: dict[str, ClosedSet] = {}
"""Of this worker process: the states of the certificate that it judges, by the name of the job."""


def judged(spark: SparkSession, make: Make, data: bytes, rows: int) -> Sums:
    """What all rows of a certificate come to.

    Every worker process gets the whole certificate, as a step may lead to any state, and looks it up in memory.

    Args:
        make: makes the states of the certificate from its file, on any machine.

    Raises:
        Refused, ModelError, Unfit: as on one machine; of several tasks' the first in the order of the rows.
        ClusterError: Spark failed.
    """
    context = spark.sparkContext
    tasks = max(1, min(rows, TASKS_PER_CORE * context.defaultParallelism))
    shared = context.broadcast(data)
    try:
        found = context.parallelize(range(tasks), tasks).mapPartitions(
            _task(make, shared, uuid.uuid4().hex, rows, tasks)
        )
        sums = Sums()
        for each in found.collect():
            if isinstance(each, Exception):
                raise each
            sums.add(each)
        return sums
    except SPARK_ERRORS as error:
        raise ClusterError(reason_of(error)) from error
    finally:
        shared.destroy()


def _task(make: Make, shared: Any, name: str, rows: int, tasks: int) -> Callable[[Iterable[int]], Iterator[Result]]:
    def judge(parts: Iterable[int]) -> Iterator[Result]:
        try:
            if name not in _made:
                _made.clear()
                _made[name] = make(shared.value)
            for part in parts:
                yield _made[name].judge(range(part * rows // tasks, (part + 1) * rows // tasks))
        except (Refused, ModelError, Unfit) as fault:
            yield fault

    return judge
