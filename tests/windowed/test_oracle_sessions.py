"""The kernel engine against the oracle: sessions, whatever order their rows come in, and what late rows miss."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream.engine.progress import FAR
from jupyter_stream.session.session import Session
from tests.oracle import strategies
from tests.oracle.aggregates import Aggregate
from tests.oracle.answer import answer
from tests.oracle.compare import assert_same_bag, in_columns
from tests.oracle.predicates import Compares
from tests.oracle.progress import InOrder, PunctuationColumn, Slack, Watermark
from tests.oracle.query import Query, duration
from tests.oracle.running import Ran, assert_right, show
from tests.oracle.search import searching
from tests.oracle.windows import Sessions
from tests.tiers import slow
from tests.windowed.test_oracle_edges import COUNT, SECOND, check, stream


def gap(micros: int) -> Sessions:
    return Sessions(micros, duration(micros))


@st.composite
def session_queries(draw: st.DrawFn, *, late: bool = True, emit: bool = False) -> Query:
    """A query over sessions of a stream of its own."""
    query = draw(strategies.queries(late=late, order_free=not late, emit=emit, both=not emit))
    names = [name for name, _ in strategies.data_columns(query.stream)]
    tick = draw(st.sampled_from(strategies.TICKS)) if not query.stream.rows else _tick(query)
    window = gap(draw(st.integers(1, 12)) * tick)
    if draw(st.integers(0, 2)) == 0:
        partition = tuple(draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True)))
        window = replace(window, partition=partition)
    else:
        window = replace(window, spelling=draw(st.sampled_from(("bracket", "table function", "group by"))))
    on = "w" if "w" in dict(query.stream.columns) else None
    return replace(query, window=replace(window, on=on))


def _tick(query: Query) -> int:
    """The largest tick all times but a few offsets are multiples of, near enough for gaps that matter."""
    times = sorted({r["ts"] for r in query.stream.rows if r["ts"] is not None})  # type: ignore[type-var]
    steps = [b - a for a, b in itertools.pairwise(times)]  # type: ignore[operator]
    widest = max((s for s in steps if s < FAR), default=1)
    return max(t for t in strategies.TICKS if t <= widest)


@searching
@given(st.data())
def test_sessions_give_what_the_oracle_gives(data: st.DataObject) -> None:
    query = data.draw(session_queries())
    expected = answer(query)
    sizes = data.draw(strategies.splits(len(query.stream.rows)))
    assert_right(query, expected, Ran(query, sizes), sizes)


@searching
@given(st.data())
def test_a_shuffle_within_the_punctuations_gives_the_same_sessions(data: st.DataObject) -> None:
    query = data.draw(session_queries(late=False))
    other = Query(**{**vars(query), "stream": data.draw(strategies.shuffled(query.stream))})
    first, second = Ran(query), Ran(other)
    assert first.late == second.late == []
    assert_right(query, answer(query), first)
    assert_same_bag(second.rows, first.rows, first.columns, show(other, None))


@searching
@given(st.data())
def test_emit_every_shows_the_open_sessions(data: st.DataObject) -> None:
    query = data.draw(session_queries(emit=True))
    sizes = data.draw(strategies.splits(len(query.stream.rows)))
    expected, ran = answer(query), Ran(query, sizes)
    assert_right(query, expected, ran, sizes)
    rows = [row for _, snapshot in expected.snapshots for row in in_columns(snapshot, query.columns)]
    assert_same_bag(ran.provisional, rows, query.columns, show(query, sizes))


EVERY = (
    COUNT,
    Aggregate("count", "x", distinct=True),
    *(Aggregate(f, "x") for f in ("count", "sum", "avg", "min", "max", "var_samp", "stddev_pop", "first", "last")),
)


@slow
@pytest.mark.parametrize("progress", [InOrder(), Watermark(5 * SECOND), Watermark(60 * SECOND), Slack(4)])
def test_every_aggregate_over_sessions_and_null_keys(progress: InOrder | Watermark | Slack) -> None:
    some = [((None, "a", "b")[i % 3], None if i % 5 == 0 else float(i % 7), (i * 7) % 31 + i) for i in range(60)]
    rows = stream(some, "k STRING, x DOUBLE, ts TIMESTAMP", progress)
    for seconds in (2, 7):
        window = gap(seconds * SECOND)
        check(Query(rows, window, EVERY))
        check(Query(rows, window, EVERY, keys=("k",)))
        check(Query(rows, window, EVERY, keys=("k",), where=Compares("x", ">", 1)))
        check(Query(rows, replace(window, partition=("k",)), EVERY, keys=("k",)))
        check(Query(rows, replace(window, partition=("k",)), EVERY, keys=("x",)))


def test_rows_exactly_a_gap_apart_are_in_different_sessions() -> None:
    rows = stream([(0,), (1.999999,), (4,), (5.999999,), (7.999999,)], "ts TIMESTAMP", Watermark(10 * SECOND))
    query = Query(rows, gap(2 * SECOND), (COUNT,))
    assert [r["a0"] for r in answer(query).rows] == [2, 2, 1]
    check(query)


def test_a_row_that_comes_last_can_bridge_two_sessions() -> None:
    rows = stream([("a", 0), ("a", 6), ("b", 3), ("a", 3)], "k STRING, ts TIMESTAMP", Watermark(10 * SECOND))
    query = Query(rows, gap(4 * SECOND), (COUNT, Aggregate("first", "k")), keys=("k",))
    assert sorted(r["a0"] for r in answer(query).rows) == [1, 3]  # type: ignore[type-var]
    check(query)


def test_a_late_row_that_bridges_a_final_and_an_open_session_joins_the_open_one_and_is_listed() -> None:
    rows = stream([(0,), (7,), (3.5,), (20,)], "ts TIMESTAMP", Watermark(2 * SECOND))
    query = Query(rows, gap(4 * SECOND), (COUNT,))
    expected = answer(query)
    assert [(r["window_start"], r["a0"]) for r in expected.rows] == [(0, 1), (3_500_000, 2), (20_000_000, 1)]
    assert [missed for _, _, missed in expected.late] == [1]
    check(query)


def test_what_is_final_is_remembered_over_rows_none_of_which_is_late() -> None:
    """Provisional answers cut a batch in pieces, of which one may hold no late row though the batch does."""
    times = [("a", 0), ("b", 6), ("a", 5), ("b", 7), ("a", 3), ("b", 8), ("b", 20)]
    rows = stream(times, "k STRING, ts TIMESTAMP", InOrder())
    query = Query(rows, gap(4 * SECOND), (COUNT,), keys=("k",), emit_every=SECOND)
    assert [(row["ts"], missed) for row, _, missed in answer(query).late] == [(3_000_000, 1)]
    check(query)


def test_late_rows_that_join_an_open_session_take_it_back_to_final_ones() -> None:
    rows = stream([(0,), (8,), (5,), (2.5,), (20,)], "ts TIMESTAMP", InOrder())
    query = Query(rows, gap(4 * SECOND), (COUNT,))
    expected = answer(query)
    assert [(r["window_start"], r["a0"]) for r in expected.rows] == [(0, 1), (2_500_000, 3), (20_000_000, 1)]
    assert [missed for _, _, missed in expected.late] == [1]
    check(query)


def test_a_late_row_near_none_starts_its_own_session_if_that_would_still_be_open() -> None:
    rows = stream([(0,), (20,), (17,), (14,)], "ts TIMESTAMP", Watermark(2 * SECOND))
    query = Query(rows, gap(2 * SECOND), (COUNT,))
    expected = answer(query)
    assert [r["window_start"] for r in expected.rows] == [0, 20_000_000, 17_000_000]
    assert [row["ts"] for row, _, _ in expected.late] == [14_000_000]  # its own would be over at 16; 18 was said
    check(query)


@slow
def test_a_late_row_between_others_of_its_batch_finds_what_was_final_when_it_came() -> None:
    times = [10, 30, 12, 26, 50, 29, 33, 51, 47, 12, 49, 70, 52, 69]
    for progress in (InOrder(), Watermark(3 * SECOND), Slack(2)):
        rows = stream([("ab"[i % 2], t) for i, t in enumerate(times)], "k STRING, ts TIMESTAMP", progress)
        for seconds in (1, 3, 5, 20):
            check(Query(rows, gap(seconds * SECOND), (COUNT,), keys=("k",)))
            check(Query(rows, gap(seconds * SECOND), (COUNT,)))


def test_sessions_close_by_punctuations_in_the_stream() -> None:
    rows = [("a", 1, None), (None, None, 5), ("b", 7, None), ("a", 3, None), (None, None, 30), ("a", 29, None)]
    made = stream(rows, "k STRING, ts TIMESTAMP, p TIMESTAMP", PunctuationColumn("p"))
    check(Query(made, gap(4 * SECOND), (COUNT,), keys=("k",)))
    check(Query(made, gap(4 * SECOND), (COUNT,)))


def test_a_year_without_rows_costs_nothing() -> None:
    rows = stream([("a", 0), ("a", 365 * 86_400)], "k STRING, ts TIMESTAMP")
    check(Query(rows, gap(1), (COUNT,), keys=("k",)))


def test_no_row_at_all_gives_no_session() -> None:
    check(Query(stream([], "k STRING, ts TIMESTAMP"), gap(5), (COUNT,)))
    check(Query(stream([], "k STRING, ts TIMESTAMP"), gap(5), (COUNT,), keys=("k",)))


def test_nothing_is_held_when_the_input_has_ended() -> None:
    session = Session({"rows": [{"k": i % 3, "at": i * i} for i in range(50)]})
    session.execute("CREATE STREAM s (k INT, at BIGINT) ORDER BY at SOURCE 'python://rows'")
    (query,) = session.execute("SELECT k, count(*) AS n FROM s [SESSION 20 MICROSECONDS] GROUP BY k")
    query.wait(200)
    assert query.status == "finished" and query.stats["state_bytes"] == 0
    assert sum(query.to_polars()["n"]) == 50
    session.close()


def test_a_sum_beyond_bigint_is_left_out_and_told_of() -> None:
    session = Session({"rows": [{"n": 2**62, "at": 1}, {"n": 2**62, "at": 2}, {"n": 5, "at": 30}, {"n": 6, "at": 31}]})
    session.execute("CREATE STREAM s (n BIGINT, at BIGINT) ORDER BY at SOURCE 'python://rows'")
    (query,) = session.execute("SELECT sum(n) AS total FROM s [SESSION 10 MICROSECONDS]")
    query.wait(200)
    assert query.to_polars().rows() == [(30, 41, 11)]
    assert query.errors.height == 1
    session.close()


def test_sessions_of_sessions_close_as_they_go() -> None:
    session = Session({"rows": [{"k": i % 2, "at": t} for i, t in enumerate([1, 2, 3, 20, 21, 50, 51, 90])]})
    session.execute("CREATE STREAM s (k INT, at BIGINT) ORDER BY at SOURCE 'python://rows'")
    (query,) = session.execute(
        "SELECT sum(n) AS n FROM (SELECT k, count(*) AS n FROM s [SESSION 5 MICROSECONDS] GROUP BY k)"
        " [RANGE 40 MICROSECONDS TUMBLING]"
    )
    query.wait(200)
    assert query.to_polars().rows() == [(0, 40, 5), (40, 80, 2), (80, 120, 1)]
    session.close()
