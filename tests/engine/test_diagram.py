"""A running query's plan as nodes and flows: its counts are the handle's, and what may be changed changes."""

import datetime as dt
import threading
import time

import numpy as np
import polars as pl
import pytest

from jupyter_stream import QueryError, Session
from tests.waiting import settle, until

JOIN = """SELECT a.symbol, a.price FROM trades [RANGE 5 SECONDS] a JOIN trades [RANGE 5 SECONDS] b
ON a.symbol = b.symbol WHERE a.price > 0.9 AND b.price < 0.1"""


@pytest.fixture
def session():
    rng = np.random.default_rng(1)
    rows = pl.DataFrame(
        {"symbol": rng.choice(["a", "b"], 20_000), "price": rng.random(20_000),
         "ts": pl.Series(np.arange(20_000) * 100_000).cast(pl.Datetime("us"))}
    )  # fmt: skip
    with Session({"rows": rows}) as made:
        made.execute(
            "CREATE STREAM trades (symbol STRING, price DOUBLE, ts TIMESTAMP) ORDER BY ts SOURCE 'frame://rows'"
        )
        yield made


@pytest.fixture
def slow(session):
    """A stream that goes on while a test looks, for many minutes."""
    rows = session.namespace["rows"]
    step = pl.lit(dt.timedelta(milliseconds=100)) * rows.height
    session.namespace["forever"] = lambda: (rows.with_columns(pl.col("ts") + i * step) for i in range(100))
    session.execute("""CREATE STREAM slow (symbol STRING, price DOUBLE, ts TIMESTAMP) ORDER BY ts
                       SOURCE 'python://forever' WITH (rate = '2000/s')""")
    return session


def test_the_counts_of_a_diagram_are_those_of_the_handle(session):
    for text in (
        JOIN,
        "SELECT symbol, avg(price) AS p FROM trades [RANGE 1 MINUTE TUMBLING] WHERE price < 0.5 GROUP BY symbol",
    ):
        (query,) = session.execute(text)
        query.wait(200)
        drawn = query.diagram()
        stats = query.stats
        assert sum(n.rows_in for n in drawn.nodes if n.kind == "source") == stats["rows_in"] == 20_000
        assert drawn.nodes[-1].rows_out == stats["rows_out"] == query.to_polars().height
        steps = [n for n in drawn.nodes if n.kind == "operator"]
        assert [n.rows_in for n in steps] == [o["rows_in"] for o in stats["operators"]]
        explained = str(query.explain())
        assert all(n.title in explained and "$" not in n.title for n in steps)
        for flow in drawn.flows:
            assert flow.rows == drawn.node(flow.source).rows_out


def test_edges_carry_the_update_patterns_that_explain_shows(session):
    (query,) = session.execute(JOIN)
    query.wait(200)
    drawn = query.diagram()
    join = next(n for n in drawn.nodes if n.title == "inner join")
    assert {f.pattern for f in drawn.flows if f.target == join.id} == {"WKS"}
    assert next(f.pattern for f in drawn.flows if f.source == join.id) == "WK"
    assert join.keeps == "rows by key, freed as time passes"


def test_a_look_into_a_running_plan_shows_waiting_rows_and_the_head_of_state(slow):
    (query,) = slow.execute(
        "SELECT symbol, avg(price) AS p FROM slow [RANGE 1 HOUR TUMBLING] GROUP BY symbol", name="q"
    )
    until(lambda: query.stats["rows_in"] >= 200)
    drawn = query.diagram()
    window = next(n for n in drawn.nodes if n.title.startswith("window aggregate"))
    (held,) = query.rows_at(window.id).values()
    assert set(held["symbol"]) == {"a", "b"} and held["rows"].sum() >= 200
    source = next(n for n in drawn.nodes if n.kind == "source")
    query.pause()
    until(lambda: query.rows_at(source.id)["waiting in its queue"].height)
    waiting = query.rows_at(source.id)["waiting in its queue"]
    assert waiting.columns == ["symbol", "price", "ts"] and 0 < waiting.height <= 20


def test_settings_of_a_source_change_while_it_runs(session):
    go, made = threading.Event(), 0

    def pieces():
        nonlocal made
        go.wait(200)
        for at in range(0, 20_000, 100):
            made += 100
            yield session.namespace["rows"][at : at + 100]

    session.namespace["pieces"] = pieces
    session.execute(
        "CREATE STREAM piecewise (symbol STRING, price DOUBLE, ts TIMESTAMP) ORDER BY ts SOURCE 'python://pieces'"
    )
    (query,) = session.execute("SELECT symbol FROM piecewise", name="q", paused=True)
    source = next(n for n in query.diagram().nodes if n.kind == "source")
    assert source.settings["scheduler"][0] == "fifo"
    query.set(source.id, "scheduler", "least progress")
    query.set(source.id, "most_rows", "500")
    settings = query.diagram().node(source.id).settings
    assert {name: value for name, (value, _) in settings.items()} == {"most_rows": 500, "scheduler": "least progress"}
    go.set()
    until(lambda: query.diagram().node(source.id).queued >= 500)
    time.sleep(0.3)  # in which all could come
    assert (
        query.diagram().node(source.id).queued == 500 and made < 2_000
    )  # the source is held up: it had 20,000 to give
    with pytest.raises(QueryError, match="there is no scheduler"):
        query.set(source.id, "scheduler", "fastest")
    with pytest.raises(QueryError, match="is a number of rows"):
        query.set(source.id, "most_rows", "many")
    with pytest.raises(QueryError, match="has no setting"):
        query.set("result", "memory", 1)


def test_what_queries_share_is_said(slow):
    text = "SELECT symbol, avg(price) AS p FROM slow [RANGE 1 MINUTE TUMBLING] GROUP BY symbol"
    one, _two = slow.execute(f"{text}; {text}", name="q")
    shared = [n for n in one.diagram().nodes if n.shared_by]
    assert shared and all(n.shared_by == "q, q_1" for n in shared)


def test_the_overview_shows_shares_of_memory_and_processor_time(slow):
    session = slow
    text = "SELECT symbol, avg(price) AS p FROM {} [RANGE 1 MINUTE TUMBLING] GROUP BY symbol"
    (done,) = session.execute(text.format("trades"), name="done")
    done.wait(200)
    (query,) = session.execute(text.format("slow"), name="live")
    until(lambda: query.stats["rows_in"] >= 100)
    settle(session.engine)
    queries = session.show_queries().frame
    assert queries["query"].to_list() == ["done", "live"]
    shares = [int(s.rstrip("%")) for s in queries["processor"]]
    assert 99 <= sum(shares) <= 101
    assert queries.filter(query="live")["memory"].item() == "100%"  # what has ended holds nothing
    (source,) = session.show_sources().frame.rows(named=True)
    assert source["source"] == "slow" and source["read_by"] == "live"
    assert source["rows"] >= 100 and source["rows_per_second"] > 0
