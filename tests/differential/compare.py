"""Bags of rows and how they differ. A DECIMAL or HUGEINT of the other system is the number it is."""

from __future__ import annotations

import decimal
from collections import Counter
from collections.abc import Iterable

Bag = Counter[tuple[object, ...]]


def bag(rows: Iterable[tuple[object, ...]]) -> Bag:
    """The rows, each so often."""
    return Counter(tuple(plain(v) for v in row) for row in rows)


def plain(value: object) -> object:
    """A value as both systems have it: numbers to nine digits, for quotients and square roots end in other digits."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float | decimal.Decimal):
        number = float(f"{float(value):.9g}")
        return number + 0.0  # not -0.0
    return value


def difference(ours: Bag, theirs: Bag) -> str:
    """What one has and the other has not; empty if nothing."""
    if ours == theirs:
        return ""
    only, missing = ours - theirs, theirs - ours
    said = []
    for title, rows in (("only ours", only), ("only theirs", missing)):
        if rows:
            said.append(f"{title}: " + ", ".join(f"{r} x {n}" if n > 1 else str(r) for r, n in list(rows.items())[:6]))
    return "; ".join(said)
