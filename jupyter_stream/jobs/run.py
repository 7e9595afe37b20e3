"""Running a job: its statements in a session, until its queries end or somebody stops them."""

from __future__ import annotations

import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any, Final

from jupyter_stream.core import threads
from jupyter_stream.errors import QueryError, StreamError
from jupyter_stream.jobs.cells import Cell, cells_of
from jupyter_stream.jobs.report import Report
from jupyter_stream.session.query import Explanation, Listing, Query
from jupyter_stream.session.run_options import run_options
from jupyter_stream.session.session import Session

ENDED: Final = 0
FAILED: Final = 1
MISTAKE: Final = 2
STOPPED: Final = 130
"""How a job ends, for whoever started it."""
_LOADS: Final = re.compile(r"\s*%(re)?load_ext\s+jupyter_stream\s*")
"""A line that has been run already."""
_LOOK: Final = 0.05
"""Seconds between looks at whether all is over."""


@dataclass(frozen=True)
class Job:
    """What is to be run, and how.

    Attributes:
        file: SQL text, or a notebook.
        options: keyword arguments of `Session.run` that hold for every statement, such as `engine`.
        values: what `:name` stands for.
        until_end: read what is there now, and end.
        seconds: how long it may run; None for as long as it takes.
        over: files to run over instead of the streams' own sources.
        python: run a notebook's other code cells as well.
    """

    file: Path
    options: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, object] = field(default_factory=dict)
    until_end: bool = False
    seconds: float | None = None
    over: str | None = None
    python: bool = False


def run(job: Job, report: Report) -> int:
    """Run a job to its end; returns how that was: `ENDED`, `FAILED`, `MISTAKE` or `STOPPED`."""
    stop = threads.Event()
    with stopped_by_signals(stop):
        session: Session | None = None
        try:
            cells = cells_of(job.file, python=job.python)
            runner = runner_of(cells, job)
            session = runner.session
            queries = _started(session, runner.execute, cells, job, report)
            if not queries:
                report.say(f"{job.file} starts no query.")
                return ENDED
            return _followed(queries, job, report, stop)
        except StreamError as error:
            report.say(str(error), kind=type(error).__name__)
            return MISTAKE
        finally:
            if session is not None:
                session.close()


def check(job: Job, report: Report) -> int:
    """Say what a job would run, where and how, and run nothing."""
    session: Session | None = None
    try:
        cells = cells_of(job.file)
        runner = runner_of(cells, job)
        session = runner.session
        session.files = job.over
        for cell in cells:
            with placed(cell):
                engine = runner.engine(cell)
                run_options(**{**job.options, "engine": engine})  # refuses what can't be
                for title, told in session.check(cell.text, parameters=job.values, engine=engine):
                    report.say(f"{title}\n{told}\n" if told else title)
        return ENDED
    except StreamError as error:
        report.say(str(error), kind=type(error).__name__)
        return MISTAKE
    finally:
        if session is not None:
            session.close()


Execute = Callable[[Cell], list[Any]]


@dataclass(frozen=True)
class JobRunner:
    """A session, and what becomes of a cell in it.

    Attributes:
        session: the session.
        execute: runs a cell.
        engine: where a cell's queries run, by its own options or the job's. Raises `QueryError` for options that can't be.
        name: what a cell calls its first query; None where it says nothing.
    """

    session: Session
    execute: Execute
    engine: Callable[[Cell], str]
    name: Callable[[Cell], str | None] = lambda cell: None


def runner_of(cells: list[Cell], job: Job) -> JobRunner:
    """That of a job; a notebook's options and Python are IPython's and the magics' business."""
    if any(cell.line or cell.python for cell in cells):
        return _of_notebook(job)
    session = Session(dict(job.values), to_end=job.until_end)
    engine = job.options.get("engine", "kernel")
    return JobRunner(session, lambda cell: session.run(cell.text, **job.options), lambda cell: engine)


