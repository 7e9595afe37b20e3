"""Every kind of window against every case that breaks window engines, with every aggregate: a table, each cell the oracle's."""

from __future__ import annotations

import math
from itertools import product

import pytest

from jupyter_stream import aggregates
from tests.engine.checked import Asks, check
from tests.oracle.aggregates import Aggregate
from tests.oracle.moments import OF_PAIRS
from tests.oracle.progress import Slack, Watermark
from tests.oracle.query import Stream, duration
from tests.oracle.values import Value
from tests.oracle.windows import Growing, Lifetime, NewestRows, RowExtents, Sessions, TimeExtents, TupleExtents
from tests.tiers import thinned
from tests.windowed.test_oracle_edges import SECOND, YEAR, stream

pytestmark = [
    pytest.mark.timeout(900),  # many small queries; a busy machine is no failure
    pytest.mark.filterwarnings("error::RuntimeWarning"),  # NaN and infinity are values like others
]

DAY = 86_400 * SECOND


def windows(unit: int) -> dict[str, Asks]:
    """One window of each kind, its lengths in this many microseconds."""
    two, three = duration(2 * unit), duration(3 * unit)
    return {
        "tumbling": TimeExtents(4 * unit, 4 * unit),
        "sliding": TimeExtents(6 * unit, 2 * unit),
        "no multiple": TimeExtents(5 * unit, 2 * unit),
        "gaps": TimeExtents(unit, 3 * unit),
        "cumulating": Growing(6 * unit, 2 * unit),
        "landmark": TimeExtents(None, 4 * unit),
        "rows": RowExtents(3, 2),
        "rows of a partition": RowExtents(2, 1, ("k",)),
        "to each row": TupleExtents(3 * unit),
        "to each second row": TupleExtents(3 * unit, 2),
        "to each second row by rank": TupleExtents(3 * unit, 2, by_rank=True),
        "session": Sessions(2 * unit, two),
        "session of a partition": Sessions(2 * unit, two, ("k",)),
        "range": Lifetime(3 * unit, f"[RANGE {three}]"),
        "now": Lifetime(1, "[NOW]"),
        "unbounded": Lifetime(None, "[RANGE UNBOUNDED]"),
        "newest": NewestRows(rows=2),
        "newest of a partition": NewestRows(rows=2, partition=("k",)),
        "OVER rows": {"rows": 2},
        "OVER range": {"range": 3 * unit},
        "OVER everything": {},
        "OVER rows, every second": {"rows": 2, "every": 2},
        "OVER range, at expirations": {"range": 3 * unit, "on_expiry": True},
    }


WINDOWS = windows(SECOND)
BIG = 2**62
"""Of two such numbers and a smaller one, no sum in the table below is beyond BIGINT."""

COLUMNS = "k STRING, x DOUBLE, n BIGINT, ts TIMESTAMP"


def rows_of(*rows: tuple[Value, ...], progress: object = None) -> Stream:
    return stream(list(rows), COLUMNS, progress)


