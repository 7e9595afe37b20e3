"""What is known of a column of text that is used as a number: how its file writes it. Not for reading files."""

from __future__ import annotations

from collections.abc import Sequence

from jupyter_stream.binding.scope import Scope
from jupyter_stream.plan.catalog import Tells
from jupyter_stream.plan.logical import streams
from jupyter_stream.syntax.nodes import ColumnRef, Node

_SAYS = (
    " looks like numbers: ",
    " is STRING for the word ",
    " is STRING for its first word",
    " has whole numbers beyond BIGINT",
)
"""How what a source says of such a column goes on after its name."""


def as_its_source_says(scope: Scope, arguments: Sequence[Node]) -> str | None:
    """What the source of a column among these says of it; None where there is nothing of the kind."""
    names = [a.name.text for a in arguments if isinstance(a, ColumnRef)]
    for stream in streams(scope.plan):
        if not isinstance(stream.source, Tells):
            continue
        for note in stream.source.notes:
            if any(note.startswith(f"{name}{says}") for name in names for says in _SAYS):
                return f"In {stream.name}, {note}"
    return None


__all__ = ["as_its_source_says"]
