"""Which column plays which part, said by the user or found: `auto`. Not for drawing."""

from __future__ import annotations

from dataclasses import dataclass

from jupyter_stream.core.snapshot import Snapshot
from jupyter_stream.errors import QueryError
from jupyter_stream.views.options import ViewOptions, refuse


@dataclass(frozen=True, slots=True)
class Roles:
    """Who plays what.

    Attributes:
        chart: the chart kind, never `auto`.
        x: column of the horizontal axis; None where the chart has none.
        y: columns of the vertical axis, each a series of its own.
        by: column that splits rows into series; None for none.
        top: how many bars or rows of a table, the largest by y; None for all.
        multiples: whether each series has a small chart of its own.
    """

    chart: str
    x: str | None
    y: tuple[str, ...]
    by: str | None
    top: int | None = None
    multiples: bool = False


def resolve(snapshot: Snapshot, options: ViewOptions) -> Roles:
    """Fill in what the user left open.

    Time goes on x, the first numeric column that is no key on y, the first key column is the colour; without a time there are
    bars over the first key; one row of numbers is shown as numbers; without numbers there is a table, and of a stream's own rows.

    Raises:
        QueryError: a column that doesn't exist, or small multiples of what has no series.
    """
    columns = tuple(snapshot.rows.columns)
    x = _column(options.x, columns, "--x")
    asked = tuple(_column(name.strip(), columns, "--y") or "" for name in options.y.split(",")) if options.y else ()
    plain = options.by is not None and options.by.lower() == "none" and "none" not in columns
    by = None if plain else _column(options.by, columns, "--by")

    time = snapshot.time_column if snapshot.time_column in columns else None
    keys = tuple(k for k in snapshot.key_columns if k in columns and k not in (time, x, *asked))
    values = asked or tuple(
        v for v in snapshot.value_columns if v in columns and v not in (time, x, by) and v not in snapshot.key_columns
    )
    y = asked or values[:1]
    chart = options.chart
    if chart == "auto":
        chart = _found(snapshot, x, time, keys, y)
    if chart == "number":
        return Roles(chart, None, values, None)
    if chart == "summary":
        return Roles(chart, None, (), None)
    if chart == "table" or not y:
        return Roles("table", None, y, None, options.top)
    if chart == "bar":
        x = x or (keys[0] if keys else time)
        keys = tuple(k for k in keys if k != x) if options.x else ()
    else:
        x = x or time or (keys[0] if keys else None)
        keys = tuple(k for k in keys if k != x)
    if chart == "heatmap":
        by = by or (keys[0] if keys else None)
    elif by is None and not plain and len(y) == 1 and keys:
        by = keys[0]
    if x is None or (chart == "heatmap" and by is None):
        return Roles("table", None, y, None, options.top)
    if options.multiples:
        _check_multiples(snapshot, chart, x, by)
    return Roles(chart, x, y, by, options.top, options.multiples)


def _check_multiples(snapshot: Snapshot, chart: str, x: str, by: str | None) -> None:
    dtype = snapshot.rows.schema[x]
    amount = dtype.is_temporal() or x == snapshot.time_column or (dtype.is_numeric() and chart != "bar")
    if by is None or not amount or chart == "heatmap":
        raise QueryError(
            "--multiples needs lines, areas, bars or dots over time or a number, and --by",
            hint="Write for instance --chart line --by symbol --multiples.",
        )


def _found(snapshot: Snapshot, x: str | None, time: str | None, keys: tuple[str, ...], y: tuple[str, ...]) -> str:
    if not y or (snapshot.as_they_came and x is None):
        return "table"
    if x is not None:
        dtype = snapshot.rows.schema[x]
        return "line" if dtype.is_temporal() else "scatter" if dtype.is_numeric() and x != time else "bar"
    if time is not None:
        return "line"
    if keys:
        return "bar"
    return "number" if snapshot.rows.height <= 1 else "table"


def _column(name: str | None, columns: tuple[str, ...], option: str) -> str | None:
    if name is None:
        return None
    found = next((c for c in columns if c == name), None) or next(
        (c for c in columns if c.lower() == name.lower()), None
    )
    if found is None:
        raise refuse(f"column for {option}", name, columns)
    return found
