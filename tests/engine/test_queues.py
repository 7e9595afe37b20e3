"""How many rows a step takes, by what steps took before."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl
import pytest

import jupyter_stream
from jupyter_stream.engine.queues import StepQueues
from jupyter_stream.session.session import Session


@jupyter_stream.aggregate(name="last_of")
class LastOf:
    """A user's aggregate."""

    def initialize(self, v: int) -> None:
        self.v = v

    def iterate(self, v: int) -> None:
        self.v = v

    def terminate(self) -> int:
        return self.v


@jupyter_stream.function
def twice_of(v: int) -> int:
    """A user's function."""
    return 2 * v


@pytest.fixture
def session() -> Iterator[Session]:
    with Session({"f": pl.DataFrame({"ts": [1], "v": [1]})}) as made:
        made.execute("CREATE STREAM s (ts BIGINT, v BIGINT) ORDER BY ts SOURCE 'frame://f'")
        yield made


def operator(session: Session, select: str, name: str) -> StepQueues:
    """An operator of a query, of which nothing was measured."""
    (query,) = session.execute(select)
    found = {
        step.control.name: StepQueues(step, lambda step: pytest.fail(str(step))) for step in query._pipeline.graph.steps
    }
    return next(queues for title, queues in found.items() if name in title)


def test_a_step_takes_as_many_rows_as_fit_into_ten_milliseconds(session: Session) -> None:
    for select, name in (("SELECT v FROM s WHERE v > 1", "filter"), ("SELECT twice_of(v) AS d FROM s", "project")):
        queues = operator(session, select, name)
        queues.measured(10_000, 10_000, 0.08)
        assert queues.most == 1_250


def test_however_long_they_took_a_step_has_some_hundred_rows(session: Session) -> None:
    filtered = operator(session, "SELECT v FROM s WHERE v > 1", "filter")
    filtered.measured(1_000, 10, 60.0)
    assert filtered.most == 256


def test_of_an_operator_that_gives_many_rows_for_one_those_count(session: Session) -> None:
    joined = operator(session, "SELECT a.v FROM s [RANGE 5 MICROSECONDS] a, s [RANGE 5 MICROSECONDS] b", "join")
    joined.measured(1_000, 64_000, 60.0)
    assert joined.most == 4
    joined.measured(1_000, 64_000_000, 60.0)
    assert joined.most == 1


@pytest.mark.parametrize(
    ("select", "name"),
    [
        ("SELECT last_of(v) AS x FROM s [RANGE 5 MICROSECONDS TUMBLING]", "aggregate"),
        ("SELECT last_of(v) OVER (ROWS 1 PRECEDING) AS x FROM s", "over"),
        ("SELECT twice_of(v) AS d FROM s", "project"),
        ("SELECT v FROM s WHERE twice_of(v) > 1", "filter"),
    ],
)
def test_where_users_code_runs_a_step_may_be_a_row(session: Session, select: str, name: str) -> None:
    queues = operator(session, select, name)
    queues.measured(100, 100, 6.0)
    assert queues.most == 1
