"""The subcommands of `%stream`, one function each. They say what the buttons and handles do, for every front end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from textwrap import shorten
from typing import TYPE_CHECKING, Final, TypeAlias

from jupyter_stream.core.schema import type_name
from jupyter_stream.core.time import MAX_TIME, MIN_TIME, show, show_span
from jupyter_stream.engine.explain import promises
from jupyter_stream.errors import QueryError
from jupyter_stream.magics import options, output, recording, serving
from jupyter_stream.plan.catalog import StreamDef
from jupyter_stream.secrets import hidden
from jupyter_stream.views.options import refuse
from jupyter_stream.views.words import number, size

if TYPE_CHECKING:
    from jupyter_stream.core.snapshot import Snapshot
    from jupyter_stream.session.query import Query
    from jupyter_stream.session.session import Session

Action: TypeAlias = "Callable[[Session, tuple[str, ...]], None]"
HARMFUL: Final = ("reset", "drop", "stop")
"""Subcommands that a wrong word is never taken for: whoever follows the suggestion loses something."""
ENDED: Final = ("finished", "stopped", "failed")


@dataclass(frozen=True, slots=True)
class Command:
    """A subcommand.

    Attributes:
        name: the word after `%stream`.
        takes: what follows it, for help: empty, `NAME`, or `[NAME ...|all]`.
        help: a sentence.
        run: does it.
        options: whether options may follow, which it reads itself.
    """

    name: str
    takes: str
    help: str
    run: Action
    options: bool = False


def run(session: Session, words: list[str]) -> None:
    """Do what a `%stream` line says.

    Raises:
        QueryError: no such subcommand or query, or words too many.
    """
    name, *rest = words or ["help"]
    command = next((c for c in COMMANDS if c.name == name.lower()), None)
    if command is None:
        if name.lower() in ("-h", "--help", "?"):
            return _help(session, ())
        if name.startswith("-"):
            raise refuse("option of %stream", name, ("--help",))
        if name.upper().rstrip(";") in options.BEGINNINGS:
            raise QueryError(
                f"%stream takes a subcommand, and {name} begins a statement",
                hint="Write statements in a cell that begins with %%stream, below that line.",
            )
        raise refuse("subcommand", name, tuple(c.name for c in COMMANDS), harmful=HARMFUL)
    if any(word in ("-h", "--help") for word in rest):
        return output.say(f"%stream {command.name} {command.takes}\n{command.help}")
    unknown = next((word for word in rest if word.startswith("-")), None)
    if unknown and not command.options:
        raise refuse(f"option of %stream {name}", unknown, ("--help",))
    if command.options:
        return command.run(session, tuple(rest))
    if not command.takes and rest:
        raise QueryError(f"%stream {command.name} takes nothing more, and this line has: {' '.join(rest)}")
    fewest, most = {"NAME": (1, 1), "[NAME]": (0, 1)}.get(command.takes, (0, len(rest)))
    if not fewest <= len(rest) <= most:
        raise QueryError(
            f"a name is missing or too many: write %stream {command.name} {command.takes}", hint=_there_are(session)
        )
    return command.run(session, tuple(rest))


def find(session: Session, name: str) -> Query:
    """The query of that name.

    Raises:
        QueryError: there is none, with the nearest.
    """
    queries = session.queries
    found = queries.get(name) or next((q for n, q in queries.items() if n.lower() == name.lower()), None)
    if found is None:
        raise (
            refuse("query", name, tuple(queries))
            if queries
            else QueryError(f"there is no query {name!r}", hint="None has been started yet: %%stream NAME starts one.")
        )
    return found


def _there_are(session: Session) -> str:
    return f"There are: {', '.join(session.queries)}." if session.queries else "None has been started yet."


def _chosen(session: Session, verb: str, names: tuple[str, ...]) -> list[Query]:
    """The queries named, or all that have not ended, or the only one that hasn't."""
    # not by their state: a pause asked for a moment ago may not have come about
    going = [q for q in session.queries.values() if q.snapshot(1).state not in ENDED]
    if [n.lower() for n in names] == ["all"]:
        return going
    if names:
        return [find(session, name) for name in names]
    if len(going) == 1:
        return going
    raise QueryError(f"a name is missing: write %stream {verb} NAME, or %stream {verb} all", hint=_there_are(session))


