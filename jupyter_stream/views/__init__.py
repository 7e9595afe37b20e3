"""Live views: ipywidgets and Bokeh. They know `core.snapshot` and nothing of the engine.

Bokeh and the widgets are imported when the first view is shown, so that `%load_ext` stays quick.
"""

from __future__ import annotations

import dataclasses
import sys
import weakref
from typing import TYPE_CHECKING, Final

from jupyter_stream.views.options import CHARTS, ViewOptions

if TYPE_CHECKING:
    from jupyter_stream.core.snapshot import Viewable
    from jupyter_stream.views.live import LiveView

__all__ = ["CHARTS", "ViewOptions", "change", "close", "display", "options_of"]

_OPTIONS: Final[weakref.WeakKeyDictionary[Viewable, ViewOptions]] = weakref.WeakKeyDictionary()


def display(viewable: Viewable, options: ViewOptions | None = None) -> LiveView | None:
    """Show a query live under the running cell.

    Args:
        viewable: the query.
        options: how; as it was last shown when left out, or `auto` if it was not to be shown.

    Returns:
        The view; None for chart `none`.
    """
    if options is None:
        options = options_of(viewable)
        if options.chart == "none":
            options = dataclasses.replace(options, chart="auto")
    _OPTIONS[viewable] = options
    if options.chart == "none":
        return None
    from jupyter_stream.views.live import LiveView

    view = LiveView(viewable, options)
    view._ipython_display_()
    return view


def change(viewable: Viewable, chart: str | None = None, **options: str | int | None) -> ViewOptions:
    """Show all views of a query another way from now on, those on screen and those to come.

    Args:
        viewable: the query.
        chart: the chart kind, as it is when left out.
        **options: `x`, `y`, `by`, `last` as of `ViewOptions`; those left out stay as they are.

    Returns:
        How it is shown now.

    Raises:
        QueryError: there is no such chart, or `last` can't be read.
    """
    if chart is not None:
        options["chart"] = chart
    changed = dataclasses.replace(options_of(viewable), **options)  # type: ignore[arg-type] # names checked at run time
    _OPTIONS[viewable] = changed
    from jupyter_stream.views import thread

    thread.current().change(viewable, changed)
    return changed


def options_of(viewable: Viewable) -> ViewOptions:
    """How a query was last asked to be shown."""
    return _OPTIONS.get(viewable, ViewOptions())


def close() -> None:
    """Take all live views off their pages and end the view thread; saved pictures stay."""
    thread = sys.modules.get("jupyter_stream.views.thread")
    if thread is not None:
        thread.close()
