"""Window functions by any order against brute force, at every instant of a relation and in each extent; and against DuckDB."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import duckdb
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream import QueryError, Session
from tests.oracle import axis
from tests.oracle.frames import Frame, Key, Row, dense_rank, neighbour, ntile, over, rank
from tests.oracle.search import searching
from tests.relations.test_oracle_sets import Both, Leaf, arrivals, instants_of, session_over, trees
from tests.relations.test_oracle_top import Rows
from tests.tiers import only

pytestmark = pytest.mark.timeout(900)  # many small queries; a busy machine is no failure

SLIDING = "[RANGE 10 MICROSECONDS SLIDE 5 MICROSECONDS]"
ends = st.tuples(st.none() | st.integers(-2, 2), st.none() | st.integers(-2, 2)).filter(
    lambda e: (e[0] or 0) <= (e[1] or 0) or None in e
)
frames = st.builds(lambda unit, e: Frame(unit, *e), st.sampled_from(["ROWS", "RANGE", "GROUPS"]), ends)
keys = st.builds(Key, st.just("n"), st.booleans(), st.booleans())
Made = Callable[[list[Row], int], Any]


def function_of(name: str, key: Key, frame: Frame) -> tuple[str, str, Made]:
    """The call, the frame written behind the order, and what it makes."""

    def valued(part: list[Row], at: int) -> list[Any]:
        return [row["n"] for row in frame.rows(part, at, [key])]

    def known(part: list[Row], at: int) -> list[Any]:
        return [v for v in valued(part, at) if v is not None]

    return {
        "rank": ("rank()", "", lambda part, at: rank(part, at, [key])),
        "dense": ("dense_rank()", "", lambda part, at: dense_rank(part, at, [key])),
        "ntile": ("ntile(3)", "", lambda part, at: ntile(part, at, 3)),
        "lead": ("lead(k, 1, 'z')", "", lambda part, at: neighbour(part, at, "k", 1, "z")),
        "lag": ("lag(n, 2)", "", lambda part, at: neighbour(part, at, "n", -2)),
        "sum": ("sum(n)", frame.sql(), lambda part, at: sum(known(part, at)) if known(part, at) else None),
        "count": ("count(*)", frame.sql(), lambda part, at: len(valued(part, at))),
        "max": ("max(n)", frame.sql(), lambda part, at: max(known(part, at), default=None)),
        "first": ("first_value(n)", frame.sql(), lambda part, at: next(iter(valued(part, at)), None)),
        "last": ("last_value(n)", frame.sql(), lambda part, at: next(reversed(valued(part, at)), None)),
        "second": ("nth_value(n, 2)", frame.sql(), lambda part, at: next(iter(valued(part, at)[1:]), None)),
        "distinct": ("count(DISTINCT n)", frame.sql(), lambda part, at: len(set(known(part, at)))),
    }[name]


NAMES = ("rank", "dense", "ntile", "lead", "lag", "sum", "count", "max", "first", "last", "second", "distinct")


@searching
@given(
    trees,
    arrivals(both=True),
    arrivals(both=True),
    st.lists(st.integers(1, 5), max_size=8),
    st.sampled_from(NAMES),
    keys,
    frames,
    st.booleans(),
)
def test_they_are_right_at_every_instant(
    plan: Leaf | Both, s: Rows, t: Rows, pieces: list[int], name: str, key: Key, frame: Frame, by_k: bool
) -> None:
    rows = {"s": s, "t": t}
    call, written, made = function_of(name, key, frame)
    query = (
        f"SELECT k, n, {call} OVER ({'PARTITION BY k ' * by_k}ORDER BY {key.sql()} {written}) AS w FROM ({plan.sql()})"
    )
    with session_over(rows, pieces) as session:
        (live,) = session.execute(query)
        assert live.wait(200), query
        got = Counter(live.changes().select("k", "n", "w", "op", "at").rows())
    expected: Counter[tuple] = Counter()
    before: Counter[tuple] = Counter()
    for instant in instants_of(plan, rows):
        held = [{"k": k, "n": n} for k, n in plan.at(instant, rows).elements()]
        now = Counter((*row.values(), w) for row, w in over(held, ["k"] * by_k, [key], made))
        for row, count in (now - before).items():
            expected[*row, 1, instant] += count
        for row, count in (before - now).items():
            expected[*row, -1, instant] += count
        before = now
    assert got == expected, query


@searching
@given(
    arrivals(),
    st.lists(st.integers(1, 5), max_size=8),
    st.sampled_from(NAMES),
    keys,
    frames,
    st.booleans(),
    st.booleans(),
)
def test_they_are_right_in_each_extent(
    s: Rows, pieces: list[int], name: str, key: Key, frame: Frame, every: bool, aggregated: bool
) -> None:
    call, written, made = function_of(name, key, frame)
    if aggregated:
        call, key = re.sub(r"\bn\b", "count(*)", call), Key("count(*)", key.descending)
        query = (
            f"SELECT k, count(*) AS n, {call} OVER (ORDER BY {key.sql()} {written}) AS w FROM s {SLIDING} GROUP BY k"
        )
        call, written, made = function_of(name, Key("n", key.descending), frame)
        key = Key("n", key.descending)
    else:
        query = f"SELECT k, n, {call} OVER (PARTITION BY k ORDER BY {key.sql()} {written}) AS w FROM s {SLIDING}"
    with session_over({"s": s}, pieces) as session:
        (answers,) = session.execute(query + " EMIT EVERY 7 MICROSECONDS" * every)
        assert answers.wait(200), query
        got = Counter(answers.to_polars().select("window_end", "k", "n", "w").rows())
    expected: Counter[tuple] = Counter()
    for end in axis.ends(s, 10, 5):
        held = [{"k": k, "n": n} for k, n, ts in s if end - 10 <= ts < end]
        if aggregated:
            held = [{"k": k, "n": n} for k, n in Counter(row["k"] for row in held).items()]
        expected.update((end, *r.values(), w) for r, w in over(held, [] if aggregated else ["k"], [key], made))
    assert got == expected, query


# -- tables, against DuckDB

CALLS = (
    "rank()", "dense_rank()", "percent_rank()", "cume_dist()", "ntile(3)", "row_number()", "lead(x)", "lag(y, 2)",
    "lead(k, 1, 'none')", "lag(x IGNORE NULLS)", "lead(x, 2 IGNORE NULLS)", "first_value(x {})", "last_value(y {})",
    "nth_value(x, 2 {})",
    "sum(x)", "avg(y)", "min(k)", "max(x)", "count(*)", "count(x)", "count(DISTINCT x)", "sum(x) FILTER (WHERE y > 1)",
    "array_agg(x) FILTER (WHERE x IS NOT NULL)", "median(y)", "stddev_samp(x)", "string_agg(k, '+')",
)  # fmt: skip
FRAMES = (
    "", "ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING", "ROWS UNBOUNDED PRECEDING",
    "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
    "ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING", "RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING", "RANGE CURRENT ROW",
    "GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING", "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
    "RANGE BETWEEN 2 FOLLOWING AND UNBOUNDED FOLLOWING", "ROWS 2 PRECEDING",
)  # fmt: skip


def drawn_over(chance: random.Random) -> str:
    """What stands behind OVER: the order always ends in a column without ties where a call minds them."""
    frame = chance.choice(FRAMES)
    by = chance.choice(("", "PARTITION BY k ", "PARTITION BY k, x % 2 "))
    direction = chance.choice(("", " DESC")) + chance.choice((" NULLS FIRST", " NULLS LAST"))
    key = chance.choice(("id", "id + 0"))
    if frame.startswith("RANGE") or (not frame and chance.random() < 0.3):
        key = chance.choice(("x", "id"))
    elif chance.random() < 0.5:
        key = f"{chance.choice(('x', 'y', 'k'))}{direction}, id"
    return f"({by}ORDER BY {key}{direction} {frame})"


@pytest.mark.parametrize("seed", only(range(4), 0))
def test_tables_get_duckdbs_answers(seed: int) -> None:
    chance = random.Random(seed)
    rows = [
        (
            i,
            chance.choice(["a", "b", "c", None]),
            chance.choice([*range(5), None]),
            chance.choice([0.5, 1.5, 2.25, None]),
        )
        for i in range(40)
    ]
    frame = pl.DataFrame(rows, schema={"id": pl.Int64, "k": pl.String, "x": pl.Int64, "y": pl.Float64}, orient="row")
    with Session({"frame": frame}) as session, duckdb.connect() as other:
        session.execute("CREATE TABLE t (id BIGINT, k STRING, x BIGINT, y DOUBLE) SOURCE 'frame://frame'")
        other.execute("CREATE TABLE t AS SELECT * FROM frame")
        for _ in range(12):
            calls = []
            for _ in range(3):
                call = chance.choice(CALLS).format(chance.choice(("", "IGNORE NULLS")))
                window = drawn_over(chance)
                minds = "ORDER BY x" in window and ", id" not in window
                if minds and not call.startswith(
                    ("rank", "dense", "percent", "cume", "sum", "avg", "min", "max", "count")
                ):
                    window = window.replace("ORDER BY x", "ORDER BY id")
                if call.startswith("row_number"):  # it takes no frame
                    window = re.sub(r" (ROWS|RANGE|GROUPS) .*", ")", window)
                calls.append(f"{call} OVER {window}")
            text = ", ".join(f"{call} AS c{i}" for i, call in enumerate(calls))
            query = f"SELECT id, {text} FROM t"
            (mine,) = session.execute(query)
            assert mine.wait(200)
            got = sorted(map(close, mine.to_polars().rows()))
            lists = [i for i, call in enumerate(calls, 1) if call.startswith("array_agg")]
            theirs = [with_lists(row, lists) for row in other.execute(query).fetchall()]
            assert got == sorted(map(close, theirs)), query


def with_lists(row: tuple, lists: list[int]) -> tuple:
    """A row with empty lists, as in Spark, where DuckDB's are NULL as there is no value."""
    return tuple([] if i in lists and v is None else v for i, v in enumerate(row))


