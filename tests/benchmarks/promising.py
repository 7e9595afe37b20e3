"""What comes first when there is not a length of time for all: figures 9 to 16 of the promising-tuples paper, redrawn.

A budget is in probes: a row looked up in a time zone of the other stream, or a row looked at. Shares are of the probes the whole
answer needs. The plain operators under the same budget take rows as they come, first come first served: what comes while they are
busy is lost to them. Processor time is told beside it, of this process.

`python promising.py [cost structures turning in_time join fresh selections] [--figures folder]`; with `--figures` they are drawn
on a page as well.

Two of the paper's figures are not as the paper has them. Figure 10: its T3 is ahead of T2, and T4 of T3, since a probe there goes
through all rows of a cell, which are fewer the finer the cells. Rows here are found by their hash, so that a probe takes as long
in any cell: T2 to T4 give 25.9 outputs a row, T1 2.3. What finer cells give is better estimates alone; of a stream whose items
all change places every 13 s (`turning`) T2 has 24.5% of the output at 5% of the probes, T3 31.1%, T4 27.3%. Zones that adjust
themselves are no gain for joins, whose slots are as long as the longest zone of G1: where a zone ends within a slot, estimates of
that slot are those of two zones. Figure 12: a probe in an older granularity goes through a zone `rate` times as long and finds as
many more pairs, so that against a rate of 4 a fade factor of 0.8 still puts older ones first (210 s apart at 5% of the probes;
162 s first come, first served); from 1 / rate on pairs are fresher (23 s).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from promising_figures import Figure, draw
from promising_runs import (
    ITEMS,
    ROWS,
    SECOND,
    SKEW,
    Log,
    Run,
    Whole,
    first_come,
    first_come_in_time,
    flights,
    hist_mse,
    joined,
    retail,
    run,
    run_in_time,
    turning_log,
    values,
)

from jupyter_stream.core.messages import TS
from jupyter_stream.summaries import SUMMARIES, zone
from jupyter_stream.summaries.spec import SummarySpec
from jupyter_stream.summaries.stream_summary import StreamSummary

SHARES: Final = (0.05, 0.1, 0.2, 0.4, 0.6)
QUERIES: Final = 100
BUDGET: Final = "budget, % of all probes"

Change = Callable[[SummarySpec], SummarySpec]


def cost() -> list[Figure]:
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
    return []


def _one_bucket(spec: SummarySpec) -> SummarySpec:
    return replace(spec, buckets=1)


STRUCTURES: Final[tuple[tuple[str, str | None, bool, Change | None], ...]] = (
    ("T1", None, False, None),  # no summary: a uniform sample
    ("T2", "DESC", True, _one_bucket),  # zones of a fixed length
    ("T3", "DESC", True, None),  # and buckets
    ("T4", "DESC", False, None),  # zones adjust themselves
)
"""The paper's structures: name, what is preferred, whether zones have a fixed length, and what is changed in the summary."""


def _of(structure: tuple[str, str | None, bool, Change | None], whole: Whole, budget: str) -> Run:
    _, preference, fixed, change = structure
    with _fixed_zones(fixed):
        return run(whole.log, joined(whole.log, preference), budget, change)


