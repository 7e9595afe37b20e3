"""What writing answers costs, and how many messages a second go in and out.

`python sinks.py [--rows N] [--times N] [--only NAME ...]`. `windows`: a windowed query with a sink of Parquet beside the same
query without one. `selections`: from Parquet to Parquet, beside `polars.scan_parquet().filter().sink_parquet()`. `kafka`:
messages of JSON from a topic and to one, of librdkafka's test broker in a process of its own. `chart`: a chart and a sink at
once, beside either alone. Contenders of a case run in turn in this process; the least of their times counts, by the clock and
of the processor.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

ROOT: Final = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from jupyter_stream import Query, Session  # noqa: E402
from jupyter_stream.views.chart import picture  # noqa: E402
from jupyter_stream.views.colours import Colours  # noqa: E402
from jupyter_stream.views.options import ViewOptions  # noqa: E402

STREAM: Final = (
    "CREATE STREAM s (ts TIMESTAMP, k BIGINT, v DOUBLE, WATERMARK FOR ts AS ts - INTERVAL 1 SECOND) "
    "SOURCE '{source}';\n"
)
WINDOWS: Final = "SELECT k, sum(v) AS v, count(*) AS n FROM s [RANGE 10 SECONDS SLIDE 1 SECOND] GROUP BY k"
FILTER: Final = "SELECT ts, k, v FROM s WHERE v < 0.3 AND k % 7 <> 0"
COUNTS: Final = "SELECT k, count(*) AS n, avg(v) AS v FROM s [RANGE 5 SECONDS SLIDE 1 SECOND] GROUP BY k"
_FRAMES: Final = 8.0
"""Pictures a second, as a live view draws at most."""

Took = tuple[float, float]
"""Seconds by the clock, and of the processor."""


def rows(count: int, keys: int) -> pl.DataFrame:
    """A stream of `count` rows, 50,000 in a second, up to a second out of order."""
    rng = np.random.default_rng(7)
    ts = 1_735_689_600_000_000 + np.arange(count) * 20 + rng.integers(-900_000, 0, count)
    columns = {"ts": ts, "k": rng.integers(0, keys, count), "v": rng.random(count)}
    return pl.DataFrame(columns).with_columns(pl.col("ts").cast(pl.Datetime("us")))


@contextmanager
def measured(into: list[Took]) -> Iterator[None]:
    """Add what the block takes."""
    before, began = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    yield
    seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF)
    into.append((seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime))


def answer(text: str, names: Mapping[str, object], *, chart: bool = False) -> int:
    """Run a query to its end, all answers in its sinks; returns rows that came out."""
    with Session(dict(names)) as session:
        (query,) = (q for q in session.execute(text, keep=100_000) if isinstance(q, Query))
        done = threading.Event()
        drawing = threading.Thread(target=_draw, args=(query, done))
        if chart:
            drawing.start()
        query.wait()
        done.set()
        if chart:
            drawing.join()
        return query.snapshot(0).rows_out


def _draw(query: Query, done: threading.Event) -> None:
    """Pictures of a query while it runs, as often as a live view makes them."""
    seen, colours = -1, Colours()
    while not done.wait(1 / _FRAMES):
        if query.version != seen and query.snapshot(0).rows_out:
            seen = query.version
            picture(query.snapshot(500), ViewOptions(chart="line"), colours)


def raced(contenders: Mapping[str, Callable[[Path], object]], times: int) -> dict[str, Took]:
    """The least of each contender's times; each has an empty folder whenever it runs."""
    took: dict[str, list[Took]] = {name: [] for name in contenders}
    for _ in range(times):
        for name, run in contenders.items():
            with tempfile.TemporaryDirectory() as at, measured(took[name]):
                run(Path(at))
    return {name: (min(w for w, _ in runs), min(c for _, c in runs)) for name, runs in took.items()}


def shown(title: str, rows: int, took: Mapping[str, Took]) -> None:
    """A line for each contender: rows a second by the clock, and of a core."""
    print(title)
    for name, (wall, core) in took.items():
        print(f"  {name:24} {wall:7.2f} s  {core:7.2f} s of a core  {rows / wall / 1e6:7.2f} M rows/s")


def windows(count: int, times: int) -> None:
    """A windowed query, with a sink and without."""
    frame = {"rows": rows(count, 1_000)}
    text = STREAM.format(source="frame://rows")
    took = raced(
        {
            "without a sink": lambda at: answer(text + WINDOWS, frame),
            "to Parquet": lambda at: answer(text + f"INSERT INTO 'file://{at}/out/' " + WINDOWS, frame),
        },
        times,
    )
    shown(f"windows of {count:,} rows: at least 0.8 of the speed without a sink", count, took)
    _ratio("to Parquet", "without a sink", took)


