"""By what rows of a query in the kernel's operators are spread over Spark: what they are equal in, and nothing else."""

from __future__ import annotations

import polars as pl
import pytest

from jupyter_stream.session.dry_run import queries_in
from jupyter_stream.session.session import Session
from jupyter_stream.spark.expressions import sql
from jupyter_stream.spark.inside import partition

DECLARED = """CREATE STREAM s (k STRING, n INT, x DOUBLE, ts TIMESTAMP) ORDER BY ts SOURCE 'frame://rows';
CREATE STREAM t (k STRING, n BIGINT, x DOUBLE, ts TIMESTAMP) ORDER BY ts SOURCE 'frame://rows';
CREATE RETROACTIVE TABLE names (k STRING, name STRING);
"""
SPREAD = {
    "SELECT k, avg(n) OVER (PARTITION BY k ROWS 3 PRECEDING) AS a FROM s": [["`k`"]],
    "SELECT k, count(*) AS c FROM s [RANGE 5 SECONDS] GROUP BY k": [["`k`"]],
    "SELECT k, count(*) AS c FROM s [SESSION 5 SECONDS] GROUP BY k": [["`k`"]],
    "SELECT n, count(*) AS c FROM s [SESSION 5 SECONDS PARTITION BY k] GROUP BY n": [["`k`"]],
    "SELECT s.k FROM s [RANGE UNBOUNDED] LEFT JOIN t [RANGE UNBOUNDED] ON s.n = t.n": [
        ["CAST(`n` AS BIGINT)"],
        ["`n`"],
    ],
    "SELECT DISTINCT k, n, x FROM s [RANGE 5 SECONDS]": [["`k`", "`n`"]],
    "SELECT k, n FROM s [RANGE 5 SECONDS] EXCEPT ALL ON (k) SELECT k FROM t [RANGE 5 SECONDS]": [["`k`"], ["`k`"]],
    "SELECT s.n, t.n AS m FROM s [RANGE UNBOUNDED] LEFT JOIN t [RANGE UNBOUNDED] ON s.k = t.k AND s.x = t.x": [
        ["`k`"],
        ["`k`"],
    ],
    "SELECT s.n, name FROM s [RANGE 1 MINUTE] LEFT JOIN names ON s.k = names.k": [["`n`"]],
    "SELECT a.n FROM s a [RANGE UNBOUNDED] LEFT JOIN s b [RANGE UNBOUNDED] ON a.k = b.k": [["`k`"]],
}
WHOLE = {
    "all extents end together": "SELECT k, count(*) AS c FROM s [RANGE ALL SLIDE 2 SECONDS] GROUP BY k",
    "two zeros": "SELECT DISTINCT x FROM s [RANGE 5 SECONDS]",
    "a row wanted at two places": "SELECT a.k FROM s a [RANGE UNBOUNDED] LEFT JOIN s b [RANGE UNBOUNDED] ON a.k = b.k || 'x'",
    "all rows at each change": "SELECT RSTREAM DISTINCT k FROM s [RANGE 5 SECONDS]",
    "a value that can't be computed for a row": "SELECT n % 0 AS m, count(*) AS c FROM s [RANGE 5 SECONDS] GROUP BY n % 0",
    "equal rows of a table alone": "SELECT name FROM s [RANGE 1 MINUTE] JOIN names ON s.k = names.k",
    "no key": "SELECT count(*) AS c FROM s [RANGE 5 SECONDS]",
    "promises in turn": "SELECT k, count(*) AS c FROM s [RANGE 5 SECONDS TUMBLING] GROUP BY k EMIT EVERY 1 SECOND",
    "the first of all": "SELECT k, count(*) AS c FROM s [RANGE 5 SECONDS] GROUP BY k ORDER BY c DESC LIMIT 3",
}


def spread(text: str) -> list[list[str]]:
    with Session() as session:
        session.namespace["rows"] = pl.DataFrame(
            {"k": ["a"], "n": [1], "x": [0.5], "ts": [0]}, schema_overrides={"ts": pl.Datetime("us")}
        )
        asked = queries_in(session, DECLARED + text)
        return [[sql(e) for e in by] for by in partition(asked[-1].query)]


@pytest.mark.parametrize("text", SPREAD)
def test_rows_that_are_taken_together_are_at_one_place(text: str) -> None:
    assert spread(text) == SPREAD[text]


@pytest.mark.parametrize("why", WHOLE)
def test_one_place_sees_all_rows_where_it_has_to(why: str) -> None:
    assert spread(WHOLE[why]) == []
