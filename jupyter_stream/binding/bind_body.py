"""The body of a user-defined aggregate, from what is written to what is run [esl]: places for everything it reads.

Names are looked for in the tables of FROM, then in those of the statement around it, then among the parameters.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import polars as pl

from jupyter_stream import functions
from jupyter_stream.aggregates.user.body import (
    FIRST_PLACE,
    RETURN,
    WINDOW,
    Action,
    Body,
    BodyOrder,
    Chance,
    DeleteRows,
    DerivedRows,
    InsertRows,
    InsertSelect,
    Oldest,
    PairedRows,
    Read,
    SelectRows,
    SetRows,
    Source,
    Subquery,
    UpdateRows,
)
from jupyter_stream.binding.bind_expression import ExpressionBinder
from jupyter_stream.binding.body_clauses import columns_of_star, grouping_keys, refuse_clauses
from jupyter_stream.binding.body_from import bind_source, select_of_set
from jupyter_stream.binding.body_names import BodyNames, GroupedNames, Level, NamedTable, all_reads
from jupyter_stream.binding.body_stored import STORED, FindTable, renumbered
from jupyter_stream.core.schema import Field, Schema, type_name
from jupyter_stream.core.table import TableRows
from jupyter_stream.errors import QueryError
from jupyter_stream.functions import Call, Column, Expr
from jupyter_stream.functions import Literal as Value
from jupyter_stream.functions.expression import columns as columns_of
from jupyter_stream.functions.expression import walk
from jupyter_stream.functions.types import common_type, instance
from jupyter_stream.syntax.diagnose import did_you_mean
from jupyter_stream.syntax.nodes import ColumnRef, Constant, FieldOf, Node, Star
from jupyter_stream.syntax.query_syntax import (
    FromItem,
    QueryBody,
    SelectBody,
    SetBody,
)
from jupyter_stream.syntax.source_text import Name, SourceText, Span
from jupyter_stream.syntax.syntax import (
    INWINDOW,
    BodyDelete,
    BodyInsert,
    BodyStatement,
    BodyUpdate,
    CreateAggregate,
    TypedName,
)

_COMPARISONS = frozenset({"=", "<>", "<", "<=", ">", ">=", "<=>", "in", "like", "ilike", "rlike"})
_NEVER = "Write INSERT INTO RETURN VALUES (...) in one of its states."


def bind_body(statement: CreateAggregate, types: Sequence[pl.DataType], find: FindTable = lambda name: None) -> Body:
    """The body for arguments of these types.

    Args:
        statement: as written.
        types: of the arguments.
        find: gives the session's table of a name; None where there is none.

    Raises:
        QueryError: a mistake in it, with its place.
        UnsupportedError: something a body can't hold.
    """
    return _Body(statement, types, find).bind()


class _Body:
    """Binds one body."""

    def __init__(self, statement: CreateAggregate, types: Sequence[pl.DataType], find: FindTable) -> None:
        self.statement = statement
        self._find = find
        self.stored: dict[str, tuple[str, TableRows]] = {}
        self.writes: list[str] = []
        self.again: NamedTable | None = None
        self.source: SourceText = statement.source
        self.parameters = Schema(tuple(Field(p.name.text, t) for p, t in zip(statement.parameters, types, strict=True)))
        self.places = FIRST_PLACE + len(self.parameters)
        self.values: list[Subquery | Oldest | Chance] = []
        self.window: NamedTable | None = None
        self.tables: dict[str, NamedTable] = {}
        self._own: list[tuple[str, Schema]] = []
        self._returned: list[tuple[list[tuple[str | None, Expr]], list[Span], Span]] = []
        self.state = ""

    def bind(self) -> Body:
        statement = self.statement
        self._check_references()
        for table in statement.tables:
            self._declare(table.name, table.columns)
        states = {name: self._actions(name, written) for name, written in statement.states.items()}
        if "iterate" in states and statement.states.get("initialize") == statement.states["iterate"]:
            states["initialize"] = states["iterate"]  # bound twice, what is read has other places
        dtype, struct = self._result()
        states = {n: tuple(self._cast_returned(a, dtype, struct) for a in actions) for n, actions in states.items()}
        # the session's tables are numbered behind its own, of which there may be more by now
        shift = len(self._own) - STORED
        states = {n: tuple(renumbered(a, shift) for a in actions) for n, actions in states.items()}
        self.values = [renumbered(v, shift) for v in self.values]
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
            self._lines(),
            tuple(table for _, table in self.stored.values()),
            tuple(self.writes),
            None if self.again is None else self.again.number,
            tuple(name for name, _ in self.stored.values()),
        )

    def _lines(self) -> dict[str, tuple[int, ...]]:
        """Of each state, the lines its actions stand on in the declaration's text."""
        text, start = self.statement.source.text, self.statement.span.start
        return {
            name: tuple(
                text.count("\n", start, s.span.start) + 1 for s in written for _ in range(_number_of_actions(s))
            )
            for name, written in self.statement.states.items()
        }

    # -- tables

    def _declare(self, name: Name, columns: Sequence[TypedName]) -> None:
        lower = name.text.lower()
        if lower in self.tables:
            raise self.source.error(f"two tables are called {name.text}", name.span, "Give one of them another name.")
        fields: list[Field] = []
        if lower == INWINDOW:
            if len(columns) != len(self.parameters):
                raise self.source.error(
                    f"inwindow has {len(columns)} columns, and the aggregate {len(self.parameters)} parameters",
                    name.span,
                    "Give inwindow one column for each parameter.",
                )
            for column, parameter in zip(columns, self.parameters, strict=True):
                dtype = column.dtype
                written = column.name
                if dtype is not None and dtype != parameter.dtype:
                    raise self.source.error(
                        f"{written.text} is {type_name(dtype)}, and {parameter.name} is {type_name(parameter.dtype)}",
                        written.span,
                        "Give the columns of inwindow the types of the parameters.",
                    )
                fields.append(Field(written.text, parameter.dtype))
            self.window = self.tables[lower] = NamedTable(WINDOW, name.text, Schema(tuple(fields)))
            return
        for column in columns:
            written, dtype = column.name, column.dtype
            if dtype is None:
                raise self.source.error(
                    f"the type of {written.text} is missing", written.span, f"Write {written.text} DOUBLE, for example."
                )
            fields.append(Field(written.text, dtype))
        table = NamedTable(len(self._own), name.text, Schema(tuple(fields)))
        self._own.append((table.name, table.schema))
        self.tables[lower] = table

    def table(self, name: Name) -> NamedTable:
        table = self.tables.get(name.text.lower()) or self._of_session(name)
        if table is None:
            if name.text.upper() == "RETURN":
                raise self.source.error(
                    "RETURN can't be read, only written to",
                    name.span,
                    "Keep the rows in a table of the aggregate: TABLE t (a DOUBLE);",
                )
            if name.text.lower() == INWINDOW:
                hint = "Declare it before the states: TABLE inwindow (x DOUBLE);"
            elif self.tables:
                hint = did_you_mean(name.text, [t.name for t in self.tables.values()], "tables of this aggregate") or ""
            else:
                hint = f"Declare it before the states: TABLE {name.text} (a DOUBLE);"
            raise self.source.error(f"this aggregate has no table called {name.text}", name.span, hint or None)
        return table

    def _of_session(self, name: Name) -> NamedTable | None:
        """A table of the session."""
        found = self._find(name.text)
        if found is None:
            return None
        lower = name.text.lower()
        if lower not in self.stored:
            self.stored[lower] = (name.text, found)
        number = STORED + list(self.stored).index(lower)
        return NamedTable(number, name.text, found.schema)

    def written(self, name: Name) -> NamedTable:
        """A table that a statement writes: the aggregate's own, or one of the session that REFERENCES names."""
        table = self.table(name)
        if table.number < STORED:
            return table
        if name.text.lower() not in {n.text.lower() for n in self.statement.references}:
            raise self.source.error(
                f"{name.text} is a table of the session, which this aggregate may only read",
                name.span,
                f"Write REFERENCES {name.text} before the body, to write to it: CREATE AGGREGATE f (x INT) : INT "
                f"REFERENCES {name.text} {{ ... }}.",
            )
        if name.text not in self.writes:
            self.writes.append(name.text)
        return table

    def _own_rows(self, name: Name) -> NamedTable:
        """Where the rows wait that the aggregate gives itself."""
        if self.state not in ("initialize", "iterate"):
            raise self.source.error(
                "INSERT INTO SELF can stand in INITIALIZE and ITERATE only", name.span, "Write it into ITERATE."
            )
        if self.again is None:
            self.again = NamedTable(len(self._own), "SELF", self.parameters)
            self._own.append(("SELF", self.parameters))
        return self.again

    def chance(self, place: Span) -> Column:
        """`rand()`."""
        self._own.append((f"rand {len(self._own)}", Schema((Field("taken", pl.Int64()), Field("salt", pl.Int64())))))
        seed = zlib.crc32(f"{self.statement.name.text.lower()} {len(self._own)}".encode())
        return self.value(Chance(len(self._own) - 1, seed), pl.Float64())

    def _check_references(self) -> None:
        for name in self.statement.references:
            if self._find(name.text) is None:
                raise self.source.error(
                    f"there is no table called {name.text}", name.span, "Only tables can be written."
                )

    def read(self, table: NamedTable) -> Read:
        """Places for the rows of a table."""
        made = Read(table.number, self.places, len(table.schema))
        self.places += len(table.schema)
        return made

    def place(self, dtype: pl.DataType) -> tuple[int, Column]:
        """One more place."""
        self.places += 1
        return self.places - 1, Column(f"#{self.places - 1}", dtype)

    def value(self, value: Subquery | Oldest | Chance, dtype: pl.DataType) -> Column:
        """A column for what a subquery gives."""
        self.values.append(value)
        return Column(f"@{len(self.values) - 1}", dtype)

    # -- statements

    def _actions(self, state: str, written: Sequence[BodyStatement]) -> tuple[Action, ...]:
        self.state = state
        try:
            return tuple(a for s in written for a in self._action(s))
        except QueryError as error:
            if any(p.dtype is None for p in self.statement.parameters):  # told where it is called, far from its text
                error.message += f", in {state.upper()} of {self.statement.name.text}"
            raise

    def _action(self, statement: BodyStatement) -> list[Action]:
        match statement:
            case BodyInsert():
                return self._insert(statement)
            case BodyUpdate():
                return [self._update(statement)]
            case BodyDelete():
                table = self.written(statement.table)
                level = Level()
                read = self.read(table)
                level.reads.append((table, table.name.lower(), read))
                where = self._where(statement.where, level)
                taking = table.number == WINDOW and self.state in ("initialize", "iterate")
                return [DeleteRows(read, where, taking and where is not None and self._compares(where, read))]

    def _compares(self, where: Expr, read: Read) -> bool:
        """Whether a condition compares a column of the rows read with a parameter, inside SELECTs as well."""
        rows = set(range(read.place, read.place + read.width))
        parameters = set(range(FIRST_PLACE, FIRST_PLACE + len(self.parameters)))
        for part in walk(where):
            if isinstance(part, Call) and part.function in _COMPARISONS:
                places = {int(name[1:]) for name in columns_of(part) if name[0] == "#"}
                if places & rows and places & parameters:
                    return True
            inner = self.values[int(part.name[1:])] if isinstance(part, Column) and part.name[0] == "@" else None
            if isinstance(inner, Subquery):
                conditions = (inner.select.where, inner.select.having)
                if any(c is not None and self._compares(c, read) for c in conditions):
                    return True
        return False

    def _insert(self, statement: BodyInsert) -> list[Action]:
        name = statement.table
        into_return = name.text.upper() == "RETURN"
        table = None if into_return else self._own_rows(name) if name.text.upper() == "SELF" else self.written(name)
        if table is not None and table.number == WINDOW:
            raise self.source.error(
                "inwindow can't be written to: the system puts the rows in", name.span, "Read its rows, or use DELETE."
            )
        number = RETURN if table is None else table.number
        if statement.select is not None:
            return [self._insert_select(statement, table, number, part) for part in _parts(statement.select)]
        level = Level()
        binder = self.binder(level, "VALUES")
        rows = []
        for written in statement.rows:
            given = [(None, binder.bind(node)) for node in written]
            spans = [node.span for node in written]
            rows.append(self._fit(statement, table, given, spans, written[0].span.to(written[-1].span)))
        return [InsertRows(number, tuple(rows), self._where(statement.where, level))]

    def _insert_select(
        self, statement: BodyInsert, table: NamedTable | None, number: int, body: QueryBody
    ) -> InsertSelect:
        if isinstance(body, SetBody):
            made, named = select_of_set(self, body, None)
            spans = [body.span] * len(named)
        else:
            made, named = self.select(body, Level())
            spans = [i.span for i in body.items] if len(body.items) == len(named) else [body.span] * len(named)
        items = self._fit(statement, table, named, spans, body.span)
        return InsertSelect(number, _with_items(made, items))

    def _fit(
        self,
        statement: BodyInsert,
        table: NamedTable | None,
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

    def equal(self, pair: Sequence[Expr], span: Span) -> Call:
        """Two values compared, as one type."""
        try:
            compared = functions.resolve("=", list(pair))
        except functions.BadArguments as bad:
            raise self.source.error(bad.message, span) from None
        assert isinstance(compared, Call)
        return compared

    def _update(self, statement: BodyUpdate) -> UpdateRows:
        table = self.written(statement.table)
        if table.number == WINDOW:
            raise self.source.error(
                "the rows of inwindow can't be changed: they are the input",
                statement.table.span,
                "Read them, or use DELETE.",
            )
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
                raise self.source.error(f"{known.name} is set twice", name.span, "Remove one of the two.")
            made[at] = self.cast(binder.bind(node), known.dtype, known.name, node.span)
        return UpdateRows(read, tuple(made.items()), self._where(statement.where, level))

    def _where(self, node: Node | None, level: Level) -> Expr | None:
        return None if node is None else self.binder(level, "WHERE").condition(node, "WHERE")

    def binder(self, level: Level, clause: str) -> ExpressionBinder:
        """Binds expressions of a statement."""
        return ExpressionBinder(self.source, BodyNames(self, level, clause))

    # -- SELECT

    def select(self, body: SelectBody, level: Level) -> tuple[SelectRows, list[tuple[str | None, Expr]]]:
        """A SELECT, and its items with the names they have."""
        refuse_clauses(body, self.source)
        source, reads = self._source(body.source, level)
        conditions = self._where(body.where, level)
        names = GroupedNames(self, level)
        binder = ExpressionBinder(self.source, names)
        for node in grouping_keys(body, level, self.source):
            key = self.binder(level, "GROUP BY").bind(node)
            if all(key != known for _, _, known in names.keys) and not (body.group_all and isinstance(key, Value)):
                names.keys.append((*self.place(key.dtype), key))
        items: list[tuple[str | None, Expr]] = []
        spans: list[Span] = []
        for item in body.items:
            if isinstance(item.expression, Star):
                found = columns_of_star(item.expression, level, self.source)
                items += found
                spans += [item.span] * len(found)
                continue
            alias = item.alias.text if item.alias is not None else _plain_name(item.expression)
            items.append((alias, binder.bind(item.expression)))
            if item.alias is not None:
                names.aliases.setdefault(item.alias.text.lower(), items[-1][1])
            spans.append(item.span)
        having = None
        if body.having is not None:
            having = binder.condition(body.having, "HAVING")
        grouped = names.grouped(body)
        if body.having is not None and not grouped:
            raise self.source.error(
                "HAVING needs GROUP BY or an aggregate", body.having.span, "Put the condition into WHERE."
            )
        if grouped:
            items = [(n, names.over_groups(e, s)) for (n, e), s in zip(items, spans, strict=True)]
            having = None if having is None or body.having is None else names.over_groups(having, body.having.span)
        ordered = self._ordered(body, items, names)
        keys = tuple((place, key) for place, _, key in names.keys)
        made = SelectRows(
            reads, conditions, keys, tuple(names.folded), grouped, having, tuple(e for _, e in items), body.distinct is not None,
            ordered, source,
        )  # fmt: skip
        return made, items

    def _ordered(
        self, body: SelectBody, items: Sequence[tuple[str | None, Expr]], names: GroupedNames
    ) -> BodyOrder | None:
        """ORDER BY, LIMIT and OFFSET. Keys are select items by number or name, or expressions over what is read."""
        if body.order is None:
            return None
        grouped = names.grouped(body)
        binder = ExpressionBinder(self.source, names)
        keys = []
        for item in body.order.items:
            node = item.expression
            key = None
            if isinstance(node, Constant) and type(node.value) is int:
                if not 1 <= node.value <= len(items):
                    raise self.source.error(
                        f"there is no select item number {node.value}", item.span, f"There are {len(items)}."
                    )
                key = items[node.value - 1][1]
            elif isinstance(node, ColumnRef) and node.qualifier is None:
                key = next((e for n, e in items if n is not None and n.lower() == node.name.text.lower()), None)
            if key is None:
                key = binder.bind(node)
                key = names.over_groups(key, item.span) if grouped else key
            if isinstance(key.dtype, pl.Struct | pl.List):
                raise self.source.error(f"a {type_name(key.dtype)} can't be sorted", item.span)
            if body.distinct is not None and key not in [e for _, e in items]:
                raise self.source.error(
                    "with DISTINCT, ORDER BY can only name what is selected",
                    item.span,
                    "Select it as well, or remove DISTINCT.",
                )
            keys.append((key, item.descending, item.nulls_last))
        return BodyOrder(tuple(keys), body.order.limit, body.order.offset)

    def _source(self, item: FromItem, level: Level) -> tuple[Source | None, tuple[Read, ...]]:
        """FROM: a list of tables, or what is more than that."""
        found = bind_source(self, item, level)
        if found is None or isinstance(found, Read) or _lists_tables(found):
            return None, tuple(read for _, _, read in level.reads)
        return found, ()

    def subquery(
        self, kind: Literal["exists", "value", "in"], body: QueryBody, level: Level, value: Expr | None, span: Span
    ) -> Column:
        """A SELECT inside an expression."""
        outside = self.places
        if isinstance(body, SetBody):
            made, items = select_of_set(self, body, level)
        else:
            made, items = self.select(body, Level(outer=level))
        if kind != "exists" and len(items) != 1:
            raise self.source.error(
                f"this subquery has {len(items)} columns, and must have one", span, "Select one column."
            )
        dtype: pl.DataType = pl.Boolean() if kind != "value" else items[0][1].dtype
        if kind == "in" and value is not None:
            compared = self.equal([value, items[0][1]], span)
            value = compared.args[0]
            made = _with_items(made, (compared.args[1],))
        rows = {p for table, _, read in all_reads(level) for p in range(read.place, read.place + len(table.schema))}
        once = not any(p in rows for p in self._places_in(made, value)) and outside <= self.places
        return self.value(Subquery(kind, made, once, value), dtype)

    def _places_in(self, select: SelectRows, value: Expr | None) -> set[int]:
        """Places a SELECT reads, those of SELECTs inside it among them."""
        by = () if select.ordered is None else tuple(key for key, _, _ in select.ordered.keys)
        exprs = [e for e in (select.where, select.having, value, *select.items, *by, *(k for _, k in select.keys)) if e]
        for folded in select.folded:
            exprs += [*folded.args, *([folded.where] if folded.where is not None else [])]
        found: set[int] = set()
        for name in {n for e in exprs for n in columns_of(e)}:
            number = int(name[1:])
            if name[0] == "#":
                found.add(number)
            elif isinstance(inner := self.values[number], Subquery):
                found |= self._places_in(inner.select, inner.value)
        return found if select.source is None else found | self._places_of(select.source)

    def _places_of(self, source: Source | SelectRows | SetRows) -> set[int]:
        """Places that are read in FROM: by conditions of joins, and by SELECTs."""
        match source:
            case SelectRows():
                return self._places_in(source, None)
            case SetRows():
                return set[int]().union(*(self._places_of(part) for part in source.parts))
            case DerivedRows():
                return self._places_of(source.query)
            case PairedRows():
                own = set() if source.on is None else {int(n[1:]) for n in columns_of(source.on) if n[0] == "#"}
                return own | self._places_of(source.left) | self._places_of(source.right)
            case Read():
                return set()

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
                raise self.source.error(
                    f"RETURN has {len(first)} columns in another statement, and {len(given)} here", span
                )
        types: list[pl.DataType] = []
        for i in range(len(first)):
            found = common_type(given[i][1].dtype for given, _, _ in self._returned)
            if found is None:
                raise self.source.error(
                    "the rows of RETURN have different types",
                    self._returned[-1][2],
                    "Name the type after the parameters: f (x) : DOUBLE.",
                )
            types.append(found)
        if len(types) == 1:
            return types[0], False
        named = [[g[i][0] for g, _, _ in self._returned] for i in range(len(first))]
        names = [next((n for n in found if n), f"col{i + 1}") for i, found in enumerate(named)]
        for i, name in enumerate(names):
            if name.lower() in [n.lower() for n in names[:i]]:
                raise self.source.error(
                    f"two columns of RETURN are called {name}",
                    self._returned[0][1][i],
                    "Give one of them another name: SELECT t.a, u.a AS b.",
                )
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


def _number_of_actions(statement: BodyStatement) -> int:
    select = statement.select if isinstance(statement, BodyInsert) else None
    return 1 if select is None else len(_parts(select))


def _lists_tables(source: Source) -> bool:
    """Whether FROM is a list of tables, with commas between them."""
    if isinstance(source, PairedRows):
        return (
            source.kind == "inner" and source.on is None and _lists_tables(source.left) and _lists_tables(source.right)
        )
    return isinstance(source, Read)


def _with_items(select: SelectRows, items: tuple[Expr, ...]) -> SelectRows:
    return replace(select, items=items)


def _parts(body: QueryBody) -> tuple[QueryBody, ...]:
    """What an INSERT inserts, one after the other: the SELECTs of a UNION ALL, otherwise the whole."""
    if isinstance(body, SetBody) and body.order is None and body.all and body.kind == "union":
        return tuple(p for part in body.parts for p in _parts(part))
    return (body,)


def _plain_name(node: Node) -> str | None:
    if isinstance(node, ColumnRef):
        return node.name.text
    return node.name.text if isinstance(node, FieldOf) else None