def _do(session: Session, verb: str, done: str, names: tuple[str, ...], **options: bool) -> None:
    queries = _chosen(session, verb, names)
    for query in queries:
        getattr(query, verb)(**options)
    output.say(f"{done}: {', '.join(q.name for q in queries)}" if queries else f"nothing to {verb}")


def _list(session: Session, _names: tuple[str, ...]) -> None:
    seen = [q.snapshot(1) for q in session.queries.values()]
    columns = {
        "name": [s.name for s in seen],
        "state": [s.state for s in seen],
        "rows in": [f"{s.rows_in:,}" for s in seen],
        "rows out": [f"{s.rows_out:,}" for s in seen],
        "late": [f"{s.late:,}" for s in seen],
        "bad": [f"{s.bad:,}" for s in seen],
        "state bytes": [size(s.state_bytes) for s in seen],
        "query": [shorten(s.text, 120, placeholder=" ...") for s in seen],
    }
    output.show("Queries", tuple(columns), list(zip(*columns.values(), strict=True)))


def _status(session: Session, names: tuple[str, ...]) -> None:
    if not names:
        for listing in (session.show_queries(), session.show_sources()):
            frame = listing.frame
            shown = [[_cell(name, value) for value in frame[name]] for name in frame.columns]
            output.show(
                listing.title, tuple(n.replace("_", " ") for n in frame.columns), list(zip(*shown, strict=True))
            )
        return
    snapshot = find(session, names[0]).snapshot(1)
    facts = _facts(snapshot)
    output.show(snapshot.name, ("", ""), list(facts.items()))


def _cell(column: str, value: object) -> str:
    """A value of the system view."""
    if isinstance(value, int | float):
        return size(value) if column.endswith("bytes") else number(value)
    return "" if value is None else str(value)


def _facts(s: Snapshot) -> dict[str, str]:
    state = ", ".join(filter(None, (s.state, s.failing)))
    facts = {
        "state": state, "rows in": f"{s.rows_in:,}", "rows out": f"{s.rows_out:,}", "late rows": f"{s.late:,}",
        "bad rows": f"{s.bad:,}", "state bytes": size(s.state_bytes), "newest event time": show(s.max_event_time),
        "watermark": show(s.low_watermark),
    }  # fmt: skip
    if MIN_TIME not in (s.low_watermark, s.max_event_time) and s.low_watermark != MAX_TIME:
        facts["lag"] = show_span(max(0, s.max_event_time - s.low_watermark))
    if s.next_final is not None:
        facts["next answer needs"] = show(s.next_final)
    if s.hint:
        facts["hint"] = s.hint
    if s.error:
        facts["error"] = s.error
    return {**facts, **s.notes, "query": s.text.strip()}


def _describe(session: Session, names: tuple[str, ...]) -> None:
    """What a name is: of a query its state, statement and columns; of a stream its columns, source and progress."""
    from jupyter_stream.magics.results import tell

    name = names[0]
    entry = session.catalog.find(name)
    if entry is None:
        query = find(session, name)
        facts = _facts(query.snapshot(1))
        columns = {n: type_name(t) for n, t in query.to_polars().schema.items()}
        output.show(query.name, ("", ""), [*facts.items(), *((f"column {n}", t) for n, t in columns.items())])
        output.say(
            f"For example:\n"
            f"  {query.name}.to_pandas()           the answers so far, as a frame\n"
            f"  {query.name}.chart('table')        show its view another way\n"
            f"  for row in {query.name}: ...       each answer as it comes; {query.name}.stop() ends it"
        )
        return
    for result in session.run(f"DESCRIBE {name}"):
        tell(result)
    if isinstance(entry, StreamDef) and entry.table is None:
        output.say(f"SOURCE '{hidden(entry.uri)}'; {promises(entry)}")
    time = "RANGE 1 MINUTE TUMBLING"
    output.say(
        f"For example, below a line %%stream NAME:\n"
        f"  SELECT * FROM {entry.name} LIMIT 10\n"
        f"  SELECT count(*) AS n FROM {entry.name}\n"
        f"  SELECT count(*) AS n FROM {entry.name} [{time}]"
    )


