"""Nothing that can be written in a SELECT of a body is dropped: each field of what the parser makes is used or refused."""

# ruff: noqa: E501  # tables of statements read best with one to a line

from __future__ import annotations

from dataclasses import fields
from typing import Any, Final

import polars as pl
import pytest

from jupyter_stream.aggregates.user.sql import SqlProgram
from jupyter_stream.errors import QueryError
from jupyter_stream.syntax import nodes, query_syntax, syntax
from tests.aggregates.test_user_bodies import body, program

INT: Final = pl.Int32()
TABLES: Final = "TABLE t (a INT, b INT); TABLE u (a INT, c INT);"
FILL: Final = "INSERT INTO t VALUES (x, nullif(10 * x % 7, 3)); INSERT INTO u VALUES (x + 1, 100 * x)"
"""t has (1, NULL), (2, 6), (3, 2), and u (2, 100), (3, 200), (4, 300)."""
NESTED: Final = """CREATE AGGREGATE listed (v INT) : STRING { TABLE k (w INT);
    INITIALIZE : ITERATE : { INSERT INTO k VALUES (v); }
    TERMINATE : { INSERT INTO RETURN SELECT string_agg(coalesce(CAST(w AS STRING), '-'), ',') FROM k; } }"""

PLACE: Final = "where it stands, for errors"
MADE: Final = "not written: a rewrite makes it, and not in bodies"

Answer = list[Any] | str
"""Rows, or what is refused."""

