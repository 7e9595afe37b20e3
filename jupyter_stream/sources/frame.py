"""`frame://name`: a table in the notebook (pandas, Polars, Arrow), replayed in row order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from jupyter_stream.core.schema import Field, Schema
from jupyter_stream.errors import SourceError
from jupyter_stream.sources.casting import TICKS
from jupyter_stream.sources.conform import check_castable, conform, match_names
from jupyter_stream.sources.options import choice, did_you_mean
from jupyter_stream.sources.protocol import PEEKED_ROWS, Chunk, Context, Request, Source, SourceConnector, wanted
from jupyter_stream.sources.tabular import (
    columns_of,
    declared,
    height,
    is_column,
    is_frame,
    is_once,
    pieces_of,
    raw_schema,
    slices,
)
from jupyter_stream.sources.widest import remarks


class FrameSource:
    """The rows of a variable that holds a frame. The variable is looked up anew by each `read`.

    Raises:
        SourceError: when it is made: no such variable, no frame, or a declared column that isn't there.
    """

    units: Mapping[str, str]
    left_out: Mapping[str, str]

    def __init__(self, context: Context) -> None:
        self._uri = context.uri
        self._name = context.path
        self._namespace = context.namespace
        self._tick = TICKS[choice(context.options, "timestamp_unit", TICKS, "us")] if _has_unit(context) else None
        value = self._value()
        columns = columns_of(value, context.uri)
        self.replayable = not is_once(value)
        self.schema: Schema = context.schema or declared(columns.raw, pieces_of(value) if self.replayable else None)
        self._matched(columns.raw, self.schema.fields)
        found = columns if context.schema is None else replace(columns, texts={})
        self.notes = [*([] if context.schema else remarks(columns.raw, self.schema)), *found.notes]
        self.left_out = columns.left_out
        self.units = {}

    def read(self, request: Request) -> Iterator[Chunk]:
        """The frame's rows as they are now, `REPLAY_ROWS` at a time."""
        fields = wanted(self.schema, request)
        value = self._value()
        as_declared = _has_columns(value, fields)
        names = {f.name: f.name for f in fields} if as_declared else self._matched(raw_schema(value, self._uri), fields)
        back = {raw: name for name, raw in names.items() if raw != name}
        request.share.whole = height(value)
        for piece in slices(value, [names[f.name] for f in fields]):
            if request.stop.is_set():
                return
            request.share.done += piece.height
            yield conform(piece.rename(back) if back else piece, fields, self._tick)

    @property
    def prunable(self) -> bool:
        """A Polars frame or Arrow table in the declared types: nothing to convert, so nothing to refuse."""
        value = self._value()
        if not isinstance(value, pl.DataFrame | pa.Table):
            return False
        if _has_columns(value, self.schema.fields):
            return True
        raw = raw_schema(value, self._uri)
        names = match_names(self.schema.fields, raw.names, self._uri)
        return all(
            f is not None and f.dtype == d.dtype for d in self.schema if (f := raw.find(names[d.name])) is not None
        )

    def pick(self, rows: NDArray[np.int64]) -> pl.DataFrame:
        """Rows of the frame, by number."""
        value = self._value()
        names = match_names(self.schema.fields, raw_schema(value, self._uri).names, self._uri)
        wanted_columns = [pl.col(names[f.name]).alias(f.name) for f in self.schema]
        if isinstance(value, pa.Table):
            taken = pl.from_arrow(value.take(pa.array(rows)))
            assert isinstance(taken, pl.DataFrame)
            return taken.select(wanted_columns)
        assert isinstance(value, pl.DataFrame)
        return value[pl.Series(rows)].select(wanted_columns)

    def peek(self) -> pl.DataFrame:
        """Its first rows; none of a frame that can be read only once."""
        value = self._value()
        if not self.replayable:
            return self.schema.empty()
        if isinstance(value, pl.LazyFrame):
            value = value.head(PEEKED_ROWS)
        fields = self.schema.fields
        names = self._matched(raw_schema(value, self._uri), fields)
        for piece in slices(value, [names[f.name] for f in fields], PEEKED_ROWS):
            back = {raw: name for name, raw in names.items() if raw != name}
            return conform(piece.rename(back) if back else piece, fields, self._tick).frame
        return self.schema.empty()

    def _value(self) -> object:
        if self._name not in self._namespace:
            frames = [n for n, v in self._namespace.items() if not n.startswith("_") and is_frame(v)]
            exist = f"Frames here: {', '.join(sorted(frames))}." if frames else "No variable holds a frame yet."
            raise SourceError(f"There is no variable '{self._name}'.", hint=did_you_mean(self._name, frames, exist))
        value = self._namespace[self._name]
        if is_column(value):
            raise SourceError(
                f"The variable '{self._name}' is one column, a {type(value).__name__}, and not a frame.",
                hint="Make a frame of it first: df = pd.DataFrame({'v': column}).",
            )
        if not is_frame(value):
            raise SourceError(
                f"The variable '{self._name}' is a {type(value).__name__}, not a pandas, Polars or Arrow frame.",
                hint=f"For generators, lists and functions write SOURCE 'python://{self._name}'.",
            )
        return value

    def _matched(self, raw: Schema, fields: tuple[Field, ...]) -> dict[str, str]:
        names = match_names(fields, raw.names, self._uri)
        check_castable(fields, raw, names, self._tick, self._uri)
        return names


def _has_columns(value: object, fields: tuple[Field, ...]) -> bool:
    """Whether a frame of Polars has columns of these names and types, as most have: then nothing is to be matched."""
    if not isinstance(value, pl.DataFrame):
        return False
    own = value.schema
    return all(own.get(f.name) == f.dtype and not f.dtype.is_nested() for f in fields)


def _has_unit(context: Context) -> bool:
    return "timestamp_unit" in context.options


def _open(context: Context) -> Source:
    return FrameSource(context)


FRAME = SourceConnector(
    scheme="frame",
    example="frame://trades_df",
    options={"timestamp_unit": "what numbers in TIMESTAMP columns count since 1970: 's', 'ms', 'us' or 'ns'"},
    open=_open,
)
