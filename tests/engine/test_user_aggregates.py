"""User-defined aggregates in running queries: what they return and when, errors of rows, Python classes."""

# ruff: noqa: E501  # tables of statements read best with one to a line
from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest

import jupyter_stream
from jupyter_stream import Query, QueryError, Session

START = dt.datetime(2024, 1, 1)


def at(second: float) -> dt.datetime:
    return START + dt.timedelta(seconds=second)


ROWS = [("a", 1.0, 1), ("b", 2.0, 3), ("a", 3.0, 2), ("a", 4.0, 12), ("b", 5.0, 14), ("a", 6.0, 25)]
"""Key, value, second; at most one second late."""

EACH = "CREATE AGGREGATE each (x REAL) { TABLE t (v REAL); ITERATE : { INSERT INTO t VALUES (x); } TERMINATE : { INSERT INTO RETURN SELECT v FROM t; } }"
RISKY = "CREATE AGGREGATE risky (x REAL) { TABLE t (v REAL); ITERATE : { INSERT INTO t VALUES (1 / (x - 3)); } TERMINATE : { INSERT INTO RETURN SELECT sum(v) FROM t; } }"
ALARM = "CREATE AGGREGATE alarm (x REAL) { ITERATE : { INSERT INTO RETURN VALUES (x) WHERE x >= 4; } }"
GONE = "CREATE WINDOW AGGREGATE gone (x REAL) : (x REAL, left_over INT) { TABLE inwindow (w REAL); ITERATE : { DELETE FROM inwindow WHERE w = 2; } EXPIRE : { INSERT INTO RETURN SELECT x, count(*) - 1 FROM inwindow; } }"


@pytest.fixture
def session() -> Iterator[Session]:
    frame = pl.DataFrame(
        {"k": [k for k, _, _ in ROWS], "x": [x for _, x, _ in ROWS], "ts": [at(s) for _, _, s in ROWS]},
        schema={"k": pl.String(), "x": pl.Float64(), "ts": pl.Datetime("us")},
    )
    with Session({"rows": frame}) as opened:
        opened.run(
            "CREATE STREAM s (k STRING, x REAL, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 1 SECOND) SOURCE 'frame://rows'"
        )
        opened.run("; ".join((EACH, RISKY, ALARM, GONE)))
        yield opened


def ran(session: Session, text: str) -> Query:
    (query,) = session.execute(text)
    assert isinstance(query, Query)
    assert query.wait(200)
    assert query.status == "finished", query.snapshot().error
    return query


def rows(session: Session, text: str) -> list[tuple[Any, ...]]:
    query = ran(session, text)
    assert query.errors.rows() == []
    return query.to_polars().rows()


def test_several_returned_rows_are_several_rows_beside_the_other_aggregates(session: Session) -> None:
    found = rows(
        session, "SELECT k, each(x) AS x, count(*) AS n FROM s [RANGE 10 SECONDS TUMBLING] WHERE x < 5 GROUP BY k"
    )
    assert [r[2:] for r in found] == [("a", 1.0, 2), ("a", 3.0, 2), ("b", 2.0, 1), ("a", 4.0, 1)]


def test_the_shorter_of_two_lists_is_padded_with_null(session: Session) -> None:
    found = rows(
        session,
        "SELECT each(x) AS x, each(x) FILTER (WHERE x > 1) AS y FROM s [RANGE 20 SECONDS TUMBLING] WHERE k = 'a'",
    )
    assert [r[2:] for r in found] == [(1.0, 3.0), (3.0, 4.0), (4.0, None), (6.0, 6.0)]


def test_what_returns_nothing_gives_no_row_over_an_extent_and_null_in_over(session: Session) -> None:
    found = rows(session, "SELECT k, alarm(x) AS x FROM s [RANGE 10 SECONDS TUMBLING] GROUP BY k")
    assert [r[2:] for r in found] == [("a", 4.0), ("b", 5.0), ("a", 6.0)]
    assert rows(session, "SELECT x, alarm(x) OVER (ROWS 1 PRECEDING) AS y FROM s") == [
        (1.0, None), (3.0, None), (2.0, None), (4.0, 4.0), (5.0, 5.0), (6.0, 6.0)]  # fmt: skip


def test_on_a_bare_stream_rows_come_where_something_is_returned(session: Session) -> None:
    query = ran(session, "SELECT k, alarm(x) AS x FROM s GROUP BY k HAVING alarm(x) <> 5")
    assert query.to_polars().rows() == [("a", 4.0), ("a", 6.0)]
    assert not query._pipeline.query.relation