SELECTS: Final[dict[type, dict[str, str | list[tuple[str, Answer]]]]] = {
    query_syntax.SelectBody: {
        "select": PLACE,
        "span": PLACE,
        "operator": [("SELECT ISTREAM a FROM t", "tables only, not streams")],
        "distinct": [("SELECT DISTINCT 1 FROM t", [1])],
        "items": [("SELECT a + 1, b FROM t WHERE a = 2", [(3, 6)])],
        "source": [("SELECT a FROM u", [2, 3, 4])],
        "where": [("SELECT a FROM t WHERE b > 3", [2])],
        "group_by": [
            ("SELECT a % 2, count(*) FROM t GROUP BY a % 2", [(1, 2), (0, 1)]),
            ("SELECT count(*), a % 2 FROM t GROUP BY 2", [(2, 1), (1, 0)]),
            ("SELECT a % 2 AS k, count(*) FROM t GROUP BY k", [(1, 2), (0, 1)]),
            ("SELECT a % 2 AS x, count(*) FROM t GROUP BY x", [(1, 2), (0, 1)]),
            ("SELECT b AS a, count(*) FROM t GROUP BY a", "neither grouped nor aggregated"),
            ("SELECT a, count(*) FROM t GROUP BY 3", "no select item number 3"),
            ("SELECT a, count(*) FROM t GROUP BY 2", "an aggregate can't be a grouping column"),
            ("SELECT count(*) AS k FROM t GROUP BY k", "an aggregate can't be a grouping column"),
        ],
        "group_all": [
            ("SELECT a % 2, count(*) FROM t GROUP BY ALL", [(1, 2), (0, 1)]),
            ("SELECT a % 2, count(*) FROM t GROUP BY ALL ORDER BY 1 LIMIT 1", [(0, 1)]),
            ("SELECT sum(a), 7 FROM t WHERE a > 5 GROUP BY ALL", [(None, 7)]),
            ("SELECT sum(b) + a FROM t GROUP BY ALL", "neither grouped nor aggregated"),
        ],
        "grouping_sets": [
            ("SELECT a, sum(b) FROM t GROUP BY ROLLUP (a)", "ROLLUP, CUBE and GROUPING SETS"),
            ("SELECT a, sum(b) FROM t GROUP BY CUBE (a)", "ROLLUP, CUBE and GROUPING SETS"),
            ("SELECT a, sum(b) FROM t GROUP BY GROUPING SETS ((a), ())", "ROLLUP, CUBE and GROUPING SETS"),
            ("SELECT a, sum(b) FROM t GROUP BY GROUPING SETS ((a))", [(1, None), (2, 6), (3, 2)]),
            ("SELECT sum(b), 1 FROM t GROUP BY () ORDER BY 1", [(8, 1)]),
        ],
        "having": [
            ("SELECT a % 2, count(*) FROM t GROUP BY a % 2 HAVING count(*) > 1", [(1, 2)]),
            ("SELECT a % 2 AS k, count(*) AS n FROM t GROUP BY k HAVING n > 1 AND k = 1", [(1, 2)]),
            ("SELECT a % 2, sum(a) + 1 AS n FROM t GROUP BY 1 HAVING n * 2 > 8", [(1, 5)]),
            ("SELECT a % 2, count(*) AS x FROM t GROUP BY 1 HAVING x > 1", [(1, 2), (0, 1)]),  # x is a parameter
            ("SELECT a % 2 AS k, count(*) AS n FROM t GROUP BY k HAVING m > 1", "no column called m"),
        ],
        "order": [("SELECT a FROM t ORDER BY b DESC", [2, 3, 1])],
        "qualify": [("SELECT a FROM t QUALIFY row_number() OVER (ORDER BY b) = 1", "QUALIFY")],
        "distinct_on": [("SELECT DISTINCT ON (a) a, b FROM t", "DISTINCT ON")],
    },
    query_syntax.SetBody: {
        "kind": [("SELECT a FROM t INTERSECT SELECT a FROM u", [2, 3]), ("SELECT a FROM t EXCEPT SELECT a FROM u", [1])],
        "parts": [("SELECT a FROM t UNION SELECT a FROM u", [1, 2, 3, 4])],
        "all": [("SELECT 1 FROM t UNION SELECT 1 FROM u", [1]), ("SELECT 1 FROM t UNION ALL SELECT 1 FROM u", [1] * 6)],
        "operator": PLACE,
        "span": PLACE,
        "on": [("SELECT a FROM t EXCEPT ALL ON (a) SELECT a FROM u", "EXCEPT ALL ON")],
        "order": [("SELECT a FROM t UNION SELECT a FROM u ORDER BY a DESC LIMIT 2", [4, 3])],
    },
    query_syntax.Ordering: {
        "items": [("SELECT a FROM t ORDER BY a % 2, a DESC", [2, 3, 1])],
        "limit": [("SELECT a FROM t LIMIT 2", [1, 2])],
        "offset": [("SELECT a FROM t OFFSET 2", [3])],
        "span": PLACE,
    },
    query_syntax.OrderItem: {
        "expression": [("SELECT a FROM t ORDER BY -a", [3, 2, 1])],
        "text": PLACE,
        "descending": [("SELECT a FROM t ORDER BY a DESC", [3, 2, 1])],
        "nulls_last": [("SELECT a FROM t ORDER BY b", [1, 3, 2]), ("SELECT a FROM t ORDER BY b NULLS LAST", [3, 2, 1])],
        "span": PLACE,
    },
    query_syntax.SelectItem: {
        "expression": [("SELECT a * 2 FROM t", [2, 4, 6])],
        "alias": [
            ("SELECT q.k FROM (SELECT a AS k FROM t) q ORDER BY k DESC", [3, 2, 1]),
            ("SELECT a * 2 AS k, k + 1 AS m, m * 10 FROM t WHERE a < 3", [(2, 3, 30), (4, 5, 50)]),
            ("SELECT a + 1 AS b, b + 0 AS c FROM t WHERE a = 2", [(3, 6)]),  # b is a column
            ("SELECT a + 1 AS k FROM t WHERE k = 2", "no column called k"),
            ("SELECT count(*) AS n, sum(n) FROM t", "no column called n"),
        ],
        "text": PLACE,
        "span": PLACE,
    },
    nodes.Star: {
        "qualifier": [
            ("SELECT u.* FROM t JOIN u ON t.a = u.a", [(2, 100), (3, 200)]),
            ("SELECT z.* FROM t JOIN u ON t.a = u.a", "z isn't in FROM"),
        ],
        "without": [("SELECT * EXCEPT (a) FROM u", [100, 200, 300]), ("SELECT * EXCEPT (z) FROM u", "no column called z")],
        "span": PLACE,
    },
    query_syntax.StreamRef: {
        "name": [("SELECT a FROM u", [2, 3, 4])],
        "function": [("SELECT a FROM late(t)", "can't read")],
        "window": [("SELECT a FROM t [ROWS 2]", "a window needs a stream")],
        "alias": [("SELECT q.a FROM t AS q, t AS r WHERE q.a < r.a AND r.a = 2", [1])],
        "span": PLACE,
        "sample": [("SELECT a FROM t TABLESAMPLE (10 PERCENT)", "SAMPLE isn't"), ("SELECT a FROM t SAMPLE(1)", "SAMPLE isn't")],
        "columns": [
            ("SELECT b, a FROM t AS q (b, a)", [(1, None), (2, 6), (3, 2)]),
            ("SELECT q.k, b FROM t AS q (k) WHERE k > 1", [(2, 6), (3, 2)]),
            ("SELECT 1 FROM t AS q (i, j, k)", "3 names for 2 columns"),
            ("SELECT 1 FROM t AS q (b)", "two columns are called b"),
        ],
        "as_of": [("SELECT a FROM t FOR SYSTEM_TIME AS OF TIMESTAMP '2024-01-01'", "FOR SYSTEM_TIME")],
    },
    query_syntax.SubqueryRef: {
        "body": [
            ("SELECT a FROM (SELECT a FROM t WHERE a > 1) q", [2, 3]),
            ("WITH q AS (SELECT a FROM t WHERE a > 1), r (k) AS (SELECT max(a) FROM q) SELECT a, k FROM q, r", [(2, 3), (3, 3)]),
            ("SELECT a, (WITH q AS (SELECT max(a) AS m FROM t) SELECT m FROM q) AS m FROM u", [(2, 3), (3, 3), (4, 3)]),
        ],
        "window": [("SELECT a FROM (SELECT a FROM t) [ROWS 2] q", "a window needs a stream")],
        "alias": [("SELECT q.a FROM (SELECT a FROM t) q, u WHERE q.a = u.a", [2, 3])],
        "span": PLACE,
        "sample": [("SELECT a FROM (SELECT a FROM t) q SAMPLE(1)", "SAMPLE isn't")],
        "columns": [("SELECT k, b FROM (SELECT a, b FROM t WHERE b > 2) q (k)", [(2, 6)])],
        "unpacked": [("SELECT * FROM TABLE(listed(1))", "TABLE(...)")],
        "lateral": [("SELECT t.a FROM t, LATERAL (SELECT c FROM u WHERE u.a = t.a) q", "LATERAL")],
        "as_of": [("SELECT a FROM (SELECT a FROM t) FOR SYSTEM_TIME AS OF TIMESTAMP '2024-01-01' q", "FOR SYSTEM_TIME")],
    },
    query_syntax.JoinRef: {
        "kind": [
            ("SELECT t.a, c FROM t LEFT JOIN u ON t.a = u.a", [(1, None), (2, 100), (3, 200)]),
            ("SELECT a FROM t LEFT SEMI JOIN u ON t.a = u.a", "this join isn't"),
            ("SELECT a FROM t LEFT ANTI JOIN u ON t.a = u.a", "this join isn't"),
        ],
        "parts": [("SELECT t.a, u.a AS k FROM t, u WHERE t.a = 1 AND c < 300", [(1, 2), (1, 3)])],
        "on": [("SELECT t.a FROM t JOIN u ON t.a = u.a AND c > 100", [3])],
        "using": [
            ("SELECT a, c FROM t FULL JOIN u USING (a)", [(1, None), (2, 100), (3, 200), (4, 300)]),
            ("SELECT q.* FROM (SELECT * FROM t FULL JOIN u USING (a)) q", [(1, None, None), (2, 6, 100), (3, 2, 200), (4, None, 300)]),
            ("SELECT q.* EXCEPT (b) FROM (SELECT * FROM t JOIN u USING (a) JOIN u AS v (a, d) USING (a)) AS q", [(2, 100, 100), (3, 200, 200)]),
            ("SELECT a, u.c, v.c FROM t FULL JOIN u USING (a) FULL JOIN u AS v USING (a) WHERE a > 3", "two columns of RETURN are called c"),
            ("SELECT a, u.c + v.c FROM t FULL JOIN u USING (a) FULL JOIN u AS v USING (a) WHERE a > 3", [(4, 600)]),
        ],
        "span": PLACE,
        "window": [("SELECT b FROM (t JOIN u USING (a)) [ROWS 2]", "a window needs a stream")],
        "alias": [("SELECT b, c FROM (t JOIN u ON t.a = u.a) AS j", "a join can't have a name")],
        "sample": [("SELECT b FROM (t JOIN u USING (a)) SAMPLE(1)", "SAMPLE isn't")],
        "value": MADE,
        "natural": [("SELECT a, b FROM t NATURAL JOIN u", "this join isn't")],
        "asof": [("SELECT t.a FROM t ASOF JOIN u ON t.a >= u.a", "this join isn't")],
        "columns": [("SELECT b, c FROM (t JOIN u ON t.a = u.a) AS j (a, c, d, b)", "a join can't have a name")],
    },
    nodes.FunctionCall: {
        "name": [("SELECT max(a) FROM t", [3]), ("SELECT zip(a) FILTER (WHERE a > 1) FROM t", "no aggregate called zip")],
        "args": [
            ("SELECT count(*), count(b) FROM t", [(3, 2)]),
            ("SELECT sum(*) FROM t", r"\* can be used with count only"),
            ("SELECT count(DISTINCT *) FROM t", r"\* can be used with count only"),
            ("SELECT listed(*) FROM t", r"\* can be used with count only"),
            ("SELECT listed(a, b) FROM t", "listed takes 1 argument, not 2"),
            ("SELECT quantile(a, 5) FROM t", "q must be between 0 and 1"),
        ],
        "span": PLACE,
        "distinct": [
            ("SELECT sum(DISTINCT a % 2), listed(DISTINCT a % 2) FROM t", [(1, "1,0")]),
            ("SELECT abs(DISTINCT a) FROM t", "abs is not one"),
        ],
        "where": [
            ("SELECT sum(a) FILTER (WHERE a > 1) FROM t", [5]),
            ("SELECT rand() FILTER (WHERE a > 1) FROM t", "go with aggregates only"),
        ],
        "ignore_nulls": [
            ("SELECT first(b) FROM t", [None]),
            ("SELECT first(b) IGNORE NULLS FROM t", [6]),
            ("SELECT first(b) IGNORE NULLS FILTER (WHERE a > 2) FROM t", [2]),
            ("SELECT first(b ORDER BY a DESC) IGNORE NULLS FILTER (WHERE a < 3) FROM t", [6]),
            ("SELECT listed(b) FROM t", ["-,6,2"]),
            ("SELECT listed(b) IGNORE NULLS FROM t", ["6,2"]),
        ],
        "window": [
            ("SELECT sum(a) OVER (ORDER BY a) FROM t", "can't have windows"),
            ("SELECT rank() OVER (ORDER BY a) FROM t", "can't have windows"),
            ("SELECT rand() OVER (ORDER BY a) FROM t", "go with aggregates only"),
        ],
        "order": [
            ("SELECT string_agg(CAST(a AS STRING), ',' ORDER BY b) FROM t", ["1,3,2"]),
            ("SELECT string_agg(CAST(a AS STRING) ORDER BY a DESC) FROM t", ["321"]),
            ("SELECT listagg(CAST(a AS STRING), '-') WITHIN GROUP (ORDER BY b DESC NULLS FIRST) FROM t", ["1-2-3"]),
            ("SELECT array_join(array_agg(CAST(a AS STRING) ORDER BY a % 2, a DESC), ',') FROM t", ["2,3,1"]),
            ("SELECT first(a ORDER BY b DESC), last(a ORDER BY a % 2) FROM t", [(2, 3)]),
            ("SELECT a % 2, string_agg(CAST(a AS STRING), '' ORDER BY a DESC) FROM t GROUP BY a % 2", [(1, "31"), (0, "2")]),
            ("SELECT sum(a ORDER BY b) FROM t", [6]),
            ("SELECT listed(a ORDER BY b) FROM t", "ORDER BY can't stand in it"),
            ("SELECT listed(a) FROM (SELECT a FROM t ORDER BY b) AS q", ["1,3,2"]),
            ("SELECT latest_by_offset(a ORDER BY b) FROM t", "has an order of its own"),
        ],
    },
    nodes.RowNumber: {
        "partition": [("SELECT row_number() OVER (PARTITION BY a ORDER BY b) FROM t", "row numbers aren't")],
        "order": [("SELECT a, row_number() OVER (ORDER BY b) FROM t", "row numbers aren't")],
        "span": PLACE,
    },
    nodes.Subselect: {
        "body": [("SELECT a FROM t WHERE a IN (SELECT a FROM u ORDER BY a LIMIT 1)", [2])],
        "span": PLACE,
    },
}  # fmt: skip
"""Of each field what shows that it counts, or is refused."""

