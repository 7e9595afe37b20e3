"""ESL's figures 4 to 7 with this engine: `python tests/benchmarks/user_aggregates.py [--rows 20000] [--figures FOLDER]`.

4 and 5: an average, and frequent items by hash tables, over windows of several sizes: in SQL with EXPIRE (A), in Python with the
same operations (B), in SQL without EXPIRE but the window (C, the average), and recomputed for each row (D); the average also as
the built-in one. 6 and 7: what a sum over 40,000 rows holds, and its speed, over slides from 1 to the window, with the pane
optimisation and by EXPIRE alone. Rows a second are of processor time, so that what else is at work says little; ratios are of
figures of this run only. With `--figures` they are drawn as well, on one page.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import jupyter_stream
from jupyter_stream import Query, Session

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.benchmarks.promising_figures import Figure, draw

WINDOW = 40_000
"""Rows of the window of figures 6 and 7, as in the paper."""
DECLARED = """
CREATE AGGREGATE myavg (next REAL) : REAL
{ TABLE state (tsum REAL, cnt INT);
  INITIALIZE : { INSERT INTO state VALUES (next, 1); }
  ITERATE : { UPDATE state SET tsum = tsum + next, cnt = cnt + 1; }
  TERMINATE : { INSERT INTO RETURN SELECT tsum / cnt FROM state; } };

CREATE AGGREGATE online_avg (next REAL) : REAL
{ TABLE state (tsum REAL, cnt INT);
  INITIALIZE : { INSERT INTO state VALUES (next, 1); INSERT INTO RETURN VALUES (next); }
  ITERATE : { UPDATE state SET tsum = 0.9 * tsum + 1.1 * next, cnt = cnt + 1;
              INSERT INTO RETURN SELECT tsum / cnt FROM state; } };

CREATE WINDOW AGGREGATE avg_expire (next REAL) : REAL
{ TABLE state (tsum REAL, cnt INT); TABLE inwindow (wnext REAL);
  INITIALIZE : { INSERT INTO state VALUES (next, 1); INSERT INTO RETURN VALUES (next); }
  ITERATE : { UPDATE state SET tsum = tsum + next, cnt = cnt + 1; INSERT INTO RETURN SELECT tsum / cnt FROM state; }
  EXPIRE : { UPDATE state SET tsum = tsum - oldest().wnext, cnt = cnt - 1; } };

CREATE WINDOW AGGREGATE avg_nested (next REAL) : REAL
{ TABLE inwindow (wnext REAL);
  INITIALIZE : ITERATE : { INSERT INTO RETURN SELECT myavg(wnext) FROM inwindow; } };

CREATE ALGEBRAIC AGGREGATE sum_paned (next REAL) : REAL
{ TABLE state (total REAL);
  INITIALIZE : { INSERT INTO state VALUES (next); }
  ITERATE : { UPDATE state SET total = total + next; }
  TERMINATE : { INSERT INTO RETURN SELECT total FROM state; } };

CREATE WINDOW AGGREGATE sum_expire (next REAL) : REAL
{ TABLE state (total REAL);
  INITIALIZE : { INSERT INTO state VALUES (next); }
  ITERATE : { UPDATE state SET total = total + next; }
  TERMINATE : { INSERT INTO RETURN SELECT total FROM state; }
  EXPIRE : { UPDATE state SET total = total - next; } };

CREATE WINDOW AGGREGATE frequent (item BIGINT) : BIGINT
{ TABLE one (h BIGINT, n BIGINT); TABLE two (h BIGINT, n BIGINT); TABLE inwindow (witem BIGINT);
  INITIALIZE : ITERATE : {
    INSERT INTO one VALUES (item % 13, 0) WHERE NOT EXISTS (SELECT n FROM one WHERE h = item % 13);
    INSERT INTO two VALUES (item % 17, 0) WHERE NOT EXISTS (SELECT n FROM two WHERE h = item % 17);
    UPDATE one SET n = n + 1 WHERE h = item % 13;
    UPDATE two SET n = n + 1 WHERE h = item % 17;
    INSERT INTO RETURN SELECT least(one.n, two.n) FROM one, two WHERE one.h = item % 13 AND two.h = item % 17; }
  EXPIRE : {
    UPDATE one SET n = n - 1 WHERE h = item % 13;
    UPDATE two SET n = n - 1 WHERE h = item % 17; } };
