"""Joins on Spark: two streams by its stream-stream join, a stream with a table by a join with what the table holds.

Spark lets go of a row when its watermark says that no partner can come, which it reads off comparisons of the two times with
whole milliseconds between them. It reads too much: of `l.v > 0` it takes the 0 for a bound of l's times (seen in PySpark
4.3.0), keeps l's rows for ever, and never pads them. So it sees equalities and those comparisons alone. A row that doesn't
meet the conditions of its own side has no key, which nothing equals. What is said of both rows, and the exact bounds in
microseconds, stand in an equality as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal, NamedTuple

from jupyter_stream.core.messages import TS, UNTIL
from jupyter_stream.core.time import MAX_TIME
from jupyter_stream.functions import Column, Expr
from jupyter_stream.functions.expression import columns, conjuncts, show, substitute
from jupyter_stream.graph import planned
from jupyter_stream.graph.graph import build
from jupyter_stream.plan.logical import Join, Lookup
from jupyter_stream.plan.references import judged
from jupyter_stream.plan.wording import in_words
from jupyter_stream.spark.expressions import SHIFT, TIME, quoted, sql
from jupyter_stream.spark.failing import condition_can_fail, filtered
from jupyter_stream.spark.node_support import Frame, NodeSupport, Part
from jupyter_stream.spark.rows import (
    ABOVE_JOINS_WITHOUT_BOUNDS,
    FAILING_CONDITIONS,
    FOREIGN_KEYS_JOINED,
    JOINS,
    JOINS_OF_WINDOWS,
    LOOK_UPS,
    OUTER_JOINS,
    OUTER_JOINS_WITHOUT_BOUNDS,
)
from jupyter_stream.spark.stage import below, unbounded, windows_below
from jupyter_stream.spark.written import expr_for

SINCE: Final = "$since"
"""From which time of stream rows on a version of a table goes, microseconds."""
_LEFT: Final = "`$left ts`"
_RIGHT: Final = "`$right ts`"
_LEFT_END: Final = "`$left until`"
_RIGHT_END: Final = "`$right until`"
_WATERMARK: Final = "spark.watermarkDelayMs"
"""By this Spark knows a column as event time. What a join computes of two such columns is one as well, which it can't know."""
_HOW: Final = {
    "inner": "inner",
    "left": "left_outer",
    "right": "right_outer",
    "full": "full_outer",
    "semi": "left_semi",
    "anti": "left_outer",
}
_HOW_TABLE: Final = {"inner": "inner", "left": "left_outer", "semi": "left_semi", "anti": "left_anti"}


def join(plan: Join, left: Frame, right: Frame) -> Frame:
    """Pairs of rows; `$ts` is the later of their times, `$until` the earlier end of their lifetimes."""
    expr = expr_for(left)
    lengths: list[int | None] = [None, None]
    if not any(w.sliding for w in plan.windows):  # otherwise equal extents say who meets
        lengths = [w.length for w in plan.windows]
    own = plan.left.schema.names
    said = _said_of(plan)
    exact = _exact_bounds(plan)
    if lengths != [None, None] or UNTIL in (*left.columns, *right.columns):
        exact += [f"unix_micros({_RIGHT}) < {_LEFT_END}", f"unix_micros({_LEFT}) < {_RIGHT_END}"]
    left = left.selectExpr(
        *(quoted(n) for n in own),
        *(f"{key} AS `$left key {i}`" for i, key in enumerate(_keys(plan, said.left, 0))),
        f"{_end(left, lengths[0])} AS {_LEFT_END}",
        f"{TIME} AS {_LEFT}",
    )
    renamed = zip(plan.right.schema.names, plan.right_names, strict=True)
    right = right.selectExpr(
        *(f"{quoted(n)} AS {quoted(m)}" for n, m in renamed),
        *(f"{key} AS `$right key {i}`" for i, key in enumerate(_keys(plan, said.right, 1))),
        f"{_end(right, lengths[1])} AS {_RIGHT_END}",
        f"{TIME} AS {_RIGHT}",
    )
    later = f"greatest({_LEFT}, {_RIGHT})"
    numbers = range(max(1, len(plan.keys)))
    conditions = [f"`$left key {i}` = `$right key {i}`" for i in numbers]
    # NULL equals nothing, but in Spark's full outer joins of streams it equals NULL; and so a row without key isn't kept
    conditions += [f"`${side} key {i}` IS NOT NULL" for side in ("left", "right") for i in numbers]
    conditions += _bounds(plan)
    hidden = [*exact, *(sql(e, later) for e in said.both)]
    if hidden:
        conditions.append(_opaque(hidden, _LEFT))
    made = left.join(right, expr(" AND ".join(f"({c})" for c in conditions)), _HOW[plan.kind])
    if plan.kind in ("semi", "anti"):
        if plan.kind == "anti":
            made = made.where(f"{_RIGHT} IS NULL")
        return made.selectExpr(*(quoted(n) for n in own), f"{_LEFT} AS {TIME}", f"{_LEFT_END} AS {quoted(UNTIL)}")
    named = [expr(quoted(n)) for n in plan.schema.names]
    time = expr(later).alias(TS, metadata={_WATERMARK: 0})
    return made.select(*named, time, expr(f"least({_LEFT_END}, {_RIGHT_END})").alias(UNTIL))


