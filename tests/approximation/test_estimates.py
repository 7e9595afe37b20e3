"""Answers of shed streams beside the exact ones: unbiased, with standard errors that hold, and exact where nothing was shed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

from jupyter_stream import Query, QueryError, Session
from jupyter_stream.approximation.easing import Easing
from jupyter_stream.approximation.shed import ShedOperator
from jupyter_stream.engine import engine

N = 40_000
RNG = np.random.default_rng(7)
ROWS = pl.DataFrame(
    {
        "ts": np.arange(N) * 100,
        "k": RNG.choice(3, N, p=[0.6, 0.3, 0.1]),
        "v": RNG.lognormal(1, 0.7, N),
        "n": RNG.integers(-5, 100, N),
    }
).with_columns(v=pl.when(pl.col("n") > 90).then(None).otherwise(pl.col("v")))
QUERY = """SELECT k, count(*) AS c, count(v) AS cv, sum(n) AS s, sum(v) AS sv, avg(v) AS a, max(n) AS m,
sum(n) FILTER (WHERE n > 50) AS f FROM s [RANGE 200 MILLISECONDS SLIDE 100 MILLISECONDS] WHERE n <> 7 GROUP BY k"""
VALUES = ("c", "cv", "s", "sv", "a", "f")


def run(
    monkeypatch: pytest.MonkeyPatch, text: str, share_at: Callable[[int], float], rows: pl.DataFrame = ROWS
) -> pl.DataFrame:
    """A query's answers, where so much of the rows is looked at as a function of the rows that came before says."""
    sheds: list[ShedOperator] = []

    def adjust(self: Easing, fill: float) -> None:
        for technique in self.techniques:
            sheds[:] = technique._streams  # type: ignore[attr-defined]
            technique.leave(share_at(sheds[0].control.rows_in))

    monkeypatch.setattr(Easing, "queue", adjust)
    small = {"_FIRST": 4_000, "_MEANWHILE": 4_000, "_LEAST_MEANWHILE": 4_000, "_PAUSE": 0.0}
    for name, value in small.items():
        monkeypatch.setattr(engine, name, value)
    monkeypatch.setattr("jupyter_stream.engine.feed.REPLAY_ROWS", 4_000)
    with Session({"rows": rows}) as session:
        session.execute("CREATE STREAM s (ts BIGINT, k BIGINT, v DOUBLE, n BIGINT) ORDER BY ts SOURCE 'frame://rows'")
        (query,) = session.execute(text)
        assert isinstance(query, Query)
        assert query.wait(200)
        assert not query.errors.height
        answers = query.to_polars()
    return answers.sort("window_end", "k") if "k" in answers.columns and "window_end" in answers.columns else answers


def test_without_load_answers_are_the_exact_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = run(monkeypatch, QUERY, lambda _: 1.0)
    tolerant = run(monkeypatch, QUERY + " WITH TOLERANCE (SAMPLE AT LEAST 1)", lambda _: 1.0)
    assert tolerant.drop("precision").equals(exact)
    assert set(tolerant["precision"].struct.field("done")) == {"exact"}
    assert tolerant["precision"].struct.field("share").to_list() == [1.0] * exact.height


def test_answers_of_which_rows_were_shed_hold_what_their_errors_say(monkeypatch: pytest.MonkeyPatch) -> None:
    def share(rows: int) -> float:
        return 1.0 if rows < 8_000 else 0.2 if rows < 24_000 else 0.5

    exact = run(monkeypatch, QUERY, lambda _: 1.0)
    found = run(monkeypatch, QUERY + " WITH TOLERANCE (SAMPLE AT LEAST 10)", share)
    precision = found["precision"].struct.unnest()
    shares = precision["share"].to_numpy()
    errors = precision["error"].struct.unnest()
    assert (shares == 1).any() and 0.15 < shares.min() < 0.25
    whole = pl.Series(shares == 1)
    assert found.drop("precision").filter(whole).equals(exact.filter(whole))
    assert (errors.filter(whole).select(VALUES).to_numpy() == 0).all() and errors["m"].null_count() == found.height
    z = [(found[v] - exact[v]).filter(~whole) / errors[v].filter(~whole) for v in VALUES]
    every = np.concatenate([each.to_numpy() for each in z])
    assert np.mean(np.abs(every) < 1.96) > 0.9 and np.abs(every).max() < 5  # extents overlap: not independent
    assert abs(every.mean()) < 0.35
    # the share is a whole number of rows over those that came, before WHERE and of all groups
    ends = found["window_end"].to_numpy()
    came = np.array([((ROWS["ts"] >= e - 200_000) & (ROWS["ts"] < e)).sum() for e in ends])
    assert np.allclose(shares * came, np.rint(shares * came))


