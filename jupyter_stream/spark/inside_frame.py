"""Operators of ours in a streaming DataFrame: rows that Spark reads go through them, and come out as rows of Spark's.

Nobody has judged these rows: those that come after Spark's watermark are late. For programs that go on in Spark, not for queries
that are started with `--engine spark`, whose answers arrive here (`run`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import polars as pl

from jupyter_stream.core.garbage import spare_the_loaded
from jupyter_stream.core.messages import SIGN, TS, Batch, Failed
from jupyter_stream.core.schema import TIMESTAMP, Field, Schema
from jupyter_stream.functions.types import spark_name
from jupyter_stream.plan.logical import BoundQuery, streams
from jupyter_stream.plan.needs import needed_columns
from jupyter_stream.plan.time_of import integer_time
from jupyter_stream.spark.blocks import decoded
from jupyter_stream.spark.expressions import quoted, sql
from jupyter_stream.spark.inside import ROWS, Frame, Network, partition, run_inside
from jupyter_stream.spark.types import arrow_of


def answers_inside(query: BoundQuery, read: Sequence[Frame], buckets: int, patience: float) -> Frame:
    """The answers of a query that runs as operators of ours; of a relation its changes, with `op` and `at`.

    Args:
        query: the query.
        read: the rows of each of its streams, with `$ts` and a watermark.
        buckets: how many copies of the operators share the work; a checkpoint goes with one number.
        patience: seconds that Spark's state server may take for an answer.
    """
    needed = needed_columns(query.plan)
    spread = [[sql(e) for e in by] for by in partition(query)]
    network = Network(query, made_for=json.dumps([" ".join(query.text.split()), buckets, spread]))
    blocks = run_inside(
        query, network, read, [needed[s.name] for s in streams(query.plan)], buckets, patience, judged=False
    )
    shown = query.shown
    changes = _changed_by(query) if query.relation else ()
    ddl = ", ".join(f"{quoted(f.name)} {spark_name(f.dtype)}" for f in (*shown, *changes))
    return blocks.mapInArrow(_answers(shown, changes), ddl)


def _changed_by(query: BoundQuery) -> tuple[Field, ...]:
    """The columns that say what came about, and when."""
    time = pl.Int64() if integer_time(query.plan) else TIMESTAMP
    return Field(query.shown.free("op"), pl.Int8()), Field(query.shown.free("at"), time)


def _answers(shown: Schema, changes: tuple[Field, ...]) -> Callable[[Iterable[Any]], Iterator[Any]]:
    columns = [pl.col(f.name).cast(f.dtype) for f in shown]
    system = (pl.col(made).cast(f.dtype).alias(f.name) for made, f in zip((SIGN, TS), changes, strict=False))
    columns += list(system)

    def answer(batches: Iterable[Any]) -> Iterator[Any]:
        """Rows, of blocks of what operators said."""
        spare_the_loaded()
        for block in (b for batch in batches for b in batch.column(ROWS).to_pylist()):
            for _, said in decoded([block]):
                if isinstance(said, Failed):
                    raise ValueError(f"a value can't be computed: {said.reasons[0]}")
                if isinstance(said, Batch) and said.frame.height:
                    yield from arrow_of(said.frame.select(columns)).to_batches()

    return answer


__all__ = ["answers_inside"]
