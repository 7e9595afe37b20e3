"""Blocks: rows on their way to operators of ours inside Spark, and what those say on its way out, as bytes of Arrow streams.

Types and NULLs stay as they are so, and Spark moves as many values as there are blocks, not rows. Not for how operators run
(`inside`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import polars as pl

from jupyter_stream.core.messages import (
    BROKEN,
    BROKEN_BY_ALL,
    LATE_ID,
    ROW,
    TS,
    Batch,
    Failed,
    Int64s,
    KeyPunctuation,
    Message,
    Missed,
    Punctuation,
    Tick,
    ints,
)
from jupyter_stream.core.schema import Schema
from jupyter_stream.core.time import MIN_TIME
from jupyter_stream.spark.expressions import SHIFT
from jupyter_stream.spark.spool import KEY_SAID, SAID, TICK
from jupyter_stream.spark.types import from_spark

WRITTEN: Final = "$written"
"""The column of blocks that come back where answers are written elsewhere."""
_NOTE: Final = b"jupyter_stream"
"""In the metadata of a block: what it holds, in JSON."""
_REPLACES: Final = b"jupyter_stream.replaces"
"""In the same: the numbers of the provisional answers that its rows replace, as int64."""
_REASON: Final = "$reason"
"""In a block of rows that failed: why."""
_MISSED: Final = "$missed"


@dataclass(frozen=True, slots=True)
class LateNamed:
    """Late rows that missed answers, as they went through a derived stream.

    Attributes:
        name: the derived stream.
        frame: its rows, with the ids by which those of the stream below are known.
    """

    name: str
    frame: pl.DataFrame


@dataclass(frozen=True, slots=True)
class Ended:
    """Of a relation whose input has ended: the last time of those of its rows that aren't a stream's own.

    Attributes:
        last: microseconds.
    """

    last: int


@dataclass(frozen=True, slots=True)
class WrittenElsewhere:
    """Answers that were written where they were made.

    Attributes:
        sink: into which of the query's sinks.
        pieces: what the sink is to be told of them, with their number as `rows`.
    """

    sink: int
    pieces: pl.DataFrame


@dataclass(frozen=True, slots=True)
class RefusedElsewhere:
    """Answers that a sink will never take.

    Attributes:
        sink: which of the query's sinks.
        failed: the answers, and why.
    """

    sink: int
    failed: Failed


@dataclass(frozen=True, slots=True)
class SinkAway:
    """Answers could not be written just now; why, a sentence."""

    why: str


Said: TypeAlias = Message | LateNamed | Ended | WrittenElsewhere | RefusedElsewhere | SinkAway
"""What operators say, on its way out of Spark."""


def block_of(batch: Any) -> bytes:
    """A block of an Arrow batch or table."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write(batch)
    return bytes(sink.getvalue())


def rows_of(blocks: Iterable[bytes], schema: Schema) -> pl.DataFrame:
    """The rows of blocks as the kernel's operators take them, in the order they arrived; what is no row after those before."""
    import pyarrow as pa

    frames = []
    for block in blocks:
        with pa.ipc.open_stream(block) as reader:
            frames.append(from_spark(reader.read_all(), schema))
    frame = pl.concat(frames)
    times = [c for c in (TS, BROKEN, BROKEN_BY_ALL, SAID, KEY_SAID, TICK) if c in frame.columns]
    frame = frame.with_columns(pl.col(c).cast(pl.Int64) - SHIFT for c in times)
    if not frame.get_column(BROKEN).count():
        frame = frame.drop(BROKEN, LATE_ID, BROKEN_BY_ALL, strict=False)
    elif BROKEN_BY_ALL in frame.columns:
        frame = frame.with_columns(pl.col(BROKEN_BY_ALL).fill_null(MIN_TIME))
    marks = [pl.col(c).is_not_null() for c in (TICK, KEY_SAID) if c in frame.columns]
    return frame.sort(ROW, *marks, *([SAID] if marks else []))  # Spark gives them in any order


