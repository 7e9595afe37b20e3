"""A query as a streaming DataFrame of Spark's, for programs that go on from there: files and topics read by Spark.

What Spark has operators for is its own; any other query runs as operators of ours inside the DataFrame (`inside_frame`).
"""

from __future__ import annotations

import glob
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from jupyter_stream.core.messages import TS
from jupyter_stream.core.schema import Field
from jupyter_stream.errors import UnsupportedError
from jupyter_stream.plan.catalog import OfFiles, StreamDef, Watermark
from jupyter_stream.plan.logical import Aggregate, BoundQuery, Join, Lookup, Plan, Scan, TableRelation, streams, walk
from jupyter_stream.plan.needs import counts_arrivals, needed_columns, reads_row_numbers
from jupyter_stream.spark import preflight
from jupyter_stream.spark.expressions import quoted
from jupyter_stream.spark.inside import ROCKSDB, in_turn
from jupyter_stream.spark.inside_frame import answers_inside
from jupyter_stream.spark.rewrite import normal
from jupyter_stream.spark.settings import Settings, files_at_once
from jupyter_stream.spark.spool import rows_of_files, with_time
from jupyter_stream.spark.stage import has_empty_extents, ordered, window_of
from jupyter_stream.spark.start import check, session
from jupyter_stream.spark.tables import rows_now
from jupyter_stream.spark.texts import kind_of, rows_of_texts
from jupyter_stream.spark.topics import check_readable, rows_of_topic, topic_of
from jupyter_stream.spark.translate import translate_whole
from jupyter_stream.spark.types import spark_ddl


def streaming_frame(query: BoundQuery, namespace: Mapping[str, object], max_files: int | None = None) -> Any:
    """The `pyspark.sql.DataFrame` of a query's answers.

    Late rows are judged by micro-batches and not listed, a failing expression ends the stream, and what is still open when the
    input ends is not given; where all is Spark's own, an extent without rows gives none. A warning says so before.

    Args:
        query: reads streams over files or topics of Kafka, in order or with a watermark.
        namespace: the notebook's variables, for `spark`.
        max_files: how many files a micro-batch takes at most, of each stream; None for all there are.

    Raises:
        QueryError: that is not a number of files.
        UnsupportedError: Spark can't have it so; the message says what and why.
    """
    at_once = files_at_once(max_files)
    preflight.refuse(query)
    refuse(query)
    check(namespace, Settings())
    # not on the main thread, where a starting Spark would take over the notebook's interrupts
    with ThreadPoolExecutor(1) as apart:
        spark = apart.submit(session, namespace, Settings()).result()
    told = " ".join(open_answers(query))
    if told:
        warnings.warn(told, stacklevel=3)
    return frame_of(query, spark, at_once)


def frame_of(query: BoundQuery, spark: Any, at_once: int | None = None) -> Any:
    """The DataFrame of a query that `refuse` has let pass.

    Args:
        query: the query.
        spark: the `SparkSession`; a `WrittenSpark` for one that `refuse_ours` has let pass.
        at_once: how many files of a stream a micro-batch takes at most; None for all there are.
    """
    if runs_inside(query):
        needed = needed_columns(query.plan)
        read = [_rows_of(spark, s, needed[s.name], at_once) for s in streams(query.plan)]
        spark.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
        buckets = int(spark.conf.get("spark.sql.shuffle.partitions"))
        return answers_inside(query, read, buckets, Settings().patience)
    plan = normal(query.plan)
    needed = needed_columns(plan)

    def given(node: Plan) -> Any:
        if not isinstance(node, Scan):
            return None
        stream = node.stream
        rows = _rows_of(spark, stream, needed[stream.name], at_once)
        read = needed[stream.name] | {stream.time.column}
        unread = [f for f in stream.schema if f.name not in read]  # a join names all columns, read or not
        if unread:
            nulls = (f"CAST(NULL AS {spark_ddl(f.dtype)}) AS {quoted(f.name)}" for f in unread)
            rows = rows.selectExpr("*", *nulls)
        return rows

    return translate_whole(plan, given, lambda table: rows_now(table, spark))


def _rows_of(spark: Any, stream: StreamDef, wanted: frozenset[str], at_once: int | None) -> Any:
    """The rows of a stream with those columns and its time, `$ts`, and a watermark."""
    time, progress = stream.time.column or "", stream.time.progress
    assert isinstance(progress, Watermark)
    fields = [f for f in stream.schema if f.name in wanted or f.name == time]
    topic = topic_of(stream.source)
    if topic is not None:
        rows = with_time(rows_of_topic(spark, topic), fields, time)
    else:
        rows = _rows_of_files(spark, stream, fields, time, at_once)
    return rows.withWatermark(f"`{TS}`", f"{-(-progress.delay // 1000)} milliseconds")


def runs_inside(query: BoundQuery) -> bool:
    """Whether it runs as operators of ours: Spark has none for a part of it, or rows of one time are told apart."""
    plan = query.plan
    return preflight.runs_inside(query) or reads_row_numbers(plan) or any(ordered(n) for n in walk(plan))


