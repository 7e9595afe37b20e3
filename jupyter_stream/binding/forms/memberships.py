"""IN, EXISTS, ANY and ALL of a SELECT are counts of its rows. Conditions of WHERE, joined with AND, stay: these are semi joins.

WHERE a OR EXISTS (SELECT * FROM t WHERE t.k = s.k)
WHERE a OR (SELECT count(*) FROM t WHERE t.k = s.k) > 0

WHERE a OR x IN (SELECT y FROM t)
WHERE a OR ((SELECT count(*) FROM t WHERE y = s.x) > 0 AND x IS NOT NULL)

SELECT x IN (SELECT y FROM t)            -- where it matters whether it is false or unknown
SELECT CASE WHEN (SELECT count(*) FROM t WHERE y = s.x) > 0 THEN TRUE
            WHEN (SELECT count(*) FROM t WHERE y IS NULL) > 0 THEN NULL
            WHEN x IS NULL AND (SELECT count(*) FROM t) > 0 THEN NULL ELSE FALSE END

x < ANY (SELECT y FROM t)                x < (SELECT max(y) FROM t)
x >= ALL (SELECT y FROM t)               NOT x < ANY (SELECT y FROM t)
x <> ALL (SELECT y FROM t)               x NOT IN (SELECT y FROM t)
x = ANY (1, 2, 3)                        x = 1 OR x = 2 OR x = 3
x = ANY (an_array)                       array_contains(an_array, x)
(a, b) IN (SELECT c, d FROM t)           EXISTS (SELECT 1 FROM t WHERE c = s.a AND d = s.b)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce

import polars as pl

from jupyter_stream.binding.bind_expression import holds_aggregate
from jupyter_stream.errors import UnsupportedError
from jupyter_stream.functions.types import BIGINT, VOID
from jupyter_stream.syntax.nodes import (
    ColumnRef,
    Constant,
    FunctionCall,
    Node,
    Operation,
    Outer,
    RowNumber,
    Star,
    Subselect,
    ValueList,
    conjuncts,
    rewritten,
    walk,
)
from jupyter_stream.syntax.query_syntax import FromItem, QueryBody, SelectBody, SelectItem, SubqueryRef
from jupyter_stream.syntax.source_text import Name, SourceText, Span

_INVERSE = {"=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_EXTREMES = {"<": ("max",), "<=": ("max",), ">": ("min",), ">=": ("min",), "<>": ("min", "max")}
"""Which value of all decides whether one of them compares so."""


def select_tested(node: Node) -> QueryBody | None:
    """The SELECT of `x IN (SELECT ...)` and `EXISTS (SELECT ...)`; None for anything else."""
    if isinstance(node, Operation) and node.function == "in" and len(node.args) == 2:
        other = node.args[1]
        return other.body if isinstance(other, Subselect) else None
    if isinstance(node, FunctionCall) and node.name.text.lower() == "exists" and len(node.args) == 1:
        (other,) = node.args
        return other.body if isinstance(other, Subselect) else None
    return None


def with_counts(body: SelectBody, source: SourceText) -> SelectBody:
    """A SELECT with counts in the places of IN, EXISTS, ANY and ALL.

    Args:
        body: as written.
        source: where it is written.

    Raises:
        QueryError: the two sides don't have the same number of columns.
    """
    forms = _Forms(source)
    nodes = [*(i.expression for i in body.items), *body.group_by, body.where, body.having]
    if not any(node is not None and _holds(node) for node in nodes):
        return body
    items = tuple(replace(item, expression=forms.stated(item.expression)) for item in body.items)
    where = None if body.where is None else forms.where(body.where)
    having = None if body.having is None else forms.stated(body.having, truth=True)
    group_by = tuple(forms.stated(node) for node in body.group_by)
    return replace(body, items=items, where=where, having=having, group_by=group_by)


def condition_with_counts(condition: Node, source: SourceText) -> Node:
    """A condition with counts in the places of IN, EXISTS, ANY and ALL, all of them."""
    return _Forms(source).stated(condition, truth=True)


def _holds(node: Node) -> bool:
    return any(select_tested(part) is not None or _quantified(part) for part in walk(node))


def _quantified(node: Node) -> bool:
    return isinstance(node, Operation) and node.function.endswith((" any", " all"))


@dataclass(frozen=True)
class _Rows:
    """The rows of a SELECT: FROM, WHERE, and what it selects of each."""

    source: FromItem
    where: Node | None
    values: tuple[Node, ...]
    span: Span

    def of(self, function: str, argument: Node, *conditions: Node) -> Subselect:
        """The SELECT of an aggregate of the rows for which conditions are true."""
        call = FunctionCall(Name(function, self.span), (argument,), self.span)
        item = SelectItem(call, None, function, self.span)
        where = _joined("and", (*([] if self.where is None else [self.where]), *conditions), self.span)
        return Subselect(_select(self.source, (item,), where, self.span), self.span)

    def some(self, *conditions: Node) -> Node:
        """Whether there is such a row."""
        counted = self.of("count", Star(None, self.span), *conditions)
        return Operation(">", (counted, Constant(0, BIGINT, self.span)), self.span)


def _select(source: FromItem, items: tuple[SelectItem, ...], where: Node | None, span: Span) -> SelectBody:
    return SelectBody(span, None, None, items, source, where, (), False, None, span)


class _Forms:
    def __init__(self, source: SourceText) -> None:
        self._source = source

    def where(self, condition: Node) -> Node:
        """WHERE: IN and EXISTS that are joined with AND stay as they are."""
        parts = []
        for part in conjuncts(condition):
            plain, negated = _normal(part), False
            while isinstance(plain, Operation) and plain.function == "not":
                plain, negated = _normal(plain.args[0]), not negated
            if select_tested(plain) is None:
                parts.append(self.stated(part, truth=True))
                continue
            if isinstance(plain, Operation) and isinstance(plain.args[0], ValueList):
                plain = self._row_exists(plain, possible=negated)
            parts.append(Operation("not", (plain,), part.span) if negated else plain)
        found = _joined("and", parts, condition.span)
        assert found is not None
        return found

    def stated(self, node: Node, truth: bool = False) -> Node:
        """An expression with counts in these places.

        Args:
            node: the expression.
            truth: whether unknown is as good as false where it stands.
        """
        if not _holds(node):
            return node
        node = _normal(node)
        if isinstance(node, Operation) and node.function in ("and", "or"):
            spine = [node]
            while isinstance(first := spine[-1].args[0], Operation) and first.function in ("and", "or"):
                spine.append(first)
            made = self.stated(first, truth)
            for each in reversed(spine):
                made = replace(each, args=(made, *(self.stated(arg, truth) for arg in each.args[1:])))
            return made
        if isinstance(node, Operation) and node.function == "case":
            last = len(node.args) - 1
            args = (self.stated(arg, truth=at % 2 == 0 and at < last) for at, arg in enumerate(node.args))
            return replace(node, args=tuple(args))
        if isinstance(node, Operation) and _quantified(node):
            return self._compared(node, truth)
        if select_tested(node) is not None:
            return self._member(node, truth)
        if isinstance(node, FunctionCall) and node.where is not None:
            node = replace(node, where=self.stated(node.where, truth=True))
        return rewritten(node, lambda part: None if part is node or not _holds(part) else self.stated(part))

    def _member(self, node: Node, truth: bool) -> Node:
        """IN or EXISTS."""
        body = select_tested(node)
        assert body is not None
        if isinstance(node, FunctionCall):
            return self._rows(body, None, node.span).some()
        assert isinstance(node, Operation)
        if isinstance(node.args[0], ValueList):
            there = self._member(self._row_exists(node, possible=False), truth)
            if truth:
                return there
            perhaps = self._member(self._row_exists(node, possible=True), truth)
            return _case(node.span, (there, True), (perhaps, None))
        value = self.stated(node.args[0])
        rows = self._rows(body, 1, node.span)
        equal = Operation("=", (rows.values[0], Outer(value, value.span)), node.span)
        known = Operation(
            "is_not_null", (value,), value.span
        )  # the value is asked for outside too, as aggregates have to be
        found = Operation("and", (rows.some(equal), known), node.span)
        return found if truth else self._unless_unknown(found, value, rows, node.span)

    @staticmethod
    def _unless_unknown(found: Node, value: Node, rows: _Rows, span: Span) -> Node:
        """True where `found`; unknown where a NULL is compared with anything; else false."""
        null = rows.some(Operation("is_null", (rows.values[0],), span))
        compared = Operation("and", (Operation("is_null", (value,), span), rows.some()), span)
        return _case(span, (found, True), (null, None), (compared, None))

    def _row_exists(self, node: Operation, possible: bool) -> FunctionCall:
        """`(a, b) IN (SELECT ...)` as EXISTS: of equal rows, or of those for which it isn't known that they differ."""
        row, body = node.args[0], select_tested(node)
        assert isinstance(row, ValueList) and body is not None
        rows = self._rows(body, len(row.items), node.span)
        parts: list[Node] = []
        for own, other in zip(rows.values, row.items, strict=True):
            equal: Node = Operation("=", (own, Outer(self.stated(other), other.span)), node.span)
            if possible:
                equal = Operation("coalesce", (equal, Constant(True, pl.Boolean(), node.span)), node.span)
            parts.append(equal)
        where = _joined("and", (*([] if rows.where is None else [rows.where]), *parts), node.span)
        item = SelectItem(Constant(1, BIGINT, node.span), None, "1", node.span)
        there = Subselect(_select(rows.source, (item,), where, node.span), node.span)
        return FunctionCall(Name("exists", node.span), (there,), node.span)

    def _compared(self, node: Operation, truth: bool) -> Node:
        """ANY or ALL, where these are not IN."""
        function, word = node.function.split()
        value, *others = node.args
        if not isinstance(others[0], Subselect):
            return self._with_items(node, function, word, others)
        if word == "all":
            turned = replace(node, function=f"{_INVERSE[function]} any")
            return Operation("not", (self.stated(turned),), node.span)
        value = self.stated(value)
        rows = self._rows(others[0].body, 1, node.span)
        (own,) = rows.values
        tests = [Operation(function, (value, rows.of(each, own)), node.span) for each in _EXTREMES[function]]
        found = _joined("or", tests, node.span)
        assert found is not None
        return found if truth else self._unless_unknown(found, value, rows, node.span)

    def _with_items(self, node: Operation, function: str, word: str, items: list[Node]) -> Node:
        value = self.stated(node.args[0])
        if len(items) > 1:
            parts = [Operation(function, (value, self.stated(item)), node.span) for item in items]
            made = _joined("or" if word == "any" else "and", parts, node.span)
            assert made is not None
            return made
        if (function, word) not in (("=", "any"), ("<>", "all")):
            raise self._source.error(
                f"{function} {word.upper()} isn't available with an array",
                node.span,
                "Write = ANY (array) or <> ALL (array), or compare with array_min(array) or array_max(array).",
                UnsupportedError,
            )
        there = FunctionCall(Name("array_contains", node.span), (self.stated(items[0]), value), node.span)
        return there if word == "any" else Operation("not", (there,), node.span)

    def _rows(self, body: QueryBody, count: int | None, span: Span) -> _Rows:
        """The rows of a SELECT of so many columns; None for any number."""
        if isinstance(body, SelectBody) and count not in (None, len(body.items)):
            starred = any(isinstance(item.expression, Star) for item in body.items)
            if not starred:
                raise self._source.error(
                    f"IN needs a subquery of {'one column' if count == 1 else f'{count} columns'}, "
                    f"and this one has {len(body.items)}",
                    body.span,
                    "Write x IN (SELECT y FROM ...), (a, b) IN (SELECT c, d FROM ...).",
                )
        if isinstance(body, SelectBody) and is_plain(body):
            values = tuple(item.expression for item in body.items)
            if count is None or not any(isinstance(value, Star) for value in values):
                return _Rows(body.source, body.where, values, span)
        names = tuple(Name(f"(in {i})", span) for i in range(count or 0))
        source = SubqueryRef(body, None, Name("(in)", span), span, columns=names)
        return _Rows(source, None, tuple(ColumnRef(name, None, span) for name in names), span)


