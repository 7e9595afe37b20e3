"""Rows on their way to Spark: Parquet files in a folder, in the order the rows came. One writer, one Spark query.

A notebook's frames, generators and live sources can't be reached from Spark's own processes; files can, Spark reads them with its
vectorised reader and keeps in its checkpoint how far it has got, and they wait where a queue would fill memory.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import polars as pl

from jupyter_stream.core.messages import BROKEN, BROKEN_BY_ALL, LATE_ID, ROW, TS, ints
from jupyter_stream.core.schema import TIMESTAMP, Field, Schema
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.spark.expressions import SHIFT, quoted
from jupyter_stream.spark.node_support import Frame
from jupyter_stream.spark.numbered import NumberedFiles
from jupyter_stream.spark.promised import Promised
from jupyter_stream.spark.types import spark_ddl, to_spark

END: Final = 2**62 + 1
"""The time of the row that says the input has ended: later than any row's (times reach 2^62), in Spark's range."""
SAID: Final = "$said"
"""For operators of ours: what their stream had promised when the row came, which Spark takes as its watermark."""
KEY_SAID: Final = "$key_said"
"""For operators of ours, in a row that is none: what the stream has promised of the key it holds."""
TICK: Final = "$tick"
"""The same, where provisional answers are to be given: the time of the newest row."""
_FOR_EVER: Final = 2**61 // 1000
"""A delay in milliseconds that holds the watermark of times people have at 1970 until the row of the end comes."""
_FILE_ROWS: Final = 262_144
_WAIT: Final = 0.1
"""Seconds that rows of a trickle wait for others, so that a live source doesn't write a file per row."""


