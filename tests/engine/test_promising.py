"""Queries with a budget: a part of the exact answer first, the same part whatever the batches, and all of it in the end."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jupyter_stream
from jupyter_stream import language
from jupyter_stream.core.coverage import WHOLE
from jupyter_stream.core.messages import COVERAGE, TS, Batch, Message, Punctuation
from jupyter_stream.core.time import MAX_TIME
from jupyter_stream.engine.circuit import Circuit
from jupyter_stream.engine.spending import Budgeted, Spending
from jupyter_stream.errors import QueryError, UnsupportedError
from jupyter_stream.operators.graph import build
from jupyter_stream.plan.logical import Query, streams
from jupyter_stream.plan.preference import Budget, parse_budget

DECLARED = """
CREATE STREAM Store1 (ItemNo BIGINT, Price DOUBLE, ts BIGINT) ORDER BY ts SOURCE 'frame://one';
CREATE STREAM Store2 (ItemNo BIGINT, Price DOUBLE, ts BIGINT) ORDER BY ts SOURCE 'frame://two';
CREATE SUMMARY items1 ON Store1 (ItemNo) WITH GRANULARITY 64 MICROSECONDS AND COLLAPSE (2, 3);
CREATE SUMMARY items2 ON Store2 (ItemNo) WITH GRANULARITY 64 MICROSECONDS AND COLLAPSE (2, 3);
"""
JOIN = """SELECT S1.ItemNo, S1.ts AS t1, S2.ts AS t2 FROM Store1 S1, Store2 S2 WHERE S1.ItemNo = S2.ItemNo
WITH PREFERENCE {} SUMMARY.Estimate.Count(S1.ItemNo), SUMMARY.Estimate.Count(S2.ItemNo)
FADE FACTOR 0.8 WINDOW 60 MICROSECONDS"""
SELECTION = "SELECT ItemNo, ts FROM Store1 WHERE ItemNo > 2 AND Price > 0.3"
QUERIES = {
    **{f"join {order}": JOIN.format(order) for order in ("DESC", "ASC", "WEIGHTED")},
    "join, uniform": JOIN[: JOIN.index("WITH")]
    .replace("Store1 S1", "Store1 [RANGE 60 MICROSECONDS] S1")
    .replace("Store2 S2", "Store2 [RANGE 60 MICROSECONDS] S2"),
    **{
        f"selection {order}": f"{SELECTION} WITH PREFERENCE {order} SUMMARY.Estimate.Count(ItemNo) * ItemNo"
        for order in ("DESC", "ASC", "WEIGHTED")
    },
    "selection, uniform": SELECTION,
}


def rows(seed: int, many: int, span: int) -> pl.DataFrame:
    """A store's sales: some items go often, most seldom."""
    chance = np.random.default_rng(seed)
    items = np.minimum(chance.zipf(1.5, many) - 1, 40)
    times = np.sort(chance.integers(0, span, many))
    return pl.DataFrame({"ItemNo": items, "Price": chance.random(many), "ts": times})


@pytest.fixture(scope="module")
def session() -> Any:
    with jupyter_stream.Session({"one": rows(1, 400, 600), "two": rows(2, 400, 600)}) as session:
        session.execute(DECLARED)
        yield session


def bound(session: jupyter_stream.Session, text: str, probes: float | None) -> Query:
    (statement,) = language.parse(text)
    assert isinstance(statement, language.Select)
    query = language.bind_query(statement, session.catalog)
    return query if probes is None else replace(query, budget=Budget("probes", probes))


class Run:
    """A query's operators, given batches by hand."""

    def __init__(self, query: Query) -> None:
        self.graph = build(query)
        self.given: list[tuple[Any, ...]] = []
        self.estimates: list[pl.DataFrame] = []
        self.circuit = Circuit(self._take, lambda aside: None)
        self.columns = query.plan.schema.names
        self.spending = None
        for step in self.graph.steps:
            if query.budget is not None and isinstance(step.operator, Budgeted):
                self.spending = Spending(step, step.operator, query.budget, query.weight)
        self.streams = streams(query.plan)
        self.circuit.feed = object()  # type: ignore[assignment]  # whose message is under way; nobody asks here

    def _take(self, message: Message) -> None:
        if isinstance(message, Batch) and message.provisional is not None:
            self.estimates.append(message.frame)
        elif isinstance(message, Batch):
            self.given += message.frame.select(self.columns).rows()

    def tell(self, stream: int, message: Message) -> None:
        for entry in self.graph.entries:
            if entry.stream is self.streams[stream]:
                self.circuit.deliver(entry.target, message)

    def end(self) -> None:
        for stream in range(len(self.streams)):
            self.tell(stream, Punctuation(MAX_TIME))
        while self.circuit.resting:
            self.circuit.go_on()