def test_shed_rows_stand_for_those_left_out_through_unions_projections_and_look_ups(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = """SELECT count(*) AS c, sum(d) AS t FROM
(SELECT n * 2 AS d FROM s WHERE k = 0 UNION ALL SELECT n AS d FROM s WHERE k > 0) [RANGE 1 SECOND TUMBLING]"""
    exact = run(monkeypatch, text, lambda _: 1.0)
    found = run(monkeypatch, text + " WITH TOLERANCE (SAMPLE AT LEAST 10)", lambda _: 0.3)
    errors = found["precision"].struct.field("error").struct.unnest()
    for v in ("c", "t"):
        assert ((found[v] - exact[v]).abs() < 4 * errors[v]).all() and (errors[v] > 0).all()
        assert (found[v] != exact[v]).any()


def test_rows_that_are_answers_are_a_part_of_the_exact_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    found = run(
        monkeypatch,
        "SELECT n, v FROM s WHERE n > 50 WITH TOLERANCE (SAMPLE AT LEAST 20)",
        lambda r: 1.0 if r < 20_000 else 0.4,
    )
    exact = ROWS.filter(pl.col("n") > 50)
    assert 0.65 < found.height / exact.height < 0.75
    assert found.select("n", "v").join(exact.select("n", "v"), on=["n", "v"], how="anti", nulls_equal=True).is_empty()
    missed = found["precision"].struct.field("fn").round(6)
    assert set(missed) == {0.0, 0.6} and set(found["precision"].struct.field("fp")) == {0.0}


def test_no_less_is_looked_at_than_was_said(monkeypatch: pytest.MonkeyPatch) -> None:
    found = run(monkeypatch, QUERY + " WITH TOLERANCE (SAMPLE AT LEAST 60%)", lambda _: 0.01)
    assert found["precision"].struct.field("share").min() > 0.55  # type: ignore[operator]


def test_a_bound_on_errors_holds_in_95_of_100_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = pl.concat([ROWS.with_columns(pl.col("ts") + i * N * 100) for i in range(3)])
    text = "SELECT k, count(*) AS c, avg(v) AS a FROM s [RANGE 400 MILLISECONDS TUMBLING] GROUP BY k"
    exact = run(monkeypatch, text, lambda _: 1.0, rows)
    found = run(monkeypatch, text + " WITH TOLERANCE (ERROR AT MOST 10)", lambda _: 0.0, rows)
    shares = found["precision"].struct.field("share")
    off = np.concatenate([((found[v] - exact[v]) / exact[v]).abs().to_numpy() for v in ("c", "a")])
    assert shares.min() < 0.9  # type: ignore[operator]
    assert np.mean(off <= 0.1) >= 0.95 and off.max() > 0


REFUSED: tuple[tuple[str, str], ...] = (
    ("SELECT DISTINCT k FROM s [RANGE 1 SECOND] WITH TOLERANCE (SAMPLE AT LEAST 10)", "it is below DISTINCT"),
    ("SELECT count(DISTINCT k) AS c FROM s [RANGE 1 SECOND TUMBLING] WITH TOLERANCE (SAMPLE AT LEAST 10)", "can't be scaled up"),
    ("SELECT k FROM s [RANGE 1 SECOND] EXCEPT SELECT n FROM s [NOW] WITH TOLERANCE (SAMPLE AT LEAST 9)", "DISTINCT|EXCEPT"),
    ("SELECT k FROM s [RANGE 1 SECOND] WHERE k NOT IN (SELECT n FROM s [NOW]) WITH TOLERANCE (SAMPLE AT LEAST 9)", "join"),
    ("SELECT count(*) AS c FROM s [ROWS 10 SLIDE 10] WITH TOLERANCE (SAMPLE AT LEAST 10)", "goes by rows"),
    ("SELECT count(*) AS c FROM s [RANGE 1 SECOND] WITH TOLERANCE (SAMPLE AT LEAST 10)", "has no SLIDE"),
    ("SELECT max(n) AS m FROM s [RANGE 1 SECOND TUMBLING] WITH TOLERANCE (ERROR AT MOST 10)", "how far max is off"),
    ("SELECT n AS precision FROM s WITH TOLERANCE (SAMPLE AT LEAST 10)", "already has one"),
    ("SELECT count(*) AS c FROM s [RANGE 1 DAY TUMBLING] WITH TOLERANCE (SAMPLE AT LEAST 9) EMIT CHANGES", "EMIT"),
    (
        "SELECT c FROM (SELECT count(*) AS c FROM s [RANGE 1 SECOND TUMBLING]) UNION ALL SELECT n FROM s"
        " WITH TOLERANCE (SAMPLE AT LEAST 10)", "answers of groups together with other rows",
    ),
)  # fmt: skip


@pytest.mark.parametrize(("text", "reason"), REFUSED, ids=[r for _, r in REFUSED])
def test_what_can_not_be_given_up_is_refused_with_the_reason_and_a_caret(text: str, reason: str) -> None:
    with Session({"rows": ROWS}) as session:
        session.execute("CREATE STREAM s (ts BIGINT, k BIGINT, v DOUBLE, n BIGINT) ORDER BY ts SOURCE 'frame://rows'")
        with pytest.raises(QueryError, match=reason) as refused:
            session.execute(text)
        assert "^" in str(refused.value)
        assert not session.queries


def test_a_query_without_a_tolerance_sheds_nothing() -> None:
    with Session({"rows": ROWS}) as session:
        session.execute("CREATE STREAM s (ts BIGINT, k BIGINT, v DOUBLE, n BIGINT) ORDER BY ts SOURCE 'frame://rows'")
        (query,) = session.execute(QUERY)
        run: Any = query._pipeline
        assert run.easing is None and query.precision.exact and str(query.precision) == "exact"
        assert math.isclose(query.precision.share, 1.0)
