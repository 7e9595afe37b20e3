"""A flood at 2, 5 and 10 times what exact answers allow, a query that tolerates errors: `python approximation.py [seconds]`.

Beside each answer stands the exact one, by brute force over all rows that came. Printed are how many answers are within the
declared error, how many within 1.96 of their own standard errors (95% is right), whether the share that is said is the share that
was looked at, how late answers come in the first and in the last third of the run, and the memory that the process grew by.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import numpy as np
import polars as pl
import psutil

from jupyter_stream import Query, Session

ROWS = 200_000
"""Rows that are played again and again."""
CALM = 3.0
"""Seconds before the flood, at half of what exact answers allow."""
STEP = 0.02
"""Seconds between two lots of rows."""
QUERY = """SELECT k, count(*) AS n, sum(v) AS total, avg(v) AS mean FROM flood [RANGE 2 SECONDS SLIDE 1 SECOND]
WHERE sha2(sha2(word, 256), 256) > '4' GROUP BY k"""
TOLERANCE = " WITH TOLERANCE (SAMPLE AT LEAST 1, ERROR AT MOST 5)"
STREAM = "CREATE STREAM flood (ts BIGINT, k BIGINT, v DOUBLE, word STRING) ORDER BY ts SOURCE '{0}'"
VALUES = ("n", "total", "mean")
ERROR = 0.05


def rows() -> pl.DataFrame:
    """Skewed values of a few keys, and words."""
    rng = np.random.default_rng(23)
    letters = rng.choice(list("abcdefghij"), (ROWS, 10))
    return pl.DataFrame(
        {
            "k": rng.choice(4, ROWS, p=[0.4, 0.3, 0.2, 0.1]),
            "v": rng.lognormal(1.0, 0.5, ROWS),
            "word": ["".join(word) for word in letters],
        }
    )


@dataclass
class Flood:
    """A live source of so many rows a second, whatever happens to them: those it is held back with come late, and together.

    Attributes:
        rate: rows a second, behind three seconds of `calm`.
        seconds: for how long.
        sent: when each row that came was due, microseconds since 1970.
    """

    base: pl.DataFrame
    calm: float
    rate: float
    seconds: float
    sent: list[np.ndarray[Any, Any]] = field(default_factory=list)

    def lots(self) -> Iterator[pl.DataFrame]:
        """The rows."""
        start, done = time.time(), 0
        while (now := time.time() - start) < self.seconds:
            due = int(min(now, CALM) * self.calm + max(0.0, now - CALM) * self.rate)
            if due - done < self.calm * STEP:
                time.sleep(STEP / 4)
                continue
            due = min(due, done + 1_000_000)
            at = np.arange(done, due)
            first = int(CALM * self.calm)
            passed = np.where(at < first, at / self.calm, CALM + (at - first) / self.rate)
            times = ((start + passed) * 1e6).astype(np.int64)
            self.sent.append(times)
            lots = [self.base[first % ROWS : min(first % ROWS + due - first, ROWS)] for first in starts(done, due)]
            yield pl.concat(lots).with_columns(ts=pl.Series(times)).select("ts", "k", "v", "word")
            done = due

    def exact(self) -> pl.DataFrame:
        """The exact answers."""
        times = np.concatenate(self.sent)
        at = np.arange(times.size) % ROWS
        kept = np.array([hashed(hashed(word)) > "4" for word in self.base["word"]])[at]
        frame = pl.DataFrame(
            {"ts": times[kept], "k": self.base["k"].to_numpy()[at[kept]], "v": self.base["v"].to_numpy()[at[kept]]}
        )
        second = frame.select("k", "v", end=(pl.col("ts") // 1_000_000 + 1) * 1_000_000)
        sums = second.group_by("end", "k").agg(n=pl.len(), total=pl.col("v").sum())
        both = pl.concat([sums, sums.with_columns(pl.col("end") + 1_000_000)]).group_by("end", "k").sum()
        return both.with_columns(mean=pl.col("total") / pl.col("n"))

    def came(self) -> pl.DataFrame:
        """How many rows came, by extent."""
        ends, counts = np.unique(np.concatenate(self.sent) // 1_000_000 * 1_000_000 + 1_000_000, return_counts=True)
        some = pl.DataFrame({"end": ends, "came": counts})
        return pl.concat([some, some.with_columns(pl.col("end") + 1_000_000)]).group_by("end").sum()


def starts(first: int, last: int) -> list[int]:
    """Where the rows from first to last begin, and go on at the beginning of those that are played."""
    return [first, *range((first // ROWS + 1) * ROWS, last, ROWS)]


def hashed(text: str) -> str:
    """SHA-256 in hexadecimal digits."""
    return sha256(text.encode()).hexdigest()


def capacity(base: pl.DataFrame) -> float:
    """Rows a second that exact answers allow: a replay as fast as it is taken, the better of two."""
    rates = []
    for _ in range(2):
        times = np.arange(3 * ROWS) * 10
        replay = pl.concat([base] * 3).with_columns(ts=pl.Series(times)).select("ts", "k", "v", "word")
        with Session({"replay": replay}) as session:
            session.execute(STREAM.format("frame://replay"))
            began = time.perf_counter()
            (query,) = session.execute(QUERY)
            query.wait(300)
            rates.append(replay.height / (time.perf_counter() - began))
    return max(rates)


@dataclass(frozen=True)
class Measured:
    """What a run came to."""

    answers: int
    within: float
    covered: dict[str, float]
    shares: tuple[float, float]
    share_error: float
    late: tuple[float, float]
    grown: int
    moments: list[str]


def run(
    base: pl.DataFrame, most: float, rate: float, seconds: float, tolerance: str = TOLERANCE, memory: str = "2 GB"
) -> Measured:
    """One flood."""
    flood = Flood(base, most / 2, rate, seconds + CALM)
    seen: list[tuple[int, float]] = []
    gc.collect()
    before = psutil.Process().memory_info().rss
    with Session({"lots": flood.lots()}, memory=memory) as session:
        session.execute(STREAM.format("python://lots"))
        (query,) = session.execute(QUERY + tolerance)
        assert isinstance(query, Query)
        query.on_result(lambda frame: seen.append((int(frame["window_end"].max()), time.time())))  # type: ignore[arg-type]
        query.wait(seconds * 20 + 60)
        grown = psutil.Process().memory_info().rss - before - sum(t.nbytes for t in flood.sent)
        answers = query.to_polars()
        easing = query._pipeline.easing  # type: ignore[union-attr]
        moments = [] if easing is None else [m.what for m in easing.moments]
    return measured(flood, answers, seen, grown, moments)


def measured(
    flood: Flood, answers: pl.DataFrame, seen: list[tuple[int, float]], grown: int, moments: list[str]
) -> Measured:
    """Answers beside the exact ones."""
    if "precision" not in answers.columns:
        errors = {name: pl.lit(0.0) for name in VALUES}
        answers = answers.with_columns(share=pl.lit(1.0), **{f"error {n}": e for n, e in errors.items()})
    else:
        precision = answers.get_column("precision").struct.unnest()
        error = precision.get_column("error").struct.unnest()
        answers = answers.with_columns(
            precision.get_column("share"), *(error.get_column(n).alias(f"error {n}") for n in VALUES)
        )
    both = answers.join(flood.exact(), left_on=["window_end", "k"], right_on=["end", "k"], suffix=" exact")
    both = both.join(flood.came(), left_on="window_end", right_on="end")
    assert both.height == answers.height > 0
    off = {n: (both[n] - both[f"{n} exact"]).abs() for n in VALUES}
    within = float(np.mean([(off[n] <= ERROR * both[f"{n} exact"]).mean() for n in VALUES]))
    touched = (both["share"] < 1).to_numpy()
    covered = {
        n: float((off[n] <= 1.96 * both[f"error {n}"] + 1e-9).to_numpy()[touched].mean()) if touched.any() else 1.0
        for n in VALUES
    }
    # a share of rows is a whole number of rows over those that came
    rows_looked_at = both["share"] * both["came"]
    share_error = float((rows_looked_at - rows_looked_at.round()).abs().max())  # type: ignore[arg-type]
    late = [at - end / 1e6 for end, at in sorted(seen)][int(CALM) :]
    third = max(1, len(late) // 3)
    return Measured(
        both.height, within, covered, (float(both["share"].min()), float(both["share"].mean())), share_error,  # type: ignore[arg-type]
        (float(np.median(late[:third])), float(np.median(late[-third - 1 : -1] or late))), grown, moments,
    )  # fmt: skip


def main() -> None:
    """Print a line for each flood."""
    parser = argparse.ArgumentParser()
    parser.add_argument("seconds", type=float, nargs="?", default=15.0)
    seconds = parser.parse_args().seconds
    base = rows()
    run(base, 20_000, 10_000, 1.0)  # warm up
    most = capacity(base)
    print(f"exact answers allow {most:,.0f} rows/s")
    for times, tolerance in ((0.5, TOLERANCE), (2, ""), (2, TOLERANCE), (5, TOLERANCE), (10, TOLERANCE)):
        found = run(base, most, times * most, seconds, tolerance)
        least, mean = found.shares
        print(
            f"{times:4g} x {'tolerant' if tolerance else 'exact   '}  {found.answers:4} answers, {found.within:6.1%} within 5%, "
            f"within 1.96 errors {', '.join(f'{n} {c:.0%}' for n, c in found.covered.items())}; share at least {least:.1%}, "
            f"on average {mean:.1%}, said wrong by {found.share_error:.2g} rows; late by {found.late[0]:.2f} s at first, "
            f"{found.late[1]:.2f} s in the end; {found.grown / 1e6:+.0f} MB; {'; '.join(found.moments[:3])}",
            flush=True,
        )


if __name__ == "__main__":
    main()