def open_answers(query: BoundQuery) -> list[str]:
    """Sentences that say which answers stay out, as those of the end with `trigger(availableNow=True)`, or may be others."""
    nodes, inside, said = list(walk(normal(query.plan))), runs_inside(query), []
    kept = [n for n in nodes if isinstance(n, Aggregate | Join)]
    waiting = next((n for n in kept if getattr(n, "kind", None) not in ("inner", "semi")), None)
    if inside or waiting is not None:
        what = "a window" if window_of(waiting) is not None else "a row without partner"
        said.append(
            f"Spark gives {'an answer' if inside else what} only when a later row has come, so the last ones are missing where "
            "the input ends, as with trigger(availableNow=True)."
        )
    if not inside and any(map(has_empty_extents, nodes)):
        said.append("It gives no answer for an extent without rows, whose count is 0.")
    tables = _tables(query.plan)
    if tables:
        said.append(f"It reads {' and '.join(tables)} now: what changes there later doesn't reach it.")
    if inside or kept:
        said.append(
            "Spark looks for late rows once in each micro-batch and lists none: it may use some that are late here."
        )
        said.append("Started with --engine spark the query gives the answers of the kernel.")
    return said


def _rows_of_files(spark: Any, stream: StreamDef, fields: Sequence[Field], time: str, at_once: int | None) -> Any:
    path = str(Path(stream.uri.removeprefix("file://")).absolute())  # Spark may have another folder of work
    files = _files(path)
    kind = kind_of(files, stream.options)
    if at_once is not None and at_once < len(files):
        _warn_of_order(stream.name, files)
    path = _as_pattern(path)
    reader = spark.readStream if at_once is None else spark.readStream.option("maxFilesPerTrigger", at_once)
    if kind is None:
        return rows_of_files(reader, path, fields, time)
    options = dict(stream.options)
    if kind != "json" and isinstance(stream.source, OfFiles):
        options["delimiter"] = stream.source.delimiters[kind]
    return with_time(rows_of_texts(reader, path, files, kind, stream.schema, options), fields, time)


def _as_pattern(path: str) -> str:
    """A file as a pattern that only it matches: what is no pattern Spark takes for a folder."""
    if not Path(path).is_file():
        return path
    at = max(i for i, letter in enumerate(path) if letter.isalnum())
    return f"{path[:at]}[{path[at]}]{path[at + 1 :]}"


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


def refuse(query: BoundQuery) -> None:
    """Raise `UnsupportedError` for the first part of a query that a streaming DataFrame can't have."""
    for stream in streams(query.plan):
        if stream.steps:
            raise UnsupportedError(
                f"the rows of {stream.name} are filtered or computed by CREATE STREAM, in our reader", hint=_INSTEAD
            )
        topic = topic_of(stream.source)
        if topic is not None:
            check_readable(topic)
        elif not _readable(stream):
            raise UnsupportedError(
                f"Spark can't read the rows of {stream.name} by itself",
                hint="A DataFrame reads topics of Kafka, and Parquet, CSV or JSON lines of one kind, whole: "
                f"SOURCE 'file:///archive'. {_INSTEAD}",
            )
        if not isinstance(stream.time.progress, Watermark):
            raise UnsupportedError(
                f"Spark reads the rows of {stream.name} in several places at once, and knows of progress what a watermark says",
                hint=f"Declare the stream ORDER BY a column, or with WATERMARK FOR. {_INSTEAD}",
            )
    if counts_arrivals(query.plan):
        raise UnsupportedError(
            "row_num, windows of ROWS and the like go by the order of arrival, which a DataFrame doesn't have: Spark reads files "
            "and parts of files at the same time",
            hint=f"Use times, as in [RANGE 1 MINUTE]. {_INSTEAD}",
        )
    if in_turn(query):
        raise UnsupportedError(
            "provisional answers go by when each row came, and a DataFrame in append mode can't take one back",
            hint=f"Leave EMIT out. {_INSTEAD}",
        )


def refuse_ours(query: BoundQuery) -> None:
    """Raise `UnsupportedError` for the first part of a query that isn't Spark's own."""
    if runs_inside(query):
        raise UnsupportedError(
            "first, last and lists go by the order of arrival among rows of one time, which Spark doesn't know",
            hint=f"Use min or max. {_INSTEAD}",
        )
    for table in _tables(query.plan):
        raise UnsupportedError(f"the table {table} belongs to this session", hint=_INSTEAD)


def _tables(plan: Plan) -> list[str]:
    """The names of the tables it reads."""
    return sorted({n.table.name for n in walk(plan) if isinstance(n, Lookup | TableRelation)})


_INSTEAD: Final = "Or start the query with --engine spark instead."


def _readable(stream: StreamDef) -> bool:
    path = stream.uri.removeprefix("file://")
    files = _files(path) if stream.uri.startswith("file://") else []
    if isinstance(stream.source, OfFiles) and stream.source.in_folders:  # Spark gives them types of its own
        return False
    parquet = bool(files) and all(f.suffix == ".parquet" for f in files)
    whole = not {"follow", "rate"} & set(stream.options)
    return whole and (parquet or kind_of(files, stream.options) is not None)


def _files(path: str) -> list[Path]:
    """The files of a path, folder or pattern, without those that Spark passes over."""
    folder = Path(path)
    found = folder.iterdir() if folder.is_dir() else map(Path, glob.glob(path))  # noqa: PTH207  Path.glob takes no absolute pattern
    return sorted(f for f in found if f.is_file() and not f.name.startswith((".", "_")))
