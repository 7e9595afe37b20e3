"""Our operators inside Spark: a query it has no operators for runs there as the kernel's, all of its graph at one place.

Rows are put together in blocks by the bucket their partition belongs to, so that nothing is done row by row; Spark brings the
blocks of a bucket to one place, where `transformWithState` keeps the bucket's operators as its state and hands them blocks and
the watermark. What the operators say, answers, late rows that missed some and rows an expression failed on, goes on in such
blocks as well, and is read where the answers arrive (`answers`), or becomes rows of Spark's again (`inside_frame`). Where it
makes a difference when a promise was made (provisional answers at an instant, promises for single keys), there is one bucket,
and rows carry what their stream had promised.
"""

from __future__ import annotations

import io
import pickle
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from types import GeneratorType
from typing import Any, Final, TypeAlias

import numpy as np
import polars as pl

from jupyter_stream.core.garbage import spare_the_loaded
from jupyter_stream.core.messages import (
    BROKEN,
    LATE_ID,
    ROW,
    TS,
    Int64s,
    Message,
    Missed,
    Punctuation,
    ints,
)
from jupyter_stream.core.schema import Schema
from jupyter_stream.core.table import TableRows
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.flow.delivered import delivered
from jupyter_stream.flow.last_time import LastTime
from jupyter_stream.flow.named import Named
from jupyter_stream.flow.table_lookup import TableLookup, TableVersions
from jupyter_stream.graph.graph import Entry, build
from jupyter_stream.plan.catalog import StreamDef
from jupyter_stream.plan.keyed import key_promised
from jupyter_stream.plan.logical import BoundQuery, streams
from jupyter_stream.plan.needs import numbered_streams
from jupyter_stream.plan.patterns import Edge
from jupyter_stream.relations.relation_join import RelationJoinOperator
from jupyter_stream.spark.blocks import Ended, LateNamed, Said, block_of, blocks_of, in_order, rows_of
from jupyter_stream.spark.expressions import SHIFT, quoted, sql
from jupyter_stream.spark.joined_table import Held, JoinedTable
from jupyter_stream.spark.spool import SAID
from jupyter_stream.spark.spreading import By, spread

Frame: TypeAlias = Any
"""A `pyspark.sql.DataFrame`."""

ROWS: Final = "rows"
"""The column of blocks. The names here are what Avro takes: in it Spark describes a state."""
_BUCKET: Final = "bucket"
_STREAM: Final = "stream"
_ENDED: Final = 2**61 // 1000
"""Watermarks at or after this come from the row that says the input has ended; milliseconds."""
ROCKSDB: Final = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


class Network:
    """The operators of one query, by stream: as a pipeline of the kernel runs them, but for the clock.

    Args:
        query: what they compute.
        made_for: what goes on with their state has to be the same; a word of whoever makes them.
    """

    def __init__(self, query: BoundQuery, made_for: str = "") -> None:
        self.made_for = made_for
        graph = build(query)
        read = streams(query.plan)
        self._targets = [[e.target for e in graph.entries if e.stream is s] for s in read]
        self._keys = [key_promised(s) for s in read]
        self._heard = [MIN_TIME] * len(read)
        self._named = [s.operator for s in graph.steps if isinstance(s.operator, Named)]
        self._lookups = [s.operator for s in graph.steps if isinstance(s.operator, TableLookup)]
        self._beside = [
            JoinedTable(o) for s in graph.steps if isinstance(o := s.operator, RelationJoinOperator) and o.table
        ]
        self._last_times = [s.operator for s in graph.steps if isinstance(s.operator, LastTime)]
        self._changing = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        """Without the lock: where this travels to, nobody changes a table."""
        return {name: value for name, value in vars(self).items() if name != "_changing"}

    def changed(self, table: TableRows, at: int) -> None:
        """What a table holds now goes for rows at or after `at`, microseconds."""
        with self._changing:
            for operator in self._lookups:
                if operator.table.follows(table):
                    operator.changed(at)
            for beside in self._beside:
                beside.changed(table, at)

    def packed(self) -> tuple[bytes, bytes]:
        """Operators that have seen no rows, and what tables have held, before a change of a table or after it, not in between."""
        with self._changing:
            return pickled(self), pickled(self.tables)

    def look_into(self, tables: Sequence[Held]) -> None:
        """These are what tables have held, one for each look-up and join: it isn't put away with operators."""
        for operator, held in zip(self._lookups, tables, strict=False):
            operator.versions = TableVersions([since for since, _ in held], [frame for _, frame in held])
        for beside, held in zip(self._beside, tables[len(self._lookups) :], strict=True):
            beside.follow(held)

    @property
    def tables(self) -> list[Held]:
        """What tables have held, with the time from which on it goes."""
        found = [o.versions for o in self._lookups] + [b.versions for b in self._beside]
        return [list(zip(versions.since, versions.frames, strict=False)) for versions in found]

    def judged(self, stream: int, frame: pl.DataFrame) -> pl.DataFrame:
        """Rows of a stream that nobody has judged: those marked that are late by what Spark's watermark has promised."""
        late = ints(frame.get_column(TS)) < self._heard[stream]
        if not late.any():
            return frame
        marks = pl.lit(self._heard[stream], pl.Int64).alias(BROKEN), pl.col(ROW).alias(LATE_ID)
        return frame.with_columns(pl.when(pl.Series(late)).then(mark) for mark in marks)

    def rows(self, stream: int, frame: pl.DataFrame) -> Iterator[tuple[int, Said]]:
        """What they say of rows of a stream, and of which stream that is."""
        if not frame.height:
            return
        for message in in_order(frame, self._keys[stream]):
            if isinstance(message, Punctuation):
                yield from self._promised(stream, message.value)
            else:
                yield from self._entered(stream, message)

    def _entered(self, stream: int, message: Message) -> Iterator[tuple[int, Said]]:
        """What they say of a message; a late row is told of once, whatever it comes to."""
        listed: Int64s = np.empty(0, np.int64)
        for target in self._targets[stream]:
            for said in delivered(target, message):
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
        for stream in range(len(self._targets)):
            yield from self._promised(stream, value)
        if value == MAX_TIME and self._last_times:
            yield 0, Ended(max(operator.newest for operator in self._last_times))

    @property
    def tells_last_time(self) -> bool:
        """Whether it tells, when all has ended, the last time of the relation's rows."""
        return bool(self._last_times)

    def _promised(self, stream: int, value: int) -> Iterator[tuple[int, Said]]:
        if value > self._heard[stream]:
            self._heard[stream] = value
            for target in self._targets[stream]:
                for said in delivered(target, Punctuation(value)):
                    yield stream, said


