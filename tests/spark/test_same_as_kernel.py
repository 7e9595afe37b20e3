"""One query on both engines, over rows that come in disorder: the same answers in the same types, late rows and errors."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from jupyter_stream.session.session import Session
from tests.oracle.compare import assert_same_bag, plain_rows
from tests.spark.conftest import allow_batch_jobs
from tests.tiers import only, slow
from tests.waiting import PATIENCE

START = dt.datetime(2024, 5, 1, 12)
DECLARED = """CREATE STREAM s (k STRING, n INT, x DOUBLE, b BIGINT, ok BOOLEAN, d DATE, ts TIMESTAMP, other TIMESTAMP,
                WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS) SOURCE 'frame://rows';"""


def rows(count: int, seed: int) -> pl.DataFrame:
    """Rows up to 12 seconds late, with NULLs and equal times."""
    draw = random.Random(seed)
    made = []
    for i in range(count):
        late = draw.choice([0, 0, 0, 1, 3, 4, 9, 12])
        ts = START + dt.timedelta(milliseconds=i * 400 - late * 1000 + draw.choice([0, 0, 100]))
        made.append(
            {
                "k": draw.choice(["a", "b", None]),
                "n": draw.choice([None, 0, 1, 2, 3, 40]),
                "x": draw.choice([None, 0.5, 1.25, -3.0, 1e6]),
                "b": draw.choice([None, 2**62, -(2**62), 5]),
                "ok": draw.choice([True, False, None]),
                "d": draw.choice([None, dt.date(2024, 1, 1), dt.date(1969, 2, 3)]),
                "ts": ts,
                "other": draw.choice([ts, ts + dt.timedelta(seconds=7)]),
            }
        )
    types = {"n": pl.Int32, "ts": pl.Datetime("us"), "other": pl.Datetime("us"), "d": pl.Date}
    return pl.DataFrame(made, schema_overrides=types)


ROWS = rows(150, 7)
IN_ORDER = ROWS.sort("ts")
GAP = pl.concat([ROWS, ROWS.with_columns(pl.col("ts", "other") + dt.timedelta(minutes=3))])

QUERIES = {
    "every aggregate": """SELECT k,
        count(*) AS c, count(n) AS cn, sum(n) AS sn,
        avg(x) AS ax, min(d) AS mind, max(ts) AS maxt,
        sum(x) AS sx,
        bool_and(ok) AS every_ok, bool_or(ok) AS any_ok, count_if(n > 1) AS many, var_samp(x) AS v, stddev_pop(n) AS sd
        FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS] GROUP BY k""",
    "holistic aggregates": """SELECT k, median(x) AS m, quantile(n, 0.3) AS q, mode(n) AS o, count(DISTINCT n) AS dn,
        sum(DISTINCT n) AS sdn, avg(DISTINCT x) AS adx
        FROM s [RANGE 10 SECONDS TUMBLING] GROUP BY k""",
    "aggregates by arrival": """SELECT first(x) AS f, last(x) AS l, arg_min(k, n) AS mi, arg_max(k, n) AS ma,
        collect_list(n) AS li, string_agg(k, '-') AS st FROM s [RANGE 8 SECONDS SLIDE 4 SECONDS] GROUP BY ok""",
    "lists of NULLs": """SELECT k, collect_list(n) FILTER (WHERE n > 2) AS li, collect_list(CASE WHEN n > 9 THEN n END) AS none
        FROM s [RANGE 4 SECONDS TUMBLING] GROUP BY k""",
    "aggregates of DECIMALs": """SELECT k, sum(p) AS s, avg(p) AS a, min(p) AS mi, max(p) AS ma, median(p) AS me,
        mode(p) AS mo, first(p) AS f, collect_list(p) AS li, count(DISTINCT p) AS dn, sum(DISTINCT p) AS ds,
        avg(DISTINCT p) AS da, var_pop(p) AS v, sum(w) AS sw
        FROM (SELECT k, CAST(x / n AS DECIMAL(10,3)) AS p, CAST(x AS DECIMAL(30,4)) AS w FROM s)
            [RANGE 10 SECONDS SLIDE 5 SECONDS] GROUP BY k""",
    "ungrouped, with empty extents": """SELECT count(*) AS n, sum(x) AS x, count(DISTINCT k) AS k, window_id
        FROM s [RANGE 10 SECONDS TUMBLING] WHERE n > 1""",
    "HAVING over empty extents": "SELECT count(*) AS c FROM s [RANGE 10 SECONDS TUMBLING] HAVING c = 0",
    "sums beyond BIGINT": "SELECT k, sum(b) AS b FROM s [RANGE 6 SECONDS SLIDE 2 SECONDS] GROUP BY k",
    "rows that fail": """SELECT k, sum(100 / n) AS part, count(*) AS c FROM s [RANGE 10 SECONDS TUMBLING]
        WHERE x IS NOT NULL GROUP BY k""",
    "answers that fail": "SELECT k, 1 / (sum(n) - 3) AS r FROM s [RANGE 2 SECONDS TUMBLING] GROUP BY k",
    "range over slide": "SELECT k, count(*) AS c FROM s [RANGE 7 SECONDS SLIDE 3 SECONDS] GROUP BY k HAVING count(*) > 1",
    "slide over range": """SELECT k, count(*) AS c
        FROM s [RANGE 2 SECONDS SLIDE 5 SECONDS ORIGIN TIMESTAMP '2024-01-01 00:00:01'] GROUP BY k""",
    "extents that start at multiples": """SELECT k, count(*) AS c
        FROM HOP(s, ts, INTERVAL 3 SECONDS, INTERVAL 7 SECONDS) GROUP BY k""",
    "on another column": "SELECT k, max(x) AS x FROM s [RANGE 10 SECONDS TUMBLING ON other] GROUP BY k",
    "windows over windows": """SELECT max(c) AS c, sum(sn) AS sn FROM (SELECT k, count(*) AS c, sum(n) AS sn
        FROM s [RANGE 4 SECONDS SLIDE 2 SECONDS] GROUP BY k) AS w [RANGE 20 SECONDS TUMBLING] GROUP BY k""",
    "union": """SELECT k, count(*) AS c FROM (SELECT k, x FROM s WHERE n > 1 UNION ALL SELECT upper(k), x FROM s WHERE ok)
        [RANGE 10 SECONDS TUMBLING] GROUP BY k""",
    "sliding join": """SELECT a.k, a.n, b.x, a.ts, b.ts AS tb FROM s a [RANGE 2 SECONDS] JOIN s b [RANGE 4 SECONDS]
        ON a.n = b.n WHERE a.ok AND a.x < b.x""",
    "tumbling join": """SELECT a.k, b.k AS other, a.n + b.n AS n FROM s a, s b [RANGE TUMBLING 3 SECONDS]
        WHERE a.n = b.n AND a.ts < b.ts""",
    "full join": """SELECT a.k, a.n, b.x, a.ts FROM (SELECT * FROM s WHERE n > 1) a [RANGE 2 SECONDS]
        FULL JOIN (SELECT * FROM s WHERE ok) b [RANGE 3 SECONDS] ON a.k = b.k AND a.x >= b.x""",
    "rows without partner": """SELECT k, n, ts FROM s a [RANGE 1 SECOND]
        ANTI JOIN s b [RANGE 2 SECONDS] ON a.n = b.n AND a.ts <> b.ts""",
    "rows with a partner": """SELECT k, n, ts FROM s a [RANGE 1 SECOND]
        SEMI JOIN s b [RANGE 2 SECONDS] ON a.n = b.n AND a.ts <> b.ts""",
    "join of three": """SELECT a.n, b.x, c.d, a.ts FROM s a [RANGE 2 SECONDS] JOIN s b [RANGE 1 SECOND] ON a.n = b.n
        JOIN s c [RANGE 3 SECONDS] ON b.x = c.x WHERE a.ok""",
    "join without equality": "SELECT a.n, b.x FROM s a [RANGE 400 MILLISECONDS] JOIN s b [RANGE 300 MILLISECONDS] ON a.x < b.x",
    "window over a join": """SELECT ka, count(*) AS c, max(x) AS x FROM (SELECT a.k AS ka, b.x
        FROM s a, s b [RANGE TUMBLING 3 SECONDS] WHERE a.n = b.n) [RANGE 10 SECONDS TUMBLING] GROUP BY ka""",
    "window over a left join": """SELECT n, count(*) AS c, count(x) AS x FROM (SELECT a.n, b.x FROM s a [RANGE 1 SECOND]
        LEFT JOIN s b [RANGE 1 SECOND] ON a.n = b.n AND a.ts <> b.ts) [RANGE 10 SECONDS SLIDE 5 SECONDS] GROUP BY n""",
    "no window": "SELECT k, n * 2 AS n, 10 / n AS ten, ts, row_num, d FROM s WHERE ok",
    "an expression as group": """SELECT n % 2 AS odd, count(*) FILTER (WHERE x > 0) AS c
        FROM s [RANGE 10 SECONDS TUMBLING] GROUP BY n % 2""",
}  # fmt: skip


def both(sessions: Callable[..., Session], text: str, **names: object) -> tuple[Any, Any]:
    """The handles of a query in the kernel and on Spark, ended."""
    session = sessions(**names)
    *declarations, query = [t for t in text.split(";") if t.strip()]
    session.run(";".join(declarations))
    handles: list[Any] = [session.run(query, engine=engine)[-1] for engine in ("kernel", "spark")]
    kernel, spark = handles
    for handle in handles:
        assert handle.wait(PATIENCE), "it doesn't end"
    if spark._pipeline._job.brief and not spark._pipeline._job._tables:
        with pytest.MonkeyPatch.context() as patch:
            allow_batch_jobs(patch)
            at_once: Any = session.run(query, engine="spark")[-1]
            assert at_once.wait(PATIENCE), "its batch job doesn't end"
            assert at_once._pipeline._job.streaming is None
        assert_same(kernel, at_once)
    return kernel, spark


def assert_same(kernel: Any, spark: Any) -> None:
    expected, found = kernel.to_polars(), spark.to_polars()
    assert found.schema == expected.schema
    assert_same_bag(plain_rows(found.select(_plain(found))), plain_rows(expected.select(_plain(found))), found.columns)
    assert_same_bag(plain_rows(spark.late.select(_plain(spark.late))), plain_rows(kernel.late.select(_plain(spark.late))),
                    spark.late.columns, "late rows")  # fmt: skip
    assert sorted(spark.errors.rows()) == sorted(kernel.errors.rows())


def _plain(frame: pl.DataFrame) -> list[pl.Expr]:
    return [pl.col(n).cast(pl.Int32) if t == pl.Date else pl.col(n) for n, t in frame.schema.items()]


@pytest.mark.parametrize("name", only(QUERIES, "every aggregate", "rows that fail"))
def test_same_answers_types_late_rows_and_errors(name: str, sessions: Callable[..., Session]) -> None:
    # in a union, what is late in the kernel depends on what the other input has said
    given = GAP if "empty" in name else IN_ORDER if name == "union" else ROWS
    kernel, spark = both(sessions, DECLARED + QUERIES[name], rows=given)
    assert kernel.to_polars().height > 2
    assert_same(kernel, spark)


EMITTED = {
    "every, by key": """SELECT k, count(*) AS c, sum(n) AS n FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS] GROUP BY k
        EMIT EVERY 2 SECONDS""",
    "every, ungrouped": "SELECT count(*) AS c, max(x) AS x FROM s [RANGE 10 SECONDS TUMBLING] WHERE n > 1 EMIT EVERY 3 SECONDS",
    "every, over windows": """SELECT max(c) AS c FROM (SELECT k, count(*) AS c FROM s [RANGE 4 SECONDS TUMBLING] GROUP BY k)
        [RANGE 20 SECONDS TUMBLING] EMIT EVERY 8 SECONDS""",
    "changes": "SELECT k, count(*) AS c FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS] GROUP BY k EMIT CHANGES",
    "changes, windows of rows": "SELECT k, sum(n) AS n FROM s [ROWS 20 SLIDE 7] GROUP BY k EMIT CHANGES",
}  # fmt: skip


@pytest.mark.parametrize("name", only(EMITTED, "changes"))
def test_provisional_answers_are_those_of_the_kernel(name: str, sessions: Callable[..., Session]) -> None:
    kernel, spark = both(sessions, DECLARED + EMITTED[name], rows=ROWS)
    assert_same(kernel, spark)
    expected, found = kernel.changes(), spark.changes()
    assert not expected["is_final"].all() and found.columns == expected.columns
    assert_same_bag(plain_rows(found), plain_rows(expected), found.columns)


KEYED = """CREATE STREAM s (k STRING, n INT, ts TIMESTAMP, said TIMESTAMP) ORDER BY ts SOURCE 'frame://rows'
    WITH (punctuation = 'said', punctuation_key = 'k');"""


@slow
@pytest.mark.parametrize(
    "text",
    [
        "SELECT k, count(*) AS c, sum(n) AS n FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS] GROUP BY k",
        "SELECT k, count(*) AS c FROM s [SESSION 3 SECONDS] GROUP BY k",
        "SELECT k, n, ts FROM s WHERE n > 1",
        "SELECT n, count(*) AS c FROM s [RANGE 10 SECONDS TUMBLING] GROUP BY n",
    ],
)
def test_promises_for_single_keys_are_heard_inside_spark(text: str, sessions: Callable[..., Session]) -> None:
    """In the middle of a batch, for keys and for all, with rows that break them."""
    draw = random.Random(3)
    made: list[dict[str, object]] = [{"k": "a", "said": START - dt.timedelta(seconds=5)}]
    for i in range(300):
        ts = START + dt.timedelta(milliseconds=400 * i)
        if i % 20 == 0:
            made.append({"k": draw.choice("abc") if i % 60 else None, "said": ts - dt.timedelta(seconds=4)})
        late = draw.choice([0, 0, 1, 2, 9])
        made.append({"k": draw.choice("abc"), "n": draw.choice([1, 2, 3]), "ts": ts - dt.timedelta(seconds=late)})
    types = {"k": pl.String, "n": pl.Int32, "ts": pl.Datetime("us"), "said": pl.Datetime("us")}
    kernel, spark = both(sessions, KEYED + text, rows=pl.DataFrame(made, schema=types))
    assert kernel.to_polars().height > 10
    assert_same(kernel, spark)


OURS = {
    "OVER, sums beyond BIGINT": "SELECT k, sum(b) OVER (PARTITION BY k ROWS 2 PRECEDING) AS t, 10 / n AS ten FROM s",
    "sessions and a relation of DECIMALs": """SELECT p, count(*) AS c, sum(p) AS s
        FROM (SELECT k, sum(CAST(x / 3 AS DECIMAL(10,2))) AS p FROM s [SESSION 2 SECONDS] GROUP BY k) GROUP BY p""",
    "expirations": "SELECT k, count(*) OVER (PARTITION BY k RANGE 2 SECONDS PRECEDING ACTIVE EXPIRATION) AS c, ts FROM s",
    "windows of rows": "SELECT k, count(*) AS c, sum(n) AS n FROM s [ROWS 20 SLIDE 10] GROUP BY k",
    "partitioned windows of rows": """SELECT k, max(x) AS x, last(n) AS n, window_start, window_end
        FROM s [PARTITION BY k ROWS 10 SLIDE 3 WHERE 10 / n > 0] GROUP BY k""",
    "extents that grow, on another column": """SELECT k, count(*) AS c, window_start, window_end
        FROM s [RANGE 20 SECONDS SLIDE 5 SECONDS CUMULATE ON other] GROUP BY k""",
    "sessions on another column": "SELECT k, count(*) AS c, sum(n) AS n FROM s [SESSION 2 SECONDS ON other] GROUP BY k",
    "slide-by-tuple by rank": "SELECT k, sum(100 / n) AS p FROM s [RANGE 5 SECONDS SLIDE 4 ROWS BY RANK] GROUP BY k",
    "landmark, ungrouped": "SELECT count(*) AS c, window_end FROM s [RANGE ALL SLIDE 2 SECONDS]",
    "the most frequent": "SELECT approx_top_k(n, 2) AS top, count(*) AS c FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS]",
    "a relation": "SELECT n, count(*) AS c, max(x) AS x FROM s [RANGE 8 SECONDS] GROUP BY n",
    "equal rows": "SELECT DSTREAM DISTINCT k, n FROM s [RANGE 3 SECONDS]",
    "a difference by some columns": """SELECT k, n, ts FROM s [RANGE 2 SECONDS] WHERE n < 3
        EXCEPT ALL ON (k) SELECT k FROM s [RANGE 1 SECOND] WHERE n = 3""",
    "an outer join without bounds, by a column": """SELECT a.k, a.n, w.n AS m FROM s a [RANGE 1 SECOND] LEFT JOIN
        (SELECT n, k FROM s WHERE n = 1) w [RANGE UNBOUNDED] ON a.k = w.k AND a.n > w.n""",
    "an outer join without bounds": """SELECT a.k, a.n, w.c FROM s a [RANGE 1 SECOND] LEFT JOIN
        (SELECT n, count(*) AS c FROM s [RANGE 4 SECONDS TUMBLING] GROUP BY n) w [RANGE 2 SECONDS] ON a.n = w.n""",
}  # fmt: skip


@pytest.mark.parametrize("name", only(OURS, "OVER, sums beyond BIGINT"))
def test_our_operators_give_the_same_inside_spark(name: str, sessions: Callable[..., Session]) -> None:
    kernel, spark = both(sessions, DECLARED + OURS[name], rows=ROWS)
    assert kernel.to_polars().height > 2
    assert_same(kernel, spark)


TABLE = """CREATE TABLE names (n INT, name STRING, factor INT);
    INSERT INTO names VALUES (1, 'one', 100), (2, 'two', 2000000000), (3, 'three', NULL), (3, 'drei', 0), (NULL, 'none', 1);"""
LOOKUPS = {
    "below a window": "SELECT name, count(*) AS c FROM s [RANGE 10 SECONDS TUMBLING] JOIN names ON s.n = names.n GROUP BY name",
    "left, plain": "SELECT k, s.n, name, ts FROM s LEFT JOIN names ON s.n = names.n AND x > 0",
    "rows without a match": "SELECT k, n FROM s ANTI JOIN names ON s.n = names.n AND ok",
    "rows that fail after it": "SELECT k, s.n * factor AS p, name FROM s JOIN names ON s.n = names.n WHERE 100 / factor > 0",
    "failing in a window": """SELECT k, sum(s.n * factor) AS p FROM s [RANGE 10 SECONDS TUMBLING] JOIN names ON s.n = names.n
        GROUP BY k""",
    "above a window": """SELECT w.n, name, c FROM (SELECT n, count(*) AS c FROM s [RANGE 10 SECONDS TUMBLING] GROUP BY n) w
        LEFT JOIN names ON w.n = names.n""",
    "above empty extents": """SELECT c, name FROM (SELECT count(*) AS c FROM s [RANGE 10 SECONDS TUMBLING]) w
        LEFT JOIN names ON w.c % 4 = names.n""",
    "beside a join": """SELECT a.k, name, b.x FROM s a [RANGE 1 SECOND] JOIN s b [RANGE 1 SECOND] ON a.n = b.n AND a.ts < b.ts
        JOIN names ON a.n = names.n""",
    "in windows of ours": "SELECT name, count(*) AS c FROM s [ROWS 5 SLIDE 1] JOIN names ON s.n = names.n GROUP BY name",
    "above operators of ours": """SELECT k, name, c, 10 / factor AS f
        FROM (SELECT k, n, count(*) OVER (PARTITION BY k ROWS 3 PRECEDING) AS c FROM s) w LEFT JOIN names ON w.n = names.n""",
    "of an aggregate": """SELECT s.n, t.c, t.f FROM s LEFT JOIN
        (SELECT n, count(*) AS c, max(factor) AS f FROM names GROUP BY n) t ON s.n = t.n""",
    "for a value": """SELECT k, n, (SELECT max(factor) FROM names t WHERE t.n = s.n) AS f FROM s
        WHERE n > (SELECT min(n) FROM names)""",
    "for a value of answers": """SELECT n, count(*) AS c, (SELECT count(*) FROM names t WHERE t.n = s.n) AS f
        FROM s [RANGE 10 SECONDS TUMBLING] GROUP BY n HAVING count(*) > (SELECT min(n) FROM names)""",
    "for a value, in windows of ours": """SELECT n, count(*) AS c, (SELECT max(name) FROM names t WHERE t.n = s.n) AS f
        FROM s [ROWS 5 SLIDE 1] WHERE n < (SELECT max(n) FROM names) GROUP BY n""",
    "for a value beside another": """SELECT n, count(*) AS c, (SELECT max(q.n) FROM s q [RANGE 1 MINUTE]) AS m,
        (SELECT count(*) FROM names) AS f FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS] GROUP BY n""",
}  # fmt: skip


@pytest.mark.parametrize("name", only(LOOKUPS, "below a window"))
def test_same_answers_with_a_table(name: str, sessions: Callable[..., Session]) -> None:
    given = GAP if "empty" in name else ROWS
    kernel, spark = both(sessions, DECLARED + TABLE + LOOKUPS[name], rows=given)
    assert kernel.to_polars().height > 2
    assert_same(kernel, spark)


@slow
def test_late_rows_are_the_same_however_the_rows_arrive(sessions: Callable[..., Session]) -> None:
    def arriving() -> Any:
        for start in range(0, ROWS.height, 7):
            yield ROWS[start : start + 7]

    text = DECLARED.replace("frame://rows", "python://arriving") + QUERIES["every aggregate"]
    kernel, spark = both(sessions, text, arriving=arriving)
    assert kernel.late.height > 5
    assert_same(kernel, spark)


@slow
def test_rows_in_order_make_the_same_sessions(sessions: Callable[..., Session]) -> None:
    seconds = [0, 1, 5, 9, 12, 12, 16, 30, 31, 35]  # 1 to 5, 5 to 9 and 12 to 16 are exactly a gap apart
    frame = pl.DataFrame({"k": list("aabaabbaab"), "ts": [START + dt.timedelta(seconds=s) for s in seconds]})
    declared = "CREATE STREAM e (k STRING, ts TIMESTAMP) ORDER BY ts SOURCE 'frame://rows';"
    kernel, spark = both(
        sessions, declared + "SELECT k, count(*) AS n FROM e [SESSION 4 SECONDS] GROUP BY k", rows=frame
    )
    assert_same(kernel, spark)
    kernel, spark = both(sessions, declared + "SELECT count(*) AS n FROM e [SESSION 4 SECONDS]", rows=frame)
    assert kernel.to_polars().height == 6
    assert_same(kernel, spark)


@slow
def test_late_row_of_a_session_goes_to_the_late_stream(sessions: Callable[..., Session]) -> None:
    frame = pl.DataFrame({"ts": [START + dt.timedelta(seconds=s) for s in (0, 60, 1, 61)]})
    declared = "CREATE STREAM e (ts TIMESTAMP) ORDER BY ts SOURCE 'frame://rows';"
    _, spark = both(sessions, declared + "SELECT count(*) AS n FROM e [SESSION 4 SECONDS]", rows=frame)
    assert sorted(spark.to_polars()["n"]) == [1, 2]
    assert spark.late.select("ts", "missed").rows() == [(START + dt.timedelta(seconds=1), 1)]


@slow
def test_late_row_joins_a_session_that_is_still_open(sessions: Callable[..., Session]) -> None:
    frame = pl.DataFrame({"ts": [START + dt.timedelta(seconds=s) for s in (0, 3, 6, 5, 60, 4)]})
    declared = "CREATE STREAM e (ts TIMESTAMP) ORDER BY ts SOURCE 'frame://rows';"
    kernel, spark = both(sessions, declared + "SELECT count(*) AS n FROM e [SESSION 4 SECONDS]", rows=frame)
    assert sorted(kernel.to_polars()["n"]) == [1, 4]
    assert_same(kernel, spark)


@slow
@pytest.mark.parametrize(
    "text",
    [
        "k, count(*) AS c FROM s [RANGE 10 SECONDS TUMBLING] GROUP BY k",
        "count(*) AS c FROM s [RANGE 10 SECONDS TUMBLING]",
        "k, count(*) AS c FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS CUMULATE] GROUP BY k",
        "k, median(n) AS c FROM s [RANGE 10 SECONDS TUMBLING] GROUP BY k",
    ],
    ids=["native", "native, whatever key", "our operators, whatever key", "our operators"],
)
def test_rows_that_break_a_constraint_are_late_on_spark_as_well(text: str, sessions: Callable[..., Session]) -> None:
    declared = DECLARED.replace(") SOURCE", ", CLUSTERED (k) WITHIN 4 ROWS) SOURCE")
    clusters = IN_ORDER.head(60).with_columns(k=pl.Series(list("aaaaabbbbbcccccddddd" * 3)))
    kernel, spark = both(sessions, f"{declared} SELECT {text}", rows=clusters)
    assert kernel.late.height > 2
    assert_same(kernel, spark)


@slow
def test_late_rows_are_a_stream_on_spark_as_well(sessions: Callable[..., Session]) -> None:
    session = sessions(rows=ROWS)
    session.run(DECLARED)
    session.run("SELECT count(*) AS n FROM s [RANGE 10 SECONDS TUMBLING]")[-1].wait(200)  # type: ignore[union-attr]
    text = "SELECT k, count(*) AS n, sum(missed) AS missed FROM late(s) [RANGE 10 SECONDS TUMBLING] GROUP BY k"
    handles: list[Any] = [session.run(text, engine=engine)[-1] for engine in ("kernel", "spark")]
    for handle in handles:
        assert handle.wait(PATIENCE)
    assert handles[0].to_polars().height > 2
    assert_same(*handles)


@slow
@pytest.mark.parametrize(
    "text",
    [
        "SELECT k, count(*) AS c FROM few [RANGE 10 SECONDS TUMBLING] GROUP BY k",
        "SELECT k, sum(m) OVER (PARTITION BY k ROWS 2 PRECEDING) AS t FROM few",
        "SELECT count(*) AS c FROM few [RANGE 5 SECONDS SLIDE 3 ROWS]",
    ],
    ids=["native", "our operators, by partition", "our operators, on one partition"],
)
def test_late_rows_of_a_derived_stream_are_kept_under_its_name(text: str, sessions: Callable[..., Session]) -> None:
    declared = f"{DECLARED} CREATE STREAM few AS SELECT k, n * 2 AS m, ts FROM s WHERE n > 1"
    late = []
    for engine in ("kernel", "spark"):
        session = sessions(rows=ROWS)
        session.run(declared)
        handle: Any = session.run(text, engine=engine)[-1]
        assert handle.wait(PATIENCE)
        late.append({name: session.side_stream("late", name).frame() for name in ("s", "few")})
    for name, expected in late[0].items():
        assert expected.height > 2
        columns = _plain(expected)
        assert_same_bag(
            plain_rows(late[1][name].select(columns)), plain_rows(expected.select(columns)), expected.columns
        )


@slow
def test_times_declared_as_integers_stay_integers(sessions: Callable[..., Session]) -> None:
    frame = pl.DataFrame({"k": [1, 2, 1, 2], "t": [-5_000_000, 0, 3, 12_000_000]})
    declared = "CREATE STREAM e (k INT, t BIGINT) ORDER BY t SOURCE 'frame://rows';"
    kernel, spark = both(
        sessions, declared + "SELECT k, count(*) AS n FROM e [RANGE 10 SECONDS TUMBLING] GROUP BY k", rows=frame
    )
    assert kernel.to_polars()["window_end"].dtype == pl.Int64
    assert_same(kernel, spark)


@slow
def test_synthetic_rows_are_the_same(sessions: Callable[..., Session]) -> None:
    # with times of their own: stamped as they arrive, rows of the two runs would be in different extents
    declared = (
        "CREATE STREAM p (srcIP STRING, len INT, ts TIMESTAMP, WATERMARK FOR ts AS ts) "
        "SOURCE 'generate://packets?rows=20000&seed=3';"
    )
    kernel, spark = both(
        sessions,
        declared + "SELECT srcIP, count(*) AS n, sum(len) AS len FROM p [RANGE 1 SECOND TUMBLING] GROUP BY srcIP",
    )
    assert kernel.to_polars().height > 100
    assert_same(kernel, spark)
