"""How far a joined row's own time may be behind the later of its two, by which joins progress (window-queries thesis §7.2).

A promise on `$ts` says of both times together that no pair is to come in which both are less: a joint punctuation on the pair
(v, v). From it follows what is promised of each time alone, since rows that meet are no farther apart than the join's bounds: an
individual punctuation, later by as much. A join promises more of each, whose inputs do (`PairPunctuation`).
"""

from __future__ import annotations

from jupyter_stream.functions.expression import Column
from jupyter_stream.plan.logical import (
    Derived,
    Filter,
    Join,
    Lookup,
    Plan,
    Project,
    Retimed,
    Sample,
    Scan,
    Union,
    Unnest,
)
from jupyter_stream.plan.references import bounds


def lag_of(plan: Plan, column: str) -> int | None:
    """By how many microseconds at most a column is less than the time of its row, joined of several.

    None where nothing says so: it is another column than the time of one of them, the bounds of a join are open, or there is no
    join (whose late rows are left out: those of a selection would come after what was promised).
    """
    return _lag(plan, column, joined=False)


def of_pair(plan: Plan, column: str) -> tuple[int, int] | None:
    """Which side of a join (0 or 1) a column is a time of, and by how much at most it is less than that of the side's row.

    None where it is none, or the join's rows don't come as they are.
    """
    match plan:
        case Filter() | Derived() | Sample():
            return of_pair(plan.input, column)
        case Lookup() | Unnest():
            return of_pair(plan.input, column) if column in plan.input.schema.names else None
        case Project(items=items):
            below = next((e.name for name, e in items if name == column and isinstance(e, Column)), None)
            return None if below is None else of_pair(plan.input, below)
        case Join(left=left, right=right):
            if column in left.schema.names:
                side, own = 0, _lag(left, column, joined=True)
            else:
                names = dict(zip(plan.right_names, right.schema.names, strict=True))
                side, own = 1, _lag(right, names[column], joined=True) if column in names else None
            return None if own is None else (side, own)
    return None


def _lag(plan: Plan, column: str, joined: bool) -> int | None:
    match plan:
        case Scan(stream=stream):
            return 0 if joined and stream.table is None and stream.time.column == column else None
        case Retimed(on=on):
            return 0 if joined and on == column else None
        case Filter() | Derived() | Sample():
            return _lag(plan.input, column, joined)
        case Lookup() | Unnest():
            return _lag(plan.input, column, joined) if column in plan.input.schema.names else None
        case Project(items=items):
            below = next((e.name for name, e in items if name == column and isinstance(e, Column)), None)
            return None if below is None else _lag(plan.input, below, joined)
        case Union(parts=parts, schema=schema):
            at = schema.names.index(column)
            each = [_lag(part, part.schema.names[at], joined) for part in parts]
            known = [b for b in each if b is not None]
            return max(known) if len(known) == len(each) else None
        case Join():
            return _of_pair(plan, column)
    return None


def _of_pair(plan: Join, column: str) -> int | None:
    low, high = bounds(plan)
    extents = [w.schedule.slide for w in plan.windows if w.schedule is not None]
    if extents:  # both are in one extent
        apart = extents[0] - 1
        low, high = (-apart if low is None else max(low, -apart)), (apart if high is None else min(high, apart))
    if column in plan.left.schema.names:
        own, other = _lag(plan.left, column, joined=True), high
    else:
        names = dict(zip(plan.right_names, plan.right.schema.names, strict=True))
        if column not in names:
            return None
        own, other = _lag(plan.right, names[column], joined=True), None if low is None else -low
    return None if own is None or other is None else own + max(0, other)


__all__ = ["lag_of", "of_pair"]