def in_turn(query: BoundQuery) -> bool:
    """Whether operators are to hear rows and promises in the order they came, rather than what is promised in the end."""
    provisional = query.emit.mode != "final" and not query.relation
    return provisional or any(key_promised(s) is not None for s in streams(query.plan))


def partition(query: BoundQuery) -> tuple[By, ...]:
    """For each of its streams, the expressions that rows may be spread by; none if one place has to see them all."""
    return () if in_turn(query) or numbered_streams(query.plan) else spread(query.plan)


def run_inside(
    query: BoundQuery,
    network: Network,
    below: Sequence[Frame],
    needed: Sequence[frozenset[str]],
    buckets: int,
    patience: float,
    *,
    judged: bool = True,
) -> Frame:
    """What the operators of a query say, as blocks (see `told`).

    Args:
        query: the query.
        network: its operators, which have seen no rows yet.
        below: the rows of each of its streams.
        needed: the columns of each that it reads.
        buckets: how many copies of the operators share the work; a checkpoint goes with one number.
        patience: seconds that Spark's state server may take for an answer.
        judged: whether late rows are marked; if not, those are late that come after Spark's watermark.
    """
    system = set() if in_turn(query) else {SAID}
    read = streams(query.plan)
    spread_by = partition(query) or ((),) * len(read)
    blocks = None
    for number, (stream, frame, wanted, by) in enumerate(zip(read, below, needed, spread_by, strict=True)):
        bucket = f"pmod(hash({', '.join(sql(e) for e in by)}), {buckets})" if by else "0"
        unread = {n for n in stream.schema.names if n not in wanted} | system
        columns = [quoted(c) for c in frame.columns if c not in unread]
        rows = frame.selectExpr(*columns, f"CAST({bucket} AS INT) AS `{_BUCKET}`")
        packed = rows.mapInArrow(_packing(number, judged=judged), f"`{_BUCKET}` INT, `{_STREAM}` INT, `{ROWS}` BINARY")
        blocks = packed if blocks is None else blocks.union(packed)
    assert blocks is not None
    fresh, schemas = network.packed(), [s.schema for s in read]
    grouped = blocks.groupBy(f"`{_BUCKET}`")
    if not below[0].isStreaming:
        return grouped.applyInArrow(_all_at_once(fresh, schemas), f"`{ROWS}` BINARY")
    from jupyter_stream.checkpoints.signing import key
    from jupyter_stream.spark.processor import Operators

    say = partial(_said, fresh, schemas, network.made_for, judged=judged)
    processor = Operators(pickle.dumps(say), patience, key())
    return grouped.transformWithStateInPandas(processor, f"`{ROWS}` BINARY", "append", "eventTime")


def pickled(what: object) -> bytes:
    """Operators with their state. What they know of the plan stays here: sources can't travel, and nothing asks for them."""
    from pyspark import cloudpickle  # functions of a notebook travel with their code

    class Pickler(cloudpickle.CloudPickler):  # type: ignore[misc]  # pyspark is not typed here
        def reducer_override(self, found: object) -> Any:
            if isinstance(found, Entry | Edge | StreamDef | TableRows | TableVersions):
                return type(None), ()
            if isinstance(found, GeneratorType) and found.gi_frame is None:  # what was being said has been said
                return iter, ((),)
            return super().reducer_override(found)

    into = io.BytesIO()
    Pickler(into, protocol=5).dump(what)
    return into.getvalue()


