"""The kinds of cases: each draws rows and a query, asks both systems, and says how they differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import duckdb
import polars as pl

from jupyter_stream.errors import QueryError
from tests.differential.compare import Bag, bag, difference
from tests.differential.draw import Draw, shrunk
from tests.differential.engines import Failed, ask, fill
from tests.differential.known import known_query
from tests.differential.rows import Rows, draw_rows
from tests.differential.selects import Selects, for_duckdb, for_us, ordered
from tests.differential.windows import Windowed

VIEW_WINDOWS = ("[RANGE UNBOUNDED]", "[RANGE 4 MICROSECONDS]", "[RANGE 20 MICROSECONDS]", "[NOW]")


@dataclass(frozen=True)
class Outcome:
    """What came of a case.

    Attributes:
        text: the query as written here.
        rows: its rows.
        refused: the message, where it was refused here.
        found: how the answers differ; empty if they don't.
        theirs: the query as the other system took it.
    """

    text: str
    rows: Rows
    refused: str = ""
    found: str = ""
    theirs: str = ""


Case = Callable[[Draw], Outcome]


def tables(draw: Draw) -> Outcome:
    """A SELECT over tables, answered once."""
    rows = draw_rows(draw, empty=True)
    text, kinds = Selects(draw).query(2)
    if draw.chance(25):
        text = ordered(draw, text, kinds)
    return judged(rows, for_us(text), for_duckdb(text), tables=True)


def judged(rows: Rows, ours: str, theirs: str, tables: bool) -> Outcome:
    """Both answers as bags."""
    try:
        expected = bag(fill(rows).execute(theirs).fetchall())
    except duckdb.Error as error:
        return Outcome(ours, rows, refused=f"by DuckDB: {error}", theirs=theirs)
    try:
        answer, _ = ask(rows, ours, tables)
    except QueryError as error:
        return Outcome(ours, rows, refused=str(error), theirs=theirs)
    except Failed as error:
        return Outcome(ours, rows, found=str(error), theirs=theirs)
    return Outcome(ours, rows, found=difference(bag(answer.rows()), expected), theirs=theirs)


def views(draw: Draw) -> Outcome:
    """A view over streams: its change log, folded up to each instant, is the answer over the rows alive then."""
    rows = draw_rows(draw, empty=False)
    text, kinds = Selects(draw, VIEW_WINDOWS).query(2)
    if draw.chance(15):
        text = ordered(draw, text, kinds)
    ours = "CREATE VIEW q AS " + for_us(text)
    theirs = for_duckdb(text, 0)
    try:
        made = fill(rows)
        made.execute(theirs)
        _, log = ask(rows, ours, tables=False)
    except duckdb.Error as error:
        return Outcome(ours, rows, refused=f"by DuckDB: {error}", theirs=theirs)
    except QueryError as error:
        return Outcome(ours, rows, refused=str(error), theirs=theirs)
    except Failed as error:
        return Outcome(ours, rows, found=str(error), theirs=theirs)
    assert log is not None
    return Outcome(ours, rows, found=_folded(made, rows, text, log), theirs=theirs)


def instants(rows: Rows) -> list[int]:
    """Times at which rows come or may leave, and those just before."""
    times = rows.times()
    return sorted({t + d for t in times for d in (0, 1, 4, 19, 20)})


def _folded(made: duckdb.DuckDBPyConnection, rows: Rows, text: str, log: pl.DataFrame) -> str:
    """Where the log's state first differs from the answer at an instant, or isn't net; empty if nowhere."""
    changes: dict[int, list[tuple[tuple[object, ...], int]]] = {}
    at, op = log.columns.index("at"), log.columns.index("op")
    for row in log.iter_rows():
        values = tuple(v for i, v in enumerate(row) if i not in (at, op))
        changes.setdefault(int(row[at]), []).append((values, int(row[op])))
    for instant, changed in changes.items():
        came = bag(v for v, sign in changed if sign > 0)
        left = bag(v for v, sign in changed if sign < 0)
        if both := came & left:
            return f"at {instant} these come and leave: {list(both)[:4]}"
    state: Bag = bag(())
    pending = sorted(changes)
    for instant in instants(rows):
        while pending and pending[0] <= instant:
            changed = changes[pending.pop(0)]
            for values, sign in changed:
                (key,) = bag([values])
                state[key] += sign
        if negative := [k for k, n in state.items() if n < 0]:
            return f"by {instant} these have left more often than they came: {negative[:4]}"
        expected = bag(made.execute(for_duckdb(text, instant)).fetchall())
        if said := difference(+state, expected):
            return f"at {instant}: {said}"
    return ""


def windows(draw: Draw) -> Outcome:
    """A windowed query over streams."""
    rows = draw_rows(draw, empty=False)
    pair = Windowed(draw, rows).query()
    return judged(rows, pair.ours, pair.theirs, tables=False)


CASES: dict[str, Case] = {"tables": tables, "views": views, "windows": windows}


def state(outcome: Outcome) -> str:
    """`agree`, `refused` here, `other`: DuckDB doesn't take it, `known`, or `found`."""
    if outcome.refused:
        return "other" if outcome.refused.startswith("by DuckDB") else "refused"
    if not outcome.found:
        return "agree"
    return "known" if known_query(outcome.text, outcome.found) else "found"


def hunt(name: str, seeds: Sequence[int | str]) -> Iterator[tuple[int | str, list[int], Outcome]]:
    """Outcomes of seeds, with the choices that made them."""
    for seed in seeds:
        draw = Draw(seed)
        outcome = CASES[name](draw)
        yield seed, draw.made, outcome


def smallest(name: str, choices: Sequence[int], tries: int = 1_500) -> Outcome:
    """The case made smaller while it goes on failing."""

    def fails(candidate: Sequence[int]) -> bool:
        return state(CASES[name](Draw(candidate))) == "found"

    return CASES[name](Draw(shrunk(choices, fails, tries)))
