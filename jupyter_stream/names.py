"""What names mean in a session: streams with their side streams, and the notebook's values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from jupyter_stream.engine.side import SideStream
from jupyter_stream.plan.catalog import (
    Catalog,
    DerivedStream,
    Entry,
    StreamDef,
    TimeSpec,
    Unpromised,
    Watermark,
)
from jupyter_stream.plan.logical import Derived, streams, walk
from jupyter_stream.plan.logical import Query as Plan

_SIDE = re.compile(r"(late|errors)\((.+)\)", re.IGNORECASE)


class SessionCatalog(Catalog):
    """Declared names, and the side streams of each.

    Args:
        side: gives the side stream of a kind ("late", "errors") of a stream.
    """

    def __init__(self, side: Callable[[str, str], SideStream]) -> None:
        super().__init__()
        self._side = side

    def find(self, name: str) -> Entry | None:
        """What was declared under that name; `late(name)` and `errors(name)` come with every stream."""
        match = _SIDE.fullmatch(name.strip())
        if match is None:
            return super().find(name)
        kind, stream = match[1].lower(), match[2].strip()
        entry = super().find(stream)
        if entry is None:
            return None
        side = self._side(kind, stream)
        time = TimeSpec("internal", "current_time", Watermark(0, declared=False))
        if kind == "late":
            column = entry.time.column if isinstance(entry, StreamDef) else None
            if isinstance(entry, DerivedStream) and isinstance(entry.query, Plan):
                column = entry.query.time_column
            if column is not None and entry.schema.find(column) is not None:
                time = TimeSpec("external", column, Unpromised())
        return StreamDef(f"{kind}({entry.name})", side.schema, time, name, side)


class Parameters:
    """Values of `:name` and `{{ expr }}` by value, from what was given and the notebook's variables."""

    def __init__(self, namespace: Mapping[str, object], given: Mapping[str, object]) -> None:
        self._all = {**namespace, **given}

    @property
    def names(self) -> tuple[str, ...]:
        """Names that have a value, for suggestions."""
        return tuple(n for n in self._all if not n.startswith("_"))

    def __call__(self, text: str) -> object:
        """The value of an expression, which the user wrote as code of the notebook's."""
        return eval(text, self._all)


def names_in(query: Plan) -> set[str]:
    """Streams a query reads and derived ones it goes through, by name."""
    derived = {n.name for n in walk(query.plan) if isinstance(n, Derived)}
    return derived | {s.name for s in streams(query.plan)}


def derives_from(entry: Entry, base: Entry) -> bool:
    """Whether one is derived of the other."""
    if not isinstance(entry, DerivedStream) or not isinstance(entry.query, Plan) or entry is base:
        return False
    names = {n.name for n in walk(entry.query.plan) if isinstance(n, Derived)}
    return base.name in names or base in streams(entry.query.plan)


__all__ = ["Parameters", "SessionCatalog", "derives_from", "names_in"]
