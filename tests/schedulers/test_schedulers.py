"""Policies: what each promises, driven by hand; names; and what is shown of them."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import polars as pl
import pytest

import jupyter_stream
from jupyter_stream.engine.queues import Queues
from jupyter_stream.errors import QueryError
from jupyter_stream.schedulers import SCHEDULERS, find, scheduler
from jupyter_stream.schedulers.chain import segments
from jupyter_stream.schedulers.chain_within import ChainWithin
from jupyter_stream.session.session import Session
from tests.schedulers.virtual import Virtual, line, step
from tests.tiers import thinned
from tests.waiting import until


@dataclass(eq=False)
class Line:
    low_watermark: int = 0


def test_inputs_are_served_in_turn_before_anyone_twice() -> None:
    lines = [Line() for _ in range(5)]
    policy = scheduler("fifo")
    served = [policy.choose(lines) for _ in range(10)]
    assert {id(x) for x in served[:5]} == {id(x) for x in served[5:]} == {id(x) for x in lines}


def test_least_progress_serves_the_input_furthest_behind() -> None:
    lines = [Line(3), Line(1), Line(2)]
    assert scheduler("least progress").choose(lines) is lines[1]


def test_policies_are_found_by_name() -> None:
    assert [type(find(s.name)) for s in SCHEDULERS] == list(SCHEDULERS)
    assert find("none such") is None
    within = find("Chain 2 seconds")
    assert isinstance(within, ChainWithin) and within.title == "chain 2 seconds"


def worked(name: str, operators: Sequence[Virtual], arrivals: Sequence[tuple[int, Virtual, int]]) -> list[str]:
    """The operators' names in the order in which they work; arrivals are (after so many steps, where, rows)."""
    order = scheduler(name).order()
    found: list[str] = []
    pending = list(arrivals)
    for number in range(1_000):
        for arrival in [a for a in pending if a[0] <= number]:
            pending.remove(arrival)
            arrival[1].put(arrival[2], since=float(number))
        ready = [o for o in operators if not o.empty]
        if not ready:
            break
        found.append(step(order, ready, most=1).name)
    return found


def test_depth_first_brings_a_row_to_the_end_before_it_takes_another() -> None:
    path = line(("a", 1, 1), ("b", 1, 1), ("c", 1, 1))
    assert worked("dfs", path, [(0, path[0], 2)]) == ["a", "b", "c", "a", "b", "c"]


def test_breadth_first_takes_all_that_waits_before_the_next_operator_works() -> None:
    path = line(("a", 1, 1), ("b", 1, 1), ("c", 1, 1))
    assert worked("bfs", path, [(0, path[0], 2)]) == ["a", "a", "b", "b", "c", "c"]


def test_depth_first_comes_back_for_what_its_predecessor_has_while_rr_leaves_the_path() -> None:
    for name, wanted in [
        ("bfs", ["a", "a", "b", "b", "a", "b", "x", "x"]),
        ("rr", ["a", "a", "b", "b", "x", "x", "a", "b"]),
    ]:
        path = line(("a", 1, 1), ("b", 1, 1))
        other = line(("x", 1, 1))
        # a row comes to `a` while `b` has its last one; `x` has had some for longer
        came = [(0, path[0], 2), (1, other[0], 2), (3, path[0], 1)]
        assert worked(name, [*path, *other], came) == wanted


def test_a_union_backtracks_to_the_empty_input_that_is_furthest_behind() -> None:
    one, two = Virtual("one", 1, 1), Virtual("two", 1, 1)
    union = Virtual("union", 1, 1, [one, two])
    union.queues[0].low_watermark, union.queues[1].low_watermark = 10, 5
    order = scheduler("dfs").order()
    one.put(1, since=0.0)
    assert [step(order, [o for o in (one, union) if not o.empty], most=1).name for _ in range(2)] == ["one", "union"]
    one.put(1, since=1.0)
    assert (
        order.next([one]).operator is one
    )  # nothing waits for `two`: backtracking came to its source, and control goes back


def test_round_robin_gives_every_operator_as_many_rows_as_any_other() -> None:
    path = line(("a", 1, 1), ("b", 1, 1))
    assert worked("round robin", path, [(0, path[0], 3)]) == ["a", "b", "a", "b", "a", "b"]


def test_fifo_goes_by_what_came_first() -> None:
    path = line(("a", 1, 1), ("b", 1, 1))
    assert worked("fifo", path, [(0, path[0], 1), (1, path[0], 1)]) == ["a", "b", "a", "b"]


