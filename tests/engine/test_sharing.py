"""Queries that share operators: each answers as it would alone, whenever others come and go; what is shared is held once."""

from __future__ import annotations

import queue
from collections import Counter
from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream import Query, QueryError, Session
from jupyter_stream.engine import steps
from jupyter_stream.engine.sharing import Sharing
from jupyter_stream.engine.window_sharing import WindowSharing
from jupyter_stream.flow.filter import FilterOperator
from jupyter_stream.windowed.window_aggregate import WindowAggregate
from tests.oracle import axis
from tests.oracle.search import searching
from tests.tiers import thinned
from tests.waiting import settle, until

pytestmark = pytest.mark.timeout(900)

COLUMNS = {"ts": pl.Int64(), "k": pl.String(), "n": pl.Int64()}
STREAM = "CREATE STREAM s (ts BIGINT, k STRING, n BIGINT, WATERMARK FOR ts AS ts - INTERVAL 3 MICROSECONDS) SOURCE '{}'"
DERIVED = """
CREATE STREAM few AS SELECT k, n * 2 AS m, ts FROM s WHERE n > 1;
CREATE STREAM sums AS SELECT k, sum(n) AS m FROM s [RANGE 6 MICROSECONDS SLIDE 3 MICROSECONDS] GROUP BY k;
CREATE TABLE names (k STRING, name STRING);
INSERT INTO names VALUES ('a', 'Ada'), ('b', 'Bob')
"""
SLIDING = "[RANGE 6 MICROSECONDS SLIDE 3 MICROSECONDS]"
W4, W2 = "[RANGE 4 MICROSECONDS]", "[RANGE 2 MICROSECONDS]"
LATER = (
    f"SELECT k, count(*) AS c FROM s {W4} GROUP BY k",
    f"SELECT count(*) AS c, sum(n) AS t FROM s {W4}",
    f"SELECT DISTINCT k FROM s {W4}",
    f"SELECT a.k, a.n AS x, b.n AS y FROM s {W4} a JOIN s {W2} b ON a.k = b.k",
    f"SELECT a.k, a.n AS x, b.m AS y FROM s {W4} a LEFT JOIN few {W2} b ON a.k = b.k",
    f"SELECT a.k, a.n FROM s {W4} a LEFT ANTI JOIN few {W2} b ON a.k = b.k",
    f"SELECT a.k, count(*) AS c FROM s {W4} a, few {W2} b WHERE a.k = b.k GROUP BY a.k",
    f"SELECT k, n FROM s {W4} EXCEPT ALL SELECT k, m FROM few {W2}",
    f"SELECT k, n FROM s {W4} EXCEPT ALL ON (k) SELECT k, m FROM few {W2}",
    f"SELECT k, n FROM s {W4} WHERE n IN (SELECT n FROM s {W2} WHERE k = 'a')",
    f"SELECT DSTREAM k, n FROM s {W4}",
    f"SELECT RSTREAM k, n FROM s {W4}",
    f"SELECT k, n FROM s {W4} ORDER BY n DESC LIMIT 2",
    f"SELECT ISTREAM k, n FROM s {SLIDING}",
    f"SELECT k, sum(n) AS t FROM s {SLIDING} GROUP BY k ORDER BY t LIMIT 1",
    "SELECT k, sum(n) AS t FROM s [PARTITION BY k ROWS 2] GROUP BY k",
    "SELECT count(*) AS c, min(n) AS t FROM s [ROWS 3]",
    "SELECT a.k, b.n FROM s [ROWS 2] a JOIN s [RANGE 2 MICROSECONDS] b ON a.k = b.k",
    "SELECT k, count(*) AS c FROM s [SESSION 2 MICROSECONDS PARTITION BY k] GROUP BY k",
    "SELECT k, sum(n) OVER (PARTITION BY k RANGE 4 MICROSECONDS PRECEDING) AS t FROM s",
    "SELECT k, sum(n) OVER (ROWS 2 PRECEDING) AS t FROM s",
)
"""Windows that let go of what came before, of every kind but those whose answers number rows from the start."""
QUERIES = (
    "SELECT k, n FROM s WHERE n > 1",
    "SELECT k, n + 1 AS n FROM s WHERE n > 1",
    "SELECT k, 12 / (n - 2) AS q FROM s WHERE n > 1",
    f"SELECT k, count(*) AS c FROM s {SLIDING} WHERE n > 1 GROUP BY k",
    f"SELECT k, count(*) + 1 AS c FROM s {SLIDING} WHERE n > 1 GROUP BY k HAVING count(*) > 1",
    f"SELECT k, count(*) AS c FROM s {SLIDING} WHERE n > 1 GROUP BY k EMIT EVERY 4 MICROSECONDS",
    f"SELECT k, count(*) AS c FROM s {SLIDING} WHERE n > 1 GROUP BY k EMIT CHANGES",
    "SELECT k, m FROM few",
    "SELECT k, sum(m) AS m FROM few [RANGE 5 MICROSECONDS] GROUP BY k",
    "SELECT sum(m) AS m FROM few [RANGE 5 MICROSECONDS]",
    "SELECT k, m FROM sums WHERE m > 3",
    "SELECT max(m) AS m FROM sums [RANGE 6 MICROSECONDS SLIDE 6 MICROSECONDS]",
    "SELECT k, min(m) AS m FROM sums [RANGE 6 MICROSECONDS SLIDE 6 MICROSECONDS] GROUP BY k",
    "SELECT a.k, a.m, b.n FROM few [RANGE 4 MICROSECONDS] a, s [RANGE 2 MICROSECONDS] b WHERE a.k = b.k",
    "SELECT a.k, a.m AS x, b.n AS y FROM few [RANGE 4 MICROSECONDS] a, s [RANGE 2 MICROSECONDS] b WHERE a.k = b.k",
    "SELECT k, m FROM few UNION ALL SELECT k, n AS m FROM s",
    "SELECT DISTINCT k FROM few [RANGE 4 MICROSECONDS]",
    "SELECT k, m FROM few [RANGE 4 MICROSECONDS] EXCEPT ALL SELECT k, n FROM s [RANGE 4 MICROSECONDS]",
    "SELECT k, count(*) AS c FROM s [SESSION 2 MICROSECONDS PARTITION BY k] GROUP BY k",
    "SELECT k, sum(n) AS c FROM s [PARTITION BY k ROWS 3 SLIDE 2 ROWS] GROUP BY k",
    "SELECT k, sum(n) OVER (PARTITION BY k ORDER BY ts ROWS 2 PRECEDING) AS c FROM s",
    "SELECT few.k, m, name FROM few JOIN names ON few.k = names.k",
    "SELECT few.k, m + 1 AS m, name FROM few JOIN names ON few.k = names.k",
    "SELECT k, m FROM few LIMIT 3",
    "SELECT k, first(n) AS f, avg(n) AS a FROM s [RANGE 3 MICROSECONDS TUMBLING] GROUP BY k",
    "SELECT count(*) AS c, max(n) AS m FROM s [RANGE 4 MICROSECONDS SLIDE 3 MICROSECONDS]",
    *LATER,
)
"""Much of each is also in another."""


