"""What both inputs of a join promise of a key, the join promises of its pairs: state above it goes key by key."""

from __future__ import annotations

from collections import Counter
from unittest.mock import patch

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream import Query, Session
from jupyter_stream.engine import feed
from jupyter_stream.joins.window_join import WindowJoin
from tests.engine.live import Live
from tests.oracle import axis
from tests.oracle.search import searching
from tests.tiers import slow

pytestmark = pytest.mark.timeout(900)

SCHEMA = {"k": pl.Int64, "x": pl.Int64, "ts": pl.Int64, "p": pl.Int64}
DECLARED = (
    "CREATE STREAM {0} (k BIGINT, x BIGINT, ts BIGINT, p BIGINT) ORDER BY ts SOURCE '{1}{0}'"
    " WITH (punctuation = 'p', punctuation_key = 'k')"
)
NEVER = 2**62
"""A promise that no row of a key will come any more."""
THREE = """SELECT a.k, a.x, b.x AS y, c.x AS z FROM a [RANGE 1 HOUR] JOIN b [RANGE 1 HOUR] ON a.k = b.k
           JOIN c [RANGE 1 HOUR] ON a.k = c.k"""
COUNTS = """SELECT k, count(*) AS n FROM (SELECT a.k AS k FROM a [RANGE 6 MICROSECONDS] JOIN b [RANGE 6 MICROSECONDS]
            ON a.k = b.k) [RANGE 4 MICROSECONDS TUMBLING] GROUP BY k"""


def joins(query: Query) -> list[WindowJoin]:
    """The joins of a query, the upper one last."""
    return [s.operator for s in query._pipeline.graph.steps if isinstance(s.operator, WindowJoin)]


def over(key: int) -> tuple[object, ...]:
    """The row that says a key is over."""
    return key, None, None, NEVER


def test_a_join_above_lets_go_of_a_key_that_both_inputs_below_say_is_over() -> None:
    with Live(dict.fromkeys("abc", SCHEMA)) as live:
        for name in "abc":
            live.session.execute(DECLARED.format(name, "python://"))
        (query,) = live.session.execute(THREE)
        assert isinstance(query, Query)
        for name in "abc":
            live.say(query, name, *((k, k, 10 + k, None) for k in range(20)))
        assert "keys" not in joins(query)[1].synopses[-1].extra  # nobody is told
        below, above = (operator.synopses for operator in joins(query))
        assert above[1].extra["rows"] == 20
        held = above[1].bytes
        live.say(query, "a", *(over(k) for k in range(15)))
        assert (
            above[1].extra["rows"] == 20 and below[1].extra["rows"] == 5
        )  # rows of b to come would still find theirs of c
        assert below[2].extra["keys"] == 15
        live.say(query, "b", *(over(k) for k in range(5, 20)))
        assert above[1].extra["rows"] == 10 and above[1].bytes < held
        assert below[2].extra["keys"] == 10  # those that one of them has said is over
        live.say(query, "c", (7, 1, 40, None), (1, 1, 41, None))
        live.end(query)
        assert sorted(query.to_polars().rows()) == sorted(
            [*((k, k, k, k) for k in range(20)), (7, 7, 7, 1), (1, 1, 1, 1)]
        )
        assert all(t.bytes == 0 for t in (*below, *above))


def test_a_window_above_a_join_is_final_for_a_key_that_both_inputs_have_passed() -> None:
    with Live(dict.fromkeys("ab", SCHEMA)) as live:
        for name in "ab":
            live.session.execute(DECLARED.format(name, "python://"))
        (query,) = live.session.execute(COUNTS)
        assert isinstance(query, Query)
        for name in "ab":
            live.say(query, name, (1, 0, 1, None), (2, 0, 2, None), (2, 0, 9, None))
        live.say(query, "a", over(1), (2, None, None, 8))
        assert not query.to_polars().height
        live.say(query, "b", over(1), (2, None, None, 5))
        assert sorted(query.to_polars().rows()) == [(0, 4, 1, 1), (0, 4, 2, 1)]
        live.end(query)
        assert sorted(query.to_polars().rows()) == [(0, 4, 1, 1), (0, 4, 2, 1), (8, 12, 2, 1)]