def test_a_derived_stream_of_alarms_has_their_times(session: Session) -> None:
    session.run("CREATE STREAM alarms AS SELECT alarm(x) AS x FROM s")
    found = rows(session, "SELECT count(*) AS n, sum(x) AS x FROM alarms [RANGE 20 SECONDS TUMBLING]")
    assert found == [(at(0), at(20), 2, 9.0), (at(20), at(40), 1, 6.0)]


def test_an_extent_between_others_without_rows_gives_null(session: Session) -> None:
    found = rows(session, "SELECT each(x) AS x, count(*) AS n FROM s [RANGE 5 SECONDS TUMBLING]")
    found.sort(key=lambda r: r[1])
    assert [r[2:] for r in found] == [
        (1.0, 3),
        (3.0, 3),
        (2.0, 3),
        (None, 0),
        (4.0, 2),
        (5.0, 2),
        (None, 0),
        (None, 0),
        (6.0, 1),
    ]


def test_active_expiration_gives_what_expire_returns_for_rows_that_were_not_deleted(session: Session) -> None:
    text = "SELECT k, gone(x) OVER (RANGE 10 SECONDS PRECEDING ACTIVE EXPIRATION) AS g FROM s"
    found = [(k, g["x"], g["left_over"]) for k, g in rows(session, text)]
    # 1.0 leaves at 11, 3.0 at 12 after the row of that instant; 2.0 was deleted when it came
    assert found == [("a", 1.0, 1), ("a", 3.0, 1), ("a", 4.0, 1), ("b", 5.0, 0), ("a", 6.0, 0)]


def test_fields_of_a_struct_can_be_named(session: Session) -> None:
    session.run(
        "CREATE AGGREGATE ends (x) { TABLE t (lo REAL, hi REAL); INITIALIZE : { INSERT INTO t VALUES (x, x); } ITERATE : { UPDATE t SET hi = x; } TERMINATE : { INSERT INTO RETURN SELECT lo, hi FROM t; } }"
    )
    found = rows(
        session,
        "SELECT k, ends(x).lo AS lo, ends(x).hi - ends(x).lo AS rise FROM s [RANGE 20 SECONDS TUMBLING] GROUP BY k",
    )
    assert [r[2:] for r in found] == [("a", 1.0, 3.0), ("b", 2.0, 3.0), ("a", 6.0, 0.0)]


@pytest.mark.parametrize(
    ("text", "left", "told"),
    [
        ("SELECT k, risky(x) AS x FROM s [RANGE 10 SECONDS TUMBLING] GROUP BY k", [("b", -1.0), ("a", 1.0), ("b", 0.5), ("a", 1 / 3)], 1),
        ("SELECT k, risky(x) AS x FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS] GROUP BY k", None, 2),
        ("SELECT k, risky(x) AS x FROM s [PARTITION BY k ROWS 1 SLIDE 1]", [("a", -0.5), ("b", -1.0), ("a", 1.0), ("b", 0.5), ("a", 1 / 3)], 1),
        ("SELECT k, risky(x) OVER (PARTITION BY k ROWS 1 PRECEDING) AS x FROM s", [("a", -0.5), ("b", -1.0), ("b", -0.5), ("a", 1 + 1 / 3)], 2),
    ],
)  # fmt: skip
def test_an_answer_a_body_fails_on_is_told_and_the_others_are_given(
    session: Session, text: str, left: list[tuple[str, float]] | None, told: int
) -> None:
    query = ran(session, text)
    reasons = [reason for _, reason in query.errors.rows()]
    assert reasons == ["risky: in ITERATE, line 1 of its text: division by zero"] * told
    found = query.to_polars().select("k", "x").rows()
    assert left is None or found == left


def test_a_python_class_takes_rows_one_by_one(session: Session) -> None:
    @jupyter_stream.aggregate
    class Spread:
        """Greatest less least."""

        def initialize(self, x):
            self.low = self.high = x

        def iterate(self, x):
            self.low, self.high = min(self.low, x), max(self.high, x)

        def terminate(self):
            return self.high - self.low

    found = rows(session, "SELECT k, spread(x) AS x FROM s [RANGE 20 SECONDS TUMBLING] GROUP BY k")
    assert [r[2:] for r in found] == [("a", 3.0), ("b", 3.0), ("a", 0.0)]
    described = session.run("DESCRIBE FUNCTION spread")[-1].to_polars()
    assert described["description"].to_list() == [
        "Greatest less least. User-defined aggregate in Python: initialize, iterate, terminate."
    ]
    assert "class Spread" in str(session.run("DESCRIBE AGGREGATE spread")[-1])


