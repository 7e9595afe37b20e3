"""Expressions as written, before names and types are known. Places don't count when two are compared.

sqlglot's own tree isn't used: its classes can't be extended where its compiled form (`sqlglot[c]`) is installed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

import polars as pl

from jupyter_stream.syntax.source_text import Name, Span

if TYPE_CHECKING:
    from jupyter_stream.syntax.query_syntax import OrderItem, QueryBody, WindowClause


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal, an INTERVAL or a parameter: a value as Polars takes it, and its type."""

    value: object
    dtype: pl.DataType
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class UnitWord(Constant):
    """A unit of time written as a bare word, in capitals and the singular: `MONTH` in `timestampdiff(MONTH, a, b)`."""


@dataclass(frozen=True, slots=True)
class Months:
    """`INTERVAL 1 MONTH`, `INTERVAL '1-2' YEAR TO MONTH`: so many months, which differ in length."""

    count: int
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class ColumnRef:
    """A column, qualified or not; `a.b` may also turn out to be a field of a STRUCT."""

    name: Name
    qualifier: Name | None
    span: Span = field(compare=False)

    @property
    def may_be_call(self) -> bool:
        """Whether it is a function called without parentheses where there is no such column: `CURRENT_DATE`."""
        return self.qualifier is None and self.name.text.lower() in _WITHOUT_PARENTHESES


_WITHOUT_PARENTHESES = frozenset(("current_date", "current_timestamp", "localtimestamp"))


@dataclass(frozen=True, slots=True)
class Star:
    """`*` or `s.*`; `without` the columns of EXCEPT."""

    qualifier: Name | None
    span: Span = field(compare=False)
    without: tuple[Name, ...] = ()


@dataclass(frozen=True, slots=True)
class FieldOf:
    """A field of a STRUCT that is no plain column."""

    inner: Node
    name: Name
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class ItemOf:
    """`a[i]`."""

    inner: Node
    index: Node
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """An operator, a predicate or CASE, under the function table's name for it. A chain of thousands can be compared."""

    function: str
    args: tuple[Node, ...]
    span: Span

    def __hash__(self) -> int:
        return hash((self.function, len(self.args)))

    def __eq__(self, other: object) -> bool:
        pairs: list[tuple[object, object]] = [(self, other)]
        while pairs:
            one, two = pairs.pop()
            if isinstance(one, Operation) and isinstance(two, Operation):
                if one.function != two.function or len(one.args) != len(two.args):
                    return False
                pairs.extend(zip(one.args, two.args, strict=True))
            elif isinstance(one, Operation) or isinstance(two, Operation) or one != two:
                return False
        return True


@dataclass(frozen=True, slots=True)
class CastTo:
    """`CAST(x AS t)`, `TRY_CAST`, `x::t`, and typed literals such as `DATE '2024-01-01'`."""

    inner: Node
    dtype: pl.DataType
    safe: bool
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A call by name, of a function or an aggregate.

    Attributes:
        name: as written.
        args: the arguments; a `Star` in count(*).
        distinct: whether DISTINCT stands before them.
        where: FILTER (WHERE ...).
        ignore_nulls: where IGNORE NULLS stands.
        window: the window behind it, in brackets or after OVER.
        order: ORDER BY inside.
    """

    name: Name
    args: tuple[Node, ...]
    span: Span = field(compare=False)
    distinct: bool = False
    where: Node | None = None
    ignore_nulls: Span | None = field(default=None, compare=False)
    window: WindowClause | None = None
    order: tuple[OrderItem, ...] = ()


@dataclass(frozen=True, slots=True)
class RowNumber:
    """`ROW_NUMBER() OVER (PARTITION BY ... ORDER BY ...)`."""

    partition: tuple[Node, ...]
    order: tuple[OrderItem, ...]
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Subselect:
    """A SELECT inside an expression: `IN (SELECT ...)`, `EXISTS (SELECT ...)`."""

    body: QueryBody
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class ValueList:
    """Several values in parentheses."""

    items: tuple[Node, ...]
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Lambda:
    """`x -> x + 1`, `(a, b) -> a + b`: an argument of functions that go through arrays."""

    parameters: tuple[Name, ...]
    body: Node
    span: Span = field(compare=False)

    def names(self, node: Node) -> bool:
        """Whether a column is one of its parameters."""
        if not isinstance(node, ColumnRef):
            return False
        named = (node.qualifier or node.name).text.lower()
        return any(parameter.text.lower() == named for parameter in self.parameters)


@dataclass(frozen=True, slots=True)
class NullOf:
    """NULL of an expression's type, in the place of a grouping column that a grouping is without. It isn't written so."""

    inner: Node
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Outer:
    """An expression inside a SELECT that is of the query around it, whatever names the SELECT has. It isn't written so."""

    inner: Node
    span: Span = field(compare=False)


Node: TypeAlias = (
    Constant
    | Months
    | ColumnRef
    | Star
    | FieldOf
    | ItemOf
    | Operation
    | CastTo
    | FunctionCall
    | RowNumber
    | Subselect
    | ValueList
    | Lambda
    | NullOf
    | Outer
)


def rewritten(node: Node, change: Callable[[Node], Node | None]) -> Node:
    """An expression with parts of it in other words; what is inside a SELECT of its own, and FILTER, stay.

    Args:
        node: the expression.
        change: gives what stands in the place of a part, None to look at the parts of that.
    """
    changed = change(node)
    if changed is not None:
        return changed
    match node:
        case Operation(args=args):
            return replace(node, args=tuple(rewritten(arg, change) for arg in args))
        case FunctionCall(args=args, order=order):
            keys = tuple(replace(key, expression=rewritten(key.expression, change)) for key in order)
            return replace(node, args=tuple(rewritten(arg, change) for arg in args), order=keys)
        case FieldOf(inner=inner) | CastTo(inner=inner):
            return replace(node, inner=rewritten(inner, change))
        case ItemOf(inner=inner, index=index):
            return replace(node, inner=rewritten(inner, change), index=rewritten(index, change))
        case ValueList(items=items):
            return replace(node, items=tuple(rewritten(item, change) for item in items))
        case Lambda(body=body):
            return replace(node, body=rewritten(body, lambda part: part if node.names(part) else change(part)))
    return node


def walk(node: Node) -> Iterator[Node]:
    """The node and all below it, outermost first, but for what is inside a SELECT of its own."""
    left = [node]
    while left:
        found = left.pop()
        yield found
        left.extend(reversed(_below(found)))


def _below(node: Node) -> tuple[Node, ...]:
    match node:
        case Operation(args=args):
            return args
        case FunctionCall(args=args, where=where, order=order):
            return (*args, *(() if where is None else (where,)), *(key.expression for key in order))
        case FieldOf(inner=inner) | CastTo(inner=inner):
            return (inner,)
        case ItemOf(inner=inner, index=index):
            return (inner, index)
        case ValueList(items=items):
            return items
        case Lambda(body=body):
            return (body,)
        case RowNumber(partition=partition, order=order):
            return (*partition, *(key.expression for key in order))
    return ()


def conjuncts(condition: Node | None) -> list[Node]:
    """The parts of a condition that all have to be true."""
    found: list[Node] = []
    left = [] if condition is None else [condition]
    while left:
        part = left.pop()
        if isinstance(part, Operation) and part.function == "and":
            left.extend(reversed(part.args))
        else:
            found.append(part)
    return found
