"""The states as a table: Spark's expressions decode what the layout packs."""

from __future__ import annotations

import functools
import os
from collections import Counter
from enum import Enum
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import toys
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql.pandas.types import from_arrow_schema

from highwater.explorer.analysis.plain_values import plain
from highwater.explorer.blame import ModelError
from highwater.explorer.compiler.layout import Layout
from highwater.explorer.search.keeping.durable import CheckpointError
from highwater.explorer.system import successor
from highwater.explorer.verdict import Budget, SearchOptions
from highwater.model.language.domain import BOOLEAN, ArrayOf, Integers, Maybe, OneOf, SequenceOf, SetOf
from highwater.model.language.records import domain_of, within
from highwater.spaces import column_schema
from highwater.spark.driver.explore import explore
from highwater.spark.driver.states import columns, quoted, states
from highwater.spark.files import for_spark
from highwater.spark.levels import Levels
from tests.multiset import BagOf


class Colour(Enum):
    """A name with a blank when it is shown, so that quoting matters."""

    DARK_RED = "dark-red"
    BLUE = "blue"


@attrs.frozen
class Inner:
    name: Colour = within(OneOf(tuple(Colour)))
    size: int | None = within(Maybe(Integers(-3, 4)))


@attrs.frozen
class Everything:
    """One field per kind of domain, and some inside each other."""

    number: int = within(Integers(-2, 9))
    only_one: int = within(Integers(7, 7))
    is_true: bool = within(BOOLEAN)
    colour: Colour = within(OneOf(tuple(Colour)))
    word: str = within(OneOf(("it's", "back\\slash", "", "${spark.app.name}")))
    date: int = within(Integers(2**40, 2**40 + 9))
    end: int = within(OneOf((-(2**31), 2**50)))
    nobody: tuple = within(ArrayOf(Integers(0, 1), 0))
    nothing: frozenset = within(SetOf(SequenceOf(OneOf(("x",)), 0)))
    power: int = within(OneOf((1, 2, 4)))
    perhaps: Colour | None = within(Maybe(OneOf(tuple(Colour))))
    members: frozenset = within(SetOf(Integers(1, 4)))
    colours: frozenset = within(SetOf(Maybe(OneOf(tuple(Colour)))))
    inner: Inner = within(Inner)
    maybe_inner: Inner | None = within(lambda bounds: Maybe(domain_of(Inner, bounds)))
    queue: tuple = within(lambda bounds: SequenceOf(domain_of(Inner, bounds), 3))
    array: tuple = within(lambda bounds: ArrayOf(SequenceOf(Integers(0, 3), 2), 2))
    inners: frozenset = within(lambda bounds: SetOf(domain_of(Inner, bounds)))
    bag: tuple = within(BagOf(OneOf(tuple(Colour)), 2))
    maybe_bag: tuple | None = within(Maybe(BagOf(Integers(-1, 1), 2)))


def values_of(domain: Any) -> st.SearchStrategy:
    """Any value of a domain."""
    match domain:
        case Maybe(of=of):
            return st.none() | values_of(of)
        case SetOf(of=of):
            return st.frozensets(st.sampled_from(list(of.values())), max_size=5)
        case SequenceOf(of=of, max_length=length):
            return st.lists(values_of(of), max_size=length).map(tuple)
        case ArrayOf(of=of, length=length):
            return st.tuples(*[values_of(of)] * length)
        case _ if hasattr(domain, "fields"):
            return st.builds(domain.cls, **{name: values_of(of) for name, of in domain.fields.items()})
    return st.sampled_from(list(domain.values()))


DOMAIN = domain_of(Everything, None)


def test_every_kind_of_domain_is_decoded_as_it_was_packed(spark: Any, tmp_path: Path) -> None:
    """Two hundred random states in one query."""
    layout, some = Layout(DOMAIN), []

    @settings(max_examples=200, database=None, suppress_health_check=list(HealthCheck))
    @given(values_of(DOMAIN))
    def collect(state: Everything) -> None:
        some.append(state)

    collect()
    packed = np.array([layout.pack(state) for state in some], np.uint64).view(np.int64)
    table = pa.table({f"w{word}": packed[:, word] for word in range(layout.words)} | {"at": np.arange(len(some))})
    pq.write_table(table, tmp_path / "some.parquet")
    found = spark.read.parquet(str(tmp_path / "some.parquet")).orderBy("at").selectExpr(*columns(layout))
    for row, state in zip(found.collect(), some, strict=True):
        assert row.asDict(recursive=True) == plain(DOMAIN, state)
    here = pa.Table.from_pylist([plain(DOMAIN, state) for state in some], column_schema(DOMAIN))
    assert found.schema.simpleString() == from_arrow_schema(here.schema).simpleString()


