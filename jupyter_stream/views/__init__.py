"""Live views: ipywidgets and Bokeh. They know `core.snapshot` and nothing of the engine."""

from __future__ import annotations

import weakref
from typing import Final

from jupyter_stream.core.snapshot import Viewable
from jupyter_stream.views import thread
from jupyter_stream.views.chart import CHARTS, KINDS
from jupyter_stream.views.live import LiveView
from jupyter_stream.views.options import ViewOptions, refuse

__all__ = ["CHARTS", "KINDS", "LiveView", "ViewOptions", "change", "close", "display", "options_of"]

_OPTIONS: Final[weakref.WeakKeyDictionary[Viewable, ViewOptions]] = weakref.WeakKeyDictionary()


def display(viewable: Viewable, options: ViewOptions | None = None) -> LiveView | None:
    """Show a query live under the running cell.

    Args:
        viewable: the query.
        options: how; as it was last shown when left out.

    Returns:
        The view; None for chart `none`.

    Raises:
        QueryError: there is no such chart.
    """
    options = options_of(viewable) if options is None else options
    _checked(options)
    _OPTIONS[viewable] = options
    if options.chart == "none":
        return None
    view = LiveView(viewable, options)
    view._ipython_display_()
    return view


def change(viewable: Viewable, options: ViewOptions) -> None:
    """Show all views of a query another way from now on, those on screen and those to come.

    Raises:
        QueryError: there is no such chart.
    """
    _checked(options)
    _OPTIONS[viewable] = options
    thread.current().change(viewable, options)


def options_of(viewable: Viewable) -> ViewOptions:
    """How a query was last asked to be shown."""
    return _OPTIONS.get(viewable, ViewOptions())


def close() -> None:
    """Take all live views off their pages and end the view thread; saved pictures stay."""
    thread.close()


def _checked(options: ViewOptions) -> None:
    if options.chart not in CHARTS:
        raise refuse("chart", options.chart, CHARTS)
