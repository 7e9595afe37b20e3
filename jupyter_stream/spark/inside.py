"""Our operators inside Spark: a query it has no operators for runs there as the kernel's, all of its graph at one place.

Rows are put together in blocks (an Arrow stream each) by the bucket their partition belongs to, so that types and NULLs stay as
they are and nothing is done row by row; Spark brings the blocks of a bucket to one place, where `transformWithState` keeps the
bucket's operators as its state and hands them blocks and the watermark. What the operators say, answers, late rows that missed
some and rows an expression failed on, goes on in such blocks as well, and is read where the answers arrive.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import GeneratorType
from typing import Any, Final, TypeAlias

import numpy as np
import polars as pl

from jupyter_stream.core.messages import (
    BROKEN,
    LATE_ID,
    ROW,
    SIGN,
    TS,
    Batch,
    Failed,
    Int64s,
    Message,
    Missed,
    Punctuation,
    ints,
)
from jupyter_stream.core.schema import Schema
from jupyter_stream.core.table import TableRows
from jupyter_stream.core.time import MAX_TIME
from jupyter_stream.functions.expression import Expr, substitute
from jupyter_stream.operators.graph import Entry, Target, build
from jupyter_stream.operators.named import Named
from jupyter_stream.operators.table_lookup import TableLookup, Versions
from jupyter_stream.plan.catalog import StreamDef
from jupyter_stream.plan.logical import Aggregate, Derived, Filter, Over, Plan, Project, Query, Scan, streams
from jupyter_stream.plan.patterns import Edge
from jupyter_stream.spark.expressions import SHIFT, quoted, sql
from jupyter_stream.spark.spool import SAID
from jupyter_stream.spark.types import from_spark
from jupyter_stream.windows import RowWindow, TimeWindow

Frame: TypeAlias = Any
"""A `pyspark.sql.DataFrame`."""

ROWS: Final = "rows"
"""The column of blocks. The names here are what Avro takes: in it Spark describes a state."""
_BUCKET: Final = "bucket"
_STREAM: Final = "stream"
_REASON: Final = "$reason"
"""In a block: why an answer could not be computed."""
_MISSED: Final = "$missed"
_NAME: Final = "$name"
"""In a block: the derived stream whose late rows it holds."""
_OF: Final = "$of"
"""In a block: the number of the stream it speaks of."""
_ENDED: Final = 2**61 // 1000
"""Watermarks at or after this come from the row that says the input has ended; milliseconds."""
ROCKSDB: Final = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


@dataclass(frozen=True, slots=True)
class LateNamed:
    """Late rows that missed answers, as they went through a derived stream.

    Attributes:
        name: the derived stream.
        frame: its rows, with the ids by which those of the stream below are known.
    """

    name: str
    frame: pl.DataFrame


Said: TypeAlias = Message | LateNamed
"""What operators say, on its way out of Spark."""


class Network:
    """The operators of one query, by stream: as a pipeline of the kernel runs them, but for the clock.

    Args:
        query: what they compute.
    """

    def __init__(self, query: Query) -> None:
        graph = build(query)
        self._targets = [[e.target for e in graph.entries if e.stream is s] for s in streams(query.plan)]
        self._named = [s.operator for s in graph.steps if isinstance(s.operator, Named)]
        self._lookups = [s.operator for s in graph.steps if isinstance(s.operator, TableLookup)]

    def changed(self, table: TableRows, at: int) -> None:
        """What a table holds now goes for rows at or after `at`, microseconds."""
        for operator in self._lookups:
            if operator.table is table:
                operator.changed(at)

    def look_into(self, tables: Sequence[Sequence[tuple[int, pl.DataFrame]]]) -> None:
        """Look up in these, one for each look-up: what tables have held isn't put away with operators."""
        for operator, held in zip(self._lookups, tables, strict=True):
            operator.versions = Versions([since for since, _ in held], [frame for _, frame in held])

    @property
    def tables(self) -> list[list[tuple[int, pl.DataFrame]]]:
        """What its look-ups look into, with the time from which on it goes; asked while a table may be changing."""
        return [list(zip(o.versions.since, o.versions.frames, strict=False)) for o in self._lookups]

    def rows(self, stream: int, frame: pl.DataFrame) -> Iterator[tuple[int, Said]]:
        """What they say of rows of a stream, and of which stream that is; a late row is told of once, whatever it comes to."""
        listed: Int64s = np.empty(0, np.int64)
        for target in self._targets[stream]:
            for said in self._deliver(target, Batch(frame)):
                if isinstance(said, Missed):
                    new = np.isin(said.late_ids, listed, invert=True)
                    said = Missed(said.late_ids[new], None if said.missed is None else said.missed[new])
                    listed = np.append(listed, said.late_ids)
                    for named in self._late_named(said.late_ids):
                        yield stream, named
                yield stream, said
        for operator in self._named:
            operator.late = None  # what it holds is put away with it

    def _late_named(self, ids: Int64s) -> Iterator[LateNamed]:
        known = pl.Series(ids).implode()
        for operator in self._named:
            if operator.late is not None:
                yield LateNamed(operator.stream, operator.late.filter(pl.col(LATE_ID).is_in(known)))

    def punctuation(self, value: int) -> Iterator[tuple[int, Said]]:
        """What they say once no row before `value` will come, of any stream."""
        for stream, targets in enumerate(self._targets):
            for target in targets:
                for said in self._deliver(target, Punctuation(value)):
                    yield stream, said

    def _deliver(self, target: Target | None, message: Message) -> Iterator[Message]:
        if isinstance(message, Failed) and SIGN in message.frame.columns:
            entering = message.frame.get_column(SIGN) > 0  # what can't enter a relation, can't leave it either
            message = Failed(message.frame.filter(entering).drop(SIGN), message.reasons.filter(entering))
        if target is None or isinstance(message, Missed | Failed):
            yield message
            return
        operator = target.step.operator
        made: Iterable[Message] = ()
        if isinstance(message, Batch):
            made = operator.on_batch(target.port, message)
        elif isinstance(message, Punctuation):
            made = operator.on_punctuation(target.port, message)
        for said in made:
            yield from self._deliver(target.step.target, said)


