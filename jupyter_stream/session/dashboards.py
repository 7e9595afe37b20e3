"""`dashboard(q1, q2, ...)`: several queries live in one output. Not for how they are drawn; `views` does that."""

from __future__ import annotations

from typing import Final

from jupyter_stream import views
from jupyter_stream.errors import QueryError
from jupyter_stream.session.query import Query

MOST: Final = 12
"""Panels that still fit a page."""


def dashboard(*queries: Query | views.Panel) -> None:
    """Show queries live side by side under the running cell, on one time axis.

    Each is drawn as `q.chart(...)` or its `%%stream` line last said, and has its own buttons. Charts over time show the same
    span, and zooming one zooms all. One query in two charts: `dashboard(q, q.view("table", top=5))`.

    Args:
        *queries: handles and their views, up to 12.

    Raises:
        QueryError: none, too many, or something that is no query.
    """
    if not queries:
        raise QueryError("a dashboard needs queries to show", hint="Write for instance dashboard(q1, q2).")
    for query in queries:
        if not isinstance(query, Query | views.Panel):
            raise QueryError(
                f"a dashboard shows queries, not {type(query).__name__}",
                hint="Give it the handles that %%stream bound, such as dashboard(q1, q2).",
            )
    if len(queries) > MOST:
        raise QueryError(f"a dashboard shows up to {MOST} queries, not {len(queries)}", hint="Make two of them.")
    views.dashboard(queries)
