"""The handle of a query: its results as ordinary frames, its state, its controls. `repr` is a line; the rich display is live."""

from __future__ import annotations

import sys
import time
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from jupyter_stream.aggregates.user import inside
from jupyter_stream.core.coverage import WHOLE, Coverage
from jupyter_stream.core.diagram import Diagram
from jupyter_stream.core.memory import SPILLED
from jupyter_stream.core.memory import parse as parse_size
from jupyter_stream.core.precision import EXACT, Precision
from jupyter_stream.core.snapshot import LateRows, Snapshot, State
from jupyter_stream.core.threads import Answer
from jupyter_stream.core.time import MAX_TIME, MIN_TIME, show
from jupyter_stream.engine.cuts import Cuts, kept_of
from jupyter_stream.engine.diagram import diagram, places, rows_at
from jupyter_stream.engine.error_rows import ERRORS_SCHEMA
from jupyter_stream.engine.explain import Text
from jupyter_stream.engine.failing import refuse_forks
from jupyter_stream.engine.outbox import Outbox
from jupyter_stream.engine.pipeline import Pipeline
from jupyter_stream.engine.settings import change
from jupyter_stream.engine.steps import LONG
from jupyter_stream.errors import QueryError
from jupyter_stream.plan import chart_facts
from jupyter_stream.plan.logical import Aggregate, Project, streams, walk
from jupyter_stream.schedulers import Scheduler
from jupyter_stream.schedulers import scheduler as policy_named
from jupyter_stream.secrets import hidden
from jupyter_stream.session import exports, inactive, late_answers
from jupyter_stream.session.arriving_rows import ArrivingRows, ended
from jupyter_stream.session.callback import Callback, failure_note
from jupyter_stream.session.declared_sinks import SinkStatus, notes, status, trouble
from jupyter_stream.session.hints import hint
from jupyter_stream.session.no_progress import no_progress
from jupyter_stream.sinks import SinkWriter
from jupyter_stream.spark.frame import streaming_frame
from jupyter_stream.spark.run import SparkRun

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from jupyter_stream.session.session import Session
    from jupyter_stream.views.panel import Panel

Running: TypeAlias = Pipeline | SparkRun
"""What is behind a handle: a query in the kernel or on Spark."""

_WHOLE = 20_000
"""Rows of a relation that a view looks at, to rank them."""
_PATIENCE = 2.0
"""Seconds a look into a running plan waits for the batch under way."""
_EXACT = 2**53
"""Up to here a float64 holds every whole number."""
_KEEPS_UNIT = frozenset({"avg", "min", "max", "sum", "first", "last", "median", "stddev_samp", "stddev_pop"})


