"""Relations of aggregates against a model that recomputes every instant from all rows with exact arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_stream import aggregates
from jupyter_stream.core.messages import (
    BROKEN,
    LATE_ID,
    SIGN,
    TS,
    Batch,
    Failed,
    Message,
    Missed,
    Punctuation,
    Tick,
)
from jupyter_stream.core.time import MAX_TIME
from jupyter_stream.functions import resolve
from jupyter_stream.functions.expression import Column, Expr, Literal
from jupyter_stream.partials import frame_ranges
from jupyter_stream.partials.group_aggregate import GroupAggregate
from jupyter_stream.relations import relation as relation_state
from jupyter_stream.relations.relation_aggregate import RelationAggregate, RelationAggregateConfig
from jupyter_stream.windows import LifetimeWindow
from tests.tiers import examples, slow, thinned

TYPES = {"k": pl.String(), "f": pl.Float64(), "i": pl.Int64(), "s": pl.String(), "b": pl.Boolean()}
NAMES = tuple(TYPES)


@dataclass(frozen=True)
class Row:
    ts: int
    number: int
    values: dict[str, object]


@dataclass(frozen=True)
class Call:
    function: str
    column: str | None
    distinct: bool = False
    where: bool = False

    @property
    def name(self) -> str:
        return f"{self.function}({self.distinct},{self.column},{self.where})"


def operator(
    calls: list[Call], keys: tuple[str, ...] = (), range_: int | None = None, **more: frozenset[str]
) -> RelationAggregate:
    inputs = [*NAMES]
    made = []
    for call in calls:
        function = aggregates.find(call.function)
        assert function is not None
        given_types = [TYPES[call.column]] if call.column else []
        types, dtype = function.resolve(given_types, call.distinct)
        expressions = tuple(inputs.index(call.column) for _ in types if call.column)
        form = function.form(types, call.distinct, ())
        made.append(
            GroupAggregate(function, form, expressions, inputs.index("b") if call.where else None, dtype, call.name)
        )
    return RelationAggregate(
        RelationAggregateConfig(
            LifetimeWindow(range_),
            tuple((k, Column(k, TYPES.get(k, pl.Int64())), TYPES.get(k, pl.Int64())) for k in keys),
            tuple(Column(n, TYPES[n]) for n in inputs),
            tuple(made),
            **more,
        )
    )


def frame(rows: list[Row]) -> pl.DataFrame:
    columns = [pl.Series(n, [r.values.get(n) for r in rows], dtype=t) for n, t in TYPES.items()]
    return pl.DataFrame([*columns, pl.Series(TS, [r.ts for r in rows], dtype=pl.Int64())])


# -- the model -----------------------------------------------------------------------------------------------------------


def same(value: object) -> object:
    """Something two values share exactly when SQL finds them not distinct."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else value + 0.0
    return value


def order(value: object) -> tuple[int, object]:
    return (1, 0) if isinstance(value, float) and math.isnan(value) else (0, value)