class Scene:
    """A live stream whose rows come when they are told to, and queries that come and go in between."""

    def __init__(self, sharing: bool = True) -> None:
        self._frames: queue.Queue[pl.DataFrame | None] = queue.Queue()
        self._sent = 0
        self._patch = pytest.MonkeyPatch()
        if not sharing:
            for policy in (Sharing, WindowSharing):
                self._patch.setattr(policy, "begin", lambda *_: None)

        def rows() -> Iterator[pl.DataFrame]:
            while (frame := self._frames.get()) is not None:
                yield frame

        self.session = Session({"rows": rows()})
        self.session.execute(STREAM.format("python://rows"))
        self.session.execute(DERIVED)
        self.keeper = self.start("SELECT n FROM s WHERE n < -1000")[0]  # so that the stream goes on whoever leaves
        self.queries: list[Query] = []

    def start(self, *texts: str) -> list[Query]:
        """Queries of one cell."""
        return self.session.execute(";\n".join(texts))  # type: ignore[return-value]

    def send(self, rows: list[tuple[int, str, int]]) -> None:
        """Rows arrive, and are through when this returns."""
        self._frames.put(pl.DataFrame(rows, schema=COLUMNS, orient="row"))
        self._sent += len(rows)
        until(lambda: self.keeper.stats["rows_in"] >= self._sent, lambda: self.keeper.status, step=0.0005)
        self.settle()

    def settle(self) -> None:
        """Wait until the engine has done what it was told."""
        settle(self.session.engine)

    def end(self) -> None:
        """The stream ends; all queries that run and aren't paused have then ended."""
        self._frames.put(None)
        assert self.keeper.wait(200)
        self.settle()

    def __enter__(self) -> Scene:
        return self

    def __exit__(self, *error: object) -> None:
        self._frames.put(None)
        self.session.close()
        self._patch.undo()


