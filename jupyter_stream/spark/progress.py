"""Whether Spark's query gets anywhere, and when it has taken all there is."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Final

from jupyter_stream.core import logs, threads

log = logs.of(__name__)

_LOOK: Final = 1.0
"""Seconds between looks at whether its tasks get anywhere, which costs some calls to Spark."""


class Stalled(Exception):
    """Spark's query is in a micro-batch or a job that gets nowhere."""

    def __init__(self, patience: float) -> None:
        super().__init__(f"Spark made no progress for {patience:g} seconds: no task ended")


class Progress:
    """Whether a query of Spark's gets anywhere: micro-batches end, or tasks of what is under way do.

    A state server of Spark's whose connection another program took (see `state_server`) leaves Spark's own Python process, which
    asks what state there is before the first task, waiting for an answer for ever, and nothing tells.

    Args:
        context: Spark's, whose tracker tells of jobs and their stages; None where there is none, on Spark Connect.
        patience: seconds.
    """

    def __init__(self, context: Any, patience: float) -> None:
        self._tracker: Any = None if context is None else context.statusTracker()
        self._patience = patience
        self._mark: object = None
        self._since = self._looked = time.monotonic()

    def stalled(self, group: str, far: Callable[[], object]) -> bool:
        """Whether nothing has happened for too long although there is something to do.

        Args:
            group: the group of its jobs.
            far: asked for how far it has got beside its tasks; gives None where it has nothing to do.
        """
        now = time.monotonic()
        if self._tracker is None or now - self._looked < min(_LOOK, self._patience / 4):
            return False
        self._looked = now
        mark = self._seen(group, far())
        if mark is None or mark != self._mark:
            self._mark, self._since = mark, now
        return now - self._since > self._patience

    def _seen(self, group: str, far: object) -> object:
        """How far it has got; None where it has nothing to do, or waits for the cores others have."""
        if far is None:
            return None
        tracker = self._tracker
        active = set(tracker.getActiveJobsIds())
        jobs = sorted(active & set(tracker.getJobIdsForGroup(group)))
        found = [tracker.getStageInfo(s) for j in jobs if (job := tracker.getJobInfo(j)) for s in job.stageIds]
        stages = [s for s in found if s is not None]
        others = (tracker.getJobInfo(j) for j in active.difference(jobs))
        busy = (tracker.getStageInfo(s) for job in others if job for s in job.stageIds)
        if not any(s.numActiveTasks for s in stages) and any(s.numActiveTasks for s in busy if s):
            return None
        return far, jobs, [(s.stageId, s.numCompletedTasks) for s in stages]


def micro_batches(query: Any, answered: int) -> object:
    """How many have ended and been answered; None while none is under way."""
    if not query.status["isTriggerActive"]:
        return None
    last = query.lastProgress
    return answered, last and last["batchId"]


def drained_by(query: Any) -> threading.Event:
    """Set when Spark's query has taken all there is, or has ended."""
    done = threads.Event()

    def drain() -> None:
        try:
            query.processAllAvailable()
        except BaseException:  # the query tells of it
            log.debug("draining a query", exc_info=True)
        finally:
            done.set()

    threading.Thread(target=drain, name="jupyter-stream drain", daemon=True).start()
    return done
