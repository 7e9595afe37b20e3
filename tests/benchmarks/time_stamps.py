"""Who waits for a silent stream, and for how long: Figures 5 to 8 of the time-stamp paper, with this engine.

Two streams with times of arrival, each through a filter that 95 % of rows pass, put together in the order of their times (Figure
2b of the paper). The first is fast, the second sparse; arrivals are Poisson. Measured is where answers leave the last operator.

`python time_stamps.py [--quick] [--figures FOLDER]`: eight minutes, or three. The quick form has 200 rows a second where the
paper has 1,000, and measures for less long. Rows sent in the first second and a half count for nothing: modules load.
`--at-once` and `--peaks SECONDS` measure several modes at the same time.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl

from jupyter_stream import Session, schedulers
from jupyter_stream.core.messages import Batch, Message, Punctuation
from jupyter_stream.flow.in_order import InOrder
from jupyter_stream.session.query import Query
from jupyter_stream.windowed.window_aggregate import WindowAggregate

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.benchmarks.promising_figures import Figure, draw
from tests.schedulers.virtual import Virtual, step

CREATE = "CREATE STREAM {} (sent BIGINT, i BIGINT) {} SOURCE 'python://{}' {}"
UNION = """CREATE STREAM both ORDER BY at AS
SELECT sent, i, current_time AS at FROM a WHERE i % 20 <> 0
UNION ALL SELECT sent, i, current_time AS at FROM b WHERE i % 20 <> 0"""
SLIDING = """CREATE STREAM counted AS SELECT count(*) AS i, max(sent) AS sent FROM a [RANGE 1 SECOND SLIDE {} MILLISECONDS];
CREATE STREAM both ORDER BY at AS
SELECT sent, i, window_time AS at FROM counted UNION ALL SELECT sent, i, current_time AS at FROM b"""
WARM = 1.5
"""Seconds before anything counts."""
PERIODS = {"1/s": "periodic 1 second", "10/s": "periodic 100 ms", "100/s": "periodic 10 ms"}


class Arrivals:
    """A live source: bursts of rows at Poisson times, until told to stop."""

    def __init__(self, rate: float, burst: int = 1, seed: int = 1) -> None:
        self.over = threading.Event()
        self._rate, self._burst = rate, burst
        self._rng = np.random.default_rng(seed)

    def __iter__(self) -> Iterator[pl.DataFrame]:
        at, i = time.perf_counter(), 0
        while True:
            at += self._rng.exponential(self._burst / self._rate)
            if self.over.wait(max(0.0, at - time.perf_counter())):
                return
            now = time.time_ns() // 1000
            yield pl.DataFrame({"sent": [now] * self._burst, "i": np.arange(i + 1, i + 1 + self._burst)})
            i += self._burst


@dataclass
class Meter:
    """Takes answers where they leave the last operator, on the engine's thread."""

    since: float
    bytes: int = 0
    late: list[float] = field(default_factory=list)
    times: list[float] = field(default_factory=list)

    @property
    def full(self) -> bool:
        """Never."""
        return False

    def put(self, answers: pl.DataFrame, /) -> None:
        """Note how long ago each was sent."""
        now = time.time_ns() // 1000
        answers = answers.filter(pl.col("sent") >= self.since * 1e6)
        self.late += ((now - answers["sent"]) / 1e3).to_list()
        self.times += [now / 1e6] * answers.height

    def wait_for_room(self, while_: Callable[[], bool]) -> None:
        """There is room."""

    def end(self, *, patient: bool) -> None:
        """Nothing more comes."""


class Held:
    """How many rows the union holds, and for how much of the time it holds any: it idle-waits then."""

    def __init__(self, union: InOrder) -> None:
        self.rows = 0
        self.begin()
        take, tell = union.on_batch, union.on_punctuation

        def on_batch(port: int, batch: Batch) -> Iterator[Message]:
            yield from take(port, batch)
            self._now(self.rows + batch.rows)

        def on_punctuation(port: int, punctuation: Punctuation) -> Iterator[Message]:
            for message in tell(port, punctuation):
                if isinstance(message, Batch):
                    self._now(self.rows - message.rows)
                yield message

        union.on_batch, union.on_punctuation = on_batch, on_punctuation  # type: ignore[method-assign]

    def begin(self) -> None:
        """What was before counts for nothing."""
        self.peak = self.rows
        self.began = self._since = time.perf_counter()
        self.waited = 0.0

    def _now(self, rows: int) -> None:
        now = time.perf_counter()
        if self.rows:
            self.waited += now - self._since
        self.rows, self._since = rows, now
        self.peak = max(self.peak, rows)

    @property
    def share(self) -> float:
        """Of the time, in percent."""
        self._now(self.rows)
        return 100 * self.waited / (self._since - self.began)


