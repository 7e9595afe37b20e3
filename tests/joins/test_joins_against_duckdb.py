"""Joins of awkward rows, many of them, against DuckDB: what a window join says of pairs, said as a condition on times."""

from __future__ import annotations

import duckdb
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from jupyter_stream import Session
from jupyter_stream.engine.progress import FAR
from jupyter_stream.syntax.durations import LONGEST
from tests.tiers import only, thinned

SEED = 20
TICK = 1_000


def rows(count: int, hot: float, keys: int, nulls: float, seed: int, late: int = 500, base: int = 0) -> pl.DataFrame:
    """Rows out of order by at most `late` ticks: a key, half of them hot maybe, another that is a string, and a value."""
    rng = np.random.default_rng([SEED, seed])
    ts = (np.arange(count) * 10 - rng.integers(0, late, count)) * TICK + base
    key = np.where(rng.random(count) < hot, 7, rng.integers(0, keys, count))
    return pl.DataFrame(
        {
            "ts": ts,
            "k": pl.Series(key).set(pl.Series(rng.random(count) < nulls), None),
            "s": pl.Series(rng.integers(0, 3, count)).cast(pl.String).set(pl.Series(rng.random(count) < nulls), None),
            "ev": pl.Series(ts + rng.integers(-4_000, 4_000, count) * TICK),
            "v": pl.Series(rng.integers(0, 100, count)).set(pl.Series(rng.random(count) < nulls), None),
        }
    )


def agree(ours: str, theirs: str, batch: int = 3_000, **frames: pl.DataFrame) -> int:
    """Both give the same rows, however many; returns how many."""
    pieces = {n: [f[i : i + batch] for i in range(0, f.height, batch)] or [f] for n, f in frames.items()}
    with Session({n: (lambda p=p: iter(p)) for n, p in pieces.items()}) as session:
        for name in frames:
            session.execute(
                f"CREATE STREAM {name} (ts BIGINT, k BIGINT, s STRING, ev BIGINT, v BIGINT, "
                f"WATERMARK FOR ts AS ts - {500 * TICK}) SOURCE 'python://{name}'"
            )
        (query,) = session.execute(ours, keep=20_000_000)
        assert query.wait(timeout=300)
        assert query.snapshot(0).error is None
        assert query.stats["late"] == 0
        found = query.to_polars()
        assert all(t["bytes"] < 100_000 for t in query.stats["operators"])
    with duckdb.connect() as connection:
        for name, frame in frames.items():
            connection.register(name, frame.to_arrow())
        table = connection.sql(theirs).to_arrow_table()
    columns = [f"c{i}" for i in range(found.width)]
    found.columns = columns
    expected = pl.from_arrow(table.rename_columns(columns))
    assert isinstance(expected, pl.DataFrame)
    expected = expected.cast(dict(found.schema))
    assert_frame_equal(found.sort(columns), expected.sort(columns))
    return found.height


def extent(time: str, length: int) -> str:
    """Where the extent starts and ends that a time is in, as columns."""
    start = f"CAST(floor({time} / {length}) AS BIGINT) * {length}"
    return f"{start} AS starts, {start} + {length} AS ends"


WITHIN = f"a.ts - b.ts < {3_000 * TICK} AND b.ts - a.ts < {1_000 * TICK}"
WINDOWS = f"[RANGE {1_000 * TICK} MICROSECONDS]", f"[RANGE {3_000 * TICK} MICROSECONDS]"
RESIDUAL = "(a.v < b.v OR a.v IS NULL)"


@pytest.mark.parametrize("kind", ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "SEMI JOIN", "ANTI JOIN"])
@pytest.mark.parametrize("key", thinned(["a.s = b.s AND a.k = b.k", "a.k = b.k"], 2))
def test_a_hot_key_with_half_the_rows_and_null_keys(kind: str, key: str) -> None:
    a, b = rows(6_000, 0.5, 900, 0.05, 1), rows(5_000, 0.5, 900, 0.05, 2)
    listed = "a.ts, a.k, a.v" if kind in ("SEMI JOIN", "ANTI JOIN") else "a.ts, a.k, a.v, b.ts, b.k, b.v"
    ours = kind.replace("SEMI", "LEFT SEMI").replace("ANTI", "LEFT ANTI")
    many = agree(
        f"SELECT {listed} FROM a {WINDOWS[0]} {ours} b {WINDOWS[1]} ON {key} AND {RESIDUAL}",
        f"SELECT {listed} FROM a {kind} b ON {key} AND {RESIDUAL} AND {WITHIN}",
        batch=700,
        a=a,
        b=b,
    )
    assert many > 500


