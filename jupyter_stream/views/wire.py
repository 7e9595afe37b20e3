"""What is sent to the page: columns as bytes, and only what changed. Not for deciding when.

A column is sent whole, or as "drop so many at the front, append these", or not at all. Numbers travel as binary buffers
beside the message, never as text; so do long columns of a few words (colours, keys, times), as numbers of the words.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from jupyter_stream.views.picture import Column, Floats, Picture, Ragged

Columns: TypeAlias = dict[str, Column]
Buffers: TypeAlias = list[bytes]

_TRIES = 4
"""Places in the old columns at which the new ones may begin that are looked at."""
_MANY, _FEW = 100, 4
"""A text column this long is sent as numbers of its words where there are at most a quarter as many words."""


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
        By column name `{"drop": n, "text": [...]}`, `{"drop": n, "words": [...], "at": numbers}`, `{"drop": n, "at": buffer}`
        or `{"at": values, "offsets": buffer}`; without `drop` the column is replaced; a column left out is as it was. And the
        buffers (little-endian float64, int32, for numbers of words uint16).
    """
    buffers: Buffers = []
    changes: dict[str, Any] = {}
    starts = _starts(new, old)
    for name, column in new.items():
        before = old.get(name)
        if isinstance(column, Ragged):
            if not (isinstance(before, Ragged) and _same(before, column)):
                changes[name] = {
                    "at": _add(buffers, column.values, "<f8"),
                    "offsets": _add(buffers, column.offsets, "<i4"),
                }
            continue
        drop = None
        if before is not None and not isinstance(before, Ragged):
            drop = next((at for at in starts[_part(name)] if _continues(before, column, at)), None)
        if drop == 0 and before is not None and len(before) == len(column):  # type: ignore[arg-type] # Ragged went above
            continue
        kept = 0 if drop is None else len(before) - drop  # type: ignore[arg-type] # Ragged went above
        change: dict[str, Any] = {} if drop is None else {"drop": drop}
        if isinstance(column, list):
            change |= _text(buffers, column[kept:])
        else:
            change["at"] = _add(buffers, column[kept:], "<f8")
        changes[name] = change
    return changes, buffers


def _add(buffers: Buffers, values: NDArray[Any], dtype: str) -> int:
    buffers.append(np.ascontiguousarray(values, dtype=dtype).tobytes())
    return len(buffers) - 1


def _same(a: Ragged, b: Ragged) -> bool:
    return np.array_equal(a.offsets, b.offsets) and np.array_equal(a.values, b.values, equal_nan=True)


def _text(buffers: Buffers, texts: list[str]) -> dict[str, Any]:
    if len(texts) >= _MANY:
        words = {word: i for i, word in enumerate(dict.fromkeys(texts))}
        if len(words) * _FEW <= len(texts) and len(words) < 1 << 16:
            numbers = np.fromiter(map(words.__getitem__, texts), np.uint16, len(texts))
            return {"words": list(words), "at": _add(buffers, numbers, "<u2")}
    return {"text": texts}


def _part(name: str) -> str:
    """What a column belongs to; the columns of one thing are equally long and move together."""
    return name.rpartition(".")[0]


def _starts(new: Columns, old: Columns) -> dict[str, list[int]]:
    """For each part, the places in its old columns at which the new ones are most likely to begin.

    Many rows have the same time, and many the same key, but few have the same of both: the best places are those at which
    most columns have the value that is first now. Columns that stand still begin at 0.
    """
    votes: dict[str, NDArray[np.int64]] = {}
    for name, column in new.items():
        before, part = old.get(name), _part(name)
        if isinstance(column, Ragged) or before is None or isinstance(before, Ragged) or not len(column):
            continue
        found = _equal(before, column[0])
        if part not in votes:
            votes[part] = np.zeros(len(before), np.int64)
        if len(votes[part]) == len(found):
            votes[part] += found
    best = {part: np.argsort(-many, kind="stable")[:_TRIES].tolist() for part, many in votes.items()}
    return {_part(name): [0, *best.get(_part(name), ())] for name in new}


def _equal(column: Floats | list[str], value: Any) -> NDArray[np.bool_]:
    if isinstance(column, list):
        return np.fromiter((text == value for text in column), np.bool_, len(column))
    return np.isnan(column) if isinstance(value, float) and np.isnan(value) else column == value


def _continues(old: Column, new: Column, at: int) -> bool:
    """Whether what remains of old without its first `at` is the front of new, and there is something of it."""
    if isinstance(old, list) and isinstance(new, list):
        return 0 < len(old) - at <= len(new) and old[at:] == new[: len(old) - at]
    if isinstance(old, np.ndarray) and isinstance(new, np.ndarray):
        return 0 < len(old) - at <= len(new) and np.array_equal(old[at:], new[: len(old) - at], equal_nan=True)
    return False
