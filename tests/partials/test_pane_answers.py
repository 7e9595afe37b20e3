"""What panes hold of user-defined aggregates: answers and partial results in place of rows, whatever the order and batches."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import jupyter_stream
from jupyter_stream.aggregates.user.declared import declared
from jupyter_stream.aggregates.user.protocol import UserCall
from jupyter_stream.aggregates.user.rows import HeldForm
from jupyter_stream.binding import SqlAggregate
from jupyter_stream.partials import pane_rows, user_partials
from jupyter_stream.partials.user_panes import UserPanes
from jupyter_stream.partials.user_partials import ArrayPanes
from jupyter_stream.syntax import parse

REAL = "CREATE ALGEBRAIC AGGREGATE total (x REAL) : REAL { TABLE t (n REAL); INITIALIZE : { INSERT INTO t VALUES (x); } ITERATE : { UPDATE t SET n = n + x; } TERMINATE : { INSERT INTO RETURN SELECT n FROM t; } }"  # noqa: E501


@pytest.fixture(autouse=True)
def in_python() -> None:
    @jupyter_stream.aggregate
    class Total:
        def update(self, x):
            return float(np.add.accumulate(x)[-1])

        def merge(self, a, b):
            return a + b

        def subtract(self, a, b):
            return a - b

        def finish(self, a):
            return a


def held(kind: str) -> UserPanes | ArrayPanes:
    if kind == "sql":
        (statement,) = parse(REAL)
        program = SqlAggregate(statement).program([pl.Float64()])  # type: ignore[arg-type]
        return UserPanes(HeldForm(1, UserCall(program, "a", "paned", program.dtype, program)))
    found = declared("total")
    assert found is not None and found.base is not None
    program = found.base.program([pl.Float64()])
    return ArrayPanes(HeldForm(1, UserCall(program, "a", "paned", program.dtype)))


def rows(times: np.ndarray, values: np.ndarray, panes: int) -> pl.DataFrame:
    """Rows of one group, as they come: panes of 1,000, a time of one each."""
    numbers = np.arange(times.size)
    return pl.DataFrame(
        {"pane": times // panes, "slot": np.zeros(times.size, np.int64), "v": numbers, "v1": values, "$ts": times}
    )


def total(panes: UserPanes | ArrayPanes, first: int, end: int) -> float:
    return float(panes.finish(first, end)["v"].struct.field("values").list.get(0)[0])


@pytest.mark.parametrize("kind", ["sql", "arrays"])
def test_panes_of_forty_thousand_rows_hold_a_value_each(kind: str) -> None:
    panes = held(kind)
    times = np.arange(40_000)
    panes.update(rows(times, np.ones(times.size), 10_000))
    assert panes.bytes > 1_000_000
    panes.settle(40_000)
    panes.advance(0, 4)
    assert total(panes, 0, 4) == 40_000
    assert panes.bytes < 300
    panes.advance(2, 4)
    assert total(panes, 2, 4) == 20_000


@pytest.mark.parametrize("kind", ["sql", "arrays"])
def test_rows_of_an_open_pane_wait_in_lots_that_batches_and_order_do_not_change(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pane_rows, "LOT", 16)
    monkeypatch.setattr(user_partials, "LOT", 16)
    random = np.random.default_rng(5)
    times, values = np.arange(200), random.random(200)  # sums of these differ in their last bits with the order
    answers = set()
    for disorder, size in ((1, 200), (1, 7), (10, 20), (10, 50)):
        panes = held(kind)
        order = np.concatenate([random.permutation(np.arange(i, i + disorder)) for i in range(0, 200, disorder)])
        frame = rows(times, values, 100)[pl.Series(order)]
        for start in range(0, 200, size):
            panes.update(frame[start : start + size])
            panes.settle((start + size) // disorder * disorder)
            assert panes.rows <= 16 * 2 + size + disorder
        panes.settle(200)
        assert panes.rows <= 2 * 16 + 2
        assert total(panes, 0, 2) == total(panes, 0, 2)  # provisional: changes nothing
        panes.advance(0, 2)
        answers.add(total(panes, 0, 2))
    assert len(answers) == 1


@pytest.mark.parametrize("kind", ["sql", "arrays"])
def test_a_late_row_of_a_folded_pane_counts_from_then_on(kind: str) -> None:
    panes = held(kind)
    panes.update(rows(np.array([1, 11, 21]), np.array([1.0, 2.0, 4.0]), 10))
    panes.advance(0, 2)
    assert total(panes, 0, 2) == 3
    panes.update(rows(np.array([12]), np.array([8.0]), 10))
    panes.advance(1, 3)
    assert total(panes, 1, 3) == 14
