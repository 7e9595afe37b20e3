"""A query that may leave rows out under load (stream-manager paper §5.2): its streams shed rows, and answers say how many.

Before: SELECT count(*) AS n FROM s [RANGE 1 HOUR TUMBLING] WITH TOLERANCE (SAMPLE AT LEAST 20)
After:  SELECT n, precision FROM s SHED(20) [RANGE 1 HOUR TUMBLING], n scaled up by what was shed of each extent
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import polars as pl

from jupyter_stream.functions import Literal, resolve
from jupyter_stream.plan.logical import BoundQuery, Shed, walk
from jupyter_stream.plan.sampling import Seeds, at_streams
from jupyter_stream.plan.weighed import SHARE, WEIGHT, Account, weighed

_LEAST: Final = 0.01
"""The least share of rows that is looked at where only an error was said."""


def shedding(query: BoundQuery) -> BoundQuery:
    """The query with rows shed at its streams, as far as it tolerates that."""
    allowed = query.tolerance
    if allowed is None or (allowed.sample is None and allowed.error is None):
        return query
    grouped = any(node.holds == "groups" for node in walk(query.plan))
    share = SHARE if grouped else resolve("/", (Literal(1.0, pl.Float64()), WEIGHT))
    plan = weighed(query.plan, Account(WEIGHT, share, "shed", always=False))
    least = _LEAST if allowed.sample is None else allowed.sample
    seeds = Seeds()
    plan = at_streams(plan, lambda s: Shed(s, 100 * least, seeds.of(s), True, s.schema, allowed.error))
    return replace(query, plan=plan, written=query.plan)


def approximations(query: BoundQuery) -> tuple[str, ...]:
    """What EXPLAIN says of what was given up, and of what may be."""
    lines = [f"approximate: {change}" for change in (*query.changed, *([query.fits] if query.fits else []))]
    if query.tolerance is not None and query.target is None:
        lines.append(f"may give up, when memory or time run short: {query.tolerance}")
        if query.tolerance.sample is None and query.tolerance.error is None:
            lines.append("windows are not shortened while a query runs: it stays exact, or is held back")
    return tuple(lines)


__all__ = ["approximations", "shedding"]
