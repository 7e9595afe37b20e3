"""`jupyter-stream serve`: a session over HTTP without a notebook, with the statements of a file to begin with."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from jupyter_stream.core import threads
from jupyter_stream.errors import StreamError
from jupyter_stream.jobs.cells import cells_of
from jupyter_stream.jobs.report import Report
from jupyter_stream.jobs.run import MISTAKE, STOPPED, Job, placed, runner_of, stopped_by_signals
from jupyter_stream.session.query import Query
from jupyter_stream.session.session import Session

TOKEN: Final = "JUPYTER_STREAM_TOKEN"
"""The variable of the environment with the token, where a new one each time won't do: what a command says, others can see."""


@dataclass(frozen=True)
class Reach:
    """Where it is served, and to whom.

    Attributes:
        port: see `Session.serve`.
        host: see there.
        names: see there.
        token: whether requests need one.
    """

    port: int | None = None
    host: str = "127.0.0.1"
    names: Sequence[str] = ()
    token: bool = True


def serve(job: Job | None, reach: Reach, report: Report) -> int:
    """Serve until SIGTERM or Ctrl-C; returns the exit code.

    Args:
        job: the file to begin with.
        reach: where and to whom.
        report: says what happens.
    """
    stop = threads.Event()
    with stopped_by_signals(stop):
        session: Session | None = None
        try:
            cells = [] if job is None else cells_of(job.file, python=job.python)
            runner = None if job is None else runner_of(cells, job)
            session = Session({}) if runner is None else runner.session
            token = (os.environ.get(TOKEN) or None) if reach.token else False
            server = session.serve(reach.port, host=reach.host, token=token, names=reach.names)
            report.say(f"serving at {server.url}", url=server.url)
            if token is None:
                report.say(f"token: {server.token}", token=server.token)
            for cell in cells:
                with placed(cell):
                    assert runner is not None
                    for result in runner.execute(cell):
                        if isinstance(result, Query):
                            report.say(f"{result.name}: {server.page(result.name)}")
            while not stop.wait(0.2) and server.running:
                pass
            return STOPPED
        except StreamError as error:
            report.say(str(error), kind=type(error).__name__)
            return MISTAKE
        finally:
            if session is not None:
                session.close()


__all__ = ["TOKEN", "Reach", "serve"]
