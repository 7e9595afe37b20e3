"""No answer depends on the policy: drawn policies that are switched in mid-run, in steps of few rows, against the oracle."""

from __future__ import annotations

from collections import Counter
from unittest.mock import patch

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream.engine.engine import Engine
from jupyter_stream.session.session import Session
from tests.oracle import axis, strategies
from tests.oracle.answer import answer
from tests.oracle.running import Ran, assert_right
from tests.oracle.search import searching
from tests.relations.test_oracle_sets import session_over
from tests.schedulers.switching import NAMES, drawn, switching

pytestmark = pytest.mark.timeout(900)  # many small queries; a busy machine is no failure

POLICIES = st.lists(st.sampled_from(NAMES), min_size=1, max_size=6)


@searching
@given(st.data())
def test_windows_answer_as_the_oracle_whatever_policies_take_turns(data: st.DataObject) -> None:
    query = data.draw(strategies.queries())
    sizes = data.draw(strategies.splits(len(query.stream.rows)))
    with switching(data.draw(POLICIES), data.draw(st.integers(1, 4))):
        assert_right(query, answer(query), Ran(query, sizes), sizes)


ROWS = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 5), st.integers(0, 3)), max_size=12)


@searching
@given(ROWS, ROWS, st.lists(st.integers(1, 4), max_size=6), POLICIES, st.integers(1, 4), axis.base)
def test_joins_sets_and_relations_answer_as_under_the_default(s, t, pieces, names, rows, base) -> None:
    def timed(drawn):
        at = base
        for key, number, later in drawn:
            at += later
            yield key, number, at

    frames = {"s": list(timed(s)), "t": list(timed(t))}
    texts = (
        "SELECT s.k, s.n, t.n AS m FROM s [RANGE 4 MICROSECONDS], t [RANGE 6 MICROSECONDS] WHERE s.k = t.k AND s.n > 1",
        "SELECT k, n FROM s [RANGE 5 MICROSECONDS] EXCEPT SELECT k, n FROM t [RANGE 5 MICROSECONDS]",
        "SELECT k, count(*) AS n FROM (SELECT k, n FROM s UNION ALL SELECT k, n FROM t) GROUP BY k",
        "SELECT a.n, b.n AS m FROM s [RANGE 3 MICROSECONDS] a LEFT JOIN s [RANGE 3 MICROSECONDS] b ON a.n = b.n + 1",
    )

    def answers() -> list[Counter[tuple[object, ...]]]:
        with session_over(frames, pieces) as session:
            queries = session.execute("; ".join(texts))
            assert all(query.wait(200) for query in queries)
            return [Counter(query.changes().rows()) for query in queries]

    wanted = answers()
    with switching(names, rows):
        assert answers() == wanted


def test_policies_that_are_drawn_for_a_test_take_turns() -> None:
    """As for all of the oracle's tests with TESTS_POLICIES=drawn (`tests/conftest.py`)."""
    seen: list[str] = []
    schedule = Engine.schedule

    def noted(engine, policy):
        seen.append(policy.name)
        schedule(engine, policy)

    rows = [("a", i, i) for i in range(20)]
    with patch.object(Engine, "schedule", noted), drawn("a test"), session_over({"s": rows}, [1] * 20) as session:
        (query,) = session.execute("SELECT k, n FROM s WHERE n > 3")
        assert query.wait(200) and query.to_polars().height == 16
    assert len(set(seen)) > 1 and set(seen) <= set(NAMES)


@pytest.mark.parametrize("policy", NAMES)
def test_a_union_answers_the_same_under_any_policy(policy: str) -> None:
    frames = {
        f"f{i}": pl.DataFrame({"ts": range(i * 7, 3000, 3), "k": [j % 3 for j in range(i * 7, 3000, 3)]}).cast(pl.Int64)
        for i in range(3)
    }
    with Session(dict(frames), scheduler=policy) as session:
        for name in frames:
            session.execute(f"CREATE STREAM {name} (ts BIGINT, k BIGINT) ORDER BY ts SOURCE 'frame://{name}'")
        (query,) = session.execute(
            "SELECT k, count(*) AS n FROM f0 UNION f1 UNION f2 [RANGE 1 MILLISECOND TUMBLING] GROUP BY k"
        )
        assert query.wait(200)
        everything = pl.concat(frames.values()).with_columns((pl.col("ts") // 1000 * 1000).alias("window_start"))
        wanted = (
            everything.group_by("window_start", "k").agg(pl.len().cast(pl.Int64).alias("n")).sort("window_start", "k")
        )
        assert query.to_polars().select("window_start", "k", "n").sort("window_start", "k").equals(wanted)


def test_a_query_that_follows_a_table_goes_on_under_a_policy_with_queues() -> None:
    with session_over({"s": [("a", 1, 0), ("b", 2, 3)]}, [1, 1]) as session:
        session.schedule("chain")
        session.execute("CREATE RETROACTIVE TABLE listed (k STRING); INSERT INTO listed VALUES ('a')")
        (query,) = session.execute("SELECT s.k, n FROM s JOIN listed l ON s.k = l.k")
        assert query.wait(200)
        session.execute("INSERT INTO listed VALUES ('b')")
        assert sorted(query.to_polars().rows()) == [("a", 1), ("b", 2)]
        assert query.status == "running"


def test_the_plan_of_a_query_that_shares_the_place_where_a_stream_enters_can_be_drawn() -> None:
    with session_over({"s": [("a", 1, 0)], "t": [("b", 2, 3)]}, [1]) as session:
        queries = session.execute(
            "SELECT k, n FROM s [RANGE 5 MICROSECONDS] EXCEPT SELECT k, n FROM t [RANGE 5 MICROSECONDS];"
            "SELECT k, count(*) AS c FROM (SELECT k, n FROM s UNION ALL SELECT k, n FROM t) GROUP BY k"
        )
        for query in queries:
            assert query.wait(200)
            drawn = query.diagram()
            assert {flow.source for flow in drawn.flows} <= {node.id for node in drawn.nodes}
