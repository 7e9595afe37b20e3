"""Slide-by-tuple windows of groups: count, sum and max per key (1,000 keys) over the last second and minute, every 1,000 rows.

Each of the extents answers every key in it: about an answer a row. Target: 1 million rows a second, whatever RANGE is,
and memory proportional to the rows in it. Some extents are checked against a look at every row. `python keyed_tuples.py`.
"""

from __future__ import annotations

import time
from typing import Any

import data
import polars as pl
from polars.testing import assert_frame_equal

import jupyter_stream

ROWS = 3_000_000
SLIDE = 1_000
TIMES = 3
RANGES = {"second": 1_000_000, "ten seconds": 10_000_000, "minute": 60_000_000}


def run(frame: pl.DataFrame, span: int, keep: int) -> tuple[float, float, Any]:
    """Seconds, seconds of processor time, and the finished query."""
    session = jupyter_stream.Session(namespace={"frame": frame})
    session.execute(
        f"""CREATE STREAM rows (ts TIMESTAMP, key BIGINT, value BIGINT,
        WATERMARK FOR ts AS ts - INTERVAL {data.BAND} MICROSECONDS) SOURCE 'frame://frame'"""
    )
    start, spent = time.perf_counter(), time.process_time()
    (query,) = session.execute(
        f"""SELECT key, count(*) AS n, sum(value) AS total, max(value) AS most
        FROM rows [RANGE {span} MICROSECONDS SLIDE {SLIDE} ROWS] GROUP BY key""",
        keep=keep,
    )
    query.wait()
    seconds, spent = time.perf_counter() - start, time.process_time() - spent
    session.close()
    return seconds, spent, query


def agree(frame: pl.DataFrame, span: int) -> str:
    """Whether the answers of some extents are those of all rows in them."""
    _, _, query = run(frame, span, 10_000_000)
    answers = query.to_polars().sort("window_end", "key")
    ends = frame.get_column("ts").gather_every(SLIDE, SLIDE - 1).sort()
    checked = ends.gather_every(max(1, len(ends) // 10))
    expected = []
    for end in checked:
        inside = frame.filter(pl.col("ts") > end - pl.duration(microseconds=span), pl.col("ts") <= end)
        found = inside.group_by("key").agg(
            n=pl.len().cast(pl.Int64), total=pl.col("value").sum(), most=pl.col("value").max()
        )
        expected.append(found.with_columns(window_end=pl.lit(end, pl.Datetime("us"))))
    wanted = pl.concat(expected).sort("window_end", "key").select("window_end", "key", "n", "total", "most")
    found = answers.filter(pl.col("window_end").is_in(checked.implode())).select(wanted.columns)
    assert_frame_equal(found.unique(maintain_order=True), wanted)
    return f"same answers ({wanted.height:,} checked)"


def main() -> None:
    """Print the lines."""
    frame = data.frame("uniform", ROWS, ("ts", "key", "value"))
    for title, span in RANGES.items():
        runs = [run(frame, span, 1_000) for _ in range(TIMES)]
        best, spent = min(r[0] for r in runs), min(r[1] for r in runs)
        stats = runs[0][2].stats
        inside = data.RATE * span / 1e6
        print(
            f"  last {title}: {ROWS / best / 1e6:.2f} M rows/s (target 1), {ROWS / spent / 1e6:.2f} M rows a second of processor "
            f"time, {stats['rows_out']:,} answers, state at most {stats['peak_state_bytes'] / 1e6:,.1f} MB: "
            f"{stats['peak_state_bytes'] / inside:,.0f} bytes a row in RANGE; {agree(frame.head(400_000), span)}",
            flush=True,
        )


if __name__ == "__main__":
    main()
