"""SQL's window functions that are no aggregates: what is said where one of them can't stand."""

from __future__ import annotations

from jupyter_stream.errors import QueryError, UnsupportedError
from jupyter_stream.language.nodes import FunctionCall
from jupyter_stream.language.source_text import SourceText

_NUMBERS = "Write ROW_NUMBER() OVER (PARTITION BY k ORDER BY x), and a condition <= n on it."
_LOOK_BACK = "Look from the later row instead: lag(x) OVER (PARTITION BY k) gives the earlier one's value."

_SAID = {
    "lag": ("lag is about the rows before, and needs OVER", "Write lag(x) OVER (PARTITION BY k)."),
    "lead": ("lead asks for a later row, which isn't there yet", _LOOK_BACK),
    "row_number": ("row_number can't stand here", _NUMBERS),
    "rank": ("rank isn't available in this version", _NUMBERS),
    "dense_rank": ("dense_rank isn't available in this version", _NUMBERS),
    "ntile": ("ntile isn't available in this version", "Ask for quantile(x, 0.25) over a window."),
}


def misplaced(call: FunctionCall, source: SourceText) -> QueryError | None:
    """The error for a window function where none can stand; None for any other function."""
    said = _SAID.get(call.name.text.lower())
    if said is None:
        return None
    return source.error(said[0], call.span, said[1], UnsupportedError)
