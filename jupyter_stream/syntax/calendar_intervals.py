"""A time and an interval of months and days: the months are added first, and then the rest.

ts + INTERVAL '1 month 2 days'
(ts + INTERVAL '1' MONTH) + INTERVAL '2' DAY
"""

from __future__ import annotations

from jupyter_stream.syntax.nodes import Months, Node, Operation


def moved(function: str, one: Node, other: Node) -> Operation | None:
    """Such a sum or difference; None for anything else."""
    if function not in ("+", "-"):
        return None
    if _is_compound(one) and function == "+" and not _is_interval(other):
        one, other = other, one
    if not _is_compound(other) or _is_interval(one):
        return None
    assert isinstance(other, Operation)
    months, rest = other.args
    span = one.span.to(other.span)
    return Operation(function, (Operation(function, (one, months), span), rest), span)


def _is_compound(node: Node) -> bool:
    return isinstance(node, Operation) and node.function == "+" and isinstance(node.args[0], Months)


def _is_interval(node: Node) -> bool:
    return isinstance(node, Months) or _is_compound(node)


__all__ = ["moved"]
