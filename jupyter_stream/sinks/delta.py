"""`delta://`: a Delta table in a folder. A commit of ours is one of the table's, with a transaction identifier of the writer."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import polars as pl

from jupyter_stream.errors import SinkError
from jupyter_stream.sinks.database import check_columns
from jupyter_stream.sinks.delta_pieces import DeltaPieces, held
from jupyter_stream.sinks.options import columns
from jupyter_stream.sinks.protocol import Sink, SinkConnector, SinkUnreachable, Target

_POSITION: Final = "jupyter_stream"
"""The name of the position among the notes of a commit."""
_GONE: Final = "$gone"
_LEAST: Final = (1, 6, 2)
"""Before that `create_write_transaction` leaves the identifiers of a commit's transactions out (see findings)."""


class DeltaSink:
    """A table, made when there is none. Raises `SinkError` without the package `deltalake`, and with an old one."""

    def __init__(self, target: Target) -> None:
        try:
            import deltalake
            import deltalake.exceptions
        except ImportError:
            raise SinkError(
                "delta:// needs the package deltalake.", hint="Install it: pip install 'jupyter-stream[delta]'."
            ) from None
        if tuple(int(part) for part in re.findall(r"\d+", deltalake.__version__)[:3]) < _LEAST:
            raise SinkError(
                f"delta:// needs deltalake 1.6.2 or newer, and {deltalake.__version__} is installed: it counts the NULLs of "
                "arrays wrongly, so that they may be read as NULL, or leaves transaction identifiers out.",
                hint="Install it: pip install --upgrade 'jupyter-stream[delta]'.",
            )
        if not target.path.strip("/"):
            raise SinkError("delta:// names no folder.", hint="Write TO 'delta://answers/'.")
        self._delta: Any = deltalake
        self._away = (OSError, deltalake.exceptions.CommitFailedError)
        self._at = Path(target.path).expanduser().absolute()
        self._partition = columns(target.options, "partition_by", target.schema.names)
        self._target = target
        self._staged: Callable[[Any], None] | None = None
        self._adopted: list[Any] = []

    def _table(self) -> Any:
        """The table; None where there is none."""
        return self._delta.DeltaTable(str(self._at)) if self._delta.DeltaTable.is_deltatable(str(self._at)) else None

    def check(self) -> None:
        """Compare the table's columns and their types with the answer's."""
        if self._at.exists() and not self._at.is_dir():
            raise SinkError(f"{self._at} is a file, not a folder.", hint="Name a folder that is there, or a new one.")
        try:
            table = self._table()
        except self._away as error:
            raise self._unreachable(error) from None
        if table is None:
            return
        there = {f.name: f.type for f in table.schema().fields}
        check_columns(self._at.name, there, self._target.schema)
        given = self._delta.Schema.from_arrow(held(self._target.schema.empty()).to_arrow().schema)
        other = next((f for f in given.fields if there.get(f.name) != f.type), None)
        if other is not None:
            raise SinkError(
                f"the column {other.name} of the table {self._at.name} has another type than the answer's.",
                hint="Cast it in the SELECT, declare the sink's columns, or name a new table.",
            )

    def append(self, rows: pl.DataFrame) -> None:
        """Have rows added at the commit."""
        self._staged = lambda said: self._write(rows, "append", said)

    def replace(self, rows: pl.DataFrame) -> None:
        """Have rows take the place of all others at the commit."""
        self._staged = lambda said: self._write(rows, "overwrite", said)

    def upsert(self, rows: pl.DataFrame, gone: pl.DataFrame) -> None:
        """Have rows merged by their key at the commit."""
        self._staged = lambda said: self._merge(rows, gone, said)

    def _write(self, rows: pl.DataFrame, mode: str, said: Any) -> None:
        if mode == "overwrite" or rows.height or self._table() is None:
            self._delta.write_deltalake(
                str(self._at),
                held(rows).to_arrow(),
                mode=mode,
                partition_by=list(self._partition) or None,
                commit_properties=said,
            )

    def _merge(self, rows: pl.DataFrame, gone: pl.DataFrame, said: Any) -> None:
        table = self._table()
        if table is None:
            self._write(rows, "append", said)
            return
        both = [rows.with_columns(pl.lit(False).alias(_GONE)), gone.with_columns(pl.lit(True).alias(_GONE))]
        source = held(pl.concat(both, how="diagonal")).to_arrow()
        pairs = [(f"t.{_quoted(c)}", f"s.{_quoted(c)}") for c in self._target.key]
        same = " AND ".join(f"({t} = {s} OR ({t} IS NULL AND {s} IS NULL))" for t, s in pairs)
        values = {_quoted(c): f"s.{_quoted(c)}" for c in rows.columns}
        merge = table.merge(source, same, source_alias="s", target_alias="t", commit_properties=said)
        merge = merge.when_matched_delete(f"s.{_quoted(_GONE)}").when_matched_update(values)
        merge.when_not_matched_insert(values, f"NOT s.{_quoted(_GONE)}").execute()

    def apart(self) -> DeltaPieces | None:
        """What writes files of the table elsewhere; those that no commit names are taken away. None where it has partitions."""
        try:
            table = self._table()
            if self._partition or (table is not None and table.metadata().partition_columns):
                return None
            self._at.mkdir(parents=True, exist_ok=True)
            pieces = DeltaPieces(str(self._at), self._target.writer)
            pieces.sweep([] if table is None else table.file_uris())
        except self._away as error:
            raise self._unreachable(error) from None
        return pieces

    def adopt(self, pieces: pl.DataFrame) -> None:
        """Have files added at the commit that were written elsewhere."""
        self._adopted += DeltaPieces(str(self._at), self._target.writer).actions(pieces)
        self._staged = self._add

    def _add(self, said: Any) -> None:
        schema = self._delta.Schema.from_arrow(held(self._target.schema.empty()).to_arrow().schema)
        table = self._table()
        if table is None:
            table = self._delta.DeltaTable.create(str(self._at), schema)
        table.create_write_transaction(self._adopted, "append", schema, commit_properties=said)

    def commit(self, number: int, position: str) -> None:
        """Write one commit of the table's, unless that was done by a try nobody knows the end of."""
        staged, writer = self._staged, self._target.writer
        try:
            table = self._table()
            done = None if table is None else table.transaction_version(writer)
            if staged is not None and (done is None or done < number):
                said = self._delta.CommitProperties(
                    custom_metadata={_POSITION: position} if position else None,
                    app_transactions=[self._delta.Transaction(writer, number)],
                )
                staged(said)
        except self._away as error:
            raise self._unreachable(error) from None
        self.abort()

    def committed(self) -> tuple[int, str] | None:
        """The writer's last transaction, and the position that its commit notes."""
        try:
            table = self._table()
            number = None if table is None else table.transaction_version(self._target.writer)
            if number is None:
                return None
            noted = (entry[_POSITION] for entry in table.history() if _POSITION in entry)
            return int(number), next(noted, "")
        except self._away as error:
            raise self._unreachable(error) from None

    def abort(self) -> None:
        """Nothing was written, and what was written elsewhere is told again."""
        self._staged, self._adopted = None, []

    def close(self) -> None:
        """Nothing is held."""

    def _unreachable(self, error: Exception) -> SinkUnreachable:
        return SinkUnreachable(f"{self._at} can't be written to: {str(error).splitlines()[0]}")


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _open(target: Target) -> Sink:
    return DeltaSink(target)


DELTA: Final = SinkConnector(
    scheme="delta",
    example="delta://answers/",
    options={"partition_by": "columns whose values become folders: 'day' gives day=2026-11-23/"},
    modes=("upsert", "append", "changes", "replace"),
    promise="exactly once",
    how="a commit is one of the table's, with a transaction identifier that makes a second try harmless",
    open=_open,
)
"""The connector of `delta://`."""
