from __future__ import annotations

import asyncio
import collections
import dataclasses
import datetime as dt
import threading
import time
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_stream.core.schema import TIMESTAMP, Schema
from jupyter_stream.errors import SourceError
from jupyter_stream.sources import BATCH_ROWS, Request, Source, open_source
from jupyter_stream.sources.values import column, rows_to_chunk
from tests.tiers import slow
from tests.waiting import PATIENCE, until

TICKS = Schema.of([("n", pl.Int64()), ("s", pl.String())])
ONE = Schema.of([("n", pl.Int64())])


def source(value: object, schema: Schema | None = TICKS, **options: str) -> Source:
    return open_source("python://x", schema, options, {"x": value})


@dataclasses.dataclass
class Tick:
    s: str
    n: int


Named = collections.namedtuple("Named", ["s", "n"])


def test_rows_may_be_dicts_tuples_lists_dataclasses_and_named_tuples(read):
    items = [
        {"n": 1, "s": "a"},
        (2, "b"),
        [3, "c"],
        Tick("d", 4),
        Named("e", 5),
        {"N": 6, "S": "f"},
        {"n": 7, "more": 0},
    ]
    expected = [(1, "a"), (2, "b"), (3, "c"), (4, "d"), (5, "e"), (6, "f"), (7, None)]
    assert read(source(items)).rows == expected
    assert [read(source([item])).rows[0] for item in items] == expected


def test_frames_of_any_library_are_many_rows_and_keep_their_place(read):
    def items():
        yield 1, "a"
        yield pd.DataFrame({"s": ["b", "c"], "n": [2, 3]})
        yield pl.DataFrame({"N": [4], "s": ["d"]})
        yield pa.table({"n": [5], "s": ["e"]})
        yield 6, "f"

    assert read(source(items)).rows == [(1, "a"), (2, "b"), (3, "c"), (4, "d"), (5, "e"), (6, "f")]


def test_a_callable_and_a_list_are_replayable_and_a_generator_runs_once(read):
    def items():
        yield 1, "a"
        yield 2, "b"

    for again in (
        items,
        [(1, "a"), (2, "b")],
        lambda: iter(items()),
        lambda: pl.DataFrame({"n": [1, 2], "s": ["a", "b"]}),
    ):
        opened = source(again)
        assert opened.replayable
        assert read(opened).rows == read(opened).rows == [(1, "a"), (2, "b")]
    once = source(items())
    assert not once.replayable
    assert read(once).rows == [(1, "a"), (2, "b")]
    assert list(once.read(Request())) == []


def test_async_generators_and_coroutines_run_on_a_loop_of_their_own(read):
    async def ticks():
        for i in range(3):
            await asyncio.sleep(0.001)
            yield i

    async def fetched():
        await asyncio.sleep(0.001)
        return [7, 8]

    assert read(source(ticks, ONE)).rows == [(0,), (1,), (2,)]
    assert read(source(ticks(), ONE)).rows == [(0,), (1,), (2,)]
    assert not source(ticks(), ONE).replayable
    assert read(source(fetched, ONE)).rows == [(7,), (8,)]


def test_what_a_generator_raises_is_told_after_the_rows_before_it(collect):
    def broken():
        yield 1
        raise ValueError("no more ticks")

    async def broken_too():
        yield 1
        raise KeyError("x")

    for value, message in (
        (broken, "python://x raised ValueError: no more ticks"),
        (broken_too, "python://x raised KeyError: 'x'"),
        (lambda: 1 / 0, "python://x raised ZeroDivisionError: division by zero"),
        (lambda: None, "python://x returned a NoneType"),
    ):
        chunks = []
        with pytest.raises(SourceError) as error:
            chunks.extend(source(value, ONE).read(Request()))
        assert message in str(error.value)
        assert sum(c.frame.height for c in chunks) == (0 if callable(value) and value.__name__ == "<lambda>" else 1)


def test_bad_values_are_told_apart_with_their_row(read):
    items = [
        {"n": "x", "s": "a"},
        {"n": "7", "s": 7},
        {"n": 2.5, "s": None},
        {"n": 2.0, "s": None},
        {"n": 2**70, "s": ""},
        (1, 2, 3),
        17,
        {"n": [1], "s": "a"},
        {"n": object, "s": "a"},
        {"n": True, "s": True},
    ]
    found = read(source(items))
    assert found.rows == [(7, "7"), (2, None), (1, "true")]
    assert {reason for _, reason in found.rejected} == {
        "column n: 'x' can't be read as BIGINT",
        "column n: 2.5 can't be read as BIGINT",
        f"column n: {2**70} can't be read as BIGINT",
        "3 values for the 2 columns n, s",
        "a int is not a row: yield a dict, a tuple or a dataclass",
        "column n: [1] can't be read as BIGINT",
        "column n: <class 'object'> can't be read as BIGINT",
    }
    assert ("{'n': 'x', 's': 'a'}", "column n: 'x' can't be read as BIGINT") in found.rejected


