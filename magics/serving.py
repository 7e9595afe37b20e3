"""`%stream serve`: its options, and what it shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_stream.errors import QueryError
from jupyter_stream.magics import options, output

if TYPE_CHECKING:
    from jupyter_stream.session.session import Session


def serve(session: Session, words: tuple[str, ...]) -> None:
    """`%stream serve [--port N] [--host ADDRESS] [--name HOST ...] [--no-token]`, `%stream serve --stop`."""
    parser = options.Parser(prog="%stream serve", add_help=False, allow_abbrev=False)
    parser.add_argument("--port", metavar="N")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--name", action="append", default=[])
    parser.add_argument("--no-token", action="store_true")
    parser.add_argument("--stop", action="store_true")
    said = parser.parse_args(list(words))
    if said.stop:
        was = session.server is not None
        session.stop_serving()
        return output.say("served no longer" if was else "nothing is served")
    if said.port is not None and not said.port.isdecimal():
        raise QueryError(f"--port takes a number, not {said.port!r}", hint="Write %stream serve --port 8765.")
    port = None if said.port is None else int(said.port)
    server = session.serve(port, host=said.host, token=False if said.no_token else None, names=said.name)
    lines = [f"serving at {server.url}", f"token: {server.token}" if server.token else "no token is asked for"]
    lines += [f"{name}: {server.page(name)}" for name in session.queries]
    return output.say("\n".join([*lines, "%stream serve --stop ends it"]))