@pytest.fixture(scope="module")
def table(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """All states of KIP-320 within small bounds, one row for those that differ by broker names."""
    folder = str(tmp_path_factory.mktemp("levels"))
    make = functools.partial(toys.reference, "kip-320", "strong_isr")
    explore(make, options=SearchOptions(checkpoint=folder), spark=spark)
    return states(spark, Levels(folder), Layout(make().domain))


@pytest.fixture(scope="module")
def reachable() -> list[tuple[int, Any]]:
    """The same states by plain Python, every one, with depths."""
    found: list[tuple[int, Any]] = []
    system = toys.reference("kip-320", "strong_isr")
    depths = dict.fromkeys(system.initial, 0)
    level = list(system.initial)
    while level:
        found += [(depths[state], state) for state in level]
        after = [(s, successor(a, s, system.domain)) for s in level for a in system.actions]
        level = []
        for before, state in after:
            if isinstance(state, system.domain.cls) and state not in depths:
                depths[state] = depths[before] + 1
                level.append(state)
    return found


def test_columns_are_named_and_typed_after_the_models_fields(table: Any) -> None:
    log = "array<struct<id:int,leader_epoch:int>>"
    replica = f"struct<leader:int,leader_epoch:int,high_watermark:int,isr:array<int>,log:{log}>"
    assert {field.name: field.dataType.simpleString() for field in table.schema.fields} == {
        "quorum": "struct<leader:int,isr:array<int>>",
        "next_record_id": "int",
        "requests": "array<struct<leader:int,isr:array<int>>>",
        "replicas": f"array<{replica}>",
        "depth": "int",
        "orbit": "int",
    }


def test_orbits_count_every_state(table: Any, reachable: list[tuple[int, Any]]) -> None:
    found = {
        row.depth: row.n
        for row in table.groupBy("depth").agg({"orbit": "sum"}).withColumnRenamed("sum(orbit)", "n").collect()
    }
    assert found == Counter(depth for depth, _ in reachable)


def test_a_query_without_names_counts_as_plain_python_does(table: Any, reachable: list[tuple[int, Any]]) -> None:
    """How many states have two brokers that presume leadership?"""
    found = (
        table.where("size(filter(replicas, (replica, broker) -> replica.leader = broker)) >= 2")
        .agg({"orbit": "sum"})
        .collect()
    )
    presumed = [sum(state.presumes_leadership(b) for b in range(len(state.replicas))) for _, state in reachable]
    assert found[0][0] == sum(count >= 2 for count in presumed) > 0


def test_a_file_that_another_of_its_size_has_replaced_is_refused(spark: Any, tmp_path: Path) -> None:
    """Spark's reader would take it: its pages are whole."""
    make = functools.partial(toys.reference, "kip-320", "strong_isr")
    explore(make, Budget(max_depth=3), SearchOptions(checkpoint=str(tmp_path)), spark=None)
    store, layout = Levels(str(tmp_path)), Layout(make().domain)
    replaced = store.level(3).files[0]
    names = [*(f"w{word}" for word in range(layout.words)), "parent", "action", "orbit"]
    *words, parents, actions, orbits = store.read_file(replaced, names)
    other = store.write_file(3, 0, [word.view(np.uint64) for word in words], parents, actions, orbits + 1)
    assert (other.bytes, other.sha256) != (replaced.bytes, replaced.sha256)
    assert other.bytes == replaced.bytes
    os.replace(tmp_path / "levels" / other.name, tmp_path / "levels" / replaced.name)
    with pytest.raises(CheckpointError, match=rf"{replaced.name}: is damaged: its checksum does not match"):
        states(spark, store, layout)


def test_a_folder_may_be_named_by_a_uri_in_which_letters_are_quoted(spark: Any, tmp_path: Path) -> None:
    """Arrow takes them as they are meant. Spark takes nothing for quoted."""
    uri = (tmp_path / "levels of 100% {all} [ä] #1?").as_uri()
    assert "%20" in uri
    make = functools.partial(toys.reference, "kip-320", "strong_isr")
    explore(make, Budget(max_depth=1), SearchOptions(checkpoint=uri), spark=None)
    store = Levels(uri)
    found = states(spark, store, Layout(make().domain))
    assert found.count() == sum(level.rows for level in store.read())


@pytest.mark.parametrize(
    ("uri", "as_spark_takes_it"),
    [
        ("s3a://bucket/a%20folder/of%252F?region=eu-west-1", "s3a://bucket/a folder/of%2F"),
        ("hdfs://host:8020/levels", "hdfs://host:8020/levels"),
        ("file:///of 100%", "file:///of 100%"),
        ("/of%20", "file:///of%20"),
    ],
)
def test_spark_gets_what_a_uri_means(uri: str, as_spark_takes_it: str) -> None:
    assert for_spark(uri) == as_spark_takes_it


def test_a_field_with_the_name_of_a_column_of_its_own_is_refused(tmp_path: Path) -> None:
    @attrs.frozen
    class Deep:
        depth: int = within(Integers(0, 1))

    with pytest.raises(ModelError, match="a field named depth"):
        states(None, Levels(str(tmp_path)), Layout(domain_of(Deep, None)))


def test_names_are_quoted() -> None:
    assert quoted("a`b") == "`a``b`"
