"""What a saved notebook shows without a kernel: the last picture, the last rows, one line. Plain HTML, no script.

The picture is an image (`<img>` with an SVG in a data URI): JupyterLab keeps those in notebooks it does not trust, nbconvert and
GitHub show them, and nothing inside an image can run. The style sheet hides this output while the live view above it is
there, and hides "model not found" above it when it is not; where style sheets are stripped both are simply shown. JupyterLab
and VS Code (1.139) name the element around an output differently, and VS Code measures what is shown within.
"""

from __future__ import annotations

import base64
from html import escape
from typing import Final

from jupyter_stream.core.snapshot import Snapshot
from jupyter_stream.views.paper import ANY_PAGE
from jupyter_stream.views.picture import Picture, Table
from jupyter_stream.views.strip import nothing_yet, summary
from jupyter_stream.views.svg import svg

MARK: Final = "jupyter-stream-saved"
LIVE: Final = "jupyter-stream-live"
LAST_ROWS: Final = 5
_CHILD: Final = ".jp-OutputArea-child"
_CODE: Final = ".output_container"
STYLE: Final = (
    f"{_CHILD}:has(.{LIVE})+{_CHILD}:has(.{MARK}){{display:none}}"
    f"{_CHILD}:not(:has(.{LIVE})):has(+{_CHILD} .{MARK}):has(.jupyter-widgets,[data-mime-type*='widget-view']){{display:none}}"
    f"{_CODE}:has(.{LIVE})+{_CODE} .{MARK}{{display:none}}"
    f".{MARK} img{{max-width:100%}}"
)


def outer(views: list[str]) -> str:
    """The saved output of a cell: its views, side by side where there are several and the page is wide."""
    grid = (
        " style='display:grid;grid-template-columns:repeat(auto-fit,minmax(340px,1fr));gap:8px'"
        if len(views) > 1
        else ""
    )
    return f'<div class="{MARK}"><style>{STYLE}</style><div{grid}>{"".join(views)}</div></div>'


def html(snapshot: Snapshot, picture: Picture | None, taken: float) -> str:
    """A query in the saved output.

    Args:
        snapshot: its last state.
        picture: its chart, None where there is nothing to draw.
        taken: when that was, seconds since the epoch.
    """
    parts = ["<div>"]
    if picture is not None and picture.kind != "table":
        data = base64.b64encode(svg(picture, ANY_PAGE).encode()).decode()
        alt = escape(f"chart of {snapshot.name}", quote=True)
        parts.append(f'<img alt="{alt}" src="data:image/svg+xml;base64,{data}"/>')
    empty = nothing_yet(snapshot)
    note = None if picture is None else picture.note
    if empty:
        parts.append(f"<p><i>{escape(empty)}</i></p>")
    if picture is not None and picture.rows.height and picture.kind != "number":
        whole = picture.kind == "table"
        rows = range(picture.rows.height)[: 2 * LAST_ROWS] if whole else range(picture.rows.height)[-LAST_ROWS:]
        parts.append(_table(picture.rows, rows))
        note = picture.foot(len(rows))
    if note:
        parts.append(f"<p>{escape(note)}</p>")
    if snapshot.error:
        parts.append(f'<pre style="color:#dd3b43;white-space:pre-wrap">{escape(snapshot.error)}</pre>')
    if snapshot.hint:
        parts.append(f"<p><i>{escape(snapshot.hint)}</i></p>")
    parts.append(f"<p><b>{escape(snapshot.name)}</b>: {escape(summary(snapshot, taken))}</p></div>")
    return "".join(parts)


def text(snapshot: Snapshot, taken: float) -> str:
    """The same for a terminal: the one line."""
    return f"{snapshot.name}: {summary(snapshot, taken)}"


def _table(rows: Table, shown: range) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in rows.names)
    body = "".join(
        ("<tr style='opacity:.55'>" if i < len(rows.light) and rows.light[i] else "<tr>")
        + "".join(
            f"<td align={'right' if numeric else 'left'}>{escape(column[i])}</td>"
            for column, numeric in zip(rows.columns, rows.numeric, strict=True)
        )
        + "</tr>"
        for i in shown
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
