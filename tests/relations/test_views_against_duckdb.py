"""Views over whole streams hold what DuckDB finds in their rows: NULLs, repeated rows, set operations, negations, joins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import duckdb
import polars as pl
import pytest

from jupyter_stream import Query, Session
from tests.tiers import thinned

ROWS = {
    "a": [("x", 1), (None, 2), ("y", None), ("x", 4), (None, 2), ("z", None), ("y", 3), ("x", 1)],
    "b": [("x", 1), ("y", 3), (None, 2), ("w", None), ("x", 4), (None, 2)],
    "c": [("x", 1), ("z", 5), ("q", 7)],
}
FRAMES = {
    name: pl.DataFrame(
        [(*row, ts) for ts, row in enumerate(rows, 1)], {"k": pl.String, "n": pl.Int64, "ts": pl.Int64}, orient="row"
    )
    for name, rows in ROWS.items()
}
QUERIES = (
    "SELECT k, n FROM a {U} EXCEPT ALL SELECT k, n FROM b {U}",
    "SELECT k, n FROM a {U} EXCEPT SELECT k, n FROM b {U}",
    "SELECT k, n FROM a {U} INTERSECT SELECT k, n FROM b {U}",
    "SELECT k, n FROM a {U} INTERSECT ALL SELECT k, n FROM b {U}",
    "SELECT k, n FROM a {U} UNION SELECT k, n FROM b {U}",
    "SELECT k, count(*) AS c, sum(n) AS s, min(n) AS m FROM a {U} GROUP BY k HAVING count(*) > 1",
    "SELECT k, n FROM a {U} WHERE n NOT IN (SELECT n FROM b {U})",
    "SELECT k, n FROM a {U} WHERE n NOT IN (SELECT n FROM c {U})",
    "SELECT k, n FROM a {U} WHERE k IN (SELECT k FROM b {U})",
    "SELECT k, n FROM a {U} WHERE NOT EXISTS (SELECT 1 FROM b {U} WHERE b.k = a.k)",
    "SELECT k, n FROM a {U} WHERE EXISTS (SELECT 1 FROM b {U} WHERE b.n = a.n)",
    "SELECT DISTINCT k FROM a {U}",
    "SELECT DISTINCT n FROM a {U} WHERE n > 1",
    "SELECT a.k, b.n FROM a {U} JOIN b {U} ON a.k = b.k",
    "SELECT a.k, b.n FROM a {U} LEFT JOIN b {U} ON a.k = b.k AND a.n < b.n",
    "SELECT a.k AS k, b.k AS j FROM a {U} FULL JOIN b {U} ON a.n = b.n",
    "SELECT count(*) AS c, count(n) AS d, sum(n) AS s, avg(n) AS v FROM a {U}",
    "SELECT count(DISTINCT k) AS c FROM a {U}",
    "SELECT k, max(n) AS m FROM a {U} WHERE n IS NOT NULL GROUP BY k",
    "SELECT k, c FROM (SELECT k, count(*) AS c FROM a {U} GROUP BY k) x WHERE c > 1",
    "SELECT c, count(*) AS d FROM (SELECT k, count(*) AS c FROM a {U} GROUP BY k) x GROUP BY c",
    "SELECT x.k, y.s FROM (SELECT k, count(*) AS c FROM a {U} GROUP BY k) x JOIN (SELECT k, sum(n) AS s"
    " FROM b {U} GROUP BY k) y ON x.k = y.k",
    "SELECT k, n FROM (SELECT k, n, ROW_NUMBER() OVER (PARTITION BY k ORDER BY n DESC NULLS LAST, ts) AS"
    " r FROM a {U}) x WHERE r <= 1",
    "SELECT k FROM a {U} UNION ALL SELECT k FROM b {U} UNION ALL SELECT k FROM c {U}",
    "(SELECT k FROM a {U} UNION SELECT k FROM b {U}) EXCEPT SELECT k FROM c {U}",
    "SELECT k FROM a {U} EXCEPT ALL SELECT k FROM b {U} EXCEPT ALL SELECT k FROM c {U}",
    "SELECT k, n FROM a {U} WHERE n NOT IN (SELECT n FROM b {U} WHERE k = 'nobody')",
    "SELECT coalesce(k,'-') AS k, sum(coalesce(n,0)) AS s FROM a {U} GROUP BY coalesce(k,'-')",
    "SELECT n % 2 AS p, count(*) AS c FROM a {U} GROUP BY n % 2",
    "SELECT k, count(*) FILTER (WHERE n > 1) AS c FROM a {U} GROUP BY k",
    "SELECT a.k FROM a {U} LEFT ANTI JOIN b {U} ON a.k = b.k",
    "SELECT a.k FROM a {U} LEFT SEMI JOIN b {U} ON a.k = b.k",
    "SELECT sum(n) AS s FROM a {U} HAVING count(*) > 100",
    "SELECT k, n FROM a {U} LIMIT 0",
    "SELECT DISTINCT k, n % 2 AS p FROM a {U} ORDER BY p NULLS LAST, k NULLS LAST LIMIT 3",
    "SELECT a.k, c.n FROM a {U}, b {U}, c {U} WHERE a.k = b.k AND b.k = c.k",
    "SELECT x.k FROM ((SELECT a.k FROM a {U} JOIN b {U} ON a.k=b.k) UNION ALL (SELECT k FROM c {U})) x",
    "SELECT x.k, count(*) AS c FROM ((SELECT a.k FROM a {U} LEFT JOIN b {U} ON a.k=b.k) UNION ALL"
    " (SELECT k FROM c {U})) x GROUP BY x.k",
    "SELECT k, avg(n) AS v FROM a {U} GROUP BY k HAVING avg(n) IS NULL",
    "SELECT k, n FROM a {U} WHERE k NOT IN (SELECT k FROM b {U})",
)
"""`{U}` is the window that keeps all rows; DuckDB has none."""


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with Session(FRAMES) as made:
        for name in FRAMES:
            declared = (
                f"CREATE STREAM {name} (k STRING, n BIGINT, ts BIGINT, WATERMARK FOR ts AS ts) SOURCE 'frame://{name}'"
            )
            made.execute(declared)
        yield made


@pytest.fixture(scope="module")
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as made:
        made.execute("SET default_null_order = 'nulls_first'")
        for name, frame in FRAMES.items():
            made.register(name, frame.to_arrow())
        yield made


@pytest.mark.parametrize("text", thinned(QUERIES))
def test_a_view_of_whole_streams_holds_what_duckdb_answers(
    session: Session, database: duckdb.DuckDBPyConnection, text: str
) -> None:
    (view,) = session.execute("CREATE VIEW v AS " + text.replace("{U}", "[RANGE UNBOUNDED]"))
    assert isinstance(view, Query) and view.wait(200)
    for ours, theirs in (("{U}", ""), ("LEFT ANTI", "ANTI"), ("LEFT SEMI", "SEMI")):
        text = text.replace(ours, theirs)
    assert Counter(view.to_polars().rows()) == Counter(database.execute(text).fetchall())