def structures() -> list[Figure]:
    """Figures 9 and 10: T1 no summary, T2 zones only, T3 zones and buckets, T4 self-adjusting zones."""
    print("figure 9: structures, DESC, 20% of all probes, a window of a minute")
    whole, rows = Whole.of(retail()), 2 * ROWS
    bars: dict[str, list[tuple[float | str, float]]] = {"a": [], "b": [], "c": []}
    for structure in STRUCTURES:
        begun = min(_of(structure, whole, "0.0001 probes/row").seconds for _ in range(3))
        runs = [_of(structure, whole, whole.budget(0.2)) for _ in range(3)]
        outputs, seconds = runs[0].rows.height, min(r.seconds for r in runs)
        inserted, hit = begun / rows * 1e6, max(0.0, seconds - begun) / max(1, outputs) * 1e6
        for letter, value in zip("abc", (inserted, hit, outputs / rows), strict=True):
            bars[letter].append((structure[0], value))
        print(
            f"  {structure[0]}  {inserted:6.2f} us a row without probes  {hit:6.2f} us an output"
            f"  {outputs / rows:6.2f} outputs a row"
        )
    units = "a row without probes, us", "an output, us", "outputs a row"
    figures = [
        Figure(f"9{n}: structures", "structure", unit, {"": bars[n]}) for n, unit in zip("abc", units, strict=True)
    ]

    print("figure 10a: outputs a row by time for a row (us)")
    lines: dict[str, list[tuple[float | str, float]]] = {name: [] for name, *_ in STRUCTURES}
    for share in (0.1, 0.2, 0.3, 0.5):
        said = []
        for name, preference, fixed, change in STRUCTURES:
            with _fixed_zones(fixed):
                found = run_in_time(whole.log, joined(whole.log, preference), share, whole.seconds, change)
            lines[name].append((share * whole.seconds / rows * 1e6, found.rows.height / rows))
            said.append(f"{name} {found.rows.height / rows:6.2f}")
        print(f"  {share * whole.seconds / rows * 1e6:6.2f} us  " + "  ".join(said))
    figures.append(Figure("10a: little time for a row", "time for a row, us", "outputs a row", lines))

    print("figure 10b: outputs a row by window (seconds), 20% of all probes")
    lines = {name: [] for name, *_ in STRUCTURES}
    for window in (10, 20, 40, 60, 90, 120):
        whole = Whole.of(retail(rows=4_000, window=window))
        found = [_of(structure, whole, whole.budget(0.2)).rows.height / 8_000 for structure in STRUCTURES]
        for (name, *_), outputs in zip(STRUCTURES, found, strict=True):
            lines[name].append((window, outputs))
        print(f"  {window:4d} s  " + "  ".join(f"{n} {f:6.2f}" for (n, *_), f in zip(STRUCTURES, found, strict=True)))
    return [*figures, Figure("10b: small windows", "window, s", "outputs a row", lines)]


def turning() -> list[Figure]:
    """Structures where the stream's behaviour changes."""
    print("items that all change places every 13 s: % of the output by budget")
    whole = Whole.of(turning_log())
    lines: dict[str, list[tuple[float | str, float]]] = {name: [] for name, *_ in STRUCTURES}
    for share in (0.02, 0.05, 0.1, 0.2, 0.4):
        for structure in STRUCTURES:
            found = _of(structure, whole, whole.budget(share)).rows.height
            lines[structure[0]].append((100 * share, 100 * found / whole.exact.height))
        print(f"  {100 * share:4.0f}%  " + "  ".join(f"{n} {points[-1][1]:5.1f}%" for n, points in lines.items()))
    return [Figure("10, of a stream that changes every 13 s", BUDGET, "% of the output", lines)]


@contextmanager
def _fixed_zones(fixed: bool) -> Iterator[None]:
    before, zone.DRIFT = zone.DRIFT, np.inf if fixed else zone.DRIFT  # type: ignore[misc]  # final but for this run
    try:
        yield
    finally:
        zone.DRIFT = before  # type: ignore[misc]


def join() -> list[Figure]:
    """Figures 11 to 14: share of the output, fairness, outliers, by budget."""
    figures = []
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
        table = []
        for share in SHARES:
            fcfs = first_come(log, exact, share)
            desc, fair, rare = (run(log, joined(log, p), whole.budget(share)) for p in ("DESC", "WEIGHTED", "ASC"))
            part = [100 * f.height / exact.height for f in (desc.rows, fcfs, fair.rows, rare.rows)]
            error = [hist_mse(log, f, exact) for f in (fair.rows, fcfs)]
            odd = [100 * outlier[values(log, f)].mean() if f.height else 0.0 for f in (rare.rows, fcfs)]
            table.append((100 * share, *part, *error, *odd))
            print(
                f"  {100 * share:4.0f}%   {part[0]:9.1f}% {part[1]:6.1f}% {part[0] / part[1]:5.2f}   {part[2]:9.1f}% "
                f"{error[0]:8.2f} "
                f"{error[1]:8.2f} {error[0] / error[1]:6.2f}   {part[3]:9.1f}% {odd[0]:7.1f}% {odd[1]:6.1f}%   "
                f"{100 * desc.seconds / whole.seconds:5.0f}%"
            )
        for title, y, ours, column, plain in (
            ("11: DESC", "% of the output", "DESC", 1, 2),
            ("13a: WEIGHTED", "% of the output", "WEIGHTED", 3, 2),
            ("13b: WEIGHTED", "histogram MSE, millionths", "WEIGHTED", 5, 6),
            ("14a: ASC", "% of the output", "ASC", 4, 2),
            ("14b: ASC", "% of outliers in the output", "ASC", 7, 8),
        ):
            lines = {n: [(row[0], row[at]) for row in table] for n, at in ((ours, column), ("first come", plain))}
            figures.append(Figure(f"{title}, {name}", BUDGET, y, lines))
    return figures