@st.composite
def streams(draw: st.DrawFn) -> list[tuple[object, ...]]:
    """Rows in any order, and true promises of keys and of all between them."""
    rows = draw(st.lists(st.tuples(st.integers(0, 3), axis.times(20)), max_size=14))
    least = draw(axis.base) - 1
    found: list[tuple[object, ...]] = []
    for i, (key, at) in enumerate(rows):
        found.append((key, i, at, None))
        for k in draw(st.sets(st.none() | st.integers(0, 3), max_size=2)):
            rest = [t for other, t in rows[i + 1 :] if k is None or other == k]
            found.append((k, None, None, draw(st.integers(least, min(rest, default=NEVER)))))
    return found


def pairs(*inputs: list[tuple[object, ...]]) -> list[list[tuple[int, int, int]]]:
    """Rows of the inputs without the promises: key, value, time."""
    return [[(k, x, t) for k, x, t, p in rows if p is None] for rows in inputs]  # type: ignore[misc]


@slow
@searching
@given(st.tuples(streams(), streams(), streams()), st.integers(1, 5))
def test_joint_promises_change_no_answer(inputs: tuple[list[tuple[object, ...]], ...], size: int) -> None:
    def made(rows: list[tuple[object, ...]]) -> object:
        return lambda: pl.DataFrame(rows, SCHEMA, orient="row").iter_slices(size)

    lefts, rights, thirds = pairs(*inputs)
    met = [(k, max(t, u)) for k, _, t in lefts for other, _, u in rights if k == other and abs(t - u) < 6]
    counts = Counter((at // 4 * 4, at // 4 * 4 + 4, k) for k, at in met)
    three = [(k, x, y, z) for k, x, _ in lefts for m, y, _ in rights if k == m for n, z, _ in thirds if k == n]
    with Session(dict(zip("abc", map(made, inputs), strict=True))) as session, patch.object(feed, "BATCH_ROWS", 0):
        for name in "abc":
            session.execute(DECLARED.format(name, "python://"))
        one, other = (q for q in session.execute(f"{COUNTS};{THREE}") if isinstance(q, Query))
        assert one.wait(200) and other.wait(200)
        assert sorted(one.to_polars().rows()) == sorted((*extent, n) for extent, n in counts.items())
        assert sorted(other.to_polars().rows()) == sorted(three)
        assert all(t.bytes == 0 for j in joins(other) for t in j.synopses)


ORDERED = "CREATE STREAM {0} (k BIGINT, x BIGINT, ts BIGINT, WATERMARK FOR ts AS ts - INTERVAL 3 MICROSECONDS) SOURCE '{1}{0}'"
ON_EITHER = """SELECT count(*) AS n FROM (SELECT a.ts AS one, b.ts AS other FROM a [RANGE 6 MICROSECONDS]
               {kind} JOIN b [RANGE 9 MICROSECONDS] ON a.k = b.k) [RANGE 4 MICROSECONDS TUMBLING ON {time}]"""


@pytest.mark.parametrize(("time", "lag"), [("one", 5), ("other", 8)])
def test_a_window_on_one_time_of_a_joined_row_is_final_when_no_pair_with_it_can_come(time: str, lag: int) -> None:
    schema = {n: SCHEMA[n] for n in ("k", "x", "ts")}
    with Live(dict.fromkeys("ab", schema)) as live:
        for name in "ab":
            live.session.execute(ORDERED.format(name, "python://"))
        (query,) = live.session.execute(ON_EITHER.format(kind="", time=time))
        assert isinstance(query, Query)
        for name in "ab":
            live.say(
                query,
                name,
                (
                    1,
                    0,
                    1,
                ),
                (1, 0, 4 + lag + 2),
            )  # all before 3 + lag have come
        assert not query.to_polars().height
        for name in "ab":
            live.say(query, name, (1, 0, 4 + lag + 3))
        assert query.to_polars().rows() == [(0, 4, 1)]
        live.end(query)
        assert query.to_polars().get_column("n").sum() > 1


@pytest.mark.parametrize(("time", "slow", "fast"), [("one", "a", "b"), ("other", "b", "a")])
def test_a_time_is_held_back_by_its_own_stream_alone_where_the_other_is_far_ahead(
    time: str, slow: str, fast: str
) -> None:
    schema = {n: SCHEMA[n] for n in ("k", "x", "ts")}
    with Live(dict.fromkeys("ab", schema)) as live:
        for name in "ab":
            live.session.execute(ORDERED.format(name, "python://"))
        (query,) = live.session.execute(ON_EITHER.format(kind="", time=time))
        assert isinstance(query, Query)
        live.say(query, fast, (1, 0, 1), (1, 0, 100))
        live.say(query, slow, (1, 0, 1), (1, 0, 6))
        assert not query.to_polars().height  # a row of 3 may come
        live.say(query, slow, (1, 0, 7))
        assert query.to_polars().rows() == [(0, 4, 1)]
        live.end(query)
        assert not len(query.late)


DISORDERED = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), max_size=14)


