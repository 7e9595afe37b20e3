"""One row at a time, as a live notebook has them: microseconds of processor time for a batch of one row, by kind of operator.

`python tests/benchmarks/single_rows.py [--kept 10000] [--keys 100] [--rows 300] [NAMES]`. A query's operators are driven in
this thread: each row is a batch, and a punctuation follows it, so that all answers are up to date (what the engine adds to hand
a batch on is not in it). First what is kept is filled, in large batches: rows that a later one can look back on, or that are in
open windows. Kinds take turns, so that what slows the machine down slows all; the least of the turns counts.

With `--growth` nanoseconds a row, in batches of 16,384, at 10 and at 100,000 keys, for kinds with keys.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

import numpy as np
import polars as pl

from jupyter_stream import Session, binding, syntax
from jupyter_stream.core.messages import ROW, TS, Batch, Message, Punctuation, Rest
from jupyter_stream.core.time import MAX_TIME
from jupyter_stream.graph.graph import Graph, StepInput, build

STEP = 1_000
"""Microseconds between rows of a stream."""
TURNS = 15
WARM = 1_200_000
"""Rows before the growth by keys is measured: twelve of each key where there are most."""
COLUMNS = "ts TIMESTAMP, key BIGINT, value BIGINT, amount DOUBLE, WATERMARK FOR ts AS ts"
KINDS = {
    "filter": "SELECT * FROM rows WHERE value % 2 = 0 AND amount > 0.1",
    "tumbling": "SELECT key, count(*) AS n, sum(value) AS s FROM rows [RANGE {kept} MILLISECONDS TUMBLING] GROUP BY key",
    "sliding": "SELECT key, count(*) AS n, max(value) AS s FROM rows {slide} GROUP BY key",
    "distinct": "SELECT count(DISTINCT key) AS n FROM rows {slide}",
    "join": "SELECT a.value, b.value AS other FROM rows [RANGE {kept} MILLISECONDS] a, others [RANGE {kept} MILLISECONDS] b"
    " WHERE a.key = b.key",
    "rows": "SELECT key, count(*) AS n, sum(value) AS s FROM rows [PARTITION BY key ROWS 10 SLIDE 5] GROUP BY key",
    "rows, no key": "SELECT count(*) AS n, sum(value) AS s FROM rows [ROWS {kept} SLIDE {tenth}]",
    "session": "SELECT key, count(*) AS n, sum(value) AS s FROM rows [SESSION {gap} MILLISECONDS] GROUP BY key",
    "over rows": "SELECT key, avg(value) OVER (PARTITION BY key ROWS {each} PRECEDING) AS s FROM rows",
    "over rows, no key": "SELECT avg(value) OVER (ROWS {kept} PRECEDING) AS s FROM rows",
    "over range": "SELECT key, avg(value) OVER (PARTITION BY key RANGE {kept} MILLISECONDS PRECEDING) AS s FROM rows",
    "over range, max": "SELECT key, max(amount) OVER (PARTITION BY key RANGE {kept} MILLISECONDS PRECEDING) AS s FROM rows",
    "over range, no key": "SELECT max(value) OVER (RANGE {kept} MILLISECONDS PRECEDING) AS s FROM rows",
    "over unbounded": "SELECT key, sum(value) OVER (PARTITION BY key ROWS UNBOUNDED PRECEDING) AS s FROM rows",
    "over median": "SELECT key, median(value) OVER (PARTITION BY key ROWS {each} PRECEDING) AS s FROM rows",
}
GROWING = {
    "tumbling": "SELECT key, count(*) AS n, sum(value) AS s FROM rows [RANGE 200 SECONDS TUMBLING] GROUP BY key",
    "rows": "SELECT key, count(*) AS n, sum(value) AS s FROM rows [PARTITION BY key ROWS 100 SLIDE 10] GROUP BY key",
    "session": "SELECT key, count(*) AS n, sum(value) AS s FROM rows [SESSION 10 SECONDS] GROUP BY key",
    "over rows": "SELECT key, sum(value) OVER (PARTITION BY key ROWS 10 PRECEDING) AS s FROM rows",
    "over range": "SELECT key, sum(value) OVER (PARTITION BY key RANGE 10 SECONDS PRECEDING) AS s FROM rows",
    "over unbounded": "SELECT key, sum(value) OVER (PARTITION BY key ROWS UNBOUNDED PRECEDING) AS s FROM rows",
}


def frame(keys: int, first: int, many: int) -> pl.DataFrame:
    """Rows of a stream, one every `STEP` microseconds."""
    rng = np.random.default_rng(first + 7)
    times = np.arange(first, first + many) * STEP
    return pl.DataFrame(
        {
            "ts": pl.Series(times).cast(pl.Datetime("us")),
            "key": rng.integers(0, keys, many),
            "value": rng.integers(0, 1_000_000, many),
            "amount": rng.random(many),
            TS: times,
            ROW: np.arange(first, first + many),
        }
    )


class Driven:
    """A query's operators, given rows in this thread."""

    def __init__(self, sql: str, keys: int) -> None:
        session = Session({"made": frame(1, 0, 1)})
        for name in ("rows", "others"):
            session.execute(f"CREATE STREAM {name} ({COLUMNS}) SOURCE 'frame://made'")
        (statement,) = syntax.parse(sql, {}, 1)
        self.graph: Graph = build(binding.bind_query(statement, session.catalog))  # type: ignore[arg-type]
        session.close()
        self._keys = keys
        self._at = 0
        self.rows = 0

    def fill(self, many: int, size: int = 16_384) -> float:
        """Give so many rows in batches of a size; seconds of processor time."""
        made = frame(self._keys, self._at, many)
        pieces = [made.slice(start, size) for start in range(0, many, size)]
        began = time.process_time()
        for piece in pieces:
            for entry in self.graph.entries:
                self._deliver(entry.target, Batch(piece))
            self._at += piece.height
            for entry in self.graph.entries:
                self._deliver(entry.target, Punctuation(self._at * STEP))
        return time.process_time() - began

    def end(self) -> None:
        """The input has ended."""
        for entry in self.graph.entries:
            self._deliver(entry.target, Punctuation(MAX_TIME))

    def _deliver(self, target: StepInput | None, message: Message) -> None:
        if isinstance(message, Rest):
            return
        if target is None:
            if isinstance(message, Batch):
                self.rows += message.rows
            return
        operator = target.step.operator
        made = (
            operator.on_batch(target.port, message)
            if isinstance(message, Batch)
            else operator.on_punctuation(target.port, message)  # type: ignore[arg-type]
        )
        for one in made:
            self._deliver(target.step.target, one)


