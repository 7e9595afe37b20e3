"""Live views: ipywidgets and Bokeh. They know `core.snapshot` and nothing of the engine.

Bokeh and the widgets are imported when the first view is shown, so that `%load_ext` stays quick.
"""

from __future__ import annotations

import dataclasses
import sys
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jupyter_stream.views.options import CHARTS, ViewOptions
from jupyter_stream.views.panel import Panel

if TYPE_CHECKING:
    import polars as pl

    from jupyter_stream.core.diagram import Plannable
    from jupyter_stream.core.snapshot import Snapshot, Viewable
    from jupyter_stream.views.live import LiveView
    from jupyter_stream.views.picture import Picture

__all__ = [
    "CHARTS",
    "Panel",
    "ViewOptions",
    "change",
    "close",
    "dashboard",
    "display",
    "display_plan",
    "drawn",
    "options_of",
    "panel",
    "save",
    "selected",
]

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
        options = _shown(viewable)
    _OPTIONS[viewable] = options
    if options.chart == "none":
        return None
    from jupyter_stream.views.live import LiveView

    view = LiveView(viewable, options)
    view._ipython_display_()
    return view


def display_plan(plannable: Plannable) -> None:
    """Draw a query's plan live under the running cell; where there is no kernel, or no plan is known, say it as text."""
    from jupyter_stream.views import output

    drawn = plannable.diagram()
    if drawn is None or not output.in_kernel():
        output.show({"text/plain": plannable.plan_text() if drawn is None else drawn.text})
        return
    from jupyter_stream.views import thread
    from jupyter_stream.views.plan import PlanView

    view = PlanView(plannable)
    view.show()
    thread.add(view)


def change(viewable: Viewable, chart: str | None = None, **options: str | int | None) -> ViewOptions:
    """Show all views of a query another way from now on, those on screen and those to come.

    Args:
        viewable: the query.
        chart: the chart kind, as it is when left out.
        **options: `x`, `y`, `by`, `last`, `top`, `multiples` as of `ViewOptions`; those left out stay as they are.

    Returns:
        How it is shown now.

    Raises:
        QueryError: there is no such chart or option, or `last` can't be read.
    """
    if chart is not None:
        options["chart"] = chart
    changed = options_of(viewable).changed(**options)
    _OPTIONS[viewable] = changed
    from jupyter_stream.views import thread

    thread.current().change(viewable, changed)
    return changed


def panel(viewable: Viewable, chart: str | None = None, **options: str | int | None) -> Panel:
    """A query shown in a way of its own, whatever its other views show.

    Args:
        viewable: the query.
        chart: the chart kind; the one it was last shown with when left out.
        **options: as of `change`; those left out are as the query was last shown.

    Raises:
        QueryError: there is no such chart, or `last` can't be read.
    """
    if chart is not None:
        options["chart"] = chart
    return Panel(viewable, _shown(viewable).changed(**options))


def dashboard(shown: Sequence[Viewable | Panel]) -> None:
    """Show several queries live under the running cell, side by side, on one time axis.

    Args:
        shown: queries, each as it last was shown, or `auto` if it was not to be shown; and panels of queries, of one query as
            many as there are ways to show it.
    """
    from jupyter_stream.views import thread
    from jupyter_stream.views.live import LiveView
    from jupyter_stream.views.page import Page

    page = Page(len(shown))
    views = [
        LiveView(one.viewable, one.options, page, own=True)
        if isinstance(one, Panel)
        else LiveView(one, _shown(one), page)
        for one in shown
    ]
    for view in views[1:]:
        view.colours.share_page_with(views[0].colours)
    for view in views:
        view.keep()
    page.show()
    for view in views:
        thread.add(view)


def selected(viewable: Viewable) -> pl.DataFrame | None:
    """The rows clicked last in a view of a query; None where none are."""
    from jupyter_stream.views import selection

    return selection.selected(viewable)


def save(viewable: Viewable, path: str | Path, theme: str = "light") -> Path:
    """Write a query's chart, as it is now and as it was last shown, to a file.

    Args:
        viewable: the query.
        path: ends in `.png`, `.svg` or `.html`.
        theme: `light`, `dark`, or for a page `auto`.

    Raises:
        QueryError: another ending or theme, or there is no answer yet.
    """
    from jupyter_stream.views import chart_file

    return chart_file.save(viewable, path, _shown(viewable), theme)


def drawn(viewable: Viewable) -> tuple[Snapshot, Picture | None, str | None]:
    """A query now: its snapshot, its chart as it was last shown, and where there is none, what is wrong, if something is."""
    from jupyter_stream.views.live import draw

    options = _shown(viewable)
    snapshot = viewable.snapshot(options.rows)
    return snapshot, *draw(viewable, snapshot, options)


def _shown(viewable: Viewable) -> ViewOptions:
    options = options_of(viewable)
    return dataclasses.replace(options, chart="auto") if options.chart == "none" else options


def options_of(viewable: Viewable) -> ViewOptions:
    """How a query was last asked to be shown."""
    return _OPTIONS.get(viewable, ViewOptions())


def close() -> None:
    """Take all live views off their pages and end the view thread; saved pictures stay."""
    thread = sys.modules.get("jupyter_stream.views.thread")
    if thread is not None:
        thread.close()
