"""A session over HTTP: queries, their answers as they come, figures, live pages. It knows the session's handles, and no more.

After `stream-manager` §6.3. Not for what a query means: it does what a notebook's cell and `%stream` do, for other programs.
"""

from __future__ import annotations

from jupyter_stream.serving.server import PORT, HttpServer, serve

__all__ = ["PORT", "HttpServer", "serve"]
