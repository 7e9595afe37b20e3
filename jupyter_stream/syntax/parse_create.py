"""CREATE STREAM as written: columns, watermark, order, source and options. Not for whether they fit together."""

from __future__ import annotations

from typing import Any, Literal, NoReturn

from sqlglot import TokenType

from jupyter_stream.syntax.diagnose import did_you_mean
from jupyter_stream.syntax.nodes import ColumnRef, FieldOf, Node
from jupyter_stream.syntax.parse_aggregate import aggregate_follows, parse_aggregate
from jupyter_stream.syntax.parse_constraint import constraint_follows, parse_constraint
from jupyter_stream.syntax.parse_expression import ExpressionParser
from jupyter_stream.syntax.parse_function import parse_function
from jupyter_stream.syntax.parse_options import parse_options, text_or_value
from jupyter_stream.syntax.parse_preference import parse_summary, refuse_inside
from jupyter_stream.syntax.parse_query import parse_body
from jupyter_stream.syntax.parse_type import parse_type
from jupyter_stream.syntax.parse_window import duration
from jupyter_stream.syntax.source_text import Name, Span
from jupyter_stream.syntax.syntax import (
    ColumnDef,
    ComputedDef,
    ConstraintClause,
    CreateSink,
    CreateStream,
    CreateStreamAs,
    CreateTable,
    CreateTableAs,
    CreateView,
    Statement,
    WatermarkClause,
    WithOption,
)

_CLAUSES = ("ORDER BY", "WATERMARK FOR", "WHERE", "SOURCE", "WITH", "AS")
_KINDS = ("STREAM", "TABLE", "VIEW", "AGGREGATE", "FUNCTION", "SUMMARY", "SINK")
_WORDS = "words behind CREATE"
_TO = "Write CREATE SINK answers TO 'file://answers/'."
_WATERMARK = "Write WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS."


def parse_create(p: ExpressionParser, common: dict[str, Any]) -> Any:
    """Take what follows CREATE. `common` is what every statement has."""
    if p.comes(TokenType.OR):
        p.advance()
        p.expect("REPLACE")
    if aggregate_follows(p):
        return parse_aggregate(p, common)
    if p.word("FUNCTION"):
        return parse_function(p, common)
    if p.word("SUMMARY"):
        return parse_summary(p, common)
    if p.word("SINK"):
        return _sink(p, common)
    retroactive = p.word("RETROACTIVE")
    if retroactive and not p.peek("TABLE"):
        p.fail("TABLE is missing here", hint="Write CREATE RETROACTIVE TABLE: only tables can be RETROACTIVE.")
    kind = _kind(p)
    common = _unless(p, common)
    made = _Create(p, kind, p.stream_name(f"the {kind}"), common, retroactive)
    return made.read()


def _kind(p: ExpressionParser) -> Literal["stream", "table", "view"]:
    if p.word("TABLE"):
        return "table"
    if p.word("VIEW"):
        return "view"
    if not p.word("STREAM"):
        word = p.curr.text if p.curr else ""
        p.fail("STREAM is missing here", hint=did_you_mean(word, _KINDS, _WORDS))
    return "stream"


