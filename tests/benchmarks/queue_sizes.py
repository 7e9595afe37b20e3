"""How much waits in queues under each policy, on a virtual clock: `stream-manager` paper §4.2.

The engine's own schedulers choose; operators have given costs and selectivities (`tests/schedulers/virtual.py`). Four parts:

- the paper's table, two strategies over seven time units;
- bursts under FIFO, round robin, greedy and Chain, the rows in all queues over time;
- 20 drawn plans on drawn bursts: the peak of each policy over that of the clairvoyant optimum, who knows all arrivals. `bound` is
  a peak that no schedule can be below, and `optimum`, for few batches, a search over all schedules that shows how near it is;
- a picture of the first two, as SVG.

`python tests/benchmarks/queue_sizes.py [--svg FILE]`, a minute. tests/schedulers/test_queue_sizes.py has short forms.
"""

from __future__ import annotations

import argparse
import heapq
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from random import Random

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from jupyter_stream.schedulers import scheduler
from jupyter_stream.schedulers.envelope import chart, envelope
from jupyter_stream.views.picture import Axis, Layer, Picture, Ragged, Table
from jupyter_stream.views.svg import svg
from tests.schedulers.virtual import Run, Virtual, line, simulate

POLICIES = ("fifo", "round robin", "greedy", "chain")
COLOURS = ("#7f7f7f", "#ff7f0e", "#1f77b4", "#d62728")
PLANS = 20


@dataclass(frozen=True)
class Plan:
    """A path of operators and what comes.

    Attributes:
        times: units of time each operator takes for what is left of a batch.
        sizes: what is left of a batch in front of each operator; 1 in front of the first.
        arrivals: when batches come, units of time.
    """

    times: tuple[int, ...]
    sizes: tuple[float, ...]
    arrivals: tuple[int, ...]

    def operators(self) -> list[Virtual]:
        """The same for the simulator."""
        left = [*self.sizes[1:], 0.0]
        return line(
            *(
                (f"O{i + 1}", time / size, after / size)
                for i, (time, size, after) in enumerate(zip(self.times, self.sizes, left, strict=True))
            )
        )

    def under(self, policy: str, asked: Sequence[float] = (), grain: float | None = None) -> Run:
        """What becomes of it under a policy.

        Args:
            policy: the scheduler's name.
            asked: times at which the rows in all queues are wanted.
            grain: units of time a step takes; None for steps of a batch.
        """
        path = self.operators()
        whole = dict(zip(path, self.sizes, strict=True))
        most = whole if grain is None else {o: grain / (o.cost or 1.0) for o in path}
        came = [(float(at), path[0], 1.0) for at in self.arrivals]
        return simulate(scheduler(policy).order(), path, came, most.__getitem__, asked)


PAPER = Plan((1, 1), (1.0, 0.2), tuple(range(1, 8)))
"""O1 takes a unit for a batch and leaves a fifth of it, for which O2 takes a unit."""


def paper(policy: str) -> list[float]:
    """The rows in both queues at times 1 to 7, as parts of a batch."""
    return PAPER.under(policy, range(1, 8)).sizes


def bound(plan: Plan) -> float:
    """A peak that no schedule can be below, whatever it knows.

    On a chart that is convex, whoever always works where it is steepest has the least in queues at every moment; and the lower
    envelope is such a chart, nowhere above the plan's (Babcock and others, SIGMOD 2003). So rows, divided at will, go along the
    envelope here.
    """
    path = plan.operators()
    points = chart([o.cost for o in path], [o.selectivity for o in path])
    parts = [(points[s.first], points[s.last + 1]) for s in envelope(points)]
    takes = [until[0] - began[0] for began, until in parts]
    sizes = [began[1] for began, _ in parts]
    held = [0.0 for _ in parts]
    peak = now = 0.0
    for at in plan.arrivals:
        left = at - now
        while left > 1e-9 and any(n > 1e-9 for n in held):
            i = next(i for i, n in enumerate(held) if n > 1e-9)
            spent = min(left, held[i] * takes[i])
            left -= spent
            held[i] -= spent / takes[i]
            if i + 1 < len(held):
                held[i + 1] += spent / takes[i]
        now = at
        held[0] += 1
        peak = max(peak, sum(n * s for n, s in zip(held, sizes, strict=True)))
    return peak


def optimum(plan: Plan) -> float:
    """The least peak of any schedule that works on a batch at a time, by one who knows what will come.

    A search over (time, batches in front of each operator), the states with the least peak so far first.
    """
    steps = count()

    def come(after: int, until: int) -> int:
        return sum(after < at <= until for at in plan.arrivals)

    def size(held: tuple[int, ...]) -> float:
        return sum(n * s for n, s in zip(held, plan.sizes, strict=True))

    first = plan.arrivals[0]
    start = (come(first - 1, first), *(0 for _ in plan.sizes[1:]))
    heap = [(size(start), -first, next(steps), start)]
    seen: set[tuple[int, tuple[int, ...]]] = set()
    while heap:
        peak, minus, _, held = heapq.heappop(heap)
        now = -minus
        if (now, held) in seen:
            continue
        seen.add((now, held))
        if not any(held):
            later = [at for at in plan.arrivals if at > now]
            if not later:
                return peak
            held = (come(now, later[0]), *held[1:])
            heapq.heappush(heap, (max(peak, size(held)), -later[0], next(steps), held))
            continue
        for i, n in enumerate(held):
            if not n:
                continue
            end = now + plan.times[i]
            before = (held[0] + come(now, end - 1), *held[1:])
            moved = [*before]
            moved[i] -= 1
            if i + 1 < len(moved):
                moved[i + 1] += 1
            moved[0] += come(end - 1, end)
            after = tuple(moved)
            highest = max(peak, size(before), size(after))
            heapq.heappush(heap, (highest, -end, next(steps), after))
    raise AssertionError("there is always an end")