def given_by(query: Query) -> dict[str, Any]:
    """All a query has to show."""
    frames = {"answer": query.to_polars(), "changes": query.changes(), "late": query.late, "errors": query.errors}
    shown: dict[str, Any] = {name: sorted(frame.rows(), key=repr) for name, frame in frames.items()}
    return {**shown, "state": query.status}


Script = list[tuple[Any, ...]]


@st.composite
def scripts(draw: st.DrawFn) -> Script:
    """Rows that come, and queries that start, stop, pause and resume in between."""
    script: Script = []
    at, started = draw(axis.middle), 0
    known = draw(st.lists(st.sampled_from(QUERIES), min_size=2, max_size=4))
    for _ in range(draw(st.integers(3, 12))):
        match draw(st.sampled_from(("rows", "rows", "rows", "start", "start", "stop", "pause", "resume"))):
            case "rows":
                rows = []
                for _ in range(draw(st.integers(1, 6))):
                    at += draw(st.integers(-4, 9))
                    rows.append((at, draw(st.sampled_from("abc")), draw(st.integers(0, 5))))
                script.append(("rows", rows))
            case "start":
                texts = draw(st.lists(st.sampled_from(known), min_size=1, max_size=2))
                script.append(("start", texts))
                started += len(texts)
            case action if started:
                script.append((action, draw(st.integers(0, started - 1))))
    return script


def played(script: Script, sharing: bool) -> list[dict[str, Any]]:
    with Scene(sharing) as scene:
        queries: list[Query] = []
        for action, what in script:
            match action:
                case "rows":
                    scene.send(what)
                case "start":
                    queries += scene.start(*what)
                case "stop":
                    queries[what].stop()
                case "pause":
                    queries[what].pause()
                case "resume":
                    queries[what].resume()
            scene.settle()
        scene.end()
        for q in queries:
            q.resume()
        scene.settle()
        scene.settle()
        return [given_by(q) for q in queries]


@searching
@given(scripts())
def test_queries_answer_as_they_do_without_sharing_whoever_comes_and_goes(script: Script) -> None:
    together, alone = played(script, True), played(script, False)
    texts = [text for action, what in script if action == "start" for text in what]
    for text, one, other in zip(texts, together, alone, strict=True):
        assert one == other, text


@pytest.fixture(autouse=True)
def _all_in_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    in_one_thread(monkeypatch)


def in_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a short step may take long, and a query that works apart isn't shared with just then."""
    for name in ("SHORT", "BRIEF", "PEAK", "PATIENCE"):
        monkeypatch.setattr(steps, name, 1000.0)


@pytest.fixture
def scene() -> Iterator[Scene]:
    with Scene() as made:
        yield made


COUNTS = f"SELECT k, count(*) AS c FROM s {SLIDING} WHERE n > 1 GROUP BY k"
MANY = f"SELECT k, count(*) AS c FROM s {SLIDING} WHERE n > 1 GROUP BY k HAVING count(*) > 1"
ROWS = [(at, "abc"[at % 3], at % 5) for at in range(40)]


def shared(query: Query) -> dict[str, str]:
    """Operators of a query that others share, by the first word of their names."""
    tables = query.stats["operators"]
    return {t["name"].split()[0]: t["shared_by"] for t in tables if "shared_by" in t}