class _Create:
    """CREATE of a stream, a table or a view, from behind its name on."""

    def __init__(
        self,
        p: ExpressionParser,
        kind: Literal["stream", "table", "view"],
        name: Name,
        common: dict[str, Any],
        retroactive: bool,
    ) -> None:
        self._p, self._kind, self._name, self._common, self._retroactive = p, kind, name, common, retroactive
        self._names: list[tuple[Name, Any]] | None = None
        self._watermark: WatermarkClause | None = None
        self._constraints: tuple[ConstraintClause, ...] = ()
        self._computed: tuple[ComputedDef, ...] = ()
        self._order_by: Name | None = None
        self._order_path: Node | None = None
        self._where: Node | None = None
        self._uri: str | None = None
        self._uri_span = name.span
        self._options: tuple[WithOption, ...] = ()

    def read(self) -> Statement:
        """The statement."""
        p = self._p
        if p.sign(TokenType.L_PAREN):
            self._names, self._watermark, self._constraints, self._computed = _columns(p)
        if self._kind == "stream" and p.comes(TokenType.ORDER_BY):
            self._order_by, self._order_path = _order(p)
        if self._constraints and (self._kind != "stream" or p.comes(TokenType.ALIAS)):
            p.fail(
                f"a {self._kind_of_select} can't have a constraint",
                self._constraints[0].span,
                "Declare the constraint on the stream that has the SOURCE.",
            )
        if p.sign(TokenType.ALIAS):
            return self._selected()
        if self._kind == "view":
            p.fail("AS is missing here", hint=f"Write CREATE VIEW {self._name.text} AS SELECT ....")
        self._clauses()
        return self._declared()

    @property
    def _kind_of_select(self) -> str:
        return "derived stream" if self._kind == "stream" else self._kind

    # -- ... AS SELECT

    def _selected(self) -> CreateView | CreateTableAs | CreateStreamAs:
        p, columns = self._p, self._column_names()
        start = p.here
        body = parse_body(p)
        if self._kind != "table":
            refuse_inside(p)
        if p.peek("WITH", "TOLERANCE"):
            p.fail(
                f"a {self._kind_of_select} can't have a tolerance: it belongs to the query that runs",
                hint=f"Write it behind that query: SELECT * FROM {self._name.text} WITH TOLERANCE (SAMPLE AT LEAST 10).",
            )
        if p.peek("EMIT"):
            self._refuse_emit()
        text = p.source.slice(p.since(start))
        if self._kind == "view":
            return CreateView(name=self._name, columns=columns, body=body, **self._common)
        if self._kind == "table":
            return CreateTableAs(
                name=self._name, columns=columns, body=body, retroactive=self._retroactive, **self._common
            )
        return CreateStreamAs(
            name=self._name, columns=columns, body=body, query_text=text,
            order_by=self._order_by, watermark=self._own_watermark(), **self._common,
        )  # fmt: skip

    def _own_watermark(self) -> WatermarkClause | None:
        """That of a derived stream, among its columns or at its end."""
        p, at = self._p, self._p.here
        if not p.word("WATERMARK", "FOR"):
            return self._watermark
        if self._watermark is not None:
            p.fail("a stream can have only one watermark", at, "Keep one WATERMARK FOR.")
        return _watermark(p, at)

    def _refuse_emit(self) -> NoReturn:
        p = self._p
        if self._kind == "view":
            p.fail("EMIT can't be used here: a view always shows the current answer", hint="Leave EMIT out.")
        if self._kind == "table":
            p.fail("EMIT can't be used here: a table is filled once, with the final answer", hint="Leave EMIT out.")
        p.fail(
            "EMIT can't be used here: a derived stream holds final answers only",
            hint="Write EMIT in the query that reads it.",
        )

    def _column_names(self) -> tuple[Name, ...] | None:
        """The names of the columns, if they were written; nothing else can be said of them."""
        p, kind = self._p, self._kind_of_select
        if self._watermark is not None and self._kind != "stream":
            p.fail(
                f"a {kind} can't have a watermark of its own: it has that of its SELECT",
                self._watermark.span,
                "Declare it on the stream that has the SOURCE.",
            )
        if self._computed:
            p.fail(
                f"the columns of a {kind} are computed by its SELECT",
                self._computed[0].name.span,
                f"Write it there: AS SELECT ..., expression AS {self._computed[0].name.text}.",
            )
        if self._names is None:
            return None
        for column, dtype in self._names:
            if dtype is not None:
                p.fail(f"the columns of a {kind} have the types of its SELECT", column.span, "Leave the type out.")
        return tuple(column for column, _ in self._names)

    # -- ... SOURCE

    def _clauses(self) -> None:
        """The clauses behind the columns, in any order, each once."""
        p = self._p
        seen: set[str] = set() if self._order_by is None else {"ORDER BY"}
        while not p.at_end:
            at = p.here
            clause = _clause(p, table=self._kind == "table")
            if clause in seen:
                p.fail(f"{clause} appears twice", at, "Remove one of the two.")
            seen.add(clause)
            if clause == "ORDER BY":
                self._order_by, self._order_path = _time_named(p)
            elif clause == "WATERMARK FOR":
                if self._watermark is not None:
                    p.fail("a stream can have only one watermark", at, "Keep one WATERMARK FOR.")
                self._watermark = _watermark(p, at)
            elif clause == "SOURCE":
                self._source()
            elif clause == "WHERE":
                self._where = p.expression("a condition")
            else:
                self._options = parse_options(p)

    def _source(self) -> None:
        self._uri, self._uri_span = text_or_value(self._p, "the source, such as 'file://bids.jsonl',")
        if "{{" in self._uri:
            self._p.fail(
                "{{ }} isn't filled in inside quotes",
                self._uri_span,
                "Write SOURCE {{ expression }}, the whole address.",
            )

    def _declared(self) -> CreateStream | CreateTable:
        p, table = self._p, self._kind == "table"
        if table and (self._order_by is not None or self._watermark is not None):
            at = self._order_by.span if self._order_by is not None else self._name.span
            p.fail("a table can't have ORDER BY or a watermark", at, "Leave ORDER BY and WATERMARK FOR out.")
        if table and self._computed:
            name = self._computed[0].name
            p.fail("a table can't have computed columns", name.span, "Compute them in the query that reads it.")
        if self._uri is None and not (table and self._names is not None):
            p.fail("SOURCE is missing", hint="Say where the rows come from, such as SOURCE 'frame://df'.")
        columns = self._typed_columns()
        if table:
            return CreateTable(
                name=self._name, columns=columns, uri=self._uri, uri_span=self._uri_span, options=self._options,
                retroactive=self._retroactive, **self._common,
            )  # fmt: skip
        assert self._uri is not None
        return CreateStream(
            name=self._name, columns=columns, watermark=self._watermark, order_by=self._order_by, uri=self._uri,
            uri_span=self._uri_span, options=self._options, constraints=self._constraints,
            order_path=self._order_path, computed=self._computed, where=self._where, **self._common,
        )  # fmt: skip

    def _typed_columns(self) -> tuple[ColumnDef, ...] | None:
        """The columns with their types; None where the source knows them."""
        return None if self._names is None else declared(self._p, self._names)


