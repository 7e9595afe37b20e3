"""Schedulers: which input is served next, and which operator works next. One policy per file; `SCHEDULERS` is all there is."""

from jupyter_stream.errors import QueryError
from jupyter_stream.schedulers.bfs import BreadthFirst
from jupyter_stream.schedulers.chain import Chain
from jupyter_stream.schedulers.chain_within import ChainWithin
from jupyter_stream.schedulers.dfs import DepthFirst
from jupyter_stream.schedulers.fifo import FirstCome
from jupyter_stream.schedulers.greedy import Greedy
from jupyter_stream.schedulers.least_progress import LeastProgress
from jupyter_stream.schedulers.protocol import NextStep, Scheduler, SchedulerInput, WorkOperator, WorkOrder, WorkQueue
from jupyter_stream.schedulers.round_robin import RoundRobin
from jupyter_stream.schedulers.rr import Exits

__all__ = [
    "SCHEDULERS",
    "FirstCome",
    "NextStep",
    "Scheduler",
    "SchedulerInput",
    "WorkOperator",
    "WorkOrder",
    "WorkQueue",
    "find",
    "scheduler",
]

SCHEDULERS: tuple[type[Scheduler], ...] = (
    FirstCome,
    RoundRobin,
    DepthFirst,
    BreadthFirst,
    Exits,
    Greedy,
    Chain,
    ChainWithin,
    LeastProgress,
)


def find(name: str) -> Scheduler | None:
    """A policy of that name, None if there is none."""
    asked = " ".join(name.lower().split())
    return next((found for s in SCHEDULERS if (found := s.named(asked)) is not None), None)


def scheduler(name: str) -> Scheduler:
    """A policy of that name. Raises `QueryError` with all names if there is none."""
    found = find(name)
    if found is None:
        raise QueryError(f"there is no scheduler {name!r}", hint=f"There are {', '.join(s.name for s in SCHEDULERS)}.")
    return found
