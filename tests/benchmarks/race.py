"""A race: one query, the same rows, three contenders, each in a process of its own on two cores.

Ours reads the rows in batches, in arrival order, and answers as windows close. Polars and DuckDB have all rows at hand and do
the whole job at once; each is written as fast as we know how. `run.py` starts the processes and prints the table.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import data
import polars as pl

CONTENDERS = ("ours", "polars", "duckdb")
CHECKED_ROWS = 1_000_000

KEPT: dict[str, int] = {}
"""How many result rows our queries keep, where answers aren't compared; `memory.py` says few, since kept answers are no state."""


@dataclass(frozen=True)
class Input:
    """One of several streams that a race's query reads; always in memory.

    Attributes:
        name: what the query calls it.
        dataset: which rows, see `data.SETS`.
        columns: the columns that contenders get.
        share: its part of the race's rows.
    """

    name: str
    dataset: str
    columns: tuple[str, ...]
    share: float

    def frame(self, rows: int) -> pl.DataFrame:
        """Its rows, where all inputs together have so many."""
        return data.frame(self.dataset, round(rows * self.share), self.columns)


@dataclass(frozen=True)
class Race:
    """One line of the table.

    Attributes:
        name: what it is called on the command line.
        title: what it measures.
        dataset: which rows, see `data.SETS`.
        rows: how many.
        columns: the columns that contenders get where rows are in memory.
        memory: rows are in memory, in one piece; else in Parquet files.
        target: our rows/s over the faster one's, at least.
        stream: our stream's columns and watermark; SOURCE is added.
        sql: our query over `rows`.
        polars: the same, as a whole, over a lazy frame.
        duckdb: the same, as a whole, over a view `rows`.
        engine: which Polars engine is the faster for it.
        inputs: the streams it reads where they are several, in place of `dataset`, `columns` and the one called `rows`; `polars`
            takes them in this order.
    """

    name: str
    title: str
    dataset: str
    rows: int
    columns: tuple[str, ...]
    memory: bool
    target: float
    sql: str
    polars: Callable[..., pl.LazyFrame]
    duckdb: str
    engine: str = "streaming"
    inputs: tuple[Input, ...] = ()


KINDS = {pl.Datetime("us"): "TIMESTAMP", pl.Float64(): "DOUBLE", pl.String(): "STRING"}


def stream(name: str, schema: Mapping[str, pl.DataType], source: str) -> str:
    """Our CREATE STREAM: the whole file's columns, or the frame's."""
    listed = ", ".join(f"{column} {KINDS.get(dtype, 'BIGINT')}" for column, dtype in schema.items())
    return (
        f"CREATE STREAM {name} ({listed}, WATERMARK FOR ts AS ts - INTERVAL {data.BAND} MICROSECONDS) SOURCE '{source}'"
    )


def ready(race: Race, who: str, rows: int) -> Callable[[bool], tuple[pl.DataFrame | None, dict[str, Any]]]:
    """Does what need not be timed (rows into memory, connection) and gives the work that is timed.

    The work takes whether its answer is wanted and gives the answer and what is known of the run.
    """
    frames = {i.name: i.frame(rows) for i in race.inputs}
    if race.memory and not race.inputs:
        frames = {"rows": data.frame(race.dataset, rows, race.columns)}
    if who == "polars":

        def work(wanted: bool) -> tuple[pl.DataFrame | None, dict[str, Any]]:
            scans = [f.lazy() for f in frames.values()] or [pl.scan_parquet(data.parts(race.dataset, rows))]
            answer = race.polars(*scans).collect(engine=race.engine)  # type: ignore[call-overload]
            return answer, {"rows_out": answer.height}

    elif who == "duckdb":
        import duckdb

        connection = duckdb.connect(config={"threads": 2})
        for name, frame in frames.items():
            connection.register(name, frame.to_arrow())
        if not frames:
            connection.sql(
                f"SELECT * FROM read_parquet({[str(p) for p in data.parts(race.dataset, rows)]})"
            ).create_view("rows")

        def work(wanted: bool) -> tuple[pl.DataFrame | None, dict[str, Any]]:
            table = connection.sql(race.duckdb).to_arrow_table()
            return pl.from_arrow(table) if wanted else None, {"rows_out": table.num_rows}  # type: ignore[return-value]

    else:
        import jupyter_stream

        streams = [stream(name, frame.schema, f"frame://{name}") for name, frame in frames.items()]
        if not frames:
            schema = pl.read_parquet_schema(data.parts(race.dataset, CHECKED_ROWS)[0])
            streams = [stream("rows", schema, f"file://{data.folder_of(race.dataset, rows)}")]

        def work(wanted: bool) -> tuple[pl.DataFrame | None, dict[str, Any]]:
            session = jupyter_stream.Session(namespace=dict(frames))
            for each in streams:
                session.execute(each)
            (query,) = session.execute(race.sql, **({"keep": 100_000_000} if wanted else KEPT))
            query.wait()
            answer = query.to_polars() if wanted else None
            facts = known(query)
            session.close()
            return answer, facts

    return work


def known(query: Any) -> dict[str, Any]:
    """What a finished query of ours says of itself: rows out, rows late, the most state its operators ever held."""
    stats = query.stats
    if stats["state"] != "finished":
        raise RuntimeError(f"the query is {stats['state']}: {query.snapshot(0).error}")
    return {
        "rows_out": stats["rows_out"],
        "late": stats["late"],
        "state": stats["peak_state_bytes"],
        "spent": {t["name"]: round(t["nanoseconds"] / 1e6) for t in stats["operators"]},
    }


def peak_rss() -> int:
    """Bytes, the most since `forget_peak`."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(x for x in status.read_text().splitlines() if x.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def forget_peak() -> None:
    """Start the peak again from what is held now, where the system can (Linux)."""
    clear = Path("/proc/self/clear_refs")
    if clear.exists():
        clear.write_text("5")


def plain(answer: pl.DataFrame) -> pl.DataFrame:
    """An answer in one form whoever gave it: columns by name, whole numbers as Int64, rows sorted."""
    columns = []
    for name in sorted(answer.columns):
        column = answer.get_column(name)
        if column.dtype.is_temporal():
            column = column.cast(pl.Datetime("us")).to_physical()
        columns.append(column.cast(pl.Int64) if column.dtype.is_integer() or column.dtype.is_decimal() else column)
    return pl.DataFrame(columns).sort(pl.all())


def main(races: tuple[Race, ...], argv: list[str]) -> None:
    """A contender's process: its answer on the first rows into a file, then one timed run for each line it reads.

    Arguments: name of the race, contender, folder for the answers. Writes lines of JSON.
    """
    name, who, folder = argv
    (race,) = [r for r in races if r.name == name]
    if who == "ours":
        import jupyter_stream  # noqa: F401 - so that its import is in nobody's time
    checked, _ = ready(race, who, CHECKED_ROWS)(True)
    assert checked is not None
    plain(checked).write_parquet(Path(folder) / f"{race.name}-{who}.parquet")
    work = ready(race, who, race.rows)
    forget_peak()
    print(json.dumps({"rss_before": peak_rss()}), flush=True)
    for _ in sys.stdin:
        start, spent = time.perf_counter(), time.process_time()
        _, facts = work(False)
        seconds, spent = time.perf_counter() - start, time.process_time() - spent
        print(json.dumps({"seconds": seconds, "cpu": spent, "rss": peak_rss(), **facts}), flush=True)
