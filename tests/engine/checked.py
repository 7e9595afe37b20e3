"""Runs a query over one stream and compares it with the oracle, its rows together and one by one."""

from __future__ import annotations

from typing import Any

from tests.oracle.aggregates import Aggregate
from tests.oracle.answer import answer
from tests.oracle.compare import assert_same_bag
from tests.oracle.over import OverQuery, over
from tests.oracle.query import Answer, Query, Stream
from tests.oracle.running import Ran, assert_right, show
from tests.oracle.windows import Lifetime, Window

Asks = Window | dict[str, Any]
"""A window, or what `OverQuery` is given of an OVER."""


def check(
    asks: Asks,
    rows: Stream,
    made: tuple[Aggregate, ...],
    grouped: bool = True,
    splits: tuple[int | None, ...] = (None, 1),
    **rest: Any,
) -> None:
    """Fail unless the answer is the oracle's, however the rows are batched.

    Args:
        asks: the window.
        rows: what comes; grouped by its column `k`.
        made: the aggregates.
        grouped: whether there is a GROUP BY (PARTITION BY in an OVER).
        splits: rows a batch, of each run; None for all in one.
        rest: more of the query.
    """
    partition = ("k",) if grouped else ()
    query: Query | OverQuery
    if isinstance(asks, dict):
        query = OverQuery(rows, made, partition, **asks, **rest)
        expected: Answer = over(query)
    else:
        query = Query(rows, asks, made, partition or getattr(asks, "partition", ()), **rest)
        expected = answer(query)
    for split in splits:
        sizes = None if split is None else [split] * (len(rows.rows) // split + 1)
        ran = Ran(query, sizes)
        assert_right(query, expected, ran, sizes)
        if isinstance(query.window, Lifetime):
            changes = [(op, at, *(row[c] for c in query.columns)) for at, op, row in expected.changes]
            assert_same_bag(ran.changes, changes, ["op", "at", *query.columns], show(query, sizes), frozenset({"at"}))