def run(query: Query, arrivals: list[pl.DataFrame], cuts: list[tuple[int, int]]) -> tuple[Counter[Any], Counter[Any]]:
    """Answers given when all rows have come and nothing else, and answers in the end.

    Args:
        query: what to run.
        arrivals: rows of each stream in the order they come.
        cuts: (stream, rows) that come next; what they leave comes at last, stream by stream.
    """
    running = Run(query)
    at = [0] * len(arrivals)
    for stream, many in [*cuts, *((stream, len(frame)) for stream, frame in enumerate(arrivals))]:
        if stream >= len(arrivals):
            continue
        frame = arrivals[stream][at[stream] : at[stream] + many]
        at[stream] += many
        if frame.height:
            running.tell(stream, Batch(frame.with_columns(pl.col("ts").alias(TS))))
        rest = arrivals[stream]["ts"][at[stream] :]
        running.tell(stream, Punctuation(int(rest.to_numpy().min()) if len(rest) else LATER))
    before = Counter(running.given)
    running.end()
    return before, Counter(running.given)


def shuffled(frame: pl.DataFrame, seed: int, by: int) -> pl.DataFrame:
    """Rows that come at most so many microseconds of their own time late."""
    late = np.random.default_rng(seed).integers(0, by, frame.height)
    return frame[pl.Series(np.argsort(frame["ts"].to_numpy() + late, kind="stable"))]


LATER = 10_000_000
"""After all rows, and the slots they are in."""
CUTS = st.lists(st.tuples(st.integers(0, 1), st.integers(1, 40)), max_size=8)


@pytest.mark.parametrize("name", QUERIES)
@settings(max_examples=3, deadline=None)
@given(cuts=CUTS, seed=st.integers(0, 3), late=st.sampled_from([1, 50]), probes=st.sampled_from([0.1, 0.5, 3.0]))
def test_a_budget_gives_a_part_of_the_answer_whatever_the_batches_and_all_in_the_end(
    session, name, cuts, seed, late, probes
):
    arrivals = [shuffled(rows(seed * 2 + side, 60, 100), seed, late) for side in (0, 1)]
    arrivals = arrivals[: 2 if "join" in name else 1]
    _, exact = run(bound(session, QUERIES[name], None), arrivals, cuts)
    query = bound(session, QUERIES[name], probes)
    before, after = run(query, arrivals, cuts)
    assert before <= exact  # none that isn't one, none twice
    assert after == exact
    assert before == run(query, arrivals, [])[0]


def test_a_small_budget_leaves_something_and_a_large_one_nothing(session):
    arrivals = [rows(5, 200, 200), rows(6, 200, 200)]
    for name, text in QUERIES.items():
        used = arrivals[: 2 if "join" in name else 1]
        _, exact = run(bound(session, text, None), used, [])
        some, _ = run(bound(session, text, 0.5), used, [])
        assert some.total() < exact.total(), name
        assert some.total() > 0 or "ASC" in name, name
        every, _ = run(bound(session, text, 1_000.0), used, [])
        assert every == exact, name


def test_desc_finds_more_and_asc_rarer_answers_than_a_uniform_sample_with_the_same_probes(session):
    arrivals = [rows(7, 800, 400), rows(8, 800, 400)]
    found = {o: run(bound(session, QUERIES[o], 0.6), arrivals, [])[0] for o in QUERIES if "join" in o}
    probes = {o: sum(n for n in found[o].values()) for o in found}
    _, exact = run(bound(session, QUERIES["join DESC"], None), arrivals, [])
    assert probes["join DESC"] > 1.5 * probes["join WEIGHTED"]
    often = Counter(dict.fromkeys(range(41), 0))
    for (item, *_), n in exact.items():
        often[item] += n
    rare = {item for item, n in often.items() if n < 0.05 * max(often.values())}
    asc = Counter({row: n for row, n in found["join ASC"].items() if max(row[1:]) > 200})  # when much has been seen
    assert sum(n for row, n in asc.items() if row[0] in rare) >= 0.8 * asc.total() > 0


