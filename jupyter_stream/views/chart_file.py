"""A query's chart written to a file, as it is now."""

from __future__ import annotations

from pathlib import Path

from jupyter_stream.core.snapshot import Viewable
from jupyter_stream.errors import SourceError
from jupyter_stream.views.export import FORMATS, content
from jupyter_stream.views.live import LiveView
from jupyter_stream.views.options import ViewOptions, refuse
from jupyter_stream.views.paper import THEMES


def save(viewable: Viewable, path: str | Path, options: ViewOptions, theme: str = "light") -> Path:
    """Write a query's chart, as it is now, to a file. Returns the file's path.

    Args:
        viewable: the query.
        path: where; its ending says as what: `.png`, `.svg` or `.html`.
        options: how it is shown.
        theme: `light`, `dark`, or for a page `auto`: as the reader's browser.

    Raises:
        QueryError: no such format or theme, nothing to draw yet, or a column that doesn't exist.
        SourceError: the file can't be written there.
    """
    target = Path(path)
    form = target.suffix.lower().removeprefix(".")
    if form not in FORMATS:
        raise refuse("format for a chart", form or target.name, tuple(FORMATS))
    if theme not in THEMES and (theme != "auto" or form != "html"):
        raise refuse("theme", theme, (*THEMES, *(("auto",) if form == "html" else ())))
    snapshot = viewable.snapshot(options.rows)
    made = content(snapshot, *LiveView(viewable, options).drawn(snapshot), form, theme)
    try:
        target.write_bytes(made)
    except OSError as error:
        raise SourceError(f"{target} can't be written: {error.strerror}") from None
    return target
