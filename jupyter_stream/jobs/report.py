"""What a job says while it runs: on stderr as people read it, or as JSON lines; its answers on stdout. Not for running it."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any, Literal, TextIO, TypeAlias

import polars as pl

from jupyter_stream.core.counting import counted
from jupyter_stream.core.far import as_json
from jupyter_stream.jobs.bars import SpeedGauge, bar
from jupyter_stream.session.query import Query

Log: TypeAlias = Literal["text", "json"]


class Report:
    """Tells how a job gets on.

    Args:
        log: `text`, or `json` for a line of JSON each time.
        told: where that goes; stderr.
        answers: where rows of queries that write nowhere go; stdout.
    """

    def __init__(self, log: Log, told: TextIO | None = None, answers: TextIO | None = None) -> None:
        self._json = log == "json"
        self._told = sys.stderr if told is None else told
        self._answers = sys.stdout if answers is None else answers
        self._lock = threading.Lock()
        self._live = not self._json and self._told.isatty()
        self._shown = 0
        """Lines at the terminal that the next ones take the place of."""
        self._gauges: dict[str, SpeedGauge] = {}
        self.every = 1.0 if self._live else 10.0
        """Seconds between two looks."""

    def say(self, text: str, **facts: object) -> None:
        """A message."""
        with self._lock:
            self._clear()
            line = json.dumps({"at": _now(), "message": text, **facts}) if self._json else text
            print(line, file=self._told, flush=True)

    def progress(self, queries: Sequence[Query], gone: float | None = None) -> None:
        """How far the queries have got: a line for each, which at a terminal take the place of the last ones.

        Args:
            queries: those of the job.
            gone: how much of the job's time is over, from 0 to 1; None where it has as long as it takes.
        """
        if self._json:
            for query in queries:
                self.say(query.status, **_facts(query))
        elif not self._live:
            for query in queries:
                self.say(self._paced(query, _known(query, gone)))
        else:
            wide, high = _size(self._told)
            lines = self._drawn(queries, gone)
            if len(lines) >= high:
                lines = [*lines[: max(0, high - 2)], f"and {len(lines) - max(0, high - 2)} queries more"]
            with self._lock:
                self._clear()
                self._told.write("\n".join(line[: wide - 1] for line in lines))
                self._told.flush()
                self._shown = len(lines)

    def _paced(self, query: Query, share: float | None) -> str:
        """How a query is, with how fast it is."""
        seen = self._gauges.setdefault(query.name, SpeedGauge())
        pace = str(seen.pace(query.snapshot(0).rows_in, share))
        done = "" if share is None else f"{share:.0%}, "
        return _line(query, done) + (f"; {pace}" if pace else "")

    def _drawn(self, queries: Sequence[Query], gone: float | None) -> list[str]:
        """A line for each query, with a bar where its end is known."""
        lines = []
        for query in queries:
            share = _known(query, gone) if query.goes_on else None
            drawn = "" if share is None else bar(share, self._told.encoding) + " "
            lines.append(drawn + (self._paced(query, share) if query.goes_on else _line(query)))
        return lines

    def answer(self, query: str | None, rows: pl.DataFrame) -> None:
        """Rows of an answer, a line of JSON for each; with the query's name, if that isn't None."""
        if query is not None:
            rows = rows.select(pl.lit(query).alias("query" if "query" not in rows.columns else "query name"), pl.all())
        text = "".join(line + "\n" for line in as_json(rows))
        with self._lock:
            self._clear()
            self._answers.write(text)
            self._answers.flush()

    def ended(self, queries: Sequence[Query]) -> None:
        """The last word about each query."""
        for query in queries:
            if self._json:
                self.say("ended", **_facts(query))
            else:
                self.say(_line(query))
                error = query.snapshot(0).error
                if error:
                    self.say("  " + error.replace("\n", "\n  "))

    def _clear(self) -> None:
        if self._shown:
            up = f"\x1b[{self._shown - 1}A" if self._shown > 1 else ""
            self._told.write(f"\r{up}\x1b[J")
            self._shown = 0


def _size(terminal: TextIO) -> tuple[int, int]:
    """Letters in a line and lines of a terminal."""
    try:
        wide, high = os.get_terminal_size(terminal.fileno())
    except (OSError, ValueError):
        wide = high = 0
    return wide or 80, high or 24


def _known(query: Query, gone: float | None) -> float | None:
    """How far a query is, by its input or by the job's time, whichever is over first; None where no end is known."""
    return max((share for share in (query.share, gone) if share is not None), default=None)


def _line(query: Query, done: str = "") -> str:
    seen = query.snapshot(0)
    parts = [f"{counted(seen.rows_in, 'row')} in", f"{seen.rows_out:,} out"]
    if seen.late:
        parts.append(f"{seen.late:,} late")
    if seen.bad:
        parts.append(f"{seen.bad:,} in errors")
    for sink in query.sinks:
        parts.append(f"{sink.written:,} written to {sink.name}" + (f" and {sink.lost:,} lost" if sink.lost else ""))
    return f"{query.name}: {seen.state}, {done}{', '.join(parts)}"


def _facts(query: Query) -> dict[str, Any]:
    seen = query.snapshot(0)
    facts: dict[str, Any] = {
        "query": query.name,
        "state": seen.state,
        "rows_in": seen.rows_in,
        "rows_out": seen.rows_out,
        "late": seen.late,
        "errors": seen.bad,
        "share": None if query.share is None else round(query.share, 4),
        "state_bytes": seen.state_bytes,
    }
    if query.sinks:
        facts["written"] = {sink.name: sink.written for sink in query.sinks}
        facts["lost"] = {sink.name: sink.lost for sink in query.sinks}
    return facts if seen.error is None else {**facts, "error": seen.error}


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