def in_order(frame: pl.DataFrame, key: str | None) -> Iterator[Batch | Punctuation | KeyPunctuation | Tick]:
    """Rows with what was said between them, as the kernel hears it.

    Args:
        frame: as `rows_of` gives it; where it has no `$said`, Spark's watermark tells what is promised.
        key: the column for whose values promises are made one by one, if they are.
    """
    if SAID not in frame.columns:
        yield Batch(frame)
        return
    said, none = ints(frame.get_column(SAID)), np.zeros(frame.height, np.bool_)
    of_key = frame.get_column(KEY_SAID).is_not_null().to_numpy() if KEY_SAID in frame.columns else none
    ticks = frame.get_column(TICK).is_not_null().to_numpy() if TICK in frame.columns else none
    kind = of_key + 2 * ticks
    cuts = np.flatnonzero((said[1:] != said[:-1]) | (kind[1:] != kind[:-1])) + 1
    for start, end in zip([0, *cuts.tolist()], [*cuts.tolist(), said.size], strict=True):
        part = frame[start:end]
        yield Punctuation(int(said[start]))
        if ticks[start]:
            yield Tick(int(ints(part.get_column(TICK)).max()))
        elif of_key[start]:
            yield KeyPunctuation(part.group_by(key, maintain_order=True).agg(pl.col(KEY_SAID).max().alias(TS)))
        else:
            yield Batch(part.drop(SAID, KEY_SAID, TICK, strict=False))


def blocks_of(made: Iterable[tuple[int, Said]]) -> Iterator[bytes]:
    """What operators said, and of which stream; punctuations are Spark's and stay there."""
    for of, message in made:
        note: dict[str, Any] = {"of": of}
        replaces: Int64s | None = None
        match message:
            case Batch(frame=frame):
                if not frame.height and not message.tells:
                    continue
                note |= {"kind": "answers", "provisional": message.provisional}
                replaces = message.replaces
            case Failed(frame=frame, reasons=reasons):
                frame = frame.with_columns(reasons.alias(_REASON))
                note["kind"] = "failed"
            case Missed(late_ids=ids, missed=missed):
                missing = pl.Series(_MISSED, [None] * ids.size if missed is None else missed, pl.Int64)
                frame = pl.DataFrame({LATE_ID: ids, _MISSED: missing})
                note["kind"] = "missed"
            case LateNamed(name=name, frame=frame):
                note |= {"kind": "late", "name": name}
            case Ended(last=last):
                frame = pl.DataFrame({TS: [last]}, schema={TS: pl.Int64()})
                note["kind"] = "ended"
            case WrittenElsewhere(sink=sink, pieces=frame):
                note |= {"kind": "written", "sink": sink}
            case RefusedElsewhere(sink=sink, failed=Failed(frame=frame, reasons=reasons)):
                frame = frame.with_columns(reasons.alias(_REASON))
                note |= {"kind": "refused", "sink": sink}
            case SinkAway(why=why):
                frame = pl.DataFrame({_REASON: [why]})
                note["kind"] = "away"
            case _:
                continue
        if frame.height or note["kind"] == "answers":
            table = frame.to_arrow()
            metadata = {_NOTE: json.dumps(note).encode()}
            if replaces is not None:
                metadata[_REPLACES] = replaces.astype("<i8").tobytes()
            yield block_of(table.replace_schema_metadata(metadata))


Heard: TypeAlias = Batch | Failed | Missed | LateNamed | Ended | WrittenElsewhere | RefusedElsewhere | SinkAway
"""What is heard of it."""


def decoded(blocks: Iterable[bytes]) -> Iterator[tuple[int, Heard]]:
    """What operators said, of their blocks, and of which stream."""
    import pyarrow as pa

    for block in blocks:
        with pa.ipc.open_stream(block) as reader:
            table = reader.read_all()
        metadata = table.schema.metadata
        note = json.loads(metadata[_NOTE])
        frame = pl.DataFrame(table)
        match note["kind"]:
            case "failed":
                yield note["of"], Failed(frame.drop(_REASON), frame.get_column(_REASON))
            case "written":
                yield note["of"], WrittenElsewhere(note["sink"], frame)
            case "refused":
                yield note["of"], RefusedElsewhere(note["sink"], Failed(frame.drop(_REASON), frame.get_column(_REASON)))
            case "away":
                yield note["of"], SinkAway(str(frame.item()))
            case "ended":
                yield note["of"], Ended(int(ints(frame.get_column(TS))[0]))
            case "late":
                yield note["of"], LateNamed(note["name"], frame)
            case "missed":
                missed = frame.get_column(_MISSED)
                ids = ints(frame.get_column(LATE_ID))
                yield note["of"], Missed(ids, None if missed.null_count() else ints(missed))
            case _:
                numbers = metadata.get(_REPLACES)
                replaces = None if numbers is None else np.frombuffer(numbers, "<i8")
                yield note["of"], Batch(frame, note["provisional"], replaces)
