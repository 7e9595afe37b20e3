"""How magics speak: messages, listings, mistakes. All text is escaped; a mistake shows no traceback but stops Run All."""

from __future__ import annotations

from html import escape
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from IPython.display import display

from jupyter_stream.errors import StreamError

if TYPE_CHECKING:
    import polars as pl

MOST_ROWS = 500
"""Rows of a listing shown."""
_WIDTH = 95
"""Characters of a sentence below a cell: JupyterLab breaks longer lines of an error within words."""


def plain(error: StreamError) -> StreamError:
    """The error, told to IPython as its message alone. Raised, it still fails the cell, so that Run All stops there."""
    told = f"{type(error).__name__}: {error}".splitlines()
    shown = [part for line in told for part in ([line] if line.startswith(" ") else _sentences(line))]
    error._render_traceback_ = lambda: shown  # type: ignore[attr-defined] # IPython's hook for this
    return error


def _sentences(line: str) -> list[str]:
    return wrap(line, _WIDTH, break_long_words=False, break_on_hyphens=False) or [""]


def say(text: str) -> None:
    """Show a message under the cell."""
    html = f"<pre style='margin:0;white-space:pre-wrap;word-break:normal;overflow-wrap:anywhere'>{escape(text)}</pre>"
    display({"text/plain": text, "text/html": html}, raw=True)


Row = tuple[str, ...]


def show(title: str, names: Row, rows: list[Row]) -> None:
    """Show rows of text under the cell."""
    display({"text/plain": _text(title, names, rows), "text/html": _html(title, names, rows)}, raw=True)


def show_frame(title: str, frame: pl.DataFrame) -> None:
    """Show a frame's first rows under the cell."""
    rows = [tuple("" if v is None else str(v) for v in row) for row in frame.head(MOST_ROWS).iter_rows()]
    show(title, tuple(frame.columns), rows)


def _html(title: str, names: Row, rows: list[Row]) -> str:
    head = "".join(f"<th style='text-align:left'>{escape(name)}</th>" for name in names)
    cell = "<td style='text-align:left;white-space:pre-wrap;vertical-align:top'>"
    body = "".join("<tr>" + "".join(f"{cell}{escape(text)}</td>" for text in row) + "</tr>" for row in rows)
    heading = f"<div><b>{escape(title)}</b></div>" if title else ""
    if not rows:
        body = f"<tr><td colspan='{max(1, len(names))}'><i>none</i></td></tr>"
    return f"{heading}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _text(title: str, names: Row, rows: list[Row]) -> str:
    table: list[Any] = [tuple(names), *rows]
    widths = [min(60, max(len(row[i]) for row in table)) for i in range(len(names))]
    lines = ["  ".join(text.replace("\n", " ").ljust(w) for text, w in zip(row, widths, strict=True)) for row in table]
    return "\n".join([*([title] if title else []), *(line.rstrip() for line in lines), *([] if rows else ["(none)"])])
