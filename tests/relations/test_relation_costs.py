"""What a change of a relation costs: the rows it meets are looked at, not those alive."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import polars as pl
import pytest

from jupyter_stream import Session
from tests.tiers import thinned

ALIVE, CHANGES = 4_000, 40


def one_by_one(rows: pl.DataFrame, size: int) -> Callable[[], Iterator[pl.DataFrame]]:
    """A source that brings so many rows at a time."""
    return lambda: iter(rows.iter_slices(size))


def looked_at(query: str, left: pl.DataFrame, right: pl.DataFrame) -> tuple[int, pl.DataFrame]:
    """Rows looked at for the changes of a view, and its rows in the end."""
    with Session({"a": one_by_one(left, 1_000), "b": one_by_one(right, 1)}) as session:
        for name in ("a", "b"):
            session.execute(
                f"CREATE STREAM {name} (k BIGINT, n BIGINT, ts BIGINT) ORDER BY ts SOURCE 'python://{name}'"
            )
        (view,) = session.execute(f"CREATE VIEW v AS {query}")
        assert view.wait(200)
        tables = [*view.stats["operators"], *view.stats["synopses"]]
        return sum(t["rows_looked_at"] for t in tables if "rows_looked_at" in t), view.to_polars()


@pytest.mark.parametrize(
    "query",
    thinned(
        [
            "SELECT a.k, b.n FROM (SELECT k FROM a [RANGE UNBOUNDED]) a"
            " LEFT JOIN (SELECT k, n FROM b [RANGE 3 MICROSECONDS]) b ON a.k = b.k",
            "SELECT a.k FROM (SELECT k FROM a [RANGE UNBOUNDED]) a"
            " LEFT ANTI JOIN (SELECT k FROM b [RANGE UNBOUNDED]) b ON a.k = b.k",
            "SELECT k FROM a [RANGE UNBOUNDED] EXCEPT ALL ON (k) SELECT k FROM b [RANGE 3 MICROSECONDS]",
        ]
    ),
)
def test_a_change_costs_what_it_meets(query: str) -> None:
    left = pl.DataFrame({"k": range(ALIVE), "n": range(ALIVE), "ts": [0] * ALIVE})
    right = pl.DataFrame({"k": range(0, 10 * CHANGES, 10), "n": range(CHANGES), "ts": range(1, CHANGES + 1)})
    looked, rows = looked_at(query, left, right)
    assert ALIVE - CHANGES <= rows.height <= ALIVE
    # each row that enters once, and for each of few changes the rows of its key, when it comes and when it goes
    assert CHANGES <= looked <= ALIVE + 8 * CHANGES
    more = pl.concat([left, left.with_columns(pl.col("k") + 3 * ALIVE)])
    assert looked_at(query, more, right)[0] <= 2 * ALIVE + 8 * CHANGES