def _unless(p: ExpressionParser, common: dict[str, Any]) -> dict[str, Any]:
    """What every statement has, with IF NOT EXISTS where it stands there."""
    if not p.comes(TokenType.IN) and not p.peek("IF"):
        return common
    p.advance()
    if not p.sign(TokenType.NOT):
        p.fail("NOT EXISTS is missing here")
    p.expect("EXISTS")
    return {**common, "unless_exists": True}


def _sink(p: ExpressionParser, common: dict[str, Any]) -> CreateSink:
    """`name [(columns)] TO 'uri' [WITH (...)]`, after CREATE SINK."""
    common = _unless(p, common)
    name = p.name("the sink")
    columns: tuple[ColumnDef, ...] | None = None
    if p.sign(TokenType.L_PAREN):
        names, watermark, constraints, computed = _columns(p)
        extra = [e.span for e in (watermark, *constraints) if e is not None] + [c.name.span for c in computed]
        if extra:
            p.fail("a sink has columns only", extra[0], "Declare it on the stream that has the SOURCE.")
        columns = declared(p, names or [])
    p.expect("TO", hint=_TO)
    uri, uri_span = text_or_value(p, "the address, such as 'file://answers/',")
    options = parse_options(p) if p.word("WITH") else ()
    return CreateSink(name=name, columns=columns, uri=uri, uri_span=uri_span, options=options, **common)


def declared(p: ExpressionParser, names: list[tuple[Name, Any]]) -> tuple[ColumnDef, ...]:
    """Columns, each of which has to have a type."""
    for column, dtype in names:
        if dtype is None:
            p.fail(f"the type of {column.text} is missing", column.span, f"Write {column.text} DOUBLE, for example.")
    return tuple(ColumnDef(column, dtype) for column, dtype in names)


def _order(p: ExpressionParser) -> tuple[Name, Node | None]:
    p.advance()
    p.expect("BY")
    return _time_named(p)


def _time_named(p: ExpressionParser) -> tuple[Name, Node | None]:
    """The time column, behind ORDER BY."""
    named = _column_or_field(p)
    if p.peek("DESC"):
        p.fail("a stream can only be ordered by ascending time", hint="Leave DESC out.")
    p.word("ASC")
    return named


def _column_or_field(p: ExpressionParser) -> tuple[Name, Node | None]:
    """A column, or a field of one: its last name, and what was written."""
    start = p.here
    name = p.name("the time column")
    path: Node | None = None
    while p.sign(TokenType.DOT):
        field = p.any_name("a field")
        span = p.since(start)
        path = ColumnRef(field, name, span) if path is None else FieldOf(path, field, span)
        name = Name(field.text, span)
    return name, path


