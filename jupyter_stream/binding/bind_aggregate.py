"""Aggregate queries: which calls, which groups, which window, and what may be said about a group."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Protocol

import polars as pl

from jupyter_stream import aggregates, functions
from jupyter_stream.aggregates.user import UserCall, declared
from jupyter_stream.binding.as_relation import entering, instead_of_on
from jupyter_stream.binding.bind_expression import ExpressionBinder
from jupyter_stream.binding.bind_ordered import bind_ordered
from jupyter_stream.binding.bind_several import check_together
from jupyter_stream.binding.bind_user_call import bind_user_call, version_for
from jupyter_stream.binding.bind_window import bind_window
from jupyter_stream.binding.elsewhere import about_arguments
from jupyter_stream.binding.event_time import need_a_time
from jupyter_stream.binding.join_extents import about_extent
from jupyter_stream.binding.join_windows import retimed
from jupyter_stream.binding.scope import Scope, lookup
from jupyter_stream.binding.text_columns import as_its_source_says
from jupyter_stream.binding.window_calls import said_of_window, window_call
from jupyter_stream.core.messages import TS, WINDOW_END, WINDOW_ID, WINDOW_START
from jupyter_stream.core.schema import TIMESTAMP, Field
from jupyter_stream.errors import QueryError, UnsupportedError
from jupyter_stream.functions import Call, Column, Expr, Literal
from jupyter_stream.functions.expression import show
from jupyter_stream.plan.lifetimes import holds_join
from jupyter_stream.plan.logical import AggregateCall, Filter
from jupyter_stream.plan.relations import only_tables
from jupyter_stream.plan.time_of import WINDOW_TIME
from jupyter_stream.syntax.inner_order import with_nulls_left_out
from jupyter_stream.syntax.nodes import ColumnRef, FunctionCall, Node, Star, Subselect, walk
from jupyter_stream.syntax.query_syntax import WindowClause
from jupyter_stream.syntax.source_text import Name, SourceText, Span
from jupyter_stream.windows import LifetimeWindow, Window, longest

_ENDS = "Write a window with an end: FROM stream [RANGE 10 MINUTES SLIDE 1 MINUTE]."
_ENDS_OVER = "Write a window with an end: OVER (RANGE 10 MINUTES PRECEDING)."
_UNBOUNDED = LifetimeWindow(None, written=False)

_IN_WINDOW = "a window's WHERE"

WINDOW_COLUMNS = {"window_start": WINDOW_START, "window_end": WINDOW_END, "window_id": WINDOW_ID, WINDOW_TIME: TS}
"""What can be said about the extent an answer is for."""


class InputNames:
    """Names before aggregation: the columns of FROM, and aliases of the select list written before.

    Args:
        scope: what FROM gives.
        source: the cell.
        clause: where the expression stands, for errors ("WHERE").
        aliases: values of aliases, which are seen where no column has the name (as in Spark).
    """

    def __init__(self, scope: Scope, source: SourceText, clause: str, aliases: dict[str, Expr] | None = None) -> None:
        self.scope = scope
        self.source = source
        self.clause = clause
        self.aliases = aliases if aliases is not None else {}

    def column(self, name: Name, qualifier: Name | None) -> Expr | None:
        """A column of FROM, or an alias."""
        check_qualifier(self.scope, qualifier, self.source)
        found = lookup(self.scope, name, qualifier, self.source)
        if found is None:
            found = about_extent(self.scope, name.text, None if qualifier is None else qualifier.text)
        if found is not None or qualifier is not None:
            return found
        if name.text.lower() in WINDOW_COLUMNS and self.scope.sliding:
            raise self.source.error(
                f"{name.text} can't be used in {self.clause}: it is a column of the answer",
                name.span,
                "Use it in the select list or in HAVING.",
            )
        return self.aliases.get(name.text.lower())

    def known(self) -> tuple[str, ...]:
        """Columns and aliases."""
        return (*named_columns(self.scope), *(name for name in self.aliases if not name.startswith("$")))

    def pseudo(self) -> tuple[str, ...]:
        """The time and the row number."""
        return self.scope.pseudo

    def aggregate(self, call: FunctionCall) -> Expr:
        """None may stand here."""
        hint = "Put conditions on aggregates into HAVING." if self.clause == "WHERE" else None
        if self.clause == _IN_WINDOW:
            hint = "It filters single rows.Put conditions on aggregates into HAVING."
        if self.clause == "an aggregate":
            hint = "Aggregate in a subquery first: SELECT max(n) FROM (SELECT count(*) AS n FROM ...)."
        raise self.source.error(f"an aggregate can't be used in {self.clause}", call.span, hint)

    def special(self, node: Node) -> Expr | None:
        """The value of a SELECT that stands for one."""
        return self.scope.values.get(node) if isinstance(node, Subselect) else None


def windowed(clause: WindowClause, scope: Scope, source: SourceText) -> Scope:
    """A FROM item under a window. The WHERE of a partitioned window stands below it: rows are numbered after it.

    Raises:
        QueryError: a mistake in the window.
        UnsupportedError: a kind of window that isn't available yet.
    """
    plan = entering(scope.plan, clause, source)
    scope = scope if plan is scope.plan else replace(scope, plan=plan)
    window = bind_window(clause, scope, source)
    if clause.where is not None:
        names = InputNames(replace(scope, window=None), source, _IN_WINDOW)
        plan = Filter(plan, ExpressionBinder(source, names).condition(clause.where, _IN_WINDOW), plan.schema)
    return replace(scope, plan=plan, window=window)


def named_columns(scope: Scope) -> tuple[str, ...]:
    """The columns people can name; those made up for the plan begin with a parenthesis."""
    return tuple(name for name in scope.schema.names if not name.startswith("("))


def check_qualifier(scope: Scope, qualifier: Name | None, source: SourceText) -> None:
    """Raise if a column is qualified with the name of something that isn't in FROM (and is no STRUCT column either)."""
    if qualifier is None or qualifier.text.lower() in scope.qualifiers or scope.schema.find(qualifier.text) is not None:
        return
    known = scope.qualifiers[0] if scope.qualifiers else None
    if len(scope.qualifiers) > 1:
        hint = f"FROM has {', '.join(scope.qualifiers)}."
    else:
        hint = f"FROM has {known} only." if known else "Give this part of FROM a name: FROM (...) AS a."
    raise source.error(f"{qualifier.text} isn't in FROM", qualifier.span, hint)


