"""Joins on window columns against DuckDB, drawn: streams and windowed aggregates, all kinds of joins, and what is above them."""

from __future__ import annotations

import random
from dataclasses import dataclass

import duckdb
import polars as pl
import pytest

from jupyter_stream import Session
from tests.oracle.compare import assert_same_bag
from tests.tiers import only

LATE = 20
KINDS = ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")


def rows(rng: random.Random, count: int) -> list[tuple[int, int | None, int | None]]:
    """Rows out of order, late by at most so many microseconds: ts, k, v."""
    times = [10 * i + rng.randrange(LATE) for i in range(rng.choice((-3, 0)), count)]
    return [(t, rng.choice((0, 1, 2, None)), rng.choice((1, 2, 3, None))) for t in times]


@dataclass(frozen=True)
class Side:
    """An input of the join, in our SQL and in DuckDB's: n, k, ws, we; and there t, by which its rows progress."""

    ours: str
    theirs: str


def side(rng: random.Random, stream: str) -> Side:
    """A stream, the rows of its extents, aggregates of them, or the greatest of these per extent."""
    slide = rng.choice((20, 30, 40))
    length = slide * rng.choice((1, 1, 2)) - rng.choice((0, 0, 10))
    window = f"[RANGE {length} MICROSECONDS SLIDE {slide} MICROSECONDS]"
    of_extent = f"{stream}, range(-480, 4800, {slide}) AS r(e) WHERE ts >= e - {length} AND ts < e"
    named = "window_start AS ws, window_end AS we"
    kind = rng.choice(("stream", "rows", "groups", "groups", "greatest"))
    if kind == "stream":
        return Side(
            f"(SELECT v AS n, k, ts AS ws, ts AS we FROM {stream})",
            f"(SELECT v AS n, k, ts AS ws, ts AS we, ts AS t FROM {stream})",
        )
    if kind == "rows":
        return Side(
            f"(SELECT v AS n, k, {named} FROM {stream} {window})",
            f"(SELECT v AS n, k, e - {length} AS ws, e AS we, e - 1 AS t FROM {of_extent})",
        )
    groups = Side(
        f"(SELECT count(*) AS n, k, {named} FROM {stream} {window} GROUP BY k)",
        f"(SELECT count(*) AS n, k, e - {length} AS ws, e AS we, e - 1 AS t FROM {of_extent} GROUP BY k, e)",
    )
    if kind == "groups":
        return groups
    by = rng.choice(("we, ws", "we, ws, k"))
    return Side(
        f"(SELECT max(n) AS n, max(k) AS k, ws, we FROM {groups.ours} GROUP BY {by})",
        f"(SELECT max(n) AS n, max(k) AS k, ws, we, we - 1 AS t FROM {groups.theirs} GROUP BY {by})",
    )


def condition(rng: random.Random, keyed: bool) -> str:
    """What is asked of the windows, and perhaps more."""
    parts = [
        rng.choice(
            (
                "x.we = y.we",
                "x.ws = y.ws AND x.we = y.we",
                "x.we BETWEEN y.ws AND y.we",
                "x.ws >= y.ws AND x.we <= y.we AND y.we - x.we < 60",
                "x.we = y.ws",
                "y.we BETWEEN x.we - 25 AND x.we",
            )
        )
    ]
    if keyed or rng.random() < 0.5:
        parts.append("x.k = y.k")
    if rng.random() < 0.4:
        parts.append("x.n >= y.n")
    rng.shuffle(parts)
    return " AND ".join(parts)


def selects(rng: random.Random) -> tuple[str, str]:
    """A query in our SQL and in DuckDB's."""
    x, y, kind = side(rng, "a"), side(rng, "b"), rng.choice(KINDS)
    alone = kind in ("LEFT SEMI JOIN", "LEFT ANTI JOIN")
    on = condition(
        rng, keyed=kind.split()[0] in ("RIGHT", "FULL") or kind == "LEFT JOIN"
    )  # DuckDB 2.0 is wrong without
    columns = "x.we AS xe, x.k AS xk, x.n AS xn" + ("" if alone else ", y.we AS ye, y.k AS yk, y.n AS yn")
    ours = f"SELECT {columns} FROM {x.ours} x {kind} {y.ours} y ON {on}"
    time = "x.t" if alone else "greatest(x.t, y.t)"  # which leaves NULLs out
    theirs = f"SELECT {columns}, {time} AS t FROM {x.theirs} x {kind} {y.theirs} y ON {on}"
    if alone:
        exists = "EXISTS" if "SEMI" in kind else "NOT EXISTS"
        theirs = f"SELECT {columns}, x.t FROM {x.theirs} x WHERE {exists} (SELECT 1 FROM {y.theirs} y WHERE {on})"
    above = rng.random()
    if above < 0.3:
        ours = f"SELECT window_end AS e, count(*) AS c, sum(xn) AS s FROM ({ours}) [RANGE 120 MICROSECONDS TUMBLING] GROUP BY xk"
        bucket = "CAST(floor(t / 120.0) * 120 + 120 AS BIGINT)"
        theirs = (
            f"SELECT {bucket} AS s0, {bucket} AS e, count(*) AS c, sum(xn) AS s FROM ({theirs}) GROUP BY xk, {bucket}"
        )
        theirs = f"SELECT e - 120, e, c, s FROM ({theirs})"
    else:
        theirs = f"SELECT * EXCLUDE (t) FROM ({theirs})"
    return ours, theirs


def answer(session: Session, query: str) -> pl.DataFrame:
    """Its rows."""
    (handle,) = session.execute(query)
    assert handle.wait(200)
    assert handle.status == "finished", handle.snapshot().error
    assert all(t["bytes"] < 100_000 for t in handle.stats["operators"])
    return handle.to_polars()


@pytest.mark.parametrize("seed", only(range(6), 0))
def test_joins_on_window_columns_give_what_duckdb_gives(seed: int) -> None:
    rng = random.Random(seed)
    frames = {
        name: pl.DataFrame(rows(rng, 40), {"ts": pl.Int64, "k": pl.Int64, "v": pl.Int64}, orient="row") for name in "ab"
    }
    pieces = {name: [f[i : i + 7] for i in range(0, f.height, 7)] for name, f in frames.items()}
    pairs = 0
    with Session({n: (lambda p=p: iter(p)) for n, p in pieces.items()}) as session, duckdb.connect() as theirs:
        for name, frame in frames.items():
            session.execute(
                f"CREATE STREAM {name} (ts BIGINT, k BIGINT, v BIGINT, WATERMARK FOR ts AS ts - {LATE}) SOURCE 'python://{name}'"
            )
            theirs.register(name, frame.to_arrow())
        for _ in range(8):
            one, other = selects(rng)
            found = answer(session, one)
            expected = theirs.sql(other).fetchall()
            assert_same_bag(found.rows(), expected, found.columns, one)
            pairs += len(expected)
    assert pairs > 50
