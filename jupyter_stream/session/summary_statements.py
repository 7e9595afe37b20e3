"""What CREATE, SHOW, DESCRIBE and DROP SUMMARY do. Not for what summaries hold: queries keep them while they run."""

from __future__ import annotations

import polars as pl

from jupyter_stream import binding, syntax
from jupyter_stream.core.time import show_duration
from jupyter_stream.engine.explain import Text
from jupyter_stream.errors import QueryError
from jupyter_stream.plan.catalog import Catalog
from jupyter_stream.plan.preference import SummaryDef
from jupyter_stream.session.query import Explanation, Listing, Message
from jupyter_stream.syntax.diagnose import did_you_mean
from jupyter_stream.syntax.source_text import Name, SourceText


def create(catalog: Catalog, statement: syntax.CreateSummary) -> Message:
    """Declare it. Queries started before go on with a former one of its name.

    Raises:
        QueryError: a mistake in it, with its place.
    """
    made = binding.bind_summary(statement, catalog)
    former = catalog.summaries.get(made.name.lower())
    catalog.summaries[made.name.lower()] = made
    verb = "declared" if former is None else "declared again; queries that already run use the earlier one"
    return Message(f"Summary {made.name} {verb}: {memory(made)} while a query uses it.")


def memory(summary: SummaryDef) -> str:
    """The most its sketches take, for people."""
    size = summary.spec.bytes
    return f"{size / 2**20:,.1f} MiB" if size >= 2**20 else f"{size / 2**10:,.0f} KiB"


def listing(catalog: Catalog) -> Listing:
    """SHOW SUMMARIES."""
    rows = [
        (
            s.name,
            s.stream,
            ", ".join(s.spec.columns),
            ", ".join(show_duration(s.spec.length(level)) for level in range(1, s.spec.depth + 1)),
            s.spec.kind.name,
            s.spec.bytes,
        )
        for s in catalog.summaries.values()
    ]
    schema = {n: pl.String() for n in ("summary", "stream", "columns", "granularities", "kind")} | {"bytes": pl.Int64()}
    return Listing("Summaries", pl.DataFrame(rows, schema=schema, orient="row"))


def description(catalog: Catalog, name: Name, source: SourceText) -> Explanation:
    """DESCRIBE SUMMARY: the statement, what it keeps and how sure it is. Raises `QueryError` if there is none of that name."""
    found = catalog.summaries.get(name.text.lower())
    if found is None:
        raise _unknown(catalog, name, source)
    kind = found.spec.kind
    estimates = ", ".join(f"SUMMARY.Estimate.{m.capitalize()}" for m in kind.measures)
    lines = [found.text.strip(), "", str(found), f"{kind.name}: {kind.description}", f"estimates: {estimates}"]
    return Explanation(Text("\n".join([*lines, f"memory: {memory(found)} at most, without the rows"])))


def drop(catalog: Catalog, statement: syntax.Drop) -> Message:
    """DROP SUMMARY. Queries that use it go on. Raises `QueryError` if there is none of that name."""
    found = catalog.summaries.pop(statement.name.text.lower(), None)
    if found is None:
        if statement.if_exists:
            return Message(f"There is no {statement.name.text}.")
        raise _unknown(catalog, statement.name, statement.source)
    return Message(f"Summary {found.name} is dropped.")


def _unknown(catalog: Catalog, name: Name, source: SourceText) -> QueryError:
    names = [s.name for s in catalog.summaries.values()]
    hint = did_you_mean(name.text, names, "summaries") if names else "CREATE SUMMARY declares one."
    return source.error(f"there is no summary called {name.text}", name.span, hint)