def _stop(session: Session, names: tuple[str, ...]) -> None:
    kept = {n: r for n, r in session.recordings.items() if r.status == "recording" and (n in names or "all" in names)}
    for name, running in kept.items():
        running.stop()
        output.say(f"stopped: {name}")
    rest = tuple(n for n in names if n not in kept)
    if rest or not kept:
        _do(session, "stop", "stopped", rest)


def _pause(session: Session, names: tuple[str, ...]) -> None:
    rest = tuple(n for n in names if n != "--spill")
    unknown = next((n for n in rest if n.startswith("-")), None)
    if unknown is not None:
        raise refuse("option of %stream pause", unknown, ("--spill", "--help"))
    _do(session, "pause", "paused", rest, **({"spill": True} if len(rest) < len(names) else {}))


def _resume(session: Session, names: tuple[str, ...]) -> None:
    _do(session, "resume", "resumed", names)


def _deactivate(session: Session, names: tuple[str, ...]) -> None:
    query = find(session, names[0]).deactivate()
    output.say(
        f"{query.name} is inactive: it holds no state and takes no rows. %stream activate {query.name} lets it go on"
    )


def _activate(session: Session, names: tuple[str, ...]) -> None:
    from jupyter_stream.session.inactive import promise

    query = find(session, names[0]).activate()
    output.say(f"{query.name} is active again: {promise(query)}")


def _explain(session: Session, names: tuple[str, ...]) -> None:
    output.say(str(find(session, names[0]).explain()))


def _plan(session: Session, names: tuple[str, ...]) -> None:
    from jupyter_stream import views

    views.display_plan(find(session, names[0]))


def _show(session: Session, names: tuple[str, ...]) -> None:
    from jupyter_stream import views

    views.display(find(session, names[0]))


def _run(session: Session, words: tuple[str, ...]) -> None:
    from jupyter_stream import views

    parser = options.Parser(prog="%stream run", add_help=False, allow_abbrev=False)
    parser.add_argument("name")
    parser.add_argument("--over", required=True)
    parser.add_argument("--engine", "-e", choices=options.ENGINES, default="kernel")
    parser.add_argument("--master")
    parser.add_argument("--conf", action="append", default=[])
    said = parser.parse_args(list(words))
    spark = {"master": said.master, "conf": said.conf} if said.engine == "spark" else {}
    query = session.over(find(session, said.name).name, said.over, engine=said.engine, **spark)
    session.namespace[query.name] = query
    views.display(query)


def _drop(session: Session, names: tuple[str, ...]) -> None:
    output.say(session.drop(names[0]).text)


def _reset(session: Session, _names: tuple[str, ...]) -> None:
    session.reset()
    output.say("all queries stopped, all streams forgotten")


def _set(session: Session, words: tuple[str, ...]) -> None:
    """`%stream set memory = '2 GB'`; so for `scheduler` and `progress`, and `%stream set NAME scheduler = 'chain'`."""
    left, _, right = " ".join(words).partition("=")
    *of, name = left.split() or [""]
    value = right.strip().strip("'\"")
    name = name.lower()
    known = name == "scheduler" if of else name in ("memory", "scheduler", "progress")
    if not known or len(of) > 1 or not value:
        raise QueryError(
            f"%stream set can set memory, scheduler and progress, not {left.strip()!r}"
            if value
            else "a value is missing",
            hint="Write %stream set memory = '2 GB', %stream set scheduler = 'chain', %stream set progress = 'on demand', or for "
            "one query %stream set NAME scheduler = 'chain'. %stream status shows the present values.",
        )
    if name == "memory":
        session.limit(value)
        output.say(f"all queries together may now hold {size(session.engine.memory)}")
    elif name == "progress":
        session.progress(value)
        output.say(f"enabling time stamps of streams that say nothing else: {session.engine.enabling}")
    elif of:
        query = find(session, of[0])
        query.schedule(None if value == "session" else value)
        output.say(f"{query.name}'s operators work by {value}" + ("'s policy" if value == "session" else ""))
    else:
        session.schedule(value)
        output.say(f"sources are served and operators work by {session.engine.scheduler}")


