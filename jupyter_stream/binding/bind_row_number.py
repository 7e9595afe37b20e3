"""ROW_NUMBER() OVER (PARTITION BY ... ORDER BY ...): the first rows of partitions, per extent or of a relation at any instant.

Rows are numbered after WHERE, GROUP BY and HAVING, as in SQL; what partitions and orders them is selected along, hidden. A
condition that bounds a number, here or in a query around it, bounds what is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import polars as pl

from jupyter_stream.binding.as_relation import Lives, relation_of
from jupyter_stream.binding.bind_aggregate import InputNames
from jupyter_stream.binding.bind_expression import ExpressionBinder
from jupyter_stream.binding.scope import Scope, is_windowed
from jupyter_stream.binding.select_list import schema_of
from jupyter_stream.core.schema import Field, Schema
from jupyter_stream.functions import Call, Column, Expr, Literal
from jupyter_stream.functions.expression import conjuncts
from jupyter_stream.plan.logical import Derived, Filter, OrderKey, Plan, Project, Top
from jupyter_stream.plan.relations import is_relation
from jupyter_stream.syntax.nodes import Constant, Node, Operation, RowNumber, walk
from jupyter_stream.syntax.nodes import conjuncts as written
from jupyter_stream.syntax.query_syntax import SelectBody, SelectItem
from jupyter_stream.syntax.source_text import Name, SourceText

HIDDEN = "$"
"""What names of columns begin with that are selected along."""


@dataclass(frozen=True)
class RowNumbers:
    """A SELECT with row numbers.

    Attributes:
        body: the SELECT without them: zeros in their places, their keys selected along.
        nodes: the numbers, each once.
        conditions: what WHERE and QUALIFY say of them.
    """

    body: SelectBody
    nodes: tuple[RowNumber, ...]
    conditions: tuple[Node, ...]


def numbers(body: SelectBody, source: SourceText) -> RowNumbers | None:
    """What of a SELECT is about row numbers; None if nothing is.

    Raises:
        QueryError: a row number inside another expression, or with DISTINCT.
    """
    nodes: dict[RowNumber, int] = {}
    items = []
    for item in body.items:
        if isinstance(item.expression, RowNumber):
            at = nodes.setdefault(item.expression, len(nodes))
            zero = Constant(0, pl.Int64(), item.span)
            name = Name(f"{_place(at)}{item.alias.text if item.alias is not None else 'row_number'}", item.span)
            item = SelectItem(zero, name, item.text, item.span)
        items.append(item)
    where, conditions = _split(body.where)
    conditions = [*conditions, *written(body.qualify)]
    for condition in conditions:
        for part in walk(condition):
            if isinstance(part, RowNumber):
                nodes.setdefault(part, len(nodes))
    if not nodes:
        if body.qualify is not None:
            raise source.error(
                "QUALIFY is a condition on row numbers, and this query has none",
                body.qualify.span,
                "Put a condition on rows into WHERE, one on aggregates into HAVING.",
            )
        return None
    if body.distinct is not None:
        raise source.error(
            "DISTINCT can't be used with ROW_NUMBER()", body.distinct, "Put one of them into a subquery in FROM."
        )
    for node, at in nodes.items():
        keys = [*node.partition, *(key.expression for key in node.order)]
        items += [SelectItem(key, Name(f"{_key(at)}{i}", key.span), "", key.span) for i, key in enumerate(keys)]
    plain = replace(body, items=tuple(items), where=where, qualify=None)
    return RowNumbers(plain, tuple(nodes), tuple(conditions))


def _place(at: int) -> str:
    return f"{HIDDEN}place{at}_"


def _key(at: int) -> str:
    return f"{HIDDEN}by{at}_"


def _number(at: int) -> str:
    return f"{HIDDEN}number{at}"


def _split(where: Node | None) -> tuple[Node | None, list[Node]]:
    """WHERE without its conditions on row numbers, and those."""
    plain: Node | None = None
    found = []
    for part in written(where):
        if any(isinstance(n, RowNumber) for n in walk(part)):
            found.append(part)
        else:
            plain = part if plain is None else Operation("and", (plain, part), part.span)
    return (plain, found) if found else (where, [])


def numbered(plan: Plan, lifetime: Lives, found: RowNumbers, source: SourceText) -> Plan:
    """The rows of `found.body` with their numbers, those the conditions are true for.

    Raises:
        QueryError: a mistake in a condition.
    """
    if not is_windowed(plan) or is_relation(plan):
        plan = relation_of(plan, lifetime, source, found.nodes[0].span)
    shown = [f.name for f in plan.schema if not f.name.startswith(_key(0)[:3])]
    for at, node in enumerate(found.nodes):
        count = len(node.partition)
        order = tuple(
            OrderKey(f"{_key(at)}{count + i}", key.descending, key.nulls_last) for i, key in enumerate(node.order)
        )
        partition = tuple(f"{_key(at)}{i}" for i in range(count))
        schema = Schema((*plan.schema.fields, Field(_number(at), pl.Int64())))
        plan = Top(plan, order, None, 0, schema, partition, _number(at))
    items: list[tuple[str, Expr]] = []
    for name in shown:
        field = plan.schema.find(name)
        assert field is not None
        which = next((i for i in range(len(found.nodes)) if name.startswith(_place(i))), None)
        if which is None:
            items.append((name, Column(name, field.dtype)))
            continue
        wanted = name.removeprefix(_place(which))
        taken = {n.lower() for n in shown} | {n.lower() for n, _ in items}
        final, again = wanted, 2
        while final.lower() in taken:
            final, again = f"{wanted}_{again}", again + 1
        items.append((final, Column(_number(which), pl.Int64())))
    if found.conditions:
        names = _NumberNames(plan, dict(items), found.nodes, source)
        for condition in found.conditions:
            bound = ExpressionBinder(source, names).condition(condition, "QUALIFY")
            plan = Filter(limited(plan, bound), bound, plan.schema)
    return Project(plan, tuple(items), schema_of(tuple(items)))


class _NumberNames(InputNames):
    """Names of conditions on numbers: the columns of the result, and the numbers themselves."""

    def __init__(self, plan: Plan, items: dict[str, Expr], nodes: tuple[RowNumber, ...], source: SourceText) -> None:
        super().__init__(Scope(plan, ()), source, "QUALIFY")
        self._items = {name.lower(): expr for name, expr in items.items()}
        self._names = tuple(items)
        self._numbers = {node: _number(at) for at, node in enumerate(nodes)}

    def column(self, name: Name, qualifier: Name | None) -> Expr | None:
        """A column of the result."""
        return self._items.get(name.text.lower())

    def known(self) -> tuple[str, ...]:
        """The columns of the result."""
        return self._names

    def pseudo(self) -> tuple[str, ...]:
        """Nothing else."""
        return ()

    def special(self, node: Node) -> Expr | None:
        """The number."""
        return Column(self._numbers[node], pl.Int64()) if isinstance(node, RowNumber) else None


_MIRRORED = {"<=": ">=", "<": ">", "=": "=", ">=": "<=", ">": "<"}


def limited(plan: Plan, predicate: Expr) -> Plan:
    """A plan of which only rows are wanted that a condition is true for: numbers it bounds are given no further."""
    for part in conjuncts(predicate):
        if not isinstance(part, Call) or part.function not in _MIRRORED or len(part.args) != 2:
            continue
        left, right = part.args
        function = part.function
        if isinstance(left, Literal):
            left, right, function = right, left, _MIRRORED[function]
        if not isinstance(left, Column) or not isinstance(right, Literal) or function not in ("<=", "=", "<"):
            continue
        if type(right.value) is int:
            plan = _limited(plan, left.name, max(0, right.value - (function == "<")))
    return plan


def _limited(plan: Plan, column: str, most: int) -> Plan:
    match plan:
        case Top(number=number) if number == column:
            return replace(plan, limit=most if plan.limit is None else min(plan.limit, most))
        case Project(items=items):
            below = dict(items).get(column)
            if isinstance(below, Column):
                return replace(plan, input=_limited(plan.input, below.name, most))
        case Filter() | Derived():
            return replace(plan, input=_limited(plan.input, column, most))
    return plan


__all__ = ["HIDDEN", "RowNumbers", "limited", "numbered", "numbers"]
