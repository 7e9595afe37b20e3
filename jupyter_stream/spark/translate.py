"""From a bound logical plan to a streaming DataFrame. One visitor; what it has no case for was refused before (`preflight`).

A DataFrame on the way has the node's columns and, beside them, `$ts` (the progressing attribute, with its watermark),
`$broken` (the punctuation a late row broke) and `$row` (arrival number), as the kernel's batches have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeAlias

from jupyter_stream.core.messages import BROKEN, ROW, TS, UNTIL, WINDOW_END, WINDOW_ID, WINDOW_START
from jupyter_stream.functions import Column, Expr
from jupyter_stream.functions.types import spark_name
from jupyter_stream.plan.catalog import StreamDef
from jupyter_stream.plan.logical import Aggregate, Derived, Filter, Join, Lookup, Plan, Project, Scan, Union
from jupyter_stream.spark.aggregates import aggregate_sql, may_overflow, overflow_sql
from jupyter_stream.spark.expressions import SHIFT, TIME, instant, micros, quoted, sql
from jupyter_stream.spark.joins import join, look_up
from jupyter_stream.spark.preflight import finished_here, outermost
from jupyter_stream.windows import SessionWindow, TimeWindow

Frame: TypeAlias = Any
"""A `pyspark.sql.DataFrame`; pyspark is imported when the first query starts on Spark, not before."""
Given: TypeAlias = Callable[[Plan], Frame | None]
"""The rows of a node that come from outside, with their system columns and watermark; None for a node to be translated. Asked
once for every node that isn't below such a one, in the order written."""
OpenTable: TypeAlias = Callable[[StreamDef], Frame]
"""A table's rows with `$since` and `$until`, in microseconds: the times of stream rows each version goes for."""

OVERFLOWED: Final = "$overflowed"
"""Whether a sum of an answer is beyond BIGINT."""
_EXTENT: Final = "$extent"
_ONE: Final = "$one"
_SYSTEM: Final = (TS, BROKEN, ROW, UNTIL)
_ABOVE: Final = (TS, WINDOW_START, WINDOW_END, WINDOW_ID, OVERFLOWED)


def translate(plan: Plan, given: Given, table: OpenTable) -> Frame:
    """The DataFrame of a query: its result columns, or the outermost window's or join's if the rest is done as answers arrive.

    Args:
        plan: the root.
        given: gives the rows of each stream.
        table: gives the rows of each table.
    """
    stage = outermost(plan)
    if stage is not None and finished_here(plan):
        return _Translator(given, table).visit(stage, guarded=True)
    return _Translator(given, table).answers(plan)


def translate_whole(plan: Plan, given: Given) -> Frame:
    """The DataFrame of a query without tables, all of it Spark's: a failing expression ends it, empty extents give no rows.

    Args:
        plan: the root.
        given: gives the rows of each stream.
    """

    def no_table(table: StreamDef) -> Frame:
        raise AssertionError(f"{table.name} was not refused")

    return _Translator(given, no_table).answers(plan)


class _Translator:
    def __init__(self, given: Given, table: OpenTable) -> None:
        self._given = given
        self._table = table

    def answers(self, plan: Plan) -> Frame:
        """The rows of the root, without system columns."""
        found = self._given(plan)
        if found is None and isinstance(plan, Derived):
            return self.answers(plan.input)
        if found is None and isinstance(plan, Project):
            below, read = plan.input, [(n, e.name) for n, e in plan.items if isinstance(e, Column) and e.name != TS]
            if isinstance(below, Aggregate) and len(read) == len(plan.items):  # one step less, see `_grouped`
                grouped, columns = _grouped(below, self.visit(below.input), guarded=False)
                return grouped.selectExpr(*(f"{columns[own]} AS {quoted(n)}" for n, own in read))
            return self.visit(below).selectExpr(*(_item(e, n) for n, e in plan.items))
        return (self._made(plan) if found is None else found).selectExpr(*(quoted(n) for n in plan.schema.names))

    def visit(self, plan: Plan, *, guarded: bool = False) -> Frame:
        """The rows of a node.

        Args:
            plan: the node.
            guarded: whether sums beyond BIGINT are to be told of rather than end the query.
        """
        found = self._given(plan)
        return self._made(plan, guarded=guarded) if found is None else found

    def _made(self, plan: Plan, *, guarded: bool = False) -> Frame:
        match plan:
            case Derived():
                return self.visit(plan.input)
            case Filter(predicate=predicate):
                return self.visit(plan.input).where(sql(predicate))
            case Project(items=items):
                below = self.visit(plan.input)
                return below.selectExpr(*(_item(e, n) for n, e in items), *_system(below.columns))
            case Union(parts=parts):
                return _union([self.visit(p) for p in parts], parts, plan.schema.names)
            case Aggregate():
                return _aggregate(plan, self.visit(plan.input), guarded=guarded)
            case Lookup():
                return look_up(plan, self.visit(plan.input), self._table(plan.table))
            case Join():
                return join(plan, self.visit(plan.left), self.visit(plan.right))
        raise AssertionError(f"{type(plan).__name__} was not refused")


def _item(expr: Expr, name: str) -> str:
    return f"{sql(expr)} AS {quoted(name)}"


def _system(columns: Iterable[str]) -> list[str]:
    return [quoted(c) for c in columns if c.startswith("$") and c in (*_SYSTEM, *_ABOVE)]


