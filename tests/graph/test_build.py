"""From a plan to operators: one chain of steps from the sources to the answers, and a case for every node a query can hold."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import polars as pl
import pytest

from jupyter_stream import Session
from jupyter_stream.graph.graph import _VISITS, Graph, build
from jupyter_stream.plan import logical

ROWS = pl.DataFrame({"ts": [1, 2, 3], "k": ["a", "b", "a"], "n": [1, 2, 3]})
ELSEWHERE = {"TableRelation"}
"""Nodes without operators of their own: a table is looked into, or answered from, as it is."""


@pytest.fixture
def session() -> Iterator[Session]:
    with Session({"rows": ROWS}) as made:
        made.execute("CREATE STREAM s (ts BIGINT, k STRING, n BIGINT) ORDER BY ts SOURCE 'frame://rows'")
        yield made


def graph(session: Session, text: str) -> Graph:
    (query,) = session.execute(text)
    assert query.wait(200)  # type: ignore[union-attr]  # a Query
    return build(query._pipeline.query)  # type: ignore[attr-defined]


def test_steps_lead_from_a_stream_to_the_answers(session: Session) -> None:
    made = graph(session, "SELECT k, count(*) AS n FROM s [RANGE 2 MICROSECONDS TUMBLING] WHERE n > 1 GROUP BY k")
    (entry,) = made.entries
    way = []
    at = entry.target
    while at is not None:
        way.append(type(at.step.operator).__name__)
        at = at.step.target
    assert way == ["FilterOperator", "WindowAggregate", "ProjectOperator"]
    assert [type(step.operator).__name__ for step in made.steps] == way  # each before those that it feeds
    assert entry.boundary(5) == 4  # a row of the extent [4, 6) is the first that still counts


def test_both_inputs_of_a_join_have_a_port_of_their_own(session: Session) -> None:
    made = graph(session, "SELECT a.n FROM s [RANGE 1 SECOND] a JOIN s [RANGE 1 SECOND] b ON a.k = b.k WHERE a.n > b.n")
    ports = sorted(e.target.port for e in made.entries if e.target is not None)
    assert ports == [0, 1]


def test_every_kind_of_node_has_operators() -> None:
    kinds = {c for _, c in inspect.getmembers(logical, inspect.isclass) if issubclass(c, logical.Plan)}
    leaves = {k.__name__ for k in kinds if not k.__subclasses__() and not inspect.isabstract(k)}
    assert leaves - {k.__name__ for k in _VISITS} == ELSEWHERE
