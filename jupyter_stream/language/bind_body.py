"""The body of a user-defined aggregate, from what is written to what is run [esl]: places for everything it reads.

Names are looked for in the tables of FROM, then in those of the statement around it, then among the parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import polars as pl

from jupyter_stream import functions
from jupyter_stream.aggregates.user.body import (
    FIRST_PLACE,
    RETURN,
    WINDOW,
    Action,
    Body,
    DeleteRows,
    InsertRows,
    InsertSelect,
    Oldest,
    Read,
    SelectRows,
    Subquery,
    UpdateRows,
)
from jupyter_stream.core.schema import Field, Schema, type_name
from jupyter_stream.errors import QueryError, UnsupportedError
from jupyter_stream.functions import Call, Column, Expr
from jupyter_stream.functions import Literal as Value
from jupyter_stream.functions.expression import columns as columns_of
from jupyter_stream.functions.types import common_type, instance
from jupyter_stream.language.bind_expression import ExpressionBinder
from jupyter_stream.language.body_names import BodyTable, GroupedNames, Level, Names, all_reads
from jupyter_stream.language.diagnose import did_you_mean
from jupyter_stream.language.nodes import ColumnRef, FieldOf, Node, Star
from jupyter_stream.language.query_syntax import FromItem, JoinRef, QueryBody, SelectBody, SetBody, StreamRef
from jupyter_stream.language.source_text import Name, SourceText, Span
from jupyter_stream.language.syntax import BodyDelete, BodyInsert, BodyStatement, BodyUpdate, CreateAggregate, TypedName

INWINDOW = "inwindow"
_NEVER = "Write INSERT INTO RETURN VALUES (...) into one of its states."


def bind_body(statement: CreateAggregate, types: Sequence[pl.DataType]) -> Body:
    """The body for arguments of these types.

    Raises:
        QueryError: a mistake in it, with its place.
        UnsupportedError: something a body can't hold.
    """
    return _Body(statement, types).bind()


class _Body:
    """Binds one body."""

    def __init__(self, statement: CreateAggregate, types: Sequence[pl.DataType]) -> None:
        self.statement = statement
        self.source: SourceText = statement.source
        self.parameters = Schema(tuple(Field(p.name.text, t) for p, t in zip(statement.parameters, types, strict=True)))
        self.places = FIRST_PLACE + len(self.parameters)
        self.values: list[Subquery | Oldest] = []
        self.window: BodyTable | None = None
        self.tables: dict[str, BodyTable] = {}
        self._own: list[tuple[str, Schema]] = []
        self._returned: list[tuple[list[tuple[str | None, Expr]], list[Span], Span]] = []
        self.state = ""

    def bind(self) -> Body:
        statement = self.statement
        for table in statement.tables:
            self._declare(table.name, table.columns)
        states = {name: self._actions(name, written) for name, written in statement.states.items()}
        dtype, struct = self._result()
        states = {n: tuple(self._cast_returned(a, dtype, struct) for a in actions) for n, actions in states.items()}
        expire = states.get("expire")
        return Body(
            statement.name.text,
            tuple(f.dtype for f in self.parameters),
            dtype,
            struct,
            tuple(self._own),
            self.window is not None,
            self.places,
            tuple(self.values),
            # without INITIALIZE the first row is a row like the others, without ITERATE the later ones say nothing
            states.get("initialize", states.get("iterate", ())),
            states.get("iterate", ()),
            states.get("terminate", ()),
            expire,
        )

    # -- tables

    def _declare(self, name: Name, columns: Sequence[TypedName]) -> None:
        lower = name.text.lower()
        if lower in self.tables:
            raise self.source.error(f"two tables are called {name.text}", name.span)
        fields: list[Field] = []
        if lower == INWINDOW:
            if len(columns) != len(self.parameters):
                raise self.source.error(
                    f"inwindow has {len(columns)} columns, and the aggregate {len(self.parameters)} parameters",
                    name.span,
                    "It holds the arguments of the rows in the window: one column for each.",
                )
            for column, parameter in zip(columns, self.parameters, strict=True):
                dtype = column.dtype
                written = column.name
                if dtype is not None and dtype != parameter.dtype:
                    raise self.source.error(
                        f"{written.text} is {type_name(dtype)}, and {parameter.name} is {type_name(parameter.dtype)}",
                        written.span,
                        "The columns of inwindow have the types of the parameters.",
                    )
                fields.append(Field(written.text, parameter.dtype))
            self.window = self.tables[lower] = BodyTable(WINDOW, name.text, Schema(tuple(fields)))
            return
        for column in columns:
            written, dtype = column.name, column.dtype
            if dtype is None:
                raise self.source.error(
                    f"the type of {written.text} is missing", written.span, f"Write {written.text} DOUBLE, for example."
                )
            fields.append(Field(written.text, dtype))
        table = BodyTable(len(self._own), name.text, Schema(tuple(fields)))
        self._own.append((table.name, table.schema))
        self.tables[lower] = table

    def _table(self, name: Name) -> BodyTable:
        table = self.tables.get(name.text.lower())
        if table is None:
            if name.text.upper() == "RETURN":
                raise self.source.error("RETURN is only written to", name.span)
            if name.text.lower() == INWINDOW:
                hint = "Declare it before the states: TABLE inwindow (x DOUBLE);"
            elif self.tables:
                hint = did_you_mean(name.text, [t.name for t in self.tables.values()], "tables of this aggregate") or ""
            else:
                hint = f"Declare it before the states: TABLE {name.text} (a DOUBLE);"
            raise self.source.error(f"this aggregate has no table called {name.text}", name.span, hint or None)
        return table

    def read(self, table: BodyTable) -> Read:
        """Places for the rows of a table."""
        made = Read(table.number, self.places, len(table.schema))
        self.places += len(table.schema)
        return made

    def place(self, dtype: pl.DataType) -> tuple[int, Column]:
        """One more place."""
        self.places += 1
        return self.places - 1, Column(f"#{self.places - 1}", dtype)

    def value(self, value: Subquery | Oldest, dtype: pl.DataType) -> Column:
        """A column for what a subquery gives."""
        self.values.append(value)
        return Column(f"@{len(self.values) - 1}", dtype)

    # -- statements

    def _actions(self, state: str, written: Sequence[BodyStatement]) -> tuple[Action, ...]:
        self.state = state
        return tuple(a for s in written for a in self._action(s))

    def _action(self, statement: BodyStatement) -> list[Action]:
        match statement:
            case BodyInsert():
                return self._insert(statement)
            case BodyUpdate():
                return [self._update(statement)]
            case BodyDelete():
                table = self._table(statement.table)
                level = Level()
                read = self.read(table)
                level.reads.append((table, table.name.lower(), read))
                spares = table.number == WINDOW and self.state in ("initialize", "iterate")
                return [DeleteRows(read, self._where(statement.where, level), spares)]

    def _insert(self, statement: BodyInsert) -> list[Action]:
        name = statement.table
        into_return = name.text.upper() == "RETURN"
        table = None if into_return else self._table(name)
        if table is not None and table.number == WINDOW:
            raise self.source.error(
                "the system puts rows into inwindow itself", name.span, "Rows can be deleted from it, and read."
            )
        number = RETURN if table is None else table.number
        if statement.select is not None:
            return [self._insert_select(statement, table, part) for part in _parts(statement.select, self.source)]
        level = Level()
        binder = self.binder(level, "VALUES")
        rows = []
        for written in statement.rows:
            given = [(None, binder.bind(node)) for node in written]
            spans = [node.span for node in written]
            rows.append(self._fit(statement, table, given, spans, written[0].span.to(written[-1].span)))
        return [InsertRows(number, tuple(rows), self._where(statement.where, level))]

    def _insert_select(self, statement: BodyInsert, table: BodyTable | None, body: SelectBody) -> InsertSelect:
        made, named = self.select(body, Level())
        spans = [i.span for i in body.items] if len(body.items) == len(named) else [body.span] * len(named)
        items = self._fit(statement, table, named, spans, body.span)
        number = RETURN if table is None else table.number
        return InsertSelect(number, _with_items(made, items))

    def _fit(
        self,
        statement: BodyInsert,
        table: BodyTable | None,
        given: Sequence[tuple[str | None, Expr]],
        spans: list[Span],
        span: Span,
    ) -> tuple[Expr, ...]:
        """Values in the order and of the types of the table's columns; those for RETURN are cast when all are known."""
        if table is None:
            names = [n for n, _ in given]
            if statement.columns is not None:
                if len(statement.columns) != len(given):
                    raise self._count(len(given), len(statement.columns), span)
                names = [n.text for n in statement.columns]
            self._returned.append(([(n, e) for n, (_, e) in zip(names, given, strict=True)], spans, span))
            return tuple(e for _, e in given)
        wanted = list(table.schema)
        if statement.columns is not None:
            wanted = []
            for name in statement.columns:
                known = table.schema.find(name.text)
                if known is None:
                    hint = did_you_mean(name.text, table.schema.names, "columns")
                    raise self.source.error(f"{table.name} has no column called {name.text}", name.span, hint)
                wanted.append(known)
        if len(wanted) != len(given):
            raise self._count(len(given), len(wanted), span)
        by_name = {f.name: self.cast(e, f.dtype, f.name, s) for f, (_, e), s in zip(wanted, given, spans, strict=True)}
        return tuple(by_name.get(f.name, Value(None, f.dtype)) for f in table.schema)

    def _count(self, given: int, wanted: int, span: Span) -> QueryError:
        plural = "s" * (wanted != 1)
        return self.source.error(f"{given} value{'s' * (given != 1)} for {wanted} column{plural}", span)

    def cast(self, expr: Expr, dtype: pl.DataType, what: str, span: Span) -> Expr:
        """A value as a column's type."""
        try:
            return functions.cast(expr, dtype)
        except functions.BadArguments as bad:
            raise self.source.error(f"{what} is {type_name(dtype)}: {bad.message}", span) from None

    def _update(self, statement: BodyUpdate) -> UpdateRows:
        table = self._table(statement.table)
        if table.number == WINDOW:
            raise self.source.error("the rows of inwindow are what came", statement.table.span, "They can be deleted.")
        read = self.read(table)
        level = Level([(table, table.name.lower(), read)])
        binder = self.binder(level, "SET")
        made: dict[int, Expr] = {}
        for name, node in statement.assignments:
            known = table.schema.find(name.text)
            if known is None:
                hint = did_you_mean(name.text, table.schema.names, "columns")
                raise self.source.error(f"{table.name} has no column called {name.text}", name.span, hint)
            at = table.schema.names.index(known.name)
            if at in made:
                raise self.source.error(f"{known.name} is set twice", name.span)
            made[at] = self.cast(binder.bind(node), known.dtype, known.name, node.span)
        return UpdateRows(read, tuple(made.items()), self._where(statement.where, level))

    def _where(self, node: Node | None, level: Level) -> Expr | None:
        return None if node is None else self.binder(level, "WHERE").condition(node, "WHERE")

    def binder(self, level: Level, clause: str) -> ExpressionBinder:
        """Binds expressions of a statement."""
        return ExpressionBinder(self.source, Names(self, level, clause))

    # -- SELECT

    def select(self, body: SelectBody, level: Level) -> tuple[SelectRows, list[tuple[str | None, Expr]]]:
        """A SELECT, and its items with the names they have."""
        self._refuse(body)
        self._from(body.source, level)
        conditions = self._where(body.where, level)
        on = self._on(body.source, level)
        for condition in on:
            conditions = condition if conditions is None else functions.resolve("and", [conditions, condition])
        names = GroupedNames(self, level)
        binder = ExpressionBinder(self.source, names)
        for node in body.group_by:
            key = self.binder(level, "GROUP BY").bind(node)
            names.keys.append((*self.place(key.dtype), key))
        items: list[tuple[str | None, Expr]] = []
        spans: list[Span] = []
        for item in body.items:
            if isinstance(item.expression, Star):
                for table, _, read in level.reads:
                    for i, f in enumerate(table.schema):
                        items.append((f.name, Column(f"#{read.place + i}", f.dtype)))
                        spans.append(item.span)
                continue
            alias = item.alias.text if item.alias is not None else _plain_name(item.expression)
            items.append((alias, binder.bind(item.expression)))
            spans.append(item.span)
        having = None
        if body.having is not None:
            having = binder.condition(body.having, "HAVING")
        grouped = bool(names.folded or names.keys)
        if body.having is not None and not grouped:
            raise self.source.error("HAVING needs GROUP BY or an aggregate", body.having.span)
        if grouped:
            items = [(n, names.over_groups(e, s)) for (n, e), s in zip(items, spans, strict=True)]
            having = None if having is None or body.having is None else names.over_groups(having, body.having.span)
        keys = tuple((place, key) for place, _, key in names.keys)
        reads = tuple(read for _, _, read in level.reads)
        made = SelectRows(
            reads, conditions, keys, tuple(names.folded), grouped, having, tuple(e for _, e in items), body.distinct is not None
        )  # fmt: skip
        return made, items

    def _refuse(self, body: SelectBody) -> None:
        if body.operator is not None:
            raise self.source.error("a body reads tables, not streams", body.operator.span)
        if body.group_all:
            raise self.source.error("GROUP BY ALL isn't available in a body", body.span, None, UnsupportedError)

    def _from(self, item: FromItem, level: Level) -> None:
        if item.window is not None:
            raise self.source.error("a window stands behind a stream, and this is a table", item.window.span)
        if isinstance(item, JoinRef) and item.kind == "inner" and not item.using:
            for part in item.parts:
                self._from(part, level)
            return
        if not isinstance(item, StreamRef) or item.function is not None:
            raise self.source.error(
                "a SELECT in a body reads the body's tables, one or several with commas",
                item.span,
                None,
                UnsupportedError,
            )
        table = self._table(item.name)
        qualifier = (item.alias or item.name).text.lower()
        if any(q == qualifier for _, q, _ in level.reads):
            raise self.source.error(
                f"{item.name.text} stands twice in FROM",
                item.span,
                "Give one of them another name: FROM t AS a, t AS b.",
            )
        level.reads.append((table, qualifier, self.read(table)))

    def _on(self, item: FromItem, level: Level) -> list[Expr]:
        if not isinstance(item, JoinRef):
            return []
        found = [e for part in item.parts for e in self._on(part, level)]
        if item.on is not None:
            found.append(self.binder(level, "ON").condition(item.on, "ON"))
        return found

    def subquery(
        self, kind: Literal["exists", "value", "in"], body: QueryBody, level: Level, value: Expr | None, span: Span
    ) -> Column:
        """A SELECT inside an expression."""
        (part,) = parts = _parts(body, self.source)
        assert len(parts) == 1
        outside = self.places
        inner = Level(outer=level)
        made, items = self.select(part, inner)
        if kind != "exists" and len(items) != 1:
            raise self.source.error(f"this SELECT has {len(items)} columns, and one is wanted", span)
        dtype: pl.DataType = pl.Boolean() if kind != "value" else items[0][1].dtype
        if kind == "in" and value is not None:
            compared = functions.resolve("=", [value, items[0][1]])
            assert isinstance(compared, Call)
            value = compared.args[0]
            made = _with_items(made, (compared.args[1],))
        rows = {p for table, _, read in all_reads(level) for p in range(read.place, read.place + len(table.schema))}
        once = not any(p in rows for p in self._places_in(made, value)) and outside <= self.places
        return self.value(Subquery(kind, made, once, value), dtype)

    def _places_in(self, select: SelectRows, value: Expr | None) -> set[int]:
        """Places a SELECT reads, those of SELECTs inside it among them."""
        exprs = [e for e in (select.where, select.having, value, *select.items, *(k for _, k in select.keys)) if e]
        for folded in select.folded:
            exprs += [*folded.args, *([folded.where] if folded.where is not None else [])]
        found: set[int] = set()
        for name in {n for e in exprs for n in columns_of(e)}:
            number = int(name[1:])
            if name[0] == "#":
                found.add(number)
            elif isinstance(inner := self.values[number], Subquery):
                found |= self._places_in(inner.select, inner.value)
        return found

    # -- what is returned

    def _result(self) -> tuple[pl.DataType, bool]:
        """The result's type, and whether it is a STRUCT of RETURN's columns."""
        declared_type = self.statement.returns
        if not self._returned:
            raise self.source.error(
                f"{self.statement.name.text} never returns anything", self.statement.name.span, _NEVER
            )
        if isinstance(declared_type, pl.Struct):
            return declared_type, True
        if declared_type is not None:
            return declared_type, False
        first, _, _ = self._returned[0]
        for given, _, span in self._returned:
            if len(given) != len(first):
                raise self.source.error(f"RETURN has {len(first)} columns elsewhere, and {len(given)} here", span)
        types: list[pl.DataType] = []
        for i in range(len(first)):
            found = common_type(given[i][1].dtype for given, _, _ in self._returned)
            if found is None:
                raise self.source.error(
                    "what is returned has different types",
                    self._returned[-1][2],
                    "Say which one behind the parameters: f (x) : DOUBLE.",
                )
            types.append(found)
        if len(types) == 1:
            return types[0], False
        named = [[g[i][0] for g, _, _ in self._returned] for i in range(len(first))]
        names = [next((n for n in found if n), f"col{i + 1}") for i, found in enumerate(named)]
        return pl.Struct([pl.Field(n, t) for n, t in zip(names, types, strict=True)]), True

    def _cast_returned(self, action: Action, dtype: pl.DataType, struct: bool) -> Action:
        if not isinstance(action, InsertRows | InsertSelect) or action.table != RETURN:
            return action
        types = [instance(f.dtype) for f in dtype.fields] if struct and isinstance(dtype, pl.Struct) else [dtype]
        lists = action.rows if isinstance(action, InsertRows) else (action.select.items,)
        made = []
        for row in lists:
            spans, whole = self._spans(row)
            if len(row) != len(types):
                raise self._count(len(row), len(types), whole)
            made.append(tuple(self.cast(e, t, "the result", s) for e, t, s in zip(row, types, spans, strict=True)))
        if isinstance(action, InsertRows):
            return InsertRows(RETURN, tuple(made), action.where)
        return InsertSelect(RETURN, _with_items(action.select, made[0]))

    def _spans(self, row: tuple[Expr, ...]) -> tuple[list[Span], Span]:
        for given, spans, whole in self._returned:
            if tuple(e for _, e in given) == row:
                return spans, whole
        span = self.statement.name.span
        return [span] * len(row), span


def _with_items(select: SelectRows, items: tuple[Expr, ...]) -> SelectRows:
    return SelectRows(
        select.reads, select.where, select.keys, select.folded, select.grouped, select.having, items, select.distinct
    )


def _parts(body: QueryBody, source: SourceText) -> tuple[SelectBody, ...]:
    """The SELECTs of an INSERT, those of a UNION ALL one after the other."""
    if isinstance(body, SelectBody):
        return (body,)
    if isinstance(body, SetBody) and body.all and body.operator.text in ("UNION", "∪"):
        return tuple(p for part in body.parts for p in _parts(part, source))
    raise source.error("only UNION ALL puts SELECTs together in a body", body.span, None, UnsupportedError)


def _plain_name(node: Node) -> str | None:
    if isinstance(node, ColumnRef):
        return node.name.text
    return node.name.text if isinstance(node, FieldOf) else None
