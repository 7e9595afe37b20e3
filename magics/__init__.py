"""Magics: parse the line, call the session, display."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from jupyter_stream.core import logs

if TYPE_CHECKING:
    from jupyter_stream.magics.stream import StreamMagics

_SLOW: Final = (
    "jupyter_stream.session.session", "numpy.ma", "bokeh.models.renderers", "bokeh.plotting", "anywidget",
    "jupyter_stream.views.live", "jupyter_stream.views.thread",
)  # fmt: skip
"""Imports that take two seconds of processor, most of it Bokeh, Polars and sqlglot: in parts, between which the kernel answers.
JupyterLab waits one second for a completion. `numpy.ma` is what the first query would import, half of the time that takes."""

log = logs.of(__name__)

_loaded: tuple[StreamMagics, Any, Any] | None = None


def _with_body(lines: list[str]) -> list[str]:
    """Give a lone `%%stream --help` line an empty body: without one, IPython refuses it before we are asked."""
    if len(lines) == 1 and lines[0].split()[:1] == ["%%stream"]:
        return [lines[0].rstrip("\n") + "\n", "\n"]
    return lines


_QUESTION: Final = re.compile(r"\s*(?:(\w+)\s*\?|\?\s*(\w+))\s*")


def _described(magics: StreamMagics) -> Callable[[list[str]], list[str]]:
    """`NAME?` on a line of its own, of a stream or query: `%stream describe NAME` instead of what Python knows of the name."""

    def described(lines: list[str]) -> list[str]:
        found = _QUESTION.fullmatch("".join(lines)) if len(lines) == 1 else None
        session = magics.session_if_any
        if found is None or session is None:
            return lines
        name = found[1] or found[2]
        variable = magics.shell.user_ns.get(name)
        query = session.queries.get(name)
        ours = variable is query if query is not None else variable is None and session.catalog.find(name) is not None
        return [f"%stream describe {name}\n"] if ours else lines

    return described


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext jupyter_stream`: register `%%stream`, `%stream` and their completion. Loading again starts afresh."""
    from jupyter_stream.magics.completion import matcher
    from jupyter_stream.magics.stream import StreamMagics

    global _loaded
    unload_ipython_extension(shell)
    magics = StreamMagics(shell)
    shell.register_magics(magics)
    # where the engine is imported already, a session costs nothing and knows the notebook's frames
    match = matcher(lambda: magics.session if "jupyter_stream.session.session" in sys.modules else None)
    shell.Completer.custom_matchers.append(match)
    described = _described(magics)
    shell.input_transformers_cleanup.extend([_with_body, described])
    _loaded = (magics, match, described)
    with contextlib.suppress(RuntimeError):  # a terminal has no loop between its inputs: there the first cell imports
        _import_when_idle(asyncio.get_running_loop(), _SLOW)


def _import_when_idle(loop: asyncio.AbstractEventLoop, names: tuple[str, ...]) -> None:
    """Import between cells, on the thread that runs them: another one could meet an import of the user's halfway."""

    def first() -> None:
        with contextlib.suppress(Exception, KeyboardInterrupt):  # the cell that needs it says what is wrong with it
            importlib.import_module(names[0])
        _import_when_idle(loop, names[1:])

    if names:
        loop.call_later(0.01, first)


def unload_ipython_extension(shell: Any) -> None:
    """`%unload_ext jupyter_stream`: stop all queries and threads, take the magics away."""
    global _loaded
    if _loaded is None:
        return
    (magics, match, asks), _loaded = _loaded, None
    try:
        magics.close()
    except Exception:
        log.exception("closing the former session failed")
    if match in shell.Completer.custom_matchers:
        shell.Completer.custom_matchers.remove(match)
    for transformer in (_with_body, asks):
        if transformer in shell.input_transformers_cleanup:
            shell.input_transformers_cleanup.remove(transformer)
    if magics in shell.configurables:
        shell.configurables.remove(magics)
    for kind in ("line", "cell"):
        for name in ("stream", "dashboard"):
            shell.magics_manager.magics[kind].pop(name, None)
