"""Rows that were clicked in a view, as a frame: what `q.selected` gives. Not for what is clicked: the page says that in words."""

from __future__ import annotations

import weakref
from typing import Final

import numpy as np
import polars as pl

from jupyter_stream.core.snapshot import Viewable
from jupyter_stream.views.picture import Table

_SELECTED: Final[weakref.WeakKeyDictionary[Viewable, pl.DataFrame]] = weakref.WeakKeyDictionary()


def selected(viewable: Viewable) -> pl.DataFrame | None:
    """The rows clicked last in any view of a query; None where none are."""
    return _SELECTED.get(viewable)


def select(viewable: Viewable, found: pl.DataFrame | None, *, more: bool) -> None:
    """Take rows as selected, in addition to those there are if `more`; None for none."""
    before = _SELECTED.get(viewable)
    if found is None or not found.height:
        if not more:
            _SELECTED.pop(viewable, None)
    elif more and before is not None and before.schema == found.schema:
        _SELECTED[viewable] = pl.concat([before, found])
    else:
        _SELECTED[viewable] = found


def find(said: list[list[str]], shown: list[Table]) -> pl.DataFrame | None:
    """The rows whose cells read so.

    Args:
        said: for each row its cells, as the page shows them.
        shown: the tables the page was sent, newest first; rows may have left the newest since.
    """
    for table in shown:
        if table.frame is None or any(len(cells) != len(table.columns) for cells in said):
            continue
        at = [i for i in (_row(cells, table) for cells in said) if i is not None]
        if len(at) == len(said):
            return table.frame[np.unique(at)]
    return None


def _row(cells: list[str], table: Table) -> int | None:
    at = list(range(table.height))
    for cell, column in zip(cells, table.columns, strict=True):
        at = [i for i in at if column[i] == cell]
    return at[0] if at else None