@dataclass(frozen=True)
class Case:
    """What is measured.

    Attributes:
        progress: when enabling time stamps are made; `latent` for latent streams.
        fast: rows a second of the first stream.
        sparse: those of the second.
        seconds: for how long.
        burst: rows that come together in the first.
        policy: the scheduler.
        query: the streams that are united.
        closed: whether windows tell the time only with their answers, as those of the paper's Figure 1.
    """

    progress: str
    fast: float = 1000
    sparse: float = 0.5
    seconds: float = 20
    burst: int = 1
    policy: str = "fifo"
    query: str = UNION
    closed: bool = False


@dataclass(frozen=True)
class Found:
    """Milliseconds from being sent to being given, by row; percent of time the union waits; most rows it held; stamps made."""

    late: np.ndarray
    waits: float
    peak: int
    made: int
    times: np.ndarray

    @property
    def mean(self) -> float:
        """The average latency."""
        return float(self.late.mean()) if self.late.size else float("nan")

    @property
    def burstiness(self) -> float:
        """Of rows given in each 0.02 s: the most less the least, by the average (the paper's)."""
        counts = np.histogram(self.times, np.arange(self.times[0], self.times[-1], 0.02))[0]
        return float((counts.max() - counts.min()) / counts.mean())


def measure(case: Case) -> Found:
    """Run it, live, and look."""
    sources = Arrivals(case.fast, case.burst), Arrivals(case.sparse, seed=2)
    meter = Meter(time.time() + WARM)
    with Session({"first": iter(sources[0]), "second": iter(sources[1])}) as session:
        latent = case.progress == "latent"
        time_, options = ("", "WITH (time = 'latent')") if latent else ("ORDER BY current_time", "")
        if not latent:
            session.progress(case.progress)
        session.schedule(case.policy)
        for name, source in (("a", "first"), ("b", "second")):
            session.execute(CREATE.format(name, time_, source, options))
        session.execute(case.query)
        (query,) = session.execute("SELECT sent, i FROM both")
        assert isinstance(query, Query)
        pipeline = query._pipeline
        held = session.engine.submit(lambda: _attached(pipeline, meter, case.closed)).result()
        time.sleep(WARM)
        session.engine.submit(held.begin).result()
        time.sleep(case.seconds)
        made = sum(f.stamper.made for f in session.engine.feeds)
        share = session.engine.submit(lambda: held.share).result()
        for source in sources:
            source.over.set()
        query.wait(30)
        return Found(np.array(meter.late), share, held.peak, made, np.array(meter.times))


def _attached(pipeline: object, meter: Meter, closed: bool) -> Held:
    assert hasattr(pipeline, "outboxes") and hasattr(pipeline, "graph")
    pipeline.outboxes.append(meter)
    operators = [s.operator for s in pipeline.graph.steps]
    if closed:
        for window in [o for o in operators if isinstance(o, WindowAggregate)]:
            window.on_punctuation = _only_with_answers(window.on_punctuation)  # type: ignore[method-assign]
    return Held(next(o for o in operators if isinstance(o, InOrder)))


def _only_with_answers(tell: Callable[[int, Punctuation], Iterator[Message]]) -> Callable[..., Iterator[Message]]:
    """A window without the paper's extension: it lets no time pass but that of the answers it gives."""

    def told(port: int, punctuation: Punctuation) -> Iterator[Message]:
        at: int | None = None
        for message in tell(port, punctuation):
            if isinstance(message, Batch):
                at = message.frame["$ts"].max()  # type: ignore[assignment]
                yield message
            elif at is not None:
                yield Punctuation(at)
                at = None

    return told


# -- the figures -----------------------------------------------------------------------------------------------------


def by_policy(policy: str, burst: int) -> float:
    """Average latency of a burst through a filter and a union that each take 1 for a row, row by row, by the engine's policy."""
    chain = [Virtual("filter", 1, 1)]
    chain.append(Virtual("union", 1, 1, chain[:1]))
    found = schedulers.scheduler(policy)
    order, now, given = found.order(), 0.0, []
    for _ in range(burst):
        chain[0].put(1, 0)
    while ready := [o for o in chain if not o.empty]:
        worked = step(order, ready, most=1)
        now += 1
        if worked is chain[1]:
            given.append(now)
    return float(np.mean(given))