def test_greedy_looks_at_one_operator_and_chain_at_what_is_behind_it() -> None:
    # the first frees nothing and the second all, so that together they free more than the third
    path, other = line(("a", 1, 1), ("b", 0.1, 0.01), ("c", 1, 1)), line(("x", 2, 1))
    came = [(0, path[0], 1), (0, other[0], 1)]
    assert worked("greedy", [*path, *other], came)[0] == "x"
    assert worked("chain", [*path, *other], came)[:2] == ["a", "b"]


def test_the_lower_envelope_is_the_one_of_the_paper() -> None:
    path = line(("a", 1, 0.2), ("b", 5, 0.5))
    assert [(s.first, s.last, pytest.approx(s.slope)) for s in segments(path)] == [(0, 0, 0.8), (1, 1, 0.2)]
    path = line(("slow", 2, 0.9), ("sharp", 1, 0.1), ("last", 10, 1))
    (both, last) = segments(path)
    assert (both.first, both.last, last.first, last.last) == (0, 1, 2, 2)


def test_chain_under_a_bound_takes_what_has_waited_too_long() -> None:
    now = 0.0
    order = ChainWithin("1 second", lambda: now).order()
    path = line(("a", 1, 0.1), ("b", 100, 1))
    path[1].put(1, since=0.0)
    path[0].put(1, since=0.5)
    assert order.next(path).operator is path[0]
    now = 1.2
    assert order.next(path).operator is path[1]


def test_what_was_not_measured_works_first() -> None:
    path = line(("a", 1, 0.1), ("b", 1, 1))
    path[1].cost = None
    for name in ("greedy", "chain"):
        for operator in path:
            operator.put(1, since=0.0)
        assert scheduler(name).order().next(path).operator is path[1]


def test_a_queue_without_anything_has_waited_for_nothing() -> None:
    assert Virtual("a", 1, 1).queues[0].since == inf


# -- in a session ----------------------------------------------------------------------------------------------------


@pytest.fixture
def end():
    """Lets the stream of numbers end, of which the last tenth of a second comes then."""
    made = threading.Event()
    yield made
    made.set()


@pytest.fixture
def session(end):
    numbers = pl.DataFrame({"ts": range(200_000), "v": [i % 10 for i in range(200_000)]}).cast(pl.Int64)

    def coming():
        yield from numbers[:190_000].iter_slices(1_000)
        end.wait()
        yield numbers[190_000:]

    with Session({"numbers": numbers, "coming": coming}, scheduler="chain") as made:
        made.execute("CREATE STREAM numbers (ts BIGINT, v BIGINT) ORDER BY ts SOURCE 'python://coming'")
        yield made


def test_explain_and_the_plan_show_policy_queues_and_envelope(session: Session) -> None:
    (query,) = session.execute("SELECT count(*) AS n FROM numbers [RANGE 10 MILLISECONDS TUMBLING] WHERE v < 5")
    until(lambda: "envelope: " in str(query.explain()))
    said = str(query.explain())
    assert "scheduler: chain" in said and "queue of filter (v < 5): " in said and " rows/s" in said
    drawn = query.diagram()
    result = drawn.node("result").attributes
    assert result["scheduler"] == "chain" and result["goes by, 1"].startswith("envelope: ")
    (where,) = [n for n in drawn.nodes if n.title == "filter (v < 5)"]
    assert where.queued is not None and where.attributes["queue: rows in"] > 0
    query.stop()


def test_explain_and_the_plan_show_them_where_queries_share_operators(session: Session) -> None:
    select = "SELECT count(*) AS n FROM numbers [RANGE 10 MILLISECONDS TUMBLING] WHERE v < 5"
    one, other = session.execute(f"{select}; {select}")
    until(lambda: "envelope: " in str(one.explain()))
    for query in (one, other):
        said = str(query.explain()).splitlines()
        assert "scheduler: chain" in said and any(line.startswith("queue of filter (v < 5): ") for line in said)
        assert any(line.startswith("envelope: ") for line in said)
        result = query.diagram().node("result").attributes
        assert result["scheduler"] == "chain" and result["goes by, 1"].startswith("envelope: ")
        (where,) = [n for n in query.diagram().nodes if n.title == "filter (v < 5)"]
        assert where.attributes["queue: rows in"] > 0
    other.schedule("dfs")  # it has no operators of its own
    shown = f"chain for operators shared with {one.name}"
    until(lambda: f"scheduler: {shown}" in str(other.explain()).splitlines())
    assert other.diagram().node("result").attributes["scheduler"] == shown
    assert "scheduler: chain" in str(one.explain()).splitlines()


