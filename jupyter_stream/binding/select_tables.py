"""What a SELECT makes of tables, beside a stream: a table itself, looked up at each row's time, or revising as tables do."""

from __future__ import annotations

from jupyter_stream.binding.bind_table import LATENT
from jupyter_stream.binding.scope import Scope
from jupyter_stream.core.table import SelectedRows
from jupyter_stream.errors import UnsupportedError
from jupyter_stream.plan.catalog import StreamDef
from jupyter_stream.plan.logical import Join, Lookup, Plan, Scan, TableRelation, walk
from jupyter_stream.plan.relations import only_tables
from jupyter_stream.syntax.query_syntax import FromItem
from jupyter_stream.syntax.source_text import SourceText
from jupyter_stream.windows import LifetimeWindow


def as_table(scope: Scope, other: Scope, part: FromItem, source: SourceText) -> Scope:
    """An input of a join as a table, where it is made of tables and the other isn't; anything else as it is.

    Raises:
        QueryError: it has a window, or pairs every row of a table with every row of another.
        UnsupportedError: some of its tables revise answers, others don't.
    """
    plan = scope.plan
    if isinstance(plan, Scan) or not only_tables(plan) or only_tables(other.plan):
        return scope
    own = scope.window
    if own is not None and not own.keeps_all:
        raise source.error("windows need a stream, and this is made of tables", part.span, "Remove the window.")
    if isinstance(plan, Join) and not plan.keys and plan.residual is None:
        raise source.error(
            "this pairs every row of a table with every row of another, before the stream's rows are known",
            part.span,
            "Write the stream first, FROM stream, a, b WHERE ..., or say which pairs: FROM stream JOIN (a JOIN b ON ...) ON ....",
        )
    tables = _tables(plan)
    revising = {table.retroactive for table in tables}
    if len(revising) > 1:
        raise source.error(
            "some of these tables are RETROACTIVE, which revise earlier answers, and others aren't",
            part.span,
            "Declare all of them RETROACTIVE, or none; or join with one after the other.",
            UnsupportedError,
        )
    schema = plan.schema
    rows = SelectedRows(schema, plan, [t.table for t in tables if t.table is not None])
    name = " ".join(source.slice(part.span).split())
    made = StreamDef(name, schema, LATENT, "", tables[0].source, table=rows, retroactive=revising.pop())
    return Scope(Scan(made, schema), scope.qualifiers, LifetimeWindow(None), scope.joined, scope.values)


def _tables(plan: Plan) -> list[StreamDef]:
    found: list[StreamDef] = []
    for node in walk(plan):
        if isinstance(node, Scan):
            found.append(node.stream)
        elif isinstance(node, Lookup | TableRelation):
            found.append(node.table)
    return found


__all__ = ["as_table"]
