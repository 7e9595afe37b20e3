"""See a data stream: continuous SQL with live charts in a notebook, in the kernel or on Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_stream.errors import EngineError, QueryError, SinkError, SourceError, StreamError, UnsupportedError

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from jupyter_stream.aggregates.user.python import aggregate
    from jupyter_stream.binding.own_function import function
    from jupyter_stream.session.dashboards import dashboard
    from jupyter_stream.session.query import Query
    from jupyter_stream.session.session import Session

_CLONE = Path(__file__).parent.parent
if not (Path(__file__).parent / "magics").is_dir() and (_CLONE / "magics" / "__init__.py").is_file():
    # Python takes the package from the working directory, a clone, where the magics stand beside it and not in it
    __path__.append(str(_CLONE))

__version__ = "0.1.0"

__all__ = [
    "EngineError",
    "Query",
    "QueryError",
    "Session",
    "SinkError",
    "SourceError",
    "StreamError",
    "UnsupportedError",
    "__version__",
    "aggregate",
    "dashboard",
    "function",
    "load_ipython_extension",
    "unload_ipython_extension",
]


def __getattr__(name: str) -> Any:
    # the engine is imported when it is first asked for: `import jupyter_stream` alone stays quick
    if name == "Session":
        from jupyter_stream.session.session import Session

        return Session
    if name == "aggregate":
        from jupyter_stream.aggregates.user.python import aggregate

        return aggregate
    if name == "function":
        from jupyter_stream.binding.own_function import function

        return function
    if name == "dashboard":
        from jupyter_stream.session.dashboards import dashboard

        return dashboard
    if name == "Query":
        from jupyter_stream.session.query import Query

        return Query
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)


def load_ipython_extension(shell: InteractiveShell) -> None:
    """`%load_ext jupyter_stream`: `%%stream`, `%stream` and their completion."""
    from jupyter_stream.magics import load_ipython_extension as load

    load(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """`%unload_ext jupyter_stream`: stops all queries and threads."""
    from jupyter_stream.magics import unload_ipython_extension as unload

    unload(shell)