def test_explain_tells_the_policy_of_a_querys_own_operators_from_that_of_those_it_shares(session: Session) -> None:
    one, other = session.execute(
        "SELECT count(*) AS n FROM numbers [RANGE 10 MILLISECONDS TUMBLING] WHERE v < 5;"
        "SELECT v, sum(v) AS s FROM numbers [RANGE 10 MILLISECONDS TUMBLING] WHERE v < 5 GROUP BY v"
    )
    assert "scheduler: chain" in str(other.explain()).splitlines()
    other.schedule("bfs")
    shown = f"bfs; chain for operators shared with {one.name}"
    until(lambda: f"scheduler: {shown}" in str(other.explain()).splitlines())
    assert other.diagram().node("result").attributes["scheduler"] == shown
    until(lambda: "envelope: " in str(other.explain()))  # of the shared ones alone
    assert "scheduler: chain" in str(one.explain()).splitlines()


def test_a_query_may_have_a_policy_of_its_own_while_it_runs(session: Session, end: threading.Event) -> None:
    (query,) = session.execute(
        "SELECT v, count(*) AS n FROM numbers [RANGE 10 MILLISECONDS TUMBLING] GROUP BY v", name="q"
    )
    query.schedule("dfs")
    until(lambda: "scheduler: dfs" in str(query.explain()))
    session.schedule("greedy")
    assert "scheduler: dfs" in str(query.explain())
    query.schedule(None)
    assert "scheduler: greedy" in str(query.explain())
    session.schedule("fifo")
    end.set()
    assert query.wait(200)
    assert query.to_polars()["n"].sum() == 200_000
    assert query.diagram().node("operator 0").queued is None  # where messages go straight on there are no queues


def test_show_schedulers_lists_all_and_wrong_names_are_refused_with_the_list(session: Session) -> None:
    (listing,) = session.execute("SHOW SCHEDULERS")
    shown = listing.frame
    assert shown["scheduler"].to_list() == [s.name for s in SCHEDULERS]
    assert shown.filter(pl.col("used") != "")["scheduler"].to_list() == ["chain"]
    for wrong in (lambda: session.schedule("fastest"), lambda: Session(scheduler="chain soon")):
        with pytest.raises(QueryError, match="there is no scheduler") as error:
            wrong()
        assert "fifo, round robin, dfs" in str(error.value)


@pytest.mark.parametrize("window", thinned(["[RANGE 20 MICROSECONDS TUMBLING]", "OVER (ROWS 1 PRECEDING)"]))
def test_a_users_aggregate_gives_back_to_other_operators_before_it_is_done(
    window: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    @jupyter_stream.aggregate(name="slow")
    class Slow:
        def initialize(self, v: int) -> None:
            time.sleep(0.002)

        def iterate(self, v: int) -> None:
            time.sleep(0.002)

        def terminate(self) -> int:
            return 1

    worked: list[str] = []
    run = Queues.run

    def noted(queues, turn, hand):
        worked.append(turn.operator.name.split()[0])
        run(queues, turn, hand)

    monkeypatch.setattr(Queues, "run", noted)
    select = f"slow(v) {window} AS x FROM s" if "OVER" in window else f"slow(v) AS x FROM s {window}"
    with Session({"rows": pl.DataFrame({"ts": range(200), "v": [1] * 200})}, scheduler="chain") as made:
        made.execute("CREATE STREAM s (ts BIGINT, v BIGINT) ORDER BY ts SOURCE 'frame://rows'")
        (query,) = made.execute(f"SELECT {select}")
        assert query.wait(200) and query.to_polars().height == (200 if "OVER" in window else 10)
    assert worked.count("project") >= 5  # between rows or extents, of which all came at once


def test_a_query_stops_whatever_waits_in_its_queues(session: Session) -> None:
    session.execute("CREATE STREAM quick ORDER BY ts SOURCE 'frame://numbers'")
    session.schedule("bfs")
    (query,) = session.execute(
        "SELECT a.v FROM quick [RANGE 20 MILLISECONDS] a, quick [RANGE 20 MILLISECONDS] b WHERE a.v = b.v", keep=10
    )
    until(lambda: sum(q.get("queued_rows", 0) for q in query.stats["queues"][1:]) > 0)
    query.stop()
    until(lambda: query.status == "stopped")
    until(lambda: all(not q.get("queued_rows") for q in query.stats["queues"][1:]))  # when the step under way has ended
