"""Queries killed at random moments and started again: what their sinks have in the end, beside a run that nobody killed.

`python -m tests.faults.kills --count 200` kills so many times, kind by kind, and says what was lost and what is there twice. Each
process is killed by SIGKILL after a random time: while it starts, reads, takes a cut or commits.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import duckdb
import polars as pl

ROOT: Final = Path(__file__).parents[2]
PATIENCE: Final = 600.0
"""Seconds a busy machine may take for one process."""
ROWS: Final = 6_000
RATE: Final = "6000/s"
EVERY: Final = "50 ms"
STREAM: Final = (
    "CREATE STREAM s (ts BIGINT, k STRING, v BIGINT) ORDER BY ts WITH (slack = '50 rows', {options}) "
    "SOURCE '{source}';\n"
)
FILE: Final = STREAM.replace("{options}", f"rate = '{RATE}'").replace("{source}", "file://rows.csv")
WINDOWS: Final = "SELECT k, count(*) AS n, sum(v) AS t FROM s [RANGE 500 MICROSECONDS TUMBLING] GROUP BY k"

Rows = Counter[tuple[Any, ...]]


@dataclass(frozen=True)
class Kind:
    """A kind of query.

    Attributes:
        name: for people.
        text: its statements, run in the folder that has `rows.csv`; `{kafka}`, `{redis}`, `{nats}` are addresses of brokers.
        found: what its sinks have, in that folder.
        live: how rows come to a source without an end: `file`, `kafka`, `redis` or `nats`; None for one that ends.
        into: sinks beside those of its text.
    """

    name: str
    text: str
    found: Callable[[Path], Rows]
    live: str | None = None
    into: tuple[str, ...] = ()


def _parquet(at: Path) -> Rows:
    files = sorted(at.glob("out/*.parquet"))
    return Counter(pl.concat([pl.read_parquet(f) for f in files]).rows()) if files else Counter()


def _sqlite(at: Path) -> Rows:
    path = at / "out.db"
    if not path.exists():
        return Counter()
    with closing(sqlite3.connect(path, timeout=60)) as connection:
        there = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'answers'").fetchone()
        return Counter(connection.execute("SELECT * FROM answers").fetchall()) if there else Counter()


def _duckdb(at: Path) -> Rows:
    path = at / "out.duckdb"
    if not path.exists():
        return Counter()
    try:
        with duckdb.connect(path, read_only=True) as connection:
            return Counter(connection.execute("SELECT * FROM answers").fetchall())
    except (duckdb.CatalogException, duckdb.IOException):
        return Counter()


def _delta(at: Path) -> Rows:
    path = at / "out"
    return Counter(pl.read_delta(str(path)).rows()) if (path / "_delta_log").exists() else Counter()


def _both(at: Path) -> Rows:
    return Counter((0, *r) for r in _parquet(at).elements()) + Counter((1, *r) for r in _sqlite(at).elements())


KINDS: Final = (
    Kind("windows of a file into Parquet", FILE + f"INSERT INTO 'file://out/' {WINDOWS}", _parquet),
    Kind(
        "rows of a file into SQLite",
        FILE + "INSERT INTO 'sqlite://out.db?table=answers' SELECT k, v * 2 AS w, ts FROM s WHERE v % 3 <> 0",
        _sqlite,
    ),
    Kind(
        "a join into DuckDB",
        FILE + FILE.replace("STREAM s ", "STREAM r ") + "INSERT INTO 'duckdb://out.duckdb?table=answers' "
        "SELECT a.ts, a.v, b.v AS w FROM s [RANGE 10 MICROSECONDS] a JOIN r [RANGE 10 MICROSECONDS] b "
        "ON a.k = b.k AND a.v = b.v + 1",
        _duckdb,
    ),
    Kind(
        "running totals into SQLite by key",
        FILE + "INSERT INTO 'sqlite://out.db?table=answers' WITH (key = 'k') "
        "SELECT k, count(*) AS n, sum(v) AS t FROM s GROUP BY k",
        _sqlite,
    ),
    Kind(
        "sessions beside a table into two sinks",
        "CREATE TABLE names (k STRING, name STRING);\nINSERT INTO names VALUES ('a', 'A'), ('b', 'B');\n"
        + FILE
        + "CREATE STREAM named AS SELECT s.k, name, v, ts FROM s JOIN names ON s.k = names.k;\n"
        "SELECT name, count(*) AS n FROM named [SESSION 4 MICROSECONDS PARTITION BY name] GROUP BY name",
        _both,
        into=("file://out/", "sqlite://out.db?table=answers"),
    ),
    Kind(
        "windows of a file that grows into Delta",
        STREAM.replace("{options}", "follow = 'true'").replace("{source}", "file://live.csv")
        + f"INSERT INTO 'delta://out' {WINDOWS}",
        _delta,
        "file",
    ),
    Kind(
        "rows of Kafka into Parquet",
        STREAM.replace("{options}", "start = 'earliest'").replace("{source}", "kafka://{kafka}/rows")
        + "INSERT INTO 'file://out/' SELECT k, v + 1 AS w, ts FROM s",
        _parquet,
        "kafka",
    ),
    Kind(
        "entries of Redis into SQLite",
        STREAM.replace("{options}", "start = 'earliest'").replace("{source}", "{redis}/rows")
        + f"INSERT INTO 'sqlite://out.db?table=answers' {WINDOWS}",
        _sqlite,
        "redis",
    ),
    Kind(
        "messages of JetStream into Parquet",
        STREAM.replace("{options}", "start = 'earliest'").replace("{source}", "{nats}/rows")
        + "INSERT INTO 'file://out/' SELECT k, v + 1 AS w, ts FROM s",
        _parquet,
        "nats",
    ),
)


class Brokers:
    """Brokers of live rows, each started when it is first asked for."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="brokers-")
        self._made: dict[str, Any] = {}

    def _of(self, scheme: str) -> Any:
        from tests.leftovers import shared
        from tests.sources.senders import Nats, Redis
        from tests.topics import Kafka

        if scheme not in self._made:
            folder = Path(self._folder.name) / scheme
            folder.mkdir()
            with shared():
                self._made[scheme] = Kafka() if scheme == "kafka" else {"redis": Redis, "nats": Nats}[scheme](folder)
        return self._made[scheme]

    def close(self) -> None:
        for scheme in self._made.keys() - {"kafka"}:
            self._made[scheme].close()
        self._made.clear()
        self._folder.cleanup()

    def addressed(self, text: str, topic: str) -> str:
        """A text with an address and a topic of its own in the place of `{kafka}/rows` and the like."""
        for scheme, name in (("kafka", topic), ("redis", topic), ("nats", f"kept.{topic}")):
            if f"{{{scheme}}}" in text:
                at = self._of(scheme).address.rpartition("/")[0] if scheme != "kafka" else self._of(scheme).address
                text = text.replace(f"{{{scheme}}}/rows", f"{at}/{name}")
        return text

    def give(self, scheme: str, topic: str, lines: list[str]) -> None:
        """Rows come to a topic."""
        broker = self._of(scheme)
        if scheme == "kafka":
            broker.spread(topic, ((0, _json(line)) for line in lines))
        elif scheme == "nats":
            broker.keep(*map(_json, lines), subject=f"kept.{topic}")
        else:
            with broker.client.pipeline() as pipe:
                for line in lines:
                    pipe.xadd(topic, json.loads(_json(line)))
                pipe.execute()


