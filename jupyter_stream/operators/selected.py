"""What a SELECT makes of tables, worked out at once from what these hold now. Not for tables that change while it is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import polars as pl

from jupyter_stream.core.messages import ROW, SIGN, TS, Batch, Message, Punctuation
from jupyter_stream.core.table import SelectedRows, TableRows
from jupyter_stream.core.time import MAX_TIME
from jupyter_stream.operators.delivered import delivered
from jupyter_stream.operators.steps import Graph
from jupyter_stream.plan.logical import Emit, Plan, Query
from jupyter_stream.plan.relations import is_relation

Build: TypeAlias = Callable[[Query], Graph]
"""How a plan becomes operators."""


def held(table: TableRows, build: Build) -> pl.DataFrame:
    """What a table holds now, of its own or made by a SELECT."""
    return _answered(table, build) if isinstance(table, SelectedRows) else table.frame


def _answered(table: SelectedRows, build: Build) -> pl.DataFrame:
    """Rows on which an expression fails are left out, as those of tables have no list."""
    plan: Plan = table.plan  # type: ignore[assignment]  # core knows no plans
    relation = is_relation(plan)
    graph = build(Query(plan, Emit(), "", None, (), relation))
    said: list[Message] = []
    for entry in graph.entries:
        assert entry.stream.table is not None
        rows = held(entry.stream.table, build)
        numbers = pl.int_range(1, pl.len() + 1, dtype=pl.Int64).alias(ROW)
        said += delivered(entry.target, Batch(rows.with_columns(pl.lit(0, pl.Int64).alias(TS), numbers)))
    for entry in graph.entries:
        said += delivered(entry.target, Punctuation(MAX_TIME))
    found = [message.frame for message in said if isinstance(message, Batch) and message.frame.height]
    names = list(table.schema.names)
    if not found:
        return table.schema.empty()
    if not relation:
        return pl.concat([frame.select(names) for frame in found])
    changes = pl.concat([frame.select(*names, pl.col(SIGN).cast(pl.Int64)) for frame in found])
    net = changes.group_by(names, maintain_order=True).agg(pl.col(SIGN).sum()).filter(pl.col(SIGN) > 0)
    return net.select(pl.exclude(SIGN).repeat_by(SIGN).explode())


__all__ = ["Build", "held"]