class Spool:
    """The folder of one stream.

    Args:
        folder: made here; must not exist.
        schema: the stream's columns.
        needed: those that Spark is to see; the others are NULL there.
        time_column: the column that is the time, where it isn't `$ts`.
        again: whether the rows of an earlier run come again, if there was one: those that are here aren't written twice.
        promises: whether Spark is to hear what the stream promises, rather than to make out for itself what is final.
        key: the column for whose values the stream makes promises one by one, if it does.
        ticks: whether provisional answers are to be given as rows come.
        handed: the column that is the time, where files are handed over as they are; None where all rows come one by one.
        delay: how far behind the newest row Spark's watermark is, microseconds; None where rows alone don't move it.
        reopens: whether rows may come after the end that an earlier run has seen.
        paced: whether Spark takes a few files at a time, which must be the first of those there are.

    Attributes:
        folder: the folder.
        promised: what earlier runs promised of a stream that goes on.
        rows: the number of the last row taken, those of an earlier run that came again among them. Where files are handed
            over: how many were taken.
        written: rows written in this run.
        closed: whether an earlier run has seen the end of the input, after which no row is taken.
    """

    def __init__(
        self,
        folder: Path,
        schema: Schema,
        needed: frozenset[str],
        time_column: str | None = None,
        *,
        again: bool = False,
        promises: bool = False,
        key: str | None = None,
        ticks: bool = False,
        handed: str | None = None,
        delay: int | None = None,
        reopens: bool = False,
        paced: bool = False,
    ) -> None:
        self.folder = folder
        self.written = 0
        self._schema = schema
        self._needed = needed
        self._time_column = time_column
        self._promises = promises
        self._key = key
        self._ticks = ticks
        self._handed = handed
        self._delay = delay
        self._files = NumberedFiles(folder, by_others=handed is not None, paced=paced)
        noted = self._files.noted
        self._here, self._said = noted.get("rows", 0), noted.get("said", MIN_TIME)
        self._ended = bool(noted.get("ended"))
        self.promised = Promised(folder / ".promised", self._here, MIN_TIME if self._ended else self._said, again=again)
        self.closed = self._ended = self._ended and not reopens
        self.rows = self._before = 0 if again else self._here
        self._waiting: list[pl.DataFrame] = []
        self._waiting_rows = 0
        self._since = 0.0
        self._unpromised = False  # whether rows were taken after the newest promise
        self._owed = False  # whether that which followed rows came when they were written already
        self._read = self._files.count > 0  # whether a query of Spark's has read here
        self._lock = threading.Lock()

    @property
    def files(self) -> int:
        """How many files have been handed to Spark."""
        return self._files.count

    def put(self, frame: pl.DataFrame) -> None:
        """Take rows with `$ts`, and `$broken` where some are late."""
        if not frame.height:
            return
        numbers = pl.int_range(self.rows + 1, self.rows + 1 + frame.height, dtype=pl.Int64)
        if ROW in frame.columns:
            numbers = pl.col(ROW) + self._before
        frame = frame.with_columns(numbers.alias(ROW))
        time_of = pl.col(TS) if self._time_column is None else pl.col(self._time_column).cast(pl.Int64)
        system = [(time_of + SHIFT).cast(TIMESTAMP).alias(TS), pl.col(ROW)]
        if BROKEN in frame.columns and self._time_column is None:
            broken = pl.col(BROKEN)
            system.append(pl.when(broken > MIN_TIME).then(broken + SHIFT).cast(TIMESTAMP).alias(BROKEN))
        if self._promises:
            system.append(_promise(self._said))
            if LATE_ID in frame.columns:
                system.append(pl.col(LATE_ID))
            if BROKEN_BY_ALL in frame.columns:
                by_all = pl.col(BROKEN_BY_ALL)
                system.append(pl.when(by_all > MIN_TIME).then(by_all + SHIFT).cast(TIMESTAMP).alias(BROKEN_BY_ALL))
        columns = [n for n in self._schema.names if n in self._needed and n in frame.columns]
        # an earlier run has written what is before: late rows, of which some were left out, may be others when they come again
        if self._handed is None:
            self.rows = int(frame.item(-1, ROW))
            frame = frame.filter(pl.col(ROW) > self._here)
        else:
            self.rows += frame.height
            frame = frame.tail(max(0, self.rows - self._here))
        if not frame.height or self._ended:
            return
        with self._lock:
            self._here = self.rows
            self.written += frame.height
            if self._delay is not None:
                self._said = max(self._said, int(ints(frame.get_column(TS)).max()) - self._delay)
            if not self._waiting:
                self._since = time.monotonic()
            self._unpromised = True
            self._waiting.append(to_spark(frame.select(*columns, *system)))
            self._waiting_rows += frame.height
            if self._waiting_rows >= _FILE_ROWS:
                self._write()

    def after_end(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The rows among those that came which no earlier run has taken, where that has seen the end.

        Args:
            frame: with `$row` where rows of earlier runs come again.
        """
        if not self.closed:
            return frame.clear()
        return frame.filter(pl.col(ROW) + self._before > self._here) if ROW in frame.columns else frame

    def hand(self, file: Path, rows: int) -> bool:
        """Take a Parquet file of the stream's columns as it is; not if an earlier run has written some of its rows only.

        Args:
            file: where it is.
            rows: how many it has.
        """
        if self.rows < self._here < self.rows + rows:
            return False
        self.rows += rows
        if self.rows > self._here and not self._ended:
            with self._lock:
                self._write()
                self._here = self.rows
                self.written += rows
                self._file(file)
        return True

    def said(self, value: int) -> None:
        """The stream has promised that no row before `value` will come."""
        with self._lock:
            self._said = max(self._said, value)
            # what follows rows is written with them, or where those are on their way already, after them; others by `advance`
            self._owed |= self._promises and self._unpromised and not self._waiting
            self._unpromised = False

    def said_of_keys(self, told: pl.DataFrame) -> None:
        """The stream has promised of keys, one a row, that none of their rows to come will be before `$ts`.

        Every time they come again as well: to promise twice makes no difference, and which were written before isn't known.
        """
        value = (pl.col(TS) + SHIFT).cast(TIMESTAMP)
        self._put_mark(told.select(pl.exclude(TS), value.alias(TS), value.alias(KEY_SAID)))

    def tick(self, at: int) -> None:
        """Provisional answers are to be given now, and the newest row is of that time."""
        if self.rows >= self._here:  # not while rows of an earlier run come again
            value = pl.lit(at + SHIFT, pl.Int64).cast(TIMESTAMP)
            self._put_mark(pl.select(value.alias(TS), value.alias(TICK)))

    def _put_mark(self, marks: pl.DataFrame) -> None:
        """What is to be heard after the rows that are here, before others."""
        with self._lock:
            if self._ended:
                return
            if not self._waiting:
                self._since = time.monotonic()
            self._waiting.append(
                to_spark(marks.with_columns(pl.lit(self._here, pl.Int64).alias(ROW), _promise(self._said)))
            )
            self._waiting_rows += marks.height
            if self._waiting_rows >= _FILE_ROWS:
                self._write()

    def flush(self) -> None:
        """Hand over what has waited long enough."""
        with self._lock:
            if (self._waiting or self._owed) and time.monotonic() - self._since >= _WAIT:
                self._write()

    def hold(self) -> None:
        """Write what comes, but let Spark see none of it until `show`."""
        with self._lock:
            self._files.hold()

    def show(self) -> None:
        """Let a query of Spark's that is about to begin see what comes, and what was held back.

        One that goes on from where another stopped first waits for new rows: answers that those before made final, but which
        Spark was still to give, in a micro-batch of their own, wouldn't come. So it hears once more what was promised.
        """
        with self._lock:
            self._files.show()
            self._write()  # no promise may come before its rows
            if self._read and self._heard is not None:
                self._file(to_spark(self._mark(self._heard)))
            self._read = True

    def advance(self, at: int) -> None:
        """No row before `at` will come: a row for the watermark alone."""
        with self._lock:
            self._write()
            if not self._ended:
                self._ended = at == END
                self._file(to_spark(self._mark(at)))

    def end(self) -> None:
        """The input has ended."""
        self.advance(END)

    @property
    def _heard(self) -> int | None:
        """What Spark's watermark is made from; None if from nothing so far.

        Of files that are handed over whole, rows may be judged, and promises made by them, that are still to be handed over.
        """
        if self._ended:
            return END
        if self._said == MIN_TIME or self._handed is not None or (self._delay is None and not self._promises):
            return None
        return self._said + (self._delay or 0)

    def _write(self) -> None:
        if self._owed and not self._waiting and not self._ended:
            self._file(to_spark(self._mark(self._said)))
        self._owed = False
        if self._waiting:
            if self._promises:
                self._waiting.append(to_spark(self._mark(self._said)))
            self._file(pl.concat(self._waiting, how="diagonal"))
            self._waiting, self._waiting_rows = [], 0

    def _mark(self, at: int) -> pl.DataFrame:
        """A row for the watermark alone."""
        row = pl.DataFrame({ROW: [0]}, schema={ROW: pl.Int64})
        marked = _promise(at)
        return row.select(marked.alias(TS), ROW, *([marked] if self._promises else []))

    def _file(self, rows: pl.DataFrame | Path) -> None:
        said = self._said if self._said < MAX_TIME else MIN_TIME
        self._files.add(rows, rows=self._here, ended=self._ended, said=said)

    def all_rows(self, spark: Any) -> Any:
        """The rows as a DataFrame, once all have come."""
        return self._completed(spark.read.schema(self._ddl).parquet(str(self.folder))).where(self._shown)

    def rows_of(self, spark: Any, path: str, time_column: str) -> Any:
        """Rows of Parquet files that have the columns needed, in the types of the schema, the time among them.

        Args:
            spark: the `SparkSession`.
            path: a file, folder or pattern.
            time_column: the stream's time.
        """
        fields = [f for f in self._schema if f.name in self._needed]
        found = rows_of_files(spark.read, path, fields, self._time_column or time_column)
        return found.selectExpr("*", f"CAST(NULL AS TIMESTAMP) AS {quoted(BROKEN)}")

    @property
    def _shown(self) -> str:
        """Which rows are for operators, rather than for the watermark alone."""
        marks = [*([] if self._key is None else [KEY_SAID]), *([TICK] if self._ticks else [])]
        return " OR ".join([f"`{ROW}` > 0", *(f"`{m}` IS NOT NULL" for m in marks)])

    @property
    def _ddl(self) -> str:
        columns = [(f.name, spark_ddl(f.dtype)) for f in self._schema]
        columns += [(TS, "TIMESTAMP"), (BROKEN, "TIMESTAMP"), (ROW, "BIGINT")]
        if self._promises:
            columns += [(SAID, "TIMESTAMP"), (LATE_ID, "BIGINT")]
        if self._key is not None:
            columns += [(KEY_SAID, "TIMESTAMP"), (BROKEN_BY_ALL, "TIMESTAMP")]
        if self._ticks:
            columns += [(TICK, "TIMESTAMP")]
        return ", ".join(f"{quoted(name)} {kind}" for name, kind in columns)

    def frame(
        self, spark: Any, delay: int | None, *, watermark: bool, clean: bool = True, at_once: int | None = None
    ) -> Any:
        """The rows as a streaming DataFrame: the columns, `$ts`, `$broken`, `$row`.

        Args:
            spark: the `SparkSession`.
            delay: how late rows may be, microseconds; None if nothing is promised before the end.
            watermark: whether an operator above needs one.
            clean: whether files are deleted that have been read: a live stream would fill the disk.
            at_once: how many files a micro-batch takes at most; None for all there are.
        """
        reader = spark.readStream.schema(self._ddl)
        if clean:
            reader = reader.option("cleanSource", "delete")
        if at_once is not None:
            reader = reader.option("maxFilesPerTrigger", at_once)
        # links have the times of their files, which may be of any age
        found = self._completed(reader.option("maxFileAge", "36500d").parquet(str(self.folder)))
        if watermark:
            # Spark counts milliseconds; rounded so that its watermark never passes our punctuation
            millis = _FOR_EVER if delay is None else -(-delay // 1000)
            column = SAID if self._promises else TS
            found = found.withWatermark(f"`{column}`", f"{millis} milliseconds")
        # Spark moves conditions on rows below the watermark, which would then miss the rows that are for it alone; it moves none
        # past one that is not deterministic
        return found.where(f"CASE WHEN spark_partition_id() >= 0 THEN {self._shown} END")

    def _completed(self, found: Frame) -> Frame:
        """Rows with the columns of ours that files handed over as they are lack."""
        if self._handed is None:
            return found
        from pyspark.sql.functions import expr

        made = {TS: _shifted(self._schema, self._handed), ROW: "1L"}
        return found.withColumns({n: expr(f"coalesce({quoted(n)}, {sql})") for n, sql in made.items()})


def _promise(value: int) -> pl.Expr:
    """A promise as Spark is told it: its watermark begins at 1970."""
    return pl.lit(max(0, min(value, END) + SHIFT), pl.Int64).cast(TIMESTAMP).alias(SAID)


def _shifted(fields: Iterable[Field], column: str) -> str:
    """A time column as `$ts` goes to Spark."""
    integer = any(f.name == column and f.dtype.is_integer() for f in fields)
    return f"timestamp_micros({quoted(column) if integer else f'unix_micros({quoted(column)})'} + {SHIFT}L)"


def rows_of_files(reader: Any, path: str, fields: Iterable[Field], time_column: str) -> Any:
    """Rows of Parquet files with `$ts`.

    Args:
        reader: Spark's, for all at once or as a stream.
        path: a file, folder or pattern.
        fields: the columns wanted, the time among them.
        time_column: which is the time; rows without one are left out.
    """
    fields = list(fields)
    found = reader.schema(", ".join(f"{quoted(f.name)} {spark_ddl(f.dtype)}" for f in fields)).parquet(path)
    return with_time(found, fields, time_column)


def with_time(rows: Any, fields: Iterable[Field], time_column: str) -> Any:
    """Rows that have a time, with `$ts`.

    Args:
        rows: a DataFrame of these fields.
        fields: the time among them.
        time_column: which is the time.
    """
    shifted = _shifted(fields, time_column)
    return rows.where(f"{quoted(time_column)} IS NOT NULL").selectExpr("*", f"{shifted} AS {quoted(TS)}")
