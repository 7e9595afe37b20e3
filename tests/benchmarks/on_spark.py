"""Windows and NEXMark q7 and q8 on Spark beside the same written by hand in PySpark, on the same files, in the same Spark.

`python on_spark.py [rows [cores [case [heap]]]]`, the case by its number from 1 (0 for all), the heap as Spark takes it: q8 on
3,000,000 rows needs more than Spark's own default of 1 GB, ours and by hand. Both read Parquet files that are there already and
answer into the driver; by turns, three times each after a first one that nobody counts, and the quickest counts. Seconds are
from the start of the query to its last answer, and to its first. Jobs and shuffles are those of one run.

What there is between the two is how they begin. Micro-batches take the same time, but Spark analyses the whole plan with every
step a DataFrame is made by, 10 to 40 milliseconds each, and every call to it is a turn to wait for where the kernel reads rows
meanwhile: a tumbling count takes 61 to 81 calls by hand, and ours took 165 before keys and extents were made in one step and
answers not selected twice, 118 since. On 3,000,000 rows ours began 0.3 s later than by hand before that, of 2.3 s in all. To
judge times the kernel has 0.065 s of processor time for every million rows, two fifths of it for reading them.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from jupyter_stream import Session

START = 1_735_689_600_000_000
WINDOW = "SELECT key, count(*) AS n, sum(value) AS total FROM s [RANGE 10 SECONDS SLIDE {slide} SECONDS] GROUP BY key"
Q8 = "SELECT p.id, p.name, a.reserve FROM persons p, auctions a [RANGE 10 SECONDS TUMBLING] WHERE p.id = a.seller"


Q7 = """SELECT b.key, b.value FROM s b, (SELECT max(value) AS most FROM s [RANGE 10 SECONDS TUMBLING]) m
WHERE b.value = m.most AND b.ts BETWEEN m.window_start AND m.window_end"""


@dataclass(frozen=True)
class Turn:
    """One run of a query.

    Attributes:
        seconds: to its last answer.
        first: seconds to its first.
        rows: of answers.
        jobs: Spark's.
        shuffles: Spark's.
    """

    seconds: float
    first: float
    rows: int
    jobs: int
    shuffles: int


@dataclass(frozen=True)
class Case:
    """One query, ours and by hand.

    Attributes:
        name: what is printed.
        declared: the streams, `{folder}` being where their files are.
        query: ours.
        by_hand: the streaming DataFrame of the same, from the session and the folder.
    """

    name: str
    declared: str
    query: str
    by_hand: Callable[[Any, Path], Any]


def window_by_hand(slide: int) -> Callable[[Any, Path], Any]:
    """Counts and sums by key."""

    def frame(spark: Any, folder: Path) -> Any:
        from pyspark.sql import functions as f

        read = spark.readStream.schema("ts TIMESTAMP, key BIGINT, value DOUBLE").parquet(str(folder / "s"))
        grouped = read.withWatermark("ts", "0 seconds").groupBy(f.window("ts", "10 seconds", f"{slide} seconds"), "key")
        counted = grouped.agg(f.count("*").alias("n"), f.sum("value").alias("total"))
        return counted.selectExpr("window.start", "window.end", "key", "n", "total")

    return frame


def q7_by_hand(spark: Any, folder: Path) -> Any:
    """The rows with the highest value of ten seconds."""
    from pyspark.sql import functions as f

    def read() -> Any:
        found = spark.readStream.schema("ts TIMESTAMP, key BIGINT, value DOUBLE").parquet(str(folder / "s"))
        return found.withWatermark("ts", "0 seconds")

    highest = read().groupBy(f.window("ts", "10 seconds").alias("w")).agg(f.max("value").alias("most"))
    rows = read().select("key", "value", f.window("ts", "10 seconds").alias("v"))
    return rows.join(highest, f.expr("v = w AND value = most")).select("key", "value")


def q8_by_hand(spark: Any, folder: Path) -> Any:
    """New persons who sell in the same ten seconds."""
    from pyspark.sql import functions as f

    persons = spark.readStream.schema("ts TIMESTAMP, id BIGINT, name STRING").parquet(str(folder / "persons"))
    auctions = spark.readStream.schema("ts TIMESTAMP, seller BIGINT, reserve BIGINT").parquet(str(folder / "auctions"))
    left = persons.withWatermark("ts", "0 seconds").select("id", "name", f.window("ts", "10 seconds").alias("w"))
    right = auctions.withWatermark("ts", "0 seconds").select(
        "seller", "reserve", f.window("ts", "10 seconds").alias("v")
    )
    return left.join(right, f.expr("id = seller AND w = v")).select("id", "name", "reserve")


CASES = (
    *(
        Case(
            f"range 10 s slide {slide} s",
            "CREATE STREAM s (ts TIMESTAMP, key BIGINT, value DOUBLE) ORDER BY ts SOURCE 'file://{folder}/s'",
            WINDOW.format(slide=slide),
            window_by_hand(slide),
        )
        for slide in (10, 2)
    ),
    Case(
        "q7",
        "CREATE STREAM s (ts TIMESTAMP, key BIGINT, value DOUBLE) ORDER BY ts SOURCE 'file://{folder}/s'",
        Q7,
        q7_by_hand,
    ),
    Case(
        "q8",
        "CREATE STREAM persons (ts TIMESTAMP, id BIGINT, name STRING) ORDER BY ts SOURCE 'file://{folder}/persons'; "
        "CREATE STREAM auctions (ts TIMESTAMP, seller BIGINT, reserve BIGINT) ORDER BY ts SOURCE 'file://{folder}/auctions'",
        Q8,
        q8_by_hand,
    ),
)


def write(folder: Path, count: int) -> None:
    """`count` rows in order, 5,000 a second of event time, 1,000 keys; and for q8 half as many auctions, a twentieth persons."""
    rng = np.random.default_rng(1)

    def times(rows: int) -> pl.Series:
        return pl.Series(START + np.arange(rows) * (count * 200 // rows)).cast(pl.Datetime("us"))

    people, sales = count // 20, count // 2
    seller = np.maximum(0, np.arange(sales) * people // sales - rng.integers(0, 2000, sales))
    frames = {
        "s": pl.DataFrame({"ts": times(count), "key": rng.integers(0, 1000, count), "value": rng.random(count)}),
        "persons": pl.DataFrame(
            {"ts": times(people), "id": np.arange(people), "name": [f"p{i}" for i in range(people)]}
        ),
        "auctions": pl.DataFrame({"ts": times(sales), "seller": seller, "reserve": rng.integers(0, 1000, sales)}),
    }
    for name, frame in frames.items():
        (folder / name).mkdir()
        for i in range(4):
            part = frame[i * frame.height // 4 : (i + 1) * frame.height // 4]
            part.write_parquet(folder / name / f"{i}.parquet")


def numbers(spark: Any) -> tuple[int, int]:
    """Jobs and shuffles so far, this question counted."""
    context = spark.sparkContext._jsc.sc()
    return int(context.dagScheduler().nextJobId()), int(context.newShuffleId())


def turn(spark: Any, run: Callable[[], tuple[float, int]]) -> Turn:
    """A run that says when its first answer came and how many there were."""
    jobs, shuffles = numbers(spark)
    began = time.perf_counter()
    first, rows = run()
    seconds = time.perf_counter() - began
    jobs_then, shuffles_then = numbers(spark)
    return Turn(seconds, first - began, rows, jobs_then - jobs, shuffles_then - shuffles - 1)


def hand(spark: Any, case: Case, folder: Path) -> Turn:
    """By hand."""

    def run() -> tuple[float, int]:
        answers: list[tuple[float, int]] = []

        def take(frame: Any, _: int) -> None:
            rows = frame.toArrow().num_rows
            answers.append((time.perf_counter(), rows))

        writer = case.by_hand(spark, folder).writeStream.foreachBatch(take)
        query = writer.option("checkpointLocation", tempfile.mkdtemp()).start()
        query.processAllAvailable()
        query.stop()
        return next(at for at, rows in answers if rows), sum(rows for _, rows in answers)

    return turn(spark, run)


def ours(spark: Any, case: Case, folder: Path) -> Turn:
    """The same of our query."""
    with Session({"spark": spark}) as session:
        session.run(case.declared.format(folder=folder))

        def run() -> tuple[float, int]:
            query: Any = session.run(case.query, engine="spark")[-1]
            first = 0.0
            while not query.wait(0.01):
                first = first or (time.perf_counter() if query._pipeline.results.rows_out else 0.0)
            return first or time.perf_counter(), query.to_polars().height

        return turn(spark, run)


def main(count: int, cores: int = 2, only: int = 0, heap: str = "4g") -> None:
    """Print seconds, rows per second and the ratio of each case, or of one."""
    from pyspark.sql import SparkSession

    settings = {"ui.enabled": "false", "ui.showConsoleProgress": "false", "sql.session.timeZone": "UTC"}
    settings["driver.memory"] = heap
    builder = SparkSession.builder.master(f"local[{cores}]").config("spark.sql.shuffle.partitions", "2")
    for key, value in settings.items():
        builder = builder.config(f"spark.{key}", value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    with tempfile.TemporaryDirectory() as name:
        write(Path(name), count)
        for case in CASES[only - 1 : only] if only else CASES:
            turns = [(hand(spark, case, Path(name)), ours(spark, case, Path(name))) for _ in range(4)][1:]
            by_hand, own = min(h.seconds for h, _ in turns), min(o.seconds for _, o in turns)
            first_by_hand, first = min(h.first for h, _ in turns), min(o.first for _, o in turns)
            h, o = turns[0]
            print(
                f"{case.name}, {count:,} rows, {cores} cores: by hand {by_hand:.2f} s ({count / by_hand:,.0f} rows/s), "
                f"ours {own:.2f} s ({count / own:,.0f} rows/s), {by_hand / own:.2f} x the rows per second; first answer "
                f"{first_by_hand:.2f} s by hand, {first:.2f} s ours, {first / first_by_hand:.2f} x; jobs {h.jobs} and {o.jobs}, "
                f"shuffles {h.shuffles} and {o.shuffles}; {h.rows:,} rows by hand (open windows left out), {o.rows:,} ours",
                flush=True,
            )
    spark.stop()


if __name__ == "__main__":
    given = sys.argv[1:]
    main(int(given[0].replace("_", "")) if given else 10_000_000, *map(int, given[1:3]), *given[3:4])