def in_time() -> list[Figure]:
    """Figure 11 in processor time, of the exact join's; `busy` has three times as many rows a second."""
    figures = []
    for name, log in (("retail", retail()), ("busy", retail(2 * ROWS, mean=0.03)), ("flights", flights())):
        whole = Whole.of(log)
        exact, rows = whole.exact, sum(f.height for f in log.frames)
        print(f"{name}, 12 batches of each stream a window: exact join {whole.seconds / rows * 1e6:.1f} us a row")
        print("  budget   DESC took, output   FCFS took, output  times   at most, if it kept rows lost  times")
        lines: dict[str, list[tuple[float | str, float]]] = {
            "DESC": [],
            "first come": [],
            "first come, keeping rows": [],
        }
        for share in (0.05, 0.1, 0.2, 0.4):
            desc = run_in_time(log, joined(log, "DESC"), share, whole.seconds)
            fcfs, served = first_come_in_time(log, joined(log, None), share, whole.seconds)
            later = pl.when(pl.col("at") < pl.col("bt"))
            probed = later.then(pl.col("b").is_in(served[1])).otherwise(pl.col("a").is_in(served[0]))
            part = [f.height / exact.height for f in (desc.rows, fcfs.rows, exact.filter(probed))]
            for points, found in zip(lines.values(), part, strict=True):
                points.append((100 * share, 100 * found))
            print(
                f"  {100 * share:4.0f}%   {100 * desc.seconds / whole.seconds:6.1f}%  {100 * part[0]:6.1f}%   "
                f"{100 * fcfs.seconds / whole.seconds:6.1f}% {100 * part[1]:6.1f}%  {part[0] / max(part[1], 1e-9):5.2f}   "
                f"{100 * part[2]:6.1f}%  {part[0] / max(part[2], 1e-9):5.2f}"
            )
        figures.append(Figure(f"11 in time, {name}", "budget, % of the exact join's time", "% of the output", lines))
    return figures


def fresh() -> list[Figure]:
    """Figure 12: a window over the whole stream; how far apart the rows of a pair are, by fade factor."""
    log = replace(retail(rows=5_000), window=3600 * SECOND, granularity=60 * SECOND, every=30 * SECOND)
    whole = Whole.of(log)
    print("figure 12: the whole stream: output, and seconds that the rows of a pair are apart, by fade factor")
    apart = lambda f: float((f["at"] - f["bt"]).abs().mean() or 0) / SECOND  # noqa: E731
    fades = (1.0, 0.8, 0.25, 0.05)
    output: dict[str, list[tuple[float | str, float]]] = {"first come": [], **{f"fade {f}": [] for f in fades}}
    away: dict[str, list[tuple[float | str, float]]] = {name: [] for name in output}
    for share in (0.05, 0.1, 0.2, 0.4):
        found = [first_come(log, whole.exact, share)]
        found += [run(log, joined(log, "DESC", fade), whole.budget(share)).rows for fade in fades]
        for name, pairs in zip(output, found, strict=True):
            output[name].append((100 * share, 100 * pairs.height / whole.exact.height))
            away[name].append((100 * share, apart(pairs)))
        print(
            f"  {100 * share:4.0f}%  "
            + "  ".join(f"{n} {output[n][-1][1]:5.1f}% {away[n][-1][1]:6.1f} s" for n in output)
        )
    return [
        Figure("12a: the whole stream", BUDGET, "% of the output", output),
        Figure("12b: the whole stream", BUDGET, "|ts1 - ts2|, s", away),
    ]


def _chosen(log: Log, many: int) -> list[list[int]]:
    """Items of so many selections of 5 to 10% of the first stream."""
    frame = log.frames[0]
    rng = np.random.default_rng(9)
    share = np.bincount(frame["ItemNo"], minlength=ITEMS) / frame.height
    chosen: list[list[int]] = []
    for wanted in rng.uniform(0.05, 0.1, many):
        order, have = rng.permutation(ITEMS), 0.0
        chosen.append([])
        for item in order.tolist():
            if 0 < share[item] <= wanted * 1.05 - have:
                chosen[-1].append(item)
                have += share[item]
    return chosen


