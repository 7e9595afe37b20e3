"""Queries whose steps take long work in threads of their own: their answers are those that they give otherwise."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import polars as pl
import pytest
from hypothesis import given

import jupyter_stream
from jupyter_stream import Query, Session
from jupyter_stream.engine import steps
from tests.engine.test_sharing import Script, played, scripts
from tests.oracle.search import searching
from tests.tiers import slow
from tests.waiting import until

TEXTS = (
    "SELECT k, count(*) AS n, sum(v) AS v FROM s [RANGE 50 MICROSECONDS SLIDE 10 MICROSECONDS] GROUP BY k",
    "SELECT k, median(v) AS m FROM s [RANGE 30 MICROSECONDS TUMBLING] GROUP BY k",
    "SELECT k, v, sum(v) OVER (PARTITION BY k ROWS 5 PRECEDING) AS five FROM s",
    "SELECT a.k, a.v, b.v AS w FROM s [RANGE 9 MICROSECONDS] a JOIN s [RANGE 9 MICROSECONDS] b ON a.v = b.v",
    "SELECT k, max(v) AS v FROM s GROUP BY k",
)


def always_apart(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(steps, "SHORT", -1.0)
    patch.setattr(steps, "BRIEF", -1.0)


@searching
@given(scripts())
def test_live_queries_answer_the_same_apart_whoever_comes_and_goes(script: Script) -> None:
    with pytest.MonkeyPatch.context() as patch:
        always_apart(patch)
        apart = played(script, True)
    assert apart == played(script, True)


def answers(texts: tuple[str, ...]) -> list[list[tuple[object, ...]]]:
    rows = pl.DataFrame(
        {"ts": range(20_000), "k": [i % 7 for i in range(20_000)], "v": [i * i % 101 for i in range(20_000)]}
    )
    with Session({"rows": rows.sample(fraction=1, shuffle=True, seed=3)}) as session:
        session.execute("""CREATE STREAM s (ts BIGINT, k BIGINT, v BIGINT, WATERMARK FOR ts AS ts - INTERVAL 1 SECOND)
            SOURCE 'frame://rows'""")
        queries = session.execute(";".join(texts))
        assert all(isinstance(q, Query) and q.wait(200) for q in queries)
        return [sorted(q.to_polars().rows()) for q in queries if isinstance(q, Query)]


@slow
def test_replays_answer_the_same_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = answers(TEXTS)
    always_apart(monkeypatch)
    assert answers(TEXTS) == expected


def test_a_query_apart_that_fails_takes_no_other_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    always_apart(monkeypatch)

    @jupyter_stream.aggregate(name="panics")
    class Panics:
        def iterate(self, v: int) -> None:
            if v == 100:
                raise SystemExit("enough")

        def terminate(self) -> int:
            return 1

    with Session({"rows": pl.DataFrame({"ts": range(500), "v": range(500)})}) as session:
        session.execute("CREATE STREAM s (ts BIGINT, v BIGINT) ORDER BY ts SOURCE 'frame://rows'")
        good, bad = session.execute("""SELECT count(*) AS n FROM s [RANGE 100 MICROSECONDS TUMBLING];
            SELECT panics(v) AS n FROM s [RANGE 100 MICROSECONDS TUMBLING]""")
        assert isinstance(good, Query) and isinstance(bad, Query)
        assert good.wait(200) and good.to_polars()["n"].to_list() == [100] * 5
        until(lambda: bad.status == "failed")
        assert "SystemExit" in (bad.snapshot(1).error or "")


@slow
def test_beside_one_that_never_returns_another_that_takes_long_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    always_apart(monkeypatch)
    go = threading.Event()

    @jupyter_stream.aggregate(name="stands")
    class Stands:
        def iterate(self, v: int) -> None:
            go.wait()

        def terminate(self) -> int:
            return 1

    def ticks() -> Iterator[dict[str, int]]:
        for i in range(10**9):
            yield {"ts": i, "v": i}
            time.sleep(0.001)

    with Session({"ticks": ticks()}) as session:
        session.execute("CREATE STREAM t (ts BIGINT, v BIGINT) ORDER BY ts SOURCE 'python://ticks'")
        stuck = [session.execute("SELECT stands(v) AS n FROM t [RANGE 10 MICROSECONDS TUMBLING]")[0] for _ in range(3)]
        (other,) = session.execute("SELECT count(*) AS n FROM t [RANGE 10 MICROSECONDS TUMBLING]")
        assert isinstance(other, Query)
        until(lambda: other.to_polars().height > 20)
        go.set()
        until(lambda: all(isinstance(q, Query) and q.to_polars().height for q in stuck))
