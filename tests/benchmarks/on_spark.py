"""Windows on Spark beside the same written by hand in PySpark, on the same rows, in the same Spark. `python on_spark.py [rows]`.

By hand Spark reads Parquet files that are there already; ours come from a frame in memory and go through our reader, so what that
costs is in our time. Both answer into the driver. Each is run three times; the quickest counts.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from jupyter_stream import Session

STREAM = "CREATE STREAM rows_in (ts TIMESTAMP, key BIGINT, value DOUBLE) ORDER BY ts SOURCE 'frame://frame'"
QUERY = (
    "SELECT key, count(*) AS n, sum(value) AS total FROM rows_in [RANGE 10 SECONDS SLIDE {slide} SECONDS] GROUP BY key"
)


def rows(count: int) -> pl.DataFrame:
    """Rows in order, 5,000 a second of event time, 1,000 keys."""
    rng = np.random.default_rng(1)
    ts = pl.Series(1_735_689_600_000_000 + np.arange(count) * 200).cast(pl.Datetime("us"))
    return pl.DataFrame({"ts": ts, "key": rng.integers(0, 1000, count), "value": rng.random(count)})


def by_hand(spark: Any, folder: Path, slide: int) -> float:
    """Seconds from the start of the query to its last answer."""
    from pyspark.sql import functions as f

    answers = []
    began = time.perf_counter()
    read = spark.readStream.schema("ts TIMESTAMP, key BIGINT, value DOUBLE").parquet(str(folder))
    grouped = read.withWatermark("ts", "0 seconds").groupBy(f.window("ts", "10 seconds", f"{slide} seconds"), "key")
    counted = grouped.agg(f.count("*").alias("n"), f.sum("value").alias("total"))
    query = (
        counted.selectExpr("window.start", "window.end", "key", "n", "total")
        .writeStream.foreachBatch(lambda frame, _: answers.append(frame.toArrow()))
        .option("checkpointLocation", tempfile.mkdtemp())
        .start()
    )
    query.processAllAvailable()
    seconds = time.perf_counter() - began
    query.stop()
    return seconds


def ours(spark: Any, frame: pl.DataFrame, slide: int) -> float:
    """The same of our query."""
    with Session({"spark": spark, "frame": frame}) as session:
        began = time.perf_counter()
        query: Any = session.run(f"{STREAM}; {QUERY.format(slide=slide)}", engine="spark")[-1]
        query.wait()
        return time.perf_counter() - began


def main(count: int) -> None:
    """Print seconds, rows per second and the ratio for tumbling and sliding windows."""
    from pyspark.sql import SparkSession

    settings = {"ui.enabled": "false", "ui.showConsoleProgress": "false", "sql.session.timeZone": "UTC"}
    builder = SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", "2")
    for key, value in settings.items():
        builder = builder.config(f"spark.{key}", value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    frame = rows(count)
    with tempfile.TemporaryDirectory() as name:
        for i in range(0, count, 1_000_000):
            part = frame[i : i + 1_000_000].with_columns(pl.col("ts").dt.replace_time_zone("UTC"))
            part.write_parquet(Path(name) / f"{i:09}.parquet")
        for slide in (10, 2):
            hand = min(by_hand(spark, Path(name), slide) for _ in range(3))
            own = min(ours(spark, frame, slide) for _ in range(3))
            print(
                f"range 10 s slide {slide} s, {count:,} rows: by hand {hand:.1f} s ({count / hand:,.0f} rows/s), "
                f"ours {own:.1f} s ({count / own:,.0f} rows/s), ratio {hand / own:.2f}"
            )
    spark.stop()


if __name__ == "__main__":
    main(int(sys.argv[1].replace("_", "")) if len(sys.argv) > 1 else 10_000_000)