def single_rows(names: Sequence[str], kept: int, keys: int, rows: int) -> None:
    """Print microseconds a row of each kind."""
    driven = {}
    for name in names:
        slide = f"[RANGE {kept} MILLISECONDS SLIDE {kept // 10} MILLISECONDS]"
        sql = KINDS[name].format(kept=kept, slide=slide, tenth=kept // 10, each=max(1, kept // keys), gap=kept)
        driven[name] = Driven(sql, keys)
        driven[name].fill(3 * kept // 2)
    least = dict.fromkeys(names, float("inf"))
    for _ in range(TURNS):
        for name, one in driven.items():
            batches = rows // TURNS * len(one.graph.entries)
            least[name] = min(least[name], one.fill(rows // TURNS, 1) / batches)
    for name in names:
        print(f"{name:20} {least[name] * 1e6:9,.0f} us a batch of one row", flush=True)


def growth(names: Sequence[str], many: int) -> None:
    """Print nanoseconds a row by the number of keys."""
    for name in names:
        took = []
        for keys in (10, 100_000):
            best = float("inf")
            for _ in range(2):
                one = Driven(GROWING[name], keys)
                one.fill(WARM)
                best = min(best, one.fill(many) / many)
            took.append(best * 1e9)
        print(
            f"{name:20} {took[0]:9,.0f} ns at 10 keys, {took[1]:9,.0f} at 100,000: {took[1] / took[0]:.1f} x",
            flush=True,
        )


def main() -> None:
    """Print the lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--kept", type=int, default=10_000)
    parser.add_argument("--keys", type=int, default=100)
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--growth", action="store_true")
    asked = parser.parse_args()
    if asked.growth:
        growth([n for n in GROWING if n.startswith(tuple(asked.names) or "")], 300_000)
    else:
        single_rows([n for n in KINDS if n.startswith(tuple(asked.names) or "")], asked.kept, asked.keys, asked.rows)


if __name__ == "__main__":
    main()
