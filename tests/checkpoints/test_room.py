"""What a cut has of arrays with room to spare: the part in use."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from jupyter_stream import Session
from jupyter_stream.checkpoints.arena import Arena
from tests.tiers import slow

STREAM = "CREATE STREAM s (ts TIMESTAMP, k BIGINT, v DOUBLE, WATERMARK FOR ts AS ts) SOURCE 'frame://rows'"
QUERY = "SELECT k, sum(v) AS v, count(*) AS n FROM s [RANGE 20 SECONDS SLIDE 5 SECONDS] GROUP BY k"


@slow
def test_a_cut_has_the_slots_in_use_and_the_query_goes_on_with_more(tmp_path: Path) -> None:
    """Beyond 65,536 keys panes reserve 32 times their slots ahead."""
    keys = np.arange(300_000) % 80_000 + np.arange(300_000) // 200_000 * 80_000  # after the cut there are new ones
    rows = pl.DataFrame({"ts": np.arange(300_000) * 100, "k": keys, "v": np.ones(300_000)})
    rows = rows.with_columns(pl.col("ts").cast(pl.Datetime("us")))
    names = {"rows": rows[:200_000]}
    session = Session(namespace=names)
    session.execute(STREAM)
    [query] = session.execute(QUERY, keep=10**7)
    query.wait()
    session.close()
    for part in (rows[:200_000], rows):
        session = Session(namespace={"rows": part})
        session.execute(STREAM)
        [query] = session.execute(QUERY, keep=10**7, checkpoint=str(tmp_path / "c"))
        query.wait()
        session.close()
    [cut] = (tmp_path / "c").glob("cut-*")
    assert cut.stat().st_size < 100_000_000


def test_copies_stand_side_by_side_and_memory_is_used_again() -> None:
    arena = Arena()
    whole = np.arange(24, dtype=np.int16).reshape(4, 6)
    given = [whole, whole[:, 1:3], np.empty((0, 3)), np.array(7.5), whole.T]
    for _ in range(3):
        arena.begin()
        made = [arena.copy(a) for a in given]
        for copy, array in zip(made, given, strict=True):
            np.testing.assert_array_equal(copy, array)
            assert copy.dtype == array.dtype
            assert not np.shares_memory(copy, array)
        arena.make_ready()
    assert arena.bytes > 0
    arena.begin()
    arena.copy(whole[:1, :1])
    arena.make_ready()
    assert arena.bytes < 200
