"""Functions of other systems that have another name or form here: what to write. Not for those that only are misspelt."""

from __future__ import annotations

import re
from typing import Final

from jupyter_stream.syntax.dialect import as_written
from jupyter_stream.syntax.nodes import Constant, FunctionCall, Node
from jupyter_stream.syntax.source_text import SourceText

_QUANTILE: Final = "Write quantile({0}, {1})."
_JSON: Final = "Write get_json_object({0}, {1})."
_GAPS: Final = (
    "Write a window and FILL: SELECT k, avg(v) FROM s [RANGE 1 MINUTE TUMBLING] GROUP BY k FILL (PREVIOUS), or FILL (NULL), "
    "FILL (LINEAR), FILL (0)."
)
_WINDOW: Final = "Write a window after the stream: FROM s [RANGE {0} TUMBLING]."
_BUCKET: Final = "Write time_bucket('{0}', ts), or a window after the stream: FROM s [RANGE {0} TUMBLING]."
_DEFAULTS: Final = {_QUANTILE: ("x", "0.95"), _JSON: ("text", "'$.a'")}

_INSTEAD: Final[dict[str, str]] = {
    **dict.fromkeys(("approx_percentile", "percentile_approx", "approx_quantile", "quantileexact"), _QUANTILE),
    **dict.fromkeys(("json_value", "json_query", "json_extract", "json_extract_string", "json_extract_scalar"), _JSON),
    "json_exists": "Write get_json_object(text, '$.a') IS NOT NULL.",
    "json_table": "Declare the fields where the stream is declared, or write get_json_object(text, '$.a') for each.",
    **dict.fromkeys(("time_bucket_gapfill", "locf", "interpolate", "gapfill"), _GAPS),
    "generate_series": "It makes rows: write FROM generate_series(1, 10), or explode(sequence(1, 10)) for a row each.",
    "collect_set": "Write collect_list(DISTINCT x).",
    "array_agg_distinct": "Write collect_list(DISTINCT x).",
    **dict.fromkeys(("time_slice", "tostartofinterval"), _BUCKET.format("10 minutes")),
    "tostartofminute": "Write date_trunc('minute', ts).",
    "tostartofhour": "Write date_trunc('hour', ts).",
    "tostartofday": "Write date_trunc('day', ts).",
    "tostartofmonth": "Write date_trunc('month', ts).",
    **dict.fromkeys(("tumblingwindow", "hoppingwindow", "slidingwindow"), _WINDOW.format("1 MINUTE")),
    "sessionwindow": "Write a window after the stream: FROM s [SESSION 5 MINUTES].",
    **dict.fromkeys(("window", "tumble", "hop"), "It belongs in GROUP BY. Or write a window after the stream: "
                    "[RANGE 10 MINUTES SLIDE 1 MINUTE]."),
    "session_window": "It belongs in GROUP BY. Or write a window after the stream: [SESSION 5 MINUTES].",
}  # fmt: skip

_PERCENTILE: Final = re.compile(r"(?:p|perc|percentile|quantile_?)(\d{1,2})(\d*)")


def instead(function: str, node: Node, source: SourceText) -> str | None:
    """What to write here for a function of another system; None where nothing is known of it.

    Args:
        function: its name.
        node: the call.
        source: the cell, whose words for the arguments are taken over.
    """
    args = [source.slice(a.span) for a in node.args] if isinstance(node, FunctionCall) else []
    lower = function.lower()
    share = _PERCENTILE.fullmatch(lower)
    if share is not None:
        return _QUANTILE.format((*args, "x")[0], f"0.{share[1]:0>2}{share[2]}".rstrip("0") if int(share[1]) else "0")
    found = _INSTEAD.get(lower)
    if found in _DEFAULTS:
        return found.format(*args[:2], *_DEFAULTS[found][len(args) :])
    return found


def about_arguments(function: str, node: FunctionCall, source: SourceText) -> str | None:
    """What to write where other systems give an aggregate more arguments, `last(v, ts)`, or quote a column, `avg("v")`."""
    lower = function.lower()
    first = next(iter(node.args), None)
    if isinstance(first, Constant) and source.slice(first.span).startswith('"'):
        return f"Text in quotes is a value. For the column write {as_written(str(first.value))}."
    if lower not in ("first", "last", "first_value", "last_value") or len(node.args) != 2:
        return None
    value, second = (source.slice(a.span) for a in node.args)
    if isinstance(node.args[1], Constant) and isinstance(node.args[1].value, bool):
        return f"Write {lower}({value}){' IGNORE NULLS' * node.args[1].value}."
    return f"Write {'arg_min' if lower.startswith('first') else 'arg_max'}({value}, {second})."


__all__ = ["about_arguments", "instead"]