def figure_5(seconds: float, fast: float) -> list[Figure]:
    """Depth first against breadth first, by rows in a burst."""
    print(
        "Figure 5b: average latency by burst size, in units of one operator's time for a row (engine's policies, virtual costs)"
    )
    sizes = (1, 2, 5, 10, 20, 50, 100)
    lines: dict[str, list[tuple[float | str, float]]] = {"DFS": [], "BFS": []}
    for n in sizes:
        dfs, bfs = by_policy("dfs", n), by_policy("bfs", n)
        assert dfs == n + 1 and bfs == 0.5 + 1.5 * n, (dfs, bfs)
        lines["DFS"].append((n, dfs))
        lines["BFS"].append((n, bfs))
        print(f"  n = {n:3}: DFS {dfs:6.1f} = n + 1, BFS {bfs:6.1f} = 0.5 + 1.5 n")
    real: dict[str, list[tuple[float | str, float]]] = {}
    print("Figure 5: the same policies on columns, live; mean latency in ms")
    for policy in ("dfs", "bfs"):
        for progress in ("none", "on demand"):
            for burst in (1, 100):
                found = measure(Case(progress, fast, 2, seconds, burst, policy))
                real.setdefault(f"{policy}, {progress}", []).append((burst, found.mean))
                print(f"  {policy}, {progress}, bursts of {burst}: {found.mean:.2f}")
    return [
        Figure("5b: policies on virtual costs", "rows in a burst", "latency, costs", lines),
        Figure("5: live, columns", "rows in a burst", "latency, ms", real),
    ]


def figures_6_7(seconds: float, rates: tuple[float, float], slow: tuple[float, float, float]) -> list[Figure]:
    """No stamps, periodic ones, on demand, latent."""
    modes = {"none": "none", **PERIODS, "on demand": "on demand", "latent": "latent"}
    print(f"Figure 6: {rates[0]:g} and {rates[1]:g} rows/s, {seconds:g} s each")
    print("  mode            mean ms  median ms   99 % ms   waits %   stamps")
    late, waits, peaks = [], [], []
    means, medians = {}, {}
    for name, progress in modes.items():
        found = measure(Case(progress, *rates, seconds))
        middle, high = np.quantile(found.late, [0.5, 0.99]) if found.late.size else (np.nan, np.nan)
        print(f"  {name:14}{found.mean:9.2f}{middle:11.2f}{high:10.2f}{found.waits:10.2f}{found.made:9}")
        means[name], medians[name] = found.mean, float(middle)
        late.append((name, found.mean))
        waits.append((name, found.waits))
    mean, median = (found["none"] / found["on demand"] for found in (means, medians))
    print(
        f"  on demand: mean {mean:.0f} x and median {median:.0f} x below none (goal 100), "
        f"median {medians['on demand'] - medians['latent']:+.2f} ms beside latent (goal 1 ms or 10 %)"
    )
    fast, rare, length = slow
    print(f"Figure 7: most rows held, {fast:g} and {rare:g} rows/s, {length:g} s each")
    for name, progress in modes.items():
        found = measure(Case(progress, fast=fast, sparse=rare, seconds=length))
        print(f"  {name:14}{found.peak:9}")
        peaks.append((name, float(found.peak)))
    return [
        Figure("6a: latency", "", "ms", {"": late}),
        Figure("6c: time the union waits", "", "%", {"": waits}),
        Figure("7: most rows held", "", "rows", {"": peaks}),
    ]


def figure_7_as_printed(seconds: float) -> None:
    """The most rows held at the paper's 50 and 0.05 rows/s: one sparse row in twenty seconds, so all modes at the same time."""
    modes = {"none": "none", **PERIODS, "on demand": "on demand", "latent": "latent"}
    cases = [Case(progress, fast=50, sparse=0.05, seconds=seconds) for progress in modes.values()]
    print(f"Figure 7: most rows held, 50 and 0.05 rows/s, {seconds:g} s, all at the same time")
    with ThreadPoolExecutor(len(cases)) as threads:
        for name, found in zip(modes, threads.map(measure, cases), strict=True):
            print(f"  {name:14}{found.peak:9}")


