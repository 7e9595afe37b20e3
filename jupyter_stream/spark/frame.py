"""A query as a streaming DataFrame of Spark's, for programs that go on from there: files and topics read by Spark, all native."""

from __future__ import annotations

import glob
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from jupyter_stream.core.messages import TS
from jupyter_stream.core.schema import Field
from jupyter_stream.errors import UnsupportedError
from jupyter_stream.plan.catalog import StreamDef, Watermark
from jupyter_stream.plan.logical import Aggregate, Lookup, Plan, Query, Scan, walk
from jupyter_stream.plan.needs import needed_columns, reads_row_numbers
from jupyter_stream.spark import preflight
from jupyter_stream.spark.rewrite import normal
from jupyter_stream.spark.settings import Settings, files_at_once
from jupyter_stream.spark.spool import rows_of_files, with_time
from jupyter_stream.spark.start import check, session
from jupyter_stream.spark.texts import kind_of, rows_of_texts
from jupyter_stream.spark.topics import check_readable, rows_of_topic, topic_of
from jupyter_stream.spark.translate import translate_whole


def streaming_frame(query: Query, namespace: Mapping[str, object], max_files: int | None = None) -> Any:
    """The `pyspark.sql.DataFrame` of a query's answers.

    All of it is Spark's own: late rows are dropped without a word, a failing expression ends the stream, an extent without rows
    gives none.

    Args:
        query: reads streams over files or topics of Kafka, in order or with a watermark.
        namespace: the notebook's variables, for `spark`.
        max_files: how many files a micro-batch takes at most, of each stream; None for all there are.

    Raises:
        QueryError: that is no number of files.
        UnsupportedError: a part of it isn't Spark's own; the message names it.
    """
    at_once = files_at_once(max_files)
    preflight.refuse(query)
    _refuse(query)
    check(namespace, Settings())
    plan = normal(query.plan)
    # not on the main thread, where a starting Spark would take over the notebook's interrupts
    with ThreadPoolExecutor(1) as apart:
        spark = apart.submit(session, namespace, Settings()).result()
    needed = needed_columns(plan)

    def given(node: Plan) -> Any:
        if not isinstance(node, Scan):
            return None
        stream = node.stream
        time, progress = stream.time.column or "", stream.time.progress
        assert isinstance(progress, Watermark)
        fields = [f for f in stream.schema if f.name in needed[stream.name] or f.name == time]
        topic = topic_of(stream.source)
        if topic is not None:
            rows = with_time(rows_of_topic(spark, topic), fields, time)
        else:
            rows = _rows_of_files(spark, stream, fields, time, at_once)
        return rows.withWatermark(f"`{TS}`", f"{-(-progress.delay // 1000)} milliseconds")

    return translate_whole(plan, given)


def _rows_of_files(spark: Any, stream: StreamDef, fields: Sequence[Field], time: str, at_once: int | None) -> Any:
    path = stream.uri.removeprefix("file://")
    files = _files(path)
    kind = kind_of(files, stream.options)
    if at_once is not None and at_once < len(files):
        _warn_of_order(stream.name, files)
    reader = spark.readStream if at_once is None else spark.readStream.option("maxFilesPerTrigger", at_once)
    if kind is None:
        return rows_of_files(reader, path, fields, time)
    return with_time(rows_of_texts(reader, path, files, kind, stream.schema, stream.options), fields, time)


def _warn_of_order(name: str, files: Sequence[Path]) -> None:
    """Say where Spark would take files in another order than ours."""
    dates = [f.stat().st_mtime_ns // 1_000_000 for f in files]
    for before, after, earlier, later in zip(files, files[1:], dates, dates[1:], strict=False):
        if earlier >= later:
            warnings.warn(
                f"Spark takes a few files of {name} at a time in the order they were last changed, to the millisecond, and drops "
                f"rows that are then too late: {after.name} was not changed after {before.name}. Leave max_files out, or date "
                "the files in the order of their names.",
                stacklevel=2,
            )
            return


def _refuse(query: Query) -> None:
    if preflight.runs_inside(query):
        raise UnsupportedError(
            "a part of the query runs as our operators, which a DataFrame can't hold",
            hint="EXPLAIN ... ON SPARK names it. Start the query with --engine spark instead.",
        )
    for node in walk(query.plan):
        if isinstance(node, Lookup):
            raise UnsupportedError(
                f"the table {node.table.name} is this session's, which a DataFrame can't follow",
                hint="Start the query with --engine spark instead.",
            )
        topic = topic_of(node.stream.source) if isinstance(node, Scan) else None
        if topic is not None:
            check_readable(topic)
        if isinstance(node, Scan) and not _readable(node.stream):
            raise UnsupportedError(
                f"the rows of {node.stream.name} reach Spark through this session only",
                hint="A DataFrame reads topics of Kafka, and Parquet, CSV or JSON lines of one kind, whole, in order or with a "
                "watermark: SOURCE 'file:///archive'.",
            )
    if reads_row_numbers(query.plan) or any(
        isinstance(n, Aggregate) and preflight.ordered(n) for n in walk(query.plan)
    ):
        raise UnsupportedError(
            "row_num, first, last and lists go by the order of arrival, which a DataFrame doesn't know",
            hint="Use min or max, or start the query with --engine spark instead.",
        )


def _readable(stream: StreamDef) -> bool:
    files = _files(stream.uri.removeprefix("file://")) if stream.uri.startswith("file://") else []
    parquet = bool(files) and all(f.suffix == ".parquet" for f in files)
    whole = not {"follow", "rate"} & set(stream.options)
    readable = topic_of(stream.source) is not None or (
        whole and (parquet or kind_of(files, stream.options) is not None)
    )
    return readable and isinstance(stream.time.progress, Watermark)


def _files(path: str) -> list[Path]:
    """The files of a path, folder or pattern, without those that Spark passes over."""
    folder = Path(path)
    found = folder.iterdir() if folder.is_dir() else map(Path, glob.glob(path))  # noqa: PTH207  Path.glob takes no absolute pattern
    return sorted(f for f in found if f.is_file() and not f.name.startswith((".", "_")))
