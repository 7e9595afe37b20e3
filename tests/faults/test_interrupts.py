"""Interrupts at random moments, and threads that end all the same: nothing dies, and what ends is told and begins anew."""

from __future__ import annotations

import ctypes
import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import polars as pl
import pytest

from jupyter_stream import Query, QueryError, Session
from jupyter_stream.core import threads
from jupyter_stream.engine import engine
from jupyter_stream.engine.pipeline import Pipeline
from jupyter_stream.errors import EngineError
from tests.faults.threads import begun
from tests.tiers import slow, thinned
from tests.waiting import PATIENCE, until

ROWS = 2_000_000
FRAME = pl.DataFrame({"ts": np.arange(ROWS), "k": np.arange(ROWS) % 997, "n": np.arange(ROWS) % 13})
DECLARED = """
CREATE STREAM s (ts BIGINT, k BIGINT, n BIGINT) ORDER BY ts SOURCE 'frame://rows';
CREATE STREAM live (ts BIGINT, n BIGINT) ORDER BY ts SOURCE 'python://ticks'"""
SUMS = "SELECT k, sum(n) AS t FROM s [RANGE 100000 MICROSECONDS TUMBLING] GROUP BY k"
LIVE = "SELECT count(*) AS c FROM live [RANGE 100 MICROSECONDS TUMBLING]"


def ticks() -> Iterator[dict[str, int]]:
    for i in range(10**9):
        yield {"ts": i, "n": i}
        if i % 100 == 0:
            time.sleep(0.001)


@pytest.fixture
def session() -> Iterator[Session]:
    with Session({"rows": FRAME, "ticks": ticks}) as session:
        session.execute(DECLARED)
        yield session


def whole() -> pl.DataFrame:
    windows = (pl.col("ts") // 100_000).alias("w")
    return FRAME.group_by(windows, "k").agg(pl.col("n").sum()).select("k", "n").sort("k", "n")


INTERRUPTED = """
    import os, random, signal, sys, threading, time
    sys.path.insert(0, {here!r})
    from tests.faults import test_interrupts as t
    from jupyter_stream import Session

    signal.signal(signal.SIGINT, signal.default_int_handler)  # who starts tests in the background has it ignored
    many = {many}
    session = Session({{"rows": t.FRAME, "ticks": t.ticks}})
    session.execute(t.DECLARED)
    (live,) = session.execute(t.LIVE)
    chance = random.Random(0)
    over = threading.Event()

    def interrupt():
        for _ in range(many):
            time.sleep(chance.random() * 0.02)
            os.kill(os.getpid(), signal.SIGINT)
        over.set()

    def cells():
        global met
        while not over.is_set():
            try:
                if not queries or queries[-1].status == "finished":
                    queries.extend(session.execute(t.SUMS))
                t.FRAME.select((t.pl.col("n") * 2).sum(), t.pl.col("k").sort().first())
                queries[-1].to_polars(), queries[-1].snapshot(5)
            except KeyboardInterrupt:
                met += 1
        interrupter.join()
        time.sleep(0.01)  # the last one is here by now

    interrupter = threading.Thread(target=interrupt, daemon=True)
    interrupter.start()
    met, queries, ended = 0, [], False
    while not ended:
        try:
            cells()
            ended = True
        except KeyboardInterrupt:  # between two cells, or behind the last
            met += 1
    for query in queries:
        if query.status != "stopped":
            assert query.wait(200) and query.status == "finished", query.status
            assert query.to_polars().select("k", "t").sort("k", "t").rows() == t.whole().rows()
    assert live.status == "running", (live.status, live.snapshot(1).error)
    before = live.to_polars().height
    t.until(lambda: live.to_polars().height > before)
    print(many, "sent", met, "met by the cell;", len(queries), "queries of", t.ROWS, "rows right")
    os._exit(0)
"""


@slow
@pytest.mark.parametrize("many", [500 if "FAULTS" in os.environ else 60])
def test_interrupts_at_full_speed_hit_the_cell_and_no_query(many: int) -> None:
    here = str(Path(__file__).parents[2])
    program = textwrap.dedent(INTERRUPTED).format(here=here, many=many)
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=290, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]
    assert "queries of" in ended.stdout
    print(ended.stdout)