def _clause(p: ExpressionParser, *, table: bool) -> str:
    if p.comes(TokenType.ORDER_BY):
        p.advance()
        p.expect("BY")
        return "ORDER BY"
    if p.word("WATERMARK", "FOR"):
        return "WATERMARK FOR"
    if p.word("SOURCE"):
        return "SOURCE"
    if not table and p.word("WHERE"):
        return "WHERE"
    if p.word("WITH"):
        return "WITH"
    if p.peek("WATERMARK"):
        p.fail("FOR is missing after WATERMARK", hint=_WATERMARK)
    if p.comes(TokenType.SELECT):
        p.fail("AS is missing before SELECT", hint="Write CREATE STREAM name AS SELECT ....")
    if p.comes(TokenType.STRING):
        p.fail("SOURCE is missing before this", hint="Write SOURCE 'file://bids.jsonl'.")
    word = p.curr.text
    if p.peek("FROM"):
        raise p.failure(f"{word} isn't expected here", hint="Write SOURCE in its place: SOURCE 'file://bids.jsonl'.")
    clauses, of = (_CLAUSES[3:], "clauses of CREATE TABLE") if table else (_CLAUSES, "clauses of CREATE STREAM")
    raise p.failure(f"{word} isn't expected here", hint=did_you_mean(word, clauses, of))


def _columns(
    p: ExpressionParser,
) -> tuple[
    list[tuple[Name, Any]] | None, WatermarkClause | None, tuple[ConstraintClause, ...], tuple[ComputedDef, ...]
]:
    """The column list, its parenthesis open already; types may be missing (for AS SELECT).

    None for the columns where only the watermark, constraints or computed columns stand in it: the source knows them.
    """
    columns: list[tuple[Name, Any]] = []
    computed: list[ComputedDef] = []
    constraints: list[ConstraintClause] = []
    watermark: WatermarkClause | None = None
    while True:
        at = p.here
        if p.word("WATERMARK", "FOR"):
            if watermark is not None:
                p.fail("a stream can have only one watermark", at, "Keep one WATERMARK FOR.")
            watermark = _watermark(p, at)
        elif constraint_follows(p):
            constraints.append(parse_constraint(p))
        else:
            name = p.name("a column")
            if p.sign(TokenType.ALIAS):
                computed.append(ComputedDef(name, p.expression("an expression"), len(columns)))
                if p.sign(TokenType.COMMA):
                    continue
                break
            dtype = None if p.comes(TokenType.COMMA, TokenType.R_PAREN) or p.at_end else parse_type(p)
            columns.append((name, dtype))
            if dtype is not None and p.comes(TokenType.ALIAS):
                p.fail(
                    "a computed column has the type of its expression", p.here, f"Leave the type out: {name.text} AS ...."
                )  # fmt: skip
            if p.comes(TokenType.NOT) or p.peek("COMMENT") or p.peek("DEFAULT") or p.peek("PRIMARY"):
                word = p.curr.text.upper()
                p.unsupported(f"{'NOT NULL' if word == 'NOT' else word} after a column", p.here, "Leave it out.")
        if not p.sign(TokenType.COMMA):
            break
    if not p.sign(TokenType.R_PAREN):
        if p.comes(TokenType.VAR, TokenType.IDENTIFIER):
            p.fail(", or ) is missing here", hint="Write columns as name TYPE, name TYPE.")
        p.fail(") is missing here", hint="The list of columns isn't closed.")
    if not columns and watermark is None and not constraints and not computed:
        p.fail("the list of columns is empty", p.prev_span, "Leave it out if the source knows its own columns.")
    return columns or None, watermark, tuple(constraints), tuple(computed)


def _watermark(p: ExpressionParser, at: Span) -> WatermarkClause:
    """`ts AS ts - INTERVAL d`, after WATERMARK FOR."""
    column, path = _column_or_field(p)
    written = p.source.slice(column.span)
    if not p.sign(TokenType.ALIAS):
        p.fail("AS is missing here", hint=_WATERMARK)
    again, other = _column_or_field(p)
    if other != path or (path is None and again.text.lower() != column.text.lower()):
        shown = p.source.slice(again.span)
        p.fail(f"the watermark for {written} can't be computed from {shown}", again.span, _WATERMARK)
    delay = 0
    if p.sign(TokenType.DASH):
        if p.comes(TokenType.NUMBER) and p.curr.text.isdigit() and not _unit_follows(p):
            delay = int(p.curr.text)  # for times declared BIGINT, microseconds
            p.advance()
        elif p.comes(TokenType.INTERVAL) and _is_zero(p):
            p.interval()
        else:
            delay = duration(p, _WATERMARK)
    elif p.sign(TokenType.PLUS):
        p.fail("a watermark can't be ahead of the newest row", p.prev_span, _WATERMARK)
    return WatermarkClause(column, delay, p.since(at), path)


def _unit_follows(p: ExpressionParser) -> bool:
    from jupyter_stream.core.time import unit

    return p.next.kind == TokenType.VAR and unit(p.next.text) is not None


def _is_zero(p: ExpressionParser) -> bool:
    return p.next.text.strip() in ("0", "0.0", "0 seconds", "0 second")