def partition(plan: Plan) -> tuple[Expr, ...]:
    """The expressions of the stream's columns that rows may be spread by; none if one place has to see them all."""
    while isinstance(plan, Filter | Project | Derived):
        plan = plan.input
    if isinstance(plan, Over):
        by = plan.window.partition
    elif not isinstance(plan, Aggregate) or plan.window.on is not None:
        return ()
    elif isinstance(plan.window, RowWindow) and plan.window.slide is not None:
        by = tuple(e for _, e in plan.window.partition)
    elif (
        isinstance(plan.window, TimeWindow) and plan.window.range is not None
    ):  # landmarks end with the last row of all
        by = tuple(e for _, e in plan.keys)
    else:
        return ()
    below = plan.input
    while isinstance(below, Filter | Project | Derived):
        if isinstance(below, Project):
            by = tuple(substitute(e, dict(below.items)) for e in by)
        below = below.input
    return by if isinstance(below, Scan) else ()


def run_inside(
    query: Query, network: Network, below: Sequence[Frame], needed: Sequence[frozenset[str]], buckets: int
) -> Frame:
    """What the operators of a query say, as blocks (see `told`).

    Args:
        query: the query.
        network: its operators, which have seen no rows yet.
        below: the rows of each of its streams.
        needed: the columns of each that it reads.
        buckets: how many copies of the operators share the work; a checkpoint goes with one number.
    """
    by = partition(query.plan)
    bucket = f"pmod(hash({', '.join(sql(e) for e in by)}), {buckets})" if by else "0"
    read = streams(query.plan)
    blocks = None
    for number, (stream, frame, wanted) in enumerate(zip(read, below, needed, strict=True)):
        unread = {n for n in stream.schema.names if n not in wanted} | {SAID}
        columns = [quoted(c) for c in frame.columns if c not in unread]
        rows = frame.selectExpr(*columns, f"CAST({bucket} AS INT) AS `{_BUCKET}`")
        packed = rows.mapInArrow(_packing(number), f"`{_BUCKET}` INT, `{_STREAM}` INT, `{ROWS}` BINARY")
        blocks = packed if blocks is None else blocks.union(packed)
    assert blocks is not None
    fresh, schemas = (pickled(network), pickled(network.tables)), [s.schema for s in read]
    grouped = blocks.groupBy(f"`{_BUCKET}`")
    if not below[0].isStreaming:
        return grouped.applyInArrow(_all_at_once(fresh, schemas), f"`{ROWS}` BINARY")
    return grouped.transformWithStateInPandas(_processor(fresh, schemas), f"`{ROWS}` BINARY", "append", "eventTime")


