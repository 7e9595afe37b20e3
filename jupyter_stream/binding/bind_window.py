"""Window clauses, from what is written to the windows of `windows/`. One binder for each kind, tried in order."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from jupyter_stream.binding.event_time import need_a_time
from jupyter_stream.binding.scope import ROW_NUM, Scope, lookup
from jupyter_stream.core.schema import TIMESTAMP, type_name
from jupyter_stream.core.time import from_datetime
from jupyter_stream.errors import UnsupportedError
from jupyter_stream.functions import Expr
from jupyter_stream.plan.time_of import CURRENT_TIME, WINDOW_TIME
from jupyter_stream.syntax.diagnose import did_you_mean
from jupyter_stream.syntax.nodes import CastTo, Constant, Node
from jupyter_stream.syntax.query_syntax import WindowClause
from jupyter_stream.syntax.source_text import Name, SourceText
from jupyter_stream.syntax.window_hints import EXAMPLE
from jupyter_stream.windows import BY_WORD, LifetimeWindow, RowWindow, SessionWindow, TimeWindow, TupleWindow, Window


@dataclass(frozen=True, slots=True)
class WindowContext:
    """What a binder may look at: the clause, the rows it stands on, and the cell for errors."""

    clause: WindowClause
    scope: Scope
    source: SourceText


MOST_EXTENTS = 1_000_000
"""Extents of a window over time that a row may be in."""


def bind_window(clause: WindowClause, scope: Scope, source: SourceText) -> Window:
    """The window a clause stands for.

    Raises:
        QueryError: an ON column that doesn't exist or is no time, a bad ORIGIN.
        UnsupportedError: a kind of window that isn't available yet.
    """
    context = WindowContext(clause, scope, source)
    for binder in BINDERS:
        window = binder(context)
        if window is not None:
            if window.goes_by_time and clause.on is None:
                need_a_time(scope, clause.span, source)
            return window
    raise source.error("this isn't a window", clause.span, EXAMPLE)


def _rows(context: WindowContext) -> Window | None:
    """`[ROWS n]`, `[ROWS n SLIDE m]`, `[PARTITION BY a ROWS n SLIDE m]`. Its WHERE: `bind_aggregate.windowed`."""
    clause = context.clause
    if clause.by_rank or clause.range is None or clause.range.kind != "rows":
        return None
    if clause.on is not None:
        raise context.source.error(
            "a window of rows can't have ON or ORDER BY: it counts rows in the order they arrive",
            clause.on.span,
            f"Remove {clause.on.text}, or write a length of time: [RANGE 10 MINUTES SLIDE 1 MINUTE ON column].",
        )
    slide = None if clause.slide is None else clause.slide.value
    return RowWindow(clause.range.value, slide, bind_partition(context))


def _session(context: WindowContext) -> Window | None:
    """`[SESSION gap]`, `[SESSION gap PARTITION BY a]`, SESSION(...), `session_window(...)`."""
    clause = context.clause
    if clause.session is None:
        return None
    return SessionWindow(clause.session.value, bind_partition(context), _attribute(context, clause.on))


def bind_partition(context: WindowContext) -> tuple[tuple[str, Expr], ...]:
    """The columns of PARTITION BY, each once."""
    scope, source = context.scope, context.source
    found: dict[Expr, str] = {}
    for column in context.clause.partition:
        qualifier = column.qualifier
        known = qualifier is None or qualifier.text.lower() in scope.qualifiers
        expr = lookup(scope, column.name, qualifier, source) if known else None
        if expr is None:
            shown = source.slice(column.span)
            hint = did_you_mean(column.name.text, scope.schema.names, "columns")
            raise source.error(f"there is no column called {shown} to partition by", column.span, hint)
        found.setdefault(expr, column.name.text)
    return tuple((name, expr) for expr, name in found.items())


def _not_yet(context: WindowContext) -> Window | None:
    """The kinds that are understood and can't be run yet."""
    clause = context.clause
    what, hint = None, "Windows over time are: [RANGE 10 MINUTES SLIDE 1 MINUTE]."
    if clause.range is not None and clause.range.kind == "rows":
        what = "a window of ROWS by rank"
        hint = "Remove BY RANK. To count rows in order of time, write sum(x) OVER (ROWS 4 PRECEDING)."
    elif clause.slide is not None and clause.slide.kind == "rows" and clause.range is None:
        what = "RANGE ALL with SLIDE by rows"
        hint = (
            "Write count(*) OVER (RANGE UNBOUNDED PRECEDING) for an answer at each row, or [RANGE ALL SLIDE 1 MINUTE]."
        )
    elif clause.slide_on is not None and (clause.on is None or clause.slide_on.text.lower() != clause.on.text.lower()):
        what = "SATTR with another attribute than the window's"
        hint = "Name the same attribute twice, or write one ON: [RANGE 10 MINUTES SLIDE 1 MINUTE ON sent]."
    if what is None:
        return None
    raise context.source.error(
        f"{what} isn't available in this version",
        clause.span,
        hint,
        UnsupportedError,
    )


