"""What a chart has to know of a query's plan: how far apart its windows are, and whether its rows are a stream's own."""

from __future__ import annotations

from jupyter_stream.plan.logical import Aggregate, BoundQuery, Derived, ExtentChanges, Filter, Sample, Scan, Union, walk


def slide(query: BoundQuery) -> int | None:
    """From one window of its answer to the next, microseconds; None where the answer is not of windows with a slide."""
    if query.relation:
        return None
    windows = (n.window for n in walk(query.plan) if isinstance(n, Aggregate | ExtentChanges))
    first = next(windows, None)
    return None if first is None or first.schedule is None else first.schedule.slide


def as_they_came(query: BoundQuery) -> bool:
    """Whether its rows are a stream's own, all columns of each: `SELECT * FROM s`, with WHERE or without."""
    return not query.relation and all(isinstance(n, Scan | Filter | Derived | Sample | Union) for n in walk(query.plan))
