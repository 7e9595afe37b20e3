"""What a window is. Which extents and lifetimes it gives, and when one is final, each window says in its own file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeVar

from numpy import bool_
from numpy.typing import NDArray

from jupyter_stream.core.messages import Int64s
from jupyter_stream.functions.expression import Expr
from jupyter_stream.windows.on_spark import WindowOnSpark

if TYPE_CHECKING:
    from jupyter_stream.windows.lifetime import LifetimeWindow
    from jupyter_stream.windows.rows import RowWindow


Whole = TypeVar("Whole", int, Int64s)
"""A whole number, or an array of many."""


class Schedule(NamedTuple):
    """Instants `phase + k * slide` that are known beforehand; microseconds, 0 <= phase < slide."""

    phase: int
    slide: int

    def end(self, k: Whole) -> Whole:
        """Instant k, or each of many."""
        return k * self.slide + self.phase

    def closed(self, punctuation: Whole) -> Whole:
        """The number of the last instant that isn't beyond a punctuation, or beyond each of many."""
        return (punctuation - self.phase) // self.slide

    def last(self, ts: Whole) -> Whole:
        """The last instant that isn't beyond a time, or beyond each of many."""
        return ts - (ts - self.phase) % self.slide


@dataclass(frozen=True)
class Late:
    """What becomes of late rows; arrays of one shape (rows,).

    Attributes:
        missed: how many final extents would have held each, 0 or more.
        usable: whether each is in an extent that was still open.
        final: the last extent that was final when each came.
    """

    missed: Int64s
    usable: NDArray[bool_]
    final: Int64s