def test_weighted_answers_are_distributed_like_the_exact_ones(session):
    arrivals = [rows(9, 800, 400), rows(10, 800, 400)]
    _, exact = run(bound(session, QUERIES["join WEIGHTED"], None), arrivals, [])
    some, _ = run(bound(session, QUERIES["join WEIGHTED"], 0.6), arrivals, [])

    def histogram(found: Counter[Any]) -> np.ndarray[Any, Any]:
        counts = np.zeros(41)
        for (item, *_), n in found.items():
            counts[item] += n
        return counts / counts.sum()

    assert some.total() < 0.6 * exact.total()
    assert np.abs(histogram(some) - histogram(exact)).max() < 0.05


@pytest.mark.parametrize("name", ["join WEIGHTED", "join, uniform", "selection, uniform", "selection WEIGHTED"])
def test_the_share_stated_is_the_share_given(session, name):
    arrivals = [rows(11, 800, 400), rows(12, 800, 400)][: 2 if "join" in name else 1]
    _, exact = run(bound(session, QUERIES[name], None), arrivals, [])
    query = bound(session, QUERIES[name], 0.4)
    running = Run(query)
    for stream, frame in enumerate(arrivals):
        running.tell(stream, Batch(frame.with_columns(pl.col("ts").alias(TS))))
        running.tell(stream, Punctuation(LATER))
    stated = running.spending.operator.coverage
    share = len(running.given) / exact.total()
    assert 0 < share < 1
    assert stated.low <= share <= stated.high
    assert abs(stated.share - share) < 0.15
    running.end()
    assert running.spending.operator.coverage == WHOLE
    assert running.spending.first_come == 1.0


def test_a_further_condition_is_part_of_the_share_stated(session):
    text = QUERIES["join DESC"].replace("S1.ItemNo = S2.ItemNo", "S1.ItemNo = S2.ItemNo AND S1.Price + S2.Price < 0.6")
    arrivals = [rows(21, 800, 400), rows(22, 800, 400)]
    _, exact = run(bound(session, text, None), arrivals, [])
    running = Run(bound(session, text, 0.3))
    for stream, frame in enumerate(arrivals):
        running.tell(stream, Batch(frame.with_columns(pl.col("ts").alias(TS))))
        running.tell(stream, Punctuation(LATER))
    share = len(running.given) / exact.total()
    assert 0.1 < share < 0.9
    assert 0 < running.spending.first_come < share  # what comes first is worth more than what came first
    assert abs(running.spending.operator.coverage.share - share) < 0.05
    running.end()
    assert Counter(running.given) == exact


def test_the_interval_holds_the_share_given_as_often_as_it_says(session):
    """95% of cases; of 36 drawn ones fewer than 31 are inside with a chance of 1%."""
    inside, wide = 0, []
    for seed in range(12):
        for name in ("join DESC", "join, uniform", "selection DESC"):
            arrivals = [rows(200 + 2 * seed + side, 400, 200) for side in (0, 1)][: 2 if "join" in name else 1]
            _, exact = run(bound(session, QUERIES[name], None), arrivals, [])
            running = Run(bound(session, QUERIES[name], (0.1, 0.3, 0.5)[seed % 3]))
            for stream, frame in enumerate(arrivals):
                running.tell(stream, Batch(frame.with_columns(pl.col("ts").alias(TS))))
                running.tell(stream, Punctuation(LATER))
            stated = running.spending.operator.coverage
            inside += stated.low <= len(running.given) / exact.total() <= stated.high
            if "join" in name:
                wide.append(stated.high - stated.low)
    assert inside >= 31
    assert 0 < sum(wide) / len(wide) < 0.1