class _Said(NamedTuple):
    """The conditions of a join beside its keys and times: of the left row alone, of the right one, of both or none."""

    left: list[Expr]
    right: list[Expr]
    both: list[Expr]


def _said_of(plan: Join) -> _Said:
    said = _Said([], [], [])
    own = set(plan.left.schema.names)
    pairs = zip(plan.right.schema, plan.right_names, strict=True)
    theirs: dict[str, Expr] = {m: Column(f.name, f.dtype) for f, m in pairs}
    for part in [] if plan.residual is None else conjuncts(plan.residual):
        named = columns(part)
        if named and named <= own:
            said.left.append(part)
        elif named and named <= set(theirs):
            said.right.append(substitute(part, theirs))
        else:
            said.both.append(part)
    return said


def _keys(plan: Join, conditions: Sequence[Expr], side: Literal[0, 1]) -> list[str]:
    """What is to be equal, in Spark's SQL: NULL for a row that doesn't meet the conditions, and so finds no partner."""
    keys = [sql(pair[side]) for pair in plan.keys]
    if not keys:  # Spark wants an equality
        keys = [f"pmod(unix_micros({TIME}), 1L)"]
    if conditions:
        keys[0] = f"CASE WHEN {_opaque(map(sql, conditions), TIME)} THEN {keys[0]} END"
    return keys


def _opaque(conditions: Iterable[str], time: str) -> str:
    """Whether all of them are true, as an equality with 0, written so that Spark doesn't know the 0 and can't simplify it."""
    whole = " AND ".join(f"({c})" for c in conditions)
    return f"CASE WHEN {whole} THEN 0L ELSE 1L END = pmod(unix_micros({time}), 1L)"


def look_up(plan: Lookup, stream: Frame, table: Frame) -> Frame:
    """Stream rows with the rows of a table they match, by what the table held at their time.

    Args:
        plan: the look-up.
        stream: the stream's rows.
        table: the table's, with `$since` and `$until`.
    """
    expr = expr_for(stream)
    before = stream.columns
    stream = stream.selectExpr("*", *(f"{sql(own)} AS `$left key {i}`" for i, (own, _) in enumerate(plan.keys)))
    renamed = zip(plan.table.schema.names, plan.right_names, strict=True)
    table = table.selectExpr(
        *(f"{quoted(n)} AS {quoted(m)}" for n, m in renamed),
        *(f"{sql(theirs)} AS `$right key {i}`" for i, (_, theirs) in enumerate(plan.keys)),
        f"{quoted(SINCE)}",
        f"{quoted(UNTIL)} AS `$version ends`",
    )
    time = f"unix_micros({TIME}) - {SHIFT}L"
    conditions = [f"`$left key {i}` = `$right key {i}`" for i in range(len(plan.keys))]
    conditions += [f"{time} >= {quoted(SINCE)}", f"{time} < `$version ends`"]
    if plan.residual is not None:
        conditions.append(sql(plan.residual))
    made = stream.join(table, expr(" AND ".join(f"({c})" for c in conditions)), _HOW_TABLE[plan.kind])
    new = [] if plan.kind in ("semi", "anti") else plan.right_names
    return made.selectExpr(*(quoted(c) for c in (*before, *new)))