def test_python_values_of_every_type_become_columns(read):
    zone = dt.timezone(dt.timedelta(hours=2))
    schema = Schema.of(
        [
            ("t", TIMESTAMP),
            ("f", pl.Float64()),
            ("d", pl.Decimal(10, 2)),
            ("day", pl.Date()),
            ("b", pl.Boolean()),
            ("l", pl.List(pl.Int64())),
        ]
    )
    items = [
        (dt.datetime(1960, 1, 1, tzinfo=zone), 1, Decimal("1.25"), dt.date(2024, 1, 1), True, [1, 2]),
        ("2024-01-01T00:00:00Z", "2.5", "3.5", "2024-01-02", "false", None),
        (np.datetime64("2024-01-01T00:00:01", "ns"), np.float32(0.5), 2, None, np.bool_(True), np.array([3])),
        (pd.Timestamp("2024-01-01", tz="Asia/Tokyo"), float("nan"), None, dt.datetime(2024, 1, 3, 5), 0, []),
        (pd.NaT, None, None, None, None, None),
        (dt.date(2024, 1, 1), np.int8(3), None, None, None, None),
    ]
    found = read(source(items, schema))
    assert found.rejected == []
    assert found.frame["t"].to_list() == [
        dt.datetime(1959, 12, 31, 22),
        dt.datetime(2024, 1, 1),
        dt.datetime(2024, 1, 1, 0, 0, 1),
        dt.datetime(2023, 12, 31, 15),
        None,
        dt.datetime(2024, 1, 1),
    ]
    assert found.frame["f"].to_list()[:3] == [1.0, 2.5, 0.5]
    assert found.frame["f"].is_nan().to_list() == [False, False, False, True, None, False]
    assert found.frame["d"].to_list()[:3] == [Decimal("1.25"), Decimal("3.50"), Decimal("2.00")]
    assert found.frame["day"].to_list()[:4] == [dt.date(2024, 1, 1), dt.date(2024, 1, 2), None, dt.date(2024, 1, 3)]
    assert found.frame["b"].to_list()[:4] == [True, False, True, False]
    assert found.frame["l"].to_list()[:4] == [[1, 2], None, [3], []]


def test_numbers_are_times_only_where_their_unit_is_told(read):
    schema = Schema.of([("t", TIMESTAMP)])
    found = read(source([1_700_000_000, -0.5], schema, timestamp_unit="s"))
    assert found.rows == [(dt.datetime(2023, 11, 14, 22, 13, 20),), (dt.datetime(1969, 12, 31, 23, 59, 59, 500_000),)]
    assert [raw for raw, _ in read(source([5], schema)).rejected] == ["5"]


def test_columns_of_a_list_are_found_and_those_of_a_generator_must_be_declared():
    assert str(source([{"a": 1, "b": "x"}, {"a": 2.5, "t": dt.datetime(2024, 1, 1)}], None).schema) == (
        "(a DOUBLE, b STRING, t TIMESTAMP)"
    )
    assert str(source([pl.DataFrame({"a": [1]})], None).schema) == "(a BIGINT)"
    assert str(source([Tick("a", 1)], None).schema) == "(s STRING, n BIGINT)"
    for value in (iter([1]), lambda: [1], [1, 2], []):
        with pytest.raises(SourceError, match="columns of python://x are not known") as error:
            source(value, None)
        assert "CREATE STREAM name (" in str(error.value)


def test_mistakes_are_told_when_the_source_is_made():
    names = {"ticks": [1], "text": "abc", "number": 5}
    for uri, told in (
        ("python://tick", "Did you mean 'ticks'?"),
        ("python://text", "is a str, which can't be iterated"),
        ("python://number", "is a int, which can't be iterated"),
    ):
        with pytest.raises(SourceError) as error:
            open_source(uri, ONE, {}, names)
        assert told in str(error.value)


def test_a_row_is_handed_over_before_the_next_one_comes():
    handed_over = threading.Event()

    def slow():
        yield 1
        assert handed_over.wait(PATIENCE)
        yield 2

    chunks = source(slow, ONE).read(Request())
    assert next(chunks).frame.rows() == [(1,)]
    handed_over.set()
    assert next(chunks).frame.rows() == [(2,)]
    assert list(chunks) == []


