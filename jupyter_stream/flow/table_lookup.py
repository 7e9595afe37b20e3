"""Stream rows with the rows of a table they match, looked up as each comes: a non-retroactive join (update-patterns paper §4).

A change of the table goes for the rows from its time on; what was given stays. Rows keep their time, late ones stay late.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import polars as pl

from jupyter_stream.arrays.rows import bytes_of, shown
from jupyter_stream.core.messages import TS, Batch, Failed, KeyPunctuation, Message, ints
from jupyter_stream.core.table import TableRows
from jupyter_stream.core.time import MIN_TIME
from jupyter_stream.flow.evaluate import Evaluator
from jupyter_stream.flow.protocol import Stateless
from jupyter_stream.functions.expression import Expr
from jupyter_stream.plan.logical import JoinKind

_PLACE = "$place"


@dataclass(frozen=True)
class TableLookupConfig:
    """Which rows match.

    Attributes:
        kind: inner, left, semi or anti.
        table: the table.
        read: gives the rows it holds now.
        names: (column of the table, its name in the joined row).
        keys: (expression over the stream, expression over the table) that are to be equal.
        residual: a further condition over the joined row, None without.
    """

    kind: JoinKind
    table: TableRows
    read: Callable[[], pl.DataFrame]
    names: tuple[tuple[str, str], ...]
    keys: tuple[tuple[Expr, Expr], ...]
    residual: Expr | None


@dataclass(frozen=True, slots=True)
class TableVersions:
    """What a table has held since a query began, each from a time on; the first from minus infinity.

    Attributes:
        since: the times, microseconds, ascending.
        frames: the rows as look-ups need them.
    """

    since: list[int]
    frames: list[pl.DataFrame]


class TableLookup(Stateless):
    """Joined rows, at the stream rows' own times.

    Attributes:
        versions: what the table has held since the query began.
    """

    def __init__(self, config: TableLookupConfig) -> None:
        super().__init__(f"{config.kind} look-up in a table")
        self._config = config
        self._stream_keys = Evaluator([key for key, _ in config.keys])
        self._table_keys = Evaluator([key for _, key in config.keys])
        self._residual = None if config.residual is None else Evaluator([config.residual])
        self._on = [f"$k{i}" for i in range(len(config.keys))]
        # what the table held when the query began goes for all rows before its first change
        self.versions = TableVersions([MIN_TIME], [self._prepared(config.read())])

    @property
    def table(self) -> TableRows:
        """The table it looks into."""
        return self._config.table

    @property
    def unchanged(self) -> bool:
        """Whether it looks into what a query would that begins now: no row has come, nor has the table changed."""
        return self.control.rows_in == 0 and len(self.versions.frames) == 1

    def _prepared(self, frame: pl.DataFrame) -> pl.DataFrame:
        frame, keys, _ = self._table_keys.evaluate(frame)
        columns = [frame.get_column(n).alias(m) for n, m in self._config.names]
        return pl.DataFrame([*columns, *(k.alias(n) for k, n in zip(keys, self._on, strict=True))])

    def changed(self, at: int) -> None:
        """The table has changed: what it holds now goes for rows at or after `at`, microseconds."""
        held = self.versions
        # first what it holds: answers of Spark's are looked up in another thread meanwhile
        held.frames.append(self._prepared(self._config.read()))
        held.since.append(max(at, held.since[-1]))
        self.control.holds(bytes_of(held.frames))

    def head(self, most: int) -> pl.DataFrame:
        """The first rows of the table as it is now."""
        return shown(self.versions.frames[-1:], most)

    def on_batch(self, port: int, batch: Batch) -> Iterable[Message]:
        """Look the rows up."""
        frame, keys, failed = self._stream_keys.evaluate(batch.frame)
        if failed is not None:
            yield failed
        if not frame.height and not batch.tells:
            return
        own = frame.columns
        frame = frame.with_columns(*(k.alias(n) for k, n in zip(keys, self._on, strict=True)))
        frame = frame.with_columns(pl.int_range(frame.height, dtype=pl.Int64).alias(_PLACE))
        which = np.searchsorted(self.versions.since, ints(frame.get_column(TS)), "right") - 1
        found: list[pl.DataFrame] = []
        for version in np.unique(which).tolist() or [-1]:
            rows = frame if (which == version).all() else frame.filter(pl.Series(which == version))
            for message in self._look_up(rows, self.versions.frames[version], own):
                if isinstance(message, Failed):
                    yield message
                else:
                    found.append(message)
        if found:
            yield batch.with_frame(found[0] if len(found) == 1 else pl.concat(found))

    def _look_up(self, rows: pl.DataFrame, table: pl.DataFrame, own: list[str]) -> Iterable[pl.DataFrame | Failed]:
        kind = self._config.kind
        if self._on:
            joined = rows.join(table, on=self._on, how="inner", maintain_order="left_right")
        else:
            joined = rows.join(table, how="cross", maintain_order="left_right")
        if self._residual is not None:
            joined, (true,), failed = self._residual.evaluate(joined)
            if failed is not None:
                yield Failed(failed.frame.drop(_PLACE, *self._on, strict=False), failed.reasons)
            joined = joined.filter(true.fill_null(False))
        columns = [*own, *(name for _, name in self._config.names)]
        if kind == "inner":
            yield joined.select(columns)
            return
        matched = rows.get_column(_PLACE).is_in(joined.get_column(_PLACE).unique().implode())
        if kind == "semi":
            yield rows.filter(matched).select(own)
        elif kind == "anti":
            yield rows.filter(~matched).select(own)
        else:
            alone = rows.filter(~matched)
            nothing = [pl.lit(None, table.schema[name]).alias(name) for _, name in self._config.names]
            both = pl.concat([joined.select(_PLACE, *columns), alone.with_columns(nothing).select(_PLACE, *columns)])
            yield both.sort(_PLACE, maintain_order=True).drop(_PLACE)

    def on_key_punctuation(self, port: int, punctuation: KeyPunctuation) -> Iterable[Message]:
        """Pass it on: rows keep their key and their time."""
        yield punctuation


__all__ = ["TableLookup", "TableLookupConfig", "TableVersions"]