class Window:
    """A bound window clause. Frozen, hashable; all numbers are microseconds or rows; its text is the clause as we spell it.

    What others want to know of a window they ask it; the answers here are those of most.
    """

    __slots__ = ()

    spark_forms: ClassVar[tuple[WindowOnSpark, ...]]
    """All that it may be on Spark; the first where nothing else is said."""
    above_on_spark: ClassVar[WindowOnSpark | None] = None
    """What a window over its answers is on Spark, where that isn't what it is elsewhere."""

    @property
    def on(self) -> str | None:
        """The windowing attribute, where it is not the stream's own progressing attribute."""
        return None

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """What it computes of rows: of PARTITION BY, and its own WHERE."""
        return ()

    @property
    def partitioned_by(self) -> tuple[Expr, ...]:
        """What rows are parted by: each value has extents of its own."""
        return ()

    def apart_by(self, keys: Sequence[tuple[str, Expr]]) -> Window:
        """The window over groups of rows, where it says nothing of partitions itself and its extents are each group's own.

        Args:
            keys: (name, expression) of the grouping columns.
        """
        return self

    # -- what it makes of a stream

    @property
    def written(self) -> bool:
        """Whether the clause was written out, and doesn't stand for a stream without one."""
        return True

    @property
    def sliding(self) -> bool:
        """Whether it chooses the instants at which a query looks: it has a SLIDE, or ends with its rows as sessions do."""
        return True

    @property
    def lifetime(self) -> LifetimeWindow | None:
        """How long rows live in the relation it makes of a stream; None where it makes none, or one of the newest rows."""
        return None

    @property
    def newest(self) -> RowWindow | None:
        """How many rows are in the relation it makes of a stream, where that holds the newest ones; None for others."""
        return None

    @property
    def passes_rows(self) -> bool:
        """Whether rows go on, each with answers of its own, rather than giving way to answers of groups."""
        return False

    @property
    def keeps_all(self) -> bool:
        """Whether rows stay in it for ever."""
        return False

    @property
    def overlapping(self) -> bool:
        """Whether a row is in several extents over time."""
        return False

    @property
    def tumbling(self) -> bool:
        """Whether each row is in one extent over time, and one begins where the one before ends."""
        return False

    @property
    def tumble(self) -> int:
        """How many rows the tumbles have of which each row's window is made; 1 where it is made of none."""
        return 1

    @property
    def paned(self) -> bool:
        """Whether extents are made of panes of time, which several of them share."""
        return False

    @property
    def successive(self) -> bool:
        """Whether extents follow one another, so that each can be compared with the one before."""
        return True

    @property
    def goes_by_time(self) -> bool:
        """Whether it matters to it what time a row has."""
        return True

    @property
    def counts_rows(self) -> bool:
        """Whether it holds so many rows, rather than those of so much time."""
        return False

    @property
    def counts_arrivals(self) -> bool:
        """Whether the order in which rows arrive says which extents they are in."""
        return False

    @property
    def length(self) -> int | None:
        """How long it holds a row, microseconds, or how many rows; None for ever, or for no such number."""
        return None

    def shortened(self, to: int) -> Window | None:
        """The window that holds rows for so many microseconds only; None where it can't be (stream-manager §5.1.1)."""
        return None

    # -- when extents end

    @property
    def schedule(self) -> Schedule | None:
        """When its extents end, where that is known before any row has come; None where rows say it, or nothing ends."""
        return None

    @property
    def ends_with_rows(self) -> bool:
        """Whether rows say where it ends, so that windows of two streams have no instants in common."""
        return True

    @property
    def span(self) -> int | None:
        """How long a row is in it, microseconds; None for ever, or where it isn't for so much time."""
        return None

    def by_own_time(self) -> Window:
        """The window by the time rows have, rather than by a windowing attribute."""
        return self

    @property
    def instants(self) -> tuple[object, ...] | None:
        """What it has in common with windows that look at the same instants; None where it stands alone.

        Of such windows with SLIDE, the extents that end at an instant hold one another: the longer what the shorter does.
        """
        return None

    @property
    def comparable(self) -> tuple[object, ...] | None:
        """What it has in common with windows whose answers can stand in one row with its own, at the instants both look at."""
        return self.instants

    def agrees(self, other: Window) -> bool:
        """Whether it is what another window is, as far as can be said in a call: SESSION_START(ts, gap) names no partition."""
        return self == other

    def unlike(self, other: Window) -> tuple[str, str]:
        """Why its answers can't stand in one row with another window's, for people, and what to write instead."""
        return (
            f"{self} and {other} give answers at different times, so their answers can't be put into one row",
            "Give them a SLIDE over time, max(x) [RANGE 10 MINUTES SLIDE 1 MINUTE], avg(x) [RANGE 1 HOUR SLIDE 5 MINUTES], "
            "or none of them a SLIDE. Or write one query for each window.",
        )

    def final_from(self, punctuation: int) -> int:
        """From which time on rows miss no answer that is final at a punctuation, microseconds."""
        return punctuation

    def ends_for(self, key: Expr) -> bool:
        """Whether its extents of one value of a grouping column can end by themselves, when that is promised for the value."""
        return False

    @property
    def key_outlives(self) -> int:
        """How long past a row's time it keeps anything that a promise for the row's key lets go, microseconds."""
        return 0

    # -- extents, many at once

    def extents_of(self, ts: Int64s) -> tuple[Int64s, Int64s] | None:
        """The first and the last extent that hold each of many times; None where rows say what extents there are."""
        return None

    def bounds(self, extents: Int64s) -> tuple[Int64s | None, Int64s] | None:
        """Where each of many extents starts and ends, as times or as numbers of rows; None where their rows say it.

        Starts are None where there is none, as of a landmark.
        """
        return None

    def late(self, ts: Int64s, broken: Int64s, closed: int | None = None) -> Late | None:
        """What becomes of late rows; None where the rows that came before say it.

        Args:
            ts: their times.
            broken: the punctuation that each has broken.
            closed: an extent that had become final before any of them came, and all before it.
        """
        return None

    # -- answers

    @property
    def edges(self) -> Mapping[str, tuple[int | None, int]]:
        """How far `$window_start` and `$window_end` are behind the time of an answer at least and at most, microseconds.

        (least, greatest) difference to that time; least None for no bound. Those that nothing is known of are missing.
        """
        return {}

    @property
    def held_before(self) -> int | None:
        """How long before the time of an answer the rows are at most that it is of, microseconds; None if nothing says it."""
        return None

    # -- where it is run

    def on_spark(self, keys: Sequence[Expr], on_column: bool) -> WindowOnSpark:
        """What it is on Spark.

        Args:
            keys: what its rows are grouped by.
            on_column: whether the windowing attribute, where it isn't the stream's own, is a column of the stream as it is.
        """
        return self.spark_forms[0]

    def spread_by(self, keys: Sequence[Expr]) -> Sequence[Expr]:
        """What rows can be spread by over several places, each of which gives its part of the answers; () if one has to see all.

        Args:
            keys: what its rows are grouped by.
        """
        return ()
