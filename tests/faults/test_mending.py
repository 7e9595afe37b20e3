"""Views beside one that fails go on; `%stream reset` and `%reload_ext` mend whatever has happened."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from jupyter_stream import Query, Session, views
from jupyter_stream.views import thread
from jupyter_stream.views.live import LiveView
from tests.faults.raised import RAISED
from tests.tiers import thinned
from tests.waiting import until

ROWS = pl.DataFrame({"ts": range(1000), "n": range(1000)})


def numbers() -> Iterator[dict[str, int]]:
    for i in range(10**9):
        yield {"ts": i, "n": i}


@pytest.fixture
def session() -> Iterator[Session]:
    with Session({"numbers": numbers}) as session:
        session.execute("CREATE STREAM s (ts BIGINT, n BIGINT) ORDER BY ts SOURCE 'python://numbers'")
        yield session
    views.close()


@pytest.mark.parametrize("kind", thinned(RAISED))
def test_what_a_view_raises_costs_it_a_frame_and_others_nothing(
    session: Session, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, good = session.execute("SELECT n FROM s LIMIT 1000000; SELECT n FROM s")
    assert isinstance(bad, Query) and isinstance(good, Query)
    views_of = {query.name: LiveView(query) for query in (bad, good)}
    served = {"q1": 0, "q2": 0}
    refresh = LiveView.refresh

    def broken(view: LiveView, *arguments: Any) -> int:
        served[view.name] += 1
        if view.name == bad.name and served[view.name] < 4:
            raise RAISED[kind][0]()
        return refresh(view, *arguments)

    monkeypatch.setattr(LiveView, "refresh", broken)
    for view in views_of.values():
        thread.add(view)
    until(lambda: served["q1"] > 5 and served["q2"] > 5)
    assert thread.current().alive


def test_views_go_on_in_another_thread_where_theirs_has_ended(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    (query,) = session.execute("SELECT n FROM s")
    assert isinstance(query, Query)
    view = LiveView(query)
    frames: list[int] = []
    refresh = LiveView.refresh
    monkeypatch.setattr(LiveView, "refresh", lambda view, *rest: frames.append(1) or refresh(view, *rest))
    thread.add(view)
    until(lambda: frames)
    serving = thread.current()
    first = serving._watched

    def ends(*_: object) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(serving, "_obey", ends)
        until(lambda: serving._watched is not first)
    count = len(frames)
    until(lambda: len(frames) > count)


@pytest.mark.parametrize("line", ["%stream reset", "%reload_ext jupyter_stream"])
def test_a_notebook_whose_engine_has_ended_is_mended_by(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shell = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    shell.run_line_magic("load_ext", "jupyter_stream")
    shell.user_ns["rows"] = ROWS
    cell = "CREATE STREAM s ORDER BY ts SOURCE 'frame://rows'; SELECT sum(n) AS t FROM s [RANGE 1000 MICROSECONDS TUMBLING]"
    shell.run_cell_magic("stream", "first --quiet", cell)
    engine = shell.user_ns["first"].session.engine

    def ends(*_: object) -> None:
        raise SystemExit

    first = engine._thread
    with monkeypatch.context() as patch:
        patch.setattr(engine, "_obey", ends)
        patch.setattr("jupyter_stream.engine.engine.log.exception", ends)
        engine.signal()
        until(lambda: engine._thread is not first)
    assert shell.run_cell(line).success
    shell.run_cell_magic("stream", "second --quiet", cell)
    assert shell.user_ns["second"].wait(200)
    assert shell.user_ns["second"].to_polars()["t"].to_list() == [ROWS["n"].sum()]
    shell.run_line_magic("unload_ext", "jupyter_stream")
