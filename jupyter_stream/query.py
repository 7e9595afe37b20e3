"""The handle of a query: its results as ordinary frames, its state, its controls. `repr` is a line; the rich display is live."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from jupyter_stream import late_answers
from jupyter_stream.core.coverage import WHOLE, Coverage
from jupyter_stream.core.diagram import Diagram
from jupyter_stream.core.snapshot import LateRows, Snapshot, State
from jupyter_stream.core.time import MAX_TIME, MIN_TIME, show
from jupyter_stream.engine.diagram import diagram, places, rows_at
from jupyter_stream.engine.explain import Text
from jupyter_stream.engine.pipeline import Pipeline
from jupyter_stream.engine.refused import ERRORS_SCHEMA
from jupyter_stream.engine.settings import change
from jupyter_stream.errors import QueryError
from jupyter_stream.plan.catalog import Watermark
from jupyter_stream.plan.logical import Aggregate, Project, streams, walk
from jupyter_stream.spark.frame import streaming_frame
from jupyter_stream.spark.run import SparkRun

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from jupyter_stream.session import Session
    from jupyter_stream.views.panel import Panel

Running: TypeAlias = Pipeline | SparkRun
"""What is behind a handle: a query in the kernel or on Spark."""

_PATIENCE = 2.0
"""Seconds a look into a running plan waits for the batch under way."""
_EXACT = 2**53
"""Up to here a float64 holds every whole number."""
_KEEPS_UNIT = frozenset({"avg", "min", "max", "sum", "first", "last", "median", "stddev_samp", "stddev_pop"})


class Query:
    """A running or ended query. All methods may be called from any thread.

    Attributes:
        name: its name.
        text: the statement, as typed.
    """

    def __init__(self, session: Session, pipeline: Running) -> None:
        self._session = session
        self._pipeline = pipeline
        self.name = pipeline.name
        self.text = pipeline.query.text
        self._missed: tuple[tuple[int, int, int], LateRows | None] | None = None

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
        """The answers as they are now: final rows and the present provisional ones, or a relation's current state."""
        return self._pipeline.results.frame()

    def to_pandas(self) -> pd.DataFrame:
        """The same as a pandas frame; times are `datetime64[us]` in UTC without zone.

        Whole numbers beside NULLs are `float64`, as pandas has it; where that would not hold them exactly, `Int64`.
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

    def to_spark(self, *, max_files: int | None = None) -> Any:
        """The query as a streaming `pyspark.sql.DataFrame` over its files, for programs on Spark; this one goes on.

        Args:
            max_files: how many files a micro-batch takes at most (Spark's `maxFilesPerTrigger`); None for all there are.

        Raises:
            QueryError: `max_files` is no number of files.
            UnsupportedError: it can't be written in Spark's own operators, or its rows aren't in files that Spark reads as
                our reader does.
        """
        return streaming_frame(self._pipeline.query, self._session.namespace, max_files)

    @property
    def latest(self) -> pl.DataFrame:
        """The answers given last: the newest extent's rows, or a relation's current state."""
        return self._pipeline.results.latest

    def changes(self) -> pl.DataFrame:
        """The history: a relation's change log (`op`, `at`), or every answer given, provisional ones among them."""
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
        """What share of the exact answer has been given, with its 95% interval: less than 1 where a budget has put work off."""
        return self._pipeline.coverage if isinstance(self._pipeline, Pipeline) else WHOLE

    def on_result(self, callback: Callable[[pl.DataFrame], None]) -> Query:
        """Call back with each frame of new answers, in a thread of its own. Returns the query."""
        if not callable(callback):
            raise QueryError(f"{callback!r} can't be called", hint="Give a function of one frame: q.on_result(print).")
        self._session.engine.listen(self._pipeline, callback)
        return self

    # -- life --------------------------------------------------------------------------------------------------------

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until its sources end.

        Args:
            timeout: seconds at most, None for ever.

        Returns:
            Whether it has ended.

        Raises:
            QueryError: it failed; the message says why.
        """
        ended = self._pipeline.done.wait(timeout)
        if ended and self._pipeline.error is not None:
            raise QueryError(f"query {self.name} failed: {self._pipeline.error}")
        return ended

    def stop(self) -> None:
        """End it; what it has answered stays. Returns at once."""
        self._session.engine.submit(lambda: self._session.engine.end(self._pipeline))

    def pause(self) -> None:
        """Take no input until `resume`. Returns at once."""
        self._session.engine.submit(self._pipeline.pause)

    def resume(self) -> None:
        """Take input again. Returns at once."""
        self._session.engine.submit(self._pipeline.resume)
        self._session.engine.signal()

    @property
    def status(self) -> State:
        """`waiting` (no answer yet), `running`, `paused`, `finished`, `stopped` or `failed`."""
        pipeline = self._pipeline
        return "paused" if pipeline.paused and pipeline.running else pipeline.state

    @property
    def stats(self) -> dict[str, Any]:
        """Counters now: rows in and out, late, bad, bytes of state, watermark, and each operator's control table."""
        pipeline = self._pipeline
        snapshot = self.snapshot(0)
        return {
            "state": snapshot.state,
            "rows_in": snapshot.rows_in,
            "rows_out": snapshot.rows_out,
            "late": snapshot.late,
            "bad": snapshot.bad,
            "state_bytes": snapshot.state_bytes,
            "peak_state_bytes": sum(c.peak_bytes for c in pipeline.controls),
            "low_watermark": show(snapshot.low_watermark),
            "seconds": (pipeline.ended or time.time()) - pipeline.started,
            "operators": [c.as_dict() for c in pipeline.controls],
            "synopses": [t.as_dict() for t in pipeline.synopses],
            "sources": [f.control.as_dict() for f in pipeline.feeds],
            "queues": [f.queue.as_dict() for f in pipeline.feeds],
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
        """The rows waiting in a node's queue and the head of its state, by what they are.

        Args:
            node: its id in `diagram()`.
            most: rows of each.

        Raises:
            TimeoutError: a long batch is under way; look again.
        """
        pipeline = self._pipeline
        if not isinstance(pipeline, Pipeline):
            return {}
        return self._session.engine.submit(lambda: rows_at(pipeline, node, most)).result(_PATIENCE)

    def set(self, node: str, setting: str, value: object) -> None:
        """Change a setting of a node of the plan while it runs; `diagram().node(id).settings` has what there is.

        Raises:
            QueryError: there is no such node or setting, or it can't have that value.
        """
        pipeline, engine = self._pipeline, self._session.engine
        if not isinstance(pipeline, Pipeline):
            raise QueryError(f"{node} has no setting {setting}", hint="On Spark, settings are given with --conf.")
        if not pipeline.running:
            raise QueryError(f"{self.name} has ended, and has no settings any more", hint="Start it again.")

        done = engine.submit(change(engine, pipeline, dict(places(pipeline)).get(node), setting, value))
        with suppress(TimeoutError):  # a long batch is under way, and it comes about after that
            done.result(_PATIENCE)

    # -- what a view sees --------------------------------------------------------------------------------------------

    @property
    def version(self) -> int:
        """Grows whenever a snapshot would differ."""
        pipeline = self._pipeline
        read: int = sum(f.control.rows_in + f.rejected for f in list(pipeline.feeds))  # also when it has ended
        return pipeline.changes + pipeline.results.version + read + pipeline.late + pipeline.failed_rows

    def snapshot(self, last: int = 500) -> Snapshot:
        """The query now, with its newest `last` rows.

        The engine goes on meanwhile. So the version is read first, and what comes later is in the next snapshot too; then the
        state, and one that has ended has all its rows.
        """
        pipeline = self._pipeline
        version, state = self.version, self.status
        rows, final = pipeline.results.tail(last)
        query = pipeline.query
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
            text=self.text,
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
            bad=sum(f.rejected for f in feeds) + pipeline.failed_rows,
            state_bytes=pipeline.state_bytes,
            low_watermark=pipeline.low_watermark if pipeline.low_watermark != MAX_TIME else newest,
            max_event_time=newest,
            next_final=int(waits[0]) if waits and pipeline.running else None,
            hint=self._hint(),
            error=pipeline.error,
            started=pipeline.started,
            ended=pipeline.ended,
            notes=self._notes(),
            ordered=query.relation and bool(query.order),
            cells=pipeline.cells if isinstance(pipeline, Pipeline) else None,
            late_rows=self._late_rows(rows.filter(final), last),
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
        pipeline = self._pipeline
        if isinstance(pipeline, SparkRun):
            return pipeline.health.notes
        if pipeline.spending is None:
            return {}
        notes = {"coverage": str(pipeline.coverage), "spent": f"{100 * pipeline.spending.share:.0f}% of one core"}
        if pipeline.coverage.share < 1:
            notes["first come, first served"] = f"{100 * pipeline.spending.first_come:.0f}%"
        return notes

    def _hint(self) -> str | None:
        pipeline = self._pipeline
        if isinstance(pipeline, SparkRun) and pipeline.hint is not None:
            return pipeline.hint
        if not pipeline.late:
            return None
        for feed in pipeline.feeds:
            progress = feed.stream.time.progress
            if isinstance(progress, Watermark) and not progress.declared and feed.stream.time.kind == "external":
                column = feed.stream.time.column
                return (
                    f"{pipeline.late:,} rows came late: {feed.stream.name} declares no watermark, so it is taken to be in order. "
                    f"Declare one: WATERMARK FOR {column} AS {column} - INTERVAL 1 MINUTE"
                )
        return None

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
        """A view that shows it in a way of its own: live as the last line of a cell, or in `dashboard(q, q.view("table"))`.

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
        """The rows that were clicked in a view of this query, with shift several; without rows where none are."""
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
        return f"<query {self.name}: {snapshot.state}, {snapshot.rows_in:,} rows in, {snapshot.rows_out:,} out>"

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