@pytest.mark.parametrize("budget", ["20%", "0.2 probes/row"])
@pytest.mark.parametrize("name", ["join DESC", "selection WEIGHTED"])
def test_in_the_idle_time_of_a_live_stream_all_is_given_and_coverage_is_whole(session, name, budget):
    last = pl.DataFrame({"ItemNo": [-1], "Price": [0.0], "ts": [LATER]})  # passes all slots, and meets nothing
    end = threading.Event()
    sold = {
        "one": rows(18, 600, 600).vstack(last),
        "two": rows(19, 600, 600).vstack(last.with_columns(ItemNo=-last["ItemNo"] - 3)),
    }

    def live(frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
        for at in range(0, frame.height, 50):
            yield frame[at : at + 50]
        end.wait(240)

    arrivals = [frame[:-1] for frame in sold.values()][: 2 if "join" in name else 1]
    _, exact = run(bound(session, QUERIES[name], None), arrivals, [])
    with jupyter_stream.Session({name: live(frame) for name, frame in sold.items()}) as other:
        other.execute(DECLARED.replace("frame://", "python://"))
        (query,) = other.execute(QUERIES[name], budget=budget)
        until = time.monotonic() + 180
        while time.monotonic() < until and (query.to_polars().height < exact.total() or query.coverage != WHOLE):
            time.sleep(0.1)  # looking takes time from what is looked at
        assert query.status == "running"
        assert Counter(query.to_polars().drop("coverage").rows()) == exact
        assert query.snapshot().notes["coverage"] == "100%"
        assert query.snapshot().notes["spent"].endswith("% of one core")
        end.set()
        assert query.wait(30)
        assert Counter(query.to_polars().drop("coverage").rows()) == exact


@pytest.mark.parametrize("preference", ["", " WITH PREFERENCE WEIGHTED SUMMARY.Estimate.Count(ItemNo)"])
def test_estimates_of_aggregates_are_near_the_exact_answers_that_replace_them(session, preference):
    asked = "count(*) AS n, avg(Price) AS a, median(Price) AS m, sum(Price) AS s"
    text = f"SELECT {asked} FROM Store1 [RANGE 100 MICROSECONDS TUMBLING]"
    arrivals = rows(14, 1_600, 400)
    running = Run(bound(session, text + preference, 0.4))
    running.tell(0, Batch(arrivals.with_columns(pl.col("ts").alias(TS))))
    running.tell(0, Punctuation(LATER))
    assert running.given == []
    estimates = {}
    for frame in running.estimates:
        for row in frame.select("window_end", "n", "a", "m", "s", COVERAGE).rows():
            estimates[row[0]] = row[1:]
    running.end()
    exact = {row[1]: row[2:] for row in running.given}
    assert len(exact) == len(estimates) == 4
    for end, (n, a, m, s, share) in estimates.items():
        looked_at = 400 * share
        off = 4 * np.sqrt((1 - share) / looked_at / 12)  # four standard errors of a mean of numbers between 0 and 1
        assert 0.2 < share < 0.6
        assert abs(a - exact[end][1]) < off
        assert abs(m - exact[end][2]) < 2 * off
        assert abs(s - exact[end][3]) < exact[end][0] * 1.2 * off + 1
        assert abs(n - exact[end][0]) <= 1


def test_estimates_of_many_open_extents_are_given_so_seldom_that_their_work_grows_with_the_extents():
    def worked_out(extents: int) -> int:
        arrivals = rows(23, 4 * extents, 10 * extents).with_columns(pl.col("ts").alias(TS))
        with jupyter_stream.Session({"one": arrivals, "two": arrivals}) as session:
            session.execute(DECLARED)
            text = "SELECT count(*) AS n FROM Store1 [RANGE 10 MICROSECONDS TUMBLING]"
            running = Run(bound(session, text, 0.1))
            running.tell(0, Batch(arrivals))
            running.tell(0, Punctuation(10 * extents - 10))
            assert running.estimates[-1].height > extents // 3
            return sum(frame.height for frame in running.estimates)

    few, many = worked_out(100), worked_out(400)
    assert many < 8 * few  # four times as many extents; their square would be sixteen times


@pytest.mark.parametrize("name", ["join DESC", "selection WEIGHTED"])
def test_what_waits_takes_no_more_memory_than_it_may(session, name):
    arrivals = [rows(16, 400, 200), rows(17, 400, 200)][: 2 if "join" in name else 1]
    _, exact = run(bound(session, QUERIES[name], None), arrivals, [])
    running = Run(bound(session, QUERIES[name], 0.1))
    operator = running.spending.operator
    operator.control.settings["memory_limit"] = 5_000
    for stream, frame in enumerate(arrivals):
        running.tell(stream, Batch(frame.with_columns(pl.col("ts").alias(TS))))
        running.tell(stream, Punctuation(LATER))
    operator.check()
    assert operator.promises.let_go > 0
    running.end()
    assert Counter(running.given) < exact  # some are missing, none is new or twice
    assert 0 < operator.coverage.share < 1


def test_answers_carry_their_coverage_and_the_query_ends_with_all(session):
    (exact,) = session.execute(QUERIES["join, uniform"])
    (query,) = session.execute(JOIN.format("DESC"), budget="0.3 probes/row", name="preferred")
    for each in (exact, query):
        assert each.wait(60)
    got = query.to_polars()
    assert got.columns == [*exact.to_polars().columns, "coverage"]
    assert Counter(got.drop("coverage").rows()) == Counter(exact.to_polars().rows())
    assert got["coverage"].min() < 1.0
    assert got["coverage"][-1] == 1.0
    assert query.coverage == WHOLE
    assert query.snapshot().notes["coverage"] == "100%"


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


def test_a_share_of_a_core_pays_for_what_it_was_measured_to_cost(session):
    now, used = [0], [0]
    query = replace(bound(session, SELECTION, 1.0), budget=Budget("share", 0.2))
    running = Run(query)
    step, operator = running.spending.step, running.spending.operator
    spending = Spending(step, operator, query.budget, 1.0, clock=lambda: now[0], processor=lambda: used[0])

    def work(nanoseconds: int, probes: int = 0) -> None:
        allowed = spending.probes()
        used[0] += nanoseconds
        operator.promises.probes += probes
        spending.made()
        assert allowed >= 0

    spending.work(lambda: work(0))  # the clock starts
    now[0] = 100_000_000  # a tenth of a second later: 20 ms may have been spent
    assert operator.allowance.probes() == pytest.approx(20_000)  # at 1 µs a probe, as long as none is measured
    spending.work(lambda: work(10_000_000, probes=1_000))
    assert operator.allowance.probes() == pytest.approx(1_000)  # they took 10 µs each
    spending.work(lambda: work(20_000_000))
    assert operator.allowance.probes() == 0.0  # too much was spent
    assert spending.idle(live=True) == 0
    assert not operator.allowance.pays()
    now[0] = 200_000_000
    assert operator.allowance.probes() > 0
    assert spending.share == pytest.approx(0.15)
    spending.work(lambda: work(900_000_000, probes=1))  # the core was busy with something else
    assert operator.allowance.probes() == 0
    now[0] = 30_000_000_000  # more time than is saved up: some are made, dear as they seem
    assert operator.allowance.probes() == 256
    for _ in range(40):
        spending.work(lambda: work(10_000, probes=1))
        most = operator.allowance.probes()
    assert 10_000 < most <= 200_000_000 / 10_000  # no more than a second's share was saved up


def test_rows_are_got_ready_when_there_is_time_for_it_and_probes_then_get_as_much(session):
    now, used = [0], [0]
    query = replace(bound(session, JOIN.format("DESC"), 1.0), budget=Budget("share", 0.1))
    step = Run(query).spending.step
    spending = Spending(step, step.operator, query.budget, 1.0, clock=lambda: now[0], processor=lambda: used[0])

    def begin() -> bool:
        if pays := spending.pays():
            used[0] += 5_000_000  # rows are got ready in 5 ms
            assert spending.probes() == pytest.approx(5_000)  # at 1 µs each
        return pays

    spending.work(lambda: None)  # the clock starts
    begun = []
    for now[0] in range(10_000_000, 1_000_000_000, 10_000_000):  # 1 ms is earned at a time
        spending.work(lambda: begun.append(begin()))
    assert begun[0]
    assert begun.index(True, 1) >= 9  # 4 ms were spent too much, and 5 are needed
    assert sum(begun) == pytest.approx(99 / 5, abs=1)


@pytest.mark.parametrize("order", ["DESC", "WEIGHTED"])
def test_slots_wait_for_time_and_then_look_for_partners_together(session, order):
    class Time:
        """No time but now and then."""

        def __init__(self) -> None:
            self.asked = 0

        def pays(self) -> bool:
            self.asked += 1
            return self.asked % 3 == 0

        def probes(self) -> float:
            return 20.0

        def made(self) -> None:
            pass

    arrivals = [rows(31, 800, 800), rows(32, 800, 800)]
    _, exact = run(bound(session, QUERIES[f"join {order}"], None), arrivals, [])
    running = Run(bound(session, QUERIES[f"join {order}"], 1.0))
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


def test_queries_started_together_share_one_summary(session):
    text = f"{SELECTION} WITH PREFERENCE DESC SUMMARY.Estimate.Count(ItemNo)"
    one, two = session.execute(f"{text}; {text.replace('> 2', '> 3')}", budget="1 probes/row")
    for query in (one, two):
        assert query.wait(60)
    assert f"shared by: {one.name}, {two.name}" in str(two.explain()).replace("shared by", "shared by:").replace(
        "::", ":"
    )


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        ("120%", "a budget of 120% is more than one core has"),
        ("0%", "a budget is more than nothing"),
        ("0 probes/row", "a budget is more than nothing"),
        ("five", "'five' is no budget"),
    ],
)
def test_a_budget_that_cant_be_is_refused(session, budget, said):
    with pytest.raises(QueryError) as caught:
        session.execute(SELECTION, budget=budget)
    assert caught.value.message == said
    assert caught.value.hint is not None