def close(row: tuple) -> tuple:
    return tuple(round(v, 9) if isinstance(v, float) else v for v in row)


# -- mistakes


@pytest.mark.parametrize(
    ("query", "message", "column"),
    [
        ("SELECT rank(k) OVER (ORDER BY n) FROM s", "rank takes no argument", 13),
        ("SELECT ntile(0) OVER (ORDER BY n) FROM s",
         "this argument of ntile must be a constant, a whole number of at least 1", 14),
        ("SELECT nth_value(n) OVER (ORDER BY n) FROM s", "nth_value doesn't take these arguments", 8),
        ("SELECT sum(n) OVER (ORDER BY k RANGE 2 PRECEDING) FROM s",
         "a RANGE with a distance needs an ORDER BY key that is a number or a time", 38),
        ("SELECT sum(n) OVER (ORDER BY n RANGE BETWEEN INTERVAL 1 DAY PRECEDING AND CURRENT ROW) FROM s",
         "this RANGE takes a number that isn't negative, as its ORDER BY key is one", 46),
        ("SELECT sum(n) OVER (ORDER BY n, k RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM s",
         "a RANGE with a distance needs one ORDER BY key", 49),
        ("SELECT sum(n) OVER (ORDER BY n ROWS BETWEEN 1 FOLLOWING AND CURRENT ROW) FROM s",
         "this frame ends before it begins", 45),
        ("SELECT sum(n) OVER (ORDER BY n ROWS BETWEEN UNBOUNDED FOLLOWING AND CURRENT ROW) FROM s",
         "a frame can't begin with UNBOUNDED FOLLOWING", 45),
        ("SELECT sum(n) OVER (ORDER BY n ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE TIES) FROM s",
         "EXCLUDE of a frame isn't available in this version", 73),
        ("SELECT sum(n) OVER (PARTITION BY k GROUPS 1 PRECEDING) FROM s", "GROUPS needs ORDER BY", 36),
        ("SELECT rank() OVER (ORDER BY z) FROM s", "there is no column called z", 30),
        ("SELECT lead(n) OVER (PARTITION BY k ORDER BY ts) FROM s",
         "lead looks at later rows, which a stream without an end doesn't have yet", 8),
        ("SELECT sum(n) OVER (ORDER BY ts ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM s",
         "FOLLOWING looks at later rows, which a stream without an end doesn't have yet", 62),
        ("SELECT rank() FROM s", "rank needs OVER", 8),
    ],
)  # fmt: skip
def test_mistakes_with_window_functions(query: str, message: str, column: int) -> None:
    with session_over({"s": []}, []) as session, pytest.raises(QueryError) as wrong:
        session.execute(query)
    assert wrong.value.message == message and wrong.value.column == column