def drawn(seed: int, burst: tuple[int, int] = (20, 30)) -> Plan:
    """A plan of two to four operators, and two or three bursts that leave time to catch up, or most of it.

    Args:
        seed: of the dice.
        burst: batches of a burst, at least and at most; one comes each unit of time.
    """
    dice = Random(seed)
    operators = dice.randint(2, 4)
    times = tuple(dice.randint(1, 3) for _ in range(operators))
    sizes = [1.0]
    for _ in times[1:]:
        sizes.append(sizes[-1] * dice.choice((0.1, 0.2, 0.4, 0.6, 0.8, 1.0)))
    arrivals: list[int] = []
    at = 1
    for _ in range(dice.randint(2, 3)):
        batches = dice.randint(*burst)
        arrivals += range(at, at + batches)
        at += batches + sum(times) * dice.randint(batches // 3, batches)
    return Plan(times, tuple(sizes), tuple(arrivals))


GRAIN = 0.05
"""Units of time of a step, on drawn plans: rows are many more than batches."""


def bursts(policy: str, asked: Sequence[float] = ()) -> Run:
    """Two paths into a union, bursts on both: what greedy doesn't see.

    The first operator of one path frees little, but with the one behind it most; that of the other path lies between.
    """
    one = line(("flat", 0.9, 0.95), ("sharp", 0.9, 0.1))
    other = line(("middling", 1.0, 0.75))
    union = Virtual("union", 5.0, 1.0, [one[-1], other[-1]])
    came = [(at + i, path[0], 1.0) for at in (1.0, 180.0) for i in range(20) for path in (one, other)]
    return simulate(scheduler(policy).order(), [*one, *other, union], came, 0.1, asked)


def draw(file: Path) -> None:
    """Rows in queues over time: the paper's table, and the bursts."""
    until = {"the paper's example": 15, "bursts on two paths": 350}
    panels = []
    for title, end in until.items():
        times = [float(at) for at in range(1, end + 1)]
        policies = ("fifo", "chain") if end == 15 else POLICIES
        sizes = [(PAPER.under if end == 15 else bursts)(policy, times).sizes for policy in policies]
        series = Ragged.of([np.array(times)] * len(sizes)), Ragged.of([np.array(held) for held in sizes])
        colours = [COLOURS[POLICIES.index(policy)] for policy in policies]
        lines = Layer("lines", {"xs": series[0], "ys": series[1], "color": colours, "alpha": np.ones(len(sizes))})
        high = max(max(held) for held in sizes)
        panels.append(
            Picture(
                "plot",
                Table(),
                Axis("time, units", "number", 0, end),
                Axis("rows in all queues, batches", "number", 0, high * 1.05),
                (lines,),
                tuple(zip(policies, colours, strict=True)),
                note=title,
            )
        )
    file.parent.mkdir(parents=True, exist_ok=True)
    for name, panel in zip(("paper", "bursts"), panels, strict=True):
        file.with_stem(f"{file.stem}-{name}").write_text(svg(panel))


def main() -> None:
    """Print tables, and draw."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--svg", type=Path, help="where pictures go: FILE-paper.svg and FILE-bursts.svg")
    parser.add_argument("--plans", type=int, default=PLANS)
    said = parser.parse_args()
    print("the paper's example, times 1 to 7")
    for policy in ("fifo", "chain"):
        print(f"  {policy:12}", *(f"{size:4.1f}" for size in paper(policy)))
    print("bursts on two paths, peak")
    for policy in POLICIES:
        print(f"  {policy:12} {bursts(policy).peak:5.1f}")
    print("drawn plans, peak over the bound of the clairvoyant optimum")
    shares: dict[str, list[float]] = {policy: [] for policy in POLICIES}
    for seed in range(said.plans):
        plan = drawn(seed)
        least = bound(plan)
        for policy in POLICIES:
            shares[policy].append(plan.under(policy, grain=GRAIN).peak / least)
        print(
            f"  {seed:2} at least {least:5.1f}:", *(f"{p} {found[-1]:.3f}" for p, found in shares.items()), flush=True
        )
    for policy, found in shares.items():
        print(f"  {policy:12} mean {sum(found) / len(found):.3f}, most {max(found):.3f}")
    if said.svg is not None:
        draw(said.svg)


if __name__ == "__main__":
    main()
