"""Our operators inside Spark, for what it has none for: windows of rows, slide-by-tuple, landmark, OVER, some aggregates.

Rows are put together in blocks (an Arrow stream each) by the bucket their partition belongs to, so that types and NULLs stay as
they are and nothing is done row by row; Spark brings the blocks of a bucket to one place, where `transformWithState` keeps the
bucket's operator as its state and hands it blocks and the watermark. What the operators say goes on in such blocks as well, and
is read where the answers arrive.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeAlias

import polars as pl

from jupyter_stream.core.messages import BROKEN, LATE_ID, ROW, TS, Batch, Failed, Message, Punctuation
from jupyter_stream.core.schema import Schema
from jupyter_stream.core.time import MAX_TIME
from jupyter_stream.functions import Expr
from jupyter_stream.operators import planned
from jupyter_stream.operators.protocol import Operator
from jupyter_stream.plan.logical import Aggregate, Over
from jupyter_stream.spark.aggregates import AGGREGATES
from jupyter_stream.spark.expressions import SHIFT, sql
from jupyter_stream.spark.types import from_spark
from jupyter_stream.windows import RowWindow, TimeWindow, TupleWindow

Frame: TypeAlias = Any
"""A `pyspark.sql.DataFrame`."""

ROWS: Final = "rows"
"""The column of blocks. The names here are what Avro takes: in it Spark describes a state."""
_BUCKET: Final = "bucket"
_REASON: Final = "$reason"
"""In a block: why an answer could not be computed."""
_ENDED: Final = 2**61 // 1000
"""Watermarks at or after this come from the row that says the input has ended; milliseconds."""
ROCKSDB: Final = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def is_inside(plan: object) -> bool:
    """Whether a node runs as our operator inside Spark."""
    if isinstance(plan, Over):
        return not plan.user
    if not isinstance(plan, Aggregate) or plan.user or plan.beside:
        return False
    window = plan.window
    if isinstance(window, RowWindow):
        return window.slide is not None
    if isinstance(window, TimeWindow):
        return window.range is None or any(_only_ours(c.function, c.distinct) for c in plan.aggregates)
    return isinstance(window, TupleWindow)


def partition(plan: Over | Aggregate) -> tuple[Expr, ...]:
    """The expressions rows may be spread by; none if one operator has to see them all."""
    if isinstance(plan, Over):
        return plan.window.partition
    if isinstance(plan.window, RowWindow):
        return tuple(e for _, e in plan.window.partition)
    # a landmark's last extent is that of the last row of all
    spread = isinstance(plan.window, TimeWindow) and plan.window.range is not None
    return tuple(e for _, e in plan.keys) if spread else ()


def run_inside(plan: Over | Aggregate, below: Frame, buckets: int) -> Frame:
    """What the operator of a node says, as blocks (see `messages`).

    Args:
        plan: the node.
        below: the rows of its input.
        buckets: how many operators share the work; a checkpoint goes with one number.
    """
    by = partition(plan)
    bucket = f"pmod(hash({', '.join(sql(e) for e in by)}), {buckets})" if by else "0"
    rows = below.selectExpr("*", f"CAST({bucket} AS INT) AS `{_BUCKET}`")
    blocks = rows.mapInArrow(_packed, f"`{_BUCKET}` INT, `{ROWS}` BINARY")
    if not below.isStreaming:
        return blocks.groupBy(f"`{_BUCKET}`").applyInArrow(
            _all_at_once(operator_of(plan), plan.input.schema), f"`{ROWS}` BINARY"
        )
    return blocks.groupBy(f"`{_BUCKET}`").transformWithStateInPandas(
        _processor(operator_of(plan), plan.input.schema), f"`{ROWS}` BINARY", "append", "eventTime"
    )


def operator_of(plan: Over | Aggregate) -> Operator:
    """The kernel's operator of a node."""
    if isinstance(plan, Over):
        return planned.over(plan)
    match plan.window:
        case RowWindow() as rows:
            return planned.row_window_aggregate(plan, rows, False)
        case TupleWindow() as tuples:
            return planned.slide_by_tuple(plan, tuples, False)
        case TimeWindow() as time:
            return planned.window_aggregate(plan, time, False)
    raise AssertionError(f"{plan.window} is not one of ours")


def messages(blocks: Iterable[bytes]) -> Iterator[Batch | Failed]:
    """What operators said, of their blocks."""
    for block in blocks:
        frame = pl.read_ipc_stream(block)
        if _REASON in frame.columns:
            yield Failed(frame.drop(_REASON), frame.get_column(_REASON))
        else:
            yield Batch(frame)


def _only_ours(function: str, distinct: bool) -> bool:
    known = AGGREGATES.get(function)
    return known is None or (distinct and known.distinct is None)