def told(blocks: Iterable[bytes]) -> Iterator[tuple[int, Batch | Failed | Missed | LateNamed]]:
    """What operators said, of their blocks, and of which stream."""
    for block in blocks:
        frame = pl.read_ipc_stream(block)
        of = int(frame.get_column(_OF)[0])
        frame = frame.drop(_OF)
        if _REASON in frame.columns:
            yield of, Failed(frame.drop(_REASON), frame.get_column(_REASON))
        elif _NAME in frame.columns:
            yield of, LateNamed(str(frame.get_column(_NAME)[0]), frame.drop(_NAME))
        elif _MISSED in frame.columns:
            missed = frame.get_column(_MISSED)
            yield of, Missed(ints(frame.get_column(LATE_ID)), None if missed.null_count() else ints(missed))
        else:
            yield of, Batch(frame)


def pickled(what: object) -> bytes:
    """Operators with their state. What they know of the plan stays here: sources can't travel, and nothing asks for them."""
    from pyspark import cloudpickle  # functions of a notebook travel with their code

    class Pickler(cloudpickle.CloudPickler):  # type: ignore[misc]  # pyspark is not typed here
        def reducer_override(self, found: object) -> Any:
            if isinstance(found, Entry | Edge | StreamDef | TableRows | Versions):
                return type(None), ()
            if isinstance(found, GeneratorType) and found.gi_frame is None:  # what was being said has been said
                return iter, ((),)
            return super().reducer_override(found)

    into = io.BytesIO()
    Pickler(into, protocol=5).dump(what)
    return into.getvalue()


# -- in Spark's Python processes ---------------------------------------------------------------------------------------


def _packing(stream: int) -> Callable[[Iterable[Any]], Iterator[Any]]:
    def packed(batches: Iterable[Any]) -> Iterator[Any]:
        """Blocks of rows by bucket, of Arrow batches of rows."""
        import pyarrow as pa
        import pyarrow.compute as pc

        for batch in batches:
            numbers = batch.column(_BUCKET)
            rest = batch.drop_columns([_BUCKET])
            found = pc.unique(numbers).to_pylist()
            parts = [rest] if len(found) == 1 else [rest.filter(pc.equal(numbers, n)) for n in found]
            if batch.num_rows:
                blocks = pa.array([_block(p) for p in parts], pa.binary())
                of = pa.array([stream] * len(found), pa.int32())
                yield pa.RecordBatch.from_arrays([pa.array(found, pa.int32()), of, blocks], [_BUCKET, _STREAM, ROWS])

    return packed


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
    frame = frame.with_columns(pl.col(c).cast(pl.Int64) - SHIFT for c in (TS, BROKEN))
    if not frame.get_column(BROKEN).count():
        frame = frame.drop(BROKEN, LATE_ID)
    return frame.sort(ROW)  # Spark gives them in any order