def lines(rows: int, seed: int) -> list[str]:
    """Rows out of order by a little, some of them late, some that are none; the last is far ahead of all others."""
    rng = random.Random(seed)
    made = []
    for i in range(rows):
        late = 900 if rng.random() < 0.01 else rng.randrange(20)
        value = "no number" if rng.random() < 0.01 else str(rng.randrange(100))
        made.append(f"{max(0, i - late)},{rng.choice('abc')},{value}")
    return [*made, f"{rows + 100_000},a,1"]


@dataclass
class Told:
    """What came of a kind: kills, rows that are missing, and rows that are there though they should not be."""

    kills: int = 0
    lost: int = 0
    doubled: int = 0

    def add(self, other: Told) -> None:
        """Count that too."""
        self.kills += other.kills
        self.lost += other.lost
        self.doubled += other.doubled


class Trial:
    """One query, killed again and again.

    Args:
        kind: which.
        at: an empty folder.
        brokers: where live rows come from.
        seed: of its rows and moments.
    """

    def __init__(self, kind: Kind, at: Path, brokers: Brokers, seed: int) -> None:
        self.kind = kind
        self.at = at
        self._brokers = brokers
        self._rng = random.Random(seed)
        self._lines = lines(ROWS, seed)
        self._given = 0
        self._topic = f"rows{seed}"
        for folder in (at / "killed", at / "whole"):
            folder.mkdir()
            (folder / "rows.csv").write_text("\n".join(["ts,k,v", *self._lines]) + "\n")
            (folder / "live.csv").write_text("ts,k,v\n")
            (folder / "text.sql").write_text(brokers.addressed(kind.text, self._topic))

    def run(self, kills: int) -> Told:
        """Kill it so many times, let it come to its end, and compare."""
        killed = self.at / "killed"
        self._give(1)
        for _ in range(kills):
            process = self._start(killed, checkpoint=True)
            try:
                self._let_it_run(process, killed, len(self._lines) // (kills + 1))
            finally:
                process.send_signal(signal.SIGKILL)
                process.wait()
        self._give(len(self._lines))
        expected = self._whole()
        self._to_the_end(killed, expected)
        found = self.kind.found(killed)
        lost, doubled = (expected - found).total(), (found - expected).total()
        sides = self._sides(killed), self._sides(self.at / "whole")
        lost += sum(((b[n] - a[n]).total() for a, b in [sides] for n in b), 0)
        doubled += sum(((a[n] - b[n]).total() for a, b in [sides] for n in b), 0)
        return Told(kills, lost, doubled)

    def _let_it_run(self, process: subprocess.Popen[bytes], folder: Path, rows: int) -> None:
        """Some time, mostly from when the query has started, while rows come."""
        began = folder / "began"
        if self._rng.random() < 0.9:  # now and then it is killed while it starts
            end = time.monotonic() + PATIENCE
            while not began.exists() and process.poll() is None and time.monotonic() < end:
                time.sleep(0.01)
        began.unlink(missing_ok=True)
        moment, steps = self._rng.random() * 0.8, 4
        for _ in range(steps):
            time.sleep(moment / steps)
            self._give(rows // steps)

    def _start(self, folder: Path, *, checkpoint: bool) -> subprocess.Popen[bytes]:
        words = [sys.executable, "-m", "tests.faults.kills", "--child", str(folder), json.dumps(list(self.kind.into))]
        with (folder / "log").open("ab") as log:
            return subprocess.Popen([*words, "yes" if checkpoint else ""], cwd=ROOT, stdout=log, stderr=log)

    def _give(self, count: int) -> None:
        """Rows come to a live source."""
        some = self._lines[self._given : self._given + count]
        self._given += len(some)
        if self.kind.live == "file" and some:
            for folder in ("killed", "whole"):
                with (self.at / folder / "live.csv").open("a") as file:
                    file.write("\n".join(some) + "\n")
        elif self.kind.live is not None and some:
            self._brokers.give(self.kind.live, self._topic, some)

    def _whole(self) -> Rows:
        """What a run gives that nobody kills."""
        folder = self.at / "whole"
        process = self._start(folder, checkpoint=False)
        try:
            if self.kind.live is None:
                assert process.wait(PATIENCE) == 0, (folder / "log").read_text()
            else:
                self._until(lambda: (folder / "late.json").exists(), process, folder)
                process.terminate()
                process.wait(PATIENCE)
        finally:
            process.kill()
            process.wait()
        return self.kind.found(folder)

    def _to_the_end(self, folder: Path, expected: Rows) -> None:
        process = self._start(folder, checkpoint=True)
        try:
            if self.kind.live is None:
                assert process.wait(PATIENCE) == 0, (folder / "log").read_text()
                return
            self._until(lambda: self.kind.found(folder).total() >= expected.total(), process, folder)
            (folder / "late.json").unlink(missing_ok=True)
            process.terminate()
            process.wait(PATIENCE)
        finally:
            process.kill()
            process.wait()

    @staticmethod
    def _until(condition: Callable[[], bool], process: subprocess.Popen[bytes], folder: Path) -> None:
        end = time.monotonic() + PATIENCE
        while not condition() and time.monotonic() < end:
            assert process.poll() is None, (folder / "log").read_text()
            time.sleep(0.1)

    @staticmethod
    def _sides(folder: Path) -> dict[str, Rows]:
        said = json.loads((folder / "late.json").read_text())
        return {name: Counter(tuple(row) for row in rows) for name, rows in said.items()}


def _json(line: str) -> str:
    ts, k, v = line.split(",")
    return json.dumps({"ts": int(ts), "k": k, "v": int(v) if v.isdigit() else v})


def child(folder: str, into: str, checkpoint: str) -> None:
    """The process that is killed: the query, until its end or SIGTERM; then its late rows and errors go to a file."""
    import os

    from jupyter_stream import Query, Session

    os.chdir(folder)
    stop: list[bool] = []
    signal.signal(signal.SIGTERM, lambda *_: stop.append(True))
    options: dict[str, Any] = {"checkpoint": "checkpoint", "checkpoint_every": EVERY} if checkpoint else {}
    text = Path("text.sql").read_text()
    if sinks := json.loads(into):
        options["into"] = sinks
    with Session() as session:
        query = next(q for q in session.execute(text, **options) if isinstance(q, Query))
        Path("began").touch()
        quiet = time.monotonic()
        rows, told = -1, False
        while not query.wait(0.05) and not stop:
            if (now := query.stats["rows_in"]) != rows:
                rows, quiet = now, time.monotonic()
            if not checkpoint and not told and rows >= ROWS * 0.98 and time.monotonic() - quiet > 2:
                for writer in query.writers:
                    writer.settle()
                told = _tell(session)
        query.stop()
        query.wait()
        _tell(session)


def _tell(session: Any) -> bool:
    sides = {f"{kind}({n})": session.side_stream(kind, n).frame() for n in ("s",) for kind in ("late", "errors")}
    part = Path("late.json.part")
    part.write_text(json.dumps({name: [[str(v) for v in row] for row in f.rows()] for name, f in sides.items()}))
    part.replace("late.json")
    return True


def trials(count: int, seed: int, each: int = 5, only: str = "") -> Iterator[tuple[Kind, Told]]:
    """Kills, kind after kind, a few for each query."""
    kinds, done = [kind for kind in KINDS if only in kind.name], 0
    with closing(Brokers()) as brokers:
        for i in range(10_000):
            if done >= count:
                return
            kind, kills = kinds[i % len(kinds)], min(each, count - done)
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
                yield kind, Trial(kind, Path(folder), brokers, seed + i).run(kills)
            done += kills


def main() -> int:
    """Print what came of each trial and of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--each", type=int, default=5, help="kills of one query")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="kinds whose name holds this")
    said = parser.parse_args()
    whole: dict[str, Told] = {}
    for kind, told in trials(said.count, said.seed, said.each, said.only):
        whole.setdefault(kind.name, Told()).add(told)
        print(f"{kind.name}: {told.kills} kills, {told.lost} lost, {told.doubled} doubled", flush=True)
    of_all = Told()
    for told in whole.values():
        of_all.add(told)
    print(f"all: {of_all.kills} kills, {of_all.lost} rows lost, {of_all.doubled} rows doubled")
    return int(bool(of_all.lost or of_all.doubled))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(*sys.argv[2:])
    else:
        sys.exit(main())
