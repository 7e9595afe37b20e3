"""What a micro-batch of Spark's gave, as messages of the kernel's, and where those go."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import polars as pl

from jupyter_stream.core.messages import Batch, Failed, Int64s, Missed
from jupyter_stream.spark.blocks import WRITTEN, Ended, LateNamed, RefusedElsewhere, WrittenElsewhere, decoded
from jupyter_stream.spark.finish import Finish
from jupyter_stream.spark.inlet import Inlet
from jupyter_stream.spark.inside import ROWS
from jupyter_stream.spark.late import LateReport


class Answers(Protocol):
    """Where answers go: the engine's `Results`."""

    rows_out: int
    version: int

    def add(self, frame: pl.DataFrame, snapshot_at: int | None, replaces: Int64s | None = None) -> pl.DataFrame:
        """Take final rows, or provisional ones."""

    def close(self) -> None:
        """There will be no more."""


class ChangeTarget(Protocol):
    """Where the changes of a relation go: the engine's `Relation`."""

    rows_out: int
    version: int

    def change(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Take rows that enter or leave."""

    def end(self, at: int | Callable[[], int]) -> None:
        """The input ends, and that was its last time."""

    def close(self) -> None:
        """There will be no more."""


class PieceWriter(Protocol):
    """What writes rows of a sink where they are made. It travels there."""

    def written_apart(self, rows: pl.DataFrame, tag: str) -> pl.DataFrame:
        """Write rows that nobody sees yet; what the sink is to be told of them, with their number as `rows`."""


class BatchWriter(Protocol):
    """What writes the answers of each micro-batch to a sink, under its number."""

    def recall(self, going: Callable[[], bool]) -> None:
        """Find out what an earlier run has written."""

    def begin(self, number: int) -> None:
        """The answers of a micro-batch follow."""

    def apart(self, going: Callable[[], bool]) -> PieceWriter | None:
        """What writes rows where they are made; None where the sink doesn't take that."""

    def adopt(self, pieces: list[pl.DataFrame], refused: list[Failed]) -> None:
        """Rows of the micro-batch that were written elsewhere, and those that the sink will never take."""

    def waits_for(self, why: str) -> None:
        """Say that the sink is away, and wait a second."""

    def seal(self, going: Callable[[], bool]) -> None:
        """That was the micro-batch: wait until it is written, while the query is going."""


def said(
    table: Any, finish: Finish | None, inlets: Sequence[Inlet], late: list[LateReport]
) -> Iterator[Batch | Failed | Ended | WrittenElsewhere | RefusedElsewhere]:
    """Answers, or which were written elsewhere; what could not be computed, and the last time of a relation's rows.

    Args:
        table: what the micro-batch gave, a `pyarrow.Table`.
        finish: makes answers of it; None where operators of ours inside Spark say them.
        inlets: where the query's streams enter.
        late: takes what those operators said of late rows.
    """
    elsewhere = WRITTEN in table.column_names
    if finish is not None and not elsewhere:
        for made in finish.answers(table):
            yield made if isinstance(made, Failed) else Batch(made)
        return
    named: dict[int, list[tuple[str, pl.DataFrame]]] = {}
    for of, message in decoded(table.column(WRITTEN if elsewhere else ROWS).to_pylist()):
        match message:
            case Batch() | Failed() | Ended() | WrittenElsewhere() | RefusedElsewhere():
                yield message
            case LateNamed(name=name, frame=frame):
                named.setdefault(of, []).append((name, frame))
            case Missed():
                late.append(LateReport(inlets[of], message, named.setdefault(of, [])))
