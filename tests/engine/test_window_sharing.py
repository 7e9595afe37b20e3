"""Windows of different length over one stream: rows are kept once, and each query answers as it would alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream import Query
from jupyter_stream.engine.window_sharing import WindowSharing
from tests.engine.test_sharing import Scene, Script, given_by, in_one_thread, played
from tests.oracle import axis
from tests.oracle.search import searching

pytestmark = pytest.mark.timeout(900)

ROWS = [(at, "abc"[at % 3], at % 5) for at in range(60)]
LONG, SHORT, MIDDLE = (f"[RANGE {n} MICROSECONDS]" for n in (20, 4, 11))
LEAVING = "SELECT DSTREAM k, n FROM s {}"
WINDOWED = (
    LEAVING,
    "SELECT RSTREAM k, n FROM s {}",
    "SELECT k, n FROM s {} EXCEPT ALL SELECT k, m FROM few {}",
    "SELECT k, n FROM s {} EXCEPT ALL ON (k) SELECT k, n FROM s [RANGE 3 MICROSECONDS] WHERE n > 2",
    "SELECT k, n FROM s {} ORDER BY n DESC LIMIT 2",
    "SELECT k, n FROM s {} WHERE n IN (SELECT n FROM s {} WHERE k = 'a')",
    "SELECT DSTREAM k, n FROM s {} WHERE n > 1",
)


@pytest.fixture(autouse=True)
def _all_in_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    in_one_thread(monkeypatch)


@pytest.fixture
def scene() -> Iterator[Scene]:
    with Scene() as made:
        yield made


def kept(query: Query) -> list[str]:
    """What is said of the windows of a query whose rows others keep as well."""
    return [line[line.index("rows kept") :].split("  ")[0] for line in query.plan.splitlines() if "rows kept" in line]


def bytes_of(*queries: Query) -> int:
    return sum(q.snapshot(0).state_bytes for q in queries)


@st.composite
def scripts(draw: st.DrawFn) -> Script:
    """Rows, queries with windows of several lengths, and what becomes of them."""
    script: Script = []
    at, started = draw(axis.middle), 0
    shapes = draw(st.lists(st.sampled_from(WINDOWED), min_size=1, max_size=2))
    for _ in range(draw(st.integers(3, 10))):
        match draw(st.sampled_from(("rows", "rows", "rows", "start", "start", "stop", "pause", "resume"))):
            case "rows":
                rows = []
                for _ in range(draw(st.integers(1, 6))):
                    at += draw(st.integers(-4, 9))
                    rows.append((at, draw(st.sampled_from("abc")), draw(st.integers(0, 5))))
                script.append(("rows", rows))
            case "start":
                windows = st.lists(st.sampled_from((SHORT, MIDDLE, LONG)), min_size=2, max_size=2)
                texts = [draw(st.sampled_from(shapes)).format(*draw(windows)) for _ in range(draw(st.integers(1, 2)))]
                script.append(("start", texts))
                started += len(texts)
            case action if started:
                script.append((action, draw(st.integers(0, started - 1))))
    return script


@searching
@given(scripts())
def test_windows_of_any_length_answer_as_they_do_alone_whoever_comes_and_goes(script: Script) -> None:
    texts = [text for action, what in script if action == "start" for text in what]
    for text, one, other in zip(texts, played(script, True), played(script, False), strict=True):
        assert one == other, text


def test_rows_of_the_longer_window_are_kept_for_the_shorter_and_explain_says_so(scene: Scene) -> None:
    short, long = scene.start(LEAVING.format(SHORT), LEAVING.format(LONG))
    scene.send(ROWS)
    assert kept(short) == kept(long) == ["rows kept once for 20 microseconds, by q2, q3"]
    assert [t.get("live_rows") for t in short.stats["operators"]] != [
        t.get("live_rows") for t in long.stats["operators"]
    ]


def alone_and_together(monkeypatch: pytest.MonkeyPatch, *texts: str) -> tuple[int, int]:
    """Bytes held by queries that share nothing, and by those that do."""
    with Scene() as scene:
        queries = scene.start(*texts)
        scene.send(ROWS)
        together = bytes_of(*queries)
    monkeypatch.setattr(WindowSharing, "begin", lambda *_: None)
    with Scene() as scene:
        queries = scene.start(*texts)
        scene.send(ROWS)
        return bytes_of(*queries), together


def test_state_kept_together_is_that_of_the_longest_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    three = [LEAVING.format(w) for w in (SHORT, LONG, MIDDLE)]
    alone, together = alone_and_together(monkeypatch, *three)
    only_longest, _ = alone_and_together(monkeypatch, LEAVING.format(LONG))
    assert together <= only_longest < alone


def test_two_windows_of_one_query_keep_their_rows_once(scene: Scene) -> None:
    (query,) = scene.start(f"SELECT k, n FROM s {LONG} EXCEPT ALL SELECT k, n FROM s {SHORT}")
    scene.send(ROWS)
    assert kept(query) == ["rows kept once for 20 microseconds, by 2 windows of this query"] * 2


def answers_from(query: Query, before: Counter[Any]) -> Counter[Any]:
    return Counter(given_by(query)["changes"]) - before


@pytest.mark.parametrize("windows", [(LONG, SHORT), (SHORT, LONG)])
def test_a_window_that_starts_later_keeps_its_rows_with_one_that_runs_once_none_waits_that_it_has_not_had(
    scene: Scene, windows: tuple[str, str]
) -> None:
    (first,) = scene.start(LEAVING.format(windows[0]))
    scene.send([(at, "a", at) for at in range(1, 9)])
    (later,) = scene.start(LEAVING.format(windows[1]))
    assert not kept(later)
    scene.send([(12, "b", 1), (13, "b", 2)])  # 3 microseconds late at most: nothing before 10 waits any more
    assert kept(first) == kept(later) == ["rows kept once for 20 microseconds, by q2, q3"]
    scene.send([(60, "c", 0)])
    assert [n for _, n in sorted(later.to_polars().rows())] == [1, 2]
    assert sorted(first.to_polars().rows()) == [*(("a", n) for n in range(1, 9)), ("b", 1), ("b", 2)]


@pytest.mark.parametrize("leaves", [0, 1])
def test_whoever_leaves_the_other_goes_on_alone(scene: Scene, leaves: int) -> None:
    queries = scene.start(LEAVING.format(LONG), LEAVING.format(SHORT))
    scene.send(ROWS[:30])
    queries[leaves].stop()
    scene.send(ROWS[30:])
    rest = queries[1 - leaves]
    assert not kept(rest) and rest.status == "running"
    scene.end()
    assert sorted(rest.to_polars().rows()) == sorted((k, n) for _, k, n in ROWS)
    assert bytes_of(rest) == 0


def test_a_shorter_window_left_alone_lets_go_of_what_the_longer_kept(scene: Scene) -> None:
    long, short = scene.start(LEAVING.format(LONG), LEAVING.format(SHORT))
    scene.send(ROWS)
    held = bytes_of(long)
    assert held > 0 == bytes_of(short)
    long.stop()
    scene.send([(60, "a", 1)])
    assert 0 < bytes_of(short) < held / 2


def test_a_paused_window_finds_its_rows_when_it_goes_on(scene: Scene) -> None:
    short, long = scene.start(LEAVING.format(SHORT), LEAVING.format(LONG))
    scene.send(ROWS[:20])
    short.pause()
    scene.settle()
    before = short.to_polars().height
    scene.send(ROWS[20:])
    assert short.to_polars().height == before and long.to_polars().height > before
    short.resume()
    scene.settle()
    assert short.to_polars().height > long.to_polars().height
    scene.end()
    assert sorted(short.to_polars().rows()) == sorted(long.to_polars().rows())
