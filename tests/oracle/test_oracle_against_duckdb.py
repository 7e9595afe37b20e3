"""The oracle against DuckDB, where both know the words: tumbling windows over rows in memory, NULLs and NaN included."""

from __future__ import annotations

from random import Random

import duckdb

from tests.oracle.aggregates import Aggregate
from tests.oracle.answer import answer
from tests.oracle.compare import assert_same_bag, in_columns
from tests.oracle.predicates import Compares
from tests.oracle.progress import Watermark
from tests.oracle.query import Query, Stream
from tests.oracle.values import Row
from tests.oracle.windows import TimeExtents

AGGREGATES = (
    Aggregate("count"),
    Aggregate("count", "x"),
    Aggregate("count", "x", distinct=True),
    Aggregate("sum", "n"),
    Aggregate("avg", "x"),
    Aggregate("min", "x"),
    Aggregate("max", "k"),
    Aggregate("var_samp", "x"),
    Aggregate("var_pop", "n"),
    Aggregate("stddev_samp", "n"),
    Aggregate("stddev_pop", "x"),
    Aggregate("count", where=Compares("x", ">", 1.0)),
    Aggregate("sum", "n", where=Compares("k", "=", "a")),
)


def rows(count: int) -> tuple[Row, ...]:
    random = Random(7)
    return tuple(
        {
            "k": random.choice(("a", "b", "ä", None)),
            "x": random.choice((None, 0.5, 1.25, random.uniform(-5, 5))),
            "n": random.choice((None, 1, -3, random.randrange(10**6))),
            "ts": random.randrange(-500, 500),
        }
        for _ in range(count)
    )


def test_tumbling_aggregates_are_duckdbs() -> None:
    columns = (("k", "STRING"), ("x", "DOUBLE"), ("n", "BIGINT"), ("ts", "BIGINT"))
    stream = Stream(columns, "ts", Watermark(10_000), rows(400))
    query = Query(stream, TimeExtents(60, 60), AGGREGATES, keys=("k",))
    connection = duckdb.connect()
    connection.execute("CREATE TABLE s (k VARCHAR, x DOUBLE, n BIGINT, ts BIGINT)")
    connection.executemany("INSERT INTO s VALUES (?, ?, ?, ?)", [tuple(r[c] for c, _ in columns) for r in stream.rows])
    items = ", ".join(
        "CAST(sum(n)" + a.sql()[6:] + " AS BIGINT)" if a.function == "sum" else a.sql() for a in AGGREGATES
    )
    start = "CAST(floor(ts / 60) * 60 AS BIGINT)"
    found = connection.execute(f"SELECT {start}, {start} + 60, k, {items} FROM s GROUP BY ALL").fetchall()
    expected = in_columns(answer(query).rows, query.columns)
    assert len(expected) > 60
    assert_same_bag(found, expected, query.columns)
