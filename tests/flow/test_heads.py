"""What an operator remembers can be looked at while it runs, for every operator that remembers anything."""

import inspect
import threading

import numpy as np
import polars as pl
import pytest

from jupyter_stream import Session
from jupyter_stream.flow.protocol import Shown
from tests.operator_rooms import operator_modules
from tests.tiers import slow, thinned
from tests.waiting import settle, until

QUERIES = {
    "panes": "SELECT k, avg(v) AS a FROM s [RANGE 1 HOUR TUMBLING] GROUP BY k",
    "one group": "SELECT avg(v) AS a FROM s [RANGE 1 HOUR TUMBLING]",
    "distinct values": "SELECT count(DISTINCT k) AS n, median(v) AS m FROM s [RANGE 1 HOUR TUMBLING]",
    "sessions": "SELECT k, count(*) AS n FROM s [SESSION 1 HOUR PARTITION BY k] GROUP BY k",
    "row panes": "SELECT k, count(*) AS n FROM s [PARTITION BY k ROWS 5000 SLIDE 100] GROUP BY k",
    "bins": "SELECT k, max(v) AS m FROM s [RANGE 1 HOUR SLIDE 1 ROW] GROUP BY k",
    "bins of one group": "SELECT max(v) AS m FROM s [RANGE 1 HOUR SLIDE 1 ROW]",
    "relation": "SELECT k, sum(v) AS a FROM s [RANGE 1 HOUR] GROUP BY k",
    "newest rows of groups": "SELECT k, sum(v) AS a FROM s [ROWS 100] GROUP BY k",
    "newest rows": "SELECT DISTINCT k FROM s [PARTITION BY k ROWS 3]",
    "δ*": "SELECT DISTINCT k FROM s [RANGE 1 HOUR]",
    "join": "SELECT a.k, b.v FROM s [RANGE 1 HOUR] a JOIN t [RANGE 1 HOUR] b ON a.k = b.k",
    "except": "SELECT k FROM s [RANGE 1 HOUR] EXCEPT SELECT k FROM t [RANGE 1 HOUR] WHERE t.v > 2",
    "except on": "SELECT k, v FROM s [RANGE 1 HOUR] EXCEPT ALL ON (k) SELECT k, v FROM t [RANGE 1 HOUR] WHERE t.v > 2",
    "over": "SELECT k, avg(v) OVER (PARTITION BY k ORDER BY ts RANGE INTERVAL '1' HOUR PRECEDING) AS a FROM s",
    "over all": "SELECT k, avg(v) OVER (PARTITION BY k ORDER BY ts) AS a FROM s",
    "top of extents": "SELECT k, count(*) AS n FROM s [RANGE 1 HOUR SLIDE 1 MINUTE] GROUP BY k ORDER BY n DESC LIMIT 2",
    "live top": "SELECT k, v FROM s [RANGE 1 HOUR] ORDER BY v DESC LIMIT 3",
    "rstream": "SELECT RSTREAM k FROM s [RANGE 1 HOUR]",
    "istream": "SELECT ISTREAM k, count(*) AS n FROM s [RANGE 1 HOUR SLIDE 1 MINUTE] GROUP BY k",
    "changes": "SELECT k, count(*) AS n FROM s [RANGE 1 HOUR TUMBLING] GROUP BY k EMIT CHANGES",
}
STRATEGIES = {"wid": 0, "adapt-wid": 0, "rows": 0}
ROWS = 1_000


@pytest.fixture
def session():
    """Streams that stand still after some rows: more may come until the test is over."""
    rng = np.random.default_rng(7)
    rows = pl.DataFrame(
        {"k": rng.choice(["a", "b", "c"], ROWS), "v": rng.random(ROWS),
         "ts": pl.Series(np.arange(ROWS) * 100_000).cast(pl.Datetime("us"))}
    )  # fmt: skip
    over = threading.Event()

    def some():
        for at in range(0, ROWS, 50):
            yield rows[at : at + 50]
        over.wait()

    with Session({"some": some}) as made:
        for name in ("s", "t"):
            made.execute(f"CREATE STREAM {name} (k STRING, v DOUBLE, ts TIMESTAMP) ORDER BY ts SOURCE 'python://some'")
        yield made
        over.set()


def heads(query):
    """Of each operator that holds anything, the head of its state."""
    until(lambda: query.status == "failed" or all(feed["rows_in"] >= ROWS for feed in query.stats["sources"]))
    assert query.status != "failed", query.snapshot().error
    settle(query.session.engine)
    drawn = query.diagram()
    return {
        n.title: next(iter(query.rows_at(n.id, 5).values()), None)
        for n in drawn.nodes
        if n.kind == "operator" and n.bytes
    }


@pytest.mark.parametrize("name", thinned(QUERIES))
def test_state_has_a_head_in_the_rows_own_columns(session, name):
    (query,) = session.execute(QUERIES[name], name="q")
    found = heads(query)
    query.stop()
    assert found
    for title, head in found.items():
        assert head is not None and 0 < head.height <= 10, title
        assert not [c for c in head.columns if c.startswith("$")], title
    assert all(head.columns for head in found.values())


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_whatever_way_windows_are_kept_their_groups_are_shown(session, strategy):
    text = "SELECT k, sum(v) AS n FROM s [RANGE 1 HOUR SLIDE 1 MINUTE] GROUP BY k"
    (query,) = session.execute(text, name="w", strategy=strategy)
    (head,) = heads(query).values()
    query.stop()
    assert set(head["k"]) == {"a", "b", "c"}


def written(kind: type) -> str:
    """The source of a class and of those it is made from."""
    own = [k for k in kind.__mro__ if k.__module__.startswith("jupyter_stream")]
    return "".join(inspect.getsource(k) for k in own)


@slow
def test_each_operator_that_reports_bytes_can_be_looked_into():
    kinds = [
        k
        for module in operator_modules()
        for _, k in inspect.getmembers(module, inspect.isclass)
        if k.__module__ == module.__name__
    ]
    found = [
        (kind.__name__, issubclass(kind, Shown))
        for kind in kinds
        if {"on_batch", "on_punctuation"} <= set(dir(kind)) and "control.holds(" in written(kind)
    ]
    assert len(found) > 20
    assert [name for name, shown in found if not shown] == []