@searching
@given(
    DISORDERED,
    DISORDERED,
    st.sampled_from(("one", "other")),
    st.sampled_from(("", "LEFT")),
    st.integers(1, 5),
    axis.base,
)
def test_windows_on_either_time_hold_every_pair(
    one: list[tuple[int, int]], two: list[tuple[int, int]], time: str, kind: str, size: int, base: int
) -> None:
    kind = kind if time == "one" else ""  # a padded row has no other time
    inputs = [[(k, i, base + max(0, 2 * i - late)) for i, (k, late) in enumerate(rows)] for rows in (one, two)]
    schema = {n: SCHEMA[n] for n in ("k", "x", "ts")}
    frames = [pl.DataFrame(rows, schema, orient="row") for rows in inputs]
    met = [(t, u) for k, _, t in inputs[0] for m, _, u in inputs[1] if k == m and t - 9 < u < t + 6]
    if kind:
        met += [(t, t) for k, _, t in inputs[0] if not any(k == m and t - 9 < u < t + 6 for m, _, u in inputs[1])]
    at = Counter((t if time == "one" else u) // 4 * 4 for t, u in met)
    # an extent without rows between others is 0
    expected = [(e, e + 4, at[e]) for e in range(min(at, default=0), max(at, default=-1) + 1, 4)]
    made = {n: (lambda f=f: f.iter_slices(size)) for n, f in zip("ab", frames, strict=True)}
    with Session(made) as session, patch.object(feed, "BATCH_ROWS", 0):
        for name in "ab":
            session.execute(ORDERED.format(name, "python://"))
        (query,) = session.execute(ON_EITHER.format(kind=kind, time=time))
        assert isinstance(query, Query) and query.wait(200)
        assert query.to_polars().rows() == expected
        assert not len(query.late)


def test_a_row_of_a_tumbling_join_is_let_go_of_and_padded_when_its_extent_closes() -> None:
    schema = {n: SCHEMA[n] for n in ("k", "x", "ts")}
    with Live(dict.fromkeys("ab", schema)) as live:
        for name in "ab":
            live.session.execute(ORDERED.format(name, "python://"))
        (query,) = live.session.execute(
            "SELECT a.x, b.x AS y, window_end FROM a LEFT JOIN b [RANGE 4 MICROSECONDS TUMBLING] ON a.k = b.k"
        )
        assert isinstance(query, Query)
        live.say(query, "a", (1, 0, 3), (1, 1, 4))
        live.say(query, "b", (2, 0, 6))
        assert not query.to_polars().height
        live.say(query, "b", (2, 0, 7))
        assert query.to_polars().rows() == [(0, 0, None, 4)]
        assert joins(query)[0].synopses[0].extra["rows"] == 1
        live.end(query)
        assert sorted(query.to_polars().rows()) == [(0, 0, None, 4), (4, 1, None, 8)]