STATEMENTS: Final[dict[type, dict[str, str | list[tuple[str, Answer]]]]] = {
    syntax.BodyInsert: {
        "table": [("INSERT INTO u VALUES (7, 8); INSERT INTO RETURN SELECT c FROM u WHERE a = 7", [8])],
        "columns": [("INSERT INTO u (c, a) VALUES (7, 8); INSERT INTO RETURN SELECT c FROM u WHERE a = 8", [7])],
        "rows": [("INSERT INTO RETURN VALUES (1), (2)", [1, 2])],
        "where": [("INSERT INTO RETURN VALUES (1) WHERE 1 > 2; INSERT INTO RETURN VALUES (2)", [2])],
        "select": [("INSERT INTO RETURN SELECT a FROM t", [1, 2, 3]), ("INSERT INTO RETURN SELECT 7", [7])],
        "span": PLACE,
    },
    syntax.BodyUpdate: {
        "table": [("UPDATE u SET c = 1; INSERT INTO RETURN SELECT sum(c) FROM u", [3])],
        "assignments": [("UPDATE u SET c = a, a = c; INSERT INTO RETURN SELECT a - c FROM u WHERE c = 2", [98])],
        "where": [("UPDATE u SET c = 1 WHERE a > 2; INSERT INTO RETURN SELECT sum(c) FROM u", [102])],
        "span": PLACE,
    },
    syntax.BodyDelete: {
        "table": [("DELETE FROM u; INSERT INTO RETURN SELECT count(*) FROM u", [0])],
        "where": [("DELETE FROM u WHERE a > 2; INSERT INTO RETURN SELECT c FROM u", [100])],
        "span": PLACE,
    },
}  # fmt: skip
"""The same of the statements."""

