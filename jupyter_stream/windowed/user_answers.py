"""Answers of user-defined aggregates over extents: rows held by the window below are run, and several returned rows unfold.

Which extents there are and when they are final is the window's business; this only looks at one answer at a time, so that it
serves every window, provisional answers and relations alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from jupyter_stream.aggregates.user import UserCall
from jupyter_stream.aggregates.user.answers import over_lists, returned, unfolded
from jupyter_stream.aggregates.user.rows import ERROR, VALUES
from jupyter_stream.core.messages import SIGN, TS, WINDOW_END, WINDOW_START, Batch, Failed, Message
from jupyter_stream.flow.protocol import Stateless

_REASON = "$reason"


class UserAnswers(Stateless):
    """Each answer with the values its aggregates returned; one that fails is told and not given.

    Args:
        calls: the aggregates, by their columns.
        held: those whose column holds what was run below rather than rows.
        keeps_empty: whether answers without a value are given, as NULL.
        unfolds: whether the values of an answer become rows here; else `Unfold` does that further up.
    """

    def __init__(
        self, calls: Sequence[UserCall], held: Sequence[str], keeps_empty: bool = False, unfolds: bool = True
    ) -> None:
        super().__init__("user-defined " + ", ".join(map(_called, calls)))
        self._calls = tuple(calls)
        self._held = frozenset(held)
        self._keeps_empty = keeps_empty
        self._unfolds = unfolds

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Run what is held."""
        frame = batch.frame
        reasons: list[pl.Series] = []
        made = []
        for call in self._calls:
            column = frame.get_column(call.column)
            if call.column in self._held:
                made.append(column.struct.field(VALUES).alias(call.column))
                reasons.append(column.struct.field(ERROR))
                continue
            values, errors = over_lists(call.program, column)
            answers, wrong = returned(values, call.dtype)
            made.append(answers.alias(call.column))
            reasons.append(pl.Series([e or w for e, w in zip(errors, wrong, strict=True)], dtype=pl.String()))
        frame = frame.with_columns(made)
        if any(r.null_count() < len(r) for r in reasons):
            names = [c.program.name for c in self._calls]
            reason = pl.DataFrame(
                [(n + ": " + r).alias(f"{i}") for i, (n, r) in enumerate(zip(names, reasons, strict=True))]
            )
            why = reason.select(pl.coalesce(pl.all()).alias(_REASON)).get_column(_REASON)
            bad = frame.with_columns(why).filter(why.is_not_null())
            frame = frame.filter(why.is_null())
            if SIGN in bad.columns:
                bad = bad.filter(pl.col(SIGN) > 0)  # the same answer fails when it comes and when it goes
            if bad.height and batch.provisional is None:
                yield self._failed(bad)
        if self._unfolds:
            frame = unfolded(frame, [c.column for c in self._calls], self._keeps_empty)
        if frame.height or batch.provisional is not None:
            yield batch.with_frame(frame)

    def _failed(self, bad: pl.DataFrame) -> Failed:
        shown = [c for c in bad.columns if not c.startswith("$")]
        bounds = {WINDOW_START: "window_start", WINDOW_END: "window_end"}
        columns = [pl.col(c) for c in shown if c not in bounds.values()]
        columns += [pl.col(c).alias(n) for c, n in bounds.items() if c in bad.columns]
        # one answer over all rows has no columns of its own: its time says that there is one
        return Failed(bad.select(columns or TS), bad.get_column(_REASON))


def _called(call: UserCall) -> str:
    """How EXPLAIN names a call."""
    writes = " and ".join(getattr(call.program, "writes", ()))
    also = f"; writes {writes} row by row, in the order of time" if writes else ""
    return f"{call.program.name} ({call.words or call.how}{also})"


class Unfold(Stateless):
    """Answers that hold lists of values to rows.

    Args:
        calls: the aggregates, by their columns.
    """

    def __init__(self, calls: Sequence[UserCall]) -> None:
        super().__init__("rows of " + ", ".join(c.program.name for c in calls))
        self._columns = [c.column for c in calls]

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """As many rows as values."""
        yield batch.with_frame(unfolded(batch.frame, self._columns, keeps_empty=False))


__all__ = ["Unfold", "UserAnswers"]
