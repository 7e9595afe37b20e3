"""Rows with a part that can't be read (`messages.FAULT`): kept from the queries that ask for that part, and from no others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from weakref import WeakKeyDictionary

import polars as pl

from jupyter_stream.core.messages import FAULT
from jupyter_stream.engine.error_rows import ERRORS_SCHEMA
from jupyter_stream.plan.parts_read import Path, asks, parts_read


class Faulty:
    """Judges the rows of one stream for those who read it.

    Args:
        stream: its name.
    """

    def __init__(self, stream: str) -> None:
        self._stream = stream
        self._known: WeakKeyDictionary[object, frozenset[Path] | None] = WeakKeyDictionary()

    def split(
        self, frame: pl.DataFrame, readers: Sequence[object], *, by_all: bool
    ) -> tuple[pl.DataFrame, pl.DataFrame | None]:
        """The rows that some reader can use, and what to say of those that none can.

        Args:
            frame: rows that arrived.
            readers: those who take them.
            by_all: whether somebody takes rows with all their parts.

        Returns:
            The rows, with `FAULT` where it depends on the reader; and rows of `errors(name)`, None if there are none.
        """
        bad: dict[int, int] = {}
        used_by_all = True
        for row, parts in _faults(frame):
            asked = [self._first_wanted(r, parts) for r in readers]
            known = [number for number in asked if number is not None]
            if by_all or (known and len(known) == len(asked)):
                bad[row] = min(known, default=0)
            elif known:
                used_by_all = False
        kept, said = without(frame, bad)
        return (kept.drop(FAULT) if used_by_all else kept), said

    def bad_for(self, frame: pl.DataFrame, queries: Sequence[object]) -> dict[int, int]:
        """The rows that these can't use, each with the number of the part that is asked for first."""
        bad: dict[int, int] = {}
        for row, parts in _faults(frame):
            known = [n for q in queries if (n := self._first_wanted(q, parts)) is not None]
            if known:
                bad[row] = min(known)
        return bad

    def _first_wanted(self, reader: object, parts: Sequence[Path]) -> int | None:
        """Which of some parts a reader asks for first; None for none."""
        if reader not in self._known:
            query = getattr(reader, "query", None)
            self._known[reader] = None if query is None else parts_read(query.plan, self._stream)
        read = self._known[reader]
        return next((number for number, part in enumerate(parts) if read is None or asks(read, part)), None)


def _faults(frame: pl.DataFrame) -> list[tuple[int, list[Path]]]:
    faults = frame.get_column(FAULT)
    rows = faults.is_not_null().arg_true()
    return [(row, [tuple(p) for p in f["at"]]) for row, f in zip(rows.to_list(), faults.gather(rows), strict=True)]


def without(frame: pl.DataFrame, rows: Mapping[int, int]) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    """The frame without some rows, and these as rows of `errors(name)`, each with the reason of that number."""
    if not rows:
        return frame, None
    faults = frame.get_column(FAULT).gather(pl.Series(list(rows))).to_list()
    why = [fault["why"][number] for fault, number in zip(faults, rows.values(), strict=True)]
    said = pl.DataFrame({"raw": [fault["raw"] for fault in faults], "reason": why}, schema=ERRORS_SCHEMA.polars())
    keep = pl.repeat(True, frame.height, eager=True).scatter(list(rows), False)
    return frame.filter(keep), said