def _end(rows: Frame, length: int | None) -> str:
    """The end of the rows' lifetimes, in shifted microseconds; never, where that is beyond the axis."""
    if UNTIL in rows.columns:
        return quoted(UNTIL)
    return f"{MAX_TIME}L" if length is None else f"coalesce(try_add(unix_micros({TIME}), {length}L), {MAX_TIME}L)"


def _bounds(plan: Join) -> list[str]:
    """How far the times may be apart, in whole milliseconds: what Spark reads."""
    found = []
    if plan.low is not None:
        found.append(f"{_RIGHT} >= {_LEFT} + {_millis(plan.low // 1000)}")
    if plan.high is not None:
        found.append(f"{_RIGHT} <= {_LEFT} + {_millis(-(-plan.high // 1000))}")
    return found


def _exact_bounds(plan: Join) -> list[str]:
    difference = f"unix_micros({_RIGHT}) - unix_micros({_LEFT})"
    found = [] if plan.low is None else [f"{difference} >= {plan.low}L"]
    return found if plan.high is None else [*found, f"{difference} <= {plan.high}L"]


def _millis(count: int) -> str:
    return f"INTERVAL '{count / 1000:.3f}' SECOND"


def _failing_condition(plan: Join | Lookup) -> Iterator[Part]:
    if plan.kind != "inner" and plan.residual is not None and condition_can_fail(plan.residual):
        yield in_words(show(plan.residual), plan), FAILING_CONDITIONS


def _join_parts(plan: Join) -> Iterator[Part]:
    yield f"{plan.kind} join", JOINS if plan.kind == "inner" else OUTER_JOINS
    told = judged(plan)
    if told is not None:
        yield str(told.constraint), FOREIGN_KEYS_JOINED


def _join_also(plan: Join, outermost: bool) -> Iterator[Part]:
    if plan.kind != "inner" and unbounded(plan):
        yield f"{plan.kind} join", OUTER_JOINS_WITHOUT_BOUNDS
    yield from _failing_condition(plan)
    if windows_below(plan):
        yield "join of windows", JOINS_OF_WINDOWS
    if any(unbounded(n) for n in below(plan)):
        yield "join over it", ABOVE_JOINS_WITHOUT_BOUNDS


JOIN: Final = NodeSupport[Join](
    rows=(
        *(JOINS, OUTER_JOINS, OUTER_JOINS_WITHOUT_BOUNDS, FAILING_CONDITIONS),
        *(JOINS_OF_WINDOWS, ABOVE_JOINS_WITHOUT_BOUNDS, FOREIGN_KEYS_JOINED),
    ),
    parts=_join_parts,
    also=_join_also,
    translate=lambda plan, inputs, _: join(plan, *inputs),
    normal=filtered,
)
LOOK_UP: Final = NodeSupport[Lookup](
    rows=(LOOK_UPS, FAILING_CONDITIONS),
    parts=lambda plan: [(f"{plan.kind} look-up in {plan.table.name}", LOOK_UPS)],
    also=lambda plan, _: _failing_condition(plan),
    translate=lambda plan, inputs, around: look_up(plan, inputs[0], around.table(plan.table)),
    normal=filtered,
    operators=lambda plan: [planned.lookup(plan, build)],
)

__all__ = ["JOIN", "LOOK_UP", "SINCE", "join", "look_up"]
