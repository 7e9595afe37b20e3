"""Which tables a running query looks into."""

from __future__ import annotations

from collections.abc import Iterator

from jupyter_stream.core.table import SelectedRows, TableRows, ViewRows
from jupyter_stream.engine.pipeline import Pipeline


def tables_of(pipeline: Pipeline) -> Iterator[TableRows]:
    """Those that hold rows of their own, each once: not views, and not what is worked out of other tables."""
    found: dict[int, TableRows] = {}
    todo = [t for s in pipeline.graph.steps if isinstance(t := getattr(s.operator, "table", None), TableRows)]
    while todo:
        table = todo.pop(0)
        if isinstance(table, SelectedRows):
            todo += table.of
        elif not isinstance(table, ViewRows):
            found.setdefault(id(table), table)
    yield from found.values()
