"""AdaptWID against its parts on the five skewed data sets of window-queries thesis §6.3.5 (Table 6-2, Figure 6-19).

In DS1 to DS5 small groups have 1, 3, 5, 7 and 9 % of the rows, medium ones 20 %, large ones the rest. A small group is one row,
under a key of its own; a medium group has 15 rows on average, a large one 300, which we take to be in a RANGE of stream time: the
thesis doesn't say. Its packets are not to be had; rows here come from a seed, 100,000 a second of stream time, in order.

Q6-7: sum per key over 1 second, tumbling. Q6-8: count per key over 10 seconds every second, of the union of two main links and a
control link that is almost empty and behind them. It is what holds progress back, so here it is a watermark 2 seconds behind.
Q6-8 again with a sum, whose rows are three times as long.

Contenders are one engine's strategies: `wid` and `paned-wid` (partials for all groups), `rows` (rows for all groups) and
`adapt-wid`. Bytes are the most state the operator ever held, keys included. `python skewed.py [DS1 ... | Q6-7 ...]`
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from polars.testing import assert_frame_equal

RATE = 100_000
ROWS = 8_000_000
CHECKED_ROWS = 400_000
TIMES = 3
SMALL = {"DS1": 0.01, "DS2": 0.03, "DS3": 0.05, "DS4": 0.07, "DS5": 0.09}
MEDIUM, MEDIUM_ROWS, LARGE_ROWS = 0.2, 15, 300


@dataclass(frozen=True)
class Case:
    """A query over every data set.

    Attributes:
        title: as in the thesis.
        select: the aggregate.
        range: seconds.
        slide: seconds.
        behind: seconds that progress is behind the rows.
        rivals: strategies beside AdaptWID.
    """

    title: str
    select: str
    range: int
    slide: int
    behind: int
    rivals: tuple[str, ...]

    @property
    def sql(self) -> str:
        """The query."""
        window = f"[RANGE {self.range} SECONDS SLIDE {self.slide} SECONDS]"
        return f"SELECT key, {self.select} AS answer FROM rows {window} GROUP BY key"


CASES = (
    Case("Q6-7: sum over 1 s, tumbling", "sum(len)", 1, 1, 0, ("paned-wid", "rows")),
    Case("Q6-8: count over 10 s / 1 s", "count(*)", 10, 1, 2, ("wid", "paned-wid", "rows")),
    Case("Q6-8 with sum: over 10 s / 1 s", "sum(len)", 10, 1, 2, ("wid", "paned-wid", "rows")),
)


def data_set(name: str, rows: int, span: int) -> pl.DataFrame:
    """A skewed data set whose groups have their sizes in `span` seconds of stream time."""
    rng = np.random.default_rng([17, int(name[2:]), span])
    number = np.arange(rows, dtype=np.int64)
    draw = rng.random(rows)
    small = SMALL[name]
    medium = rng.integers(0, round(MEDIUM * RATE * span / MEDIUM_ROWS), rows)
    large = rng.integers(0, round((1 - MEDIUM - small) * RATE * span / LARGE_ROWS), rows)
    key = np.where(draw < small, (1 << 31) + number, np.where(draw < small + MEDIUM, (1 << 30) + medium, large))
    return pl.DataFrame(
        {
            "ts": pl.Series(number * (1_000_000 // RATE)).cast(pl.Datetime("us")),
            "key": (key * 0x9E3779B1) & 0xFFFFFFFF,  # in no order
            "len": rng.integers(40, 1500, rows),
        }
    )


def run(case: Case, frame: pl.DataFrame, strategy: str, wanted: bool = False) -> dict[str, Any]:
    """One run: seconds, the operator's peak bytes, groups by state when last seen with any lazy; the answer if wanted."""
    import jupyter_stream

    session = jupyter_stream.Session(namespace={"frame": frame})
    session.execute(
        f"""CREATE STREAM rows (ts TIMESTAMP, key BIGINT, len BIGINT,
        WATERMARK FOR ts AS ts - INTERVAL {case.behind} SECONDS) SOURCE 'frame://frame'"""
    )
    start = time.perf_counter()
    (query,) = session.execute(case.sql, strategy=strategy, keep=100_000_000 if wanted else 10_000)
    groups: dict[str, Any] = {}
    while not query.wait(0.05):
        now = operator(query)
        if now.get("lazy_groups") and now.get("eager_groups"):
            groups = {k: now[k] for k in ("lazy_groups", "eager_groups", "groups_in_transition")}
    seconds = time.perf_counter() - start
    found = {"seconds": seconds, "bytes": operator(query)["peak_bytes"], "groups": groups}
    if wanted:
        found["answer"] = query.to_polars()
    session.close()
    return found


def operator(query: Any) -> dict[str, Any]:
    """The control table of the window aggregate."""
    return next(t for t in query.stats["operators"] if t["name"].startswith("window aggregate"))


def agree(case: Case, name: str) -> str:
    """Whether AdaptWID and rows kept answer as Paned-WID does."""
    frame = data_set(name, CHECKED_ROWS, case.range)
    by = ["window_end", "key"]
    answers = {s: run(case, frame, s, wanted=True)["answer"].sort(by) for s in (*case.rivals, "adapt-wid")}
    for answer in answers.values():
        assert_frame_equal(answer, answers["paned-wid"])
    return f"same answers ({answers['paned-wid'].height:,} rows checked)"


def compare(case: Case, name: str) -> None:
    """The lines of one query and data set, strategies in turn so that a busy machine is busy for all."""
    frame = data_set(name, ROWS, case.range)
    strategies = (*case.rivals, "adapt-wid")
    runs: dict[str, list[dict[str, Any]]] = {s: [] for s in strategies}
    for _ in range(TIMES):
        for strategy in strategies:
            runs[strategy].append(run(case, frame, strategy))
    speed = {s: ROWS / min(r["seconds"] for r in found) / 1e6 for s, found in runs.items()}
    held = {s: max(r["bytes"] for r in found) / 1e6 for s, found in runs.items()}
    print(f"  {name}: " + ", ".join(f"{s} {held[s]:.2f} MB {speed[s]:.2f} M rows/s" for s in strategies))
    share = held["adapt-wid"] / min(held[s] for s in case.rivals)
    ratio = speed["adapt-wid"] / max(speed[s] for s in case.rivals)
    groups = next((r["groups"] for r in reversed(runs["adapt-wid"]) if r["groups"]), {})
    counted = ", ".join(f"{k.removesuffix('_groups').removeprefix('groups_')} {v:,}" for k, v in groups.items())
    print(
        f"       state {share:.2f} of the least other ({'below' if share < 1 else 'NOT below'} all), "
        f"throughput {ratio:.2f} of the best other (target 0.9, {'met' if ratio >= 0.9 else 'MISSED'}); "
        f"groups: {counted or 'not seen'}; {agree(case, name)}",
        flush=True,
    )


def main() -> None:
    """Print the lines."""
    asked = sys.argv[1:]
    wanted = [name for name in SMALL if name in asked] or list(SMALL)
    titles = tuple(a for a in asked if a not in SMALL) or ("",)
    for case in CASES:
        if not case.title.startswith(titles):
            continue
        print(f"  {case.title}, {ROWS / 1e6:g} M rows")
        for name in wanted:
            compare(case, name)


if __name__ == "__main__":
    main()