def test_equal_parts_of_the_queries_of_a_cell_are_one_operator_and_explain_says_so(scene: Scene) -> None:
    counts, many, rows = scene.start(COUNTS, MANY, "SELECT k FROM s WHERE n > 1")
    scene.send(ROWS)
    operators = [line.strip(" └─").split(" ")[0] + line[line.rindex(", ") :] for line in many.plan.splitlines()[2:]]
    assert operators == ["window, q3  MON", "filter, q4  WKS", "scan, at most 3 microseconds late  WKS"]
    assert ", shared by q2, q3  MON" in many.plan and "(n > 1), shared by q2, q3, q4  WKS" in many.plan
    assert "scan s, by ts, at most 3 microseconds late, shared by q1, q2, q3, q4  WKS  [40 rows in" in counts.explain()
    assert "filter (n > 1), shared by q2, q3, q4  MON" in rows.plan  # the same rows, which this query doesn't take back
    assert shared(counts) == {"window": "q2, q3", "filter": "q2, q3, q4"} and shared(rows) == {"filter": "q2, q3, q4"}
    (filtered,) = (t for t in rows.stats["operators"] if t["name"].startswith("filter"))
    assert filtered["rows_in"] == 40  # once, not three times


@pytest.mark.parametrize("one_cell", [True, False])
def test_queries_that_share_an_aggregate_read_different_columns_of_its_answers(scene: Scene, one_cell: bool) -> None:
    window = "[RANGE 6 MICROSECONDS TUMBLING]"
    texts = f"SELECT max(m) AS m FROM sums {window}", f"SELECT k, max(m) AS m FROM sums {window} GROUP BY k"
    starts = [texts] if one_cell else [(t,) for t in texts]
    most, by_key = (query for some in starts for query in scene.start(*some))
    scene.send(ROWS)
    scene.end()
    assert shared(most)["window"] == shared(by_key)["window"]
    answers = by_key.to_polars()
    assert set(answers["k"]) == set("abc")
    assert answers.group_by("window_end").agg(pl.max("m")).sort("window_end").rows() == [
        (row["window_end"], row["m"]) for row in most.to_polars().sort("window_end").iter_rows(named=True)
    ]


def test_shared_state_is_counted_once_and_is_less_than_that_of_queries_alone() -> None:
    def held(sharing: bool) -> list[int]:
        with Scene(sharing) as scene:
            queries = scene.start(COUNTS, MANY, f"{COUNTS} EMIT EVERY 4 MICROSECONDS", COUNTS)
            scene.send(ROWS)
            return [q.snapshot(0).state_bytes for q in queries]

    together, alone = held(True), held(False)
    assert alone[0] == alone[1] == alone[3] > 0
    assert together == [alone[0], 0, alone[2], 0]


def test_what_is_left_of_a_shared_operator_is_counted_with_the_next_query(scene: Scene) -> None:
    first, second = scene.start(COUNTS, MANY)
    scene.send(ROWS)
    held = first.snapshot(0).state_bytes
    first.stop()
    scene.settle()
    assert held > 0 and second.snapshot(0).state_bytes == held
    assert shared(second) == {} and "window aggregate" in second.plan and "shared" not in second.plan


def test_a_query_that_comes_later_shares_what_remembers_nothing_and_counts_from_when_it_comes(scene: Scene) -> None:
    (first,) = scene.start(COUNTS)
    scene.send([(1, "a", 2), (2, "a", 2)])
    (second,) = scene.start(
        MANY.replace("> 1", "> 0"),
    )
    (third,) = scene.start(COUNTS)
    scene.send([(3, "a", 2)])
    assert shared(first) == {"filter": "q2, q4"} and shared(second) == {}
    scene.end()
    given = [sorted(q.to_polars()["c"].to_list()) for q in (first, second, third)]
    assert given == [[1, 2, 3], [1, 1], [1, 1]]


def test_a_window_is_shared_with_a_query_that_came_later_once_what_came_before_it_has_left(scene: Scene) -> None:
    (first,) = scene.start(COUNTS)
    scene.send([(1, "a", 2), (2, "a", 2)])
    (second,) = scene.start(MANY)
    scene.send([(4, "a", 2), (9, "a", 3)])  # the extent from 3 to 9 is open, and nothing before 4 is in it
    assert shared(second) == shared(first) == {"window": "q2, q3", "filter": "q2, q3"}
    alone = first.snapshot(0).state_bytes
    assert alone > 0 and second.snapshot(0).state_bytes == 0
    scene.send([(10, "a", 2), (11, "b", 2), (20, "b", 2)])
    scene.end()
    assert (3, 9, "a", 1) in first.to_polars().rows() and (6, 12, "a", 2) in second.to_polars().rows()
    assert second.to_polars().rows() == [(6, 12, "a", 2), (9, 15, "a", 2)]