def test_a_python_class_may_return_several_rows_structs_and_nothing(session: Session) -> None:
    @jupyter_stream.aggregate(name="jumps", returns={"x": "DOUBLE", "by": float})
    class Anything:
        def __init__(self):
            self.last = None

        def iterate(self, x):
            last, self.last = self.last, x
            if last is not None:
                yield {"x": x, "by": x - last}
                yield {"x": x, "by": last - x}

    assert rows(session, "SELECT k, jumps(x).by AS by FROM s GROUP BY k") == [
        ("a", 2.0), ("a", -2.0), ("a", 1.0), ("a", -1.0), ("b", 3.0), ("b", -3.0), ("a", 2.0), ("a", -2.0)]  # fmt: skip


def test_the_type_of_what_python_returns_is_told_or_found_by_trying(session: Session) -> None:
    @jupyter_stream.aggregate
    class Named:
        def iterate(self, k: str) -> str:
            return k.upper()

    @jupyter_stream.aggregate
    class Pair:
        def iterate(self, k, x):
            self.last = {"k": k, "x": int(x)}

        def terminate(self):
            return self.last

    assert rows(session, "SELECT named(k) AS n FROM s")[0] == ("A",)
    query = ran(session, "SELECT pair(k, x) AS p FROM s [RANGE 1 MINUTE TUMBLING]")
    assert query.to_polars().schema["p"] == pl.Struct([pl.Field("k", pl.String()), pl.Field("x", pl.Int64())])
    with pytest.raises(QueryError, match="takes 1 argument, not 2"):
        session.run("SELECT named(k, x) FROM s")


def test_an_exception_in_python_is_an_error_of_the_row_and_the_query_goes_on(session: Session) -> None:
    @jupyter_stream.aggregate
    class Fragile:
        def iterate(self, x) -> float:
            if x == 4:
                raise KeyError("four")
            return x if x != 5 else "five"

    query = ran(session, "SELECT fragile(x) AS y FROM s")
    assert query.to_polars()["y"].to_list() == [1.0, 3.0, 2.0, 6.0]
    assert [reason for _, reason in query.errors.rows()] == [
        "Fragile: in iterate, line 3 of it: KeyError: 'four'", "Fragile: it returned 'five', which is not a value of type DOUBLE"]  # fmt: skip


def test_array_functions_see_whole_panes_and_are_taken_back(session: Session) -> None:
    seen = []

    @jupyter_stream.aggregate
    class Total:
        def update(self, x):
            seen.append(x.tolist())
            return float(x.sum())

        def merge(self, a, b):
            return a + b

        def subtract(self, a, b):
            return a - b

        def finish(self, a):
            return a

    seen.clear()
    found = rows(session, "SELECT total(x) AS t, sum(x) AS u FROM s [RANGE 20 SECONDS SLIDE 10 SECONDS]")
    assert [(r[2], r[2]) for r in found] == [r[2:] for r in found]
    assert seen[-3:] == [[1.0, 3.0, 2.0], [4.0, 5.0], [6.0]]
    with pytest.raises(QueryError, match="this window has no end"):
        session.run("SELECT total(x) OVER (RANGE UNBOUNDED PRECEDING) FROM s")


def test_a_class_without_states_is_refused() -> None:
    with pytest.raises(TypeError, match="neither iterate"):
        jupyter_stream.aggregate(type("Nothing", (), {}))


def test_state_follows_the_window(session: Session) -> None:
    for text in (
        "SELECT k, each(x) AS x FROM s [RANGE 2 SECONDS SLIDE 1 SECOND] GROUP BY k",
        "SELECT k, gone(x) OVER (RANGE 2 SECONDS PRECEDING ACTIVE EXPIRATION) AS g FROM s",
        "SELECT k, each(x) OVER (PARTITION BY k RANGE 2 SECONDS PRECEDING) AS x FROM s",
    ):
        query = ran(session, text)
        for step in query._pipeline.graph.steps:
            for name, value in step.control.extra.items():
                assert name not in ("kept_rows", "waiting_rows", "open_panes") or value == 0, (text, name)
