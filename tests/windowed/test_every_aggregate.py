"""Every registered aggregate, and some that only this test knows, under every kind of window and without one: random rows.

The registry says which aggregates there are and `resolve` which types each takes, so a new one is tested by being registered,
as soon as the oracle knows what it means. What rows break window engines is the table of `test_every_window`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product

import pytest

from jupyter_stream import aggregates
from jupyter_stream.aggregates import AGGREGATES
from tests.aggregates.cases import APPROXIMATE, CASES, Case
from tests.aggregates.test_made_up import MADE, MEANT, Counted, Lowest
from tests.engine.checked import check
from tests.oracle import aggregates as oracle
from tests.oracle.aggregates import Aggregate
from tests.oracle.progress import Arrived, Slack, Watermark
from tests.oracle.query import Stream
from tests.oracle.values import Value, same_key
from tests.tiers import thinned
from tests.windowed.test_every_window import EVERLASTING, WINDOWS
from tests.windowed.test_oracle_edges import SECOND, stream

pytestmark = pytest.mark.timeout(900)  # many aggregates; a busy machine is no failure

COLUMN = {"BIGINT": "n", "DOUBLE": "x", "STRING": "s", "BOOLEAN": "b"}
BY = {"BIGINT": "m", "DOUBLE": "y", "STRING": "t", "BOOLEAN": "c"}
KEEP_ALL = ("collect_list", "string_agg")


class Called(Aggregate):
    """An aggregate as the oracle knows it, whose estimates are exact where there is little to estimate."""

    def over(self, rows: list[Arrived]) -> Value:
        if self.function in APPROXIMATE:
            present = [r.row[str(self.column)] for r in rows if r.row[str(self.column)] is not None]
            return APPROXIMATE[self.function](present, self.constant)
        if self.distinct and self.function not in ("count", *KEEP_ALL):
            rows = list({same_key(r.row[str(self.column)]): r for r in rows}.values())
        return super().over(rows)


def called(case: Case) -> Aggregate:
    column, by = (*(COLUMN[k] for k in case.kinds[:1]), None)[0], (*(BY[k] for k in case.kinds[1:]), None)[0]
    return Called(case.function.name, column, case.distinct, by=by, constant=case.constant)  # type: ignore[arg-type]


def made(window: str, rng: random.Random) -> tuple[Aggregate, ...]:
    """Each registered aggregate with arguments of some type it takes, and those made up."""
    found = [rng.choice([c for c in CASES if c.function is function]) for function in AGGREGATES]
    kept = (c for c in found if window not in EVERLASTING or c.function.name not in KEEP_ALL)
    return (*map(called, kept), *(Aggregate(name, "n") for name in MEANT), Counted("count", "n"))


def rows(rng: random.Random) -> Stream:
    """Thirty rows of two groups, with NULLs, equal values and equal times, out of order, some of them late."""
    values = {
        "STRING": lambda: rng.choice([None, "", "a", "B", "ä"]),
        "BIGINT": lambda: rng.choice([None, *range(-4, 5)]),
        "DOUBLE": lambda: rng.choice([None, *(i / 8 for i in range(-9, 9))]),
        "BOOLEAN": lambda: rng.choice([None, True, False]),
    }
    kinds = {**{COLUMN[k]: k for k in COLUMN}, **{BY[k]: k for k in BY}}
    columns = ", ".join(["k STRING", *(f"{name} {kind}" for name, kind in kinds.items()), "ts TIMESTAMP"])
    times = [at / 2 + rng.choice([0, 0, 0, -1, -6]) for at in sorted(rng.randrange(40) for _ in range(30))]
    drawn = [(rng.choice("ab"), *(values[kind]() for kind in kinds.values()), at) for at in times]
    return stream(drawn, columns, rng.choice([Watermark(8 * SECOND), Watermark(2 * SECOND), Slack(3)]))


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, function in MADE.items():
        monkeypatch.setitem(aggregates._BY_NAME, name, function)
    for name, meant in MEANT.items():
        monkeypatch.setitem(oracle.BY_NAME, name, oracle.BY_NAME[meant])
    yield


@pytest.mark.parametrize(("window", "grouped"), thinned(product(WINDOWS, [True, False]), 74))
def test_every_aggregate_under_every_window(window: str, grouped: bool) -> None:
    if getattr(WINDOWS[window], "partition", ()) and not grouped:
        pytest.skip("the partition is a group")
    rng = random.Random(f"{window} {grouped}")
    check(WINDOWS[window], rows(rng), made(window, rng), grouped, splits=(rng.choice([1, 4, 11]),))


@pytest.mark.parametrize("window", thinned(WINDOWS, 4))
def test_an_aggregate_that_is_wrong_is_found_under_every_window(window: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(aggregates._BY_NAME, "highest", Lowest())
    with pytest.raises(AssertionError, match="highest"):
        check(WINDOWS[window], rows(random.Random(window)), (Aggregate("highest", "n"),), splits=(4,))
