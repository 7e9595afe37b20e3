"""What names mean in a session: streams with their side streams, and the notebook's values."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from types import FunctionType

import numpy as np
import polars as pl

from jupyter_stream.core.schema import Schema
from jupyter_stream.core.suggest import nearest
from jupyter_stream.core.table import ONE_ROW, TableRows
from jupyter_stream.engine.side_streams import SideStream
from jupyter_stream.errors import QueryError, SourceError
from jupyter_stream.plan.catalog import (
    Catalog,
    DerivedStream,
    Entry,
    OpenSource,
    StreamDef,
    TimeSpec,
    Unpromised,
    Watermark,
)
from jupyter_stream.plan.logical import BoundQuery, Derived, streams, walk
from jupyter_stream.session.declared_sinks import SinkDef
from jupyter_stream.sources.paths import is_path
from jupyter_stream.sources.table import TableSource
from jupyter_stream.sources.tabular import is_frame, raw_schema

_ROW = TableRows(Schema.of([(ONE_ROW, pl.Boolean())]), pl.DataFrame({ONE_ROW: [True]}))
_ONE_ROW = StreamDef(
    ONE_ROW,
    _ROW.schema,
    TimeSpec("latent", "current_time", Watermark(0, declared=False)),
    "",
    TableSource(_ROW),
    table=_ROW,
)
_SIDE = re.compile(r"(late|errors)\((.+)\)", re.IGNORECASE)


class SessionCatalog(Catalog):
    """Declared names, and the side streams of each; and what else a FROM may name: frames of the notebook, files, addresses.

    Args:
        side: gives the side stream of a kind ("late", "errors") of a stream.
        namespace: the notebook's variables.
        by_name: makes a stream of a name and the address of its rows, declared by nothing else.
        declare: declares it.
    """

    def __init__(
        self,
        side: Callable[[str, str], SideStream],
        namespace: Mapping[str, object],
        by_name: Callable[[str, str], StreamDef],
        declare: Callable[[StreamDef], None],
    ) -> None:
        super().__init__()
        self._side = side
        self._namespace = namespace
        self._by_name = by_name
        self._declare = declare
        self.sinks: dict[str, SinkDef] = {}  # by name in lower case
        self._implied: set[str] = set()  # streams that nobody declared, in lower case

    def find(self, name: str) -> Entry | None:
        """What was declared under that name; `late(name)` and `errors(name)` come with every stream."""
        if name == ONE_ROW:
            return _ONE_ROW
        match = _SIDE.fullmatch(name.strip())
        if match is None:
            return super().find(name)
        kind, stream = match[1].lower(), match[2].strip()
        entry = super().find(stream)
        if entry is None:
            return self._errors_of(stream) if kind == "errors" else None
        side = self._side(kind, stream)
        time = TimeSpec("internal", "current_time", Watermark(0, declared=False))
        if kind == "late":
            column = entry.time.column if isinstance(entry, StreamDef) else None
            if isinstance(entry, DerivedStream) and isinstance(entry.query, BoundQuery):
                column = entry.query.time_column
            if column is not None and entry.schema.find(column) is not None:
                time = TimeSpec("external", column, Unpromised())
        return StreamDef(f"{kind}({entry.name})", side.schema, time, name, side)

    def _errors_of(self, sink: str) -> StreamDef | None:
        """`errors(sink)`: rows it will never take."""
        found = self.sinks.get(sink.lower())
        if found is None or found.name is None:
            return None
        side = self._side("errors", found.name)
        time = TimeSpec("internal", "current_time", Watermark(0, declared=False))
        return StreamDef(f"errors({found.name})", side.schema, time, found.name, side)

    def reading(self, rows: TableRows) -> OpenSource:
        """A source of the rows of a table that nobody declared."""
        return TableSource(rows)

    def meant(self, name: str) -> Entry | None:
        """What was declared; otherwise the notebook's frame of that name, or the file or address that the name is, as a stream.

        Raises:
            QueryError: there is something of that name, and it can't be read.
        """
        entry = self.find(name)
        if entry is not None and entry.name.lower() not in self._implied:
            return entry
        address = self._address(name)
        if address is None:
            return None if entry is None or self.drop(entry.name) else entry
        made = self._by_name(name, address)  # a frame may have other columns by now
        if isinstance(entry, StreamDef) and (entry.uri, entry.schema) == (made.uri, made.schema):
            return entry
        self._declare(made)
        self._implied.add(made.name.lower())
        return made

    def _address(self, name: str) -> str | None:
        """Where the rows of something undeclared come from."""
        if "://" in name:
            return name
        if is_frame(self._namespace.get(name)):
            return f"frame://{name}"
        alike = [n for n in self.frames if n.lower() == name.lower()]
        if len(alike) == 1:
            return f"frame://{alike[0]}"
        return f"file://{name}" if is_path(name) else None

    @property
    def frames(self) -> tuple[str, ...]:
        """The notebook's frames."""
        return tuple(n for n, v in list(self._namespace.items()) if not n.startswith("_") and is_frame(v))

    @property
    def iterables(self) -> tuple[str, ...]:
        """The notebook's lists, generators and functions."""
        names = list(self._namespace.items())
        return tuple(n for n, v in names if not n.startswith("_") and _iterates(v))

    def columns_of(self, name: str) -> Schema | None:
        """The columns of a stream or a frame, for suggestions; nothing is declared by asking."""
        entry = self.find(name)
        if entry is not None:
            return entry.schema
        value = self._namespace.get(name)
        if not is_frame(value):
            return None
        try:
            return raw_schema(value, name)
        except SourceError:
            return None

    def advice(self, name: str) -> str | None:
        """What to write where a FROM names a variable that is no frame."""
        value = self._namespace.get(name)
        if value is None or is_frame(value):
            return None
        if _iterates(value):
            declare = f"CREATE STREAM {name} (...) SOURCE 'python://{name}'"
            return f"{name} is a {type(value).__name__} of the notebook. Declare a stream of it first: {declare}."
        if callable(getattr(value, "to_frame", None)):
            turned = f"{name}.to_frame()"
        elif isinstance(value, Mapping | np.ndarray):
            turned = f"pd.DataFrame({name})"
        else:
            return None
        kind = type(value).__name__
        return f"{name} is a {kind} of the notebook, and no frame. Make one of it: df = {turned}, and write FROM df."

    def add(self, entry: Entry) -> None:
        """Declare it; a former entry of that name is replaced."""
        self._implied.discard(entry.name.lower())
        super().add(entry)


