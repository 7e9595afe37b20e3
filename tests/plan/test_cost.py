"""Costs: what EXPLAIN says of them, and what the planner concludes from rates."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl
import pytest

from jupyter_stream import Session
from jupyter_stream.graph.graph import build
from jupyter_stream.plan.cost import cost
from jupyter_stream.plan.logical import Bags, RelationJoin, walk
from jupyter_stream.plan.optimize import optimized
from jupyter_stream.plan.rates import Rates
from jupyter_stream.plan.removal import by_values
from jupyter_stream.plan.upkeep import Maintenance
from jupyter_stream.session.query import Query

ROWS = pl.DataFrame({"ts": [i * 100_000 for i in range(200)], "k": [i % 7 for i in range(200)]})
DECLARED = "".join(
    f"CREATE STREAM {n} (ts BIGINT, k BIGINT, WATERMARK FOR ts AS ts) SOURCE 'frame://rows';" for n in "abc"
)
DIFFERENCE = (
    "CREATE VIEW v AS SELECT x.k FROM (SELECT k FROM a [RANGE 5 SECONDS] EXCEPT ALL SELECT k FROM b [RANGE 5 SECONDS]) x"
    " JOIN c [RANGE 5 SECONDS] y ON x.k = y.k"
)


opened: list[Session] = []


@pytest.fixture(autouse=True)
def closing() -> Iterator[None]:
    yield
    while opened:
        opened.pop().close()


def started(statement: str) -> Query:
    session = Session({"rows": ROWS})
    opened.append(session)
    session.execute(DECLARED)
    (query,) = session.execute(statement)
    assert isinstance(query, Query)
    return query


def test_explain_of_a_relation_sets_measured_costs_beside_estimated_ones() -> None:
    query = started("CREATE VIEW v AS SELECT DISTINCT k FROM a [RANGE 5 SECONDS] WHERE k > 2")
    assert query.wait(200)
    lines = query.explain().splitlines()
    assert lines.pop() == "scheduler: fifo"
    assert all("% of the cost, estimated" in line for line in lines if "scan" not in line)
    assert "rows looked at per second" in str(query.plan)


def test_the_measured_share_of_a_selection_takes_the_place_of_the_guess() -> None:
    query = started("CREATE VIEW v AS SELECT DISTINCT k FROM a [RANGE 5 SECONDS] WHERE k = 3")
    plan = build(query._pipeline.query).plan  # type: ignore[attr-defined]
    guessed = cost(plan.plan, Rates({"a": 10.0}))
    assert cost(plan.plan, Rates({"a": 10.0}, passed={"(k = 3)": 1.0})) > guessed
    assert cost(plan.plan, Rates({"a": 20.0})) > guessed


def test_rates_decide_whether_a_difference_goes_above_a_join() -> None:
    query = started(DIFFERENCE)
    plan = query._pipeline.query.plan  # type: ignore[attr-defined]  # a kernel's handle

    def above(rates: Rates) -> bool:
        nodes = list(walk(optimized(plan, Maintenance(), rates)))
        return not any(isinstance(n, RelationJoin) for n in nodes) and any(
            isinstance(n, Bags) and n.kind != "net" for n in nodes
        )

    assert above(Rates({"a": 10.0, "b": 0.1, "c": 10.0}))
    assert not above(Rates({"a": 10.0, "b": 100.0, "c": 10.0}))


JOINED = (
    "CREATE VIEW {} AS SELECT x.k FROM (SELECT DISTINCT k FROM a [RANGE {d} SECONDS]) x"
    " JOIN (SELECT DISTINCT k FROM b [RANGE {d} SECONDS]) y ON x.k = y.k"
)


def test_values_known_to_come_back_within_their_window_are_joined_by_changes() -> None:
    query = started("SELECT count(*) AS n FROM a [RANGE 1 SECOND TUMBLING]")
    session = query._session
    assert query.wait(200)
    plans = []
    for name in ("before", "after", "short"):
        (view,) = session.execute(JOINED.format(name, d=1 if name == "short" else 10))
        assert isinstance(view, Query) and view.wait(200)
        plans.append(str(view.plan))
    # ten rows a second of seven values: in ten seconds none stays away, in one second many do
    assert ["inner join of relations" in plan for plan in plans] == [False, True, False]
    assert "at the rates measured" in plans[1]
    before, after = (session.queries[n].changes().sort("at", "k", "op") for n in ("before", "after"))
    assert before.equals(after) and before.height == 14


TAKEN_BACK = (
    "CREATE VIEW v AS SELECT x.k FROM (SELECT k, ts FROM a [RANGE 5 SECONDS] EXCEPT ALL ON (k) SELECT k FROM b [RANGE 5 SECONDS])"
    " x LEFT JOIN (SELECT k, ts FROM c [RANGE 5 SECONDS]) y ON x.k = y.k"
)


def test_rates_decide_how_a_row_that_is_taken_back_is_found() -> None:
    plan = started(TAKEN_BACK)._pipeline.query.plan  # type: ignore[attr-defined]  # a kernel's handle
    join = next(n for n in walk(plan) if isinstance(n, RelationJoin))
    difference = next(n for n in walk(plan) if isinstance(n, Bags) and n.on)
    few, many = (
        Rates(dict.fromkeys("abc", 10.0), values={"k": 50.0}),
        Rates(dict.fromkeys("abc", 100000.0), values={"k": 50.0}),
    )
    # fifty rows alive, one of a key: looked through; five hundred thousand: a hash is worth keeping
    assert by_values(join, Maintenance(), few) == (False, False) and by_values(join, Maintenance(), many) == (
        True,
        True,
    )
    assert by_values(difference, Maintenance(), few) == (False,) and by_values(difference, Maintenance(), many) == (
        True,
    )
    one = Rates({"a": 1e5, "b": 1e5, "c": 1.0}, values={"k": 50.0})
    assert by_values(join, Maintenance(), one) == (True, False)
    assert by_values(join, Maintenance("nt"), few) == (True, True)


def test_explain_says_how_a_row_that_is_taken_back_is_found_by_what_was_measured() -> None:
    rows = pl.DataFrame({"ts": [i * 1_000 for i in range(20_000)], "k": [i % 3 for i in range(20_000)]})
    session = Session({"rows": rows})
    session.execute(DECLARED)
    (first,) = session.execute("SELECT DISTINCT k FROM a [RANGE 1 SECOND]")
    assert isinstance(first, Query) and first.wait(200)
    # a thousand rows a second of three values, five seconds of them alive
    (view,) = session.execute(TAKEN_BACK, paused=True)
    assert isinstance(view, Query)
    assert "left join of relations  STR, rows alive, by key, and left ones by value" in str(view.plan)
    assert "except all on k  STR, rows alive, by key, and by value" in str(view.plan)
    session.close()
