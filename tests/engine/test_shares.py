"""Queries share the machine by weight, and who has little to do waits for nobody."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

import polars as pl
import pytest

import jupyter_stream
from jupyter_stream.engine import steps
from jupyter_stream.engine.feed import Feed
from jupyter_stream.engine.shares import Shares
from jupyter_stream.engine.steps import Steps, Took
from jupyter_stream.session.session import Session
from tests.tiers import slow
from tests.waiting import until


class Unit:
    """A query, and what its steps took."""

    def __init__(self, weight: float) -> None:
        self.query = SimpleNamespace(weight=weight)
        self.spent = 0.0


class Machine:
    """Queries and a clock that nothing moves but their steps.

    Args:
        cores: how many steps are done at once, of a millisecond each.
    """

    def __init__(self, weights: list[float], cores: int) -> None:
        self.now = 0.0
        self.cores = cores
        self.units = [Unit(weight) for weight in weights]
        self.shares = Shares(lambda unit: unit.spent, lambda: self.now)

    def held(self, wanting: list[Unit]) -> set[Unit]:
        return self.shares.ahead(self.units, {unit: unit.query.weight for unit in wanting})

    def work(self, seconds: float, wanting: list[Unit]) -> list[float]:
        """What each has of so many seconds, where these have something to do all the time, and take turns."""
        before, queue = [unit.spent for unit in self.units], list(wanting)
        for _ in range(round(seconds * 1000)):
            held = self.held(wanting)
            served = [unit for unit in queue if unit not in held][: self.cores]
            queue = [unit for unit in queue if unit not in served] + served
            for unit in served:
                unit.spent += 0.001
            self.now += 0.001
        return [round(unit.spent - was, 3) for unit, was in zip(self.units, before, strict=True)]


@slow
@pytest.mark.parametrize("cores", [1, 2])
def test_shares_are_those_of_the_weights(cores: int) -> None:
    machine = Machine([1.0, 4.0], cores)
    light, heavy = machine.work(20, machine.units)
    assert light / heavy == pytest.approx(1 / 4, rel=0.05)


def test_queries_of_one_weight_never_wait() -> None:
    machine = Machine([2.0, 2.0], 2)
    assert machine.work(5, machine.units) == [5, 5]
    machine.units[0].spent += 1_000
    assert machine.held(machine.units) == set()


def test_a_query_waits_for_nobody_who_has_nothing_to_do() -> None:
    machine = Machine([1.0, 4.0], 1)
    assert machine.work(5, machine.units[:1]) == [5, 0]


@slow
def test_who_had_the_machine_alone_is_not_made_to_pay_for_it() -> None:
    machine = Machine([1.0, 4.0], 1)
    machine.work(100, machine.units[:1])
    assert machine.work(5, machine.units)[0] >= 0.9


def test_a_step_that_nobody_could_end_is_not_paid_for_forever() -> None:
    machine = Machine([1.0, 1.0, 4.0], 1)
    light, _, _ = machine.units
    machine.held(machine.units)
    light.spent += 1_000  # in one step, which nobody could have ended
    machine.work(3, machine.units)
    assert machine.work(5, machine.units)[0] > 0.5


def test_a_query_with_little_to_do_never_waits() -> None:
    machine = Machine([1.0, 4.0, 0.01], 2)
    little, heavy, least = machine.units
    for round_ in range(20_000):  # twenty times a second for 2 ms, beside one that always has something to do
        wants = [little, least] if round_ % 50 < 2 else []
        held = machine.held([heavy, *wants])
        assert little not in held
        for unit in [heavy, *(u for u in wants if u not in held)]:
            unit.spent += 0.001
        machine.now += 0.001


# -- in an engine ----------------------------------------------------------------------------------------------------

ROWS, COUNTED = 6_000, 4_000


@slow
@pytest.mark.parametrize("apart", [True, False], ids=["in threads of their own", "in the engine's thread"])
def test_two_queries_that_always_have_something_to_do_share_by_weight(
    apart: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows stand for time: whatever a busy machine makes of the steps, a row is a millisecond. When the one of weight 4 has had
    so many, the other one has had a quarter of that, and at most what it may be ahead and a step besides.
    """
    taken: Counter[str] = Counter()
    found: list[int] = []

    @jupyter_stream.aggregate(name="counted")
    class Counted:
        def initialize(self, who: str) -> None:
            self.iterate(who)

        def iterate(self, who: str) -> None:
            taken[who] += 1
            if who == "heavy" and taken[who] == COUNTED:
                found.append(taken["light"])

        def terminate(self) -> int:
            return 1

    take = Feed._taken
    monkeypatch.setattr(Feed, "_taken", lambda feed, most: take(feed, min(most, 20)))
    monkeypatch.setattr(Took, "long", apart)
    monkeypatch.setattr(steps, "PATIENCE", 1e9)  # nobody else says whose steps are aside
    monkeypatch.setattr(Steps, "spent", lambda steps, owner: taken[owner.name] / 1000)
    with Session({"f": pl.DataFrame({"ts": range(ROWS)})}) as session:
        queries = []
        for name, weight in (("light", 1), ("heavy", 4)):
            session.execute(f"CREATE STREAM of_{name} (ts BIGINT) ORDER BY ts SOURCE 'frame://f'")
            text = f"SELECT counted('{name}') AS x FROM of_{name} [RANGE 50 MICROSECONDS TUMBLING]"
            queries += session.execute(text, name=name, weight=weight, paused=True)
        engine = session.engine
        until(lambda: [feed.queue.extra.get("queued_rows") for feed in engine.feeds] == [ROWS, ROWS])
        engine.submit(lambda: [engine.resume(query._pipeline) for query in queries]).result()
        for query in queries:
            assert query.wait(200) and query.to_polars().height == ROWS // 50
    assert found[0] <= COUNTED / 4 + 250
    if not apart:
        assert found[0] >= COUNTED / 4 - 250
