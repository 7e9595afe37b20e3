"""Comparisons of rows of values are comparisons of their values; a NULL among them counts as SQL says.

(a, b) = (c, d)                    a = c AND b = d
(a, b) <> (c, d)                   NOT (a = c AND b = d)
(a, b) < (c, d)                    a < c OR (a = c AND b < d)
(a, b) IN ((1, 2), (3, 4))         (a = 1 AND b = 2) OR (a = 3 AND b = 4)
"""

from __future__ import annotations

from functools import reduce

from jupyter_stream.syntax.nodes import Node, Operation, ValueList
from jupyter_stream.syntax.source_text import SourceText, Span

_ORDERED = {"<": "<", "<=": "<", ">": ">", ">=": ">"}


def compared(made: Operation, source: SourceText) -> Operation:
    """A comparison or IN between rows of values in terms of their values; any other as it is.

    Raises:
        QueryError: the rows don't have the same number of values.
    """
    first, *others = made.args
    if not isinstance(first, ValueList) or not all(isinstance(other, ValueList) for other in others):
        return made
    rows = [other.items for other in others if isinstance(other, ValueList)]
    for row, other in zip(rows, others, strict=True):
        if len(row) != len(first.items):
            raise source.error(
                f"{len(first.items)} values can't be compared with {len(row)}",
                other.span,
                "Write as many values on both sides: (a, b) = (1, 2).",
            )
    left, span = first.items, made.span
    if made.function == "in":
        return _all("or", [_equal("=", left, row, span) for row in rows], span)
    if made.function in ("=", "<=>"):
        return _equal(made.function, left, rows[0], span)
    if made.function == "<>":
        return Operation("not", (_equal("=", left, rows[0], span),), span)
    return _ordered(made.function, left, rows[0], span) if made.function in _ORDERED else made


def _equal(function: str, left: tuple[Node, ...], right: tuple[Node, ...], span: Span) -> Operation:
    return _all("and", [Operation(function, pair, span) for pair in zip(left, right, strict=True)], span)


def _ordered(function: str, left: tuple[Node, ...], right: tuple[Node, ...], span: Span) -> Operation:
    one, other = left[0], right[0]
    if len(left) == 1:
        return Operation(function, (one, other), span)
    rest = _ordered(function, left[1:], right[1:], span)
    same = Operation("and", (Operation("=", (one, other), span), rest), span)
    return Operation("or", (Operation(_ORDERED[function], (one, other), span), same), span)


def _all(function: str, parts: list[Operation], span: Span) -> Operation:
    return reduce(lambda before, part: Operation(function, (before, part), span), parts)
