"""What a stretch of a change log comes to, by key: what enters and leaves a state cancels out, in any order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from jupyter_stream.core.far import as_json

OP = "$op"
"""Int8, in changes on their way to a sink: +1 the row enters, -1 it leaves."""


@dataclass(frozen=True, slots=True)
class NetChanges:
    """What is to be done.

    Attributes:
        rows: to be put in the place of what has their key; no key twice.
        gone: keys of rows that have left.
        refused: rows whose key another row has at the same time, as `raw` and `reason`; None without.
    """

    rows: pl.DataFrame
    gone: pl.DataFrame
    refused: pl.DataFrame | None


def net(changes: pl.DataFrame, key: Sequence[str], *, grows: bool = False) -> NetChanges:
    """What changes with `$op` come to.

    Args:
        changes: of a state in any order; of an answer that grows in its order.
        key: the columns that tell rows apart.
        grows: whether rows only become more: the last one of a key takes the place of those before.
    """
    if grows and not (changes.get_column(OP) < 0).any():
        newest = changes.drop(OP).unique(key, keep="last", maintain_order=True)
        return NetChanges(newest, newest.select(key).clear(), None)
    columns = [c for c in changes.columns if c != OP]
    counted = changes.group_by(columns, maintain_order=True).agg(pl.col(OP).cast(pl.Int64).sum())
    entered = counted.filter(pl.col(OP) > 0)
    left = counted.filter(pl.col(OP) < 0).select(key).unique(maintain_order=True)
    last = pl.int_range(pl.len()).over(*key) == pl.len().over(*key) - 1
    entered = (
        entered.with_columns(last.alias("$last"))
        if entered.height
        else entered.with_columns(pl.lit(True).alias("$last"))
    )
    rows = entered.filter("$last").select(columns)
    twice = entered.filter(~pl.col("$last") | (pl.col(OP) > 1)).select(columns)
    gone = left.join(rows.select(key), on=list(key), how="anti", nulls_equal=True)
    return NetChanges(rows, gone, _refused(twice, key) if twice.height else None)


def _refused(rows: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    why = f"another row has the same key ({', '.join(key)})"
    return pl.DataFrame([as_json(rows), pl.Series("reason", [why]).new_from_index(0, rows.height)])


__all__ = ["OP", "NetChanges", "net"]