# -- in Spark's Python processes ---------------------------------------------------------------------------------------


def _packed(batches: Iterable[Any]) -> Iterator[Any]:
    """Blocks of rows by bucket, of Arrow batches of rows."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for batch in batches:
        numbers = batch.column(_BUCKET)
        rest = batch.drop_columns([_BUCKET])
        found = pc.unique(numbers).to_pylist()
        parts = [rest] if len(found) == 1 else [rest.filter(pc.equal(numbers, n)) for n in found]
        if batch.num_rows:
            yield pa.RecordBatch.from_arrays(
                [pa.array(found, pa.int32()), pa.array([_block(p) for p in parts], pa.binary())], [_BUCKET, ROWS]
            )


def _block(batch: Any) -> bytes:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())


def _rows(blocks: Iterable[bytes], schema: Schema) -> pl.DataFrame:
    """The rows of blocks as the kernel's operators take them, in the order they arrived."""
    import pyarrow as pa

    frames = []
    for block in blocks:
        with pa.ipc.open_stream(block) as reader:
            frames.append(from_spark(reader.read_all(), schema))
    frame = pl.concat(frames)
    times = [c for c in (TS, BROKEN) if c in frame.columns]
    frame = frame.with_columns(pl.col(c).cast(pl.Int64) - SHIFT for c in times)
    if BROKEN in times:
        late = pl.when(pl.col(BROKEN).is_not_null()).then(ROW).alias(LATE_ID)
        frame = frame.with_columns(late) if frame.get_column(BROKEN).count() else frame.drop(BROKEN)
    return frame.sort(ROW) if ROW in frame.columns else frame  # Spark gives them in any order


def _said(made: Iterable[Message]) -> Iterator[bytes]:
    for message in made:
        frame = None
        if isinstance(message, Batch):
            frame = message.frame
        elif isinstance(message, Failed):
            frame = message.frame.with_columns(message.reasons.alias(_REASON))
        if frame is not None and frame.height:  # punctuations are Spark's; late rows have been told before
            sink = frame.write_ipc_stream(None, compression="uncompressed")
            yield sink.getvalue()


def _all_at_once(operator: Operator, schema: Schema) -> Callable[[Any], Any]:
    """The same for rows that are all there: blocks of answers, of the blocks of a bucket."""
    fresh = pickle.dumps(operator, protocol=5)

    def answer(table: Any) -> Any:
        import pyarrow as pa

        operator: Operator = pickle.loads(fresh)
        made = list(_said(operator.on_batch(0, Batch(_rows(table.column(ROWS).to_pylist(), schema)))))
        made += _said(operator.on_punctuation(0, Punctuation(MAX_TIME)))
        return pa.table({ROWS: pa.array(made, pa.binary())})

    return answer


def _processor(operator: Operator, schema: Schema) -> Any:
    """A `StatefulProcessor` whose state is the bucket's operator."""
    import pandas as pd
    from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

    fresh = pickle.dumps(operator, protocol=5)

    class Ours(StatefulProcessor):  # type: ignore[misc]  # pyspark is not typed here
        def init(self, handle: StatefulProcessorHandle) -> None:
            self._handle = handle
            self._state = handle.getValueState("operator", "pickled BINARY")

        def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803
            blocks = [block for frame in rows for block in frame[ROWS]]
            watermark = timerValues.getCurrentWatermarkInMs()
            new = not self._state.exists()
            operator = self._operator(new)
            yield from self._run(operator, lambda: operator.on_batch(0, Batch(_rows(blocks, schema))))
            yield from self._run(operator, lambda: operator.on_punctuation(0, _punctuation(watermark)))
            self._keep(operator)
            if new:
                self._handle.registerTimer(watermark + 1)

        def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:  # noqa: N802, N803
            watermark = timerValues.getCurrentWatermarkInMs()
            operator = self._operator(False)
            yield from self._run(operator, lambda: operator.on_punctuation(0, _punctuation(watermark)))
            self._keep(operator)
            self._handle.registerTimer(watermark + 1)

        def close(self) -> None:
            pass

        def _operator(self, new: bool) -> Operator:
            found: Operator = pickle.loads(fresh if new else self._state.get()[0])
            return found

        def _keep(self, operator: Operator) -> None:
            self._state.update((pickle.dumps(operator, protocol=5),))

        @staticmethod
        def _run(operator: Operator, step: Callable[[], Iterable[Message]]) -> Iterator[Any]:
            for block in _said(step()):
                yield pd.DataFrame({ROWS: [block]})

    return Ours()


def _punctuation(watermark: int) -> Punctuation:
    return Punctuation(MAX_TIME if watermark >= _ENDED else watermark * 1000 - SHIFT)