class Query:
    """A running or ended query. All methods may be called from any thread.

    For example, where `q` is one:

        q.to_pandas()                  # the answers so far
        q.chart("bar", by="symbol")    # show its view another way
        for row in q: print(row)       # each answer as it comes; q.stop() ends it

    Attributes:
        name: its name.
        text: the statement, as typed.
        writers: what writes its answers to sinks.
        into: which sinks these are.
    """

    def __init__(self, session: Session, pipeline: Running) -> None:
        self._session = session
        self._pipeline = pipeline
        self.name = pipeline.name
        self.text = pipeline.query.text
        self._missed: tuple[tuple[int, int, int], LateRows | None] | None = None
        self._told_to_stop = False
        self._callbacks: list[Callback] = []
        self.writers: list[SinkWriter] = []
        self.into: tuple[object, ...] = ()

    @property
    def session(self) -> Session:
        """The session it belongs to."""
        return self._session

    @property
    def engine(self) -> str:
        """Where it runs: `kernel` or `spark`."""
        return "spark" if isinstance(self._pipeline, SparkRun) else "kernel"

    # -- results -----------------------------------------------------------------------------------------------------

    def to_polars(self) -> pl.DataFrame:
        """The answers so far, final and provisional rows; for a query whose answer changes, the current answer."""
        refuse_forks()
        return self._pipeline.results.frame()

    def to_pandas(self) -> pd.DataFrame:
        """The same as a pandas frame; times are `datetime64[us]` in UTC without zone.

        A column of whole numbers with NULLs becomes `float64`; where that would not be exact, `Int64`.
        """
        frame = self.to_polars()
        made = frame.to_pandas()
        for column in frame.select(pl.selectors.by_dtype(pl.Int64)).get_columns():
            if column.null_count() and not column.is_between(-_EXACT, _EXACT).all():
                from pandas.arrays import IntegerArray

                whole = column.fill_null(0).to_numpy()
                made[column.name] = IntegerArray(whole, column.is_null().to_numpy(), copy=True)
        return made

    def to_arrow(self) -> pa.Table:
        """The same as an Arrow table."""
        return self.to_polars().to_arrow()

    def to_parquet(self, path: str | Path) -> Path:
        """Write the answers as they are now to a Parquet file; returns its path. Raises `QueryError` where it can't be."""
        return exports.to_parquet(self.to_polars(), path)

    def to_csv(self, path: str | Path) -> Path:
        """Write the answers as they are now to a CSV file; returns its path. Raises `QueryError` where it can't be."""
        return exports.to_csv(self.to_polars(), path)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Final answers (of a relation, its changes) as dicts, from the first one kept, until the query ends.

        Raises:
            QueryError: it failed, or has forgotten rows that weren't read yet.
        """
        return ArrivingRows(self).rows()

    def __aiter__(self) -> AsyncIterator[dict[str, Any]]:
        """The same for `async for`, which leaves the event loop free."""
        return ArrivingRows(self).rows_in_turn()

    def __await__(self) -> Generator[Any, None, Query]:
        """`await q`: the query itself, once its sources have ended. Raises `QueryError` where it failed."""
        return ended(self).__await__()

    def to_spark(self, *, max_files: int | None = None) -> Any:
        """The query as a streaming `pyspark.sql.DataFrame` over its files, for programs on Spark. This query goes on.

        What Spark has no operators for runs in ours inside the DataFrame. Of a relation it gives the changes, with `op` and `at`.
        Spark closes a window only when a later row has come: written with `trigger(availableNow=True)`, the last ones are
        missing. It looks for late rows once in each micro-batch, so it may use some that are late here, and lists none. A warning
        says so before.

        Args:
            max_files: how many files a micro-batch takes at most (Spark's `maxFilesPerTrigger`); None for all there are.

        Raises:
            QueryError: `max_files` is not a number of files.
            UnsupportedError: its rows aren't in files that Spark reads as our reader does, or it goes by their order of arrival.
        """
        return streaming_frame(self._pipeline.query, self._session.namespace, max_files)

    @property
    def latest(self) -> pl.DataFrame:
        """The newest answers: the rows of the newest extent; for a query whose answer changes, the current answer."""
        return self._pipeline.results.latest

    def changes(self) -> pl.DataFrame:
        """Every answer given, provisional ones too; for a query whose answer changes, its change log (`op`, `at`)."""
        return self._pipeline.results.history()

    @property
    def late(self) -> pl.DataFrame:
        """Late rows that missed an answer of this query: their columns, `punctuation` and `missed`."""
        frames = list(self._pipeline.late_frames)
        if frames:
            return pl.concat(frames, how="diagonal")
        return self._pipeline.sides[streams(self._pipeline.query.plan)[0].name].schema.empty()

    @property
    def errors(self) -> pl.DataFrame:
        """Records this query could not use: `raw` and `reason`. Those of other queries are in `errors(name)` too."""
        frames = list(self._pipeline.error_frames)
        return pl.concat(frames) if frames else ERRORS_SCHEMA.empty()

    @property
    def coverage(self) -> Coverage:
        """The share of the exact answer given so far, with its 95% interval; less than 1 where a budget has put work off."""
        return self._pipeline.coverage if isinstance(self._pipeline, Pipeline) else WHOLE

    @property
    def precision(self) -> Precision:
        """How exact its answers are: what was given up before it started, what is given up now, and when that began and ended.

        How far a single answer is off is said in its column `precision`.
        """
        return self._pipeline.precision if isinstance(self._pipeline, Pipeline) else EXACT

    def on_result(self, callback: Callable[[pl.DataFrame], None]) -> Query:
        """Call back with each frame of new answers, in a thread of its own. Returns the query.

        Where the callback raises, the query goes on; the view says so once, and the log has the traceback.
        """
        if not callable(callback):
            raise QueryError(f"{callback!r} can't be called", hint="Give a function of one frame: q.on_result(print).")
        watched = Callback(self.name, callback)
        self._callbacks.append(watched)
        self._session.engine.listen(self._pipeline, watched)
        return self

    # -- life --------------------------------------------------------------------------------------------------------

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until its sources end, and all answers are in its sinks.

        Args:
            timeout: seconds at most, None for ever.

        Returns:
            Whether it has ended.

        Raises:
            QueryError: it failed; the message says why.
        """
        until = None if timeout is None else time.monotonic() + timeout
        ended = self._pipeline.done.wait(timeout)
        for cuts in kept_of([self._pipeline]):
            ended = ended and cuts.done.wait(None if until is None else max(0.0, until - time.monotonic()))
        for writer in self.writers:
            ended = ended and writer.settle(None if until is None else max(0.0, until - time.monotonic()))
        error = self._error
        if ended and error is not None:
            raise QueryError(f"query {self.name} failed: {error}")
        return ended

    def wait_for_callbacks(self, timeout: float | None = None) -> bool:
        """Wait until the callbacks of `on_result` have had all answers given so far.

        Args:
            timeout: seconds at most for each of them, None for ever.

        Returns:
            Whether they have.
        """
        return all(o.settle(timeout) for o in self._pipeline.outboxes if isinstance(o, Outbox))

    @property
    def _error(self) -> str | None:
        broken = next((w for w in self.writers if w.error is not None), None)
        of_sink = None if broken is None else f"sink {broken.order.name}: {broken.error}"
        return self._pipeline.error or of_sink

    def stop(self) -> None:
        """End the query; its answers stay. Returns at once. The same statement then starts a new query."""
        if self._pipeline.ended is not None:
            for writer in self.writers:
                writer.end(patient=False)
        self._told_to_stop = True  # the engine's thread comes to it after the batch under way
        self._session.engine.submit(lambda: self._session.engine.end(self._pipeline))

    @property
    def goes_on(self) -> bool:
        """Whether it runs, or may again, and hasn't been told to stop."""
        return self._pipeline.ended is None and not self._told_to_stop

    def pause(self, spill: bool | str = False) -> None:
        """Take no input until `resume`. Returns at once.

        Args:
            spill: whether rows past what may wait in memory go to a temporary file instead of being left out where the
                source is live and other queries read it too: up to 10 GB, or up to a size such as `'2 GB'`. They are
                read back in order after `resume`, and the answers have no gap.

        Raises:
            QueryError: that is no size, or the query runs on Spark.
        """
        pipeline = self._pipeline
        if not spill:
            self._session.engine.submit(pipeline.pause)
            return
        most = SPILLED if spill is True else parse_size(spill)
        if most is None:
            raise QueryError(f"{spill!r} is not a size", hint="Write for instance q.pause(spill='2 GB').")
        if not isinstance(pipeline, Pipeline):
            raise QueryError("rows of a query on Spark don't wait on disk", hint="Write q.pause().")
        self._session.engine.submit(lambda: pipeline.pause(most))

    def resume(self) -> None:
        """Take input again. Returns at once."""
        engine, pipeline = self._session.engine, self._pipeline
        engine.submit(lambda: engine.resume(pipeline))

    def deactivate(self) -> Query:
        """Give back what its operators hold, and take no rows until `activate`. Its answers stay. Returns the query.

        Raises:
            QueryError: it has ended, or could not come back: it reads a replay, has a checkpoint, or runs on Spark.
            UnsupportedError: its answers would never be exact again, with the reason.
        """
        pipeline, engine = inactive.restable(self), self._session.engine
        done: Answer[None] = Answer()
        engine.submit(lambda: engine.deactivate(pipeline, done))
        done.wait(_PATIENCE)  # a long batch may be under way, and it comes about after that
        return self

    def activate(self) -> Query:
        """Take rows again, as if it were started now. `exact_from` says from when its answers are exact. Returns the query.

        Raises:
            QueryError: it has ended, or isn't inactive.
        """
        pipeline, engine = inactive.resting(self), self._session.engine
        engine.submit(lambda: engine.activate(pipeline)).result()
        return self

    @property
    def exact_from(self) -> datetime | int | None:
        """The time from which its answers are exact since it was activated (an integer where its times are integers).

        None before its first row, where its windows don't tell, and for a query that was never inactive.
        """
        return inactive.exact_from(self._pipeline)

    @property
    def status(self) -> str:  # not `State`: Jedi, which completes `q.`, fails on a Literal as a property's type
        """`waiting` (no answer yet), `running`, `paused`, `inactive`, `finished`, `stopped` or `failed`."""
        return self._state()

    def _state(self) -> State:
        pipeline = self._pipeline
        if pipeline.state == "finished" and self.writers:
            if any(w.error is not None for w in self.writers):
                return "failed"
            if any(w.lost for w in self.writers):
                return "stopped"
            if not all(w.done.is_set() for w in self.writers):
                return "running"
        return "paused" if pipeline.paused and pipeline.running else pipeline.state

    @property
    def written(self) -> int:
        """Answers that its sink has (rows and deletions committed); of several sinks, of the one that has the fewest."""
        return min((w.written for w in self.writers), default=0)

    @property
    def sinks(self) -> tuple[SinkStatus, ...]:
        """How writing to its sinks goes: rows, last commit, what keeps one from writing."""
        return tuple(status(w) for w in self.writers)

    @property
    def share(self) -> float | None:
        """How much of its input has been taken, from 0 to 1: of the source that is least far. None where one has no known end."""
        return self._pipeline.share

    @property
    def stats(self) -> dict[str, Any]:
        """Counters now: rows in and out, late, bad, bytes of state, watermark, and each operator's control table."""
        pipeline = self._pipeline
        snapshot = self.snapshot(0)
        between = [q.as_dict() for q in pipeline.queues] if isinstance(pipeline, Pipeline) else []
        return {
            "state": snapshot.state,
            "rows_in": snapshot.rows_in,
            "rows_out": snapshot.rows_out,
            "late": snapshot.late,
            "bad": snapshot.bad,
            "failed_callbacks": sum(c.failures for c in self._callbacks),
            "state_bytes": snapshot.state_bytes,
            "peak_state_bytes": sum(c.peak_bytes for c in pipeline.controls),
            "low_watermark": show(snapshot.low_watermark),
            "seconds": (pipeline.ended or time.time()) - pipeline.started,
            "sinks": [asdict(s) for s in self.sinks],
            "operators": [c.as_dict() for c in pipeline.controls],
            "synopses": [t.as_dict() for t in pipeline.synopses],
            "sources": [f.control.as_dict() for f in pipeline.feeds],
            "queues": [f.queue.as_dict() for f in pipeline.feeds] + between,
        }

    def explain(self) -> Text:
        """The operators with what each holds and has done."""
        return Text(self._pipeline.explain(measured=True))

    @property
    def plan(self) -> PlanText:
        """The operators; in a notebook they are drawn, and kept up to date while the query runs."""
        return PlanText(self.plan_text(), self)

    # -- what a plan view sees ---------------------------------------------------------------------------------------

    def diagram(self) -> Diagram | None:
        """The operators with their control tables and what flows between them, now; None for a query on Spark."""
        return diagram(self._pipeline, self._session.engine) if isinstance(self._pipeline, Pipeline) else None

    def plan_text(self) -> str:
        """The operators as text."""
        return self._pipeline.explain(measured=False)

    def rows_at(self, node: str, most: int = 20) -> dict[str, pl.DataFrame]:
        """The rows that wait in a node's queue, and the first rows of its state, by their names.

        Args:
            node: its id in `diagram()`.
            most: rows of each.

        Raises:
            TimeoutError: the query is busy with a long batch; try again.
        """
        pipeline = self._pipeline
        if not isinstance(pipeline, Pipeline):
            return {}

        def look() -> dict[str, pl.DataFrame]:
            if pipeline.busy:
                raise TimeoutError
            return rows_at(pipeline, node, most)

        return self._session.engine.submit(look).result(_PATIENCE)

    def set(self, node: str, setting: str, value: object) -> None:
        """Change a setting of a node of the plan while it runs; `diagram().node(id).settings` has what there is.

        Raises:
            QueryError: there is no such node or setting, or it can't have that value.
        """
        pipeline, engine = self._pipeline, self._session.engine
        if not isinstance(pipeline, Pipeline):
            raise QueryError(f"{node} has no setting {setting}", hint="On Spark, settings are given with --conf.")
        if not pipeline.running:
            raise QueryError(
                f"{self.name} has ended, and its settings can't be changed any more", hint="Start it again."
            )

        write = change(engine, pipeline, dict(places(pipeline)).get(node), setting, value)
        done = engine.submit(lambda: pipeline.when_free(write))
        with suppress(TimeoutError):  # a long batch is under way, and it comes about after that
            done.result(_PATIENCE)

    def schedule(self, scheduler: str | Scheduler | None) -> None:
        """Have the query's operators work by another policy than the session's, from now on; None is the session's again.

        Operators that queries share, and sources, go by the session's.

        Raises:
            QueryError: there is no policy of that name (`SHOW SCHEDULERS` lists them), or the query runs on Spark.
        """
        pipeline, engine = self._pipeline, self._session.engine
        policy = policy_named(scheduler) if isinstance(scheduler, str) else scheduler
        if not isinstance(pipeline, Pipeline):
            raise QueryError(f"{self.name} runs on Spark, which has a scheduler of its own")
        engine.submit(lambda: engine.schedule_query(pipeline, policy)).result()

    # -- what a view sees --------------------------------------------------------------------------------------------

    @property
    def version(self) -> int:
        """Grows whenever a snapshot would differ."""
        pipeline = self._pipeline
        read: int = sum(f.control.rows_in + f.rejected for f in list(pipeline.feeds))  # also when it has ended
        failed = pipeline.failed_rows + sum(c.failures for c in self._callbacks)
        failed += sum(w.version for w in self.writers)
        stands = no_progress(pipeline) is not None  # which comes about by waiting
        return pipeline.changes + pipeline.results.version + read + pipeline.late + failed + stands

    def snapshot(self, last: int = 500) -> Snapshot:
        """The query now, with its newest `last` rows.

        The query goes on while the snapshot is made, so rows that come meanwhile may be in this snapshot and in the next one. A
        query that has ended has all its rows in it.
        """
        pipeline = self._pipeline
        version, state = self.version, self._state()
        query = pipeline.query
        # a relation is ranked and counted as a whole, a stream by its newest rows
        rows, final = pipeline.results.tail(max(last, _WHOLE) if query.relation and last else last)
        feeds = list(pipeline.feeds)
        keys = tuple(k for k in query.key_columns if k in rows.columns)
        values = tuple(
            n
            for n, t in rows.schema.items()
            if t.is_numeric()
            and n not in keys
            and n not in ("window_start", "window_end", "window_id", query.time_column)
        )
        waits = [w for c in pipeline.controls if (w := c.extra.get("next_final")) is not None]
        newest = max((f.ingest.frontier.newest for f in feeds), default=MIN_TIME)
        return Snapshot(
            name=self.name,
            text=hidden(self.text),
            state=state,
            version=version,
            rows=rows,
            final=final,
            relation=query.relation,
            time_column=query.time_column,
            key_columns=keys,
            value_columns=values,
            units=self._units(),
            rows_in=sum(f.control.rows_in for f in feeds),
            rows_out=pipeline.results.rows_out,
            late=pipeline.late,
            bad=sum(f.rejected for f in feeds) + pipeline.failed_rows + sum(w.refused for w in self.writers),
            state_bytes=pipeline.state_bytes,
            low_watermark=pipeline.low_watermark if pipeline.low_watermark != MAX_TIME else newest,
            max_event_time=newest,
            next_final=int(waits[0]) if waits and pipeline.running else None,
            hint=self._hint(),
            error=None if self._error is None else hidden(self._error),
            started=pipeline.started,
            ended=pipeline.ended,
            notes=self._notes(),
            ordered=query.relation and bool(query.order),
            cells=pipeline.cells if isinstance(pipeline, Pipeline) else None,
            late_rows=self._late_rows(rows.filter(final), last),
            total=pipeline.results.height if last else None,
            slide=chart_facts.slide(query),
            as_they_came=chart_facts.as_they_came(query),
            failing="on_result failed" if any(c.failures for c in self._callbacks) else None,
            phase=pipeline.phase if isinstance(pipeline, SparkRun) else None,
        )

    def _late_rows(self, answers: pl.DataFrame, last: int) -> LateRows | None:
        """Late rows beside the answers they missed; kept while nothing new came, as snapshots are taken often."""
        pipeline = self._pipeline
        if not pipeline.late or not last or isinstance(pipeline, SparkRun):
            return None
        seen = (pipeline.late, pipeline.results.version, last)
        if self._missed is None or self._missed[0] != seen:
            newest: list[pl.DataFrame] = []
            for frame in reversed(list(pipeline.late_frames)):
                newest.insert(0, frame)
                if sum(f.height for f in newest) >= late_answers.MOST_ROWS:
                    break
            late = pl.concat(newest, how="diagonal") if newest else None
            whole = answers.height == pipeline.results.rows_out
            found = None if late is None else late_answers.missed(pipeline.query, late, answers, whole=whole)
            self._missed = (seen, found)
        return self._missed[1]

    def _notes(self) -> dict[str, str]:
        said = {**self._notes_of_run(), **notes(self.writers)}
        for cuts in kept_of([self._pipeline]):
            said["checkpoint"] = _when(cuts)
        return said

    def _notes_of_run(self) -> dict[str, str]:
        pipeline = self._pipeline
        if isinstance(pipeline, SparkRun):
            return pipeline.health.notes
        since = inactive.note(pipeline)
        if pipeline.query.changed or pipeline.easing is not None:
            since |= {"precision": str(pipeline.precision)}
        if pipeline.spending is None:
            return since
        notes = since | {
            "coverage": str(pipeline.coverage),
            "spent": f"{100 * pipeline.spending.share:.0f}% of one core",
        }
        if pipeline.coverage.share < 1:
            notes["first come, first served"] = f"{100 * pipeline.spending.first_come:.0f}%"
        return notes

    def _under_way(self) -> str | None:
        """Where a step is that takes long: `inside my_aggregate for 12 s`."""
        pipeline, engine = self._pipeline, self._session.engine
        seconds = engine.seconds(pipeline)
        if not isinstance(pipeline, Pipeline) or seconds < LONG or not pipeline.running:
            return None
        where = inside(sys._current_frames().get(engine.thread_of(pipeline) or 0)) or pipeline.at
        return f"inside {where} for {seconds:.0f} s; other queries go on, and %stream stop {self.name} ends this one"

    def _hint(self) -> str | None:
        failed = failure_note(self._callbacks)
        if failed is not None:
            return failed
        pipeline = self._pipeline
        long = self._under_way()
        if long is not None:
            return long
        away = trouble(self.writers)
        if away is not None:
            return away
        if isinstance(pipeline, SparkRun) and pipeline.hint is not None:
            return pipeline.hint
        return hint(pipeline)

    def _units(self) -> dict[str, str]:
        """Units of result columns that are a source's column, or an aggregate of one that keeps its unit."""
        root = self._pipeline.query.plan
        known: dict[str, str] = {}
        for stream in streams(root):
            known.update(stream.source.units)
        if not known:
            return {}
        from jupyter_stream.functions.expression import Column

        through: dict[str, str] = {}
        for node in walk(root):
            if isinstance(node, Aggregate):
                for call in node.calls:
                    if call.function in _KEEPS_UNIT and call.args and isinstance(call.args[0], Column):
                        through[call.name] = call.args[0].name
        found = {}
        items = root.items if isinstance(root, Project) else ()
        for name, expr in items:
            if isinstance(expr, Column):
                source = through.get(expr.name, expr.name)
                if source in known:
                    found[name] = known[source]
        return found

    # -- for people --------------------------------------------------------------------------------------------------

    def chart(self, kind: str | None = None, **options: str | int | None) -> Query:
        """Change the live view in place: `kind` as --chart, and x, y, by, last, top, multiples. Returns the query."""
        from jupyter_stream import views

        views.change(self, kind, **options)
        return self

    def view(self, kind: str | None = None, **options: str | int | None) -> Panel:
        """One more view of the query: live as the last line of a cell, or in `dashboard(q, q.view("table"))`.

        Args:
            kind: as --chart; the one it was last shown with when left out.
            **options: x, y, by, last, top, multiples; those left out are as it was last shown.

        Raises:
            QueryError: there is no such chart, or `last` can't be read.
        """
        from jupyter_stream import views

        return views.panel(self, kind, **options)

    @property
    def selected(self) -> pl.DataFrame:
        """The rows that were clicked in a view of this query; several with shift. An empty frame where none were."""
        from jupyter_stream import views

        found = views.selected(self)
        return self._pipeline.results.frame().clear() if found is None else found

    def save(self, path: str | Path, theme: str = "light") -> Path:
        """Write the chart as it is now to a file, and return the file's path.

        Args:
            path: ends in `.png`, `.svg`, or `.html` for a page that stays interactive without a kernel or a network.
            theme: `light` or `dark`; for a page also `auto`, as the reader's browser.

        Raises:
            QueryError: another ending or theme, or there is no answer yet.
        """
        from jupyter_stream import views

        return views.save(self, path, theme)

    def __repr__(self) -> str:
        snapshot = self.snapshot(0)
        state = ", ".join(filter(None, (snapshot.state, snapshot.failing)))
        return f"<query {self.name}: {state}, {snapshot.rows_in:,} rows in, {snapshot.rows_out:,} out>"

    def _ipython_display_(self) -> None:
        from jupyter_stream import views

        views.display(self)


class PlanText(Text):
    """A plan as text; shown in a notebook it is the live plan view."""

    def __new__(cls, text: str, _query: Query) -> PlanText:
        """Text like any other."""
        return super().__new__(cls, text)

    def __init__(self, _text: str, query: Query) -> None:
        self._query = query

    def _ipython_display_(self) -> None:
        from jupyter_stream import views

        views.display_plan(self._query)


class Message:
    """What a statement without rows has done, in a sentence."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


class Listing:
    """Rows a statement answers with at once: SHOW, DESCRIBE.

    Attributes:
        title: what they are.
        frame: the rows.
    """

    def __init__(self, title: str, frame: pl.DataFrame) -> None:
        self.title = title
        self.frame = frame

    def to_polars(self) -> pl.DataFrame:
        """The rows."""
        return self.frame

    def to_pandas(self) -> pd.DataFrame:
        """The rows as a pandas frame."""
        return self.frame.to_pandas()

    def __repr__(self) -> str:
        widths = [
            max(len(c), *(len(str(v)) for v in self.frame[c])) if self.frame.height else len(c)
            for c in self.frame.columns
        ]
        lines = ["  ".join(c.ljust(w) for c, w in zip(self.frame.columns, widths, strict=True)).rstrip()]
        for row in self.frame.iter_rows():
            lines.append(
                "  ".join(("" if v is None else str(v)).ljust(w) for v, w in zip(row, widths, strict=True)).rstrip()
            )
        return "\n".join(lines)


class Explanation:
    """What EXPLAIN says."""

    def __init__(self, text: Text) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text


def _when(cuts: Cuts) -> str:
    """What the strip says of a checkpoint."""
    if cuts.trouble is not None:
        return cuts.trouble
    if cuts.last is None:
        return "none yet"
    return f"{datetime.fromtimestamp(cuts.last):%H:%M:%S}, {cuts.bytes / 1e6:,.1f} MB"


Result: TypeAlias = Query | Listing | Explanation | Message
"""What a statement gives."""
