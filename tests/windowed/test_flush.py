"""Rows are taken while the groups of a large window are answered and let go; the answers are what they would be otherwise."""

from collections.abc import Iterator
from itertools import product

import numpy as np
import polars as pl
import pytest

from jupyter_stream import Query, Session
from jupyter_stream.core import stint
from jupyter_stream.engine import engine
from jupyter_stream.partials import groups
from jupyter_stream.windowed import window_aggregate
from tests.tiers import only

ROWS, WINDOWS, PER_WINDOW = 20_000, 10, 200


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name, size in (
        (engine, "_MEANWHILE", 97),
        (engine, "_LEAST_MEANWHILE", 97),
        (window_aggregate, "_MANY", 8),
        (window_aggregate, "_LEAST", 32),
        (stint, "SECONDS", 0.0),
        (groups, "_CELLS", 64),
        (groups, "_AT_ONCE", 256),
        (groups, "_PIECE", 64),
        (groups, "_NARROWEST", 16),
        (groups, "_LOOKED_AT", 64),
    ):
        monkeypatch.setattr(module, name, size)


@pytest.mark.parametrize(("kind", "slides"), only(product(["BIGINT", "STRING"], [1, 3]), ("STRING", 3)))
def test_ever_new_groups_are_answered_and_let_go_while_rows_come(kind: str, slides: int) -> None:
    rng = np.random.default_rng(5)
    ts = np.arange(ROWS) * PER_WINDOW * WINDOWS // ROWS
    key = pl.Series("k", rng.permutation(ROWS) * 1_000_003)
    rows = pl.DataFrame([pl.Series("ts", ts), key if kind == "BIGINT" else key.cast(pl.String)])

    def batches() -> Iterator[pl.DataFrame]:
        yield from rows.iter_slices(500)

    with Session({"batches": batches}) as session:
        session.execute(f"CREATE STREAM s (ts BIGINT, k {kind}) ORDER BY ts SOURCE 'python://batches'")
        window = f"[RANGE {PER_WINDOW * slides} MICROSECONDS SLIDE {PER_WINDOW} MICROSECONDS]"
        (query,) = session.execute(f"SELECT k, count(*) AS n FROM s {window} GROUP BY k", keep=slides * ROWS)
        assert isinstance(query, Query)
        assert query.wait(200)
        answers = query.to_polars()
        (table,) = [t for t in query.stats["operators"] if t["name"].startswith("window aggregate")]
    ends = (rows.get_column("ts") // PER_WINDOW + 1) * PER_WINDOW
    expected = pl.concat([rows.select("k", window_end=ends + i * PER_WINDOW, n=pl.lit(1)) for i in range(slides)])
    order = ["window_end", "k"]
    assert (
        answers.select(*order, "n").sort(order).equals(expected.select(*order, pl.col("n").cast(pl.Int64)).sort(order))
    )
    assert table["live_groups"] < ROWS  # how many are let go by then depends on how fast rows come
