"""Whether Spark's query gets anywhere, and when it has taken all there is."""

from __future__ import annotations

import logging
import threading
import time
from typing import Any, Final

from jupyter_stream.core import threads

log = logging.getLogger(__name__)

_LOOK: Final = 1.0
"""Seconds between looks at whether its tasks get anywhere, which costs some calls to Spark."""


class Progress:
    """Whether a query of Spark's gets anywhere: micro-batches end, or tasks of the one under way do.

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

    def stalled(self, query: Any, answered: int) -> bool:
        """Whether nothing has happened for too long although there is something to do."""
        now = time.monotonic()
        if self._tracker is None or now - self._looked < min(_LOOK, self._patience / 4):
            return False
        self._looked = now
        mark = self._seen(query, answered)
        if mark is None or mark != self._mark:
            self._mark, self._since = mark, now
        return now - self._since > self._patience

    def _seen(self, query: Any, answered: int) -> object:
        """How far it has got; None where it has nothing to do, or waits for the cores others have."""
        if not query.status["isTriggerActive"]:
            return None
        tracker = self._tracker
        active = set(tracker.getActiveJobsIds())
        jobs = sorted(active & set(tracker.getJobIdsForGroup(str(query.runId))))
        found = [tracker.getStageInfo(s) for j in jobs if (job := tracker.getJobInfo(j)) for s in job.stageIds]
        stages = [s for s in found if s is not None]
        others = (tracker.getJobInfo(j) for j in active.difference(jobs))
        busy = (tracker.getStageInfo(s) for job in others if job for s in job.stageIds)
        if not any(s.numActiveTasks for s in stages) and any(s.numActiveTasks for s in busy if s):
            return None
        last = query.lastProgress
        return answered, last and last["batchId"], jobs, [(s.stageId, s.numCompletedTasks) for s in stages]


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
