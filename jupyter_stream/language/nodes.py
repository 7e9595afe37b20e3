"""Expressions as written, before names and types are known. Places don't count when two are compared.

sqlglot's own tree isn't used: its classes can't be extended where its compiled form (`sqlglot[c]`) is installed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import polars as pl

from jupyter_stream.language.source_text import Name, Span

if TYPE_CHECKING:
    from jupyter_stream.language.query_syntax import OrderItem, QueryBody, WindowClause


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal, an INTERVAL or a parameter: a value as Polars takes it, and its type."""

    value: object
    dtype: pl.DataType
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class ColumnRef:
    """A column, qualified or not; `a.b` may also turn out to be a field of a STRUCT."""

    name: Name
    qualifier: Name | None
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Star:
    """`*` or `s.*`."""

    qualifier: Name | None
    span: Span = field(compare=False)


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


@dataclass(frozen=True, slots=True)
class Operation:
    """An operator, a predicate or CASE, under the function table's name for it."""

    function: str
    args: tuple[Node, ...]
    span: Span = field(compare=False)


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
    """

    name: Name
    args: tuple[Node, ...]
    span: Span = field(compare=False)
    distinct: bool = False
    where: Node | None = None
    ignore_nulls: Span | None = field(default=None, compare=False)
    window: WindowClause | None = None


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


Node: TypeAlias = (
    Constant
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
)


def walk(node: Node) -> Iterator[Node]:
    """The node and all below it, but for what is inside a SELECT of its own."""
    yield node
    below: tuple[Node, ...] = ()
    if isinstance(node, Operation):
        below = node.args
    elif isinstance(node, FunctionCall):
        below = node.args if node.where is None else (*node.args, node.where)
    elif isinstance(node, FieldOf | CastTo):
        below = (node.inner,)
    elif isinstance(node, ItemOf):
        below = (node.inner, node.index)
    elif isinstance(node, ValueList):
        below = node.items
    elif isinstance(node, RowNumber):
        below = (*node.partition, *(key.expression for key in node.order))
    for part in below:
        yield from walk(part)


def conjuncts(condition: Node | None) -> list[Node]:
    """The parts of a condition that all have to be true."""
    if isinstance(condition, Operation) and condition.function == "and":
        return [part for arg in condition.args for part in conjuncts(arg)]
    return [] if condition is None else [condition]
