"""The rows of the table of what runs on Spark, in the reference's order. `nodes.SUPPORT` says which go for a node of a plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from jupyter_stream.windows.on_spark import FORMS, WindowOnSpark

Kind: TypeAlias = Literal["native", "ours in Spark", "not in Spark", "never sensible"]
"""`native`: Spark's own operator. `ours in Spark`: a part of it is ours. The others are refused: Spark has
nothing that could do it; it would make no sense there."""

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


def of_window(form: WindowOnSpark) -> Support:
    """The row of a window."""
    return Support("window", form.name, "native" if form.native else "ours in Spark", form.how, whole=not form.native)


PARQUET: Final = Support(
    "source",
    "Parquet files",
    "ours in Spark",
    "our reader looks through the times for late rows. A file without late rows is read by Spark as it is, unless an "
    "expression can fail on a row or something goes by the order of arrival",
)
TEXTS: Final = Support(
    "source",
    "CSV, JSON lines, Parquet in other types",
    "ours in Spark",
    "parsed by our reader, which finds bad records (they go to errors) and late rows; Spark reads the rows that it made",
)
OTHER_STREAMS: Final = Support(
    "source",
    "any other stream",
    "ours in Spark",
    "read by our connector, checked for late rows, and kept on disk in numbered files; Spark's checkpoint names the file "
    "to go on with",
)
TOPICS: Final = Support(
    "source",
    "kafka://",
    "ours in Spark",
    "read by our connector, which finds bad messages and late rows. With a checkpoint it writes down the offsets that it "
    "read and their order, and reads the same again after a restart. (q.to_spark() has Spark's own connector for Kafka)",
)
OTHER_MACHINES: Final = Support(
    "source",
    "Spark on other machines",
    "ours in Spark",
    "rows reach it through a folder that all its machines find at the same path: --master spark://host:7077 "
    "--checkpoint DIR. A session of Spark Connect has to be on this machine",
)
IN_ORDER: Final = Support("progress", "in order", "native", "withWatermark, no delay")
WATERMARK: Final = Support("progress", "WATERMARK FOR", "native", "withWatermark with the declared delay")
ON_ARRIVAL: Final = Support("progress", "on arrival", "native", "withWatermark on the time of arrival")
UNPROMISED: Final = Support("progress", "nothing promised", "native", "all extents close when the input ends")
SLACK: Final = _whole("progress", "slack", "our reader works out what the stream promises, for the kernel's operators")
PUNCTUATION: Final = _whole(
    "progress", "punctuation", "our reader works out what the stream promises, for the kernel's operators"
)
PUNCTUATION_BY_KEY: Final = _whole(
    "progress",
    "punctuation by key",
    "our reader passes promises on between the rows, in their order, on one partition",
)
CONSTRAINTS: Final = Support(
    "progress",
    "CLUSTERED, FOREIGN KEY",
    "ours in Spark",
    "our reader finds rows that break it; Spark keeps what its windows need and makes no use of the promise",
)
FOREIGN_KEYS_JOINED: Final = Support(
    "progress",
    "FOREIGN KEY followed by a join",
    "not in Spark",
    "A join of Spark's drops a row that refers to nothing, and tells nobody: leave the constraint out, or leave out --engine "
    "spark to run the query in the kernel.",
)
WHERE: Final = Support("clause", "WHERE, HAVING", "native", "where")
SELECT: Final = Support("clause", "select list", "native", "select")
OWN_FUNCTIONS: Final = _whole(
    "clause",
    "functions Spark hasn't",
    "the kernel's: gamma, lgamma, binom, jaro_similarity and others, and patterns of regular expressions that are columns",
)
UNNEST: Final = Support(
    "clause", "UNNEST, explode", "native", "posexplode, of several arrays side by side of arrays_zip"
)
ROW_PATTERNS: Final = _whole("clause", "MATCH_RECOGNIZE", "the kernel's search, by PARTITION BY")
ANSWERS_THAT_CAN_FAIL: Final = Support(
    "clause",
    "answers that can fail",
    "ours in Spark",
    "the last expressions are computed in the kernel, for each answer that arrives",
)
UNION: Final = Support(
    "clause", "UNION of streams", "native", "unionByName; a row is late if it breaks the promise of its own stream"
)
UNION_OF_WINDOWS: Final = _whole(
    "clause", "UNION of windows", "the kernel's operators, since Spark would mix up the watermarks"
)
DERIVED: Final = Support("clause", "derived stream", "native", "its SELECT, in its place")
DERIVED_IN_ORDER: Final = _whole(
    "clause", "derived stream in order", "the kernel's operator holds a row until no earlier one can come"
)
WINDOW_OVER_WINDOWS: Final = Support(
    "clause",
    "window over windows",
    "native",
    "two stateful operators in append mode; the outer one goes by window_time",
)
EMPTY_EXTENTS: Final = Support(
    "clause", "empty extents", "ours in Spark", "added between extents that hold rows, as answers arrive"
)
EMPTY_EXTENTS_BELOW: Final = _whole(
    "clause", "empty extents below a window", "the kernel's operators, since Spark has no rows for them"
)
ROW_NUM: Final = Support("clause", "row_num", "native", "the arrival number, counted by our reader")
ROW_NUM_OF_DERIVED: Final = _whole("clause", "row_num of a derived stream", "counted by the kernel's operators")
EMIT_EVERY: Final = _whole(
    "clause",
    "EMIT EVERY",
    "provisional answers by the kernel's operators, at the same rows as in the kernel, on one partition",
)
EMIT_CHANGES: Final = _whole(
    "clause",
    "EMIT CHANGES",
    "provisional answers by the kernel's operators, whenever rows have come, on one partition",
)
PREFERENCE: Final = Support(
    "clause",
    "WITH PREFERENCE",
    "never sensible",
    "Spark answers a micro-batch as a whole or not at all: run it in the kernel, or leave the preference out.",
)
TOLERANCE: Final = Support(
    "clause",
    "WITH TOLERANCE, APPROXIMATE",
    "never sensible",
    "Spark has its own limits of memory and spills to disk: run it in the kernel, or leave the words out.",
)
LOOK_UPS: Final = Support(
    "clause",
    "look-ups in tables",
    "native",
    "join with the table as it is now; later changes of the table are followed",
)
JOINS: Final = Support(
    "clause", "joins", "native", "stream-stream join on equal keys, and on how far the two times may be apart"
)
OUTER_JOINS: Final = Support(
    "clause",
    "outer, semi and anti joins",
    "native",
    "stream-stream join on equal keys and times; an anti join is an outer join of which the rows without a partner are kept",
)
OUTER_JOINS_WITHOUT_BOUNDS: Final = _whole(
    "clause",
    "outer joins without bounds",
    "the kernel's join, since Spark can't tell when a row will find no partner any more",
)
ABOVE_JOINS_WITHOUT_BOUNDS: Final = _whole(
    "clause",
    "above joins without bounds",
    "the kernel's operators, since Spark can't tell when the answers over such a join are final",
)
JOINS_OF_WINDOWS: Final = _whole("clause", "joins of windows", "the kernel's join of the kernel's windows")
JOINS_UNDER_SLIDE: Final = _whole("clause", "joins under SLIDE", "the kernel's join, answered extent by extent")
FAILING_CONDITIONS: Final = _whole(
    "clause",
    "conditions of outer joins that can fail",
    "the kernel's join: the pair that fails goes to errors, and the query goes on",
)
SETS: Final = _whole("clause", "DISTINCT, EXCEPT, INTERSECT", "the kernel's operators, which count equal rows")
STREAMS_OF_RELATIONS: Final = _whole(
    "clause", "ISTREAM, DSTREAM, RSTREAM", "the kernel's operators, which follow the changes of a relation"
)
SAMPLE: Final = _whole("clause", "SAMPLE", "the kernel's operator, so that it keeps the same rows as in the kernel")
FIRST_ROWS: Final = _whole(
    "clause",
    "ORDER BY, LIMIT",
    "the kernel's operator: the first rows of each extent, or of a relation as it is now",
)
WINDOW_FUNCTIONS: Final = _whole(
    "clause",
    "OVER by any order, with any frame",
    "the kernel's operator: Spark has no OVER on streams; of each extent, or of a relation as it is now",
)
MANY_EXTENTS: Final = _whole(
    "window",
    "[RANGE d SLIDE s], d more than 100 s",
    "the kernel's aggregate, which keeps panes; Spark would make a copy of each row for each of its extents",
)
SEVERAL_WINDOWS: Final = _whole("clause", "several windows", "aggregates of the kernel, side by side")
ANYTHING_ELSE: Final = _whole("clause", "anything else", "the kernel's operator")
BY_PARTITION: Final = Support(
    "clause",
    "the query, by partition",
    "ours in Spark",
    "the kernel's operators in transformWithState; the keys are in as many buckets as there are shuffle partitions",
)
ON_ONE_PARTITION: Final = Support(
    "clause",
    "the query, on one partition",
    "ours in Spark",
    "the kernel's operators in transformWithState; all rows go to one place, since the query has no partition key",
)
RETROACTIVE_TABLES: Final = _whole(
    "clause",
    "retroactive tables",
    "the kernel's join; a change of the table goes back to rows that are in the relation. The query ends with its streams",
)
TABLES_BESIDE_RELATIONS: Final = _whole(
    "clause", "tables beside relations", "the kernel's join, which follows the changes of the table"
)
BASIC: Final = Support(
    "aggregate",
    "count, sum, avg, min, max",
    "native",
    "Spark's aggregates; the upper and lower halves of BIGINT numbers are summed apart, so that the sum is exact",
)
TRUTH: Final = Support("aggregate", "bool_and, bool_or, count_if", "native", "min, max, count")
OF_DISTINCT: Final = Support(
    "aggregate", "count, sum, avg of DISTINCT", "native", "collect_set, since Spark has no DISTINCT on streams"
)
SPREAD: Final = Support(
    "aggregate", "var_samp, var_pop, stddev_samp, stddev_pop", "native", "Spark's aggregates of that name"
)
ENDS: Final = Support(
    "aggregate", "first, last, arg_min, arg_max", "native", "min_by and max_by, by time and arrival number"
)
ORDERED_OF_WINDOWS: Final = _whole(
    "aggregate",
    "first, last and lists of windows",
    "the kernel's aggregates, since rows of a window or join have no arrival number on Spark",
)
QUANTILES: Final = Support("aggregate", "median, quantile", "native", "percentile")
MODE: Final = Support("aggregate", "mode", "native", "mode; of equally frequent values the least")
LISTS: Final = Support(
    "aggregate", "collect_list, string_agg", "native", "collect_list, sorted by time and arrival number"
)
DISTINCT_SKETCH: Final = Support(
    "aggregate", "approx_count_distinct", "native", "Spark's own sketch, with the same error but other estimates"
)
FREQUENT: Final = _whole("aggregate", "heavy_hitters, approx_top_k", "the kernel's sketches")
USER_DEFINED: Final = _whole(
    "aggregate", "user-defined aggregates", "the kernel's; their bodies and Python classes are sent along"
)
OF_TABLES: Final = Support(
    "aggregate",
    "user-defined aggregates that read or write tables",
    "not in Spark",
    "Spark's processes can't look into the tables of this one: join the table in FROM and pass its columns to the aggregate, "
    "or leave out --engine spark to run the query in the kernel.",
)
OTHER_AGGREGATES: Final = _whole("aggregate", "other aggregates", "the kernel's")

OF_QUERIES: Final = (
    OTHER_MACHINES,
    ANSWERS_THAT_CAN_FAIL,
    EMIT_EVERY,
    EMIT_CHANGES,
    PREFERENCE,
    TOLERANCE,
    ANYTHING_ELSE,
    BY_PARTITION,
    ON_ONE_PARTITION,
)
"""Rows that go for a query, or for where one runs, whatever its nodes are."""
ORDER: Final = (*(row for row in vars().values() if isinstance(row, Support)), *map(of_window, FORMS))
"""All of these rows, as the reference has them; those of one part stand together there."""
