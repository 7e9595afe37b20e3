"""The five queries of the update-patterns paper (§6) by its three strategies: time per 1,000 tuples, and state.

`python tests/benchmarks/update_patterns.py [--windows 2000 200000] [--queries 1a 2a] [--step 100] [--figures folder]`.
Connections are synthetic: three links with one tuple per time unit each, protocols and skewed addresses like those of the LBL
trace the paper took. Tuples come in steps of 500 per link, or `--step`, after which all answers are up to date (the paper's eager
expiration interval is one tuple; the engine takes what has come, up to 65,536 rows). A
window is filled first, in large steps; then steps are timed, by the processor's time, some of each strategy in turn. All of
them have to give the same changes, row by row. The planner knows the links' rates and how many addresses there are, as it does
of streams that have run before.

With `--figures` a page with the paper's figures 9 to 17 is written, and what each shows is said.

Query 2b is where UPA gains least, 1.9 times at the largest window: two rows in three bring a pair that is new, and most of what
a step takes, giving each row's pair its slot, is the same by every strategy. Of 1.9 ms for 500 rows that is 1.1 (0.2 to look it
up, 0.2 to find which are new and enter them, 0.2 to keep their text, 0.1 to compare the others'); the answer's text takes 0.2,
and all that delta-star does with slots and times 0.6. Of the negative tuples' 3.4 ms 1.1 to 1.5 are the same.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
import polars as pl

from jupyter_stream import Session, binding, syntax
from jupyter_stream.core.messages import SIGN, TS, Batch, Message, Punctuation
from jupyter_stream.graph.graph import Graph, StepInput, build
from jupyter_stream.plan.rates import Rates
from jupyter_stream.plan.upkeep import Maintenance

UNIT = 1_000
"""Microseconds of a time unit."""
SOURCES, TARGETS = 2_000, 500
PROTOCOLS = {"telnet": 0.10, "ftp": 0.032, "nntp": 0.25, "smtp": 0.35, "finger": 0.268}
STEP, TURN = 500, 10
WINDOWS = (2_000, 10_000)
"""Unless said otherwise: a minute. The paper's go on to 200,000."""
RATES = Rates({f"link{n}": 1e6 / UNIT for n in (1, 2, 3)}, values={"srcIP": float(SOURCES)})
STRATEGIES = {
    "UPA(10)": Maintenance("upa", 10),
    "UPA(50)": Maintenance("upa", 50),
    "DIRECT": Maintenance("direct"),
    "NT": Maintenance("nt"),
}
COLOURS = {"UPA(10)": "#d62728", "UPA(50)": "#ff9896", "DIRECT": "#1f77b4", "NT": "#2ca02c"}
COLUMNS = "ts BIGINT, duration INT, protocol STRING, size INT, srcIP STRING, destIP STRING, WATERMARK FOR ts AS ts"


@dataclass(frozen=True)
class Query:
    """A query of the paper.

    Attributes:
        figure: number and title of the figures it is in: of times, and of space.
        sql: with `{w}` for the window.
        strategies: those the paper compares.
    """

    figure: str
    sql: str
    strategies: tuple[str, ...] = ("UPA(10)", "DIRECT", "NT")
    space: str | None = None


def _first(protocol: str) -> str:
    return (
        "SELECT l.srcIP, l.size, r.size FROM link1 {w} l, link2 {w} r"
        f" WHERE l.srcIP = r.srcIP AND l.protocol = '{protocol}' AND r.protocol = '{protocol}'"
    )


QUERIES = {
    "1a": Query("9: query 1, protocol = ftp", _first("ftp")),
    "1b": Query("10: query 1, protocol = telnet", _first("telnet"), ("UPA(10)", "UPA(50)", "DIRECT", "NT")),
    "2a": Query(
        "11: query 2, source addresses",
        "SELECT DISTINCT srcIP FROM link1 {w}",
        space="13: space of query 2, source addresses",
    ),
    "2b": Query(
        "12: query 2, pairs of addresses",
        "SELECT DISTINCT srcIP, destIP FROM link1 {w}",
        space="14: space of query 2, pairs",
    ),
    "3": Query(
        "15: query 3",
        "SELECT srcIP, size FROM link1 {w} EXCEPT ALL ON (srcIP) SELECT srcIP FROM link2 {w}",
        ("UPA(10)", "NT"),
    ),
    "4": Query(
        "16: query 4",
        "SELECT l.srcIP FROM (SELECT DISTINCT srcIP FROM link1 {w}) l JOIN (SELECT DISTINCT srcIP FROM link2 {w}) r"
        " ON l.srcIP = r.srcIP",
    ),
    "5": Query(
        "17: query 5",
        "SELECT n.srcIP, n.size, f.size FROM (SELECT srcIP, size FROM link1 {w}"
        " EXCEPT ALL ON (srcIP) SELECT srcIP FROM link2 {w}) n, link3 {w} f WHERE n.srcIP = f.srcIP AND f.protocol = 'ftp'",
        ("UPA(10)", "NT"),
    ),
}


