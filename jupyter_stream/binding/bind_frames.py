"""Window functions in an order of their own: plan nodes above the SELECT that `forms.over_any_order` leaves."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace

import polars as pl

from jupyter_stream import functions
from jupyter_stream.aggregates.user import declared
from jupyter_stream.binding.bind_aggregate import Grouping, InputNames, constant_value
from jupyter_stream.binding.bind_expression import ExpressionBinder
from jupyter_stream.binding.forms.over_any_order import NEIGHBOURS, is_window_function
from jupyter_stream.binding.scope import Scope
from jupyter_stream.binding.select_list import schema_of
from jupyter_stream.core.schema import Field, Schema
from jupyter_stream.errors import QueryError, UnsupportedError
from jupyter_stream.functions import Column, Expr
from jupyter_stream.functions.types import BIGINT, DOUBLE
from jupyter_stream.plan.logical import AggregateCall, OrderKey, Plan, Project, WindowCall, WindowFunctions
from jupyter_stream.syntax.nodes import ColumnRef, Constant, FunctionCall, Months, Node, Star
from jupyter_stream.syntax.query_syntax import FrameEnd, WindowClause
from jupyter_stream.syntax.source_text import SourceText
from jupyter_stream.windows import UP_TO_PEERS, WHOLE_PARTITION, Frame, OverWindow

_RANKS = {
    "row_number": BIGINT,
    "rank": BIGINT,
    "dense_rank": BIGINT,
    "percent_rank": DOUBLE,
    "cume_dist": DOUBLE,
}
_SAME = {"first": "first_value", "any_value": "first_value", "last": "last_value"}
_USAGE = {
    "ntile": "ntile(4)",
    "lead": "lead(x), lead(x, 2) or lead(x, 2, 0)",
    "lag": "lag(x), lag(x, 2) or lag(x, 2, 0)",
    "nth_value": "nth_value(x, 2)",
    "first_value": "first_value(x)",
    "last_value": "last_value(x)",
}


@dataclass(frozen=True)
class _Over:
    """What calls have in common that one node answers."""

    partition: tuple[str, ...]
    order: tuple[OrderKey, ...]


class Frames:
    """The window functions of one SELECT, while they are bound.

    Args:
        plan: what they are over: all their columns are there.
        source: the cell.
        implied: the column that orders rows for those who look at neighbours and don't say by what; None for none.
    """

    def __init__(self, plan: Plan, source: SourceText, implied: ColumnRef | None) -> None:
        self._below = plan
        self._source = source
        self._implied = implied
        self._calls: dict[_Over, list[WindowCall]] = {}
        self._groupings: dict[tuple[_Over, Frame], Grouping] = {}
        self._made: dict[Expr, str] = {}
        self._count = 0

    def bind(self, call: FunctionCall) -> Expr:
        """The value of one, over the columns of `plan`.

        Raises:
            QueryError: arguments or a frame that don't fit.
            UnsupportedError: an aggregate that can't be over frames.
        """
        clause, name = call.window, call.name.text.lower()
        assert clause is not None
        over = _Over(self._partition(clause), self._order(call, clause))
        frame = self._frame(clause, over)
        if is_window_function(name):
            return self._function(call, over, frame)
        return self._aggregate(call, over, frame)

    def plan(self) -> Plan:
        """What is below, with a column for each of them."""
        below, over_all = self._below, self._all()
        if self._made:
            kept: list[tuple[str, Expr]] = [(f.name, Column(f.name, f.dtype)) for f in below.schema]
            items = (*kept, *((name, expr) for expr, name in self._made.items()))
            below = Project(below, items, schema_of(items))
        for over, calls in over_all.items():
            schema = Schema((*below.schema.fields, *(Field(c.name, c.dtype) for c in calls)))
            below = WindowFunctions(below, over.partition, over.order, tuple(calls), schema)
        return below

    def _all(self) -> dict[_Over, list[WindowCall]]:
        found = {over: list(calls) for over, calls in self._calls.items()}
        for (over, frame), grouping in self._groupings.items():
            for call in grouping.calls:
                own = self._of_columns(call)
                made = WindowCall("", (), 0, frame, False, own.name, own.dtype, own)
                found.setdefault(over, []).append(made)
        return found

    # -- PARTITION BY, ORDER BY and the frame

    def _columns(self, node: Node) -> Column | None:
        """The column a node is; None for a constant."""
        if not isinstance(node, ColumnRef):
            return None
        field = self._below.schema.find(node.name.text)
        assert field is not None
        return Column(field.name, field.dtype)

    def _partition(self, clause: WindowClause) -> tuple[str, ...]:
        columns = [self._columns(node) for node in clause.partitions]
        return tuple(dict.fromkeys(c.name for c in columns if c is not None))

    def _order(self, call: FunctionCall, clause: WindowClause) -> tuple[OrderKey, ...]:
        keys = [(self._columns(item.expression), item) for item in clause.order]
        found = [OrderKey(c.name, item.descending, item.nulls_last) for c, item in keys if c is not None]
        if not found and self._implied is not None and call.name.text.lower() in NEIGHBOURS:
            time = self._columns(self._implied)
            return () if time is None else (OrderKey(time.name, False, False),)
        for column, item in keys:
            if column is not None and column.dtype.is_nested():
                raise self._source.error("rows can't be ordered by a list or a struct", item.span, "Name a part of it.")
        return tuple(found)

    def _frame(self, clause: WindowClause, over: _Over) -> Frame:
        if clause.slide is not None or clause.active_expiration or clause.session is not None or clause.landmark:
            raise self._source.error(
                "SLIDE, ACTIVE EXPIRATION and SESSION go with a stream's own time only",
                clause.span,
                "Leave the other order and GROUP BY out, or put one of the two into a subquery in FROM.",
                UnsupportedError,
            )
        written = clause.frame
        if written is not None:
            if written.unit == "range":
                self._check_range(clause, over)
            if written.unit == "groups" and not over.order:
                raise self._source.error("GROUPS needs ORDER BY", written.span, "Write ORDER BY x GROUPS ....")
            low, high = (self._distance(end, written.unit, over) for end in (written.low, written.high))
            return Frame(written.unit, low, high)  # type: ignore[arg-type]  # the parser knows just these
        if clause.unbounded:
            return Frame("range" if clause.peers else "rows", None, 0)
        if clause.range is not None:
            unit = "rows" if clause.range.kind == "rows" else "range"
            return Frame("rows" if unit == "rows" else "range", -clause.range.value, 0)
        return UP_TO_PEERS if over.order else WHOLE_PARTITION

    def _check_range(self, clause: WindowClause, over: _Over) -> None:
        written = clause.frame
        assert written is not None
        distant = [end for end in (written.low, written.high) if end.distance is not None]
        if distant and len(over.order) != 1:
            raise self._source.error(
                "a RANGE with a distance needs one ORDER BY key",
                distant[0].span,
                "Order by one number or time, or count rows: ROWS BETWEEN 2 PRECEDING AND CURRENT ROW.",
            )

    def _distance(self, end: FrameEnd, unit: str, over: _Over) -> float | None:
        if end.unbounded:
            return None
        if end.distance is None:
            return 0
        value = end.distance.value if isinstance(end.distance, Constant) else None
        if unit == "range":
            return end.sign * self._span(end, value, over)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            hint = f"Write {unit.upper()} 2 PRECEDING, for example."
            raise self._source.error(f"{unit.upper()} takes a whole number that isn't negative", end.span, hint)
        return end.sign * value

    def _span(self, end: FrameEnd, value: object, over: _Over) -> float:
        """A distance between values of the order key."""
        column = self._below.schema.find(over.order[0].column)
        assert column is not None
        if isinstance(end.distance, Months):
            raise self._source.error(
                "months and years differ in length, so a RANGE can't be measured in them in this version",
                end.span,
                "Write days: RANGE BETWEEN INTERVAL 30 DAYS PRECEDING AND CURRENT ROW.",
                UnsupportedError,
            )
        if column.dtype.is_temporal() and isinstance(value, dt.timedelta):
            micros = value // dt.timedelta(microseconds=1)
            if micros >= 0:
                return micros
        elif isinstance(column.dtype, pl.Date) and isinstance(value, int):
            return value * 86_400_000_000
        elif column.dtype.is_numeric() and not isinstance(value, bool) and value is not None:
            try:
                number = float(str(value))
            except ValueError:
                number = -1.0
            if number >= 0:
                return int(number) if number.is_integer() else number
        kind = "a length of time" if column.dtype.is_temporal() else "a number"
        example = "INTERVAL 1 DAY" if column.dtype.is_temporal() else "10"
        if not (column.dtype.is_temporal() or column.dtype.is_numeric()):
            raise self._source.error(
                "a RANGE with a distance needs an ORDER BY key that is a number or a time",
                end.span,
                "Count rows instead: ROWS BETWEEN 2 PRECEDING AND CURRENT ROW.",
            )
        raise self._source.error(
            f"this RANGE takes {kind} that isn't negative, as its ORDER BY key is one",
            end.span,
            f"Write RANGE BETWEEN {example} PRECEDING AND CURRENT ROW.",
        )

    # -- window functions

    def _function(self, call: FunctionCall, over: _Over, frame: Frame) -> Expr:
        lower = call.name.text.lower()
        name = _SAME.get(lower, lower)
        if call.where is not None or call.distinct or call.order:
            raise self._source.error(
                f"{lower} can't be used with FILTER, DISTINCT or ORDER BY inside",
                call.span,
                "Filter in a subquery: SELECT ... FROM (SELECT ... WHERE ...).",
            )
        if name in _RANKS:
            if call.args:
                raise self._source.error(f"{name} takes no argument", call.args[0].span, f"Write {name}() OVER (...).")
            return self._added(WindowCall(name, (), 0, frame, False, "", _RANKS[name]), over)
        if name == "ntile":
            if len(call.args) != 1:
                raise self._wrong(call, name)
            return self._added(WindowCall(name, (), self._whole(call, 0, 1), frame, False, "", BIGINT), over)
        return self._of_value(call, name, over, frame)

    def _of_value(self, call: FunctionCall, name: str, over: _Over, frame: Frame) -> Expr:
        """Functions that give the value of another row."""
        most = 3 if name in ("lead", "lag") else 2
        least = 2 if name == "nth_value" else 1
        if not least <= len(call.args) <= most or isinstance(call.args[0], Star):
            raise self._wrong(call, name)
        binder = ExpressionBinder(self._source, InputNames(Scope(self._below, ()), self._source, f"{name}"))
        skips = call.ignore_nulls is not None
        value, number = binder.bind(call.args[0]), 1
        if name in ("first_value", "last_value") and len(call.args) == 2:
            skips = skips or constant_value(binder.bind(call.args[1])) is True
        elif len(call.args) > 1:
            number = self._whole(call, 1, 1 if name == "nth_value" else None)
        if number < 0:
            name, number = ("lag" if name == "lead" else "lead"), -number
        args = [value]
        if len(call.args) == 3:
            default = binder.bind(call.args[2])
            try:
                dtype = functions.resolve("coalesce", [value, default]).dtype
                args = [functions.cast(value, dtype), functions.cast(default, dtype)]
            except functions.BadArguments as bad:
                raise self._source.error(str(bad), call.args[2].span) from None
        columns = tuple(map(self._as_column, args))
        return self._added(WindowCall(name, columns, number, frame, skips, "", columns[0].dtype), over)

    def _whole(self, call: FunctionCall, at: int, least: int | None) -> int:
        node, name = call.args[at], call.name.text.lower()
        names = InputNames(Scope(self._below, ()), self._source, name)
        value = constant_value(ExpressionBinder(self._source, names).bind(node))
        if isinstance(value, bool) or not isinstance(value, int) or (least is not None and value < least):
            what = "whole number" if least is None else "whole number of at least 1"
            raise self._source.error(
                f"this argument of {name} must be a constant, a {what}", node.span, f"Write {_USAGE[name]}."
            )
        return value

    def _wrong(self, call: FunctionCall, name: str) -> QueryError:
        return self._source.error(
            f"{call.name.text.lower()} doesn't take these arguments", call.span, f"Write {_USAGE[name]}."
        )

    def _added(self, made: WindowCall, over: _Over) -> Column:
        calls = self._calls.setdefault(over, [])
        known = next((c for c in calls if replace(c, name="") == made), None)
        if known is None:
            known = replace(made, name=f"$over{self._count}")
            self._count += 1
            calls.append(known)
        return Column(known.name, known.dtype)

    # -- aggregates

    def _aggregate(self, call: FunctionCall, over: _Over, frame: Frame) -> Expr:
        name = call.name.text.lower()
        if declared(name) is not None:
            raise self._source.error(
                f"{call.name.text} is a user-defined aggregate, which takes its rows in order of time",
                call.span,
                f"Write {call.name.text}(...) OVER (ROWS 10 PRECEDING) over a stream, without ORDER BY.",
                UnsupportedError,
            )
        grouping = self._groupings.get((over, frame))
        if grouping is None:
            grouping = Grouping(Scope(self._below, ()), self._source, f"$frame{len(self._groupings)}_")
            grouping.window = OverWindow(rows=1)  # all rows are kept anyway, so any aggregate can be had
            self._groupings[over, frame] = grouping
        return grouping.aggregate(replace(call, window=None))

    def _of_columns(self, call: AggregateCall) -> AggregateCall:
        """An aggregate whose arguments are columns."""
        where = None if call.where is None else self._as_column(call.where)
        return replace(call, args=tuple(map(self._as_column, call.args)), where=where)

    def _as_column(self, expr: Expr) -> Column:
        if isinstance(expr, Column):
            return expr
        name = self._made.setdefault(expr, f"$arg{len(self._made)}")
        return Column(name, expr.dtype)


__all__ = ["Frames"]
