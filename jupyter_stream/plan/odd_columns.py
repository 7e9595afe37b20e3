"""What is told of columns that a source has and a stream over it hasn't."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable


@runtime_checkable
class TellsOfColumns(Protocol):
    """A source that may have columns of types that can't be read.

    Attributes:
        left_out: columns that can't be read, and what their type is called.
    """

    left_out: Mapping[str, str]


def why_left_out(source: object, name: str) -> tuple[str, str] | None:
    """That a column was left out, and what to do; None where it wasn't."""
    if not isinstance(source, TellsOfColumns):
        return None
    found = next((n for n in source.left_out if n.lower() == name.lower()), None)
    if found is None:
        return None
    return (
        f"the column {found} was left out: its type, {source.left_out[found]}, can't be read",
        f"Make text or numbers of it first, such as df['{found}'].astype(str).",
    )


__all__ = ["TellsOfColumns", "why_left_out"]