class Values(Protocol):
    """SELECTs that stand for values of each group."""

    def value(self, node: Subselect, bind: Callable[[Node], Expr]) -> Expr:
        """What one stands for; `bind` is for what it names of the query around it."""

    def is_value(self, column: str) -> bool:
        """Whether a column holds one."""


class Grouping:
    """An aggregate query while it is bound: names after aggregation.

    Args:
        scope: what FROM gives.
        source: the cell.
        prefix: what the aggregates' columns are called, a number behind it.
        group_values: where SELECTs that stand for values of each group are found; None where none may stand.
    """

    def __init__(
        self, scope: Scope, source: SourceText, prefix: str = "$agg", group_values: Values | None = None
    ) -> None:
        self.scope = scope
        self.group_values = group_values
        self.source = source
        self._prefix = prefix
        self.keys: list[tuple[str, Expr]] = []
        self.calls: list[AggregateCall] = []
        self._alike: dict[object, list[AggregateCall]] = {}  # by what most of them differ in
        self.user: list[UserCall] = []  # user-defined ones, whose rows are among `calls`
        self.user_columns: dict[object, Column] = {}
        self.user_place = Span(0, 0)
        self.aliases: dict[str, Expr] = {}
        self.window: Window = scope.window if scope.window is not None else _UNBOUNDED
        self._places: dict[str, Span] = {}
        self._windows: dict[WindowClause, Window] = {}  # where there are several
        self._over: dict[str, Window] = {}  # of each call, by its column

    # -- the window, which may stand behind an aggregate instead of in FROM

    def take_window(self, nodes: Iterable[Node], extra: Iterable[WindowClause] = ()) -> None:
        """Find the one window that is written behind aggregates or in GROUP BY, if any is."""
        clauses = list(extra)
        for node in nodes:
            calls = [p for p in walk(node) if isinstance(p, FunctionCall)]
            clauses += [c.window for c in calls if c.window is not None and not c.window.over]
        if not clauses:
            return
        first = clauses[0]
        if self.scope.window is None and any(other != first for other in clauses[1:]):
            self._take_windows(clauses, list(extra))
            return
        if self.scope.window is not None:
            raise self.source.error(
                "this query has two windows", first.span, "Write it in FROM or after the aggregate, not both."
            )
        self.scope = windowed(first, self.scope, self.source)
        self._check_on(self.scope.window, first)
        if self.scope.lifetime is not None:
            self.scope = retimed(self.scope)
        assert self.scope.window is not None
        self.window = self.scope.window

    def _check_on(self, window: Window | None, clause: WindowClause) -> None:
        """Raise for a window without SLIDE on another attribute than the one its rows live by."""
        own = None if window is None else window.lifetime
        if own is not None and own.on is not None and holds_join(self.scope.plan):
            raise self.source.error(
                f"a window over a join can't have ON {own.on}: its rows are kept by the time of the join",
                clause.span,
                instead_of_on(own.on),
                UnsupportedError,
            )

    def _take_windows(self, clauses: list[WindowClause], elsewhere: list[WindowClause]) -> None:
        """Different windows behind aggregates: their answers stand in one row."""
        if elsewhere:
            raise self.source.error(
                "this query has two windows",
                elsewhere[0].span,
                "Write all of them after the aggregates, or one in GROUP BY.",
            )
        scopes = [windowed(clause, self.scope, self.source) for clause in clauses]
        windows = [scope.window for scope in scopes if scope.window is not None]
        self._windows = dict(zip(clauses, windows, strict=True))
        self.window = longest(windows)
        for clause, window in self._windows.items():
            self._check_on(window, clause)
        check_together(self._windows, self.source)
        self.scope = replace(scopes[0], window=self.window)

    def _window_of(self, call: FunctionCall) -> Window:
        """The window an aggregate is over."""
        if not self._windows:
            return self.window
        if call.window is None:
            raise self._error(
                f"this query has several windows, and {call.name.text} doesn't say which one it uses",
                call,
                "Write the window after the aggregate: count(*) [RANGE 10 MINUTES SLIDE 1 MINUTE].",
            )
        return self._windows[call.window]

    def by_window(self) -> tuple[tuple[Window, tuple[AggregateCall, ...]], ...]:
        """The aggregates of each window, the longest window first."""
        found: dict[Window, list[AggregateCall]] = {self.window: []}
        for call in self.calls:
            found.setdefault(self._over.get(call.name, self.window), []).append(call)
        return tuple((window, tuple(calls)) for window, calls in found.items())

    def take_partition(self, own_sessions: bool = True) -> None:
        """Extents of partitions: their columns are grouping columns; sessions without PARTITION BY are each group's own.

        Args:
            own_sessions: unless this says that there is no GROUP BY.
        """
        if own_sessions:
            self.window = self.window.apart_by([(show(key).removeprefix("$"), key) for _, key in self.keys])
        if self.window.sliding:
            for column in self.window.partitioned_by:
                if all(column != key for _, key in self.keys):
                    self.keys.append((f"$key{len(self.keys)}", column))

    @property
    def slides(self) -> bool:
        """Whether answers are given extent by extent."""
        return self.window.sliding

    @property
    def window_dtype(self) -> pl.DataType:
        """The type of window_start and window_end."""
        if self.window.counts_rows:
            return pl.Int64()  # they are row numbers
        return self._time_dtype

    @property
    def _time_dtype(self) -> pl.DataType:
        if self.window.on is not None:
            field = self.scope.schema.find(self.window.on)
            if field is not None:
                return pl.Int64() if field.dtype.is_integer() else TIMESTAMP
        return self.scope.time.dtype

    def window_column(self, name: str) -> Column:
        """window_start, window_end, window_id or window_time as a column above the aggregate."""
        lower = name.lower()
        if lower == "window_id":
            return Column(WINDOW_ID, pl.Int64())
        return Column(WINDOW_COLUMNS[lower], self._time_dtype if lower == WINDOW_TIME else self.window_dtype)

    # -- names

    def column(self, name: Name, qualifier: Name | None) -> Expr | None:
        """A grouping column, something about the extent, a column of FROM (refused later unless grouped), or an alias."""
        check_qualifier(self.scope, qualifier, self.source)
        found = lookup(self.scope, name, qualifier, self.source)
        lower = name.text.lower()
        grouped = found is not None and any(found == key for _, key in self.keys)
        if qualifier is None and not grouped:
            if self.slides and lower in WINDOW_COLUMNS:
                return self.window_column(lower)
            if lower in self.aliases:
                return self.aliases[lower]
        if isinstance(found, Column):
            self._places[found.name] = name.span
            if found.name == TS and not grouped:
                raise self._ungrouped(name.span)
        return found

    def known(self) -> tuple[str, ...]:
        """Columns of FROM, and aliases."""
        return (*named_columns(self.scope), *self.aliases)

    def pseudo(self) -> tuple[str, ...]:
        """What can be said about the extent, the time and the row number."""
        return (*self.scope.pseudo, *WINDOW_COLUMNS) if self.slides else self.scope.pseudo

    def special(self, node: Node) -> Expr | None:
        """`window.start` and `window.end` of Spark, `window_time(window)`, and values of SELECTs."""
        if isinstance(node, Subselect):
            if node in self.scope.values or self.group_values is None:
                return self.scope.values.get(node)
            return self.group_values.value(node, self.bind_more)
        if not self.slides:
            return None
        if (
            isinstance(node, ColumnRef)
            and node.qualifier is not None
            and node.qualifier.text.lower() in ("window", "session_window")
        ):
            if "window" not in self.scope.qualifiers and node.name.text.lower() in ("start", "end"):
                return self.window_column(f"window_{node.name.text.lower()}")
            return None
        if isinstance(node, FunctionCall) and node.name.text.lower() == WINDOW_TIME:
            return self.window_column(WINDOW_TIME)
        said = said_of_window(node) if isinstance(node, FunctionCall) else None
        if said is None:
            return None
        self._check_same(said[1])
        return self.window_column(said[0])

    def _check_same(self, call: FunctionCall) -> None:
        """Raise if `TUMBLE_START(ts, ...)` isn't about this query's window."""
        clause = window_call(call, self.source, self.scope)
        own = None if clause is None else bind_window(clause, replace(self.scope, window=None), self.source)
        if own is None or not own.agrees(self.window):
            raise self._error(
                f"the window of this query is {self.window}, and {self.source.slice(call.name.span)} names another one",
                call,
                "Write the same lengths as in GROUP BY, or use window_start and window_end.",
            )

    def aggregate(self, call: FunctionCall) -> Expr:
        """The column of an aggregate's answer; equal calls share one."""
        if call.window is not None and call.window.over:
            raise self.source.error(
                "OVER can't be used in a query with GROUP BY or plain aggregates",
                call.window.span,
                "Put one of them into a subquery: SELECT ... FROM (SELECT ...).",
                UnsupportedError,
            )
        name = call.name.text.lower()
        own = declared(name)
        version = None if own is None else version_for(own, self.window)
        if version is not None:
            if call.order:
                raise self._error(
                    f"{call.name.text} takes its rows in order of time, so ORDER BY can't stand in it",
                    call,
                    "Leave it out.",
                )
            need_a_time(self.scope, call.span, self.source)
            if len(set(self._windows.values())) > 1:
                raise self._error(
                    f"user-defined aggregates such as {call.name.text} aren't available with several windows in this version",
                    call,
                    "Write one query for each window.",
                    UnsupportedError,
                )
            call = with_nulls_left_out(call, None)
            where = self._input("FILTER").condition(call.where, "FILTER") if call.where is not None else None
            return bind_user_call(self, call, version, where)
        function = aggregates.find(name)
        if function is None:
            if functions.has(name):
                raise self._error(
                    f"ORDER BY, FILTER and windows go with aggregates only, and {name} is not one",
                    call,
                    "Put the window after the stream in FROM, and FILTER's condition into WHERE.",
                )
            return ExpressionBinder(self.source, self).call(call.name.text, [], call)  # it says what is wrong
        call = with_nulls_left_out(call, function.name)
        where = self._input("FILTER").condition(call.where, "FILTER") if call.where is not None else None
        if function.by_time:
            need_a_time(self.scope, call.span, self.source)
        return bind_ordered(self, function, call, where) if call.order else self.plain(function, call, where)

    def plain(self, function: aggregates.AggregateFunction, call: FunctionCall, where: Expr | None) -> Expr:
        """The column of the answer of an aggregate without ORDER BY inside."""
        arguments = list(call.args)
        if len(arguments) == 1 and isinstance(arguments[0], Star):
            if function.name != "count" or call.distinct:
                raise self._error("* can be used with count only", call, f"Name a column: {function.name}(x).")
            arguments = []
        elif not arguments:
            raise self._error(f"{function.name} needs an argument", call, f"Usage: {function.signature}.")
        binder = self._input("an aggregate")
        args = [binder.bind(argument) for argument in arguments]
        try:
            types, dtype = function.resolve(tuple(a.dtype for a in args), call.distinct)
            args = [functions.cast(a, t) for a, t in zip(args, types, strict=True)]
        except functions.BadArguments as bad:
            usage = (
                about_arguments(call.name.text, call, self.source)
                or as_its_source_says(self.scope, arguments)
                or f"Usage: {function.signature}."
            )
            raise self._error(str(bad), call, usage) from None
        parameters: tuple[object, ...] = ()
        if function.constant_from is not None:
            rest = list(zip(arguments, args, strict=True))[function.constant_from :]
            parameters = tuple(self.parameter(function.name, a, e) for a, e in rest)
            args = args[: function.constant_from]
        try:
            function.form(types, call.distinct, parameters)
        except aggregates.BadArguments as bad:
            at = call if function.constant_from is None else arguments[function.constant_from]
            raise self._error(str(bad), at, f"For example {function.example}.") from None
        self.check_kept(function, call)
        if function.name == "count_if":
            args, where = [], args[0] if where is None else functions.resolve("and", [where, args[0]])
        name = aggregates.KEPT_AS.get(function.name, function.name)
        if (
            function.name == "count"
            and not call.distinct
            and args
            and isinstance(args[0], Literal)
            and args[0].value is not None
        ):
            args = []  # count(1) counts rows
        return self.add(AggregateCall(name, tuple(args), "", dtype, call.distinct, where, parameters), call)

    def check_kept(self, function: aggregates.AggregateFunction, call: FunctionCall) -> None:
        """Raise if an aggregate would keep all rows of a window that has no end."""
        window = self._window_of(call)
        all_kept = function.algebra == "holistic" and function.differential == "not"
        if all_kept and window.keeps_all and not only_tables(self.scope.plan):
            raise self._error(
                f"{call.name.text} keeps every row of its window, and this window has no end",
                call,
                _ENDS_OVER if window.passes_rows else _ENDS,
            )

    def add(self, made: AggregateCall, call: FunctionCall) -> Expr:
        """The column of an aggregate's answer, which gets its name here; equal calls share one."""
        window = self._window_of(call)
        alike = self._alike.setdefault((made.function, made.args, made.where), [])
        for known in alike:
            if self._over.get(known.name, self.window) == window and replace(known, name="") == made:
                return Column(known.name, known.dtype)
        named = replace(made, name=self.next_name())
        self.put(named, window)
        alike.append(named)
        return Column(named.name, named.dtype)

    def put(self, named: AggregateCall, window: Window) -> None:
        """One more aggregate, over a window."""
        self.calls.append(named)
        self._over[named.name] = window

    def next_name(self) -> str:
        """The name of one more aggregate's column."""
        return f"{self._prefix}{len(self.calls)}"

    def argument(self, node: Node) -> Expr:
        """An argument of an aggregate, over columns of FROM."""
        return self._input("an aggregate").bind(node)

    @property
    def fields(self) -> tuple[Field, ...]:
        """The aggregates' columns as queries see them."""
        own = {c.column: c.dtype for c in self.user}
        return tuple(Field(c.name, own.get(c.name, c.dtype)) for c in self.calls)

    def parameter(self, function: str, node: Node, bound: Expr) -> object:
        """A constant argument's value."""
        value = constant_value(bound)
        if value is _UNKNOWN:
            raise self._error(
                f"this argument of {function} must be a constant", node, "Write a number, or pass a parameter."
            )
        return value

    def _input(self, clause: str) -> ExpressionBinder:
        return ExpressionBinder(self.source, InputNames(self.scope, self.source, clause))

    # -- what may be said about a group

    def bind(self, node: Node) -> Expr:
        """An expression over a group: grouping columns, aggregates, the extent.

        Raises:
            QueryError: it names a column that is neither grouped nor aggregated.
        """
        return self.over_groups(self.bind_input(node), node)

    def bind_input(self, node: Node) -> Expr:
        """The same before grouping columns are put in: over columns of FROM, aggregates' answers and the extent."""
        self._places.clear()
        return ExpressionBinder(self.source, self).bind(node)

    def bind_item(self, node: Node) -> Expr:
        """The same of a select item, where a column goes before an alias of its name if it is one of what is grouped by."""
        names = {n.name.text.lower() for n in walk(node) if isinstance(n, ColumnRef) and n.qualifier is None}
        if not any(name in self.aliases and self.scope.has(name) for name in names):
            return self.bind_input(node)
        aliases, self.aliases = self.aliases, {}
        try:
            made = self.bind_input(node)
            self.over_groups(made, node)
            return made
        except QueryError:
            pass
        finally:
            self.aliases = aliases
        return self.bind_input(node)

    def bind_more(self, node: Node) -> Expr:
        """The same of an expression inside another that is being bound."""
        return self.over_groups(ExpressionBinder(self.source, self).bind(node), node)

    def condition(self, node: Node, clause: str) -> Expr:
        """The same for HAVING."""
        self._places.clear()
        bound = ExpressionBinder(self.source, self).condition(node, clause)
        return self.over_groups(bound, node)

    def over_groups(self, bound: Expr, node: Node) -> Expr:
        """Put grouping columns in; complain of columns that are left over."""
        for name, key in self.keys:
            if bound == key:
                return Column(name, key.dtype)
        if isinstance(bound, Call):
            return Call(bound.function, tuple(self.over_groups(a, node) for a in bound.args), bound.dtype)
        if isinstance(bound, Column) and not self._is_output(bound.name):
            raise self._ungrouped(self._places.get(bound.name, node.span))
        return bound

    def _ungrouped(self, place: Span) -> QueryError:
        shown = self.source.slice(place)
        hint = f"Add it to GROUP BY, or wrap it, e.g. first({shown})."
        return self.source.error(f"{shown} is neither grouped nor aggregated", place, hint)

    def _is_output(self, name: str) -> bool:
        if name in (WINDOW_START, WINDOW_END, WINDOW_ID) or name in self._over:
            return True
        return (name == TS and self.slides) or (self.group_values is not None and self.group_values.is_value(name))

    def _error(
        self, message: str, node: Node, hint: str | None = None, kind: type[QueryError] = QueryError
    ) -> QueryError:
        return self.source.error(message, node.span, hint, kind)


class _Unknown:
    """No constant."""


_UNKNOWN = _Unknown()


def constant_value(expr: Expr) -> object:
    """The value of an expression that has no columns, as far as aggregates' parameters need; `_UNKNOWN` otherwise."""
    if isinstance(expr, Literal):
        return expr.value
    if isinstance(expr, Call) and len(expr.args) == 1:
        inner = constant_value(expr.args[0])
        if expr.function == "neg" and isinstance(inner, int | float):
            return -inner
        if expr.function == "cast" and isinstance(inner, int | float) and expr.dtype.is_numeric():
            return float(inner) if expr.dtype.is_float() else int(inner)
        if (
            expr.function == "cast"
            and isinstance(inner, str | dt.date | dt.timedelta)
            and expr.dtype == expr.args[0].dtype
        ):
            return inner
    return _UNKNOWN