ENDS = (500 * TICK - FAR, FAR - 600 * 10 * TICK)
"""Where times begin of which the first, or the last, are at an end of the axis."""
LENGTHS = {"short": (1_000 * TICK, 3_000 * TICK), "longest": (LONGEST - 1, LONGEST - 1)}
"""Microseconds of the windows of both sides: the longest and a time near the end are all that 64 bits hold."""


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("kind", ["FULL JOIN", "ANTI JOIN"])
@pytest.mark.parametrize("bases", [ENDS[:1], ENDS[1:], ENDS], ids=["first", "last", "both"])
def test_near_the_ends_of_time(bases: tuple[int, ...], kind: str, lengths: str) -> None:
    a, b = (pl.concat([rows(300, 0.2, 30, 0.05, seed, base=base) for base in bases]) for seed in (14, 15))
    of_a, of_b = LENGTHS[lengths]
    listed = "a.ts, a.k, a.v" if kind == "ANTI JOIN" else "a.ts, a.k, a.v, b.ts, b.k, b.v"
    joined = f"{kind.replace('ANTI', 'LEFT ANTI')} b [RANGE {of_b} MICROSECONDS]"
    near = f"a.ts::HUGEINT - b.ts < {of_b} AND b.ts::HUGEINT - a.ts < {of_a}"
    agree(
        f"SELECT {listed} FROM a [RANGE {of_a} MICROSECONDS] {joined} ON a.k = b.k",
        f"SELECT {listed} FROM a {kind} b ON a.k = b.k AND {near}",
        batch=90,
        a=a,
        b=b,
    )


@pytest.mark.parametrize("keys", only([1, 40, 100_000], 40))
def test_a_million_open_pairs_of_few_keys_or_of_many(keys: int) -> None:
    """With one key every row has some hundreds of partners; with many most have none."""
    count = 4_000 if keys < 100 else 60_000
    a, b = (rows(count, 0.0, keys, 0.01, i) for i in (3, 4))
    made = agree(
        f"SELECT a.ts, b.ts, a.k FROM a {WINDOWS[0]} JOIN b {WINDOWS[1]} ON a.k = b.k",
        f"SELECT a.ts, b.ts, a.k FROM a JOIN b ON a.k = b.k AND {WITHIN}",
        a=a,
        b=b,
    )
    assert made > (1_000_000 if keys == 1 else 100)


