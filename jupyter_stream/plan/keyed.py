"""Which column of a plan's rows promises for one key speak of: where a stream declares them, what becomes of them above.

They are punctuations in the stream (`punctuation_key`), or follow from a constraint (`CLUSTERED`).
"""

from __future__ import annotations

from typing import Final

from jupyter_stream.functions.expression import Column
from jupyter_stream.plan.catalog import PunctuationColumn, StreamDef
from jupyter_stream.plan.logical import Aggregate, Join, Plan, Scan, Union, walk

FAR: Final = 2**62
"""Times are before this, in microseconds: what is kept until then is kept for ever."""


def key_promised(stream: StreamDef) -> str | None:
    """The column for whose values a stream makes promises one by one, if it does."""
    progress = stream.time.progress
    if isinstance(progress, PunctuationColumn) and progress.key is not None:
        return progress.key
    return None if stream.clustered is None else stream.clustered.column


def promised(plan: Plan) -> str | None:
    """The column of the key that group-wise punctuations of these rows speak of; None if there are none."""
    match plan:
        case Scan(stream=stream):
            return key_promised(stream)
        case Union(parts=parts, schema=schema):
            columns = [promised(part) for part in parts]
            places = {
                part.schema.names.index(c) if c is not None else None for c, part in zip(columns, parts, strict=True)
            }
            place = places.pop()
            return None if places or place is None else schema.names[place]
        case Join():
            joint = joint_key(plan)
            column = None if joint is None else plan.keys[joint][0]
            return column.name if isinstance(column, Column) else None
        case Aggregate():
            at = key_of(plan)
            return None if at is None else plan.keys[at][0]
    if not plan.row_by_row:
        return None
    below = promised(plan.inputs[0])
    return next((name for name in plan.schema.names if below is not None and plan.origin(name) == below), None)


def key_of(plan: Aggregate) -> int | None:
    """Which grouping column group-wise punctuations speak of, if they close extents or sessions of this aggregate."""
    below = promised(plan.input)
    window = plan.window
    if below is None or window.on is not None or plan.other_windows or plan.user:
        return None
    at = next((i for i, (_, e) in enumerate(plan.keys) if isinstance(e, Column) and e.name == below), None)
    if at is None:
        return None
    return at if window.ends_for(plan.keys[at][1]) else None


def keys_of_join(plan: Join) -> tuple[int | None, int | None]:
    """Which of the equal keys group-wise punctuations of each input speak of, so that the other's rows need wait no more."""
    columns = [promised(part) for part in plan.inputs]

    def at(port: int) -> int | None:
        found = (
            i for i, pair in enumerate(plan.keys) if isinstance(e := pair[port], Column) and e.name == columns[port]
        )
        return None if columns[port] is None else next(found, None)

    return at(0), at(1)


def joint_key(plan: Join) -> int | None:
    """Which of the equal keys promises of both inputs speak of, so that they say something of its pairs."""
    left, right = keys_of_join(plan)
    return left if plan.kind == "inner" and left == right else None


def key_retention(plan: Plan) -> int:
    """How long past the time of a row a plan keeps anything of its key that a promise for the key lets go, microseconds."""
    total = 0
    for node in walk(plan):
        match node:
            case Aggregate(window=window):
                total += window.key_outlives
            case Join(low=low, high=high):
                total += FAR if low is None or high is None else abs(low) + abs(high)
    return min(total, FAR)


__all__ = ["FAR", "joint_key", "key_of", "key_promised", "key_retention", "keys_of_join", "promised"]
