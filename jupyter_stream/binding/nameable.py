"""Columns that no query can name are left out of what is read. Not for those whose types can't be read: see plan/odd_columns."""

from __future__ import annotations

from collections.abc import Callable

from jupyter_stream.core.schema import Schema
from jupyter_stream.errors import SourceError
from jupyter_stream.plan.catalog import OpenSource, Retypes, Tells


def nameable(source: OpenSource, again: Callable[[Schema], OpenSource]) -> OpenSource:
    """A source that has found its columns, without those that begin with $: as the engine's own do, whose place they would take.

    Args:
        source: as it was opened.
        again: opens it with these columns.

    Raises:
        SourceError: it has no others.
    """
    named = Schema(tuple(f for f in source.schema if not f.name.startswith("$")))
    rest = ", ".join(f.name for f in source.schema if f.name.startswith("$"))
    if not rest:
        return source
    if not len(named):
        raise SourceError(f"All columns begin with $: {rest}.", hint="Rename them: a query can't name such columns.")
    notes = list(source.notes) if isinstance(source, Tells) else []
    found = source.retyped(named) if isinstance(source, Retypes) else again(named)
    if isinstance(found, Tells):
        found.notes = [*notes, f"No query can name {rest}, for the $: to read such columns, rename them."]
    return found


__all__ = ["nameable"]
