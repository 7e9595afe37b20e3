"""By what the rows of a query that runs as the kernel's operators can be spread over Spark, so that no place needs another's.

A node that takes rows together takes together only those that are equal in some of their columns: groups, pairs, equal rows.
These columns, followed down to the streams, say which rows belong to one place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias, TypeGuard

import polars as pl

from jupyter_stream.functions import only_here
from jupyter_stream.functions.expression import Column, Expr, columns, substitute
from jupyter_stream.plan.catalog import StreamDef
from jupyter_stream.plan.logical import (
    Alive,
    Bags,
    Distinct,
    Join,
    Plan,
    Project,
    RelationJoin,
    Scan,
    TableRelation,
    ToStream,
    Union,
    Unnest,
    is_net,
    streams,
    way_down,
)
from jupyter_stream.spark.expressions import sql
from jupyter_stream.spark.failing import can_fail
from jupyter_stream.spark.nodes import SUPPORT

By: TypeAlias = tuple[Expr, ...]


def spread(plan: Plan) -> tuple[By, ...]:
    """For each of its streams, the expressions of its columns that rows may be spread by; () if one place has to see them all."""
    found: dict[int, By] = {}
    read = streams(plan)
    for down in _tops(plan):
        if down is None:
            return ()
        stream, by = down
        if not by or any(only_here(e) or can_fail(e) for e in by):
            return ()
        before = found.setdefault(id(stream), by)
        if [sql(e) for e in before] != [sql(e) for e in by]:  # a row would be wanted at two places
            return ()
    return tuple(found[id(stream)] for stream in read) if found else ()


_Down: TypeAlias = tuple[StreamDef, By] | None
"""A stream with what its rows are spread by; None where that can't be followed to one."""


def _tops(plan: Plan) -> Iterator[_Down]:
    """Where the outermost node leads that takes rows together."""
    plan = way_down(plan, lambda node: SUPPORT[type(node)].anywhere)[-1]
    if isinstance(plan, ToStream):
        if plan.kind == "rstream" or plan.looks is not None or not isinstance(plan.input, Bags | Distinct):
            yield None  # all rows at each change of any of them; or equal rows that come from several places
            return
        plan = plan.input
    # what cancels out is equal in all columns
    plan = way_down(plan, lambda node: is_net(node) and isinstance(node.inputs[0], Bags | Distinct))[-1]
    match plan:
        case Distinct():
            yield from _down(plan.input, _comparable([Column(f.name, f.dtype) for f in plan.input.schema]))
        case Bags(parts=(left, right)):
            pairs = plan.on or tuple(zip(left.schema.names, right.schema.names, strict=True))
            yield from _both(left, right, [(_column(left, a), _column(right, b)) for a, b in pairs])
        case Bags(kind="net", parts=(same,)):
            yield from _down(same, _comparable([Column(f.name, f.dtype) for f in same.schema]))
        case _ if _has_table(plan):
            yield from _down(plan, _comparable([own for own, _ in plan.keys]))
        case Join() | RelationJoin(value=False):
            yield from _both(plan.left, plan.right, plan.keys)
        case _:
            by = _comparable(SUPPORT[type(plan)].spread(plan))
            yield from _down(plan.inputs[0], by) if by else [None]


def _has_table(plan: Plan) -> TypeGuard[RelationJoin]:
    """Whether it is a join with a table, all of which is at each place."""
    return any(isinstance(part, TableRelation) for part in plan.inputs[1:])


def _column(plan: Plan, name: str) -> Column:
    field = plan.schema.find(name)
    assert field is not None
    return Column(name, field.dtype)


def _both(left: Plan, right: Plan, pairs: Sequence[tuple[Expr, Expr]]) -> Iterator[_Down]:
    """Both sides of what takes rows together that are equal pair by pair."""
    same = [pair for pair in pairs if pair[0].dtype == pair[1].dtype and len(_comparable(pair)) == 2]
    yield from _down(left, tuple(a for a, _ in same))
    yield from _down(right, tuple(b for _, b in same))


def _comparable(values: Sequence[Expr]) -> By:
    """Those that are equal for Spark's hash where they are equal: of floats there are two zeros."""
    return tuple(e for e in values if not (e.dtype.is_float() or e.dtype.is_nested() or e.dtype == pl.Null()))


def _down(plan: Plan, by: By) -> Iterator[_Down]:
    """What the columns of a node are in those of its streams, as long as rows pass one by one."""
    if isinstance(plan, Scan):
        yield plan.stream, by
    elif isinstance(plan, Project):
        yield from _down(plan.input, tuple(substitute(e, dict(plan.items)) for e in by))
    elif isinstance(plan, Unnest):  # items of a row are no values of its
        of_rows = all(plan.origin(name) is not None for e in by for name in columns(e))
        yield from _down(plan.input, by) if of_rows else (None,)
    elif isinstance(plan, Union):
        for part in plan.parts:
            own: dict[str, Expr] = {
                n: Column(f.name, f.dtype) for n, f in zip(plan.schema.names, part.schema, strict=True)
            }
            yield from _down(part, tuple(substitute(e, own) for e in by))
    elif _has_table(plan):  # all of it is at each place
        own_columns = set(plan.left.schema.names)
        yield from _down(plan.left, tuple(e for e in by if columns(e) <= own_columns))
    elif isinstance(plan, Alive) or SUPPORT[type(plan)].anywhere:
        yield from _down(plan.inputs[0], by)
    else:
        yield None


__all__ = ["By", "spread"]
