"""Spark's own query: begun, watched, gone on with from its checkpoint where Spark left it waiting, and stopped.

Of the engine it knows nothing: rows are in the spools of the inlets, and what a micro-batch gives goes to a callback.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from jupyter_stream.core.table import TableRows
from jupyter_stream.errors import StreamError
from jupyter_stream.plan.logical import Plan, Query
from jupyter_stream.spark.inlet import Inlet
from jupyter_stream.spark.inside import ROCKSDB, Network, run_inside
from jupyter_stream.spark.reasons import told
from jupyter_stream.spark.remote import MemorySink, is_remote, release
from jupyter_stream.spark.settings import STALLED, Settings
from jupyter_stream.spark.start import session
from jupyter_stream.spark.tables import Versions
from jupyter_stream.spark.translate import translate

log = logging.getLogger(__name__)

_LOOK: Final = 0.05
"""Seconds between looks at what Spark's query is doing."""
_STALL_LOOK: Final = 1.0
"""Seconds between looks at whether its tasks get anywhere, which costs some calls to Spark."""
_SLOW: Final = "failed to connect back"
"""What Spark says where a Python process hasn't started within 10 seconds, on a busy machine; we go on from the checkpoint, for
as long as a query may get nowhere."""
_STALLS: Final = 2
"""How often a query goes on from its checkpoint before it fails."""
_STOP: Final = "60s"
"""How long Spark may take to let go of a micro-batch; without a limit it could wait for ever."""


class _Stalled(Exception):
    """Spark's query is in a micro-batch that gets nowhere."""


class Job:
    """Spark's query for one of ours.

    Args:
        name: the query's name.
        query: ours.
        plan: its plan as Spark is to run it.
        inside: our operators, where it runs as those; None where it is Spark's.
        inlets: where its streams enter.
        tables: what its tables have held, for look-ups.
        folder: where its checkpoint is.
        namespace: the notebook's variables, for `spark`.
        settings: how it is to run.
        take: given each micro-batch once: its number and its answers, a `pyarrow.Table`; in a thread of Spark's.
        look: given Spark's query now and then, to measure it; in the thread of `follow`.

    Attributes:
        answered: the last micro-batch whose answers were taken, -1 for none.
        broken: what is wrong with a micro-batch, in one line.
        input_ended: set once no more rows will come: the query then ends when Spark has taken what is there.
        table_changed: set when a table holds something else.
        stopping: set when the query is to end.
    """

    def __init__(
        self,
        name: str,
        query: Query,
        plan: Plan,
        inside: Network | None,
        inlets: Sequence[Inlet],
        tables: Mapping[TableRows | None, Versions],
        folder: Path,
        namespace: Mapping[str, object],
        settings: Settings,
        take: Callable[[int, Any], None],
        look: Callable[[Any], None],
    ) -> None:
        self.answered = -1
        self.broken: str | None = None
        self.input_ended = threading.Event()
        self.table_changed = threading.Event()
        self.stopping = threading.Event()
        self.streaming: Any = None
        self._tracker: Any = None
        self._sink: MemorySink | None = None
        self._name = name
        self._query = query
        self._plan = plan
        self._inside = inside
        self._inlets = inlets
        self._tables = tables
        self._folder = folder
        self._namespace = namespace
        self._settings = settings
        self._take = take
        self._look = look
        self._sessions: list[Any] = []  # of Spark Connect, each with a client of its own
        self._answering = threading.Lock()
        self._letting_go = False

    def follow(self) -> None:
        """Run until there is nothing more to come, or `stopping` is set. Raises what ended it before."""
        stalls = _STALLS
        slow: tuple[int, float] | None = None  # answered, and since when Python processes start too slowly
        while not self.stopping.is_set():
            try:
                self._watch(self._begin())
                return
            except _Stalled:
                log.warning("query %s: Spark got nowhere for %s seconds", self._name, self._settings.stalled)
                if not stalls:
                    raise StreamError(
                        f"Spark got nowhere for {self._settings.stalled:g} seconds, {_STALLS + 1} times over: "
                        f"no task ended. Slow tasks get longer with --conf {STALLED}='1 hour'"
                    ) from None
                stalls -= 1
                self._let_go(self.streaming)
            except Exception as error:
                if self.stopping.is_set() or self._sink is not None or _SLOW not in told(error):
                    raise  # a sink of Spark's memory has no checkpoint to go on from
                if slow is None or slow[0] != self.answered:
                    slow = self.answered, time.monotonic()
                if time.monotonic() - slow[1] > self._settings.stalled:
                    raise
            self.broken = None

    def answer_once(self, path: str | None = None) -> Any:
        """All answers as a `pyarrow.Table`, by a batch job; None if it is to end before its input has.

        Args:
            path: Parquet files that Spark reads itself; None for what is in the spools once the input has ended.
        """
        while path is None and not self.input_ended.wait(_LOOK):
            if self.stopping.is_set():
                return None
        spark = self._session()

        def rows(inlet: Inlet) -> Any:
            if path is None:
                return inlet.spool.all_rows(spark)
            return inlet.spool.rows_of(spark, path, inlet.stream.time.column or "")

        return self._made(spark, rows, int(spark.conf.get("spark.sql.shuffle.partitions"))).toArrow()

    def stop(self) -> None:
        """Have Spark let go of it."""
        if self.streaming is not None:
            _stop(self.streaming)
        while self._sessions:
            release(self._sessions.pop())

    # -- beginning ---------------------------------------------------------------------------------------------------

    def _session(self) -> Any:
        spark = session(self._namespace, self._settings)
        if is_remote(spark):
            self._sessions.append(spark)
        return spark

    def _begin(self) -> Any:
        self.table_changed.clear()
        spark = self._session()
        windowed = self._inside is not None or any(i.way.stage is not None for i in self._inlets)

        def rows(inlet: Inlet) -> Any:
            delay = inlet.delay if self._inside is None else 0
            return inlet.spool.frame(spark, delay, watermark=windowed, at_once=self._settings.at_once)

        spark.conf.set("spark.sql.streaming.stopTimeout", _STOP)
        if self._inside is not None:
            spark.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
        writer = self._made(spark, rows, self._buckets(spark)).writeStream.outputMode("append")
        if is_remote(spark):
            self._sink = MemorySink(spark)
            writer = writer.format("memory").queryName(self._sink.name)
        else:
            writer = writer.foreachBatch(self._batch).queryName(self._name)
            writer = writer.option("checkpointLocation", str(self._folder / "checkpoint"))
            self._tracker = spark.sparkContext.statusTracker()
        if self._settings.trigger is not None:
            writer = writer.trigger(processingTime=f"{self._settings.trigger} microseconds")
        self.streaming = writer.start()
        return self.streaming

    def _made(self, spark: Any, rows: Callable[[Inlet], Any], buckets: int) -> Any:
        """The DataFrame of its answers."""
        if self._inside is not None:
            return run_inside(
                self._query, self._inside, [rows(i) for i in self._inlets], [i.needed for i in self._inlets], buckets
            )
        waiting = list(self._inlets)

        def given(node: Plan) -> Any:
            inlet = next((i for i in waiting if i.way.base is node), None)
            if inlet is None:
                return None
            waiting.remove(inlet)
            return rows(inlet)

        return translate(self._plan, given, lambda table: self._tables[table.table].frame(spark))

    def _buckets(self, spark: Any) -> int:
        """How many operators of ours share the work: the same number whenever a query goes on from its checkpoint."""
        note = self._folder / "buckets"
        if not note.exists():
            note.write_text(spark.conf.get("spark.sql.shuffle.partitions"))
        return int(note.read_text())

    # -- watching ----------------------------------------------------------------------------------------------------

    def _watch(self, query: Any) -> None:
        """Until there is nothing more to come of it."""
        progress = _Progress(self._tracker, self._settings.stalled)
        drained: threading.Event | None = None
        while not self.stopping.wait(_LOOK):
            for inlet in self._inlets:
                inlet.spool.flush()
            self._look(query)
            self._poll(query)
            if self.broken is not None or not query.isActive or (drained is not None and drained.is_set()):
                break
            if self.table_changed.is_set() and drained is None:
                if self._sink is not None:
                    raise StreamError("a table of the query was changed, which a query on Spark Connect can't follow")
                self._let_go(query)
                query, progress = self._begin(), _Progress(self._tracker, self._settings.stalled)
            if self.input_ended.is_set() and drained is None:
                drained = _drained(query)
            if progress.stalled(query, self.answered):
                raise _Stalled
        failure = query.exception()
        self._look(query)
        self._poll(query, last=failure is None and not self.stopping.is_set())
        if failure is not None and not self.stopping.is_set():
            raise failure
        if self.broken is not None:
            raise StreamError(self.broken)

    def _poll(self, query: Any, *, last: bool = False) -> None:
        """Take the answers that wait in Spark's memory, where micro-batches don't come by themselves."""
        table = None if self._sink is None else self._sink.news(query, last=last)
        if table is not None:
            self.answered += 1
            self._take(self.answered, table)

    def _let_go(self, query: Any) -> None:
        """Stop it to go on from its checkpoint: Spark reads a table when a query starts, and may leave one waiting for ever."""
        self._letting_go = True
        _stop(query)
        with self._answering:  # Spark has let go of the micro-batch that may be under way here
            self._letting_go = False

    def _batch(self, frame: Any, number: int) -> None:
        """A micro-batch, on a thread of Spark's."""
        with self._answering:
            if self.stopping.is_set() or self.broken is not None:
                return
            try:
                table = frame.toArrow()
            except Exception as error:
                if self._letting_go:
                    raise
                # not raised from here: it would come back wrapped in the traces of three processes
                self.broken = told(error)
                return
            if number > self.answered:  # else Spark had to compute it again for its state, which it had not committed
                self._take(number, table)
                self.answered = number