def stateful(query: Query) -> list[tuple[str, str]]:
    """Operators that hold something, each with who shares it."""
    tables = query.stats["operators"]
    forgetful = ("filter", "project", "named", "istream", "dstream", "scan", "rows of each extent")
    return [(t["name"], t.get("shared_by", "")) for t in tables if not t["name"].startswith(forgetful)]


@pytest.mark.parametrize("text", thinned(LATER))
def test_every_window_is_shared_with_a_query_that_came_later_once_it_lets_go_of_what_came_before(
    scene: Scene, text: str
) -> None:
    (first,) = scene.start(text)
    scene.send([(1, "a", 2), (2, "b", 3), (3, "c", 2), (4, "a", 1)])
    (later,) = scene.start(text)
    assert any(not by for _, by in stateful(later))
    at = 20
    for _ in range(6):  # an operator after the other, each when those below it are shared
        scene.send([(at + i, "abc"[i % 3], i % 4) for i in range(9)])
        at += 20
    assert all(by == "q2, q3" for _, by in stateful(later)), later.plan
    already = [given_by(q)["changes"] for q in (first, later)]
    scene.send([(at + i, "cab"[i % 3], i % 5) for i in range(9)])
    first_new, later_new = (
        Counter(given_by(q)["changes"]) - Counter(before) for q, before in zip((first, later), already, strict=True)
    )
    assert first_new == later_new and first_new
    first.stop()
    scene.send([(at + 30 + i, "cab"[i % 3], i % 5) for i in range(9)])
    assert later.status == "running" and Counter(given_by(later)["changes"]) - Counter(already[1]) - later_new
    assert not any(by for _, by in stateful(later))


def test_a_query_shares_windows_only_with_those_that_have_had_more_rows_than_it(scene: Scene) -> None:
    scene.send([(1, "a", 2)])
    (first,) = scene.start(COUNTS)
    scene.send([(9, "a", 2)])
    second, third = scene.start(COUNTS, MANY)
    scene.send([(10, "a", 2), (11, "b", 2)])
    assert shared(first) == {"filter": "q2, q3, q4"} and shared(second)["window"] == "q3, q4"
    scene.send([(30, "b", 2)])
    scene.send([(30, "b", 1)])
    assert shared(first)["window"] == shared(second)["window"] == "q2, q3, q4"
    assert (3, 9, "a", 1) not in first.to_polars().rows() and (6, 12, "a", 2) in first.to_polars().rows()
    assert (6, 12, "a", 1) in second.to_polars().rows()
    scene.send([(31, "b", 2), (60, "b", 2)])
    answers = [[r for r in q.to_polars().rows() if r[0] >= 27] for q in (first, second, third)]
    assert answers[0] == answers[1] == [(27, 33, "b", 2), (30, 36, "b", 2)] == answers[2]


def test_queries_that_start_before_the_first_row_share_all_they_have_in_common(scene: Scene) -> None:
    (first,) = scene.start(COUNTS)
    (second,) = scene.start(COUNTS)
    assert shared(first) == shared(second) == {"project": "q2, q3", "window": "q2, q3", "filter": "q2, q3"}
    scene.send(ROWS)
    scene.end()
    assert first.to_polars().equals(second.to_polars()) and first.to_polars().height


def test_nothing_is_left_of_what_nobody_reads(scene: Scene) -> None:
    parts = scene.session.engine._sharing.parts
    queries = scene.start(COUNTS, MANY, "SELECT k FROM s WHERE n > 1", "SELECT k, n FROM s WHERE n > 1")
    assert len(parts) == 2  # the selection, and the aggregate over it
    scene.send(ROWS)
    queries[0].stop()
    queries[1].stop()
    scene.settle()
    assert len(parts) == 1
    scene.session.execute("DROP QUERY q4; DROP QUERY q5")
    scene.settle()
    assert parts == []