def _of_notebook(job: Job) -> JobRunner:
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    shell.user_ns.update(job.values)
    shell.run_line_magic("load_ext", "jupyter_stream")
    magics = shell.magics_manager.registry["StreamMagics"]
    magics.engine = job.options.get("engine", "kernel")
    session: Session = magics.session
    session.to_end = job.until_end
    own = {name: value for name, value in job.options.items() if name != "engine"}
    numbers = count(1)

    def execute(cell: Cell) -> list[Any]:
        if not cell.python:
            number, more = next(numbers), own
            if "checkpoint" in own and magics.engine == "kernel":  # its queries would have the same folder otherwise
                more = {**own, "checkpoint": Path(own["checkpoint"]) / f"cell-{number}"}
            results: list[Any] = magics.results_of(cell.line, cell.text, **more)
            return results
        lines = (line for line in cell.text.splitlines() if not _LOADS.fullmatch(line))
        with redirect_stdout(sys.stderr):  # stdout is the answers'
            shell.run_cell("\n".join(lines), silent=True).raise_error()
        return []

    said = magics.said
    return JobRunner(
        session, execute, lambda cell: said(cell.line).session["engine"], lambda cell: said(cell.line).name
    )


class _Answers:
    """Answers on their way to the standard output, held until it is known how many queries there are.

    Args:
        report: writes them.
    """

    def __init__(self, report: Report) -> None:
        self._report = report
        self._lock = threading.Lock()
        self._names: list[str] = []
        self._held: list[tuple[str, Any]] | None = []

    def watch(self, query: Query) -> None:
        """Take a query's answers from the first on."""
        self._names.append(query.name)
        query.on_result(lambda rows: self._take(query.name, rows))

    def begin(self) -> None:
        """All queries have started: write what there is, and what comes."""
        with self._lock:
            held, self._held = self._held or [], None
            for name, rows in held:
                self._write(name, rows)

    def _take(self, name: str, rows: Any) -> None:
        with self._lock:
            if self._held is None:
                self._write(name, rows)
            else:
                self._held.append((name, rows))

    def _write(self, name: str, rows: Any) -> None:
        self._report.answer(name if len(self._names) > 1 else None, rows)


def _started(session: Session, execute: Execute, cells: list[Cell], job: Job, report: Report) -> list[Query]:
    """The job's queries, running."""
    queries: dict[str, Query] = {}
    answers = _Answers(report)
    session.files, session.watch = job.over, answers.watch
    session.seen = job.python  # its Python may ask for them
    try:
        for cell in cells:
            with placed(cell):
                for result in execute(cell):
                    if isinstance(result, Query):
                        queries[result.name] = result
                    elif not isinstance(result, Listing | Explanation):
                        report.say(str(result))
    finally:
        answers.begin()
    return list(queries.values())


def _followed(queries: list[Query], job: Job, report: Report, stop: threading.Event) -> int:
    """Wait for the end, telling now and then how things stand."""
    end = None if job.seconds is None else time.monotonic() + job.seconds
    due = time.monotonic() + report.every
    while any(query.goes_on for query in queries) and not stop.is_set():
        if end is not None and time.monotonic() >= end:
            break
        if time.monotonic() >= due:
            report.progress(queries, _gone(job.seconds, end))
            due = time.monotonic() + report.every
        stop.wait(_LOOK)
    over = not any(query.goes_on for query in queries)
    for query in queries:
        if query.goes_on:
            query.stop()
        with suppress(QueryError):  # its last line says why
            query.wait()
        query.wait_for_callbacks()
    report.ended(queries)
    if any(query.status == "failed" or any(w.lost or w.error for w in query.writers) for query in queries):
        return FAILED
    return ENDED if over or not stop.is_set() else STOPPED


def _gone(seconds: float | None, end: float | None) -> float | None:
    """How much of a job's time is over, from 0 to 1; None where it has as long as it takes."""
    return None if seconds is None or end is None else 1 - (end - time.monotonic()) / seconds


@contextmanager
def placed(cell: Cell) -> Iterator[None]:
    """Mistakes of a cell say which one."""
    try:
        yield
    except QueryError as error:
        raise type(error)(f"{cell.where}: {error}") from None


@contextmanager
def stopped_by_signals(stop: threading.Event) -> Iterator[None]:
    """SIGTERM and Ctrl-C set `stop`."""

    def stopping(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    former = {number: signal.signal(number, stopping) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
