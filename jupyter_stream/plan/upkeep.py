"""How the state of relations is kept up to date: one of the three strategies the update-patterns paper compares (§2.3, §5.4.3).

- `upa`: by the update pattern. Rows carry their ends wherever these are known; a first-in-first-out list, expiry partitions, δ*.
  Above a negation, changes with a sign.
- `direct`: rows carry their ends as well, but lists in the order of arrival are looked through, and DISTINCT keeps its input.
- `nt`: negative tuples. Every window says of each row when it leaves, and every operator works on changes; values are
  found by hash.

All give the same answers. `upa` unless asked otherwise; the others are for comparison.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

Upkeep: TypeAlias = Literal["upa", "direct", "nt"]
UPKEEPS: tuple[Upkeep, ...] = get_args(Upkeep)
PARTITIONS = 10
"""Expiry partitions, unless said otherwise (§6.1)."""


@dataclass(frozen=True)
class Maintenance:
    """A choice of it.

    Attributes:
        upkeep: which strategy.
        partitions: how many expiry partitions.
    """

    upkeep: Upkeep = "upa"
    partitions: int = PARTITIONS


__all__ = ["PARTITIONS", "UPKEEPS", "Maintenance", "Upkeep"]
