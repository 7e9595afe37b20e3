"""Kills, whatever a query is at: no row is lost, none is there twice. `python -m tests.faults.kills` kills more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.faults.kills import KINDS, Brokers, Kind, Trial
from tests.tiers import ALL, thinned

KILLS = 3 if ALL else 1


@pytest.fixture(scope="module")
def brokers() -> Iterator[Brokers]:
    with closing(Brokers()) as made:
        yield made


@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", thinned(KINDS[:3], 3), ids=[kind.name.replace(" ", "-") for kind in KINDS[:3]])
def test_nothing_is_lost_and_nothing_is_there_twice(kind: Kind, tmp_path: Path, brokers: Brokers) -> None:
    told = Trial(kind, tmp_path, brokers, 11 + KINDS.index(kind)).run(KILLS)
    assert (told.kills, told.lost, told.doubled) == (KILLS, 0, 0)