def test_an_error_in_a_querys_own_part_takes_no_other_with_it(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    good, bad = scene.start(COUNTS, MANY)
    having = next(
        s.operator for s in bad._pipeline.graph.steps if s.part is None and isinstance(s.operator, FilterOperator)
    )

    def fails(*_: object) -> None:
        raise ZeroDivisionError("broken")

    monkeypatch.setattr(having, "on_batch", fails)
    scene.send(ROWS)
    with pytest.raises(QueryError, match="q3 failed: ZeroDivisionError: broken"):
        bad.wait(200)
    assert good.status == "running"
    scene.end()
    assert good.status == "finished" and good.to_polars()["c"].sum() == 2 * sum(n > 1 for _, _, n in ROWS)


def test_an_error_in_a_shared_part_is_reported_by_each_of_its_queries_and_by_no_other(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, third = scene.start(COUNTS, MANY, "SELECT k FROM s WHERE n > 1")

    def fails(*_: object) -> None:
        raise ZeroDivisionError("broken")

    windows = (s.operator for s in first._pipeline.graph.steps if isinstance(s.operator, WindowAggregate))
    monkeypatch.setattr(next(windows), "on_batch", fails)
    scene.send(ROWS)
    for query in (first, second):
        with pytest.raises(QueryError, match=f"{query.name} failed: ZeroDivisionError: broken"):
            query.wait(200)
    assert third.status == "running" and third.to_polars().height == sum(n > 1 for _, _, n in ROWS)
    assert len(scene.session.engine._sharing.parts) == 1


def test_rows_that_fail_in_a_shared_part_are_errors_of_each_query(scene: Scene) -> None:
    one, other = scene.start("SELECT 12 / (n - 2) AS q FROM s", "SELECT 12 / (n - 2) AS q FROM s")
    assert set(shared(one)) == {"project"}
    scene.send(ROWS)
    assert one.errors.height == other.errors.height == sum(n == 2 for _, _, n in ROWS)
    assert one.snapshot(0).bad == other.snapshot(0).bad == one.errors.height


def test_late_rows_of_a_shared_window_are_late_for_each_query(scene: Scene) -> None:
    first, second = scene.start(COUNTS, MANY)
    scene.send([*ROWS, (1, "a", 4)])
    assert first.late.rows() == second.late.rows() and first.late["ts"].to_list() == [1]


def test_a_paused_query_holds_back_what_it_shares_while_the_others_go_on(scene: Scene) -> None:
    paused, goes_on = scene.start(COUNTS, MANY)
    paused.pause()
    scene.send(ROWS)
    assert paused.to_polars().height == 0 and goes_on.status == "running"
    scene.end()
    assert paused.status == "paused"
    paused.resume()
    assert paused.wait(200) and paused.to_polars()["c"].sum() == 2 * sum(n > 1 for _, _, n in ROWS)


def test_a_replay_is_shared_by_the_queries_of_one_cell_only() -> None:
    rows = pl.DataFrame(ROWS, schema=COLUMNS, orient="row")
    with Session({"rows": rows}) as session:
        session.execute(STREAM.format("frame://rows"))
        first, second = session.execute(f"{COUNTS}; {MANY}")  # type: ignore[misc]
        (third,) = session.execute(COUNTS)
        assert all(q.wait(200) for q in (first, second, third))
        assert shared(first)["window"] == shared(second)["window"] == "q1, q2" and shared(third) == {}
        assert first.to_polars().equals(third.to_polars())


def test_zeros_of_different_sign_are_different_constants() -> None:
    rows = pl.DataFrame({"ts": [1], "x": [1.0]})
    with Session({"rows": rows}) as session:
        session.execute("CREATE STREAM s (ts BIGINT, x DOUBLE) ORDER BY ts SOURCE 'frame://rows'")
        plus, minus = session.execute("SELECT x * 0.0 AS z FROM s; SELECT x * -0.0 AS z FROM s")
        assert plus.wait(200) and minus.wait(200)
        assert [str(q.to_polars()["z"][0]) for q in (plus, minus)] == ["0.0", "-0.0"]


def test_a_query_that_comes_later_sees_rows_by_the_numbers_they_arrived_under(scene: Scene) -> None:
    scene.send([(1, "a", 2), (2, "a", 3)])
    (later,) = scene.start("SELECT n, row_num FROM s")
    scene.send([(3, "a", 4), (4, "a", 5)])
    assert later.to_polars().rows() == [(4, 3), (5, 4)]
