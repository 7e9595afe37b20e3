"""Rows judged, and keys worked out, by a second thread while those before are joined: the same answers as without."""

from __future__ import annotations

import threading

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from jupyter_stream import Query, Session
from jupyter_stream.core.messages import Batch
from jupyter_stream.engine import feed
from jupyter_stream.joins.window_join import WindowJoin
from tests.engine.live import go_side_by_side
from tests.tiers import thinned

ROWS = 90_000
NEVER = 1 << 60


def rows(seed: int, late: float = 0.0, nulls: float = 0.0, wide: bool = False) -> pl.DataFrame:
    """Out of order by at most 50 ms, but for those that are late; keys of three columns, whose range grows if `wide`."""
    rng = np.random.default_rng([5, seed])
    ts = np.arange(ROWS) * 100 - rng.integers(0, 50_000, ROWS)
    ts -= np.where(rng.random(ROWS) < late, 200_000, 0)
    key = rng.integers(0, 60, ROWS) + (np.arange(ROWS) // 30_000 * (1 << 40) if wide else 0)
    return pl.DataFrame(
        {
            "ts": ts,
            "a": pl.Series(key).set(pl.Series(rng.random(ROWS) < nulls), None),
            "b": rng.integers(0, 9, ROWS),
            "c": rng.integers(0, 9, ROWS),
            "n": np.arange(ROWS),
        }
    )


def answer(sql: str, **frames: pl.DataFrame) -> tuple[pl.DataFrame, tuple[int, int], pl.DataFrame]:
    """The rows of the answer in order of their values, how many were late and how many failed, and the late ones."""
    with Session(frames) as session:
        for name in frames:
            session.execute(
                f"CREATE STREAM {name} (ts BIGINT, a BIGINT, b BIGINT, c BIGINT, n BIGINT, "
                f"WATERMARK FOR ts AS ts - 50000) SOURCE 'frame://{name}'"
            )
        (query,) = session.execute(sql, keep=10_000_000, paused=True)
        assert isinstance(query, Query)
        go_side_by_side(query, 2 * ROWS)
        assert query.wait(timeout=200)
        assert query.snapshot(0).error is None
        found = query.to_polars()
        late = query.late
        return found.sort(found.columns), (query.stats["late"], query.stats["bad"]), late.sort(late.columns)


SAME = "l.a = r.a AND l.b = r.b AND l.c = r.c"


def within(kind: str, length: str, on: str) -> str:
    """A join of both, each with a window of that length."""
    return f"l.n, r.n AS m FROM l [RANGE {length}] {kind} r [RANGE {length}] {on}"


@pytest.mark.parametrize(
    ("select", "late", "nulls", "wide"),
    thinned(
        [
            (within("JOIN", "20 MILLISECONDS", f"ON {SAME}"), 0, 0, True),
            (within("LEFT JOIN", "9 MILLISECONDS", "ON l.a = r.a AND l.b = r.b"), 0.01, 0.01, False),
            (f"l.n, r.n AS m FROM l, r [RANGE 10 MILLISECONDS TUMBLING] WHERE {SAME}", 0.001, 0, False),
            (within("JOIN", "9 SECONDS", "ON 1 / (l.n - 77777) = 1 / r.n"), 0, 0, False),
        ],
        3,
    ),
)
def test_rows_judged_ahead_give_the_same_answer(
    select: str, late: float, nulls: float, wide: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    frames = {"l": rows(1, late, nulls, wide), "r": rows(2, late, nulls, wide)}
    sql = f"SELECT {select}"
    seen: list[tuple[str, int]] = []
    inner = WindowJoin.foresee

    def foresee(self: WindowJoin, port: int, batch: Batch) -> None:
        seen.append((threading.current_thread().name, batch.rows))
        inner(self, port, batch)

    monkeypatch.setattr(WindowJoin, "foresee", foresee)
    found, counts, missed = answer(sql, **frames)
    assert sum(rows for _, rows in seen) > ROWS
    assert all("beside" in name for name, _ in seen)
    monkeypatch.setattr(feed, "_WORTH", NEVER)
    seen.clear()
    expected, counted, listed = answer(sql, **frames)
    assert not seen
    assert found.height > 50
    assert_frame_equal(found, expected)
    assert counts == counted
    assert (counts[0] > 0) == (late > 0)
    assert (counts[1] > 0) == ("1 /" in select)
    assert_frame_equal(missed, listed)
