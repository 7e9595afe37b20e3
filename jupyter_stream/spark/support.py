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
    """

    part: str
    name: str
    kind: Kind
    how: str


TABLE: Final[tuple[Support, ...]] = (
    Support(
        "source", "any stream", "ours in Spark", "read by our connector, judged row by row, handed over as Parquet"
    ),
    Support("progress", "in order", "native", "withWatermark, no delay"),
    Support("progress", "WATERMARK FOR", "native", "withWatermark with the declared delay"),
    Support("progress", "on arrival", "native", "withWatermark on the time of arrival"),
    Support("progress", "nothing promised", "native", "all extents close when the input ends"),
    Support(
        "progress",
        "slack",
        "not in Spark",
        "Spark knows delays in time only: declare WATERMARK FOR ts AS ts - INTERVAL d.",
    ),
    Support(
        "progress",
        "punctuation",
        "not in Spark",
        "Spark's watermark follows the newest row: declare WATERMARK FOR ts AS ts - INTERVAL d.",
    ),
    Support("clause", "WHERE, HAVING", "native", "where"),
    Support("clause", "select list", "native", "select"),
    Support(
        "clause", "answers that can fail", "ours in Spark", "finished by our kernel, row by row, as each answer arrives"
    ),
    Support("clause", "UNION of streams", "native", "unionByName; a row is late by its own stream's promise alone"),
    Support("clause", "UNION of windows", "not yet by us", "Run one query for each part."),
    Support("clause", "derived stream", "native", "its plan in its place"),
    Support("clause", "window over windows", "native", "two stateful operators in append mode, by window_time"),
    Support("clause", "empty extents", "ours in Spark", "filled in between extents that hold rows, as answers arrive"),
    Support(
        "clause",
        "empty extents below a window",
        "not yet by us",
        "Group the inner query by a column: then empty extents give no rows.",
    ),
    Support("clause", "row_num", "native", "the arrival number, counted by our reader"),
    Support("clause", "row_num of a derived stream", "not yet by us", "Number the rows in the kernel."),
    Support("clause", "EMIT EVERY, EMIT CHANGES", "not yet by us", "Leave EMIT out: answers come when they are final."),
    Support(
        "clause", "look-ups in tables", "native", "join with the table as it is; a change of the table is followed"
    ),
    Support("clause", "joins", "native", "stream-stream join on equal keys and bounds of the times' difference"),
    Support("clause", "outer, semi and anti joins", "native", "the same; anti joins as outer ones without a partner"),
    Support(
        "clause",
        "outer joins without bounds",
        "not in Spark",
        "Give both streams a window, such as [RANGE 5 MINUTES]: Spark must know when a row finds no partner any more.",
    ),
    Support(
        "clause",
        "above joins without bounds",
        "not in Spark",
        "Give both joined streams a window: Spark never knows when what is above an unbounded join is final.",
    ),
    Support("clause", "joins of windows", "not yet by us", "Join in the kernel: leave out --engine spark."),
    Support(
        "clause",
        "conditions of outer joins that can fail",
        "not yet by us",
        "Compute what can fail in a subquery below the join, or use try_cast and the like.",
    ),
    Support(
        "clause",
        "an operator per bucket",
        "ours in Spark",
        "transformWithState, its state the operators of the partitions in a bucket; a bucket per shuffle partition",
    ),
    Support("clause", "an operator for all", "ours in Spark", "transformWithState on one partition: it needs all rows"),
    Support(
        "clause", "above operators of ours", "not yet by us", "Give what is above a query of its own, in the kernel."
    ),
    Support(
        "clause",
        "below operators of ours",
        "not yet by us",
        "They take rows of one stream: run this query in the kernel.",
    ),
    Support(
        "clause",
        "WHERE of a window of rows that can fail",
        "not yet by us",
        "Compute what can fail in a subquery below the window, or use try_cast and the like.",
    ),
    Support(
        "clause", "anything else", "not yet by us", "Leave out ON SPARK and --engine spark to run it in the kernel."
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
    Support(
        "window", "[SESSION] apart from GROUP BY", "not yet by us", "Leave PARTITION BY out: sessions are per group."
    ),
    Support("window", "[... ON col]", "native", "window() on that column; all extents close when the input ends"),
    Support("window", "[... ON expression]", "not yet by us", "Put the window on a column of the stream itself."),
    Support("window", "window over sessions", "not yet by us", "Run the outer window in the kernel."),
    Support("window", "[RANGE ALL SLIDE s]", "ours in Spark", "window aggregate of the kernel, on one partition"),
    Support("window", "[ROWS n SLIDE m]", "ours in Spark", "row windows of the kernel, by the window's PARTITION BY"),
    Support("window", "[RANGE d SLIDE 1 ROW]", "ours in Spark", "slide-by-tuple of the kernel, on one partition"),
    Support("window", "OVER (...)", "ours in Spark", "OVER of the kernel, by PARTITION BY"),
    Support("window", "[... ON col] of ours", "not yet by us", "Order the stream by that column."),
    Support(
        "window",
        "no SLIDE",
        "not yet by us",
        "Spark keeps no relation at every instant: add a SLIDE, such as [RANGE 1 MINUTE TUMBLING].",
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
    Support(
        "aggregate",
        "first, last and lists of windows",
        "not yet by us",
        "Rows of a window or join have no arrival number on Spark: use min or max.",
    ),
    Support("aggregate", "median, quantile", "native", "percentile"),
    Support("aggregate", "mode", "native", "mode, the least of equally frequent values"),
    Support("aggregate", "collect_list, string_agg", "native", "collect_list, sorted by time and arrival number"),
    Support("aggregate", "approx_count_distinct", "native", "Spark's own sketch of the same error: another estimate"),
    Support(
        "aggregate",
        "heavy_hitters, approx_top_k",
        "ours in Spark",
        "the whole aggregation is the kernel's, its operator inside Spark, by GROUP BY",
    ),
    Support("aggregate", "user-defined aggregates", "not yet by us", "Run the query in the kernel."),
    Support("aggregate", "other aggregates", "not yet by us", "Run the query in the kernel."),
    Support("aggregate", "any, in an operator of ours", "ours in Spark", "the kernel's"),
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
        "`native` is Spark's own operator; in `ours in Spark` a part is done by us. Of what is refused, `not yet by us` may",
        "come, `not in Spark` has nothing there that could do it, `never sensible` never will.",
        "",
        "Rows are read by our connectors, so late rows and rows that fail are judged one by one, as in the kernel: they are in",
        "`late(name)` and `errors(name)`, and Spark drops none that isn't there. In a query of windows over windows, an",
        "expression that fails on an inner answer ends the query, with Spark's message.",
        "",
        "The rows go to Spark as files in a temporary folder of this machine, so Spark must run here (`local[...]`).",
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
    for row in TABLE:
        if row.part != part:
            part = row.part
            lines += ["", f"## {_TITLES[part]}", "", "| | | |", "|---|---|---|"]
        lines.append(f"| {row.name} | {row.kind} | {row.how} |".replace("|...|", "..."))
    return "\n".join([*lines, ""])


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
        "given again, no row is lost and none counts twice. Replayable sources are read again from their beginning; of live ones "
        "what came in between is missing. A query whose input has ended only gives its answers",
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