def selections(count: int, times: int) -> None:
    """A selection from Parquet to Parquet, ours and Polars'."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/rows.parquet"
        rows(count, 1_000).write_parquet(path)
        text = STREAM.format(source=f"file://{path}")
        kept = (pl.col("v") < 0.3) & (pl.col("k") % 7 != 0)

        def ours(at: Path) -> None:
            answer(text + f"INSERT INTO 'file://{at}/out/' " + FILTER, {})
            assert pl.scan_parquet(f"{at}/out/*.parquet").select(pl.len()).collect().item() == expected

        def polars(at: Path) -> None:
            pl.scan_parquet(path).filter(kept).sink_parquet(f"{at}/out.parquet")

        expected = pl.scan_parquet(path).filter(kept).select(pl.len()).collect().item()
        took = raced({"ours": ours, "polars": polars}, times)
    shown(f"a selection of {count:,} rows from Parquet to Parquet: at least 0.5 of Polars", count, took)
    _ratio("ours", "polars", took)


def chart(count: int, times: int) -> None:
    """A chart and a sink at once cost what the dearer one does, and a fifth more at most."""
    frame, text = {"rows": rows(count, 10)}, STREAM.format(source="frame://rows")
    took = raced(
        {
            "a chart": lambda at: answer(text + COUNTS, frame, chart=True),
            "a sink": lambda at: answer(text + f"INSERT INTO 'file://{at}/out/' " + COUNTS, frame),
            "both": lambda at: answer(text + f"INSERT INTO 'file://{at}/out/' " + COUNTS, frame, chart=True),
        },
        times,
    )
    shown(f"a chart and a sink, {count:,} rows: both at most 1.2 of the dearer one", count, took)
    for i, what in enumerate(("by the clock", "of a core")):
        print(f"  both / the dearer one {what}: {took['both'][i] / max(took['a chart'][i], took['a sink'][i]):.2f}")


def kafka(count: int, times: int) -> None:
    """Messages of JSON from a topic and to one."""
    broker = subprocess.Popen(
        [sys.executable, __file__, "--broker", str(count)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert broker.stdin is not None and broker.stdout is not None
    address = broker.stdout.readline().strip()
    declared = "CREATE STREAM s (ts BIGINT, k BIGINT, v DOUBLE) ORDER BY ts "
    topic = declared + f"SOURCE 'kafka://{address}/rows' WITH (end = 'latest', slack = '1000000 rows');\n"
    frame = {"rows": rows(count, 1_000)}
    number = iter(range(10_000))
    try:
        took = raced(
            {
                "in": lambda at: answer(topic + "SELECT k, v FROM s WHERE v < 0", {}),
                "out": lambda at: answer(
                    STREAM.format(source="frame://rows")
                    + f"INSERT INTO 'kafka://{address}/out{next(number)}' SELECT ts, k, v FROM s",
                    frame,
                ),
            },
            times,
        )
    finally:
        broker.stdin.close()
        broker.wait()
    shown(f"{count:,} messages of JSON of Kafka: at least 0.1 M/s of a core, in and out", count, took)
    for name, (wall, core) in took.items():
        print(f"  {name}: {count / core:,.0f} messages for a second of a core, {count / wall:,.0f} by the clock")


def serve(count: int) -> None:
    """A broker with `count` messages, until nobody listens any more."""
    from tests.topics import PARTITIONS, Kafka

    broker = Kafka()
    made = rows(count, 1_000).with_columns(pl.col("ts").cast(pl.Int64)).iter_rows(named=True)
    for start in range(0, count, 50_000):
        broker.spread(
            "rows", ((i % PARTITIONS, json.dumps(next(made))) for i in range(start, min(count, start + 50_000)))
        )
    print(broker.address, flush=True)
    sys.stdin.read()


def _ratio(ours: str, theirs: str, took: Mapping[str, Took]) -> None:
    pair = [took[theirs][i] / took[ours][i] for i in (0, 1)]
    print(f"  {ours} / {theirs}: {pair[0]:.2f} by the clock, {pair[1]:.2f} of a core")


CASES: Final = {"windows": windows, "selections": selections, "kafka": kafka, "chart": chart}


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=4_000_000, help="a tenth of them as messages")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=list(CASES), choices=list(CASES))
    parser.add_argument("--broker", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.broker is not None:
        serve(asked.broker)
        return
    for name in asked.only:
        CASES[name](asked.rows // 10 if name == "kafka" else asked.rows, asked.times)


if __name__ == "__main__":
    main()