def side_by_side(seconds: float, rates: tuple[float, float]) -> None:
    """Three kinds at the same time in one session, so that whatever else the machine does is the same for all."""
    kinds = {
        "on demand": ("ORDER BY current_time", "WITH (progress = 'on demand')"),
        "latent": ("", "WITH (time = 'latent')"),
        "none": ("ORDER BY current_time", "WITH (progress = 'none')"),
    }
    names: dict[str, object] = {}
    meters, sources = {}, []
    with Session(names) as session:
        for kind, (time_, options) in kinds.items():
            short = kind[:2]
            for stream, rate in zip("ab", rates, strict=True):
                source = Arrivals(rate, seed=len(sources))
                sources.append(source)
                names[f"source_{stream}{short}"] = iter(source)
                session.execute(CREATE.format(f"{stream}{short}", time_, f"source_{stream}{short}", options))
            union = (
                UNION.replace("both", f"both{short}")
                .replace("FROM a", f"FROM a{short}")
                .replace("FROM b", f"FROM b{short}")
            )
            session.execute(union)
        queries = session.execute(";".join(f"SELECT sent, i FROM both{kind[:2]}" for kind in kinds))
        for kind, query in zip(kinds, queries, strict=True):
            assert isinstance(query, Query)
            meter = meters[kind] = Meter(time.time() + WARM)
            session.engine.submit(lambda q=query, m=meter: q._pipeline.outboxes.append(m)).result()
        time.sleep(WARM + seconds)
        for source in sources:
            source.over.set()
    print(f"At the same time, {rates[0]:g} and {rates[1]:g} rows/s: latency in ms")
    means: dict[str, float] = {}
    medians: dict[str, float] = {}
    for kind, meter in meters.items():
        low, middle, high = (float(q) for q in np.quantile(meter.late, [0.25, 0.5, 0.75]))
        means[kind], medians[kind] = float(np.mean(meter.late)), middle
        print(f"  {kind:14}mean {means[kind]:8.2f}  median {middle:8.2f}  half of them from {low:.2f} to {high:.2f}")
    mean, median = (found["none"] / found["on demand"] for found in (means, medians))
    print(
        f"  on demand: mean {mean:.0f} x, median {median:.0f} x below none (goal 100), "
        f"median {medians['on demand'] - medians['latent']:+.2f} ms beside latent (goal 1 ms or 10 %)"
    )


def figure_8(seconds: float, slides: Sequence[int], rate: float) -> list[Figure]:
    """Burstiness by slide: a window and a stream united. `closed` windows tell the time with their answers only."""
    print("Figure 8: burstiness of the output by slide: a window over a stream, united with another")
    kinds = {
        "none, closed": ("none", True),
        "none": ("none", False),
        "on demand": ("on demand", False),
    }
    lines: dict[str, list[tuple[float | str, float]]] = {name: [] for name in kinds}
    for slide in slides:
        for name, (progress, closed) in kinds.items():
            found = measure(Case(progress, rate, rate, seconds, query=SLIDING.format(slide), closed=closed))
            lines[name].append((slide, found.burstiness))
            print(f"  slide {slide:4} ms, {name}: {found.burstiness:.1f}")
    return [Figure("8: burstiness", "slide, ms", "burstiness", lines)]


def main() -> None:
    """Print the tables, draw the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--figures", type=Path)
    parser.add_argument(
        "--at-once", action="store_true", help="on demand, latent and none at the same time, and nothing else"
    )
    parser.add_argument(
        "--peaks", type=float, metavar="SECONDS", help="Figure 7 at the paper's 50 and 0.05 rows/s, and nothing else"
    )
    said = parser.parse_args()
    quick = said.quick
    if said.peaks:
        figure_7_as_printed(said.peaks)
        return
    side_by_side(10 if quick else 30, (50, 0.5))
    if said.at_once:
        return
    figures = [
        *figure_5(2 if quick else 6, 200 if quick else 1000),
        *figures_6_7(8 if quick else 20, (200 if quick else 1000, 0.5), (200, 0.5, 4) if quick else (500, 0.5, 20)),
        *figure_8(2 if quick else 5, (40, 400) if quick else (20, 50, 100, 200, 500), 200 if quick else 1000),
    ]
    if said.figures:
        draw(figures, "Time stamps", said.figures / "time_stamps.html")


if __name__ == "__main__":
    main()
