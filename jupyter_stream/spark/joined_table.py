"""A table that is joined with a relation, as operators of ours inside Spark have it: they are told what it has held there.

The process that has the table can't reach them. So when it changes, Spark's query is started anew, knowing all that the table has
held since the query began; operators go through what they haven't heard of yet.
"""

from __future__ import annotations

from typing import TypeAlias

import polars as pl

from jupyter_stream.core.table import TableRows
from jupyter_stream.core.time import MIN_TIME
from jupyter_stream.flow.table_lookup import TableVersions
from jupyter_stream.relations.relation_join import RelationJoinOperator

Held: TypeAlias = list[tuple[int, pl.DataFrame]]
"""What a table has held since a query began, each from a time on, microseconds."""


class JoinedTable:
    """The table of one join.

    Args:
        join: its operator, which has the table's rows as they are now.

    Attributes:
        versions: what the table has held since the query began; stays where the table is.
    """

    def __init__(self, join: RelationJoinOperator) -> None:
        self._join = join
        self._heard = MIN_TIME
        self.versions = TableVersions([MIN_TIME], [join.table_rows])

    def changed(self, table: TableRows, at: int) -> None:
        """A table has changed, at that time."""
        if self._join.table is not None and self._join.table.follows(table):
            self._heard = max(at, self._heard)
            self._join.changed(self._heard)
            self.versions.since.append(self._heard)
            self.versions.frames.append(self._join.table_rows)

    def follow(self, held: Held) -> None:
        """Go through what the table has held since the last time. After a restart it may hold something else from the start."""
        new = [(since, frame) for since, frame in held if since > self._heard]
        for since, frame in new or held[-1:]:
            if not frame.equals(self._join.table_rows):
                self._heard = max(since, self._heard)
                self._join.holds_now(frame, self._heard)


__all__ = ["Held", "JoinedTable"]
