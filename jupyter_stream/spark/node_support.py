"""What the support of a node of a plan consists of: its rows of the table, and what it becomes. `nodes.SUPPORT` has all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from jupyter_stream.flow.protocol import Operator
from jupyter_stream.functions.expression import Expr
from jupyter_stream.plan.catalog import StreamDef
from jupyter_stream.plan.logical import Plan
from jupyter_stream.spark.rows import Support

Frame: TypeAlias = Any
"""A `pyspark.sql.DataFrame`; pyspark is imported when the first query starts on Spark, not before."""
OpenTable: TypeAlias = Callable[[StreamDef], Frame]
"""A table's rows with `$since` and `$until`, in microseconds: the times of stream rows each version goes for."""
Part: TypeAlias = tuple[str, Support]
"""A part of a query, as EXPLAIN names it, and its row of the table."""
N = TypeVar("N")


@dataclass(frozen=True, slots=True)
class Around:
    """What a translation needs besides the node and the rows of its inputs.

    Attributes:
        table: gives the rows of each table.
        guarded: whether sums beyond BIGINT are to be told of rather than end the query.
    """

    table: OpenTable
    guarded: bool = False


@dataclass(frozen=True, kw_only=True)
class NodeSupport(Generic[N]):
    """One class of nodes.

    Attributes:
        rows: all rows that `parts` and `also` may give.
        parts: what a node is, wherever it runs.
        also: what else is looked up where it is to be Spark's own; asked with whether the node is the outermost window or
            join, or above it.
        translate: its DataFrame from those of its inputs; None where Spark has none.
        normal: the same with what would end a Spark query moved to where it can be caught.
        operators: for one that rows pass one by one, what the kernel has for it: it judges rows before Spark has them, and makes
            answers of what Spark gives. None for others.
        spread: the expressions of its input by which its rows can be spread over Spark; () if one place has to see them all.
        anywhere: whether it makes the same of a row at every place.
    """

    rows: tuple[Support, ...]
    parts: Callable[[N], Iterable[Part]]
    also: Callable[[N, bool], Iterable[Part]] = lambda node, outermost: ()
    translate: Callable[[N, Sequence[Frame], Around], Frame] | None = None
    normal: Callable[[N], Plan] | None = None
    operators: Callable[[N], Sequence[Operator]] | None = None
    spread: Callable[[N], Sequence[Expr]] = lambda node: ()
    anywhere: bool = False
