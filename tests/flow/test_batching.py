"""The law every operator obeys: the same rows, split into other batches, give the same answers."""

from collections.abc import Callable, Iterable

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream import aggregates
from jupyter_stream.core.messages import BROKEN, LATE_ID, TS, WINDOW_PART, Batch, Message, Missed, Punctuation, Tick
from jupyter_stream.core.time import MAX_TIME
from jupyter_stream.flow.filter import FilterOperator
from jupyter_stream.flow.meld import Meld
from jupyter_stream.flow.named import Named
from jupyter_stream.flow.project import ProjectOperator
from jupyter_stream.flow.protocol import Operator
from jupyter_stream.flow.retime import Retime
from jupyter_stream.flow.ticker import Ticker
from jupyter_stream.functions import cast, resolve
from jupyter_stream.functions.expression import Column, Literal
from jupyter_stream.partials.group_aggregate import GroupAggregate, GroupBy
from jupyter_stream.relations.relation_aggregate import RelationAggregate, RelationAggregateConfig
from jupyter_stream.relations.row_relation import RowRelation, RowRelationConfig
from jupyter_stream.windowed.key_extents import keyed_windows
from jupyter_stream.windowed.over_window import OverConfig, OverOperator
from jupyter_stream.windowed.row_window import RowWindowAggregate
from jupyter_stream.windowed.session_extents import session_aggregate
from jupyter_stream.windowed.tuple_extents import slide_by_tuple
from jupyter_stream.windowed.window_aggregate import WindowAggregate, WindowAggregateConfig
from jupyter_stream.windows import LifetimeWindow, OverWindow, RowWindow, SessionWindow, TimeWindow, TupleWindow
from tests.tiers import thinned

V = Column("v", pl.Int64())
INPUTS = (V, cast(V, pl.Float64()))


def calls_of(function: aggregates.AggregateFunction, index: int) -> Iterable[GroupAggregate]:
    """A call over numbers, if it takes any."""
    for inputs in ((0,), (0, 0)):
        try:
            types, dtype = function.resolve([pl.Int64()] * len(inputs), False)
        except aggregates.BadArguments:
            continue
        # the binder casts arguments to what the aggregate takes
        at = tuple(1 if t.is_float() else i for i, t in zip(inputs, types, strict=True))
        yield GroupAggregate(function, function.form(types, False, ()), at, None, dtype, f"a{index}")


K = Column("k", pl.Int64())
KEYS = (("k", K, pl.Int64()),)
CALLS = tuple(
    call for i, a in enumerate(a for a in aggregates.AGGREGATES if a.constant_from is None) for call in calls_of(a, i)
)


def windowed(window: TimeWindow) -> Callable[[], Operator]:
    return lambda: WindowAggregate(WindowAggregateConfig(window, GroupBy(KEYS, INPUTS, CALLS), provisional=True))


OPERATORS: dict[str, Callable[[], Operator]] = {
    "filter": lambda: FilterOperator(resolve(">", [V, Literal(2, pl.Int64())])),
    "project": lambda: ProjectOperator((("w", resolve("+", [V, V])), ("k", Column("k", pl.Int64())))),
    "union": lambda: Meld([["k", "v"]], ["k", "v"]),
    "named": lambda: Named("s"),
    "retime": lambda: Retime("v"),
    "ticker": lambda: Ticker(7),
    "tumbling": windowed(TimeWindow(10, 10)),
    "sliding": windowed(TimeWindow(9, 4)),
    "gaps": windowed(TimeWindow(2, 5)),
    "landmark": windowed(TimeWindow(None, 5)),
    "rows": lambda: RowWindowAggregate(RowWindow(5, 2), GroupBy(KEYS, INPUTS, CALLS), ()),
    "partitioned rows": lambda: RowWindowAggregate(RowWindow(5, 2, (("k", K),)), GroupBy(KEYS, INPUTS, CALLS), (0,)),
    "windows of keys": lambda: keyed_windows(TimeWindow(9, 4), GroupBy(KEYS, INPUTS, CALLS), 0, provisional=True),
    "newest rows": lambda: RowRelation(RowRelationConfig(RowWindow(5), KEYS, INPUTS, CALLS)),
    "newest rows of partitions": lambda: RowRelation(
        RowRelationConfig(
            RowWindow(2, None, (("k", K),)), KEYS, INPUTS, CALLS, resolve(">", [V, Literal(0, pl.Int64())])
        )
    ),
    "sessions": lambda: session_aggregate(SessionWindow(4), GroupBy(KEYS, INPUTS, CALLS), (0,)),
    "slide by tuple": lambda: slide_by_tuple(TupleWindow(7), GroupBy(KEYS, INPUTS, CALLS)),
    "slide by rank": lambda: slide_by_tuple(TupleWindow(7, 3, True), GroupBy(KEYS, INPUTS, CALLS)),
    "relation": lambda: RelationAggregate(RelationAggregateConfig(LifetimeWindow(6), KEYS, INPUTS, CALLS)),
    "over rows": lambda: OverOperator(OverConfig(OverWindow(rows=3, partition=(K,)), INPUTS, CALLS)),
    "over a range": lambda: OverOperator(OverConfig(OverWindow(range=6, partition=(K,)), INPUTS, CALLS)),
    "over all so far": lambda: OverOperator(OverConfig(OverWindow(partition=(K,)), INPUTS, CALLS)),
    "over, each third": lambda: OverOperator(OverConfig(OverWindow(rows=3, partition=(K,), every=3), INPUTS, CALLS)),
    "over, by slots": lambda: OverOperator(OverConfig(OverWindow(range=6, slot=5), INPUTS, CALLS)),
    "over, on expiry": lambda: OverOperator(
        OverConfig(OverWindow(range=6, partition=(K,), on_expiry=True), INPUTS, CALLS)
    ),
}

rows = st.lists(st.tuples(st.integers(-20, 60), st.sampled_from([None, 1, 2]), st.integers(-5, 5)), max_size=30)


def shown(messages: Iterable[Message]) -> list[object]:
    """Rows given between punctuations and ticks, each lot as a bag."""
    out: list[object] = []
    lot: list[tuple] = []
    for message in messages:
        if isinstance(message, Batch):
            # only in batches that hold late rows; how partitions are numbered says nothing
            frame = message.frame.drop(BROKEN, LATE_ID, WINDOW_PART, strict=False)
            frame = frame.select(pl.col(sorted(frame.columns))).with_columns(pl.selectors.float().round(9))
            lot += [(message.provisional, *r) for r in frame.rows()]
        elif isinstance(message, Missed):
            missed = [None] * message.late_ids.size if message.missed is None else message.missed.tolist()
            lot += [("missed", *p) for p in zip(message.late_ids.tolist(), missed, strict=True)]
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


@pytest.mark.parametrize("name", thinned(OPERATORS, 16))
@given(rows, st.integers(0, 15), st.lists(st.integers(1, 9), max_size=8))
def test_any_split_into_batches_gives_the_same_answers(name: str, given_rows: list, delay: int, sizes: list) -> None:
    whole = run(OPERATORS[name](), given_rows, delay, [])
    assert run(OPERATORS[name](), given_rows, delay, sizes) == whole
