"""Windows written as calls in GROUP BY, as Spark and Flink do, read as window clauses."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import polars as pl

from jupyter_stream.binding.scope import Scope
from jupyter_stream.syntax.durations import parse_duration
from jupyter_stream.syntax.nodes import ColumnRef, Constant, FunctionCall, Node
from jupyter_stream.syntax.query_syntax import Amount, WindowClause
from jupyter_stream.syntax.source_text import Name, SourceText

_LENGTHS = ("'1 minute'", "'10 minutes'")


def window_call(node: Node, source: SourceText, scope: Scope) -> WindowClause | None:
    """Spark's `window(ts, '10 minutes', '1 minute')` and `session_window`, Flink's `TUMBLE(ts, ...)` and `HOP(ts, ...)` in
    GROUP BY, as window clauses; None for anything else.
    """
    if not isinstance(node, FunctionCall):
        return None
    function = node.name.text.lower()
    counts = {"window": (1, 3), "session_window": (1, 1), "tumble": (1, 1), "hop": (2, 2), "session": (1, 1)}
    if function not in counts or not node.args:
        return None
    place = node.span
    column, *rest = node.args
    if not isinstance(column, ColumnRef):
        raise source.error(
            f"{function} takes the time column first", place, "Write window(ts, '10 minutes', '1 minute')."
        )
    least, most = counts[function]
    if not least <= len(rest) <= most:
        count = "1 length" if most == 1 else f"{most} lengths" if least == most else f"{least} to {most} lengths"
        written = f"{function}({column.name.text}, {', '.join(_LENGTHS[-least:])})"
        raise source.error(f"{function} takes {count} of time after the column", place, f"Write {written}.")
    lengths = []
    for i, argument in enumerate(rest):
        micros = _micros(argument)
        if micros is None:
            raise source.error("this is not a length of time", argument.span, "Write '10 minutes'.")
        if micros <= 0 and i < 2:
            raise source.error("this must be more than zero", argument.span, "Write '10 minutes'.")
        lengths.append(Amount("time", micros, argument.span))
    on = Name(column.name.text, column.span)
    if function in ("session", "session_window"):
        return WindowClause(place, session=lengths[0], on=on)
    if function == "hop":
        return WindowClause(place, range=lengths[1], slide=lengths[0], on=on, starts=True)
    origin = Constant(lengths[2].value, pl.Int64(), lengths[2].span) if len(lengths) > 2 else None
    slide = lengths[1] if len(lengths) > 1 else lengths[0]
    return WindowClause(place, range=lengths[0], slide=slide, on=on, origin=origin, starts=True)


_SAYS = {"start": "window_start", "end": "window_end", "rowtime": "window_time"}


def said_of_window(node: FunctionCall) -> tuple[str, FunctionCall] | None:
    """Flink's `TUMBLE_START(ts, ...)`, `HOP_END(...)`, `SESSION_ROWTIME(...)`: which window column, and the call that is
    the window; None for anything else.
    """
    function, _, what = node.name.text.lower().rpartition("_")
    if function not in ("tumble", "hop", "session") or what not in _SAYS:
        return None
    return _SAYS[what], replace(node, name=Name(function, node.name.span))


def _micros(node: Node) -> int | None:
    if not isinstance(node, Constant):
        return None
    value = node.value
    if isinstance(value, str):
        return parse_duration(value.lower().removeprefix("interval").strip())
    if isinstance(value, dt.timedelta):
        return value // dt.timedelta(microseconds=1)
    return None
