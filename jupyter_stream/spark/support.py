"""The table of what runs on Spark, as people read it: the rows that the support of nodes gives, and the page of the reference."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from jupyter_stream.spark import surprises
from jupyter_stream.spark.nodes import OF_EVERY_NODE, SUPPORT
from jupyter_stream.spark.rows import OF_QUERIES, ORDER, RUNS, Support

__all__ = ["RUNS", "TABLE", "Support", "page"]


def _used() -> Iterator[Support]:
    yield from OF_QUERIES
    yield from OF_EVERY_NODE
    for node in SUPPORT.values():
        yield from node.rows


def _in_order() -> tuple[Support, ...]:
    used = dict.fromkeys(_used())
    return tuple(dict.fromkeys((*(row for row in ORDER if row in used), *used)))


TABLE: Final = _in_order()
"""The rows that go for some node or query. A query none of whose parts is refused runs."""


def page() -> str:
    """The table as Markdown, for tutorials/reference/spark.md."""
    lines = [
        "# What runs on Spark",
        "",
        "A query started with `--engine spark` runs on PySpark Structured Streaming. It gives the same answers as in the kernel.",
        "Before it starts, every part of it is looked up in the tables below. If one part can't run, nothing is started, and the",
        "message says what to write instead. `EXPLAIN SELECT ... ON SPARK` shows the same for one query, part by part.",
        "",
        "| | what it means |",
        "|---|---|",
        "| `native` | Spark's own operator does it |",
        "| `ours in Spark` | Spark runs the query, and our code does this part |",
        "| `ours in Spark, whole` | Spark has nothing for it. So the whole query runs as the kernel's operators inside Spark |",
        "| `not in Spark` | refused: Spark has nothing that could do it |",
        "| `never sensible` | refused: it makes no sense on Spark |",
        "",
        "A query that runs as the kernel's operators is spread over Spark's partitions by a key: by what its outermost operator",
        "brings together. That is groups, the partitions of a window, equal keys of a join, or equal rows of DISTINCT, EXCEPT",
        "and INTERSECT. Without such a key all its rows go to one partition. EXPLAIN says which of the two it is.",
        "",
        "Our connectors read the rows and check each one, as in the kernel. Late rows are in `late(name)`, rows that fail are in",
        "`errors(name)`, and Spark drops no others. There is one exception: if an expression fails on an answer of an inner",
        "window (a window over windows), the query ends with Spark's message.",
        "",
        *_FIRST_ANSWERS,
        "",
        "The rows go to Spark as files: in a temporary folder of this machine, or on [a cluster](#a-cluster) in a folder that",
        "you name.",
        "",
        *_SOURCES,
        "",
        "## Options",
        "",
        "| | |",
        "|---|---|",
        *(f"| {name} | {what} |" for name, what in _OPTIONS),
        "",
        "These are keyword arguments of `Session.run`, too: `conf` is then a mapping or a list of `key=value`.",
        "",
        *_CHECKPOINTS,
        "",
        *_CLUSTER,
        *(*_PIPELINES, *surprises.lines()),
    ]
    part = None
    for row in sorted(TABLE, key=lambda r: list(_TITLES).index(r.part)):
        if row.part != part:
            part = row.part
            lines += [
                "",
                f"## {_TITLES[part]}",
                "",
                "| what | kind | how it runs, or what to write instead |",
                "|---|---|---|",
            ]
        lines.append(f"| {row.name} | {row.kind}{', whole' if row.whole else ''} | {row.how} |".replace("|...|", "..."))
    return "\n".join([*lines, ""])


_SOURCES: Final = (
    "## Who reads the rows",
    "",
    "**Parquet files.** Spark reads them itself, through links in that folder. Our reader reads the column of times only,",
    "to find late rows. If a file has late rows, Spark gets a copy without them, so the answers and `late(name)` are the",
    "same as in the kernel. This needs files with the declared types and a time column (in order or with a WATERMARK). In",
    "the query, no expression may fail on a row, and nothing may depend on the order of arrival. Otherwise our reader",
    "reads all of the files.",
    "",
    "**CSV and JSON lines.** Our reader always parses them, so both engines find the same records bad. Files paced `WITH",
    "(rate = ...)` come row by row.",
    "",
    "**All other streams** (`frame://`, `generate://`, `kafka://`, `python://`, ...). Our connectors read them. The rows",
    "wait for Spark in numbered files, each row with its arrival number. Spark's checkpoint names the files it has taken.",
    "After a restart, a replayable source is read again, and only rows that are not in the files yet are added. A live",
    "source goes on with the next number. This is tested by killing the process.",
    "",
    "Spark has Python data sources (`pyspark.sql.datasource`), too. We don't use them. They run in processes of Spark's,",
    "where the notebook's frames, generators and live sources don't exist. So they would have to read such files as well,",
    "and through Python, which is slower. We measured it with 3,000,000 rows, counted by window and key on two cores. It",
    "took 2.3 to 2.6 s from the files, and 4.1 to 4.4 s through a data source with Arrow batches: 1.7 to 1.8 times as long",
    "(`tests/benchmarks/data_source.py`). Writing the files takes a tenth of a second either way.",
    "",
    "**Topics of Kafka, and files with `follow`.** They are live. With `--checkpoint`, a query writes down what it read:",
    "the offsets, in their order over the partitions, or which bytes of which file came when. When it is started again,",
    "it reads the same again in the same order, and then what has come since. No row is lost and none counts twice, as",
    "long as the topic and the files still have them. A file may be renamed. If one was deleted or changed, the query",
    "ends with a message that names it.",
    "",
    "**Your own `spark`.** If the notebook has a variable `spark` with a session on this machine, it is used. It may be a",
    "classic session or one of Spark Connect (PySpark 4.3 or later). Spark Connect can't call our code with each",
    "micro-batch. So the answers wait in a table in Spark's memory and are fetched from there. Such a query has no",
    "checkpoint to go on from, and it ends when a table that it reads changes.",
    "",
    "**`q.to_spark()`** is for programs that go on in Spark. It gives a streaming DataFrame, in which Spark reads the rows",
    "itself. If Spark has operators for all of the query, it runs on these. Any other query (sessions, `OVER`, sets,",
    "relations, aggregates of your own, functions that Spark hasn't) runs as the kernel's operators in",
    "`transformWithState` inside the DataFrame, by partition if it has a key.",
    "",
    "- Spark reads files of Parquet, CSV and JSON lines. `to_spark(max_files=10)` reads ten files in each micro-batch, in",
    "  the order in which they were changed last. A record that doesn't have the declared types ends the stream",
    "  (`FAILFAST`).",
    "- Files that Spark would read differently are refused: those with the options `null` or `timestamp_unit`, with names",
    "  in another spelling than declared, or with nested columns in text. So are other sources (`frame://`, ...).",
    "- Topics are read by Spark's connector, `org.apache.spark:spark-sql-kafka-0-10_2.13`. This jar doesn't come with",
    "  PySpark: if it is missing, the message says how to start Spark with it. Messages must be JSON. Any other message",
    "  ends the stream.",
    "- The answer of a relation comes as its changes: the columns, `op` (1 the row enters, -1 it leaves) and `at`.",
    "- A table is read when `to_spark()` is called. What changes in it later doesn't reach the DataFrame.",
    "- Spark gives an answer only when a later row has come. With `trigger(availableNow=True)` the last windows are",
    "  missing, and so are the last rows without partner of an outer join. On Spark's own operators, an extent (one",
    "  window) without rows, whose count is 0, is not given. A warning says all this before the stream starts.",
    "- Spark looks for late rows once in each micro-batch. So it may use a row that is late in the kernel, and it lists no",
    "  late rows. The warning says this too. A value that can't be computed ends the stream.",
    "- Spark reads several files, and parts of them, at the same time. So rows have no order of arrival in it: `row_num`,",
    "  windows of `ROWS`, `slack` and `PUNCTUATION` are refused, and rows of one time are taken in any order. `EMIT EVERY`",
    "  and `EMIT CHANGES` are refused, too: a DataFrame in append mode can't take an answer back.",
    "- Our operators need Spark's RocksDB state store, which is set for the DataFrame's session. A checkpoint can be used",
    "  again only with the same text and the same number of shuffle partitions.",
)

_OPTIONS: Final = (
    (
        "`--master local[4]`",
        "where Spark runs, if we start it. Say it with the first query on Spark. A notebook's own `spark` is used as it "
        "is. For a cluster see [A cluster](#a-cluster)",
    ),
    (
        "`--conf key=value`",
        "a setting of Spark for this query. It may be written several times. Settings that Spark takes only when it "
        "starts must be said with the first query",
    ),
    (
        "`--checkpoint DIR`",
        "a folder from which the query goes on when it is started again with the same text, however it ended. See "
        "[Checkpoints](#checkpoints)",
    ),
    (
        "`--conf jupyter_stream.maxFilesPerTrigger=10`",
        "how many files of each stream a micro-batch takes at most, like Spark's `maxFilesPerTrigger`. They are taken in "
        "our order. Without it, a micro-batch takes all files there are. A file is one of your Parquet files, or up to "
        "262,144 rows of another source",
    ),
    (
        "`--conf jupyter_stream.stalled='5 minutes'`",
        "how long a micro-batch may run without one of its tasks ending (5 minutes by default). After that, Spark is "
        "taken to hang, which happens rarely. The query then starts again from its checkpoint. The third time it ends "
        "with an error",
    ),
    (
        "`--trigger '5 seconds'`",
        "time between micro-batches. Without it, the next one begins when there are rows",
    ),
)

_FIRST_ANSWERS: Final = (
    "Until the first answer, the view says what is being done (starting Java, planning, first micro-batch), for how long,",
    "and how long it took last time.",
    "",
    "Rows that are all there by the time Spark could begin (a frame, files) are answered by one batch job. That takes a",
    "second or two where a streaming query takes four, and all answers come at once. A query has micro-batches if its rows",
    "are live or paced, if it has `--trigger`, `--checkpoint` or `EMIT`, joins a table, gives an answer that changes, has",
    "Spark write it to a sink, or runs on Spark Connect.",
)

_CHECKPOINTS: Final = (
    "## Checkpoints",
    "",
    "With `--checkpoint DIR` a query that is started again with the same text goes on where it was. It gives its earlier",
    "answers again. No row is lost and none counts twice, if its sources can be read again:",
    "",
    "- Replayable sources are read again from their beginning, topics of Kafka and followed files as they were read",
    "  before. From other live sources, the rows that came in between are missing.",
    "- If the query's input had ended, it gives its answers again and goes on with the new rows of live sources. If the",
    "  end had made answers final, such as those of windows, these can't change any more: the new rows go to",
    "  `errors(name)`, and the view says so.",
    "- If the kernel was killed and its Spark still writes to the folder, the query waits until that process has ended.",
    "- Only you can read the folder. The state of our operators in it is signed with a key of yours, from Jupyter's data",
    "  folder or from `JUPYTER_STREAM_KEY`. A state without that signature is not loaded.",
)

_CLUSTER: Final = (
    "## A cluster",
    "",
    "`--master spark://host:7077 --checkpoint DIR` runs a query on a cluster. DIR is a folder that all its machines find",
    "at the same path. Rows of sources that Spark can't read itself go through it. Parquet files that Spark reads are",
    "linked into it, or copied if they are on another disk. Your own process reads only the times of these files.",
    "Answers come back to your process, and it writes them to sinks. Only a job's answers into files and Delta tables",
    "are written by the executors ([Sinks](#sinks)).",
    "",
    "- This package is installed where you start the query, and is sent to the executors. Their Python needs polars,",
    "  numpy, pyarrow, pandas and protobuf, and must have your version of Python. `--conf spark.pyspark.python=PATH` says",
    "  which Python they start.",
    "- `jupyter-stream pack -o packed.zip` makes the archive and the script for `spark-submit`. Start it with a Python that",
    "  has this package (`PYSPARK_PYTHON`):",
    "  `spark-submit --master spark://host:7077 --py-files packed.zip packed.py run FILE --engine spark --checkpoint DIR`.",
    "- If a worker dies, the query only takes longer. If your own process dies, the same command goes on where it was.",
    "",
)

_PIPELINES: Final = (
    "## Declarative pipelines",
    "",
    "`jupyter-stream pack --pipeline DIR FILE` writes a project for Spark's own way of running pipelines, from the",
    "queries of a file of SQL or of a notebook's `%%stream` cells. It needs PySpark 4.1 or later, with its parts for",
    "Spark Connect (`pip install 'pyspark[pipelines]'`):",
    "",
    "```bash",
    "jupyter-stream pack --pipeline busiest busiest.sql --set least=2",
    "cd busiest && spark-pipelines run",
    "```",
    "",
    "- A query becomes a streaming table of its name. One with `INSERT INTO 'file://...'` becomes a flow into a sink of",
    "  files.",
    "- `transformations/queries.py` has the queries as DataFrames, to be read and changed. `spark-pipeline.yml` has the",
    "  settings with which expressions mean the same as here.",
    "- It runs without this package: Spark reads the files (Parquet, CSV, JSON lines) or topics, and writes the",
    "  answers.",
    "- All parts must be Spark's own. If some are not, nothing is written, and the message names each of them, query by",
    "  query. Such queries run with `jupyter-stream run --engine spark`.",
    "- Such a pipeline differs from the kernel as `q.to_spark()` does: the last windows are missing until a later row",
    "  comes, and late rows are not listed. The command says so.",
    "",
    "We tried windows, selections and joins of streams, into tables and Parquet files, with PySpark 4.3. They give the",
    "kernel's answers, without the last windows. Topics of Kafka need Spark's connector on the class path, and have not",
    "been tried there.",
    "",
    "## Sinks",
    "",
    "With `--checkpoint DIR`, each micro-batch is a commit of the sink, under the micro-batch's number. If a sink promises",
    "*exactly once*, a query that was killed and is started again loses no row and writes none twice. Other sinks may get",
    "the rows of one micro-batch again, with the same `row_id`. Several queries of one text have folders of their own in",
    "DIR.",
    "",
    "In a job (`jupyter-stream run`), nobody looks at answers that go to a sink. If all sinks of a query are folders of",
    "files (`file://`) or Delta tables (`delta://`, without `partition_by`), Spark's executors write them, and no",
    "answer passes through the process of the job. An executor writes files that can't be seen yet. The job gets their",
    "names, and makes them visible in one commit, under the micro-batch's number. So every row is there once here as well,",
    "whichever process is killed. The sink's folder must be at the same path on all machines. If a file isn't there, the",
    "job ends with a message. These answers are in the sink alone: the progress counts them, but `q.to_pandas()` doesn't",
    "have them.",
    "",
    "All other answers pass through the job's process:",
    "",
    "- those of a notebook, where a chart or you may ask for them;",
    "- those to databases and brokers;",
    "- those of relations, of `EMIT EVERY` and `EMIT CHANGES`;",
    "- those of windows without `GROUP BY`, whose empty extents are filled in;",
    "- those for which a table is looked up.",
)

_TITLES: Final = {
    "source": "Sources",
    "progress": "Progress",
    "clause": "Clauses",
    "window": "Windows",
    "aggregate": "Aggregates",
}
