"""What a live view sees of a query: one immutable picture, taken at most a few times a second. Views know nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

import polars as pl

State: TypeAlias = Literal["waiting", "running", "paused", "inactive", "finished", "stopped", "failed"]


@dataclass(frozen=True, slots=True)
class LateRows:
    """Late rows beside the answers they missed: an entry for each late row and answer, the newest last.

    Attributes:
        rows: the late rows, in the columns of their stream.
        came: how long after its time was over each came, microseconds.
        at: where the answer stands in the time column, microseconds.
        keys: the answer's key columns.
        given: the answer's other columns, NULL where there is none.
        would: the same columns as they would have been with the row; NULL where that can't be told.
        why: for each column of which it can't be told ever, why not.
    """

    rows: pl.DataFrame
    came: pl.Series
    at: pl.Series
    keys: pl.DataFrame
    given: pl.DataFrame
    would: pl.DataFrame
    why: dict[str, str]


@dataclass(frozen=True, slots=True)
class Phase:
    """What a query is doing before its first answer.

    Attributes:
        name: in words, such as `planning`.
        since: when it began, `time.monotonic()`.
        last: seconds it took last time; None where that isn't known.
        note: what more there is to say of it.
    """

    name: str
    since: float
    last: float | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A query at one moment.

    Attributes:
        name: the query's name.
        text: the statement, as typed.
        state: waiting (no result yet), running, paused, finished (its sources ended), stopped (by the user), failed.
        version: grows whenever anything else here changed.
        rows: the newest result rows, as many as were asked for, in the columns `to_pandas()` would have.
        final: a Boolean for each of `rows`: false for provisional answers.
        relation: whether the rows are the current state of a relation (else newest rows of an append-only stream).
        time_column: the column that belongs on a time axis, None if there is none.
        key_columns: the grouping columns among the result columns.
        value_columns: the numeric, not grouping columns among the result columns.
        units: unit of a column where one is known ("%", "bytes/s", "minutes").
        rows_in: source rows read so far.
        rows_out: result rows so far (final ones).
        late: late rows that missed an answer.
        bad: rows in `errors(name)` of this query's sources and expressions.
        state_bytes: bytes of operator state held.
        low_watermark: punctuation of the inputs, microseconds; MIN_TIME before the first.
        max_event_time: the newest event time seen, microseconds; MIN_TIME before the first row.
        next_final: the punctuation the next answer waits for, microseconds; None when not known.
        hint: one sentence for the user ("declare a WATERMARK: 318 rows came late"), None mostly.
        error: what went wrong, for people, when `state` is failed (or a source is reconnecting).
        started: wall clock, seconds since the epoch.
        ended: the same for the end, None while it runs.
        notes: further short facts to show, by label.
        ordered: whether `rows` stand in the order that an ORDER BY asked for.
        cells: the cells of the first summary the query keeps, None without: `granularity`, `zone_start` and `zone_end` in
            microseconds, `bucket`, `rows`.
        late_rows: the newest late rows and what they missed, None where there are none or it can't be told which answers.
        total: how many rows the whole answer has now, None where it isn't known.
        slide: from one window to the next, microseconds; None for rows that are not of windows with a slide.
        phase: what is being done before the first answer, None where that is nothing of its own.
        as_they_came: whether the rows are a stream's own, all columns of each, as of `SELECT * FROM s`.
        failing: what goes wrong beside the query, which goes on, for its state: "on_result failed".
    """

    name: str
    text: str
    state: State
    version: int
    rows: pl.DataFrame
    final: pl.Series
    relation: bool
    time_column: str | None
    key_columns: tuple[str, ...]
    value_columns: tuple[str, ...]
    units: dict[str, str]
    rows_in: int
    rows_out: int
    late: int
    bad: int
    state_bytes: int
    low_watermark: int
    max_event_time: int
    next_final: int | None
    hint: str | None
    error: str | None
    started: float
    ended: float | None
    notes: dict[str, str] = field(default_factory=dict)
    ordered: bool = False
    cells: pl.DataFrame | None = None
    late_rows: LateRows | None = None
    total: int | None = None
    slide: int | None = None
    as_they_came: bool = False
    failing: str | None = None
    phase: Phase | None = None


class Viewable(Protocol):
    """What a view needs of a query. All of it is quick, and safe to call from any thread."""

    name: str

    def snapshot(self, last: int = 500) -> Snapshot:
        """The query now, with its newest `last` rows."""

    @property
    def version(self) -> int:
        """Grows whenever a snapshot would differ."""

    def stop(self) -> None:
        """End the query; its results stay."""

    def pause(self) -> None:
        """Stop taking input until `resume`."""

    def resume(self) -> None:
        """Take input again."""
