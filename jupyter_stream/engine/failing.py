"""What breaks off a step of a query from outside; and why nothing is computed in a forked process."""

from __future__ import annotations

from typing import Final

from jupyter_stream.core import threads
from jupyter_stream.errors import QueryError

FORKED: Final = "this process was forked from the one that runs the query, and threads don't go on in a fork"


def refuse_forks() -> None:
    """Raise where nothing could be computed, but would be waited for.

    Raises:
        QueryError: this process was forked from one in which queries have run.
    """
    if threads.in_a_fork():
        raise QueryError(
            "this process was forked from one in which queries have run, and a fork has no threads to run them",
            hint="Start it with multiprocessing.get_context('spawn'), and make a new Session() in it.",
        )


class SetAside(BaseException):
    """The thread's step has ended, and another thread is the engine's by now. Never leaves the engine."""


class Abandoned(BaseException):
    """Raised in a step nobody waits for any more. Never leaves the engine."""