def _sources(_session: Session, _names: tuple[str, ...]) -> None:
    from jupyter_stream.sources import SOURCES

    rows: list[output.Row] = [
        (s.example, "; ".join(f"{name}: {what}" for name, what in s.options.items())) for s in SOURCES
    ]
    output.show("Sources", ("SOURCE", "WITH options"), rows)


def _functions(session: Session, _names: tuple[str, ...]) -> None:
    from jupyter_stream.magics.results import tell

    for result in session.run("SHOW FUNCTIONS"):
        tell(result)


def _help(_session: Session, _names: tuple[str, ...]) -> None:
    width = max(len(f"{c.name} {c.takes}") for c in COMMANDS)
    lines = [f"  %stream {f'{c.name} {c.takes}'.ljust(width)}  {c.help}" for c in COMMANDS]
    output.say("\n".join(("%%stream [NAME] [options] runs a cell; %%stream --help lists its options.", "", *lines)))


COMMANDS: Final = (
    Command("list", "", "all queries of this notebook", _list),
    Command(
        "status",
        "[NAME]",
        "a query's counters and times; without NAME: shares of memory and processor time, rates and lag of the sources",
        _status,
    ),
    Command("stop", "[NAME ...|all]", "end queries; their results stay", _stop),
    Command(
        "pause",
        "[NAME ...|all] [--spill]",
        "read nothing until resumed; --spill: what a live source says meanwhile goes to disk once the memory for it is full",
        _pause,
        options=True,
    ),
    Command("resume", "[NAME ...|all]", "go on reading", _resume),
    Command(
        "deactivate",
        "NAME",
        "give back the memory of a query that nobody needs for now, and take no rows; its answers so far stay",
        _deactivate,
    ),
    Command("activate", "NAME", "take rows again, as if started now; says from when answers are exact", _activate),
    Command(
        "describe",
        "NAME",
        "columns with types, source and progress of a stream or query; NAME? does the same",
        _describe,
    ),
    Command("explain", "NAME", "the steps by which a query is computed, with live counters", _explain),
    Command(
        "plan",
        "NAME",
        "a live drawing of a query's operators, and of what flows between them; click one to look into it",
        _plan,
    ),
    Command("show", "NAME", "one more live view, under this cell", _show),
    Command(
        "run",
        "NAME --over URI [--engine spark]",
        "answer a query once over files instead of its stream; the handle is NAME_over",
        _run,
        options=True,
    ),
    Command(
        "record",
        "STREAM [--for TIME] [--to FILE] [--overwrite]",
        "write what arrives (rows, their order, punctuations) to a Parquet file; the handle is STREAM_recording",
        recording.record,
        options=True,
    ),
    Command(
        "replay",
        "FILE [QUERY ...] [--speed N] [--shuffle TIME] [--seed N]",
        "run queries again on a recording; with --shuffle also in another order, and compare the answers",
        recording.replay,
        options=True,
    ),
    Command(
        "set",
        "memory = SIZE | [NAME] scheduler = POLICY | progress = MODE",
        "how much memory all queries together may use, such as '2 GB'; who works next (SHOW SCHEDULERS lists them), in all "
        "queries or in one; 'session' there is the session's again; when the clock moves silent streams on: 'on demand', "
        "'periodic 100 ms' or 'none'",
        _set,
        options=True,
    ),
    Command(
        "serve",
        "[--port N] [--host ADDRESS] [--name HOST] [--no-token] | --stop",
        "queries, answers, figures and live pages over HTTP, for this machine alone and with a token unless told otherwise",
        serving.serve,
        options=True,
    ),
    Command("drop", "NAME", "forget a stream or query", _drop),
    Command("reset", "", "stop all queries and forget all streams", _reset),
    Command("sources", "", "the sources that streams can have", _sources),
    Command("functions", "", "the functions queries can use", _functions),
    Command("help", "", "this text", _help),
)
