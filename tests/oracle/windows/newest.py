"""`[ROWS n]`, `[PARTITION BY a, b ROWS n WHERE pred]` without SLIDE: the newest rows."""

from __future__ import annotations

from dataclasses import dataclass

from tests.oracle.predicates import Predicate
from tests.oracle.windows.lifetime import Lifetime


@dataclass(frozen=True)
class NewestRows(Lifetime):
    """The newest rows of each partition, by arrival.

    Attributes:
        rows: how many.
        partition: columns of PARTITION BY.
        where: the window's own filter, before rows are counted.
    """

    rows: int = 1
    partition: tuple[str, ...] = ()
    where: Predicate | None = None

    @property
    def written(self) -> str:
        """The window as written behind a stream."""
        by = f"PARTITION BY {', '.join(self.partition)} " if self.partition else ""
        return f"[{by}ROWS {self.rows}{f' WHERE {self.where.sql()}' if self.where else ''}]"
