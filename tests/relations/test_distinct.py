"""δ* step by step: a gap in a value's life within one step is told, whatever other values do."""

from __future__ import annotations

import polars as pl
import pytest

from jupyter_stream.core.messages import SIGN, TS, UNTIL, Batch, Punctuation
from jupyter_stream.core.schema import Field, Schema
from jupyter_stream.relations.alive import AliveOperator
from jupyter_stream.relations.distinct import DistinctConfig, DistinctOperator
from jupyter_stream.windows import LifetimeWindow


@pytest.mark.parametrize("lives", [False, True], ids=["changes", "stretches"])
def test_a_value_that_ends_between_two_rows_of_a_step_leaves_and_enters(lives: bool) -> None:
    operator = DistinctOperator(DistinctConfig(Schema((Field("k", pl.String()),)), 10, lives=lives))
    told: set[tuple[str, int, int]] = set()
    for rows, until in ([("a", 0)], 1), ([("b", 8), ("a", 12), ("c", 19)], 20), ([("c", 21)], 40):
        frame = pl.DataFrame(rows, schema={"k": pl.String(), TS: pl.Int64()}, orient="row")
        assert not list(operator.on_batch(0, Batch(frame)))
        for message in operator.on_punctuation(0, Punctuation(until)):
            if isinstance(message, Batch):
                told |= set(message.frame.select("k", TS, UNTIL if lives else SIGN).rows())
        operator.check()
    if lives:
        assert told == {("a", 0, 10), ("a", 12, 22), ("b", 8, 18), ("c", 19, 29), ("c", 29, 31)}
    else:
        enter, leave = {("a", 0), ("a", 12), ("b", 8), ("c", 19)}, {("a", 10), ("a", 22), ("b", 18), ("c", 31)}
        assert told == {(k, at, 1) for k, at in enter} | {(k, at, -1) for k, at in leave}


def test_few_values_take_a_twentieth_of_the_rows_alive() -> None:
    rows, values, window = 100_000, 1_000, 1_000_000
    frame = pl.DataFrame({"k": [f"128.3.{i % values // 250}.{i % 250}" for i in range(rows)], TS: range(rows)})
    operator = DistinctOperator(DistinctConfig(Schema((Field("k", pl.String()),)), window))
    alive = AliveOperator(LifetimeWindow(window), ("k",))
    for keeper in (operator, alive):
        for begin in range(0, rows, 10_000):
            list(keeper.on_batch(0, Batch(frame[begin : begin + 10_000])))
            list(keeper.on_punctuation(0, Punctuation(begin + 10_000)))
    assert 20 * operator.control.bytes < alive.control.bytes
