"""What a micro-batch of Spark's gave, as messages of the kernel's, and where those go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import polars as pl

from jupyter_stream.core.messages import Batch, Failed, Int64s, Missed
from jupyter_stream.spark.blocks import LateNamed, told
from jupyter_stream.spark.finish import Finish
from jupyter_stream.spark.inlet import Inlet
from jupyter_stream.spark.inside import ROWS
from jupyter_stream.spark.late import Told


class Answers(Protocol):
    """Where answers go: the engine's `Results`."""

    rows_out: int
    version: int

    def add(self, frame: pl.DataFrame, snapshot_at: int | None, replaces: Int64s | None = None) -> pl.DataFrame:
        """Take final rows, or provisional ones."""

    def close(self) -> None:
        """There will be no more."""


class Changes(Protocol):
    """Where the changes of a relation go: the engine's `Relation`."""

    rows_out: int
    version: int

    def change(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Take rows that enter or leave."""

    def end(self, at: int) -> None:
        """The input ends, and that was its last time."""

    def close(self) -> None:
        """There will be no more."""


def said(table: Any, finish: Finish | None, inlets: Sequence[Inlet], late: list[Told]) -> Iterator[Batch | Failed]:
    """Answers, and what could not be computed.

    Args:
        table: what the micro-batch gave, a `pyarrow.Table`.
        finish: makes answers of it; None where operators of ours inside Spark say them.
        inlets: where the query's streams enter.
        late: takes what those operators said of late rows.
    """
    if finish is not None:
        for made in finish.answers(table):
            yield made if isinstance(made, Failed) else Batch(made)
        return
    named: dict[int, list[tuple[str, pl.DataFrame]]] = {}
    for of, message in told(table.column(ROWS).to_pylist()):
        match message:
            case Batch() | Failed():
                yield message
            case LateNamed(name=name, frame=frame):
                named.setdefault(of, []).append((name, frame))
            case Missed():
                late.append(Told(inlets[of], message, named.setdefault(of, [])))
