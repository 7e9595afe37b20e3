"""What is sent to the page: columns as bytes, and only what changed. Not for deciding when.

A column is sent whole, or as "drop so many at the front, append these", or not at all. Numbers travel as binary buffers
beside the message, never as text.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from jupyter_stream.views.picture import Column, Floats, Picture, Ragged

Columns: TypeAlias = dict[str, Column]
Buffers: TypeAlias = list[bytes]

_TRIES = 4
"""Places in the old column at which the new one may begin that are looked at; a periodic column would cost more."""


def columns_of(picture: Picture) -> Columns:
    """All columns of a picture by a flat name.

    `0.x` is column x of layer 0 (`2:0.x` that of panel 2), `r.2` the third of the rows, `l.2` the third of the late rows,
    `s.0` the past of the first number.
    """
    found: Columns = {}
    for prefix, part in (("", picture), *((f"{p}:", panel) for p, (_, panel) in enumerate(picture.panels))):
        for i, layer in enumerate(part.layers):
            found |= {f"{prefix}{i}.{name}": column for name, column in layer.columns.items()}
    found |= {f"r.{i}": cells for i, cells in enumerate(picture.rows.columns)}
    found |= {f"s.{i}": values for i, values in enumerate(picture.past)}
    return found | {f"l.{i}": cells for i, cells in enumerate(picture.late.columns if picture.late else ())}


def encode(new: Columns, old: Columns) -> tuple[dict[str, Any], Buffers]:
    """The change from old columns to new ones.

    Returns:
        By column name `{"drop": n, "text": [...]}`, `{"drop": n, "at": buffer}` or `{"at": values, "offsets": buffer}`;
        without `drop` the column is replaced; a column left out is as it was. And the buffers (little-endian float64
        and int32).
    """
    buffers: Buffers = []
    changes: dict[str, Any] = {}
    for name, column in new.items():
        before = old.get(name)
        if isinstance(column, Ragged):
            if not (isinstance(before, Ragged) and _same(before, column)):
                changes[name] = {
                    "at": _add(buffers, column.values, "<f8"),
                    "offsets": _add(buffers, column.offsets, "<i4"),
                }
            continue
        drop = _shift(before, column) if before is not None and not isinstance(before, Ragged) else None
        if drop == 0 and before is not None and len(before) == len(column):  # type: ignore[arg-type] # Ragged went above
            continue
        kept = 0 if drop is None else len(before) - drop  # type: ignore[arg-type] # Ragged went above
        change: dict[str, Any] = {} if drop is None else {"drop": drop}
        if isinstance(column, list):
            change["text"] = column[kept:]
        else:
            change["at"] = _add(buffers, column[kept:], "<f8")
        changes[name] = change
    return changes, buffers


def _add(buffers: Buffers, values: NDArray[Any], dtype: str) -> int:
    buffers.append(np.ascontiguousarray(values, dtype=dtype).tobytes())
    return len(buffers) - 1


def _same(a: Ragged, b: Ragged) -> bool:
    return np.array_equal(a.offsets, b.offsets) and np.array_equal(a.values, b.values, equal_nan=True)


def _shift(old: Column, new: Column) -> int | None:
    """How many to drop from the front of old so that what remains is the front of new; None if no such number is found."""
    if isinstance(old, list) and isinstance(new, list):
        if not new or not old:
            return None
        at = -1
        for _ in range(_TRIES):
            try:
                at = old.index(new[0], at + 1)
            except ValueError:
                return None
            if old[at:] == new[: len(old) - at]:
                return at
        return None
    if isinstance(old, np.ndarray) and isinstance(new, np.ndarray):
        if not len(new) or not len(old):
            return None
        first: Floats = np.isnan(old) if np.isnan(new[0]) else old == new[0]
        for at in np.flatnonzero(first)[:_TRIES]:
            if np.array_equal(old[at:], new[: len(old) - at], equal_nan=True):
                return int(at)
    return None