def rounded(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def special(values: list[float]) -> float:
    odd = {v for v in values if math.isinf(v)}
    return math.nan if len(odd) != 1 or any(math.isnan(v) for v in values) else odd.pop()


def model(call: Call, rows: list[Row]) -> object:
    rows = [r for r in sorted(rows, key=lambda r: (r.ts, r.number)) if not call.where or r.values["b"] is True]
    if call.column is None:
        return len(rows)
    if call.function in ("first", "last"):
        return None if not rows else rows[0 if call.function == "first" else -1].values[call.column]
    values = [r.values[call.column] for r in rows if r.values[call.column] is not None]
    if call.distinct:
        values = list({same(v): v for v in values}.values())
    if call.function == "count":
        return len(values)
    if not values:
        return None
    if call.function == "min":
        return min(values, key=order)
    if call.function == "max":
        return max(values, key=order)
    ddof = 1 if call.function.endswith("samp") else 0
    n = len(values)
    if any(isinstance(v, float) and not math.isfinite(v) for v in values):
        if call.function in ("sum", "avg"):
            return special([float(v) for v in values])  # type: ignore[arg-type]
        return None if n <= ddof else math.nan
    exact = [Fraction(v) for v in values]  # type: ignore[arg-type]
    total = sum(exact, Fraction(0))
    if call.function == "sum":
        return int(total) if call.column == "i" else rounded(total)
    if call.function == "avg":
        return rounded(total / n)
    if n <= ddof:
        return None
    variance = rounded(sum(((v - total / n) ** 2 for v in exact), Fraction(0)) / (n - ddof))
    return math.sqrt(variance) if call.function.startswith("stddev") else variance


Change = tuple[int, int, tuple[object, ...]]


def expected(calls: list[Call], keys: tuple[str, ...], range_: int | None, rows: list[Row]) -> list[Change]:
    ends = [] if range_ is None else [r.ts + range_ for r in rows]
    found: list[Change] = []
    former: dict[tuple[object, ...], tuple[object, ...]] = {}
    for at in sorted({*(r.ts for r in rows), *ends}):
        alive = [r for r in rows if r.ts <= at and (range_ is None or at < r.ts + range_)]
        groups: dict[tuple[object, ...], list[Row]] = {} if keys else {(): alive}
        for r in alive if keys else []:
            groups.setdefault(tuple(same(r.values[k]) for k in keys), []).append(r)
        now = {k: (*k, *(same(model(c, g)) for c in calls)) for k, g in groups.items()}
        found += [(at, -1, former[k]) for k in former if now.get(k) != former[k]]
        found += [(at, +1, now[k]) for k in now if former.get(k) != now[k]]
        former = now
    return found


# -- driving it ----------------------------------------------------------------------------------------------------------


def changes(messages: list[Message]) -> list[Change]:
    found: list[Change] = []
    for message in messages:
        if isinstance(message, Batch):
            ats, signs = message.frame[TS].to_list(), message.frame[SIGN].to_list()
            rows = message.frame.drop(TS, SIGN).rows()
            found += [(at, sign, tuple(same(v) for v in row)) for at, sign, row in zip(ats, signs, rows, strict=True)]
    return found


def run(op: RelationAggregate, steps: list[list[Row] | int]) -> list[Message]:
    out: list[Message] = []
    for step in steps:
        if isinstance(step, int):
            out += op.on_punctuation(0, Punctuation(step))
        else:
            out += op.on_batch(0, Batch(frame(step)))
        op.check()
    return out


def assert_ordered(found: list[Change]) -> None:
    """By instant; leaving rows of an instant first; at most one of each per group (net)."""
    assert [(at, sign) for at, sign, _ in found] == sorted((at, sign) for at, sign, _ in found)


def by_instant(found: list[Change]) -> list[tuple[int, int, str]]:
    return sorted((at, sign, repr(row)) for at, sign, row in found)


EVERY = [
    *(Call(f, "f") for f in ("sum", "avg", "var_samp", "var_pop", "stddev_samp", "stddev_pop")),
    *(Call(f, c) for f in ("min", "max", "first", "last") for c in ("f", "i", "s", "b")),
    *(Call(f, "i") for f in ("sum", "avg")),
    Call("count", None),
    *(Call("count", c, distinct=d) for c in ("f", "i", "s", "b") for d in (False, True)),
    *(Call(f, c, distinct=True) for f in ("sum", "avg") for c in ("f", "i")),
    *(Call(f, "f", distinct=True) for f in ("min", "max", "var_samp", "stddev_pop")),
]
CALLS = [Call(c.function, c.column, c.distinct, where) for c in EVERY for where in (False, True)]

floats = st.one_of(
    st.sampled_from((0.0, -0.0, 0.1, 0.2, 0.3, 1e16, -1e16, 1e-300, 1e300, math.nan, math.inf, -math.inf)),
    st.integers(-40, 40).map(lambda n: n / 8),
    st.floats(-1e3, 1e3),
)
values = st.fixed_dictionaries(
    {
        "k": st.sampled_from(("a", "b", None)),
        "f": st.one_of(st.none(), floats, st.sampled_from((0.1, 2.5))),
        "i": st.one_of(st.none(), st.integers(-3, 3), st.integers(-(2**58), 2**58)),
        "s": st.sampled_from((None, "", "a", "B", "ä")),
        "b": st.sampled_from((True, False, None)),
    }
)


@st.composite
def arrivals(draw: st.DrawFn) -> tuple[list[Row], list[list[Row] | int]]:
    """Rows, and the batches and punctuations they come in: any order that keeps the promises."""
    span = draw(st.sampled_from((4, 12)))
    count = draw(st.integers(0, 14))
    times = [draw(st.integers(-span, span)) for _ in range(count)]
    cuts = sorted(set(draw(st.lists(st.integers(-span, 2 * span), max_size=4))))
    stages: list[list[int]] = [[] for _ in range(len(cuts) + 1)]
    for t in times:  # a row comes in any stage in which no punctuation beyond it has been given
        stages[draw(st.integers(0, sum(c <= t for c in cuts)))].append(t)
    rows: list[Row] = []
    steps: list[list[Row] | int] = []
    for i, stage in enumerate(stages):
        came = [Row(t, 0, draw(values)) for t in stage]
        came = [Row(r.ts, len(rows) + n, r.values) for n, r in enumerate(came)]
        rows += came
        while came:
            size = draw(st.integers(1, len(came)))
            steps.append(came[:size])
            came = came[size:]
        if i < len(cuts):
            steps.append(cuts[i])
    return rows, [*steps, MAX_TIME]


@settings(max_examples=examples(100), deadline=None)
@given(st.data())
def test_changes_are_those_of_recomputing_every_instant(data: st.DataObject) -> None:
    rows, steps = data.draw(arrivals())
    calls = data.draw(st.lists(st.sampled_from(CALLS), min_size=1, max_size=5, unique=True))
    keys = data.draw(st.sampled_from(((), ("k",), ("i",), ("f", "k"))))
    range_ = data.draw(st.sampled_from((None, 1, 2, 5, 30)))
    found = changes(run(operator(calls, keys, range_), steps))
    assert_ordered(found)
    assert by_instant(found) == by_instant(expected(calls, keys, range_, rows))


@pytest.mark.parametrize("call", thinned(CALLS), ids=lambda c: c.name)
@pytest.mark.parametrize("range_", thinned([1, None, 4]))
def test_each_aggregate_over_a_fixed_stream(call: Call, range_: int | None) -> None:
    random = np.random.default_rng(3)
    pool = (None, 0.1, 0.2, 0.3, -7.25, 1e16, math.nan, math.inf)
    rows = [
        Row(
            int(random.integers(0, 25)),
            n,
            {
                "k": "abc"[random.integers(0, 3)],
                "f": pool[random.integers(0, 5 if n < 40 else len(pool))],
                "i": (None, 1, 2, 2**60, -5)[random.integers(0, 5)],
                "s": (None, "x", "Y")[random.integers(0, 3)],
                "b": (True, True, False, None)[random.integers(0, 4)],
            },
        )
        for n in range(60)
    ]
    early = [r for r in rows if r.ts < 12]
    steps: list[list[Row] | int] = [early[::2], early[1::2], 5, 12, [r for r in rows if r.ts >= 12], MAX_TIME]
    rows = [*early[::2], *early[1::2], *(r for r in rows if r.ts >= 12)]
    rows = [Row(r.ts, n, r.values) for n, r in enumerate(rows)]
    found = changes(run(operator([call], ("k",), range_), steps))
    assert by_instant(found) == by_instant(expected([call], ("k",), range_, rows))


@settings(max_examples=examples(30), deadline=None)
@given(st.data())
def test_any_arrival_order_and_any_release_size_give_the_same(data: st.DataObject) -> None:
    rows, steps = data.draw(arrivals())
    calls = [Call("sum", "f"), Call("min", "s"), Call("count", "i", distinct=True), Call("var_pop", "f")]
    shuffled = data.draw(st.permutations(list(rows)))
    whole = changes(run(operator(calls, ("k",), 3), steps))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(relation_state, "_AT_ONCE", data.draw(st.integers(1, 5)))
        pieces = changes(run(operator(calls, ("k",), 3), [shuffled, MAX_TIME] if shuffled else [MAX_TIME]))
    assert_ordered(pieces)
    assert by_instant(pieces) == by_instant(whole)


# -- single facts --------------------------------------------------------------------------------------------------------


def one(ts: int, number: int = 0, **row: object) -> Row:
    return Row(ts, number, {"k": "a", "f": None, "i": None, "s": None, "b": None, **row})


def test_an_answer_waits_for_its_punctuation() -> None:
    op = operator([Call("count", None)], ("k",))
    assert run(op, [[one(5), one(3)]]) == []
    assert changes(run(op, [5])) == [(3, 1, ("a", 1))]
    assert changes(run(op, [6])) == [(5, -1, ("a", 1)), (5, 1, ("a", 2))]


def test_a_punctuation_is_passed_on_after_its_changes() -> None:
    messages = run(operator([Call("count", None)]), [[one(1)], 2])
    assert [type(m) for m in messages] == [Batch, Punctuation]
    assert messages[1] == Punctuation(2)


def test_a_row_replaced_by_its_equal_at_the_same_instant_changes_nothing() -> None:
    rows = [one(n, f=0.1) for n in range(50)]
    found = changes(run(operator([Call("sum", "f"), Call("avg", "f")], ("k",), 1), [rows, MAX_TIME]))
    assert found == [(0, 1, ("a", 0.1, 0.1)), (50, -1, ("a", 0.1, 0.1))]


def test_a_group_whose_last_row_expired_leaves_without_a_successor() -> None:
    found = changes(run(operator([Call("count", None)], ("k",), 10), [[one(1), one(4, k="b")], 12]))
    assert found == [(1, 1, ("a", 1)), (4, 1, ("b", 1)), (11, -1, ("a", 1))]


def test_an_ungrouped_relation_keeps_its_row_when_nothing_is_alive() -> None:
    found = changes(run(operator([Call("count", None), Call("max", "f")], (), 10), [[one(1, f=2.0)], MAX_TIME]))
    assert found == [(1, 1, (1, 2.0)), (11, -1, (1, 2.0)), (11, 1, (0, None))]


def test_an_ungrouped_relation_begins_with_the_first_input_row_even_if_that_never_came() -> None:
    op = operator([Call("count", None)])
    op.saw(2, 9)
    assert changes(run(op, [[one(5)], MAX_TIME])) == [(2, 1, (0,)), (5, -1, (0,)), (5, 1, (1,))]
    alone = operator([Call("count", None)], (), 4)
    alone.saw(2, 9)
    assert changes(run(alone, [MAX_TIME])) == [(2, 1, (0,))]


def test_no_rows_no_changes() -> None:
    assert run(operator([Call("count", None)]), [5, MAX_TIME]) == [Punctuation(5), Punctuation(MAX_TIME)]


def test_a_late_row_is_told_and_not_used() -> None:
    op = operator([Call("count", None)], ("k",))
    late = frame([one(9), one(2)]).with_columns(
        pl.Series(BROKEN, [None, 9], dtype=pl.Int64()), pl.Series(LATE_ID, [None, 7], dtype=pl.Int64())
    )
    messages = list(op.on_batch(0, Batch(late)))
    (missed,) = messages
    assert isinstance(missed, Missed) and missed.late_ids.tolist() == [7] and missed.missed is None
    assert op.control.late_rows == 1
    assert changes(run(op, [MAX_TIME])) == [(9, 1, ("a", 1))]


def test_a_row_that_broke_a_promise_this_input_never_made_is_used() -> None:
    op = operator([Call("count", None)], ("k",))
    late = frame([one(9)]).with_columns(
        pl.Series(BROKEN, [4], dtype=pl.Int64()), pl.Series(LATE_ID, [7], dtype=pl.Int64())
    )
    assert list(op.on_batch(0, Batch(late))) == []
    assert changes(run(op, [MAX_TIME])) == [(9, 1, ("a", 1))]


def test_a_failing_row_is_told_with_its_reason_and_the_others_count() -> None:
    quotient: Expr = resolve("/", [Literal(1, pl.Int64()), Column("i", pl.Int64())])
    function = aggregates.find("sum")
    assert function is not None
    types, dtype = function.resolve([quotient.dtype], False)
    aggregate = GroupAggregate(function, function.form(types, False, ()), (0,), None, dtype, "total")
    op = RelationAggregate(RelationAggregateConfig(LifetimeWindow(None), (), (quotient,), (aggregate,)))
    (failed,) = list(op.on_batch(0, Batch(frame([one(1, i=2), one(2, i=0)]))))
    assert isinstance(failed, Failed) and failed.frame[TS].to_list() == [2]
    assert changes(run(op, [MAX_TIME])) == [(1, 1, (0.5,))]


def test_a_sum_beyond_bigint_takes_the_answer_away_and_says_so() -> None:
    big = 2**62
    rows = [one(1, i=big), one(2, i=big), one(3, i=-5)]
    messages = run(operator([Call("sum", "i")], ("k",)), [rows, MAX_TIME])
    assert changes(messages) == [(1, 1, ("a", big)), (2, -1, ("a", big)), (3, 1, ("a", 2 * big - 5))]
    (failed,) = [m for m in messages if isinstance(m, Failed)]
    assert failed.frame.select("k", TS).rows() == [("a", 2)]


@pytest.mark.parametrize("range_", [None, 3])
@pytest.mark.parametrize("distinct", [False, True])
def test_sums_of_decimals_are_regrouped_at_each_look(
    range_: int | None, distinct: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frame_ranges, "_AT_ONCE", 3)
    dtype = pl.Decimal(10, 2)
    total = aggregates.find("sum")
    assert total is not None
    types, answer = total.resolve([dtype], distinct)
    aggregate = GroupAggregate(total, total.form(types, distinct, ()), (0,), None, answer, "total")
    config = RelationAggregateConfig(
        LifetimeWindow(range_), (("k", Column("k", pl.String()), pl.String()),), (Column("f", dtype),), (aggregate,)
    )
    rows = [
        Row(t, n, {"k": "ab"[n % 2], "f": f})
        for n, (t, f) in enumerate(
            [(1, 0.25), (2, None), (1, 0.25), (2, 1.5), (5, 0.25), (5, 2.0), (6, 0.5), (9, None), (9, 4.0)]
        )
    ]
    op, found = RelationAggregate(config), []
    for part, until in ((rows[:4], 3), (rows[4:], MAX_TIME)):
        list(op.on_batch(0, Batch(frame(part).with_columns(pl.col("f").cast(dtype)))))
        for message in op.on_punctuation(0, Punctuation(until)):
            if isinstance(message, Batch):
                found += changes([Batch(message.frame.with_columns(pl.col("total").cast(pl.Float64)))])
    assert by_instant(found) == by_instant(expected([Call("sum", "f", distinct=distinct)], ("k",), range_, rows))


def test_ticks_pass_through() -> None:
    assert list(operator([Call("count", None)]).on_tick(Tick(3))) == [Tick(3)]


# -- memory --------------------------------------------------------------------------------------------------------------


def long_stream(keys: Callable[[int], str | None]) -> Iterator[list[Row] | int]:
    for start in range(0, 40_000, 2_000):
        yield [one(t, k=keys(t), f=float(t % 7), s="ab"[t % 2]) for t in range(start, start + 2_000)]
        yield start + 2_000


HEAVY = [Call("count", None), Call("var_pop", "f"), Call("min", "s"), Call("count", "s", distinct=True)]


@slow
def test_state_over_a_window_follows_what_is_alive() -> None:
    op = operator(HEAVY, ("k",), 500)
    steps = list(long_stream(lambda t: f"group {t // 10}"))
    found = changes(run(op, steps[:6]))
    early = op.control.bytes
    found += changes(run(op, steps[6:]))
    assert op.control.bytes < 2 * early
    assert op.control.extra["live_rows"] == 500
    assert sum(sign for _, sign, _ in found) == 50
    found += changes(run(op, [MAX_TIME]))
    assert sum(sign for _, sign, _ in found) == 0


@slow
def test_state_without_expiry_keeps_no_rows() -> None:
    op = operator(HEAVY, ("k",))
    steps = list(long_stream(lambda t: "abc"[t % 3]))
    run(op, steps[:6])
    early = op.control.bytes
    run(op, steps[6:])
    assert op.control.bytes <= 2 * early
    assert op.control.extra["live_rows"] == 0


@slow
def test_groups_of_one_instant_are_forgotten_when_time_has_passed_them() -> None:
    inputs = tuple(Column(n, TYPES[n]) for n in NAMES)
    count = aggregates.find("count")
    assert count is not None
    aggregate = GroupAggregate(count, count.form((), False, ()), (), None, pl.Int64(), "n")
    time = Column("t", pl.Int64())
    peaks = {}
    for progressing in (frozenset({"t"}), frozenset[str]()):
        config = RelationAggregateConfig(
            LifetimeWindow(None), (("t", time, time.dtype),), inputs, (aggregate,), progressing
        )
        op = RelationAggregate(config)
        found: list[Change] = []
        for step in long_stream(lambda t: "a"):
            if isinstance(step, int):
                found += changes(list(op.on_punctuation(0, Punctuation(step))))
            else:
                found += changes(list(op.on_batch(0, Batch(frame([*step, *step]).with_columns(pl.col(TS).alias("t"))))))
        assert found == [(t, 1, (t, 2)) for t in range(40_000)]
        peaks[bool(progressing)] = op.control.extra["live_groups"]
    assert peaks[False] == 40_000
    assert peaks[True] < 5_000
