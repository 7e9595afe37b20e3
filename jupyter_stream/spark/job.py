"""Spark's own query: begun, watched, gone on with from its checkpoint where Spark left it waiting, and stopped.

Of the engine it knows nothing: rows are in the spools of the inlets, and what a micro-batch gives goes to a callback.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from jupyter_stream.core import logs, threads
from jupyter_stream.core.table import TableRows
from jupyter_stream.errors import StreamError
from jupyter_stream.plan.logical import BoundQuery, Plan
from jupyter_stream.spark.at_once import answered
from jupyter_stream.spark.expressions import sql
from jupyter_stream.spark.hold import Hold
from jupyter_stream.spark.inlet import Inlet
from jupyter_stream.spark.inside import ROCKSDB, Network, partition, run_inside
from jupyter_stream.spark.phases import Phases
from jupyter_stream.spark.progress import Progress, Stalled, drained_by, micro_batches
from jupyter_stream.spark.reasons import reason_of
from jupyter_stream.spark.remote import MemorySink, is_remote, release
from jupyter_stream.spark.settings import STALLED, Settings
from jupyter_stream.spark.spread import SpreadWriting, away
from jupyter_stream.spark.start import SOCKETS, session, starts
from jupyter_stream.spark.state_server import SILENT
from jupyter_stream.spark.stopping import stopped
from jupyter_stream.spark.tables import TableHistory
from jupyter_stream.spark.translate import translate

log = logs.of(__name__)

_LOOK: Final = 0.05
"""Seconds between looks at whether there is something to do."""
_ASK: Final = 0.25
"""Seconds between looks at what Spark's query is doing: each is some calls to Spark, whose cores have better to do."""
_GATHER: Final = 0.3
"""Seconds that Spark's query waits for the end of rows that are all there to be read, once everything else is ready: a
micro-batch of those that were left would cost more."""
_SLOW: Final = "failed to connect back"
"""What Spark says where a Python process hasn't started within 10 seconds, on a busy machine; we go on from the checkpoint, for
as long as a query may get nowhere."""
_STALLS: Final = 2
"""How often a query goes on from its checkpoint before it fails."""
_LONGER: Final = f"Slow tasks get longer with --conf {STALLED}='1 hour'"
_STRANGERS: Final = (
    "Another program may be connecting to the ports this Spark listens at: start it with "
    f"SparkSession.builder.config('{SOCKETS}', 'true')"
)
"""Advice for a session of the notebook's own: ours meets its Python processes at files."""
_STOP: Final = "60s"
"""How long Spark may take to let go of a micro-batch; without a limit it could wait for ever."""


class _Ended(StreamError):
    """A micro-batch began when its query had ended already: Spark is to take it for unanswered, and nobody is to hear of it."""