def _said(made: Iterable[tuple[int, Said]]) -> Iterator[bytes]:
    for of, message in made:
        match message:
            case Batch(frame=frame):
                pass
            case Failed(frame=frame, reasons=reasons):
                frame = frame.with_columns(reasons.alias(_REASON))
            case Missed(late_ids=ids, missed=missed):
                missing = pl.Series(_MISSED, [None] * ids.size if missed is None else missed, pl.Int64)
                frame = pl.DataFrame({LATE_ID: ids, _MISSED: missing})
            case LateNamed(name=name, frame=frame):
                frame = frame.with_columns(pl.lit(name).alias(_NAME))
            case _:
                continue  # punctuations are Spark's
        if frame.height:
            yield (
                frame.with_columns(pl.lit(of).alias(_OF)).write_ipc_stream(None, compression="uncompressed").getvalue()
            )


def _taken(network: Network, schemas: Sequence[Schema], given: Iterable[tuple[int, bytes]]) -> Iterator[bytes]:
    """What operators say of blocks of rows, by the stream each is of."""
    by_stream: dict[int, list[bytes]] = {}
    for stream, block in given:
        by_stream.setdefault(stream, []).append(block)
    for stream in sorted(by_stream):
        yield from _said(network.rows(stream, _rows(by_stream[stream], schemas[stream])))


def _network(fresh: tuple[bytes, bytes], kept: bytes | None = None) -> Network:
    """Operators, those kept or fresh ones, with what tables have held since the query began."""
    import pickle

    network, tables = fresh
    found: Network = pickle.loads(network if kept is None else kept)
    found.look_into(pickle.loads(tables))
    return found


def _all_at_once(fresh: tuple[bytes, bytes], schemas: Sequence[Schema]) -> Callable[[Any], Any]:
    """The same for rows that are all there: blocks of answers, of the blocks of a bucket."""

    def answer(table: Any) -> Any:
        import pyarrow as pa

        network = _network(fresh)
        given = zip(table.column(_STREAM).to_pylist(), table.column(ROWS).to_pylist(), strict=True)
        made = [*_taken(network, schemas, given), *_said(network.punctuation(MAX_TIME))]
        return pa.table({ROWS: pa.array(made, pa.binary())})

    return answer


def _processor(fresh: tuple[bytes, bytes], schemas: Sequence[Schema]) -> Any:
    """A `StatefulProcessor` whose state is the bucket's operators."""
    import pandas as pd
    from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

    class Ours(StatefulProcessor):  # type: ignore[misc]  # pyspark is not typed here
        def init(self, handle: StatefulProcessorHandle) -> None:
            self._handle = handle
            self._state = handle.getValueState("operator", "pickled BINARY")

        def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803
            given = [pair for frame in rows for pair in zip(frame[_STREAM], frame[ROWS], strict=True)]
            watermark = timerValues.getCurrentWatermarkInMs()
            new = not self._state.exists()
            network = _network(fresh, None if new else self._state.get()[0])
            yield from map(_one, _taken(network, schemas, given))
            yield from map(_one, _said(network.punctuation(_value(watermark))))
            self._keep(network)
            if new:
                self._handle.registerTimer(watermark + 1)

        def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:  # noqa: N802, N803
            watermark = timerValues.getCurrentWatermarkInMs()
            network = _network(fresh, self._state.get()[0])
            yield from map(_one, _said(network.punctuation(_value(watermark))))
            self._keep(network)
            self._handle.registerTimer(watermark + 1)

        def close(self) -> None:
            pass

        def _keep(self, network: Network) -> None:
            self._state.update((pickled(network),))

    def _one(block: bytes) -> Any:
        return pd.DataFrame({ROWS: [block]})

    return Ours()


def _value(watermark: int) -> int:
    return MAX_TIME if watermark >= _ENDED else watermark * 1000 - SHIFT