def selections() -> list[Figure]:
    """Figures 15 and 16: a hundred selections of 5 to 10%, and AVG and SUM over them."""
    log = replace(retail(rows=6_000), every=30 * SECOND)
    frame = log.frames[0]
    print(f"figures 15, 16: {QUERIES} selections of {frame.height:,} rows; each has the budget of its share")

    def of(items: list[int], part: float, preference: str) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
        """Of a selection what the budget gives, what first come, first served does, and all."""
        where = f"FROM s1 WHERE ItemNo IN ({', '.join(map(str, items))})"
        exact = frame.filter(pl.col("ItemNo").is_in(items))
        text = f"SELECT n, Price {where} WITH PREFERENCE {preference} SUMMARY.Estimate.Count(ItemNo)"
        first = ((pl.col("n") + 1) * part).floor() > (pl.col("n") * part).floor()
        return run(log, text, f"{part:.4f} probes/row").rows, exact.filter(first), exact

    table = []
    for part in (0.02, 0.05, 0.1, 0.2, 0.4):
        outputs, errors = [], []
        for items in _chosen(log, QUERIES):
            desc, fcfs, exact = of(items, part, "DESC")
            fair = of(items, part, "WEIGHTED")[0]
            outputs.append([f.height / exact.height for f in (desc, fcfs)])
            true = float(exact["Price"].mean() or 0)  # type: ignore[arg-type]
            mean = [float(f["Price"].mean() or 0) - true for f in (fair, fcfs)]  # type: ignore[arg-type]
            total = [f["Price"].sum() / exact["Price"].sum() - 1 for f in (desc, fcfs)]
            errors.append([*mean, *total])
        out = 100 * np.mean(outputs, axis=0)
        avg, avg_first, total_desc, total_first = (np.array(errors) ** 2).mean(axis=0)
        table.append((100 * part, *out, avg, avg_first, total_desc, total_first))
        print(
            f"  {100 * part:3.0f}%  output {out[0]:5.1f}%, FCFS {out[1]:5.1f}%: {out[0] / out[1]:5.2f} x   "
            f"AVG MSE {avg:8.3f}, FCFS {avg_first:8.3f}"
            f"   SUM relative MSE {total_desc:.4f}, FCFS {total_first:.4f}"
        )
    print("figure 15b: time for one probe a row of 20 selections, by how many share it: % of the output")
    shared: dict[str, list[tuple[float | str, float]]] = {"DESC": [], "first come": []}
    for many in (20, 40, 80, 120, 160, 200):
        found = [of(items, 20 / many, "DESC") for items in _chosen(log, QUERIES)[:20]]
        for points, place in zip(shared.values(), (0, 1), strict=True):
            points.append((many, 100 * float(np.mean([f[place].height / f[2].height for f in found]))))
        print(f"  {many:4d}  " + "  ".join(f"{name} {points[-1][1]:5.1f}%" for name, points in shared.items()))
    figures = [
        Figure(
            title,
            "budget, % of all rows",
            y,
            {n: [(r[0], r[at]) for r in table] for n, at in ((ours, column), ("first come", column + 1))},
        )
        for title, y, ours, column in (
            ("15a: selections", "% of the output", "DESC", 1),
            ("16a: AVG", "MSE", "WEIGHTED", 3),
            ("16b: SUM", "relative MSE", "DESC", 5),
        )
    ]
    figures.insert(1, Figure("15b: selections", "queries that share the time", "% of the output", shared))
    return figures


PARTS: Final[tuple[Callable[[], list[Figure]], ...]] = (
    cost, structures, turning, in_time, join, fresh, selections,
)  # fmt: skip


def main() -> None:
    """Measure the parts wanted, and draw them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", metavar="part", help=", ".join(p.__name__ for p in PARTS))
    parser.add_argument("--figures", type=Path)
    asked = parser.parse_args()
    figures: list[Figure] = []
    for part in PARTS:
        if not asked.parts or part.__name__ in asked.parts:
            figures += part()
    if asked.figures:
        figures.sort(key=lambda f: int("".join(c for c in f.title[:2] if c.isdigit())))
        draw(figures, "Promising tuples: figures 9 to 16", asked.figures / "figures.html")


if __name__ == "__main__":
    main()
