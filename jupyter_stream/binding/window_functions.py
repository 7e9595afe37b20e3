"""SQL's window functions that are no aggregates: what is said where one of them can't stand."""

from __future__ import annotations

from jupyter_stream.binding.window_calls import said_of_window
from jupyter_stream.errors import QueryError, UnsupportedError
from jupyter_stream.syntax.nodes import FunctionCall
from jupyter_stream.syntax.source_text import SourceText

_SELECT_LIST = "Write it in the select list or in QUALIFY; for a condition on it, in a subquery in FROM."

_USAGE = {
    "lag": "lag(x)",
    "lead": "lead(x)",
    "row_number": "row_number()",
    "rank": "rank()",
    "dense_rank": "dense_rank()",
    "percent_rank": "percent_rank()",
    "cume_dist": "cume_dist()",
    "ntile": "ntile(4)",
    "nth_value": "nth_value(x, 2)",
}


def misplaced(call: FunctionCall, source: SourceText) -> QueryError | None:
    """The error for a window function where none can stand; None for any other function."""
    of_window = said_of_window(call)
    if of_window is not None:
        column, window = of_window
        shown = source.slice(call.name.span)
        hint = f"Write GROUP BY {window.name.text.upper()}(...) as well, or name {column} over a stream with a window."
        return source.error(f"{shown} needs a window, and this query has none", call.span, hint)
    name = call.name.text.lower()
    if name not in _USAGE:
        return None
    if call.window is None or not call.window.over:
        hint = f"Write {_USAGE[name]} OVER (PARTITION BY k ORDER BY x)."
        return source.error(f"{name} needs OVER", call.span, hint)
    return source.error(f"{name} can't stand here", call.span, _SELECT_LIST, UnsupportedError)
