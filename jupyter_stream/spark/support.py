"""What runs on Spark, and why the rest doesn't: one table. EXPLAIN ON SPARK, the start of a query and the reference read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Kind: TypeAlias = Literal["native", "ours in Spark", "not yet by us", "not in Spark", "never sensible"]
"""`native`: Spark's own operator. `ours in Spark`: a part of it is ours. The others are refused: we could but don't yet; Spark
has nothing that could do it; it would make no sense there."""

RUNS: Final[tuple[Kind, ...]] = ("native", "ours in Spark")


@dataclass(frozen=True, slots=True)
class Support:
    """One row of the table.

    Attributes:
        part: which part of a query.
        name: the clause, aggregate or declaration.
        kind: how it runs, or why it doesn't.
        how: what it becomes, or what to write instead.
        whole: whether Spark has nothing for it, so that a query with it runs as the kernel's operators, all of it.
    """

    part: str
    name: str
    kind: Kind
    how: str
    whole: bool = False


def _whole(part: str, name: str, why: str) -> Support:
    return Support(part, name, "ours in Spark", why, whole=True)


TABLE: Final[tuple[Support, ...]] = (
    Support(
        "source",
        "Parquet files",
        "ours in Spark",
        "the times judged by our reader; a file none of whose rows is late is read by Spark as it is, where no expression can "
        "fail on a row and nothing goes by the order of arrival",
    ),
    Support(
        "source",
        "CSV, JSON lines, Parquet in other types",
        "ours in Spark",
        "parsed by our reader, which alone tells bad records (they go to errors) and late rows; Spark reads what it made of "
        "them, and would parse a second time for nothing",
    ),
    Support(
        "source",
        "any other stream",
        "ours in Spark",
        "read by our connector, judged row by row, kept on disk in numbered files: Spark goes on from the one its checkpoint "
        "names",
    ),
    Support(
        "source",
        "kafka://",
        "ours in Spark",
        "read by our connector, so that bad messages and late rows are told; with a checkpoint it notes offsets and order, "
        "and reads again what it had read, by offset. In q.to_spark() by Spark itself, where its connector for Kafka is",
    ),
    Support(
        "source",
        "Spark on other machines",
        "not yet by us",
        "Rows reach Spark through files of this one: use --master 'local[n]', or to_spark() for files in a store all share.",
    ),
    Support("progress", "in order", "native", "withWatermark, no delay"),
    Support("progress", "WATERMARK FOR", "native", "withWatermark with the declared delay"),
    Support("progress", "on arrival", "native", "withWatermark on the time of arrival"),
    Support("progress", "nothing promised", "native", "all extents close when the input ends"),
    _whole("progress", "slack", "what the stream promises is made out by our reader and told to operators of ours"),
    _whole("progress", "punctuation", "the same"),
    _whole("progress", "punctuation by key", "the same, told in turn with the rows, on one partition"),
    Support(
        "progress",
        "CLUSTERED, FOREIGN KEY",
        "not in Spark",
        "Spark keeps what its windows need, whatever is promised: leave the constraint out.",
    ),
    Support("clause", "WHERE, HAVING", "native", "where"),
    Support("clause", "select list", "native", "select"),
    Support(
        "clause", "answers that can fail", "ours in Spark", "finished by our kernel, row by row, as each answer arrives"
    ),
    Support("clause", "UNION of streams", "native", "unionByName; a row is late by its own stream's promise alone"),
    _whole("clause", "UNION of windows", "Spark would mix up their watermarks"),
    Support("clause", "derived stream", "native", "its plan in its place"),
    Support("clause", "window over windows", "native", "two stateful operators in append mode, by window_time"),
    Support("clause", "empty extents", "ours in Spark", "filled in between extents that hold rows, as answers arrive"),
    _whole("clause", "empty extents below a window", "Spark has no rows for them"),
    Support("clause", "row_num", "native", "the arrival number, counted by our reader"),
    _whole("clause", "row_num of a derived stream", "counted by our operators"),
    _whole("clause", "EMIT EVERY", "provisional answers of the kernel, at the same rows, on one partition"),
    _whole("clause", "EMIT CHANGES", "the same, whenever rows have come, on one partition"),
    Support(
        "clause",
        "WITH PREFERENCE",
        "never sensible",
        "Spark answers a micro-batch as a whole or not at all: run it in the kernel, or leave the preference out.",
    ),
    Support(
        "clause",
        "look-ups in tables",
        "native",
        "join with the table as it is; a change of the table is followed, in operators of ours as well",
    ),
    Support("clause", "joins", "native", "stream-stream join on equal keys and bounds of the times' difference"),
    Support("clause", "outer, semi and anti joins", "native", "the same; anti joins as outer ones without a partner"),
    _whole("clause", "outer joins without bounds", "Spark must know when a row finds no partner any more"),
    _whole("clause", "above joins without bounds", "Spark never knows when what is above an unbounded join is final"),
    _whole("clause", "joins of windows", "the kernel's join, above the kernel's windows"),
    _whole("clause", "joins under SLIDE", "the kernel's join, and its look at each extent"),
    _whole("clause", "conditions of outer joins that can fail", "the failing pair is told, the query goes on"),
    _whole("clause", "DISTINCT, EXCEPT, INTERSECT", "of relations: the kernel's, by counters"),
    _whole("clause", "ISTREAM, DSTREAM, RSTREAM", "the kernel's, from the changes of a relation"),
    _whole("clause", "SAMPLE", "the same rows as in the kernel"),
    _whole("clause", "ORDER BY, LIMIT", "the first rows of each extent, or of a relation's state"),
    _whole("clause", "several windows", "aggregates of the kernel beside one another"),
    _whole("clause", "anything else", "the kernel's operator"),
    Support(
        "clause",
        "the query, by partition",
        "ours in Spark",
        "the kernel's operators in transformWithState, a copy for each of as many buckets as there are shuffle partitions",
    ),
    Support(
        "clause",
        "the query, on one partition",
        "ours in Spark",
        "the kernel's operators in transformWithState; all rows go to one place, since the query has no partition",
    ),
    Support(
        "clause",
        "retroactive tables",
        "not yet by us",
        "What they change in answers given doesn't get there: leave out RETROACTIVE, or leave out --engine spark to run the "
        "query in the kernel.",
    ),
    Support(
        "clause",
        "tables beside relations",
        "not yet by us",
        "What they change at once in a relation doesn't get there: look them up as a stream's rows come, FROM stream JOIN table "
        "ON ..., or leave out --engine spark to run the query in the kernel.",
    ),
    Support(
        "window",
        "[RANGE d SLIDE s], TUMBLING",
        "native",
        "window() with the start that makes extents end at multiples of s",
    ),
    Support("window", "TUMBLE, HOP, window()", "native", "window()"),
    Support(
        "window",
        "[SESSION gap]",
        "native",
        "session_window; a late row is kept for late(name), never taken into an open session",
    ),
    _whole("window", "[SESSION] apart from GROUP BY", "sessions of the kernel"),
    Support("window", "[... ON col]", "native", "window() on that column; all extents close when the input ends"),
    _whole("window", "[... ON expression]", "windows of the kernel"),
    _whole("window", "window over sessions", "windows of the kernel over its sessions"),
    _whole("window", "[RANGE ALL SLIDE s]", "window aggregate of the kernel, on one partition"),
    _whole("window", "[ROWS n SLIDE m]", "row windows of the kernel, by the window's PARTITION BY"),
    _whole("window", "[RANGE d SLIDE 1 ROW]", "slide-by-tuple of the kernel, on one partition"),
    _whole("window", "OVER (...)", "OVER of the kernel, by PARTITION BY"),
    _whole(
        "window", "no SLIDE", "a relation, kept by the kernel's operators; the handle shows its state, as in the kernel"
    ),
    Support(
        "aggregate",
        "count, sum, avg, min, max",
        "native",
        "the same; sums of BIGINT from those of their halves, so that they are exact",
    ),
    Support("aggregate", "bool_and, bool_or, count_if", "native", "min, max, count"),
    Support(
        "aggregate", "count, sum, avg of DISTINCT", "native", "collect_set, since Spark has no DISTINCT on streams"
    ),
    Support("aggregate", "var_samp, var_pop, stddev_samp, stddev_pop", "native", "the same"),
    Support("aggregate", "first, last, arg_min, arg_max", "native", "min_by and max_by with time and arrival number"),
    _whole("aggregate", "first, last and lists of windows", "rows of a window or join have no arrival number on Spark"),
    Support("aggregate", "median, quantile", "native", "percentile"),
    Support("aggregate", "mode", "native", "mode, the least of equally frequent values"),
    Support("aggregate", "collect_list, string_agg", "native", "collect_list, sorted by time and arrival number"),
    Support("aggregate", "approx_count_distinct", "native", "Spark's own sketch of the same error: another estimate"),
    _whole("aggregate", "heavy_hitters, approx_top_k", "the kernel's sketches"),
    _whole("aggregate", "user-defined aggregates", "the kernel's, their bodies and Python classes sent along"),
    _whole("aggregate", "other aggregates", "the kernel's"),
)
"""All there is. A query none of whose parts is refused runs."""

_BY_NAME: Final = {(row.part, row.name): row for row in TABLE}


def find(part: str, name: str) -> Support:
    """The row of that part and name."""
    return _BY_NAME[(part, name)]


def page() -> str:
    """The table as Markdown, for tutorials/reference/spark.md."""
    lines = [
        "# What runs on Spark",
        "",
        "A query started with `--engine spark` runs on PySpark Structured Streaming and gives the answers of the kernel. Before",
        "it starts, every part of it is looked up here; if one is refused, nothing is started and the message says what to",
        "write instead.",
        "`EXPLAIN SELECT ... ON SPARK` shows the same for one query, part by part.",
        "",
        "`native` is Spark's own operator; in `ours in Spark` a part is done by us. Where it says *whole*, Spark has nothing",
        "for it: then the query as a whole runs as the kernel's operators inside Spark, spread by the partition of its outermost",
        "window if it has one, otherwise on one partition; EXPLAIN says which. Of what is refused, `not yet by us` may",
        "come, `not in Spark` has nothing there that could do it, `never sensible` never will.",
        "",
        "Rows are read by our connectors, so late rows and rows that fail are judged one by one, as in the kernel: they are in",
        "`late(name)` and `errors(name)`, and Spark drops none that isn't there. In a query of windows over windows, an",
        "expression that fails on an inner answer ends the query, with Spark's message.",
        "",
        "The rows go to Spark as files in a temporary folder of this machine, so Spark must run here (`local[...]`).",
        "",
        *_SOURCES,
        "",
        "## Options",
        "",
        "| | |",
        "|---|---|",
        *(f"| {name} | {what} |" for name, what in _OPTIONS),
        "",
        "They are keyword arguments of `Session.run` as well, `conf` a mapping or a list of `key=value`.",
    ]
    part = None
    for row in sorted(TABLE, key=lambda r: list(_TITLES).index(r.part)):
        if row.part != part:
            part = row.part
            lines += ["", f"## {_TITLES[part]}", "", "| | | |", "|---|---|---|"]
        lines.append(f"| {row.name} | {row.kind}{', whole' if row.whole else ''} | {row.how} |".replace("|...|", "..."))
    return "\n".join([*lines, ""])


_SOURCES: Final = (
    "Of Parquet files in the declared types, whose time is a column in order or with a WATERMARK, only the times are read",
    "here, unless an expression of the query can fail on a row or goes by the order of arrival: Spark reads the files,",
    "through links in that folder. A file with late rows goes as the rows that are left, so the answers and `late(name)` are",
    "the same. CSV and JSON lines are parsed here always, so that a record is bad, or isn't, on both engines; files paced",
    "`WITH (rate = ...)` come row by row.",
    "",
    "All other streams (`frame://`, `generate://`, `kafka://`, `python://`, ...) are read here too, and what they gave waits in",
    "numbered files with the arrival numbers of their rows. A Python data source of Spark's (`pyspark.sql.datasource`) would be",
    "the other way. It runs in processes of Spark's own, where the notebook's frames, generators and live sources are not, so",
    "that it would have to read such a folder too, through Python instead of by Spark's own reader of columns. Measured with",
    "Arrow batches out of Arrow files: 3,000,000 rows in numbered files, counted by window and key on two cores, take 2.3 to",
    "2.6 s as they are and 4.1 to 4.4 s through a data source, 1.7 to 1.8 times as long (`tests/benchmarks/data_source.py`;",
    "writing the files takes a tenth of a second either way). What it would promise holds without it, and is tested with a",
    "process that is killed: rows are numbered, so that a replayable source that is read again after a restart adds those only",
    "that are not there yet, a live one goes on with the next number, and Spark's checkpoint names the files it has taken.",
    "",
    "A topic of Kafka is live. A query on it with `--checkpoint` notes there which offsets it read, and in which order over",
    "the partitions; started again it reads those from the topic again, in that order, and then what has come since: no",
    "message is lost, none counts twice, as long as the topic still has them. Files with `follow` are read again so, too, byte",
    "by byte, by notes of which bytes of which file came when; renaming them makes no difference, and one that has been deleted",
    "or changed ends the query with a message that names it. `q.to_spark()` reads a topic by Spark's own",
    "connector, `org.apache.spark:spark-sql-kafka-0-10_2.13`, a jar that doesn't come with PySpark: without it the message says",
    "how to start Spark with it. Messages must be JSON there, and what isn't ends the stream.",
    "",
    "A notebook's own variable `spark` is used if there is one, on this machine: a classic session, or one of Spark Connect",
    "(PySpark 4.3 or later). No function here can be called with Connect's micro-batches, so answers wait in a sink of Spark's",
    "memory and are fetched as they come; such a query has no checkpoint to go on from, and ends when a table it reads changes.",
    "",
    "`q.to_spark()` is for programs that go on in Spark: all of it is Spark's own, files of Parquet, CSV and JSON lines are read",
    "by Spark itself, `to_spark(max_files=10)` paces them (in the order of their times of change), and a record that is none in",
    "the declared types ends the stream (`FAILFAST`). Files that Spark would read otherwise than our reader are refused: with",
    "the options `null` or `timestamp_unit`, names spelt otherwise than declared, nested columns in text.",
)

_OPTIONS: Final = (
    (
        "`--master local[4]`",
        "where a Spark of ours runs, said with the first query on it; a notebook's own `spark` is used as it is",
    ),
    (
        "`--conf key=value`",
        "a setting of Spark's for this query, any number of them; what only a starting Spark takes goes with the first",
    ),
    (
        "`--checkpoint DIR`",
        "the query goes on from there when it is started again with the same text, however it ended: the answers it gave are "
        "given again, no row is lost and none counts twice. Replayable sources are read again from their beginning, topics of "
        "Kafka and followed files as they were read before; of other live sources what came in between is missing. A query "
        "whose input had ended gives its answers again, and goes on with what a live source then has, unless the end made "
        "answers final, as those of windows: rows that come go to errors, and the view says so. Where the Spark of a killed "
        "kernel still writes there, the query waits until its process has ended",
    ),
    (
        "`--conf jupyter_stream.maxFilesPerTrigger=10`",
        "how many files a micro-batch takes at most of each stream, Spark's `maxFilesPerTrigger`; the first of them in "
        "our order; all there are if nothing is said. Files are those of Parquet as they are, or up to 262,144 rows of "
        "another source",
    ),
    (
        "`--conf jupyter_stream.stalled='5 minutes'`",
        "after how long, with a micro-batch under way and none of its tasks ending, Spark is taken to wait for ever (rarely its "
        "own server of states does): the query then goes on from its checkpoint, and fails with one message the third time. Five "
        "minutes if nothing is said",
    ),
    ("`--trigger '5 seconds'`", "time between micro-batches; without it the next begins when there are rows"),
)

_TITLES: Final = {
    "source": "Sources",
    "progress": "Progress",
    "clause": "Clauses",
    "window": "Windows",
    "aggregate": "Aggregates",
}
