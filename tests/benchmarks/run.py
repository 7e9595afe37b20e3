"""Runs the benchmarks and prints the tables: `python tests/benchmarks/run.py [names]`, everything where no name is given.

`--without ours` leaves a contender out; `--list` says what there is. Nothing here asserts a time: the figures are for reading.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import distinct  # noqa: E402
import join  # noqa: E402
import nexmark  # noqa: E402
import polars as pl  # noqa: E402
import ratio  # noqa: E402
import sliding  # noqa: E402
import tumbling  # noqa: E402
import tuples  # noqa: E402
from polars.testing import assert_frame_equal  # noqa: E402
from race import CONTENDERS, Race, main  # noqa: E402

RACES: tuple[Race, ...] = (
    *tumbling.RACES,
    *sliding.RACES,
    *distinct.RACES,
    *nexmark.RACES,
    *ratio.RACES,
    *tuples.RACES,
    *join.RACES,
)
MEASUREMENTS = ("startup", "memory", "latency", "skewed", "ordered_join", "flush", "promising", "keyed_tuples", "sinks")
"""Scripts beside this file that measure something else than rows per second, and print their own lines."""
TIMES = 3


class Contender:
    """A contender's process, warmed up, waiting to be told to run."""

    def __init__(self, race: Race, who: str, answers: Path) -> None:
        self.who = who
        self.runs: list[dict[str, Any]] = []
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--contender", race.name, who, str(answers)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "POLARS_MAX_THREADS": "2"},
        )
        self.ready = self._line()

    def _line(self) -> dict[str, Any] | None:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def run(self) -> None:
        """One timed run."""
        if self.ready is None:
            return
        assert self.process.stdin is not None
        print("go", file=self.process.stdin, flush=True)
        done = self._line()
        if done is None:
            self.ready = None
        else:
            self.runs.append(done)

    def end(self) -> None:
        """Close the process and wait for it."""
        if self.process.stdin is not None and self.process.poll() is None:
            self.process.stdin.close()
        self.process.wait()


def size(count: float) -> str:
    """Bytes for people."""
    return f"{count / 1e6:,.1f} MB" if count >= 1e5 else f"{count / 1e3:,.1f} kB"


def agree(race: Race, who: list[str], answers: Path) -> str:
    """Whether the contenders' answers on the first rows are the same."""
    frames = {w: pl.read_parquet(answers / f"{race.name}-{w}.parquet") for w in who}
    wrong = []
    for w in who[1:]:
        try:
            assert_frame_equal(frames[who[0]], frames[w], check_exact=False)
        except AssertionError as error:
            wrong.append(f"{who[0]} and {w} differ: {' '.join(str(error).split())[:300]}")
    return "; ".join(wrong) or f"same answers ({frames[who[0]].height:,} rows checked)"


def held(race: Race, contenders: tuple[str, ...], times: int) -> None:
    """Run one race, the contenders in turn so that a busy machine is busy for all, and print its lines."""
    with tempfile.TemporaryDirectory() as folder:
        answers = Path(folder)
        running = [Contender(race, who, answers) for who in contenders]
        try:
            for _ in range(times):
                for one in running:
                    one.run()
        finally:
            for one in running:
                one.end()
        answered = [c.who for c in running if c.ready is not None]
        done = {c.who: c.runs for c in running if c.runs and c.ready is not None}
        print(f"\n{race.name}: {race.title}, {race.rows / 1e6:g} M rows")
        speeds = {who: race.rows / min(r["seconds"] for r in runs) / 1e6 for who, runs in done.items()}
        for who in contenders:
            if who not in answered:
                print(f"  {who:8s} failed, see above")
            if who not in done:
                continue
            run = min(done[who], key=lambda r: r["seconds"])
            extra = f"   state {size(run['state'])}, late {run['late']}" if "state" in run else ""
            rss = max(r["rss"] for r in done[who]) - next(c.ready for c in running if c.who == who)["rss_before"]  # type: ignore[index]
            print(
                f"  {who:8s}{speeds[who]:8.1f} M rows/s   {run['cpu'] / run['seconds']:4.2f} cores"
                f"   {race.rows / min(r['cpu'] for r in done[who]) / 1e6:6.1f} M rows per core and s"
                f"   peak RSS +{size(max(rss, 0))}   rows out {run['rows_out']:,}{extra}"
            )
            if "spent" in run:
                print("           ms in " + ", ".join(f"{k} {v}" for k, v in run["spent"].items()))
        others = [speeds[w] for w in speeds if w != "ours"]
        if "ours" in speeds and others:
            ratio_ = speeds["ours"] / max(others)
            target = (
                f"target {race.target:g}, {'met' if ratio_ >= race.target else 'MISSED'}"
                if race.target
                else "no target"
            )
            print(f"  ratio to the faster {ratio_:.2f} ({target})")
        if len(answered) > 1:
            print(f"  {agree(race, answered, answers)}", flush=True)


def load() -> str:
    """How busy the machine is with other things."""
    return f"load {os.getloadavg()[0]:.2f}" if hasattr(os, "getloadavg") else "load unknown"


def command() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="races or measurements; a prefix is enough")
    parser.add_argument("--without", action="append", default=[], choices=CONTENDERS)
    parser.add_argument("--times", type=int, default=TIMES, help="timed runs; 0 only checks that answers agree")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--contender", nargs=3, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.contender:
        main(RACES, asked.contender)
        return
    if asked.list:
        print("\n".join([f"{r.name:16s} {r.title}" for r in RACES] + list(MEASUREMENTS)))
        return
    wanted = tuple(asked.names) or ("",)
    if len(getattr(os, "sched_getaffinity", lambda _: range(2))(0)) > 2:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    for race in RACES:
        if race.name.startswith(wanted):
            print(f"\n[{load()}]", end="")
            held(race, tuple(c for c in CONTENDERS if c not in asked.without), asked.times)
    for name in MEASUREMENTS:
        if name.startswith(wanted) and "ours" not in asked.without:
            print(f"\n{name} [{load()}]", flush=True)
            subprocess.run([sys.executable, str(HERE / f"{name}.py")], check=False)


if __name__ == "__main__":
    command()
