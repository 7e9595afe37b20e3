"""`%stream record` and `%stream replay`: their options, and what they show."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from jupyter_stream.core.time import parse_duration
from jupyter_stream.errors import QueryError
from jupyter_stream.magics import options, output

if TYPE_CHECKING:
    from jupyter_stream.session.recordings import Replay
    from jupyter_stream.session.session import Session


def record(session: Session, words: tuple[str, ...]) -> None:
    """`%stream record trades --for "2 minutes" [--to FILE] [--overwrite]`."""
    parser = options.Parser(prog="%stream record", add_help=False, allow_abbrev=False)
    parser.add_argument("name")
    parser.add_argument("--for", dest="span", metavar="TIME")
    parser.add_argument("--to", metavar="FILE")
    parser.add_argument("--overwrite", action="store_true")
    said = parser.parse_args(list(words))
    micros = None if said.span is None else parse_duration(said.span)
    if said.span is not None and not micros:
        raise QueryError(f"--for takes a length of time, not {said.span!r}", hint="Write --for '2 minutes'.")
    recording = session.record(
        said.name, said.to, seconds=None if micros is None else micros / 1e6, overwrite=said.overwrite
    )
    session.namespace[recording.name] = recording
    until = f"for {said.span}" if said.span else "until its source ends"
    output.say(
        f"recording {said.name} {until} into {recording.path}\n"
        f"{recording.name}.wait() waits for it, %stream stop {recording.name} ends it"
    )


def replay(session: Session, words: tuple[str, ...]) -> None:
    """`%stream replay FILE [QUERY ...] [--speed 10] [--shuffle 30s] [--seed 1]`."""
    parser = options.Parser(prog="%stream replay", add_help=False, allow_abbrev=False)
    parser.add_argument("file")
    parser.add_argument("queries", nargs="*")
    parser.add_argument("--speed", type=float, metavar="N")
    parser.add_argument("--shuffle", metavar="TIME")
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    said = parser.parse_intermixed_args(list(words))
    run = session.replay(said.file, *said.queries, speed=said.speed, shuffle=said.shuffle, seed=said.seed)
    for name, query in run.queries.items():
        session.namespace[name] = query
    session.namespace[f"{run.stream}_replay"] = run
    _show(run, live=said.speed is not None)


def _show(run: Replay, *, live: bool) -> None:
    """The report, which becomes the final one when all is compared; at a speed to watch, the queries too."""
    from jupyter_stream import views
    from jupyter_stream.views import output as outputs

    display_id = f"jupyter-stream-{uuid.uuid4().hex}"
    if not outputs.in_kernel():
        run.wait()  # what a terminal has shown stays as it is
    outputs.show(_bundle(run), display_id)
    run.on_end(lambda: outputs.update(_bundle(run), display_id))
    if live:
        last = [q for name, q in run.queries.items() if name.endswith("_shuffled")] or list(run.queries.values())
        for query in last:
            views.display(query)


def _bundle(run: Replay) -> dict[str, Any]:
    return {"text/plain": run.report(), "text/html": run._repr_html_()}
