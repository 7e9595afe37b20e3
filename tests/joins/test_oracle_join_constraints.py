"""Joins of streams with constraints against the oracle: keys that are over, partners that come within k."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from jupyter_stream.engine import feed
from jupyter_stream.session.session import Session
from tests.engine.live import go_side_by_side
from tests.engine.test_oracle_clusters import most_between
from tests.joins.test_oracle_join import join_queries
from tests.oracle import strategies
from tests.oracle.compare import assert_same_bag, in_columns, plain_rows
from tests.oracle.join import JoinQuery, broken, join
from tests.oracle.progress import Clusters
from tests.oracle.query import duration
from tests.oracle.running import PATIENCE, batches
from tests.oracle.search import searching
from tests.oracle.values import same_key
from tests.tiers import slow

pytestmark = pytest.mark.timeout(900)  # many small queries; a busy machine is no failure


def check(query: JoinQuery, expected: JoinQuery, sizes: list[list[int]]) -> None:
    """The engine's answer is the oracle's to `expected`."""
    right = join(expected)
    left_first = query.refers is not None and query.refers[0] == 1
    streams = (query.stream, query.other)
    about = "\n".join([query.sql(), *(s.sql(s.name) for s in streams), *(str(s.rows) for s in streams), str(sizes)])
    namespace = {"left": batches(query.stream, sizes[0]), "right": batches(query.other, sizes[1])}
    declared = [query.stream.sql("python://left"), query.other.sql("python://right")]
    with Session(namespace) as session, patch.object(feed, "BATCH_ROWS", 0):
        for text in declared if left_first else declared[::-1]:
            session.execute(text)
        (handle,) = session.execute(query.sql())
        assert handle.wait(PATIENCE), about
        assert handle.status == "finished", about
        assert_same_bag(plain_rows(handle.to_polars()), in_columns(right.rows, query.columns), query.columns, about)
        if query.residual is None and query.where is None:  # conditions on one input are looked at before it is joined
            assert handle.late.height == len(right.late) + len(broken(query)), about
        for step in handle._pipeline.graph.steps:
            step.operator.check() if hasattr(step.operator, "check") else None
            assert step.control.extra.get("kept_rows", 0) == 0, about


def horizon(query: JoinQuery) -> int:
    """How long past the newest time the join keeps anything of a key."""
    if query.bounds is not None:
        return abs(query.bounds[0]) + abs(query.bounds[1])
    return (query.tumbling or query.left or 0) + (query.tumbling or query.right or 0) - 2


@pytest.mark.parametrize("holds", [True, False])
@searching
@given(st.data())
def test_keys_that_are_over_are_let_go(holds: bool, data: st.DataObject) -> None:
    query = data.draw(join_queries())
    assume(query.keys)
    pair = data.draw(st.sampled_from(query.keys))
    sides = []
    for stream, column in zip((query.stream, query.other), pair, strict=True):
        if data.draw(st.booleans()):
            stream = replace(stream, rows=tuple(sorted(stream.rows, key=lambda r, c=column: str(same_key(r[c])))))
        if data.draw(st.integers(0, 2)):
            most = most_between(stream.rows, column)
            rows = most if holds else data.draw(st.integers(0, most))
            stream = replace(stream, clusters=Clusters(column, rows, horizon(query)))
        sides.append(stream)
    query = replace(query, stream=sides[0], other=sides[1])
    plain = replace(query, stream=replace(sides[0], clusters=None), other=replace(sides[1], clusters=None))
    sizes = [data.draw(strategies.splits(len(s.rows))) for s in sides]
    check(query, plain if holds else query, sizes)


@pytest.mark.parametrize("holds", [True, False])
@searching
@given(st.data())
def test_rows_wait_for_their_partner_within_the_constraint_only(holds: bool, data: st.DataObject) -> None:
    query = data.draw(join_queries())
    assume(query.keys)
    plain, port = query, data.draw(st.integers(0, 1))
    lefts, rights = query.stream.arrived(), query.other.arrived()
    met = [(b.ts - a.ts, a.ts - b.ts)[port] for a in lefts for b in rights if query.meet(a, b)]
    most = max([0, *met])
    within = most if holds else data.draw(st.integers(0, most))
    columns = list(zip(*query.keys, strict=True))
    sides = [query.stream, query.other]
    other = sides[1 - port]
    reference = f"FOREIGN KEY ({', '.join(columns[port])}) REFERENCES {other.name} ({', '.join(columns[1 - port])})"
    sides[port] = replace(sides[port], reference=f"{reference} WITHIN {duration(within) if within else '0 SECONDS'}")
    query = replace(query, stream=sides[0], other=sides[1], refers=(port, within))
    sizes = [data.draw(strategies.splits(len(s.rows))) for s in sides]
    check(query, plain if holds else query, sizes)


ORDERS = {"orderID": pl.Int64, "placed": pl.Int64}
FULFILMENTS = {"orderID": pl.Int64, "item": pl.Int64, "at": pl.Int64}
JOIN = """SELECT f.orderID, item, at - placed AS delay
          FROM Fulfilments {} f LEFT JOIN Orders {} o ON f.orderID = o.orderID"""


def run(constraint: str, windows: tuple[str, str]) -> tuple[list[tuple], int, str]:
    """The answer, the most bytes held (what is remembered of values too), and the plan: 10,000 orders of 4 items each."""
    orders = pl.DataFrame([(i, 4000 * i) for i in range(10_000)], schema=ORDERS, orient="row")
    items = [(i // 4, i % 4, 1000 * i + 500) for i in range(40_000)]
    namespace = {
        "orders": lambda: orders.iter_slices(100),
        "items": lambda: pl.DataFrame(items, schema=FULFILMENTS, orient="row").iter_slices(400),
    }
    with Session(namespace) as session, patch.object(feed, "BATCH_ROWS", 0):
        session.execute("CREATE STREAM Orders (orderID BIGINT, placed BIGINT) ORDER BY placed SOURCE 'python://orders'")
        session.execute(
            f"""CREATE STREAM Fulfilments (orderID BIGINT, item BIGINT, at BIGINT{constraint})
                ORDER BY at SOURCE 'python://items'"""
        )
        (query,) = session.execute(JOIN.format(*windows), paused=True)
        go_side_by_side(query, 50_000)
        assert query.wait(200)
        assert query.late.height == 0
        peak = sum(t["peak_bytes"] for t in (*query.stats["operators"], *query.stats["sources"]))
        return sorted(query.to_polars().rows()), peak, str(query.plan)


@slow
def test_orders_whose_fulfilments_are_over_give_the_same_answer() -> None:
    windows = ("[RANGE 1 SECOND]", "[RANGE UNBOUNDED]")
    answer, _, _ = run("", windows)
    constrained, _, plan = run(", CONSTRAINT CLUSTERED (orderID) WITHIN 0 ROWS", windows)
    assert constrained == answer
    assert "clustered by orderID within 0 rows" in plan


@slow
def test_a_row_waits_for_its_partner_no_longer_than_the_constraint_says() -> None:
    windows = ("[RANGE 1 HOUR]", "[RANGE 1 SECOND]")
    answer, bytes_without, _ = run("", windows)
    constrained, bytes_with, plan = run(", FOREIGN KEY (orderID) REFERENCES Orders WITHIN 0 SECONDS", windows)
    assert constrained == answer
    assert bytes_with < bytes_without / 2
    assert "left rows wait for 0 seconds only: orderID refers to Orders within 0 seconds" in plan


@pytest.mark.parametrize("sides", ["l {} JOIN r", "r {} JOIN l"])
@pytest.mark.parametrize("kind", ["INNER", "LEFT", "RIGHT", "FULL", "LEFT SEMI", "LEFT ANTI"])
def test_a_constraint_that_holds_changes_no_answer(kind: str, sides: str) -> None:
    left = pl.DataFrame([(i % 7, 1000 * i) for i in range(50)], schema={"k": pl.Int64, "at": pl.Int64}, orient="row")
    right = left.select("k", at=pl.col("at") + 300)
    first, second = sides.format(f"[RANGE 3 MILLISECONDS] {kind}").split(" JOIN ")
    text = f"SELECT * FROM {first} JOIN {second} [RANGE 3 MILLISECONDS] ON l.k = r.k"
    answers = []
    for constraint in ("", ", FOREIGN KEY (k) REFERENCES r WITHIN 1 MILLISECOND"):
        with Session({"left": left.iter_slices(3), "right": right.iter_slices(4)}) as session:
            session.execute("CREATE STREAM r (k BIGINT, at BIGINT) ORDER BY at SOURCE 'python://right'")
            session.execute(f"CREATE STREAM l (k BIGINT, at BIGINT{constraint}) ORDER BY at SOURCE 'python://left'")
            (query,) = session.execute(text)
            assert query.wait(200) and query.late.height == 0
            assert not constraint or "wait for 1 millisecond only" in str(query.plan)
            answers.append(sorted(query.to_polars().rows(), key=repr))
    assert answers[0] == answers[1] and (answers[0] or kind == "LEFT ANTI")