def _iterates(value: object) -> bool:
    """Whether `python://` could read it."""
    return isinstance(value, list | tuple | Iterator | AsyncIterator | FunctionType)


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


def names_in(query: BoundQuery) -> set[str]:
    """Streams a query reads and derived ones it goes through, by name."""
    derived = {n.name for n in walk(query.plan) if isinstance(n, Derived) and n.name is not None}
    return derived | {s.name for s in streams(query.plan)}


def no_such(name: str, catalog: Catalog, queries: Iterable[str]) -> QueryError:
    """An error: there is no stream or query of that name; with the nearest name, or all names."""
    known = list(dict.fromkeys([*catalog.names, *queries]))  # a view is both
    near = nearest(name, known)
    hint = f"Did you mean {near}?" if near else (f"There are {', '.join(known)}." if known else None)
    return QueryError(f"there is no stream or query called {name}", hint=hint)


def derives_from(entry: Entry, base: Entry) -> bool:
    """Whether one is derived of the other."""
    if not isinstance(entry, DerivedStream) or not isinstance(entry.query, BoundQuery) or entry is base:
        return False
    names = {n.name for n in walk(entry.query.plan) if isinstance(n, Derived)}
    return base.name in names or base in streams(entry.query.plan)


__all__ = ["Parameters", "SessionCatalog", "derives_from", "names_in", "no_such"]