class _Expected(logging.Filter):
    """Keeps py4j from logging as an error, with its trace, what a query that is being stopped answers to Spark."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not (record.exc_info and isinstance(record.exc_info[1], _Ended))


for _name in ("py4j.clientserver", "py4j.java_gateway"):
    logging.getLogger(_name).addFilter(_Expected())


class SparkJob:
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
        counted: told of a batch job that took the place of all micro-batches, how many rows it took and how many seconds.
        phases: told what it is doing before its first answers.

    Attributes:
        answered: the last micro-batch whose answers were taken, -1 for none.
        broken: what is wrong with a micro-batch, in one line.
        input_ended: set once no more rows will come: the query then ends when Spark has taken what is there.
        table_changed: set when a table holds something else.
        stopping: set when the query is to end.
        spread: has executors write answers; None where they come here.
        waits_for: told why they can't just now.
        brief: whether a batch job may answer where all rows are there: nobody asks for answers before, or for a checkpoint.
    """

    def __init__(
        self,
        name: str,
        query: BoundQuery,
        plan: Plan,
        inside: Network | None,
        inlets: Sequence[Inlet],
        tables: Mapping[TableRows | None, TableHistory],
        folder: Path,
        namespace: Mapping[str, object],
        settings: Settings,
        take: Callable[[int, object], None],
        look: Callable[[object], None],
        counted: Callable[[int, float], None],
        phases: Phases,
    ) -> None:
        self.answered = -1
        self.brief = False
        self.broken: str | None = None
        self.input_ended = threads.Event()
        self.table_changed = threads.Event()
        self.stopping = threads.Event()
        self.spread: SpreadWriting | None = None
        self.waits_for: Callable[[str], None] = lambda why: None
        self.streaming: Any = None
        self._context: Any = None  # Spark's; None on Spark Connect
        self._hold = Hold(folder)
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
        self._counted = counted
        self._sessions: list[Any] = []  # of Spark Connect, each with a client of its own
        self._answering = threading.Lock()
        self._changing = threading.Lock()
        self._letting_go = False
        self.phases = phases

    def change_table(self) -> None:
        """A table holds something else: rows that come now are not for the query that Spark runs, which knows it as it was."""
        with self._changing:
            for inlet in self._inlets:
                inlet.spool.hold()
            self.table_changed.set()

    def follow(self) -> None:
        """Run until there is nothing more to come, or `stopping` is set. Raises what ended it before."""
        stalls = 0
        slow: tuple[int, float] | None = None  # answered, and since when Python processes start too slowly
        while not self.stopping.is_set():
            try:
                spark = self._session()
                if self._all_came(spark):
                    self._take_at_once(spark)
                    return
                query = self._begin(spark)
                if query is not None:
                    self._watch(query)
                return
            except Exception as error:
                text = reason_of(error)
                silent = SILENT in text
                stalled = silent or isinstance(error, Stalled)
                if self.stopping.is_set() or self._sink is not None or not (stalled or _SLOW in text):
                    raise  # a sink of Spark's memory has no checkpoint to go on from
                if stalled:
                    text = text[text.index(SILENT) :] if silent else text
                    log.warning("query %s: %s", self._name, text)
                    stalls += 1
                    if stalls > _STALLS:
                        raise StreamError(f"{text}, {stalls} times over{self._advice(silent=silent)}") from None
                elif slow is None or slow[0] != self.answered:
                    slow = self.answered, time.monotonic()
                elif time.monotonic() - slow[1] > self._settings.stalled:
                    raise
            if self.streaming is not None:
                self._let_go(self.streaming)
            self.broken = None

    def _all_came(self, spark: object) -> bool:
        """Whether all rows are there before Spark's query would begin, and one batch job may answer them.

        That takes a fraction of the time in which a streaming query begins and ends. Rows that our connectors read are few then:
        more would wait for Spark to take some.
        """
        settled = self._settings.trigger is None and self._settings.at_once is None and not self._tables
        if not self.brief or not settled or is_remote(spark) or not all(i.all_there for i in self._inlets):
            return False
        return self.input_ended.wait(_GATHER) and not self.table_changed.is_set()

    def _take_at_once(self, spark: object) -> None:
        for inlet in self._inlets:
            inlet.spool.show()
        began = time.monotonic()
        table = self._answers(spark)
        if table is not None:
            self._counted(sum(i.spool.written for i in self._inlets), time.monotonic() - began)
            self._take(0, table)
            self.answered = 0

    def _advice(self, *, silent: bool) -> str:
        """What may help against waiting for ever, as the end of a message."""
        if not silent:
            return f". {_LONGER}"
        return "" if self._context.getConf().get(SOCKETS) == "true" else f". {_STRANGERS}"

    def answer_once(self, path: str | None = None) -> object:
        """All answers as a `pyarrow.Table`, by a batch job; None if it is to end before its input has.

        Args:
            path: Parquet files that Spark reads itself; None for what is in the spools once the input has ended.
        """
        while path is None and not self.input_ended.wait(_LOOK):
            if self.stopping.is_set():
                return None
        return self._answers(self._session(), path)

    def _answers(self, spark: Any, path: str | None = None) -> object:
        """Those of a batch job; None if it was stopped."""

        def rows(inlet: Inlet) -> Any:
            if path is None:
                return inlet.spool.all_rows(spark)
            return inlet.spool.rows_of(spark, path, inlet.stream.time.column or "")

        buckets = 0 if self._inside is None else int(spark.conf.get("spark.sql.shuffle.partitions"))
        made = self._made(spark, rows, buckets)
        self.phases.enter("first micro-batch")
        table = answered(spark, made.toArrow, self.stopping, self._settings.stalled)
        self.phases.leave(measured=table is not None)
        return table

    def stop(self) -> None:
        """Have Spark let go of it."""
        if self.streaming is not None:
            with stopped(self.streaming, self._context):
                pass
        self._hold.release()
        while self._sessions:
            release(self._sessions.pop())

    # -- beginning ---------------------------------------------------------------------------------------------------

    def _session(self) -> Any:
        if starts(self._namespace):
            self.phases.enter("starting Java")
        spark = session(self._namespace, self._settings)
        self.phases.enter("planning")
        if is_remote(spark):
            self._sessions.append(spark)
        else:
            self._context = spark.sparkContext
        return spark

    def _begin(self, spark: Any) -> Any:
        """Spark's query, started; None if `stopping` was set while another Spark still had the checkpoint."""
        self.table_changed.clear()
        windowed = self._inside is not None or any(i.way.stage is not None for i in self._inlets)

        def rows(inlet: Inlet) -> Any:
            delay = inlet.delay if self._inside is None else 0
            return inlet.spool.frame(spark, delay, watermark=windowed, at_once=self._settings.at_once)

        spark.conf.set("spark.sql.streaming.stopTimeout", _STOP)
        if self._inside is not None:
            spark.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
        buckets = 0 if self._inside is None else self._buckets(spark)
        writer = self._made(spark, rows, buckets).writeStream.outputMode("append")
        with self._changing:
            if not self.table_changed.is_set():
                for inlet in self._inlets:
                    inlet.spool.show()
        if is_remote(spark):
            self._sink = MemorySink(spark)
            writer = writer.format("memory").queryName(self._sink.name)
        else:
            writer = writer.foreachBatch(self._batch).queryName(self._name)
            writer = writer.option("checkpointLocation", str(self._folder / "checkpoint"))
            if not self._hold.take(self._context, self.stopping, self._settings.stalled):
                return None
        if self._settings.trigger is not None:
            writer = writer.trigger(processingTime=f"{self._settings.trigger} microseconds")
        if self.streaming is None and all(i.all_there for i in self._inlets):
            self.input_ended.wait(_GATHER)
        self.streaming = writer.start()
        self.phases.enter("first micro-batch")
        return self.streaming

    def _made(self, spark: Any, rows: Callable[[Inlet], Any], buckets: int) -> Any:
        """The DataFrame of its answers."""
        if self._inside is not None:
            below, needed = [rows(i) for i in self._inlets], [i.needed for i in self._inlets]
            return run_inside(self._query, self._inside, below, needed, buckets, self._settings.patience)
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
        note, spread = self._folder / "buckets", [[sql(e) for e in by] for by in partition(self._query)]
        if not note.exists():
            buckets = int(spark.conf.get("spark.sql.shuffle.partitions"))
            note.write_text(json.dumps({"buckets": buckets, "by": spread}))
        kept = json.loads(note.read_text())
        if not isinstance(kept, dict) or kept["by"] != spread:
            raise StreamError(
                f"the checkpoint {self._folder} is of a version that spread rows otherwise: name a new folder for it"
            )
        return int(kept["buckets"])

    # -- watching ----------------------------------------------------------------------------------------------------

    def _watch(self, query: Any) -> None:
        """Until there is nothing more to come of it."""
        progress = Progress(self._context, self._settings.stalled)
        drained: threading.Event | None = None
        asked = time.monotonic()
        while not self.stopping.is_set():
            (drained or self.stopping).wait(_LOOK)
            for inlet in self._inlets:
                inlet.spool.flush()
            if self.broken is not None or (drained is not None and drained.is_set()):
                break
            if time.monotonic() - asked >= _ASK:
                asked = time.monotonic()
                self._look(query)
                self._poll(query)
                if not query.isActive:
                    break
            ended = self.input_ended.is_set()  # asked first: a table that was changed before goes for the last rows
            if self.table_changed.is_set() and drained is None:
                if self._sink is not None:
                    raise StreamError("a table of the query was changed, which a query on Spark Connect can't follow")
                self._let_go(query)
                self._look(query)  # for the rows of the micro-batch that was under way, which no later report counts
                query, progress = self._begin(self._session()), Progress(self._context, self._settings.stalled)
            if ended and drained is None:
                drained = drained_by(query)
            if progress.stalled(str(query.runId), partial(micro_batches, query, self.answered)):
                raise Stalled(self._settings.stalled)
        failure = query.exception()
        self._look(query)
        self._poll(query, last=failure is None and not self.stopping.is_set())
        if self.broken is not None:
            raise StreamError(self.broken)  # Spark's wraps it in the traces of three processes
        if failure is not None and not self.stopping.is_set():
            raise failure

    def _poll(self, query: Any, *, last: bool = False) -> None:
        """Take the answers that wait in Spark's memory, where micro-batches don't come by themselves."""
        table = None if self._sink is None else self._sink.news(query, last=last)
        if table is not None:
            self.answered += 1
            self.phases.leave(measured=all(i.all_there for i in self._inlets))
            self._take(self.answered, table)

    def _let_go(self, query: Any) -> None:
        """Stop it to go on from its checkpoint: Spark reads a table when a query starts, and may leave one waiting for ever.

        The micro-batch that may be under way has ended then.
        """
        self._letting_go = True
        with stopped(query, self._context), self._answering:
            self._letting_go = False

    def _collected(self, frame: Any) -> Any:
        """What a micro-batch gave; where executors write its answers, that, once they could."""
        if self.spread is None:
            return frame.toArrow()
        while True:
            table = self.spread.of(frame).toArrow()
            why = away(table)
            if why is None:
                return table
            self.waits_for(why)
            if self.stopping.is_set():
                raise _Ended("the query is being stopped")

    def _batch(self, frame: Any, number: int) -> None:
        """A micro-batch, on a thread of Spark's."""
        with self._answering:
            if self.stopping.is_set() or self.broken is not None:
                # returning, Spark would note in its checkpoint that this was answered, whose rows then come never again
                raise _Ended(self.broken or "the query is being stopped")
            try:
                table = self._collected(frame)
            except _Ended:
                raise
            except Exception as error:
                text = reason_of(error)
                if not self._letting_go:
                    self.broken = text
                # else Spark would take the micro-batch for done, and go on after it when the query is started again
                raise StreamError(text) from None
            self.phases.leave(measured=all(i.all_there for i in self._inlets))
            if number > self.answered:  # else Spark had to compute it again for its state, which it had not committed
                self._take(number, table)
                self.answered = number
