"""Whatever is typed, the answer is a statement or an error that points into a line of the text; never anything else."""

# ruff: noqa: E501  # tables of queries read best with one query to a line
from __future__ import annotations

import random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jupyter_stream.binding import bind_derived, bind_query, bind_stream
from jupyter_stream.errors import QueryError
from jupyter_stream.plan.catalog import Catalog
from jupyter_stream.syntax import CreateStream, CreateStreamAs, Select, parse
from tests.tiers import examples

GOOD = (
    "SELECT srcIP, count(*) [RANGE 10 minutes, SLIDE 1 minute, WA ts]\nFROM M\nGROUP BY srcIP",
    "SELECT window_end AS e, srcIP,\n  avg(len) / 2 AS a, sum(len) FILTER (WHERE len > 3)\nFROM M [RANGE 1 MINUTE SLIDE 5 SECONDS]\n"
    "WHERE srcIP IN ('a', 'b') AND NOT len BETWEEN 1 AND 3 OR ts IS NULL\nGROUP BY 2 HAVING a > 3 EMIT EVERY 5 SECONDS",
    "SELECT CASE WHEN len > 1 THEN 'x' ELSE srcIP END AS c, CAST(len AS DOUBLE), len::INT, -len % 3 FROM (SELECT * FROM M1 UNION ALL\n"
    "SELECT * FROM M) AS x WHERE x.len = :p AND ts > TIMESTAMP '2024-01-01' + INTERVAL '1' DAY",
    "CREATE STREAM x (a INT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS)\nSOURCE 'frame://df' WITH (slack = '3 rows', n = 4)",
    "SELECT count(*) FROM (M ∪ (M1 ∪ Main)) [RANGE ALL SLIDE {{ s }} ORIGIN '2024-01-01'] WHERE srcIP = “x” -- note\n; SHOW STREAMS;",
    "WITH b AS (SELECT item FROM bids) SELECT max(item) OVER (PARTITION BY item ROWS 3 PRECEDING SLIDE 2) FROM b",
    "CREATE STREAM d (k, n) AS SELECT symbol, count(DISTINCT size) FROM trades [RANGE 5 SECONDS TUMBLING] GROUP BY symbol",
    "EXPLAIN SELECT page.url, tags[0] FROM clicks ON SPARK; DESCRIBE late(M); DROP STREAM IF EXISTS x",
    "SELECT TUMBLE, window.start FROM HOP(TABLE M, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '2' MINUTES) GROUP BY window(ts, '1 minute')",
)  # fmt: skip
SCRAPS = (
    "(", ")", "[", "]", "{", "}", "{{", "}}", ",", ";", "'", '"', "`", "“", "’", ".", "*", "=", "<", "-", "--", "/*", "*/", "::", ":", "?", "$",
    "SELECT", "FROM", "WHERE", "GROUP", "BY", "HAVING", "UNION", "ALL", "AS", "RANGE", "SLIDE", "ROWS", "OVER", "INTERVAL", "CASE",
    "END", "NOT", "IN", "BETWEEN", "AND", "NULL", "DISTINCT", "EMIT", "WITH", "0", "1", "1.5", "9999999999999999999999", "1e999", "x", "ts",
    "count", "MINUTES", "\n", "\t", "é", "\\", "∪", "≤", "0x1", "r'", "^", "~", "!", "%", "JOIN", "ORDER", "LIMIT", "FILTER", "TUMBLING",
    "\x00", "\r\n", "\u2028", "\N{NO-BREAK SPACE}", "\N{PILE OF POO}", "IS", "LIKE", "ESCAPE", "EXISTS", "ON", "NOW", "SESSION", "{#", "#}", "@", "#",
)  # fmt: skip


def _answer(text: str, catalog: Catalog, open_source: object) -> None:
    try:
        for statement in parse(text, {"p": 3, "s": "5 seconds"}):
            if isinstance(statement, Select):
                bind_query(statement, catalog)
            elif isinstance(statement, CreateStreamAs):
                bind_derived(statement, catalog)
            elif isinstance(statement, CreateStream):
                bind_stream(statement, open_source)  # type: ignore[arg-type]
    except QueryError as error:
        assert error.line is not None and error.column is not None and error.snippet is not None, text
        lines = text.split("\n")
        assert 1 <= error.line <= len(lines), (text, error)
        line = lines[error.line - 1].rstrip("\r").replace("\t", " ")
        assert error.snippet == line, (text, error)
        assert 1 <= error.column <= max(1, len(line)), (text, error)
        assert error.column - 1 + error.width <= max(1, len(line)), (text, error)
        assert "sqlglot" not in str(error) and "<class" not in str(error), error


@given(st.integers(0, 2**32), st.integers(1, 4))
@settings(max_examples=examples(600), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_spoilt_statement_gives_an_error_inside_its_line(
    catalog: Catalog, source_opener: object, seed: int, times: int
) -> None:
    pick = random.Random(seed)
    text = pick.choice(GOOD)
    for _ in range(times):
        at, end = sorted(pick.randrange(len(text) + 1) for _ in range(2))
        kind = pick.randrange(4)
        if kind == 0:
            text = text[:at] + pick.choice(SCRAPS) + text[at:]
        elif kind == 1:
            text = text[:at] + text[min(end, at + 8) :]
        elif kind == 2:
            words = text.split(" ")
            spot = pick.randrange(len(words))
            words[spot] = pick.choice(SCRAPS)
            text = " ".join(words)
        else:
            text = text[:at] if pick.random() < 0.5 else text[at:]
    _answer(text, catalog, source_opener)


@given(st.lists(st.sampled_from(SCRAPS), max_size=14).map(" ".join))
@settings(max_examples=examples(400), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_scraps_of_sql_give_an_error_inside_their_line(catalog: Catalog, source_opener: object, text: str) -> None:
    _answer(text, catalog, source_opener)