def connections(link: int, tuples: int) -> pl.DataFrame:
    """One link's connections in order: one per time unit, sources after a power law."""
    rng = np.random.default_rng(link)
    weight = 1 / np.arange(1, SOURCES + 1) ** 0.8
    sources = rng.choice(SOURCES, tuples, p=weight / weight.sum())
    weight = 1 / np.arange(1, TARGETS + 1)
    targets = rng.choice(TARGETS, tuples, p=weight / weight.sum())
    names = pl.Series([f"128.3.{i // 250}.{i % 250}" for i in range(SOURCES)])
    others = pl.Series([f"131.{link}.{i // 250}.{i % 250}" for i in range(TARGETS)])
    protocols = pl.Series(list(PROTOCOLS))
    times = np.sort(rng.integers(0, tuples * UNIT, tuples))
    return pl.DataFrame(
        {
            "ts": times,
            "duration": rng.integers(1, 600, tuples).astype(np.int32),
            "protocol": protocols[pl.Series(rng.choice(len(PROTOCOLS), tuples, p=list(PROTOCOLS.values())))],
            "size": rng.integers(40, 100_000, tuples).astype(np.int32),
            "srcIP": names[pl.Series(sources)],
            "destIP": others[pl.Series(targets)],
            TS: times,
        }
    )


Row: TypeAlias = tuple[str, int, str, "Measured"]
"""Query, window, strategy, and what was measured."""


class Run:
    """A query's operators, driven step by step in this thread."""

    def __init__(self, sql: str, how: Maintenance) -> None:
        session = Session({f"rows{n}": connections(n, 1) for n in (1, 2, 3)})
        for n in (1, 2, 3):
            session.execute(f"CREATE STREAM link{n} ({COLUMNS}) SOURCE 'frame://rows{n}'")
        (statement,) = syntax.parse(f"CREATE VIEW v AS {sql}", {}, 1)
        assert isinstance(statement, syntax.CreateView)
        bound = binding.bind_view(statement, session.catalog)
        self.graph: Graph = build(replace(bound, maintenance=how, rates=RATES))
        session.close()
        self.changes: list[pl.DataFrame] = []

    def step(self, links: dict[str, pl.DataFrame], until: int) -> None:
        """Rows of each link, and that all before `until` have come."""
        for entry in self.graph.entries:
            frame = links[entry.stream.name]
            if frame.height:
                self._deliver(entry.target, Batch(frame))
        for entry in self.graph.entries:
            self._deliver(entry.target, Punctuation(until))

    def _deliver(self, target: StepInput | None, message: Message) -> None:
        if target is None:
            if isinstance(message, Batch):
                self.changes.append(message.frame)
            return
        operator = target.step.operator
        made = (
            operator.on_batch(target.port, message)
            if isinstance(message, Batch)
            else operator.on_punctuation(target.port, message)  # type: ignore[arg-type]
        )
        for one in made:
            self._deliver(target.step.target, one)

    @property
    def bytes(self) -> int:
        """State held."""
        return sum(s.operator.control.bytes for s in self.graph.steps)


@dataclass(frozen=True)
class Measured:
    """Of one query, window and strategy: milliseconds per 1,000 tuples, bytes of state, the changes given, sorted."""

    milliseconds: float
    bytes: int
    changes: pl.DataFrame


