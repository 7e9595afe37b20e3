"""A row of the greatest time so far is known, wherever it stands in its batch."""

from __future__ import annotations

import pickle

import numpy as np
import polars as pl
import pytest

from jupyter_stream.core.messages import TS
from jupyter_stream.engine import leaders
from jupyter_stream.engine.leaders import Leaders


@pytest.mark.parametrize("rows", [1, 2, 7, 8, 9, 24, 25])
def test_late_rows_are_counted_by_the_newest_row_before_them(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaders, "_TAIL", 8)
    of = np.random.default_rng(rows)
    for _ in range(30):
        found, newest = Leaders(), -1
        for _ in range(4):
            ts = of.integers(0, 100, rows)
            newest = max(newest, int(ts.max()))
            found.note(pl.DataFrame({TS: ts, "k": [str(t) for t in ts]}), ts, newest, None)
        found.note(pl.DataFrame({TS: [0], "k": ["late"]}), np.array([0]), newest, np.array([True]))
        ((leader, count),) = found.late.items()
        assert (leader.time, leader.texts, count) == (newest, (("k", str(newest)),), 1)


def test_the_newest_row_is_kept_alone_since_checkpoints_keep_it() -> None:
    found, ts = Leaders(), np.arange(100_000)
    found.note(pl.DataFrame({TS: ts, "k": [f"{t}" for t in ts]}), ts, 99_999, None)
    assert len(pickle.dumps(found)) < 10_000
