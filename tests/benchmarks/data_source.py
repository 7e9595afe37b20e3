"""A Python data source of Spark's beside the folder of numbered files that queries here use: `python data_source.py [rows]`.

The same rows wait in numbered files, as the inlet of a stream leaves them: Parquet, which Spark's own reader takes, and Arrow,
which a `DataSourceStreamReader` gives as record batches, a partition for each file. A windowed count and sum by key, by turns in
one warm Spark, three times each after a first one that nobody counts; the quickest counts. The time of writing the files is told
apart.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

START = 1_735_689_600_000_000
FILE_ROWS = 262_144
SCHEMA = "`$ts` TIMESTAMP, key BIGINT, value DOUBLE"


def write(folder: Path, count: int) -> tuple[float, float]:
    """Numbered files of both kinds; seconds for each."""
    rng = np.random.default_rng(1)
    ts = pl.Series(START + np.arange(count) * 200).cast(pl.Datetime("us", "UTC"))
    rows = pl.DataFrame({"$ts": ts, "key": rng.integers(0, 1000, count), "value": rng.random(count)})
    seconds = []
    for kind in ("parquet", "arrow"):
        (folder / kind).mkdir()
        began = time.perf_counter()
        for number, start in enumerate(range(0, count, FILE_ROWS)):
            part, path = rows[start : start + FILE_ROWS], folder / kind / f"{number:09}.{kind}"
            if kind == "parquet":
                part.write_parquet(path, compression="snappy", statistics=False)
            else:
                part.write_ipc(path, compression="uncompressed", compat_level=pl.CompatLevel.oldest())
        seconds.append(time.perf_counter() - began)
    return seconds[0], seconds[1]


def register(spark: Any) -> None:
    """Have Spark know the data source `numbered`."""
    from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

    class Reader(DataSourceStreamReader):
        def __init__(self, folder: str) -> None:
            self._folder = folder

        def initialOffset(self) -> dict[str, int]:
            return {"files": 0}

        def latestOffset(self, *_: Any) -> dict[str, int]:
            return {"files": len(list(Path(self._folder).glob("*.arrow")))}

        def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
            return [InputPartition(f"{self._folder}/{i:09}.arrow") for i in range(start["files"], end["files"])]

        def read(self, partition: InputPartition) -> Iterator[Any]:
            import pyarrow as pa

            with pa.memory_map(partition.value) as file:
                yield from pa.ipc.open_file(file).read_all().to_batches()

        def commit(self, end: dict[str, int]) -> None:
            pass

    class Numbered(DataSource):
        @classmethod
        def name(cls) -> str:
            return "numbered"

        def schema(self) -> str:
            return SCHEMA

        def streamReader(self, schema: Any) -> Reader:
            return Reader(self.options["folder"])

    spark.dataSource.register(Numbered)


def timed(rows: Any) -> tuple[float, int]:
    """Seconds and answers of the query over streaming rows."""
    from pyspark.sql import functions as f

    answers: list[Any] = []
    grouped = rows.withWatermark("`$ts`", "0 seconds").groupBy(f.window("`$ts`", "10 seconds"), "key")
    counted = grouped.agg(f.count("*").alias("n"), f.sum("value").alias("total"))
    began = time.perf_counter()
    query = (
        counted.writeStream.foreachBatch(lambda frame, _: answers.append(frame.toArrow()))
        .option("checkpointLocation", tempfile.mkdtemp())
        .start()
    )
    query.processAllAvailable()
    seconds = time.perf_counter() - began
    query.stop()
    return seconds, sum(a.num_rows for a in answers)


def main(count: int) -> None:
    """Print seconds and rows per second of both, and the ratio."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # or it would be whatever python3 is on the path
    builder = SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", "2")
    for key in ("ui.enabled", "ui.showConsoleProgress"):
        builder = builder.config(f"spark.{key}", "false")
    spark = builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    register(spark)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wrote = write(folder, count)
        ways = {
            "files": lambda: spark.readStream.schema(SCHEMA).parquet(str(folder / "parquet")),
            "data source": lambda: spark.readStream.format("numbered").option("folder", str(folder / "arrow")).load(),
        }
        found = [{way: timed(rows()) for way, rows in ways.items()} for _ in range(4)][1:]
        best = {way: min(f[way][0] for f in found) for way in ways}
        assert len({f[way][1] for f in found for way in ways}) == 1, "the same answers"
        for (way, seconds), writing in zip(best.items(), wrote, strict=True):
            print(f"{way}, {count:,} rows: {seconds:.2f} s ({count / seconds:,.0f} rows/s), written in {writing:.2f} s")
        print(f"data source over files: {best['data source'] / best['files']:.2f}")
    spark.stop()


if __name__ == "__main__":
    main(int(sys.argv[1].replace("_", "")) if len(sys.argv) > 1 else 3_000_000)