@slow
def test_a_flood_comes_in_large_batches_and_the_generator_is_held_back():
    made = 0

    def flood():
        nonlocal made
        for i in range(500_000):
            made += 1
            yield i

    chunks = source(flood, ONE).read(Request())
    values = next(chunks).frame["n"].to_list()
    until(lambda: made >= len(values) + 2 * BATCH_ROWS)
    time.sleep(0.1)
    assert made == len(values) + 2 * BATCH_ROWS
    sizes = []
    for chunk in chunks:
        sizes.append(chunk.frame.height)
        values += chunk.frame["n"].to_list()
    assert values == list(range(500_000))
    assert max(sizes) == BATCH_ROWS


def test_frames_are_held_back_sooner():
    made = 0

    def flood():
        nonlocal made
        for _ in range(100):
            made += 1
            yield pl.DataFrame({"n": range(10)})

    chunks = source(flood, ONE).read(Request())
    next(chunks)
    time.sleep(0.3)
    assert made < 20
    assert sum(c.frame.height for c in chunks) == 990


def test_a_reader_that_stops_lets_the_generator_end():
    closed = threading.Event()

    def endless():
        try:
            while True:
                yield 1
        finally:
            closed.set()

    async def endless_too():
        try:
            while True:
                yield 1
                await asyncio.sleep(1000)
        finally:
            closed.set()

    for value in (endless, endless_too):
        closed.clear()
        request = Request()
        chunks = source(value, ONE).read(request)
        next(chunks)
        request.stop.set()
        assert list(chunks) == [] or value is endless
        assert closed.wait(PATIENCE)


def test_waiting_for_a_silent_generator_ends_when_told_to_stop():
    never = threading.Event()

    def silent():
        never.wait(PATIENCE)
        yield 1

    request = Request()
    threading.Timer(0.1, request.stop.set).start()
    assert list(source(silent, ONE).read(request)) == []
    never.set()


def test_a_live_generator_goes_on_where_the_read_before_stopped():
    def count():
        yield from range(10)

    live = source(count(), ONE)
    request = Request()
    first = next(live.read(request)).frame["n"].to_list()
    request.stop.set()
    rest = [v for c in live.read(Request()) for v in c.frame["n"].to_list()]
    assert first + rest == list(range(10))


def test_a_live_generator_assigned_anew_is_taken_up(read):
    names = {"x": iter([1, 2])}
    live = open_source("python://x", ONE, {}, names)
    assert read(live).rows == [(1,), (2,)]
    names["x"] = iter([3])
    assert read(live).rows == [(3,)]


def test_reads_of_a_callable_side_by_side_do_not_meet():
    opened = source(lambda: range(1000), ONE)
    one, two = opened.read(Request()), opened.read(Request())
    left, right = [next(one).frame], [next(two).frame]
    assert pl.concat(left + [c.frame for c in one])["n"].to_list() == list(range(1000))
    assert pl.concat(right + [c.frame for c in two])["n"].to_list() == list(range(1000))


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**65), 2**65), st.floats(), st.text("1a.- ", max_size=4), st.dates(), st.datetimes(),
    st.decimals(allow_nan=False, allow_infinity=False, places=2), st.lists(st.integers(0, 3), max_size=2), st.just(pd.NaT),
)  # fmt: skip


@settings(deadline=None)
@given(
    st.lists(VALUES, max_size=8),
    st.sampled_from(
        [pl.Int64(), pl.Int8(), pl.Float64(), pl.String(), pl.Boolean(), TIMESTAMP, pl.Date(), pl.Decimal(9, 2)]
    ),
)
def test_a_value_becomes_the_same_alone_and_among_others(values, dtype):
    together, bad = column("x", values, dtype, None)
    for i, value in enumerate(values):
        alone, alone_bad = column("x", [value], dtype, None)
        assert together[i : i + 1].equals(alone, null_equal=True)
        assert (i in bad) == bool(alone_bad)


@settings(deadline=None)
@given(st.lists(st.one_of(VALUES, st.tuples(VALUES, VALUES), st.dictionaries(st.sampled_from("nsx"), VALUES))))
def test_every_item_is_a_row_or_told_apart(items):
    chunk = rows_to_chunk(items, TICKS, TICKS.fields, None)
    assert chunk.frame.height + (0 if chunk.rejected is None else chunk.rejected.height) == len(items)