class _Progress:
    """Whether a query of Spark's gets anywhere: micro-batches end, or tasks of the one under way do.

    Rarely an assertion in Spark's own state server, which serves our operators' processes, leaves a task waiting for an answer
    for ever, and nothing tells.

    Args:
        tracker: Spark's, of jobs and their stages; None where there is none, on Spark Connect.
        patience: seconds.
    """

    def __init__(self, tracker: Any, patience: float) -> None:
        self._tracker = tracker
        self._patience = patience
        self._mark: object = None
        self._since = self._looked = time.monotonic()

    def stalled(self, query: Any, answered: int) -> bool:
        """Whether nothing has happened for too long although there is something to do."""
        now = time.monotonic()
        if self._tracker is None or now - self._looked < min(_STALL_LOOK, self._patience / 4):
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
        if active and not any(s.numActiveTasks for s in stages):
            return None
        last = query.lastProgress
        return answered, last and last["batchId"], jobs, [(s.stageId, s.numCompletedTasks) for s in stages]


def _drained(query: Any) -> threading.Event:
    """Set when Spark's query has taken all there is, or has ended."""
    done = threading.Event()

    def drain() -> None:
        try:
            query.processAllAvailable()
        except Exception:  # the query tells of it
            log.debug("draining a query", exc_info=True)
        done.set()

    threading.Thread(target=drain, name="jupyter-stream drain", daemon=True).start()
    return done


def _stop(query: Any) -> None:
    try:
        query.stop()
    except Exception:  # it has stopped by itself, or all of Spark has
        log.debug("stopping a query", exc_info=True)