FIGURES = """
CREATE SUMMARY summary_name ON Sold1 (ItemNo)
WITH GRANULARITY 1 minute AND COLLAPSE(4,
3);
CREATE SUMMARY other_name ON Sold2 (ItemNo) WITH GRANULARITY 1 minute AND COLLAPSE(4, 3);
SELECT S1.ItemNo, S1.TimeStamp, S2.TimeStamp
FROM Sold1 S1, Sold2 S2
WHERE S1.ItemNo= S2.ItemNo
WITH PREFERENCE weighted
SUMMARY.Estimate.Count(S1.ItemNo),
SUMMARY.Estimate.Count(S2.ItemNo)
FADE FACTOR 80%
WINDOW 1 minute;
SELECT ItemNo FROM Sold1 WITH PREFERENCE desc SUMMARY.Estimate.Count(Sold1.ItemNo)×Sold1.ItemNo
"""


def test_the_statements_of_the_paper_run_as_printed():
    sold = rows(15, 100, 100).rename({"ts": "TimeStamp"})
    with jupyter_stream.Session({"sold": sold}) as session:
        for name in ("Sold1", "Sold2"):
            session.execute(
                f"CREATE STREAM {name} (ItemNo BIGINT, TimeStamp BIGINT) ORDER BY TimeStamp SOURCE 'frame://sold'"
            )
        for query in session.execute(FIGURES):
            assert query.wait(60)
            assert query.to_polars().height > 0