def test_the_same_rows_again_in_later_batches() -> None:
    one, other = (rows(700, 0.3, 50, 0.1, i, late=90) for i in (5, 9))
    frames = {
        n: pl.concat([f[i // 2 : i // 2 + 35] for i in range(0, 1400, 35)]) for n, f in (("a", one), ("b", other))
    }
    agree(
        f"SELECT a.ts, b.ts, a.k FROM a {WINDOWS[0]} JOIN b {WINDOWS[1]} ON a.k = b.k AND a.s = b.s",
        f"SELECT a.ts, b.ts, a.k FROM a JOIN b ON a.k = b.k AND a.s = b.s AND {WITHIN}",
        batch=35,
        **frames,
    )


@pytest.mark.parametrize("kind", ["JOIN", "LEFT JOIN", "FULL JOIN"])
@pytest.mark.parametrize("empty", ["a", "b"])
def test_a_side_without_rows(kind: str, empty: str) -> None:
    frames = {"a": rows(900, 0.1, 20, 0.1, 6), "b": rows(900, 0.1, 20, 0.1, 7)}
    frames[empty] = frames[empty].clear()
    agree(
        f"SELECT a.ts, a.k, b.ts, b.k FROM a {WINDOWS[0]} {kind} b {WINDOWS[1]} ON a.k = b.k",
        f"SELECT a.ts, a.k, b.ts, b.k FROM a {kind} b ON a.k = b.k AND {WITHIN}",
        **frames,
    )


def test_a_stream_joined_with_itself_under_another_window() -> None:
    agree(
        f"SELECT l.ts, r.ts, l.k FROM a {WINDOWS[0]} l JOIN a {WINDOWS[1]} r ON l.k = r.k AND l.v < r.v",
        f"SELECT a.ts, b.ts, a.k FROM a JOIN a b ON a.k = b.k AND a.v < b.v AND {WITHIN}",
        a=rows(3_000, 0.2, 60, 0.1, 8),
    )


def test_five_streams() -> None:
    names = "abcde"
    near = 2_000 * TICK
    listed = ", ".join(f"{n}.ts, {n}.v" for n in names)
    windows = ", ".join(f"{n} [RANGE {near} MICROSECONDS]" for n in names)
    keys = " AND ".join(f"a.k = {n}.k" for n in names[1:])
    times = [f"{n}.ts" for n in names]
    agree(
        f"SELECT {listed} FROM {windows} WHERE {keys}",
        f"SELECT {listed} FROM {', '.join(names)} WHERE {keys} "
        f"AND greatest({', '.join(times)}) - least({', '.join(times)}) < {near}",
        batch=350,
        **{n: rows(800, 0.02, 120, 0.05, 10 + i) for i, n in enumerate(names)},
    )


def test_tumbling_windows_of_keys_far_from_each_other() -> None:
    a, b = (rows(8_000, 0.1, 3_000, 0.02, i).with_columns(pl.col("k") * 10**15) for i in (20, 21))
    length = 4_000 * TICK
    agree(
        f"SELECT a.ts, b.ts, a.k FROM a, b [RANGE {length} MICROSECONDS TUMBLING] WHERE a.k = b.k AND a.ts <= b.ts",
        f"SELECT {extent('a.ts', length)}, a.ts, b.ts, a.k FROM a JOIN b ON a.k = b.k AND a.ts <= b.ts "
        f"AND floor(a.ts / {length}) = floor(b.ts / {length})",
        a=a,
        b=b,
    )


@pytest.mark.parametrize("kind", ["FULL JOIN", "ANTI JOIN"])
@pytest.mark.parametrize(("left", "right"), [("ev", "ev"), ("ev", "ts"), ("ts", "ev")])
def test_windows_on_another_attribute_of_either_side(kind: str, left: str, right: str) -> None:
    listed = "a.ts, a.ev, a.k" if kind == "ANTI JOIN" else "a.ts, a.ev, a.k, b.ts, b.ev, b.k"
    on = ["" if name == "ts" else f" ON {name}" for name in (left, right)]
    lengths = 1_000 * TICK, 3_000 * TICK
    one, other = (f"[RANGE {length} MICROSECONDS{o}]" for length, o in zip(lengths, on, strict=True))
    within = f"a.{left} - b.{right} < {lengths[1]} AND b.{right} - a.{left} < {lengths[0]}"
    made = agree(
        f"SELECT {listed} FROM a {one} {kind.replace('ANTI', 'LEFT ANTI')} b {other} ON a.k = b.k AND {RESIDUAL}",
        f"SELECT {listed} FROM a {kind} b ON a.k = b.k AND {RESIDUAL} AND {within}",
        batch=400,
        a=rows(1_500, 0.1, 40, 0.05, 30),
        b=rows(1_400, 0.1, 40, 0.05, 31),
    )
    assert made > 50


def test_a_tumbling_join_on_another_attribute_and_a_bound_on_it() -> None:
    length = 4_000 * TICK
    agree(
        f"SELECT a.ts, b.ts, a.k FROM a, b [RANGE {length} MICROSECONDS TUMBLING ON ev] "
        "WHERE a.k = b.k AND a.ev <= b.ev AND a.ts > b.ts",
        f"SELECT {extent('a.ev', length)}, a.ts, b.ts, a.k FROM a JOIN b ON a.k = b.k AND a.ev <= b.ev AND a.ts > b.ts "
        f"AND floor(a.ev / {length}) = floor(b.ev / {length})",
        a=rows(1_500, 0.1, 40, 0.05, 32),
        b=rows(1_400, 0.1, 40, 0.05, 33),
    )