def measure(
    sql: str, window: int, strategies: tuple[str, ...], links: dict[str, pl.DataFrame], step: int, steps: int
) -> list[Measured]:
    """Fill the window, then time the steps: some of each strategy in turn, so that what slows the machine down slows all."""
    runs = [Run(sql.format(w=f"[RANGE {window} MILLISECONDS]"), STRATEGIES[name]) for name in strategies]
    at = 0
    filled = window + window // 10
    while at < filled:
        units = max(step, window // 20)
        for run in runs:
            _take(run, links, at, units)
        at += units
    took, read = [0.0] * len(runs), 0
    for run in runs:
        run.changes.clear()
    for first in range(0, steps, TURN):
        turn = range(at, at + min(TURN, steps - first) * step, step)
        read += len({e.stream.name for e in runs[0].graph.entries}) * step * len(turn)
        for i, run in enumerate(runs):
            began = time.process_time()
            for begin in turn:
                _take(run, links, begin, step)
            took[i] += time.process_time() - began
        at = turn.stop
    return [Measured(t * 1e6 / read, run.bytes, _sorted(run.changes)) for t, run in zip(took, runs, strict=True)]


def _sorted(changes: list[pl.DataFrame]) -> pl.DataFrame:
    """Changes in an order of their own; of what enters and leaves in one instant nothing."""
    if not changes:
        return pl.DataFrame()
    every = pl.concat(c.select(sorted(c.columns)) for c in changes)
    values = [c for c in every.columns if c != SIGN]
    net = every.group_by(values).agg(pl.col(SIGN).cast(pl.Int64).sum()).filter(pl.col(SIGN) != 0)
    return net.sort(pl.all())


def _take(run: Run, links: dict[str, pl.DataFrame], at: int, units: int) -> None:
    begin, end = at * UNIT, (at + units) * UNIT
    some = {}
    for name, frame in links.items():
        low, high = (int(i) for i in np.searchsorted(frame.get_column(TS).to_numpy(), [begin, end]))
        some[name] = frame.slice(low, high - low)
    run.step(some, end)


def measurements(names: list[str], windows: list[int], asked: int | None, steps: int) -> Iterator[Row]:
    """All that is asked for, as it is found."""
    longest = max(windows)
    largest = asked or STEP
    tuples = longest + longest // 10 + longest // 20 + steps * largest + largest
    links = {f"link{n}": connections(n, tuples) for n in (1, 2, 3)}
    for name in names:
        for window in windows:
            step = asked or STEP
            strategies = QUERIES[name].strategies
            found = measure(QUERIES[name].sql, window, strategies, links, step, steps)
            for strategy, measured in zip(strategies, found, strict=True):
                same = measured.changes.equals(found[0].changes)
                assert same, f"query {name} over {window}: {strategy} gave other changes"
                yield name, window, strategy, measured


def main() -> None:
    """Print a line for each measurement, and draw the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--windows", type=int, nargs="*", default=list(WINDOWS))
    parser.add_argument("--queries", nargs="*", default=list(QUERIES))
    parser.add_argument("--step", type=int)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--figures", type=Path)
    asked = parser.parse_args()
    rows = []
    for name, window, strategy, m in measurements(asked.queries, asked.windows, asked.step, asked.steps):
        rows.append((name, window, strategy, m))
        print(
            f"query {name:3} window {window:7,} {strategy:8} {m.milliseconds:9.2f} ms per 1,000 tuples"
            f"  {m.bytes / 1e3:11,.1f} kB  {m.changes.height:9,} changes",
            flush=True,
        )
    if asked.figures:
        draw(rows, asked.figures)


def draw(rows: list[Row], folder: Path) -> None:
    """A page with figures 9 to 17: beneath each what it shows."""
    from bokeh.layouts import column
    from bokeh.models import Div
    from bokeh.plotting import figure, output_file, save

    folder.mkdir(parents=True, exist_ok=True)
    page = []
    for name, query in QUERIES.items():
        for title, unit, value in (
            (query.figure, "ms per 1,000 tuples", lambda m: m.milliseconds),
            (query.space, "kB", lambda m: m.bytes / 1e3),
        ):
            found = {
                strategy: [(w, value(m)) for n, w, s, m in rows if (n, s) == (name, strategy)]
                for strategy in query.strategies
            }
            if title is None or not any(found.values()):
                continue
            plot = figure(
                title=f"Figure {title}", x_axis_label="window, time units", y_axis_label=unit, width=640, height=400
            )
            for strategy, mine in found.items():
                plot.line(*zip(*mine, strict=True), legend_label=strategy, color=COLOURS[strategy], line_width=2)
                plot.scatter(*zip(*mine, strict=True), legend_label=strategy, color=COLOURS[strategy], size=6)
            plot.add_layout(plot.legend[0], "right")
            plot.y_range.start = 0
            print(f"figure {title}:", *shown(found))
            page.append((int(title.split(":")[0]), column(plot, Div(text=" ".join(shown(found)), width=640))))
    output_file(folder / "figures.html", title="Update patterns: figures 9 to 17", mode="inline")
    save(column(*(drawn for _, drawn in sorted(page, key=lambda figure: figure[0]))))


def shown(found: dict[str, list[tuple[int, float]]]) -> list[str]:
    """What a figure shows: how the first strategy compares at the largest window, and how each grows with the window."""
    ours, *others = found
    window, least = found[ours][-1]
    said = [f"At {window:,} time units {ours} takes {least:,.2f}"]
    said[0] += "".join(f", {other} {found[other][-1][1] / least:.1f} times that" for other in others) + "."
    if len(found[ours]) > 1:
        grown = (f"{name} {mine[-1][1] / mine[0][1]:.1f} times" for name, mine in found.items())
        said.append(f"That is, of what it was at {found[ours][0][0]:,}: " + ", ".join(grown) + ".")
    return said


if __name__ == "__main__":
    main()