"""


def in_python() -> None:
    """The same in Python, and by arrays."""

    @jupyter_stream.aggregate(returns="DOUBLE")
    class AvgPython:
        def iterate(self, x):
            self.total, self.count = getattr(self, "total", 0.0) + x, getattr(self, "count", 0) + 1
            return self.total / self.count

        def expire(self, x):
            self.total, self.count = self.total - x, self.count - 1

    @jupyter_stream.aggregate(returns="DOUBLE")
    class AvgArrays:
        def update(self, x):
            return float(x.sum()), x.size

        def merge(self, a, b):
            return a[0] + b[0], a[1] + b[1]

        def subtract(self, a, b):
            return a[0] - b[0], a[1] - b[1]

        def finish(self, a):
            return a[0] / a[1]

    @jupyter_stream.aggregate(returns="BIGINT")
    class FrequentPython:
        def __init__(self):
            self.one, self.two = [0] * 13, [0] * 17

        def iterate(self, item):
            self.one[item % 13] += 1
            self.two[item % 17] += 1
            return min(self.one[item % 13], self.two[item % 17])

        def expire(self, item):
            self.one[item % 13] -= 1
            self.two[item % 17] -= 1


def rows(count: int, a_second: int = 1000) -> pl.DataFrame:
    """Prices, items and keys in order of time."""
    random = np.random.default_rng(1)
    return pl.DataFrame(
        {
            "k": random.integers(0, 100, count),
            "item": random.zipf(1.3, count) % 1000,
            "price": random.random(count) * 100,
            "ts": (np.arange(count) * (1_000_000 // a_second)).astype("datetime64[us]"),
        }
    )


STREAM = "CREATE STREAM s (k BIGINT, item BIGINT, price REAL, ts TIMESTAMP, WATERMARK FOR ts AS ts) SOURCE '{}'"


def speed(session: Session, text: str, count: int) -> float:
    """Rows a second of processor time."""
    started = time.process_time()
    (query,) = session.execute(text)
    assert isinstance(query, Query)
    query.wait()
    taken = time.process_time() - started
    if query.status != "finished":
        raise RuntimeError(f"{text}: {query.snapshot().error}")
    return count / max(taken, 1e-9)


def held(text: str, count: int) -> int:
    """The most bytes a query's steps hold between batches, when no rows wait for their time."""
    frame = rows(count)

    def batches() -> Iterator[pl.DataFrame]:
        for batch in frame.iter_slices(max(50, count // 40)):
            yield batch
            time.sleep(0.05)

    most = 0
    with Session({"batches": batches}) as session:
        session.run(STREAM.format("python://batches"))
        session.run(DECLARED)
        (query,) = session.execute(text)
        assert isinstance(query, Query)
        while not query.wait(0.01):
            for step in query._pipeline.graph.steps:
                if step.control.extra.get("waiting_rows", 99) <= 1:
                    most = max(most, step.control.bytes)
    return most


class Runs:
    """Queries over so many rows."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __call__(self, text: str, share: float = 1) -> float:
        """The speed of one query over a share of the rows, after a short one that warms everything up."""
        count = max(200, int(self.count * share))
        found = 0.0
        for size in (min(count, 500), count):
            with Session({"rows": rows(size)}) as session:
                session.run(STREAM.format("frame://rows"))
                session.run(DECLARED)
                found = speed(session, text, size)
        return found


def shown(value: Any) -> str:
    """A number for people."""
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if value >= 10 else f"{value:.2f}"


def table(title: str, head: Sequence[str], lines: Sequence[Sequence[Any]]) -> None:
    """A table in Markdown."""
    print(f"\n{title}\n\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for line in lines:
        print(f"| {' | '.join(map(shown, line))} |")
    print(flush=True)


def figure_4_and_5(run: Runs, windows: Sequence[int]) -> list[Figure]:
    """Rows a second over windows of several sizes."""
    figures = []
    kinds = {
        "average": {
            "A EXPIRE": ("avg_expire(price)", 1.0),
            "B Python": ("AvgPython(price)", 1.0),
            "C nested": ("avg_nested(price)", 0.1),
            "D afresh": ("myavg(price)", 0.1),
            "arrays, subtract": ("AvgArrays(price)", 0.2),
            "built in": ("avg(price)", 1.0),
        },
        "frequent items": {"A EXPIRE": ("frequent(item)", 1.0), "B Python": ("FrequentPython(item)", 1.0)},
    }
    for figure, (what, ways) in zip((4, 5), kinds.items(), strict=True):
        lines = []
        for window in windows:
            found = {}
            for way, (call, share) in ways.items():
                cost = 1 if way in ("A EXPIRE", "B Python", "built in") else min(1.0, 500 / window)
                found[way] = run(f"SELECT {call} OVER (ROWS {window - 1} PRECEDING) AS a FROM s", share * cost)
            ratio = found["A EXPIRE"] / found["B Python"]
            lines.append([window, *found.values(), ratio])
        table(f"Figure {figure}: {what}, rows a second", ["window", *ways, "A / B"], lines)
        points = {way: [(line[0], line[1 + i] / 1000) for line in lines] for i, way in enumerate(ways)}
        figures.append(Figure(f"{figure}: {what}", "rows in the window", "thousand rows a second", points))
    return figures


def figure_6_and_7(run: Runs, window: int) -> list[Figure]:
    """What a sum holds, and its speed, by slide."""
    run = Runs(max(run.count, 2 * window))
    lines = []
    for slide in sorted({1, window // 40, window // 10, window // 4, window // 2, window}):
        texts = [
            f"SELECT {call}(price) OVER (ROWS {window - 1} PRECEDING SLIDE {slide}) AS a FROM s"
            for call in ("sum_paned" if slide > 1 else "sum_expire", "sum_expire")
        ]
        paned, delta = (run(text) for text in texts)
        few, all_of_them = (held(text, 2 * window) for text in texts)
        lines.append([f"{slide}", few, all_of_them, all_of_them / max(1, few), paned, delta, paned / delta])
    head = ["slide", "bytes, panes", "bytes, EXPIRE", "ratio", "rows/s, panes", "rows/s, EXPIRE", "ratio"]
    table(f"Figures 6 and 7: a sum over {window:,} rows (a slide of 1 has no panes)", head, lines)
    columns = {name: [(int(line[0]), line[1 + i]) for line in lines] for i, name in enumerate(head[1:])}
    held_by = {way: [(x, y / 1e6) for x, y in columns[f"bytes, {way}"]] for way in ("panes", "EXPIRE")}
    taken_by = {way: [(x, y / 1000) for x, y in columns[f"rows/s, {way}"]] for way in ("panes", "EXPIRE")}
    return [
        Figure(f"6: what a sum over {window:,} rows holds", "slide, rows", "MB", held_by),
        Figure("7: its speed", "slide, rows", "thousand rows a second", taken_by),
    ]


def windows_of_time(run: Runs) -> None:
    """Tumbling and sliding windows, by 100 keys: every way to write an average, and the built-in one."""
    ways = {
        "SQL": ("myavg(price)", 40),
        "SQL, ALGEBRAIC sum": ("sum_paned(price)", 40),
        "SQL, EXPIRE": ("sum_expire(price)", 10),
        "SQL, row by row": ("online_avg(price)", 20),
        "Python, arrays": ("AvgArrays(price)", 100),
        "built in": ("avg(price)", 100),
    }
    lines = []
    for window in ("[RANGE 50 SECONDS TUMBLING]", "[RANGE 200 SECONDS SLIDE 50 SECONDS]"):
        found = {
            name: run(f"SELECT k, {call} AS a FROM s {window} GROUP BY k", share)
            for name, (call, share) in ways.items()
        }
        lines.append([window, *found.values(), found["built in"] / found["SQL"]])
    table("Windows of time, rows a second", ["window", *ways, "built in / SQL"], lines)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--rows", type=int, default=20_000)
    arguments.add_argument("--windows", type=int, nargs="+", default=[10, 100, 1000])
    arguments.add_argument("--window", type=int, default=WINDOW, help="rows of the window of figures 6 and 7")
    arguments.add_argument("--figures", type=Path, metavar="FOLDER", help="draw them as well, on a page in this folder")
    arguments.add_argument("--only", choices=["over", "slides", "time"], nargs="+", default=["over", "slides", "time"])
    chosen = arguments.parse_args()
    in_python()
    runs = Runs(chosen.rows)
    drawn = []
    if "over" in chosen.only:
        drawn += figure_4_and_5(runs, chosen.windows)
    if "slides" in chosen.only:
        drawn += figure_6_and_7(runs, chosen.window)
    if chosen.figures and drawn:
        draw(drawn, "Aggregates of one's own", chosen.figures / "user_aggregates.html")
    if "time" in chosen.only:
        windows_of_time(runs)