def is_plain(body: SelectBody) -> bool:
    """Whether each row of FROM for which WHERE is true gives one row."""
    grouped = bool(body.group_by) or body.group_all or bool(body.grouping_sets) or body.having is not None
    counted = body.order is not None or body.operator is not None or body.qualify is not None
    nodes = [*(item.expression for item in body.items), *([] if body.where is None else [body.where])]
    numbers = any(isinstance(part, RowNumber) for node in nodes for part in walk(node))
    return not (grouped or counted or numbers or any(holds_aggregate(item.expression) for item in body.items))


def _normal(node: Node) -> Node:
    """`= ANY` of a SELECT is IN, `<> ALL` is NOT IN."""
    if isinstance(node, Operation) and len(node.args) == 2 and isinstance(node.args[1], Subselect):
        if node.function == "= any":
            return replace(node, function="in")
        if node.function == "<> all":
            return Operation("not", (replace(node, function="in"),), node.span)
    return node


def _case(span: Span, *branches: tuple[Node, bool | None]) -> Node:
    """Values by the first condition that is true; else false."""
    args: list[Node] = []
    for condition, value in branches:
        args += [condition, Constant(value, VOID if value is None else pl.Boolean(), span)]
    return Operation("case", (*args, Constant(False, pl.Boolean(), span)), span)


def _joined(function: str, parts: Iterable[Node], span: Span) -> Node | None:
    found = list(parts)
    return reduce(lambda before, part: Operation(function, (before, part), span), found) if found else None


__all__ = ["condition_with_counts", "is_plain", "select_tested", "with_counts"]
