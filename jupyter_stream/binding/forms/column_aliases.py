"""Names for the columns behind the name of an input, by position.

FROM bids AS b (thing, who)                      -- columns of a stream or a table are only called so
FROM (SELECT item, bidder FROM bids) AS b (thing, who)
FROM (SELECT item AS thing, bidder AS who FROM bids) AS b
WITH b (thing, who) AS (SELECT item, bidder FROM bids) SELECT ...
"""

from __future__ import annotations

from dataclasses import replace

from jupyter_stream.binding.scope import Scope, joined_columns
from jupyter_stream.core.schema import Field, Schema
from jupyter_stream.functions import Column
from jupyter_stream.plan.logical import Plan, Project
from jupyter_stream.syntax.nodes import ColumnRef, Star
from jupyter_stream.syntax.query_syntax import FromItem, QueryBody, SetBody
from jupyter_stream.syntax.source_text import Name, SourceText

_EXTENT = ("window_start", "window_end")


def renamed(plan: Plan, names: tuple[Name, ...], body: QueryBody, source: SourceText) -> Plan:
    """A SELECT's columns under other names: those it was asked for, without a window_start and a window_end that come unasked.

    Args:
        plan: its rows.
        names: the names, for the first columns; the others keep theirs.
        body: as written.
        source: where it is written.

    Raises:
        QueryError: more names than columns, or two equal ones.
    """
    fields = list(plan.schema)
    first = 0 if len(names) == len(fields) else _window_columns(plan, body)
    _check(names, len(fields) - first, source)
    shown = [f.name for f in fields]
    shown[first : first + len(names)] = [name.text for name in names]
    _check_unlike(names, shown, source)
    items = tuple((name, Column(f.name, f.dtype)) for name, f in zip(shown, fields, strict=True))
    return Project(plan, items, Schema(tuple(Field(name, e.dtype) for name, e in items)))


def with_names(scope: Scope, item: FromItem, source: SourceText) -> Scope:
    """What a stream, a union or a join in parentheses shows, under the names behind it; its plan stays.

    Raises:
        QueryError: more names than columns, or two equal ones.
    """
    qualifiers = (item.alias.text.lower(),) if item.alias is not None else scope.qualifiers
    columns = [c for c in joined_columns(scope) if c.shown and c.goes_by(None)]
    _check(item.columns, len(columns), source)
    shown = [c.name for c in columns]
    shown[: len(item.columns)] = [name.text for name in item.columns]
    _check_unlike(item.columns, shown, source)
    made = [replace(c, qualifiers=qualifiers, name=n, reach="any") for c, n in zip(columns, shown, strict=True)]
    return replace(scope, qualifiers=qualifiers, joined=tuple(made))


def _window_columns(plan: Plan, body: QueryBody) -> int:
    while isinstance(body, SetBody):
        body = body.parts[0]
    expressions = [item.expression for item in body.items]
    if any(isinstance(e, Star) for e in expressions):
        return 0
    asked = {e.name.text.lower() for e in expressions if isinstance(e, ColumnRef)}
    asked |= {item.alias.text.lower() for item in body.items if item.alias is not None}
    extent = [name for name in _EXTENT if name not in asked]
    return sum(field.name == name for field, name in zip(plan.schema, extent, strict=False))


def _check(names: tuple[Name, ...], count: int, source: SourceText) -> None:
    if len(names) > count:
        raise source.error(
            f"{len(names)} names for {count} column{'s' * (count != 1)}",
            names[count].span.to(names[-1].span),
            "Leave them out: columns without a name here keep their own.",
        )


def _check_unlike(names: tuple[Name, ...], shown: list[str], source: SourceText) -> None:
    lower = [name.lower() for name in shown]
    for name in reversed(names):
        if lower.count(name.text.lower()) > 1:
            raise source.error(f"two columns are called {name.text}", name.span, "Give one of them another name.")
