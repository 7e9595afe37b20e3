"""Budgets: what a share of a core pays for, measured and corrected as it goes; idle time by weight."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import jupyter_stream
from jupyter_stream.budget.costs import Cost
from jupyter_stream.budget.spending import Spending
from jupyter_stream.core.coverage import WHOLE
from jupyter_stream.core.messages import TS, Batch, Punctuation
from jupyter_stream.plan.preference import Budget
from tests.budget.promised import DECLARED, JOIN, LATER, QUERIES, SELECTION, Run, bound, rows, run
from tests.tiers import slow

MILLISECOND = 1_000_000
SECOND = 1_000_000_000


@pytest.fixture(scope="module")
def session() -> Any:
    with jupyter_stream.Session({"one": rows(1, 400, 600), "two": rows(2, 400, 600)}) as session:
        session.execute(DECLARED)
        yield session


def test_idle_time_is_shared_out_by_weight_and_none_starves(session):
    arrivals = rows(13, 3_000, 200).with_columns(pl.col("ts").alias(TS))
    running = {}
    for weight in (1.0, 3.0, 0.1):
        query = replace(bound(session, SELECTION, 0.001), weight=weight)
        running[weight] = Run(query)
        spending = running[weight].spending
        spending.operator.control.settings["rest_probes"] = max(1, int(300 * weight))
        running[weight].tell(0, Batch(arrivals))
        running[weight].tell(0, Punctuation(LATER))
    for _ in range(2):  # as the engine does: each in turn
        for each in running.values():
            spending = each.spending
            each.circuit.run(spending.step, spending.operator.take_up(spending.idle(live=True)))
    made = {weight: each.spending.operator.probes for weight, each in running.items()}
    assert made[3.0] - made[1.0] == pytest.approx(1_200, abs=5)
    assert made[0.1] >= 60


def test_weights_set_how_much_is_taken_up_at_a_time(session):
    sizes = {}
    for weight in (1.0, 4.0):
        step = Run(replace(bound(session, SELECTION, 1.0), weight=weight)).spending
        sizes[weight] = step.idle(live=True)
    assert sizes[4.0] == 4 * sizes[1.0]


def spends(session: Any, text: str, share: float, now: list[int], used: list[int]) -> Spending:
    """A budget with clocks of its own."""
    query = replace(bound(session, text, 1.0), budget=Budget("share", share))
    running = Run(query).spending
    assert running is not None
    return Spending(running.step, running.operator, query.budget, 1.0, clock=lambda: now[0], processor=lambda: used[0])


def test_a_share_of_a_core_pays_for_what_it_was_measured_to_cost(session):
    now, used = [0], [0]
    spending = spends(session, SELECTION, 0.2, now, used)
    operator = spending.operator

    def make(probes: int, each: int, once: int) -> None:
        spending.probes()
        used[0] += once + probes * each
        operator.promises.probes += probes
        spending.made()

    spending.work(lambda: None)  # the clock starts
    now[0] = 100 * MILLISECOND  # 20 of them may have been spent
    assert operator.allowance.probes() == 64  # as long as none is measured, few
    for many in (256, 2_000, 1_000, 4_000):
        now[0] += 200 * MILLISECOND
        spending.work(lambda many=many: make(many, each=10_000, once=2 * MILLISECOND))
    left = 0.2 * now[0] - used[0]
    assert operator.allowance.probes() == pytest.approx((left - 2 * MILLISECOND) / 10_000, rel=0.01)
    spending.work(lambda: used.__setitem__(0, used[0] + 100 * MILLISECOND))
    assert operator.allowance.probes() == 0.0  # too much was spent
    assert spending.idle(live=True) == 0
    assert operator.allowance.ready([1]) == 0
    now[0] += SECOND
    assert operator.allowance.probes() > 0
    assert spending.share == pytest.approx(used[0] / now[0])


def test_a_stall_is_forgotten_and_no_more_than_the_share_of_a_second_is_saved_up(session):
    now, used = [0], [0]
    spending = spends(session, SELECTION, 0.2, now, used)
    operator = spending.operator

    def make(probes: int, nanoseconds: int) -> None:
        spending.probes()
        used[0] += nanoseconds
        operator.promises.probes += probes
        spending.made()

    spending.work(lambda: None)
    now[0] = SECOND
    spending.work(lambda: make(1, 900 * MILLISECOND))  # the core was busy with something else
    assert operator.allowance.probes() == 0
    now[0] = 30 * SECOND  # more time than is saved up: some are made, dear as they seem
    operator.promises.left = 1_000
    for least in (1, 4, 16):  # as long as so few are too few for any
        assert operator.allowance.probes() == least
        operator.allowance.made()
    now[0] += SECOND
    for _ in range(60):
        now[0] += SECOND // 100
        spending.work(lambda: make(100, 1_000_000))
    now[0] += 100 * SECOND
    assert operator.allowance.probes() == 400  # at most four times as many as before
    spending.work(lambda: make(16_000, 160_000_000))
    now[0] += 100 * SECOND
    assert operator.allowance.probes() == pytest.approx(0.2 * SECOND / 10_000, rel=0.05)


def test_rows_are_got_ready_when_there_is_time_for_them_and_for_as_much_of_their_probes(session):
    now, used = [0], [0]
    spending = spends(session, JOIN.format("DESC"), 0.1, now, used)
    begun: list[int] = []

    def begin() -> None:
        """Of slots of 100 rows, of which each takes 20 µs and each time 1 ms."""
        many = spending.ready([100] * 8)
        begun.append(many)
        if many:
            used[0] += 1 * MILLISECOND + many * 100 * 20_000
            assert spending.probes() > 0 or len(begun) < 3
            used[0] += max(1, many - 1) * 2 * MILLISECOND
            spending.made()

    spending.work(lambda: None)  # the clock starts
    for now[0] in range(10 * MILLISECOND, 20 * SECOND, 10 * MILLISECOND):  # 1 ms is earned at a time
        spending.work(begin)
        assert used[0] <= 0.1 * now[0] + 20 * MILLISECOND
    assert used[0] == pytest.approx(0.1 * now[0], rel=0.05)
    assert begun.count(0) > 100
    assert {1, 2} <= set(begun)  # as many slots as there is time for, more when more is known
    # a slot alone costs 3 ms and the time for its probes: many at once are got ready with less
    assert sum(begun) * 4 * MILLISECOND < 1.1 * used[0]


def test_a_replay_counts_what_it_is_about_to_have_spent(session):
    """The operator's own time is told when a step of it is over; within one the processor's counts."""
    now, used = [0], [0]
    spending = spends(session, JOIN.format("DESC"), 0.5, now, used)
    replay = Spending(
        spending.step, spending.operator, Budget("share", 0.5), 1.0, True, lambda: now[0], lambda: used[0]
    )
    replay.work(lambda: None)
    now[0] = 100 * MILLISECOND
    assert replay.ready([10]) == 1
    used[0] += 30 * MILLISECOND
    assert replay.spent == 30 * MILLISECOND
    replay.probes()
    replay.made()
    spending.operator.control.nanoseconds += 31 * MILLISECOND
    used[0] += 500 * MILLISECOND  # others' work
    assert replay.spent == 31 * MILLISECOND


@slow
@pytest.mark.parametrize("share", [0.03, 0.2])
@pytest.mark.parametrize("text", ["join DESC", "join WEIGHTED", "selection WEIGHTED"])
def test_over_any_window_of_the_preference_the_budget_is_spent_and_not_more(text, share):
    """The real operator and its real rounds, by a clock that goes on as rows come and a processor whose work has a price.

    All there is to do would take three times the budget. The price of what is done changes by half on the way.
    """
    window, many = 60, 24_000
    end = 4 * window
    sold = {}
    for seed, name in ((41, "one"), (42, "two")):  # many items, so that none has many rows at a time
        chance = np.random.default_rng(seed)
        items = pl.Series("ItemNo", chance.integers(0, 100, many) * chance.integers(0, 100, many) // 4)
        sold[name] = rows(seed, many, end * 1_000_000).with_columns(pl.col("ts") + 1, items)
    declared = DECLARED.replace("64 MICROSECONDS", f"{window} SECONDS")
    query_text = (
        QUERIES[text].replace("ItemNo > 2 AND", "").replace("WINDOW 60 MICROSECONDS", f"WINDOW {window} SECONDS")
    )
    with jupyter_stream.Session(sold) as session:
        session.execute(declared)
        running = Run(replace(bound(session, query_text, 1.0), budget=Budget("share", share)))
    spending, operator = running.spending, running.spending.operator
    now, messages, prices = [0], [0], [0]
    at = dict.fromkeys(("rounds", "rows", "probes"), 0)

    def processor() -> int:
        """What has been done since it was asked the last time, at today's prices: 1 ms a message, 5 ms a round, 15 µs a row."""
        done = {"rounds": operator.rounds, "rows": operator.got_ready, "probes": operator.probes}
        each = {"rounds": 5_000_000, "rows": 15_000, "probes": int((6 if "join" in text else 30) * MILLISECOND * share)}
        factor = 1.5 if now[0] > end * SECOND // 2 else 1.0
        prices[0] += int(factor * sum((done[name] - at[name]) * each[name] for name in done)) + messages[0] * 1_000_000
        at.update(done)
        messages[0] = 0
        return prices[0]

    def tell(stream: int, message: Any) -> None:
        messages[0] += 1
        running.tell(stream, message)

    spending._clock, spending._processor = lambda: now[0], processor
    spending.work(lambda: None)
    spent = []
    sides = list(sold.values())[: len(running.streams)]
    for tenth in range(10, 10 * end):
        now[0] = tenth * SECOND // 10
        if tenth % 10 == 0:  # a second of rows at a time, and idle time between
            for stream, frame in enumerate(sides):
                upto = (tenth // 10) * 1_000_000
                part = frame.filter((pl.col("ts") > upto - 1_000_000) & (pl.col("ts") <= upto))
                spending.work(lambda p=part, s=stream: tell(s, Batch(p.with_columns(pl.col("ts").alias(TS)))))
                spending.work(lambda u=upto, s=stream: tell(s, Punctuation(u + 1)))
        if operator.left and (probes := spending.idle(live=True)):
            spending.work(lambda n=probes: running.circuit.run(spending.step, operator.take_up(n)))
        spent.append(spending.spent / SECOND)
    operator.check()
    assert operator.left > 100
    begin = window if "join" in text else window // 2  # by then there is something to do
    taken = [spent[t + 10 * window] - spent[t] for t in range(10 * begin, len(spent) - 10 * window)]
    assert min(taken) > 0.8 * share * window
    assert max(taken) < 1.2 * share * window


@pytest.mark.parametrize("text", ["join DESC", "join WEIGHTED", "selection DESC", "selection WEIGHTED"])
def test_slots_wait_for_time_and_are_then_got_ready_together(session, text):
    class Time:
        """No time but now and then."""

        def __init__(self) -> None:
            self.asked = 0

        def ready(self, rows: Sequence[int]) -> int:
            self.asked += 1
            return len(rows) if self.asked % 3 == 0 else 0

        def probes(self) -> float:
            return 20.0

        def made(self) -> None:
            pass

    arrivals = [rows(31, 800, 800), rows(32, 800, 800)][: 2 if "join" in text else 1]
    _, exact = run(bound(session, QUERIES[text], None), arrivals, [])
    running = Run(bound(session, QUERIES[text], 1.0))
    operator = running.spending.operator
    operator.allowance = Time()
    waited = False
    for begin in range(0, 800, 50):
        for stream, frame in enumerate(arrivals):
            part = frame.filter((pl.col("ts") >= begin) & (pl.col("ts") < begin + 50))
            running.tell(stream, Batch(part.with_columns(pl.col("ts").alias(TS))))
            running.tell(stream, Punctuation(begin + 50))
        operator.check()
        waited |= operator.left > operator.promises.left
        assert operator.left == 0 or operator.coverage.share < 1
    before = Counter(running.given)
    assert waited
    assert Counter() < before < exact
    running.end()
    assert Counter(running.given) == exact
    assert operator.coverage == WHOLE


def test_a_replay_with_probes_per_row_takes_nothing_up_before_its_end(session):
    spending = Run(bound(session, SELECTION, 1.0)).spending
    assert spending.idle(live=False) == 0
    assert spending.idle(live=True) > 0


def test_what_a_piece_of_work_costs_is_a_line_through_the_last_few():
    cost = Cost(1_000.0)
    assert cost.of(10) == 10_000  # guessed
    for size in (100, 300, 200, 500):
        cost.took(size, 5_000 + 20 * size)
    assert cost.line == pytest.approx((5_000, 20))
    assert cost.within(15_000) == pytest.approx(500)
    assert cost.within(4_000) == 0
    for size in (200, 400) * 10:  # it has become dearer
        cost.took(size, 9_000 + 30 * size)
    assert cost.line == pytest.approx((9_000, 30), rel=0.05)


def test_pieces_of_one_size_leave_open_what_each_time_costs():
    cost = Cost(1_000.0)
    for _ in range(4):
        cost.took(100, 8_000)
    assert cost.of(100) == pytest.approx(8_000)
    assert cost.of(200) == pytest.approx(12_000)


def test_a_stall_counts_as_twice_what_was_expected():
    cost = Cost(1_000.0)
    for size in (100, 300, 200, 500):
        cost.took(size, 5_000 + 20 * size)
    cost.took(300, 10**9)
    assert cost.of(300) < 30_000
