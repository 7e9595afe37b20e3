"""What a SELECT makes of tables, worked out at once from what these hold now. Not for tables that change while it is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import polars as pl

from jupyter_stream.core.messages import ROW, SIGN, TS, Batch, Failed, Message, Punctuation
from jupyter_stream.core.table import RecursiveRows, SelectedRows, TableRows
from jupyter_stream.core.time import MAX_TIME
from jupyter_stream.flow.delivered import delivered
from jupyter_stream.flow.steps import Graph
from jupyter_stream.plan.logical import BoundQuery, Emit, Plan
from jupyter_stream.plan.relations import is_relation

Build: TypeAlias = Callable[[BoundQuery], Graph]
"""How a plan becomes operators."""


def held(table: TableRows, build: Build) -> pl.DataFrame:
    """What a table holds now, of its own or made by a SELECT."""
    if isinstance(table, RecursiveRows):
        return _rounds(table, build)
    return _answered(table, table.plan, build) if isinstance(table, SelectedRows) else table.frame


def _rounds(table: RecursiveRows, build: Build) -> pl.DataFrame:
    """What WITH RECURSIVE gives.

    Raises:
        QueryError: it goes on for too long, or an expression fails on a row.
    """
    new = _answered(table, table.plan, build)
    new = new.unique(maintain_order=True) if table.distinct else new
    found, rounds, size = [new], 0, new.height
    while new.height:
        rounds += 1
        if rounds > MOST_ROUNDS or size > MOST_ROWS:
            went = f"{MOST_ROUNDS:,} rounds" if rounds > MOST_ROUNDS else f"{MOST_ROWS:,} rows"
            hint = "Write a condition under which it ends, WHERE i < 100, or UNION instead of UNION ALL where rows come again."
            raise table.refused(f"{table.name} isn't done after {went}", hint)
        table.work.hold(new)
        new = _answered(table, table.step, build)
        if table.distinct:
            known = pl.concat(found)
            new = new.unique(maintain_order=True).join(known, on=new.columns, how="anti", nulls_equal=True)
        found.append(new)
        size += new.height
    table.work.hold(table.schema.empty())
    return pl.concat(found)


MOST_ROUNDS: Final = 1_000
MOST_ROWS: Final = 1_000_000
"""Where WITH RECURSIVE is taken for one that never ends."""


def _answered(table: SelectedRows, what: object, build: Build) -> pl.DataFrame:
    """Rows on which an expression fails are left out, as those of tables have no list; a recursion ends by them."""
    plan: Plan = what  # type: ignore[assignment]  # core knows no plans
    relation = is_relation(plan)
    graph = build(BoundQuery(plan, Emit(), "", None, (), relation))
    said: list[Message] = []
    for entry in graph.entries:
        assert entry.stream.table is not None
        rows = held(entry.stream.table, build)
        numbers = pl.int_range(1, pl.len() + 1, dtype=pl.Int64).alias(ROW)
        said += delivered(entry.target, Batch(rows.with_columns(pl.lit(0, pl.Int64).alias(TS), numbers)))
    for entry in graph.entries:
        said += delivered(entry.target, Punctuation(MAX_TIME))
    failed = next((m for m in said if isinstance(m, Failed) and m.frame.height), None)
    if failed is not None and isinstance(table, RecursiveRows):
        raise table.refused(f"a row of {table.name} can't be computed: {failed.reasons[0]}", "Leave it out by WHERE.")
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