WRITTEN: Final = SELECTS | STATEMENTS
CASES: Final = [
    (f"INSERT INTO RETURN {text}" if of in SELECTS else text, answer)
    for of, known in WRITTEN.items()
    for cases in known.values()
    if not isinstance(cases, str)
    for text, answer in cases
]


@pytest.mark.parametrize("written", WRITTEN, ids=lambda of: of.__name__)
def test_every_field_of_what_is_written_has_been_thought_of(written: type) -> None:
    assert set(WRITTEN[written]) == {f.name for f in fields(written)}


@pytest.mark.parametrize("item", query_syntax.FromItem.__args__, ids=lambda of: of.__name__)
def test_every_kind_of_from_item_is_read_or_refused(item: type) -> None:
    refused = {
        "UnionRef": ("SELECT a FROM (t UNION u) q", "can't read streams"),
        "RecursiveRef": (
            "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT n FROM r",
            "can't read WITH RECURSIVE",
        ),
        "ItemsRef": ("SELECT v FROM t, UNNEST(array(1)) AS q (v)", r"can't read unnest\(...\)"),
        "MatchRef": ("SELECT a FROM t MATCH_RECOGNIZE (ORDER BY a MEASURES a AS m PATTERN (p) DEFINE p AS a > 1)", "MATCH_RECOGNIZE"),
    }  # fmt: skip
    if item not in SELECTS:
        text, answer = refused[item.__name__]
        check(f"INSERT INTO RETURN {text}", answer)


@pytest.mark.parametrize(("text", "answer"), CASES, ids=[text.removeprefix("INSERT INTO RETURN ") for text, _ in CASES])
def test_it_counts_or_is_refused(text: str, answer: Answer) -> None:
    check(text, answer)


def check(text: str, answer: Answer) -> None:
    declared = body(FILL, text, tables=TABLES)
    if isinstance(answer, str):
        with pytest.raises(QueryError, match=answer) as told:
            program(declared, INT, listed=NESTED)
        assert "^" in str(told.value)
        return
    made = program(declared, INT, listed=NESTED)
    for run in (made, SqlProgram(made.body, compiled=False)):
        rows = [tuple(r.values()) if isinstance(r, dict) else r for r in run.over([(1,), (2,), (3,)])]
        assert rows == answer