CASES: dict[str, Stream] = {
    "no row": rows_of(),
    "a row": rows_of(("a", 1.5, 7, 5)),
    "a row at an edge": rows_of(("a", 1.5, 7, 12)),
    "equal times at an edge": rows_of(*[("ab"[i % 2], i / 4, i, 12) for i in range(6)], ("b", 9.0, 9, 13)),
    "every edge": rows_of(*[("ab"[i % 2], i / 4, i, i) for i in range(14)]),
    "a microsecond beside edges": rows_of(
        *[
            ("ab"[i % 2], i / 4, i, t + d)
            for i, (t, d) in enumerate([(4, -1e-6), (4, 0), (4, 1e-6), (12, -1e-6), (12, 0)])
        ]
    ),
    "NULLs": rows_of(*[("ab"[i // 3 % 2], None if i % 2 else i / 4, None if i % 3 else i, i / 2) for i in range(12)]),
    "nothing but NULLs": rows_of(*[("a", None, None, i) for i in range(5)]),
    "NULL keys": rows_of(*[(None if i % 2 else "a", i / 4, i, i) for i in range(8)]),
    "NaN and infinities": rows_of(
        *[
            ("ab"[i % 2], x, i, i / 2)
            for i, x in enumerate([1.5, math.nan, math.inf, 2.0, -math.inf, 0.5, math.nan, 3.0, 4.0, 1.0])
        ]
    ),
    "close to overflow": rows_of(
        *[("a", float(n), n, i) for i, n in enumerate([BIG, -BIG, BIG - 1, -BIG, 3, BIG, -BIG])]
    ),
    "before 1970": rows_of(*[("ab"[i % 2], i / 4, i, i - 1e9) for i in range(8)]),
    "out of order": rows_of(
        *[("ab"[i % 2], i / 4, i, t) for i, t in enumerate([5, 2, 9, 9, 4, 13, 7, 12, 12, 20])],
        progress=Watermark(8 * SECOND),
    ),
    "late": rows_of(
        *[("ab"[i % 2], i / 4, i, t) for i, t in enumerate([5, 2, 30, 9, 4, 41, 7, 39, 12, 60])], progress=Slack(2)
    ),
}

MADE: tuple[Aggregate, ...] = (
    Aggregate("count"),
    Aggregate("count", "x", distinct=True),
    *(Aggregate(f, "n") for f in ("count", "sum", "min", "max", "first", "last", "mode", "collect_list")),
    *(Aggregate(f, "x") for f in ("sum", "avg", "min", "max", "median", "first", "last")),
    *(Aggregate(f, "x") for f in ("var_samp", "var_pop", "stddev_samp", "stddev_pop")),
    *(Aggregate(f, "n") for f in ("bit_and", "bit_or", "bit_xor")),
    Aggregate("quantile", "x", constant=0.3),
    Aggregate("heavy_hitters", "n", constant=0.4),
    Aggregate("string_agg", "k", constant=", "),
    Aggregate("arg_min", "k", by="x"),
    Aggregate("arg_max", "n", by="x"),
    *(Aggregate(f, "x", by="n") for f in ("regr_intercept", "regr_count", "regr_avgx")),
    Aggregate("kurtosis", "x"),
    Aggregate("earliest_by_offset", "x"),
    Aggregate("latest_by_offset", "n", constant=2),
    Aggregate("topk", "n", constant=2),
    Aggregate("quantile_disc", "k", constant=0.3),
)
APPROXIMATE = {"approx_count_distinct", "approx_top_k"}  # their bounds are tested with them

AS_ANOTHER = {*OF_PAIRS, "skewness", "topkdistinct"}
"""Kept as one of those above is; tests/aggregates has their own values."""

EVERLASTING = ("unbounded", "OVER everything")
"""Windows that never let a row go: what keeps every row of its window is refused there (tests/binding)."""


def made_over(window: str) -> tuple[Aggregate, ...]:
    """What can be computed over a window."""
    return tuple(a for a in MADE if window not in EVERLASTING or a.function not in ("collect_list", "string_agg"))


def test_the_table_has_every_exact_aggregate() -> None:
    known = {found.name for name in aggregates.names() if (found := aggregates.find(name)) is not None}
    assert {a.function for a in MADE} | AS_ANOTHER == known - APPROXIMATE - {
        "bool_and",
        "bool_or",
        "count_if",
    }  # truth: tested apart


@pytest.mark.parametrize(("window", "case"), thinned(product(WINDOWS, CASES), 75))
def test_every_window_in_every_case(window: str, case: str) -> None:
    """By groups and row by row, or of all rows and all at once: half of the cells each."""
    half = (list(WINDOWS).index(window) + list(CASES).index(case)) % 2 == 0
    if half or getattr(WINDOWS[window], "partition", ()):
        check(WINDOWS[window], CASES[case], made_over(window), splits=(1,))
    else:
        check(WINDOWS[window], CASES[case], made_over(window), grouped=False, splits=(None,))


@pytest.mark.parametrize("window", thinned(WINDOWS, 16))
def test_every_window_after_a_year_without_rows(window: str) -> None:
    # The oracle walks through every extent: windows of days keep that short. The engine has no such excuse.
    year = YEAR // SECOND
    rows = rows_of(
        ("a", 1.0, 1, 0), ("b", 2.0, 2, 1), ("a", 3.0, 3, year), ("b", 4.0, 4, year), ("a", 5.0, 5, year + 1)
    )
    asks = windows(DAY)[window]
    check(asks, rows, made_over(window), splits=(1,))
    if not getattr(asks, "partition", ()):
        check(asks, rows, made_over(window), grouped=False, splits=(None,))
