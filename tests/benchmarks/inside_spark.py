"""What a core does for a query of ours inside Spark, without Spark: `python inside_spark.py [rows]`, rows per second of CPU.

In the time: blocks are made of rows and read again, the operators answer, what they say is written, and their state is put away
and taken up again after each half. Spark's own part, reading files and carrying blocks to their bucket, comes on top.
"""

from __future__ import annotations

import pickle
import sys
import time

import numpy as np
import polars as pl

from jupyter_stream import Session
from jupyter_stream.core.messages import BROKEN, LATE_ID, ROW, TS
from jupyter_stream.core.schema import TIMESTAMP
from jupyter_stream.plan.logical import streams
from jupyter_stream.spark.blocks import blocks_of
from jupyter_stream.spark.expressions import SHIFT
from jupyter_stream.spark.inside import ROWS, Network, _packing, _taken, pickled

DECLARED = "CREATE STREAM s (ts TIMESTAMP, key BIGINT, value DOUBLE) ORDER BY ts SOURCE 'frame://rows'"
QUERIES = {
    "OVER": "SELECT key, avg(value) OVER (PARTITION BY key ROWS 10 PRECEDING) AS a FROM s",
    "rows by partition": "SELECT key, max(value) AS m FROM s [PARTITION BY key ROWS 100 SLIDE 10] GROUP BY key",
    "slide-by-tuple": "SELECT count(*) AS c, max(value) AS m FROM s [RANGE 1 SECOND SLIDE 100 ROWS]",
    "relation": "SELECT key, count(*) AS c FROM s [RANGE 10 SECONDS] GROUP BY key",
    "landmark": "SELECT key, count(*) AS c FROM s [RANGE ALL SLIDE 10 SECONDS] GROUP BY key",
}
_ARROW_ROWS = 10_000
"""Rows Spark hands to Python at a time."""


def as_from_spark(rows: pl.DataFrame, first: int) -> list[tuple[int, bytes]]:
    """Rows as blocks, as they come to a bucket."""
    utc = pl.Datetime("us", "UTC")
    shifted = (pl.col("ts").cast(pl.Int64) + SHIFT).cast(TIMESTAMP).cast(utc)
    system = (shifted.alias(TS), pl.lit(None, utc).alias(BROKEN), pl.lit(None, pl.Int64).alias(LATE_ID))
    numbered = pl.int_range(first, first + rows.height, dtype=pl.Int64).alias(ROW)
    table = rows.with_columns(*system, numbered, pl.lit(0, pl.Int32).alias("bucket")).to_arrow().combine_chunks()
    return [(0, block) for b in _packing(0)(table.to_batches(_ARROW_ROWS)) for block in b.column(ROWS).to_pylist()]


def main(count: int) -> None:
    """Print a line for each query."""
    rng = np.random.default_rng(1)
    ts = pl.Series(1_735_689_600_000_000 + np.arange(count) * 200)
    rows = pl.DataFrame({"ts": ts.cast(TIMESTAMP), "key": rng.integers(0, 1000, count), "value": rng.random(count)})
    half = count // 2
    for name, text in QUERIES.items():
        with Session({"rows": rows[:1]}) as session:
            session.run(DECLARED)
            query = session.run(text)[-1]._pipeline.query  # type: ignore[union-attr]
        network, schemas = Network(query), [s.schema for s in streams(query.plan)]
        began, kept, out = time.process_time(), b"", 0
        for first in (0, half):
            blocks = as_from_spark(rows[first : first + half], first)
            out += sum(map(len, _taken(network, schemas, blocks)))
            out += sum(map(len, blocks_of(network.punctuation(int(ts[first + half - 1])))))
            kept = pickled(network)
            network = pickle.loads(kept)
        seconds = time.process_time() - began
        print(f"{name}: {2 * half / seconds:,.0f} rows/s, {len(kept):,} bytes of state, {out:,} bytes of answers")


if __name__ == "__main__":
    main(int(sys.argv[1].replace("_", "")) if len(sys.argv) > 1 else 1_000_000)
