"""Queries with a budget: a part of the exact answer first, the same part whatever the batches, and all of it in the end."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jupyter_stream
from jupyter_stream.core.coverage import WHOLE
from jupyter_stream.core.messages import COVERAGE, TS, Batch, Punctuation
from jupyter_stream.errors import QueryError, UnsupportedError
from jupyter_stream.plan.preference import Budget, parse_budget
from tests.budget.promised import DECLARED, JOIN, LATER, QUERIES, SELECTION, Run, bound, rows, run, shuffled
from tests.tiers import examples, only, slow, thinned
from tests.waiting import until


@pytest.fixture(scope="module")
def session() -> Any:
    with jupyter_stream.Session({"one": rows(1, 400, 600), "two": rows(2, 400, 600)}) as session:
        session.execute(DECLARED)
        yield session


@pytest.fixture
def end() -> Iterator[threading.Event]:
    """Lets a live stream end; it does with the test."""
    made = threading.Event()
    yield made
    made.set()


CUTS = st.lists(st.tuples(st.integers(0, 1), st.integers(1, 40)), max_size=8)


@pytest.mark.parametrize("name", thinned(QUERIES))
@settings(max_examples=examples(3), deadline=None)
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


@slow
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


@slow
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


@pytest.mark.parametrize("probes", only([0.02, 0.05, 0.1], 0.05))
def test_a_selection_with_a_small_budget_finds_more_than_first_come_first_served(probes):
    """Of 5 to 10% of the rows, by 300 items as skewed as the paper's: more values than there are probes for a while."""
    chance = np.random.default_rng(51)
    share = 1 / np.arange(1, 301) ** 1.13
    item = chance.choice(300, 4_000, p=share / share.sum())
    sold = pl.DataFrame(
        {"ItemNo": item, "Price": chance.random(4_000), "ts": np.sort(chance.integers(0, 4_000, 4_000))}
    )
    have = np.bincount(item, minlength=300) / 4_000
    found, expected = 0.0, 0.0
    with jupyter_stream.Session({"one": sold, "two": sold}) as session:
        session.execute(DECLARED.replace("64 MICROSECONDS", "600 MICROSECONDS"))
        for _ in range(8):
            order = chance.permutation(300)
            chosen = order[: int(np.searchsorted(np.cumsum(have[order]), chance.uniform(0.05, 0.1))) + 1]
            text = f"SELECT ItemNo, ts FROM Store1 WHERE ItemNo IN ({', '.join(map(str, chosen))}) {PREFERENCE}"
            before, after = run(bound(session, text, probes), [sold], [])
            assert after.total() == int(np.isin(item, chosen).sum())
            assert before.total() > 0
            found += before.total()
            expected += probes * after.total()
    assert found > 1.3 * expected


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


@slow
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


@pytest.mark.parametrize("budget", thinned(["20%", "0.2 probes/row"]))
@pytest.mark.parametrize("name", thinned(["join DESC", "selection WEIGHTED"]))
def test_in_the_idle_time_of_a_live_stream_all_is_given_and_coverage_is_whole(session, name, budget, end):
    last = pl.DataFrame({"ItemNo": [-1], "Price": [0.0], "ts": [LATER]})  # passes all slots, and meets nothing
    sold = {
        "one": rows(18, 600, 600).vstack(last),
        "two": rows(19, 600, 600).vstack(last.with_columns(ItemNo=-last["ItemNo"] - 3)),
    }

    def live(frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
        for at in range(0, frame.height, 50):
            yield frame[at : at + 50]
        end.wait()

    arrivals = [frame[:-1] for frame in sold.values()][: 2 if "join" in name else 1]
    _, exact = run(bound(session, QUERIES[name], None), arrivals, [])
    with jupyter_stream.Session({name: live(frame) for name, frame in sold.items()}) as other:
        other.execute(DECLARED.replace("frame://", "python://"))
        (query,) = other.execute(QUERIES[name], budget=budget)
        # looking takes time from what is looked at
        until(lambda: query.to_polars().height >= exact.total() and query.coverage == WHOLE, step=0.1)
        assert query.status == "running"
        assert Counter(query.to_polars().drop("coverage").rows()) == exact
        assert query.snapshot().notes["coverage"] == "100%"
        assert query.snapshot().notes["spent"].endswith("% of one core")
        end.set()
        assert query.wait(200)
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


@slow
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
        assert each.wait(200)
    got = query.to_polars()
    assert got.columns == [*exact.to_polars().columns, "coverage"]
    assert Counter(got.drop("coverage").rows()) == Counter(exact.to_polars().rows())
    assert got["coverage"].min() < 1.0
    assert got["coverage"][-1] == 1.0
    assert query.coverage == WHOLE
    assert query.snapshot().notes["coverage"] == "100%"


def test_queries_started_together_share_one_summary(session):
    text = f"{SELECTION} WITH PREFERENCE DESC SUMMARY.Estimate.Count(ItemNo)"
    one, two = session.execute(f"{text}; {text.replace('> 2', '> 3')}", budget="1 probes/row")
    for query in (one, two):
        assert query.wait(200)
    assert f"shared by: {one.name}, {two.name}" in str(two.explain()).replace("shared by", "shared by:").replace(
        "::", ":"
    )


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        ("120%", "a budget can't be more than 100% of one core, and this is 120%"),
        ("0%", "a budget must be more than 0"),
        ("0 probes/row", "a budget must be more than 0"),
        ("five", "'five' is not a budget"),
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
            assert query.wait(200)
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
        assert query.wait(200)
        given = query.to_polars()["Name"].to_list()
        assert query.status == "finished"
        assert Counter(given) == Counter(named["Name"].to_list())
        assert Counter(given[:30]) == {"70": 30}


PREFERENCE = "WITH PREFERENCE DESC SUMMARY.Estimate.Count(ItemNo)"


@slow
def test_none_of_a_hundred_queries_that_share_a_summary_starves(session, end):
    """Each has its share of idle time by its weight, whatever the others have left."""
    sold = rows(33, 2_000, 128)  # four slots: what each query does of one costs what it costs, however few rows

    def live() -> Iterator[pl.DataFrame]:
        yield sold
        yield pl.DataFrame({"ItemNo": [0], "Price": [0.0], "ts": [LATER]})
        end.wait()

    with jupyter_stream.Session({"one": live()}) as other:
        other.execute(DECLARED.split(";")[0].replace("frame://", "python://") + ";" + DECLARED.split(";")[2])
        text = f"SELECT ItemNo, ts FROM Store1 WHERE ItemNo % 100 <> {{}} {PREFERENCE}"
        queries = other.execute(";".join(text.format(number) for number in range(100)), budget="0.05 probes/row")
        assert "shared by" in str(queries[0].explain())
        exact = [sold.filter(pl.col("ItemNo") % 100 != number).height for number in range(100)]
        until(lambda: [q.to_polars().filter(pl.col("ts") < LATER).height for q in queries] == exact, step=0.2)
        assert all(q.coverage == WHOLE for q in queries)
        end.set()


@pytest.mark.parametrize("weight", ["0", "-1", "heavy", "nan"])
def test_a_weight_is_a_positive_number(session, weight):
    with pytest.raises(QueryError, match="is not a weight"):
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
    with pytest.raises(UnsupportedError, match="a budget can be used only with"):
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
    assert q.wait(200)
    exact = session.execute(JOIN.format("DESC"))[0]
    assert exact.wait(200)
    assert Counter(q.to_polars().drop("coverage").rows()) == Counter(exact.to_polars().rows())
    session.execute(DECLARED.strip().split("\n")[-1])