def raise_in(thread: threading.Thread, error: type[BaseException]) -> None:
    if thread.ident is None:  # it is about to begin
        return
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(error))


def ours(*names: str) -> list[threading.Thread]:
    return [t for t in begun() if any(t.name.startswith(f"jupyter-stream {n}") for n in names)]


@pytest.mark.parametrize("error", thinned([KeyboardInterrupt, SystemExit, MemoryError]))
def test_after_exceptions_in_any_of_our_threads_queries_have_failed_with_the_reason_or_are_right(
    session: Session, error: type[BaseException]
) -> None:
    chance = random.Random(1)
    queries: list[Query] = []
    for _ in range(200 if "FAULTS" in os.environ else 25):
        queries += [q for q in session.execute(SUMS) if isinstance(q, Query)]
        time.sleep(chance.random() * 0.03)
        for thread in ours("engine", "source", "beside"):
            if chance.random() < 0.5:
                raise_in(thread, error)
    for query in queries:
        until(query._pipeline.done.is_set)
        if query.status == "failed":
            assert query.snapshot(1).error
        else:
            assert query.to_polars().select("k", "t").sort("k", "t").rows() == whole().rows()
    (after,) = session.execute(SUMS)
    assert isinstance(after, Query) and after.wait(200)
    assert after.to_polars().select("k", "t").sort("k", "t").rows() == whole().rows()


