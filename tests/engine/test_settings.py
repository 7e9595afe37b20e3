"""What may be changed while a query runs: only where it applies, with an effect, and never on the answers of exact queries."""

import threading

import numpy as np
import polars as pl
import pytest

from jupyter_stream import QueryError, Session
from jupyter_stream.engine.settings import SETTINGS
from tests.waiting import until

DECLARED = """CREATE STREAM bids (item BIGINT, price DOUBLE, ts BIGINT) ORDER BY ts SOURCE 'python://bids';
CREATE SUMMARY Seen ON bids (item) WITH GRANULARITY 1 MILLISECOND AND COLLAPSE (2, 3)"""
BUDGETED = "SELECT item, price FROM bids WHERE price > 0.5 WITH PREFERENCE WEIGHTED SUMMARY.Estimate.Count(item)"
ALIVE = "SELECT DISTINCT item FROM bids [RANGE 5 MILLISECONDS]"


@pytest.fixture
def live():
    """A session with a stream that goes on until the test is over; and what lets it go on."""
    rng = np.random.default_rng(3)
    rows = pl.DataFrame({"item": rng.integers(0, 50, 4_000), "price": rng.random(4_000), "ts": np.arange(4_000) * 10})
    more, over = threading.Semaphore(0), threading.Event()

    def bids():
        for at in range(0, rows.height, 500):
            more.acquire()
            if not over.is_set():
                yield rows[at : at + 500]

    with Session({"bids": bids()}) as session:
        session.execute(DECLARED)
        yield session, more, rows
        over.set()
        more.release(1_000)


def settings(query):
    return {node.id: dict(node.settings) for node in query.diagram().nodes}


def reached(query, rows):
    until(lambda: query.stats["rows_in"] >= rows)


def test_each_setting_is_shown_only_where_there_is_something_of_the_kind(live):
    session, _, _ = live
    (promising,) = session.execute(BUDGETED, name="p", budget="0.2 probes/row", weight=2)
    (distinct,) = session.execute(ALIVE, name="d")
    shown = settings(promising)
    assert set(shown["source 0"]) == {"most_rows", "scheduler"}
    (where,) = [node for node, held in shown.items() if "budget" in held]
    assert {n: value for n, (value, _) in shown[where].items()} == {
        "budget": "0.2 probes/row",
        "weight": 2.0,
        "memory_limit": shown[where]["memory_limit"][0],
    }
    assert all(not held for node, held in shown.items() if node not in ("source 0", where))
    found = {name for held in (*shown.values(), *settings(distinct).values()) for name in held}
    assert found == {s.name for s in SETTINGS}
    assert all(words for held in shown.values() for _, words in held.values())


def test_another_budget_takes_up_what_a_smaller_one_put_off(live):
    session, more, rows = live
    (query,) = session.execute(BUDGETED, name="p", budget="0.01 probes/row")
    (where,) = [node for node, held in settings(query).items() if "budget" in held]
    query.set(where, "weight", "4")
    more.release(4)
    reached(query, 2_000)
    query.set(where, "budget", "100% of one core")
    until(lambda: settings(query)[where]["budget"][0] == "100% of one core")  # when a step under way has ended
    assert settings(query)[where]["weight"][0] == 4
    assert "budget: 100% of one core, weight 4" in str(query.explain())
    more.release(1_000)
    assert query.wait(200)
    exact = rows.filter(pl.col("price") > 0.5)
    assert query.to_polars().height == exact.height and query.coverage.share == 1
    assert settings(query)[where] == {}
    with pytest.raises(QueryError, match="has ended, and its settings"):
        query.set(where, "budget", "10%")


def test_a_smaller_memory_limit_lets_rows_go(live):
    session, more, _ = live
    (query,) = session.execute(BUDGETED, name="p", budget="0.01 probes/row")
    (where,) = [node for node, held in settings(query).items() if "memory_limit" in held]
    query.set(where, "memory_limit", "1 kB")
    assert settings(query)[where]["memory_limit"][0] == 1_000
    more.release(1_000)
    assert query.wait(200)
    assert query.coverage.share < 1


def test_partitions_change_while_rows_are_in_them_and_answers_stay(live):
    session, more, rows = live
    (query,) = session.execute(ALIVE, name="d")
    (where,) = [node for node, held in settings(query).items() if "partitions" in held]
    for released, partitions in ((2, "40"), (4, "1"), (6, "7")):
        more.release(2)
        reached(query, released * 500)
        query.set(where, "partitions", partitions)
        assert settings(query)[where]["partitions"][0] == int(partitions)
        assert f"{partitions} expiry partition" in query.diagram().node(where).keeps
        assert f"{partitions} expiry partition" in str(query.explain())
    more.release(1_000)
    assert query.wait(200)
    lived = rows.filter(pl.col("ts") > rows["ts"].max() - 5_000)
    assert set(query.to_polars()["item"]) == set(lived["item"])


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("budget", "much", "is not a budget"),
        ("weight", "-1", "is not a weight"),
        ("memory_limit", "64 parsecs", "is a size, not '64 parsecs'"),
        ("partitions", "3", "has no setting partitions"),
    ],
)
def test_a_value_that_cannot_be_is_refused_with_what_to_write(live, name, value, said):
    session, _, _ = live
    (query,) = session.execute(BUDGETED, name="p", budget="20%")
    (where,) = [node for node, held in settings(query).items() if "budget" in held]
    before = settings(query)
    with pytest.raises(QueryError, match=said):
        query.set(where, name, value)
    assert settings(query) == before
