"""What Spark does by itself where people expect something else, and what a query gives here: a table of the reference.

Each row has a test of its name on both engines, in tests/spark/test_what_spark_does.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

SEEN_IN: Final = "4.3.0"
"""The version of PySpark that does so."""


@dataclass(frozen=True)
class Surprise:
    """A row of the table.

    Attributes:
        name: of the test that shows it.
        what: what happens.
        spark: what Spark does by itself.
        here: what a query gives here, on both engines.
    """

    name: str
    what: str
    spark: str
    here: str


SURPRISES: Final = (
    Surprise(
        "null_times",
        "a NULL event time",
        "counts as 1970 in the watermark's statistics; the row is in no window, and nobody is told",
        "the row is in `errors(name)`",
    ),
    Surprise(
        "old_times",
        "times before 1970",
        "are older than the first watermark: their windows have no answer",
        "are times as all others",
    ),
    Surprise(
        "late_rows",
        "a late row in the micro-batch that moves the watermark, or in the next one",
        "is still counted. After that it is dropped, and nobody is told",
        "each row is judged by those before it, and is in `late(name)` where it missed an answer",
    ),
    Surprise(
        "rows_at_the_watermark",
        "a row at exactly the watermark, in a join",
        "is dropped",
        "is in time, and is joined",
    ),
    Surprise(
        "last_windows",
        "the end of the input, `availableNow`",
        "the last windows have no answer",
        "all windows close",
    ),
    Surprise(
        "ended_streams",
        "a stream of a union has ended",
        "the union's watermark stays where that stream's was, for ever",
        "the other goes on alone",
    ),
    Surprise(
        "touching_sessions",
        "rows exactly a gap apart",
        "are one session",
        "are in two sessions: a session's end isn't part of it",
    ),
    Surprise(
        "conditions_of_one_side",
        "an outer or anti join with a condition of one side, `l.v > 0`",
        "the constant is taken for a time: rows without a partner never come, and the state grows",
        "rows without a partner come when no partner can come any more, and the state drops old rows",
    ),
    Surprise(
        "conditions_that_fold",
        "a stream-stream join with a condition that is always false",
        "is refused, since no equality is left of it",
        "no row has a partner",
    ),
    Surprise(
        "null_keys",
        "NULL keys in a full outer join of streams",
        "equal each other",
        "equal nothing, as in SQL",
    ),
    Surprise(
        "equal_values",
        "`max_by` of equal values",
        "the last row in the order it happened to read them; with a number, `max_by(x, y, k)`, the first",
        "the same row on both engines, by time and arrival",
    ),
    Surprise(
        "sums_beyond_bigint",
        "`sum` of BIGINT beyond its range on the way",
        "fails or doesn't, depending on the order of rows",
        "is exact, whatever the order",
    ),
    Surprise(
        "zeros",
        "0.0 and -0.0",
        "`approx_top_k` tells them apart, GROUP BY doesn't",
        "are one value in both",
    ),
    Surprise(
        "unsigned_numbers",
        "unsigned numbers beyond BIGINT, of a pandas frame",
        "become NULL, and nobody is told",
        "the row is in `errors(name)`",
    ),
    Surprise(
        "timers",
        "a timer for a time that has passed, set when another one expires (`transformWithState`)",
        "waits for the next micro-batch",
        "our operators give all that a watermark makes final in that same micro-batch",
    ),
    Surprise(
        "tester",
        "the tester of `transformWithState`",
        "its watermark doesn't move with the rows, and it refuses such a timer, which the engine takes",
        "our tests don't use it: they run queries on Spark",
    ),
)


def lines() -> list[str]:
    """The section of the reference."""
    return [
        "",
        "## What Spark does by itself, and what you get here",
        "",
        f"Seen in PySpark {SEEN_IN}. Each row is a test of both engines. It fails when a new version of Spark does otherwise.",
        "",
        "| what | Spark by itself | here, on both engines |",
        "|---|---|---|",
        *(f"| {row.what} | {row.spark} | {row.here} |" for row in SURPRISES),
    ]
