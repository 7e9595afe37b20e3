"""Tables of the session in a body: they get their numbers when all of the body's own tables are known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any, Final, TypeAlias, TypeVar, cast

from jupyter_stream.aggregates.user.body import InsertRows, InsertSelect, Read
from jupyter_stream.core.table import TableRows

FindTable: TypeAlias = Callable[[str], TableRows | None]
"""The session's table of a name; None where there is none."""
STORED: Final = 1_000_000
"""Tables from this number on are the session's, until they get the numbers behind the body's own."""
Part = TypeVar("Part")


def renumbered(part: Part, shift: int) -> Part:
    """A part of a body whose tables of the session have other numbers.

    Args:
        part: an action, a subquery, or anything in them.
        shift: what is added to them.
    """
    made: Any = part
    if isinstance(part, tuple):
        made = tuple(renumbered(p, shift) for p in part)
    elif is_dataclass(part) and type(part).__module__ == Read.__module__:
        changed = {f.name: renumbered(getattr(part, f.name), shift) for f in fields(part)}
        if isinstance(part, Read | InsertRows | InsertSelect) and part.table >= STORED:
            changed["table"] = part.table + shift
        made = replace(part, **changed)  # type: ignore[type-var]  # it is one of body's dataclasses
    return cast(Part, made)


__all__ = ["STORED", "FindTable", "renumbered"]
