"""Drawn rows: three relations of one schema, few values, so that things meet; NULLs, repeated rows, times before 1970."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from tests.differential.draw import Draw

NAMES = ("a", "b", "c")
TYPES = {"id": "int", "ts": "int", "k": "int", "v": "int", "s": "text", "x": "real"}
"""Columns and what they hold: `id` counts the rows in the order in which they come, `ts` is their time."""
_DTYPES = {"int": pl.Int64(), "text": pl.String(), "real": pl.Float64()}
_SQL = {"int": "BIGINT", "text": "STRING", "real": "DOUBLE"}
_KEYS = (1, None, 2, 0, 3)
_VALUES = (1, None, 2, 3, -1, 10, 0)
_TEXTS = ("a", None, "b", "", "B", "ab", "ä")
_REALS = (0.5, None, 1.0, -0.25, 2.75, 0.0)  # quarters: sums of them are exact
LATENESS = 60
"""No row comes later than this behind another."""

MOST = 9

Row = tuple[object, ...]


@dataclass(frozen=True)
class Rows:
    """Rows of `a`, `b` and `c`, and how many come at a time."""

    tables: dict[str, list[Row]]
    batch: int

    def frame(self, name: str) -> pl.DataFrame:
        """One of them as a frame."""
        return pl.DataFrame(self.tables[name], {n: _DTYPES[t] for n, t in TYPES.items()}, orient="row")

    def times(self) -> list[int]:
        """Every time there is, ascending."""
        return sorted({int(str(row[1])) for rows in self.tables.values() for row in rows})


COLUMNS = ", ".join(f"{n} {_SQL[t]}" for n, t in TYPES.items())
"""As CREATE has them."""


def draw_rows(draw: Draw, empty: bool) -> Rows:
    """Up to `MOST` rows each; `empty` lets one have none. All begin at one time otherwise, the earliest."""
    first = draw.pick((0, -7, 100))
    tables: dict[str, list[Row]] = {}
    for name in NAMES:
        late = draw.chance(40)
        rows: list[Row] = []
        ts = first
        for _ in range(MOST):  # as many choices whether there is a row or not: leaving one out moves no other
            comes, step, back = draw.chance(60), draw.pick((1, 0, 2, 5, 13)), draw.below(6)
            values = (draw.pick(_KEYS), draw.pick(_VALUES), draw.pick(_TEXTS), draw.pick(_REALS))
            first_one = not rows and not empty
            if comes or first_one:
                ts = ts if not rows else ts + step
                rows.append((len(rows) + 1, max(first, ts - back) if late and rows else ts, *values))
        tables[name] = rows
    return Rows(tables, draw.pick((100, 1, 2, 3)))


def literal(value: object) -> str:
    """A value in SQL."""
    return "NULL" if value is None else f"'{value}'" if isinstance(value, str) else str(value)


def pieces(frame: pl.DataFrame, batch: int) -> Sequence[pl.DataFrame]:
    """The frame in batches."""
    return [frame[i : i + batch] for i in range(0, frame.height, batch)] or [frame]
