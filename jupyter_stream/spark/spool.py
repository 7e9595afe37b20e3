"""Rows on their way to Spark: Parquet files in a folder, in the order the rows came. One writer, one Spark query.

A notebook's frames, generators and live sources can't be reached from Spark's own processes; files can, Spark reads them with its
vectorised reader and keeps in its checkpoint how far it has got, and they wait where a queue would fill memory.
"""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import polars as pl

from jupyter_stream.core.messages import BROKEN, LATE_ID, ROW, TS
from jupyter_stream.core.schema import TIMESTAMP, Field, Schema
from jupyter_stream.core.time import MIN_TIME
from jupyter_stream.spark.expressions import SHIFT, quoted
from jupyter_stream.spark.types import spark_ddl, to_spark

END: Final = 2**62 + 1
"""The time of the row that says the input has ended: later than any row's (times reach 2^62), in Spark's range."""
SAID: Final = "$said"
"""For operators of ours: what their stream had promised when the row came, which Spark takes as its watermark."""
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
        handed: the column that is the time, where files are handed over as they are; None where all rows come one by one.

    Attributes:
        folder: the folder.
        rows: rows taken, those of an earlier run that came again among them.
        written: rows written in this run.
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
        handed: str | None = None,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.written = 0
        self._schema = schema
        self._needed = needed
        self._time_column = time_column
        self._promises = promises
        self._handed = handed
        self._said = MIN_TIME
        self._files, self._here, self._ended = self._found()
        self.rows = 0 if again else self._here
        self._waiting: list[pl.DataFrame] = []
        self._waiting_rows = 0
        self._since = 0.0
        self._lock = threading.Lock()

    def put(self, frame: pl.DataFrame) -> None:
        """Take rows with `$ts`, and `$broken` where some are late."""
        if not frame.height:
            return
        if ROW not in frame.columns:
            frame = frame.with_columns(
                pl.int_range(self.rows + 1, self.rows + 1 + frame.height, dtype=pl.Int64).alias(ROW)
            )
        time_of = pl.col(TS) if self._time_column is None else pl.col(self._time_column).cast(pl.Int64)
        system = [(time_of + SHIFT).cast(TIMESTAMP).alias(TS), pl.col(ROW)]
        if BROKEN in frame.columns and self._time_column is None:
            broken = pl.col(BROKEN)
            system.append(pl.when(broken > MIN_TIME).then(broken + SHIFT).cast(TIMESTAMP).alias(BROKEN))
        if self._promises:
            system.append(_promise(self._said))
            if LATE_ID in frame.columns:
                system.append(pl.col(LATE_ID))
        columns = [n for n in self._schema.names if n in self._needed and n in frame.columns]
        self.rows += frame.height
        if self.rows <= self._here or self._ended:
            return
        frame = frame.tail(self.rows - self._here)  # an earlier run has written what is before
        with self._lock:
            self._here = self.rows
            self.written += frame.height
            if not self._waiting:
                self._since = time.monotonic()
            self._waiting.append(to_spark(frame.select(*columns, *system)))
            self._waiting_rows += frame.height
            if self._waiting_rows >= _FILE_ROWS:
                self._write()

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

    def flush(self) -> None:
        """Hand over what has waited long enough."""
        with self._lock:
            if self._waiting and time.monotonic() - self._since >= _WAIT:
                self._write()

    def tick(self, at: int) -> None:
        """No row before `at` will come: a row for the watermark alone."""
        with self._lock:
            self._write()
            if not self._ended:
                self._ended = at == END
                self._file(to_spark(self._mark(at)))

    def end(self) -> None:
        """The input has ended."""
        self.tick(END)

    def _write(self) -> None:
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
        self._files += 1
        hidden = self.folder / f".{self._files:09}"  # Spark passes over hidden files
        if isinstance(rows, pl.DataFrame):
            rows.write_parquet(hidden, compression="snappy", statistics=False)
        else:
            hidden.unlink(missing_ok=True)
            _link(rows, hidden)
        # once this is there the file counts, shown or not: Spark deletes what it has read
        note = self.folder / ".note"
        note.write_text(json.dumps({"files": self._files, "rows": self._here, "ended": self._ended}))
        note.rename(self.folder / ".last")
        hidden.rename(self.folder / f"{self._files:09}.parquet")

    def _found(self) -> tuple[int, int, bool]:
        """What an earlier run has left: files, rows, and whether its input had ended."""
        last = self.folder / ".last"
        if not last.exists():
            return 0, 0, False
        found = json.loads(last.read_text())
        hidden = self.folder / f".{found['files']:09}"
        if hidden.exists():
            hidden.rename(self.folder / f"{found['files']:09}.parquet")
        return found["files"], found["rows"], found["ended"]

    def all_rows(self, spark: Any) -> Any:
        """The rows as a DataFrame, once all have come."""
        return spark.read.schema(self._ddl).parquet(str(self.folder)).where(f"`{ROW}` > 0")

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
    def _ddl(self) -> str:
        columns = [(f.name, spark_ddl(f.dtype)) for f in self._schema]
        columns += [(TS, "TIMESTAMP"), (BROKEN, "TIMESTAMP"), (ROW, "BIGINT")]
        if self._promises:
            columns += [(SAID, "TIMESTAMP"), (LATE_ID, "BIGINT")]
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
        from pyspark.sql.functions import expr

        reader = spark.readStream.schema(self._ddl)
        if clean:
            reader = reader.option("cleanSource", "delete")
        if at_once is not None:
            reader = reader.option("maxFilesPerTrigger", at_once)
        # links have the times of their files, which may be of any age
        found = reader.option("maxFileAge", "36500d").parquet(str(self.folder))
        if self._handed is not None:
            made = {TS: _shifted(self._schema, self._handed), ROW: "1L"}
            found = found.withColumns({n: expr(f"coalesce({quoted(n)}, {sql})") for n, sql in made.items()})
        if watermark:
            # Spark counts milliseconds; rounded so that its watermark never passes our punctuation
            millis = _FOR_EVER if delay is None else -(-delay // 1000)
            column = SAID if self._promises else TS
            found = found.withWatermark(f"`{column}`", f"{millis} milliseconds")
        # Spark moves conditions on rows below the watermark, which would then miss the rows that are for it alone; it moves none
        # past one that is not deterministic
        return found.where(f"CASE WHEN spark_partition_id() >= 0 THEN `{ROW}` > 0 END")


def _promise(value: int) -> pl.Expr:
    """A promise as Spark is told it: its watermark begins at 1970."""
    return pl.lit(max(0, min(value, END) + SHIFT), pl.Int64).cast(TIMESTAMP).alias(SAID)


def _shifted(fields: Iterable[Field], column: str) -> str:
    """A time column as `$ts` goes to Spark."""
    integer = any(f.name == column and f.dtype.is_integer() for f in fields)
    return f"timestamp_micros({quoted(column) if integer else f'unix_micros({quoted(column)})'} + {SHIFT}L)"


def _link(file: Path, to: Path) -> None:
    """The file under another name, a copy where that is on another disk."""
    try:
        os.link(file.resolve(), to)
    except OSError:
        shutil.copyfile(file, to)


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
