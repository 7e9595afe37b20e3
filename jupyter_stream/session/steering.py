"""What of a session is changed while its queries run: its memory, its policies, and who reaches it over HTTP."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from jupyter_stream.core.memory import parse
from jupyter_stream.engine.engine import Engine
from jupyter_stream.errors import QueryError
from jupyter_stream.plan.catalog import ENABLINGS, Enabling
from jupyter_stream.schedulers import Scheduler
from jupyter_stream.schedulers import scheduler as policy_named

if TYPE_CHECKING:
    from jupyter_stream.serving import HttpServer
    from jupyter_stream.session.session import Session


class Steering:
    """A session's hand on what runs.

    Attributes:
        engine: its engine.
        server: what serves it over HTTP; None where nothing does.
    """

    engine: Engine
    server: HttpServer | None = None

    def limit(self, memory: str | int) -> None:
        """Set how much memory all queries together may use, such as `2 GB`; it counts for running queries too.

        How much of its answers a query may keep is fixed when it starts.

        Raises:
            QueryError: this is not a size.
        """
        self.engine.memory = bytes_of(memory)

    def schedule(self, scheduler: str | Scheduler) -> None:
        """Have sources served and operators work by another policy from now on; answers don't depend on it.

        Queries with a policy of their own (`Query.schedule`) keep it.

        Raises:
            QueryError: there is no policy of that name; `SHOW SCHEDULERS` lists them.
        """
        policy = policy_named(scheduler) if isinstance(scheduler, str) else scheduler
        self.engine.submit(lambda: self.engine.schedule(policy)).result()

    def progress(self, mode: str) -> None:
        """Set when the clock moves streams on that have no rows, as `WITH (progress = ...)` does for one; it counts at once.

        Args:
            mode: `on demand` (when an operator waits for the stream), `periodic 100 ms`, or `none`.

        Raises:
            QueryError: it is none of these.
        """
        enabling = Enabling.parse(mode)
        if enabling is None:
            raise QueryError(f"progress can't be {mode!r}", hint=f"It takes {ENABLINGS}.")
        self.engine.submit(lambda: self.engine.enable(enabling)).result()

    def serve(
        self,
        port: int | None = None,
        *,
        host: str = "127.0.0.1",
        token: str | bool | None = None,
        names: Iterable[str] = (),
    ) -> HttpServer:
        """Serve queries, answers, figures and live pages over HTTP, until `stop()` of what is returned, or the session's end.

        Args:
            port: where; a free one from 8765 on where none is said. 0 for any.
            host: the address it listens at: by default this machine alone can reach it.
            token: what requests must bring; a new one by default, and `False` for none.
            names: host names it may be called by, beside `localhost`, this machine's name, and any address in digits.

        Raises:
            QueryError: the port is taken, or can't be.
        """
        from jupyter_stream.serving import serve

        self.stop_serving()
        self.server = serve(cast("Session", self), port, host=host, token=token, names=names)
        return self.server

    def stop_serving(self) -> None:
        """Be reached over HTTP no longer."""
        if self.server is not None:
            self.server.stop()
            self.server = None


def bytes_of(size: str | int) -> int:
    """A size as a user says it. Raises `QueryError` where it is none."""
    found = parse(str(size))
    if found is None:
        raise QueryError(f"{size!r} is not a size of memory", hint="Write for instance '2 GB'; 64 MB is the least.")
    return found


__all__ = ["Steering", "bytes_of"]
