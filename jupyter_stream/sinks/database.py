"""What sinks in databases share: the table's name, SQL with names in quotes, and refused rows found by halves."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import polars as pl

from jupyter_stream.core.far import as_json
from jupyter_stream.core.schema import Schema
from jupyter_stream.errors import SinkError
from jupyter_stream.sinks.protocol import Target

COMMITS: Final = "jupyter_stream_commits"
"""The table that keeps positions beside the rows, where there are any to keep."""


def quoted(name: str) -> str:
    """A name as standard SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def listed(names: Iterable[str]) -> str:
    """Names with commas between them."""
    return ", ".join(map(quoted, names))


def table_of(target: Target, of: str) -> str:
    """The table rows go to. Raises `SinkError` where none is named."""
    table = target.options.get("table", "").strip()
    if not table:
        raise SinkError(
            "which table the rows go to is missing.",
            hint=f"Write WITH (table = 'answers'), or the address with it: '{of}?table=answers'.",
        )
    return table


def check_columns(table: str, there: Iterable[str], schema: Schema) -> None:
    """Raise `SinkError` where a table doesn't have a column of the answer."""
    known = list(there)
    lower = {c.lower() for c in known}
    missing = [c for c in schema.names if c.lower() not in lower]
    if known and missing:
        raise SinkError(
            f"the table {table} has no column {missing[0]}.",
            hint=f"Its columns are {', '.join(known)}. Give the answer these names, or name a new table.",
        )


def by_halves(
    rows: pl.DataFrame, write: Callable[[pl.DataFrame], None], refusals: tuple[type[Exception], ...]
) -> pl.DataFrame | None:
    """Write rows, those apart that the database refuses for what is in them.

    Args:
        rows: all.
        write: writes some, or none where it raises.
        refusals: what it raises of rows it never takes.

    Returns:
        The rows refused, as `raw` and `reason`; None without.
    """
    if not rows.height:
        return None
    try:
        write(rows)
    except refusals as error:
        if rows.height == 1:
            return pl.DataFrame([as_json(rows), pl.Series("reason", [str(error)])])
        half = rows.height // 2
        parts = [by_halves(rows[:half], write, refusals), by_halves(rows[half:], write, refusals)]
        found = [p for p in parts if p is not None]
        return pl.concat(found) if found else None
    return None
