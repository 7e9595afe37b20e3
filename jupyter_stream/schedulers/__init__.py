"""Schedulers: which input the engine serves next. A protocol and one policy per file; `SCHEDULERS` is all there is."""

from jupyter_stream.schedulers.least_progress import LeastProgress
from jupyter_stream.schedulers.protocol import Input, Scheduler
from jupyter_stream.schedulers.round_robin import RoundRobin

__all__ = ["SCHEDULERS", "Input", "LeastProgress", "RoundRobin", "Scheduler", "find"]

SCHEDULERS: tuple[type[Scheduler], ...] = (
    RoundRobin,
    LeastProgress,
)


def find(name: str) -> type[Scheduler] | None:
    """The policy of that name, None if there is none."""
    return next((s for s in SCHEDULERS if s.name == name), None)
