"""Magics: parse the line, call the session, display."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jupyter_stream.magics.stream import StreamMagics

_loaded: tuple[StreamMagics, Any] | None = None


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
    _loaded = (magics, match)


def unload_ipython_extension(shell: Any) -> None:
    """`%unload_ext jupyter_stream`: stop all queries and threads, take the magics away."""
    global _loaded
    if _loaded is None:
        return
    (magics, match), _loaded = _loaded, None
    magics.close()
    if match in shell.Completer.custom_matchers:
        shell.Completer.custom_matchers.remove(match)
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop("stream", None)