def test_an_engine_thread_that_ends_all_the_same_is_told_and_begins_anew(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    (before,) = session.execute(LIVE)
    assert isinstance(before, Query)
    until(lambda: before.to_polars().height)
    first = session.engine._thread

    def raises(*_: object, **__: object) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(session.engine, "_obey", raises)
        patch.setattr(engine.log, "exception", raises)  # so that the guard fails as well
        until(lambda: session.engine._thread is not first)
    until(lambda: session.engine._thread is not None and session.engine._thread.is_alive())
    height = before.to_polars().height
    until(lambda: before.to_polars().height > height)


def test_a_thread_that_ends_without_a_word_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[BaseException | None] = []

    def raises(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(threads.log, "exception", raises)
    threads.begin("jupyter-stream test", raises, told.append)
    until(lambda: told)


def test_what_follows_the_end_of_a_thread_is_done_again_if_an_interrupt_hits_it() -> None:
    told: list[BaseException | None] = []

    def died(error: BaseException | None) -> None:
        told.append(error)
        if len(told) == 1:
            raise KeyboardInterrupt

    threads.begin("jupyter-stream test", lambda: 1 / 0, died)  # type: ignore[arg-type, return-value]
    until(lambda: len(told) == 2)


@slow
def test_an_event_hit_at_any_moment_can_be_set_and_waited_for() -> None:
    over = threading.Event()
    met, events = [0], [threads.Event()]

    def sets() -> None:
        while not over.is_set():
            try:
                while not over.is_set():
                    events.append(threads.Event())
                    events[-1].wait(0)
                    events[-1].set()
            except KeyboardInterrupt:
                met[0] += 1

    setter = threading.Thread(target=sets)
    setter.start()
    seen = 0

    def hit() -> bool:
        nonlocal seen
        if len(events) > seen + 1:  # it is inside; a hook of the garbage collector may swallow what is raised there
            seen = len(events)
            raise_in(setter, KeyboardInterrupt)
        return met[0] >= 100

    until(hit, step=0.0005)
    over.set()
    setter.join()
    for event in events[-10_000:]:
        event.set()
        assert event.wait(0)


LINES = [
    at - Pipeline._finish.__code__.co_firstlineno for *_, at in Pipeline._finish.__code__.co_lines() if at is not None
]


@pytest.mark.parametrize("line", sorted({line for line in LINES if line > 0}))
def test_a_query_whose_end_is_hit_at_any_line_has_ended(monkeypatch: pytest.MonkeyPatch, line: int) -> None:
    code, hits = Pipeline._finish.__code__, []

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        if frame.f_code is not code:
            return None
        if event == "line" and frame.f_lineno == code.co_firstlineno + line and not hits:
            hits.append(line)
            raise KeyboardInterrupt
        return trace

    monkeypatch.setattr(threading, "_trace_hook", trace)
    with Session({"rows": FRAME.head(1000)}) as session:
        session.execute(DECLARED.split(";")[0])
        (query,) = session.execute("SELECT k FROM s")
        assert isinstance(query, Query)
        until(query._pipeline.done.is_set)
        assert query.status in ("finished", "failed")


@pytest.mark.parametrize("at", ["give", "fail"])
def test_a_command_hit_between_two_lines_is_answered(
    session: Session, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    answered, obeying = getattr(threads.Answer, at), []

    def hit(*given: object) -> None:
        if threading.current_thread() not in obeying:  # the answer to another command
            return answered(*given)
        monkeypatch.undo()
        raise KeyboardInterrupt

    def raises() -> None:
        obeying.append(threading.current_thread())
        if at == "fail":
            raise ValueError

    session.execute(LIVE)
    monkeypatch.setattr(threads.Answer, at, hit)
    with pytest.raises((KeyboardInterrupt, EngineError)):
        session.engine.submit(raises).result(100)


@slow
def test_an_answer_nobody_has_rung_for_is_found() -> None:
    answer: threads.Answer[int] = threads.Answer()
    threading.Timer(0.05, lambda: setattr(answer, "_given", (True, 3))).start()
    assert answer.result(100) == 3


@slow
def test_a_thread_that_is_just_beginning_does_not_pass_for_one_that_ended() -> None:
    died: list[BaseException | None] = []
    over = threading.Event()

    def look() -> None:
        while not over.is_set():
            for each in list(threads._watched):
                each.look()

    lookers = [threading.Thread(target=look) for _ in range(3)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for looker in lookers:
            looker.start()
        for _ in range(300):
            threads.begin("brief", lambda: None, died.append).thread.join()
    finally:
        over.set()
        sys.setswitchinterval(interval)
        for looker in lookers:
            looker.join()
    assert not died


def test_a_callback_that_raises_anything_is_called_again(session: Session) -> None:
    called: list[int] = []

    def callback(frame: pl.DataFrame) -> None:
        called.append(frame.height)
        raise SystemExit

    (query,) = session.execute(LIVE)
    assert isinstance(query, Query)
    query.on_result(callback)
    until(lambda: len(called) > 3)


def test_a_forked_child_says_that_it_is_one_and_hangs_nowhere(session: Session) -> None:
    (query,) = session.execute(LIVE)
    assert isinstance(query, Query)
    until(lambda: query.to_polars().height)
    heard, said = os.pipe()
    child = os.fork()
    if not child:
        try:
            ask_a_fork(session, query, said)
        finally:  # it must never go on as a second run of the tests
            os._exit(0)
    os.close(said)
    os.waitpid(child, 0)
    told = os.read(heard, 10_000).decode()
    os.close(heard)
    first, *others, status = told.split("|")
    assert "this process was forked from the one that runs the query" in first and status == "failed"
    assert len(others) == 4 and all("this process was forked" in other for other in others), others
    height = query.to_polars().height
    until(lambda: query.to_polars().height > height)


def ask_a_fork(session: Session, query: Query, said: int) -> None:
    """What it answers, or for how long it hangs."""
    signal.alarm(int(PATIENCE))
    for ask in (
        lambda: query.wait(5),
        query.to_polars,
        lambda: session.execute("SELECT n FROM live"),
        lambda: Session().execute("SHOW STREAMS"),
        lambda: session.engine.launch([]),
    ):
        try:
            ask()
            os.write(said, b"nothing.")
        except QueryError as error:
            os.write(said, str(error).encode() + b"|")
        except BaseException as error:
            os.write(said, repr(error).encode() + b"|")
    query.stop()
    session.close()
    os.write(said, query.status.encode())
