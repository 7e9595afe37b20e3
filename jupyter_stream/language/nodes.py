"""Nodes our dialect adds to sqlglot's expression tree, and where a node stands in the text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl
from sqlglot import exp

from jupyter_stream.language.source_text import Span

if TYPE_CHECKING:
    from jupyter_stream.language.syntax import QueryBody, WindowClause


class Constant(exp.Expression, exp.Condition):
    """A value that is known when the text is read: a parameter or an INTERVAL."""

    arg_types: ClassVar[dict[str, bool]] = {"value": False, "dtype": True}

    @property
    def value(self) -> object:
        """As Polars takes it."""
        return self.args.get("value")

    @property
    def dtype(self) -> pl.DataType:
        """Its type."""
        dtype: pl.DataType = self.args["dtype"]
        return dtype


class CastTo(exp.Expression, exp.Condition):
    """`CAST(x AS t)`, `TRY_CAST`, `x::t`, and typed literals such as `DATE '2024-01-01'`."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "dtype": True, "safe": False}


class Windowed(exp.Expression, exp.Condition):
    """An aggregate with a window behind it: `count(*) [RANGE ...]`, or `sum(x) OVER (...)`."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "clause": True}

    @property
    def clause(self) -> WindowClause:
        """The window."""
        clause: WindowClause = self.args["clause"]
        return clause


class Subselect(exp.Expression, exp.Condition):
    """A SELECT inside an expression: `IN (SELECT ...)`, `EXISTS (SELECT ...)`."""

    arg_types: ClassVar[dict[str, bool]] = {"body": True}

    @property
    def body(self) -> QueryBody:
        """The SELECT."""
        body: QueryBody = self.args["body"]
        return body


def mark(node: Any, span: Span) -> Any:
    """The node, with its place in the text."""
    node.meta["start"], node.meta["end"] = span.start, span.end - 1
    return node


def span_of(node: exp.Expr) -> Span | None:
    """Where a node stands: from its first to its last part with a known place."""
    starts, ends = [], []
    for part in node.walk():
        start, end = part.meta.get("start"), part.meta.get("end")
        if start is not None and end is not None:
            starts.append(start)
            ends.append(end + 1)
    return Span(min(starts), max(ends)) if starts else None
