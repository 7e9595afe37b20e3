"""The oracle's front door: a slow, obviously right second implementation of the language, which recomputes from all rows.

Plain Python over lists of dictionaries, written from the language's contract and not from the engine; nothing in this folder
imports the package under test, `running` apart, which drives it. To add a window: one file in `oracle/windows`, a branch
here, and a branch of `strategies.queries` that draws it.
"""

from __future__ import annotations

from tests.oracle.extents import windowed
from tests.oracle.newest import newest
from tests.oracle.query import Answer, Query
from tests.oracle.relation import relation
from tests.oracle.rows import row_windowed
from tests.oracle.sessions import sessioned
from tests.oracle.tuple_extents import tuple_extents
from tests.oracle.windows import NewestRows, RowExtents, Sessions, TimeExtents, TupleExtents


def answer(query: Query) -> Answer:
    """What the query should give, from all its stream's rows."""
    if isinstance(query.window, TimeExtents):
        return windowed(query, query.window)
    if isinstance(query.window, TupleExtents):
        return tuple_extents(query, query.window)
    if isinstance(query.window, RowExtents):
        return row_windowed(query, query.window)
    if isinstance(query.window, Sessions):
        return sessioned(query, query.window)
    if isinstance(query.window, NewestRows):
        return newest(query, query.window)
    return relation(query, query.window)
