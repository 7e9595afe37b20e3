"""What a declaration tells of columns whose types SQL has no name for: those read as text, and those left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable


@runtime_checkable
class TellsOfColumns(Protocol):
    """A source with columns of types that SQL has no name for.

    Attributes:
        texts: columns that are read as their text, and what their type is called.
        left_out: columns that can't be read, and what their type is called.
    """

    texts: Mapping[str, str]
    left_out: Mapping[str, str]


def about_columns(source: object) -> str:
    """Sentences about such columns; empty where there are none."""
    if not isinstance(source, TellsOfColumns):
        return ""
    said = []
    if source.texts:
        said.append(f"{_listed(source.texts)} {'is' if len(source.texts) == 1 else 'are'} read as STRING.")
    if source.left_out:
        said.append(
            f"{_listed(source.left_out)} can't be read and {'is' if len(source.left_out) == 1 else 'are'} left out."
        )
    return " ".join(said)


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


def _listed(columns: Mapping[str, str]) -> str:
    names = [f"{name} ({kind})" for name, kind in columns.items()]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


__all__ = ["TellsOfColumns", "about_columns", "why_left_out"]