def test_budgets_are_read_as_they_are_written():
    assert parse_budget("20%") == Budget("share", 0.2)
    assert parse_budget("500 probes/row") == Budget("probes", 500.0)
    assert parse_budget("0.5 probe per row") == Budget("probes", 0.5)


def test_a_preference_that_fails_on_a_value_wants_it_least(session):
    named = pl.DataFrame({"Name": ["7", "none", "70"] * 40, "ts": range(120)})
    with jupyter_stream.Session({"named": named}) as other:
        other.execute("CREATE STREAM Sold (Name STRING, ts BIGINT) ORDER BY ts SOURCE 'frame://named'")
        other.execute("CREATE SUMMARY s ON Sold (Name) WITH GRANULARITY 64 MICROSECONDS AND COLLAPSE (2, 3)")
        text = "SELECT Name FROM Sold WITH PREFERENCE DESC SUMMARY.Estimate.Count(Name) * CAST(Name AS BIGINT)"
        (query,) = other.execute(text, budget="0.3 probes/row")
        assert query.wait(60)
        given = query.to_polars()["Name"].to_list()
        assert query.status == "finished"
        assert Counter(given) == Counter(named["Name"].to_list())
        assert Counter(given[:30]) == {"70": 30}


PREFERENCE = "WITH PREFERENCE DESC SUMMARY.Estimate.Count(ItemNo)"


