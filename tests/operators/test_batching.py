"""The law every operator obeys: the same rows, split into other batches, give the same answers."""

from collections.abc import Callable, Iterable

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream import aggregates
from jupyter_stream.core.messages import BROKEN, LATE_ID, TS, Batch, Message, Missed, Punctuation, Tick
from jupyter_stream.core.time import MAX_TIME
from jupyter_stream.functions import resolve
from jupyter_stream.functions.expression import Column, Literal
from jupyter_stream.operators.filter import Filter
from jupyter_stream.operators.meld import Meld
from jupyter_stream.operators.named import Named
from jupyter_stream.operators.project import Project
from jupyter_stream.operators.protocol import Operator
from jupyter_stream.operators.retime import Retime
from jupyter_stream.operators.ticker import Ticker
from jupyter_stream.operators.window_aggregate import WindowAggregate, WindowAggregateConfig
from jupyter_stream.state.groups import GroupAggregate
from jupyter_stream.windows import TimeWindow

V = Column("v", pl.Int64())


def calls_of(function: aggregates.AggregateFunction, index: int) -> Iterable[GroupAggregate]:
    """A call over numbers, if it takes any."""
    for inputs in ((0,), (0, 0)):
        try:
            types, dtype = function.resolve([pl.Int64()] * len(inputs), False)
        except aggregates.BadArguments:
            continue
        yield GroupAggregate(function, function.form(types, False, ()), inputs, None, dtype, f"a{index}")


def windowed(window: TimeWindow) -> Callable[[], Operator]:
    functions = [a for a in aggregates.AGGREGATES if a.constant_from is None]
    calls = tuple(call for i, a in enumerate(functions) for call in calls_of(a, i))
    keys = (("k", Column("k", pl.Int64()), pl.Int64()),)
    return lambda: WindowAggregate(WindowAggregateConfig(window, keys, (V,), calls, provisional=True))


OPERATORS: dict[str, Callable[[], Operator]] = {
    "filter": lambda: Filter(resolve(">", [V, Literal(2, pl.Int64())])),
    "project": lambda: Project((("w", resolve("+", [V, V])), ("k", Column("k", pl.Int64())))),
    "union": lambda: Meld([["k", "v"]], ["k", "v"]),
    "named": lambda: Named("s"),
    "retime": lambda: Retime("v"),
    "ticker": lambda: Ticker(7),
    "tumbling": windowed(TimeWindow(10, 10)),
    "sliding": windowed(TimeWindow(9, 4)),
    "gaps": windowed(TimeWindow(2, 5)),
    "landmark": windowed(TimeWindow(None, 5)),
}

rows = st.lists(st.tuples(st.integers(-20, 60), st.sampled_from([None, 1, 2]), st.integers(-5, 5)), max_size=30)


def shown(messages: Iterable[Message]) -> list[object]:
    """Rows given between punctuations and ticks, each lot as a bag."""
    out: list[object] = []
    lot: list[tuple] = []
    for message in messages:
        if isinstance(message, Batch):
            frame = message.frame.drop(BROKEN, LATE_ID, strict=False)  # only in batches that hold late rows
            frame = frame.select(pl.col(sorted(frame.columns))).with_columns(pl.selectors.float().round(9))
            lot += [(message.provisional, *r) for r in frame.rows()]
        elif isinstance(message, Missed):
            pairs = zip(message.late_ids.tolist(), message.missed.tolist(), strict=True)  # type: ignore[union-attr]
            lot += [("missed", *p) for p in pairs]
        elif isinstance(message, Punctuation | Tick):
            out += [sorted(lot, key=repr), message]
            lot = []
    return [*out, sorted(lot, key=repr)]


def run(operator: Operator, given_rows: list[tuple], delay: int, sizes: list[int]) -> list[object]:
    frame = pl.DataFrame(given_rows, schema={TS: pl.Int64, "k": pl.Int64, "v": pl.Int64}, orient="row").select(
        "k", "v", TS
    )
    newest = np.maximum.accumulate(frame[TS].to_numpy()) if given_rows else np.empty(0, np.int64)
    promised = np.concatenate([[-(10**6)], newest[:-1] - delay]) if given_rows else newest
    late = frame[TS].to_numpy() < promised
    frame = frame.with_columns(
        pl.Series(BROKEN, promised).set(pl.Series(~late), None),
        pl.Series(LATE_ID, np.arange(len(given_rows))).set(pl.Series(~late), None),
    )
    messages: list[Message] = []
    start = 0
    for size in [*sizes, len(given_rows)]:
        piece = frame[start : start + size]
        if not piece.height:
            continue
        start += size
        if not piece[BROKEN].is_not_null().any():
            piece = piece.drop(BROKEN, LATE_ID)
        messages += operator.on_batch(0, Batch(piece))
        # punctuations belong between batches: they are left out of what is compared, their effect is not
        given_back = operator.on_punctuation(
            0, Punctuation(int(newest[start - 1 if start <= len(newest) else -1]) - delay)
        )
        messages += [m for m in given_back if not isinstance(m, Punctuation)]
    messages += operator.on_punctuation(0, Punctuation(MAX_TIME))
    return shown(messages)


@pytest.mark.parametrize("name", OPERATORS)
@given(rows, st.integers(0, 15), st.lists(st.integers(1, 9), max_size=8))
def test_any_split_into_batches_gives_the_same_answers(name: str, given_rows: list, delay: int, sizes: list) -> None:
    whole = run(OPERATORS[name](), given_rows, delay, [])
    assert run(OPERATORS[name](), given_rows, delay, sizes) == whole
