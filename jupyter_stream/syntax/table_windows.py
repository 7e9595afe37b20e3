"""Windows written as table functions in FROM, as Flink, Spark and RisingWave have them.

TUMBLE(TABLE s, DESCRIPTOR(ts), INTERVAL '1' MINUTE)                                     [RANGE 1 MINUTE TUMBLING ON ts]
HOP(TABLE s, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '5' MINUTE)                   [RANGE 5 MINUTES SLIDE 1 MINUTE ON ts]
TUMBLE(TABLE s, DESCRIPTOR(ts), INTERVAL '1' HOUR, INTERVAL '5' MINUTE)                  with an ORIGIN five minutes later
SESSION(TABLE s PARTITION BY k, DESCRIPTOR(ts), INTERVAL '5' MINUTE)                     [SESSION 5 MINUTES PARTITION BY k ON ts]
TUMBLE(DATA => TABLE s, TIMECOL => DESCRIPTOR(ts), SIZE => INTERVAL '1' MINUTE)          arguments with their names
"""  # fmt: skip

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import polars as pl
from sqlglot import TokenType

from jupyter_stream.syntax.nodes import ColumnRef, Constant
from jupyter_stream.syntax.parse_window import amount
from jupyter_stream.syntax.query_syntax import Amount, FromItem, WindowClause
from jupyter_stream.syntax.source_text import Span
from jupyter_stream.windows import BY_WORD

if TYPE_CHECKING:
    from jupyter_stream.syntax.parse_expression import ExpressionParser

_OFFSET: Final = "OFFSET"
_LENGTHS: Final = {"tumble": ("SIZE",), "session": ("GAP",), "hop": ("SLIDE", "SIZE")}
"""The names of the lengths, in the order in which they stand without names; after them may come an offset."""
_STEPPED: Final = ("STEP", "SIZE")
_WRITTEN: Final = {
    "tumble": "TUMBLE(stream, ts, INTERVAL '10' MINUTE)",
    "session": "SESSION(stream, ts, INTERVAL '30' MINUTE)",
}


def table_window(p: ExpressionParser, function: str, start: Span, rows: Callable[[], FromItem]) -> FromItem:
    """Take what follows `TUMBLE(` and its like.

    Args:
        p: the parser.
        function: the function's name, in lower case.
        start: where the call begins.
        rows: takes what the window is over.
    """
    _named(p, "DATA")
    p.word("TABLE")
    item = rows()
    partition = _partition(p, function)
    written = f"Write {_written(function)}."
    p.expect_sign(TokenType.COMMA, ",", written)
    _named(p, "TIMECOL")
    described = p.word("DESCRIPTOR") and p.sign(TokenType.L_PAREN)
    on = p.name("the time column")
    if described:
        p.expect_sign(TokenType.R_PAREN, ")")
    lengths, offset = _lengths(p, function, start)
    p.expect_sign(TokenType.R_PAREN, ")")
    span = p.since(start)
    if function == "session":
        clause = WindowClause(span, session=lengths[0], on=on, partition=partition)
    else:
        word = function.upper() if function.upper() in BY_WORD else None
        clause = WindowClause(span, range=lengths[-1], slide=lengths[0], on=on, starts=True, word=word, origin=offset)
    return replace(item, window=clause, span=span)


def _written(function: str) -> str:
    usual = f"{function.upper()}(stream, ts, INTERVAL '1' MINUTE, INTERVAL '10' MINUTE), the slide first"
    return _WRITTEN.get(function, usual)


def _named(p: ExpressionParser, *names: str) -> str | None:
    """Take `NAME =>` if one of these names comes next."""
    found = next((n for n in names if p.peek(n, "=", ">")), None)
    if found is not None:
        p.advance(3)
    return found


def _partition(p: ExpressionParser, function: str) -> tuple[ColumnRef, ...]:
    start = p.here
    if not p.word("PARTITION", "BY"):
        return ()
    wrapped = p.sign(TokenType.L_PAREN)
    columns = [p.name("a column")]
    while wrapped and p.sign(TokenType.COMMA):
        columns.append(p.name("a column"))
    if wrapped:
        p.expect_sign(TokenType.R_PAREN, ")")
    if function != "session":
        p.fail(
            f"{function.upper()} has no PARTITION BY: its windows are the same for all",
            p.since(start),
            f"Write GROUP BY window_start, window_end, {columns[0].text}.",
        )
    return tuple(ColumnRef(c, None, c.span) for c in columns)


def _lengths(p: ExpressionParser, function: str, start: Span) -> tuple[list[Amount], Constant | None]:
    wanted = _LENGTHS.get(function, _STEPPED)
    most = len(wanted) if function == "session" else len(wanted) + 1
    found: dict[str, Amount] = {}
    offset: Constant | None = None
    taken = 0
    while p.sign(TokenType.COMMA):
        name = _named(p, *wanted, _OFFSET) or (*wanted, _OFFSET)[min(taken, len(wanted))]
        if name == _OFFSET and function != "session":
            offset = _offset(p)
        else:
            found[name] = _length(p)
        taken += 1
    if taken > most or set(found) != set(wanted):
        count = f"{len(wanted)} length{'s' * (len(wanted) > 1)} of time"
        after = "" if function == "session" else ", and may have an offset after that"
        p.fail(f"{function.upper()} takes {count}{after}", p.since(start), f"Write {_written(function)}.")
    return [found[name] for name in wanted], offset


def _length(p: ExpressionParser) -> Amount:
    at = p.here
    taken = amount(p, "Write INTERVAL '10' MINUTE.")
    if taken.kind != "time":
        p.fail("a length of time is expected here", p.since(at), "Write INTERVAL '10' MINUTE.")
    return taken


def _offset(p: ExpressionParser) -> Constant:
    """The first extents begin so much after 1970."""
    at = p.here
    sign = -1 if p.sign(TokenType.DASH) else 1
    node = p.expression("a length of time")
    value = node.value if isinstance(node, Constant) else None
    if not isinstance(value, dt.timedelta):
        p.fail("a length of time is expected here", p.since(at), "Write INTERVAL '5' MINUTE.")
    return Constant(sign * (value // dt.timedelta(microseconds=1)), pl.Int64(), p.since(at))


__all__ = ["table_window"]