# -- in Spark's Python processes ---------------------------------------------------------------------------------------


def _packing(stream: int, *, judged: bool) -> Callable[[Iterable[Any]], Iterator[Any]]:
    def packed(batches: Iterable[Any]) -> Iterator[Any]:
        """Blocks of rows by bucket, of Arrow batches of rows."""
        import pyarrow as pa
        import pyarrow.compute as pc

        spare_the_loaded()
        for batch in batches if judged else _numbered(batches):
            numbers = batch.column(_BUCKET)
            rest = batch.drop_columns([_BUCKET])
            found = pc.unique(numbers).to_pylist()
            parts = [rest] if len(found) == 1 else [rest.filter(pc.equal(numbers, n)) for n in found]
            if batch.num_rows:
                blocks = pa.array([block_of(p) for p in parts], pa.binary())
                of = pa.array([stream] * len(found), pa.int32())
                yield pa.RecordBatch.from_arrays([pa.array(found, pa.int32()), of, blocks], [_BUCKET, _STREAM, ROWS])

    return packed


def _numbered(batches: Iterable[Any]) -> Iterator[Any]:
    """Arrow batches that no reader of ours has made, with numbers in the order of each task: those of several have none."""
    import pyarrow as pa
    from pyspark import TaskContext

    task = TaskContext.get()
    first = 1 + ((0 if task is None else task.partitionId()) << 40)
    for batch in batches:
        rows = pa.array(np.arange(first, first + batch.num_rows))
        broken = pa.nulls(batch.num_rows, pa.timestamp("us", "UTC"))
        yield batch.append_column(ROW, rows).append_column(BROKEN, broken)
        first += batch.num_rows


def _taken(
    network: Network, schemas: Sequence[Schema], given: Iterable[tuple[int, bytes]], *, judged: bool = True
) -> Iterator[bytes]:
    """What operators say of blocks of rows, by the stream each is of."""
    by_stream: dict[int, list[bytes]] = {}
    for stream, block in given:
        by_stream.setdefault(stream, []).append(block)
    for stream in sorted(by_stream):
        rows = rows_of(by_stream[stream], schemas[stream])
        yield from blocks_of(network.rows(stream, rows if judged else network.judged(stream, rows)))


def _network(fresh: tuple[bytes, bytes], kept: bytes | None = None) -> Network:
    """Operators, those kept or fresh ones, with what tables have held since the query began."""
    network, tables = fresh
    found: Network = pickle.loads(network if kept is None else kept)
    found.look_into(pickle.loads(tables))
    return found


def _all_at_once(fresh: tuple[bytes, bytes], schemas: Sequence[Schema]) -> Callable[[Any], Any]:
    """The same for rows that are all there: blocks of answers, of the blocks of a bucket."""

    def answer(table: Any) -> Any:
        import pyarrow as pa

        spare_the_loaded()
        network = _network(fresh)
        given = zip(table.column(_STREAM).to_pylist(), table.column(ROWS).to_pylist(), strict=True)
        made = [*_taken(network, schemas, given), *blocks_of(network.punctuation(MAX_TIME))]
        return pa.table({ROWS: pa.array(made, pa.binary())})

    return answer


def _said(
    fresh: tuple[bytes, bytes],
    schemas: Sequence[Schema],
    made_for: str,
    kept: bytes | None,
    rows: Iterable[Any],
    watermark: int,
    *,
    judged: bool,
) -> Generator[Any, None, bytes]:
    """What a bucket's operators say of rows and of a watermark, as frames of blocks.

    Args:
        fresh: operators that have seen no rows yet, and what tables have held; pickled.
        schemas: of each stream that is read.
        made_for: what kept operators have to be made for.
        kept: the operators as they were put away; None if these are the bucket's first rows.
        rows: frames of blocks.
        watermark: milliseconds.
        judged: whether late rows are marked. If not, the watermark was promised before these rows; if they are, it goes for what
            comes after them.

    Returns:
        The operators, to be put away.

    Raises:
        ValueError: the operators were put away by another query.
    """
    import pandas as pd

    given = [pair for frame in rows for pair in zip(frame[_STREAM], frame[ROWS], strict=True)]
    network = _network(fresh, kept)
    if network.made_for != made_for:
        raise ValueError(f"the checkpoint is of another query, or one spread otherwise: {network.made_for}")
    parts = [_taken(network, schemas, given, judged=judged), blocks_of(network.punctuation(_value(watermark)))]
    for block in chain.from_iterable(parts if judged else reversed(parts)):
        yield pd.DataFrame({ROWS: [block]})
    return pickled(network)


def _value(watermark: int) -> int:
    return MAX_TIME if watermark >= _ENDED else watermark * 1000 - SHIFT
