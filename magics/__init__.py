"""Magics: parse the line, call the session, display."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from jupyter_stream.magics.stream import StreamMagics

_SLOW: Final = ("jupyter_stream.session", "jupyter_stream.views.live", "jupyter_stream.views.thread")
"""Imports that take two seconds of processor, most of it Bokeh, Polars and sqlglot."""

_loaded: tuple[StreamMagics, Any] | None = None


def _with_body(lines: list[str]) -> list[str]:
    """Give a lone `%%stream --help` line an empty body: without one, IPython refuses it before we are asked."""
    if len(lines) == 1 and lines[0].split()[:1] == ["%%stream"]:
        return [lines[0].rstrip("\n") + "\n", "\n"]
    return lines


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext jupyter_stream`: register `%%stream`, `%stream` and their completion. Loading again starts afresh."""
    from jupyter_stream.magics.completion import matcher
    from jupyter_stream.magics.stream import StreamMagics

    global _loaded
    unload_ipython_extension(shell)
    magics = StreamMagics(shell)
    shell.register_magics(magics)
    match = matcher(lambda: magics.session_if_any)
    shell.Completer.custom_matchers.append(match)
    shell.input_transformers_cleanup.append(_with_body)
    _loaded = (magics, match)
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
    (magics, match), _loaded = _loaded, None
    magics.close()
    if match in shell.Completer.custom_matchers:
        shell.Completer.custom_matchers.remove(match)
    if _with_body in shell.input_transformers_cleanup:
        shell.input_transformers_cleanup.remove(_with_body)
    for kind in ("line", "cell"):
        for name in ("stream", "dashboard"):
            shell.magics_manager.magics[kind].pop(name, None)