def test_none_of_a_hundred_queries_that_share_a_summary_starves(session):
    """Each has its share of idle time by its weight, whatever the others have left."""
    sold = rows(33, 2_000, 640)
    end = threading.Event()

    def live() -> Iterator[pl.DataFrame]:
        yield sold
        yield pl.DataFrame({"ItemNo": [0], "Price": [0.0], "ts": [LATER]})
        end.wait(240)

    with jupyter_stream.Session({"one": live()}) as other:
        other.execute(DECLARED.split(";")[0].replace("frame://", "python://") + ";" + DECLARED.split(";")[2])
        text = f"SELECT ItemNo, ts FROM Store1 WHERE ItemNo % 100 <> {{}} {PREFERENCE}"
        queries = other.execute(";".join(text.format(number) for number in range(100)), budget="0.05 probes/row")
        assert "shared by" in str(queries[0].explain())
        exact = [sold.filter(pl.col("ItemNo") % 100 != number).height for number in range(100)]
        given = [0] * 100
        until = time.monotonic() + 120
        while time.monotonic() < until and given != exact:
            time.sleep(1)
            given = [q.to_polars().filter(pl.col("ts") < LATER).height for q in queries]
        assert given == exact
        assert all(q.coverage == WHOLE for q in queries)
        end.set()


@pytest.mark.parametrize("weight", ["0", "-1", "heavy", "nan"])
def test_a_weight_is_a_positive_number(session, weight):
    with pytest.raises(QueryError, match="is no weight"):
        session.execute(SELECTION, weight=weight)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ItemNo, count(*) AS n FROM Store1 [RANGE 60 MICROSECONDS] GROUP BY ItemNo",
        "SELECT DISTINCT ItemNo FROM Store1 [RANGE 60 MICROSECONDS]",
        "SELECT S1.ItemNo FROM Store1 [RANGE 9 MICROSECONDS] S1 LEFT JOIN Store2 [RANGE 9 MICROSECONDS] S2 USING (ItemNo)",
    ],
)
def test_what_cant_have_a_budget_says_so(session, text):
    with pytest.raises(UnsupportedError, match="a budget goes with"):
        session.execute(text, budget="20%")


def test_a_preference_on_spark_is_refused(session):
    with pytest.raises(UnsupportedError, match=r"WITH PREFERENCE can't run on Spark: never sensible"):
        session.execute(JOIN.format("DESC"), engine="spark")


def test_explain_says_what_is_kept_and_when_it_doesnt_pay(session):
    def explained(text: str, budget: str | None) -> str:
        (said,) = session.execute(f"EXPLAIN {text}", budget=budget)
        return str(said)

    promising = explained(JOIN.format("DESC"), "500 probes/row")
    assert "budget: 500 probes/row" in promising
    assert "summary items1 on Store1 (ItemNo), granularities 64 microseconds" in promising
    assert "promising join" in promising
    plain = explained(JOIN.format("DESC"), None)
    assert "no budget: everything is exact" in plain
    assert "promising join" not in plain
    tiny = explained(JOIN.format("DESC").replace("WINDOW 60", "WINDOW 5"), "20%")
    assert "is no longer than one zone of the summary" in tiny
    assert "promising join" not in tiny


def test_one_summary_serves_both_sides_of_a_join_of_equals(session):
    session.execute("DROP SUMMARY items2")
    query = bound(session, JOIN.format("DESC"), 5)
    again = bound(session, JOIN.format("ASC"), 5)
    assert query.preference is not None and again.preference is not None
    assert [s.stream for s in query.preference.summaries] == ["Store1", "Store2"]
    assert query.preference.summaries == again.preference.summaries  # the same objects, which is why they are shared
    (q,) = session.execute(JOIN.format("DESC"), budget="5 probes/row")
    assert q.wait(60)
    exact = session.execute(JOIN.format("DESC"))[0]
    assert exact.wait(60)
    assert Counter(q.to_polars().drop("coverage").rows()) == Counter(exact.to_polars().rows())
    session.execute(DECLARED.strip().split("\n")[-1])