def _union(frames: list[Frame], parts: tuple[Plan, ...], names: tuple[str, ...]) -> Frame:
    shared = [c for c in _SYSTEM if all(c in f.columns for f in frames)]
    renamed = [
        f.selectExpr(
            *(f"{quoted(own)} AS {quoted(name)}" for own, name in zip(part.schema.names, names, strict=True)),
            *(quoted(c) for c in shared),
        )
        for f, part in zip(frames, parts, strict=True)
    ]
    whole = renamed[0]
    for frame in renamed[1:]:
        whole = whole.unionByName(frame)
    return whole


def _aggregate(plan: Aggregate, below: Frame, *, guarded: bool) -> Frame:
    grouped, columns = _grouped(plan, below, guarded=guarded)
    return grouped.selectExpr(*(f"{made} AS {quoted(name)}" for name, made in columns.items()))


def _grouped(plan: Aggregate, below: Frame, *, guarded: bool) -> tuple[Frame, dict[str, str]]:
    """The groups of each extent, and what each column of the node, and each system column, is of theirs in Spark's SQL."""
    window = plan.window
    # aggregates read time and arrival number, keys are computed beside them; all at once, since Spark analyses the whole plan
    # anew with every step of it, which takes it 10 milliseconds and more
    keys = [f"$key{i}" for i in range(len(plan.keys))]
    groups = [quoted(_EXTENT), *(quoted(k) for k in keys)]
    beside = [_item(e, k) for k, (_, e) in zip(keys, plan.keys, strict=True)]
    if isinstance(window, TimeWindow):
        below, start, end, number = _in_extents(below, window, beside)
    else:
        assert isinstance(window, SessionWindow)
        if not keys:  # Spark wants a key beside sessions; this is 0, which it can't know
            beside.append(f"pmod(unix_micros({TIME}), 1L) AS {quoted(_ONE)}")
            groups.append(quoted(_ONE))
        below, start, end, number = _in_sessions(below, window, beside)
    made = [f"{aggregate_sql(c, guarded)} AS {quoted(c.name)}" for c in plan.aggregates]
    overflows = [overflow_sql(c) for c in plan.aggregates if guarded and may_overflow(c)]
    if overflows:
        made.append(f"({' OR '.join(overflows)}) AS {quoted(OVERFLOWED)}")
    from pyspark.sql.functions import expr

    grouped = below.groupBy(*groups).agg(*(expr(m) for m in made or ["1 AS `$none`"]))
    shown = micros if integer_time(plan) else instant
    columns = {
        name: f"CAST({quoted(k)} AS {spark_name(e.dtype)})" for k, (name, e) in zip(keys, plan.keys, strict=True)
    }
    columns |= {
        name: quoted(name) for name in (*(c.name for c in plan.aggregates), *([OVERFLOWED] if overflows else []))
    }
    columns |= {WINDOW_START: shown(start), WINDOW_END: shown(end), WINDOW_ID: number}
    return grouped, {**columns, TS: f"window_time({quoted(_EXTENT)})"}


def integer_time(plan: Plan) -> bool:
    """Whether the progressing attribute is declared an integer."""
    match plan:
        case Aggregate(window=window) if window.on is not None:
            field = plan.input.schema.find(window.on)
            return field is not None and field.dtype.is_integer()
        case Scan(stream=stream):
            field = stream.schema.find(stream.time.column or "")
            return field is not None and field.dtype.is_integer()
    return integer_time(plan.inputs[0])


def _length(count: int) -> str:
    return f"'{count} microseconds'"


def _in_extents(below: Frame, window: TimeWindow, beside: Sequence[str]) -> tuple[Frame, str, str, str]:
    """Each row in each of its extents: Spark's start at `startTime` plus multiples of the slide, ours end at such.

    Args:
        below: the rows.
        window: the window.
        beside: what else is to be computed of each row.
    """
    assert window.range is not None
    length = max(window.range, window.slide) if window.slide > window.range else window.range
    opens = (window.phase + SHIFT - length) % window.slide
    lengths = [_length(n) for n in (length, window.slide, *([opens] if opens else []))]
    found = below.selectExpr("*", f"window({', '.join([TIME, *lengths])}) AS {quoted(_EXTENT)}", *beside)
    start, end = f"{quoted(_EXTENT)}.start", f"{quoted(_EXTENT)}.end"
    conditions = []
    if length != window.range:  # Spark has no gaps between extents: whole slides, and of each the rows in its last part
        start = f"timestamp_micros(unix_micros({end}) - {window.range}L)"
        conditions.append(f"{TIME} >= {start}")
    if BROKEN in below.columns:  # a late row is used in the extents that were open when it came
        conditions.append(f"({quoted(BROKEN)} IS NULL OR {end} > {quoted(BROKEN)})")
    if conditions:
        found = found.where(" AND ".join(conditions))
    return found, start, end, f"({micros(end)} - {window.phase}L) div {window.slide}L"


def _in_sessions(below: Frame, window: SessionWindow, beside: Sequence[str]) -> tuple[Frame, str, str, str]:
    """The same; rows exactly a gap apart are in different sessions, so Spark is told a microsecond less."""
    made = f"session_window({TIME}, {_length(window.gap - 1)}) AS {quoted(_EXTENT)}"
    found = below.selectExpr("*", made, *beside)
    end = f"timestamp_micros(unix_micros({quoted(_EXTENT)}.end) + 1L)"
    return found, f"{quoted(_EXTENT)}.start", end, "CAST(NULL AS BIGINT)"