def _time(context: WindowContext) -> Window | None:
    """`[RANGE d SLIDE s]`, `[RANGE d TUMBLING]`, `[RANGE ALL SLIDE s]`, TUMBLE, HOP, `window(...)`."""
    clause = context.clause
    if clause.slide is None:
        return None
    length = clause.range.value if clause.range is not None else None
    on = _attribute(context, clause.on)
    origin = _origin(context) if clause.origin is not None else 0
    if length is not None and length // clause.slide.value > MOST_EXTENTS:
        raise context.source.error(
            f"each row would be in {length // clause.slide.value:,} extents, and the most is {MOST_EXTENTS:,}",
            clause.slide.span,
            "Write a longer SLIDE, or a shorter RANGE.",
        )
    kind = TimeWindow if clause.word is None else BY_WORD[clause.word]
    try:
        return kind.of(length, clause.slide.value, origin, on, clause.starts)
    except ValueError as error:
        hint = f"Write a longer or shorter SLIDE: [RANGE 1 DAY SLIDE 1 HOUR {clause.word}]."
        raise context.source.error(str(error), clause.span, hint) from None


def _tuples(context: WindowContext) -> Window | None:
    """`[RANGE d SLIDE 1 ROW]`, `[RANGE d SLIDE n ROWS]`, `[RANGE d SLIDE n ROWS BY RANK]`."""
    clause = context.clause
    if clause.slide is None or clause.slide.kind != "rows":
        return None
    if clause.range is None or clause.range.kind != "time":
        return None
    if clause.slide_on is not None:
        raise context.source.error(
            f"SLIDE counts rows here, and {clause.slide_on.text} is not a number of rows",
            clause.slide_on.span,
            f"Write SATTR row_num to count in the order of arrival, or SATTR rank({clause.slide_on.text}) in that of its values.",
        )
    return TupleWindow(clause.range.value, clause.slide.value, clause.by_rank, _attribute(context, clause.on))


def _lifetime(context: WindowContext) -> Window | None:
    """`[RANGE d]`, `[RANGE UNBOUNDED]`, `[NOW]`."""
    clause = context.clause
    on = _attribute(context, clause.on)
    if clause.now:
        return LifetimeWindow(1, on)
    return LifetimeWindow(clause.range.value if clause.range is not None else None, on)


BINDERS: tuple[Callable[[WindowContext], Window | None], ...] = (
    _rows,
    _session,
    _tuples,
    _not_yet,
    _time,
    _lifetime,
)
"""All kinds of windows. A new kind goes before `_time`, and its lines out of `_not_yet`."""


def _attribute(context: WindowContext, name: Name | None) -> str | None:
    """The windowing attribute, None for the rows' own time."""
    if name is None:
        return None
    scope, source = context.scope, context.source
    time = scope.time
    lower = name.text.lower()
    field = scope.schema.find(name.text)
    if field is None:
        if lower == time.pseudo or lower in time.names:
            return None
        if lower == ROW_NUM:
            raise source.error(
                "a length of time can't be measured on row_num", name.span, "Name a time column, or write ROWS n."
            )
        times = [f.name for f in scope.schema if _is_time(f.dtype)] + ([time.pseudo] if time.pseudo else [])
        if lower in (CURRENT_TIME, WINDOW_TIME):
            hint = f"The time of these rows is {time.column}." if time.column else None
        else:
            hint = did_you_mean(name.text, times, "time columns")
        raise source.error(f"there is no column called {name.text} to window on", name.span, hint)
    if field.name == time.column:
        return None
    if not _is_time(field.dtype):
        raise source.error(
            f"{field.name} is {type_name(field.dtype)}, and a window needs a time",
            name.span,
            "Use a TIMESTAMP, or a BIGINT of microseconds.",
        )
    return field.name


def _is_time(dtype: pl.DataType) -> bool:
    return dtype == TIMESTAMP or isinstance(dtype, pl.Datetime | pl.Int64 | pl.Int32)


def _origin(context: WindowContext) -> int:
    node = context.clause.origin
    assert node is not None
    value = origin_value(node)
    if value is None:
        raise context.source.error("ORIGIN takes a timestamp", node.span, "Write ORIGIN '2024-01-01 06:00:00'.")
    return value


def origin_value(node: Node) -> int | None:
    """Microseconds of a literal time, None if it is none."""
    if isinstance(node, CastTo):
        node = node.inner
    if not isinstance(node, Constant):
        return None
    value = node.value
    if isinstance(value, str):
        try:
            value = dt.datetime.fromisoformat(value.strip())
        except ValueError:
            return None
    if isinstance(value, dt.datetime):
        return from_datetime(value)
    if isinstance(value, dt.date):
        return from_datetime(dt.datetime(value.year, value.month, value.day))
    if isinstance(value, dt.timedelta):
        return value // dt.timedelta(microseconds=1)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
