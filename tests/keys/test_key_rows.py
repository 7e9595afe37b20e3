"""Rows of keys by slot, in many blocks: each slot has its own whatever comes and goes, and dead rows are not kept for long."""

import numpy as np
import polars as pl
import pytest

from jupyter_stream.keys import key_rows
from jupyter_stream.keys.key_rows import KeyRows

SCHEMA = {"shop": pl.Int64(), "item": pl.String()}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_rows, "_BITS", 4)
    monkeypatch.setattr(key_rows, "_BLOCK", 16)
    monkeypatch.setattr(key_rows, "_SPARED", 2)


def frame(numbers: list[int]) -> pl.DataFrame:
    return pl.DataFrame(
        {"shop": [n % 7 for n in numbers], "item": [f"a name of some length {n}" for n in numbers]}, SCHEMA
    )


@pytest.mark.parametrize("seed", range(5))
def test_each_slot_has_its_row_while_others_come_and_go(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, held, free, ever = KeyRows(SCHEMA), dict[int, int](), list(range(400)), 0
    for _ in range(120):
        new = int(rng.integers(0, min(40, len(free)) + 1))
        if new:
            slots = [free.pop(int(rng.integers(0, len(free)))) for _ in range(new)]
            rows.add(frame(list(range(ever, ever + new))), np.array(slots))
            held.update(zip(slots, range(ever, ever + new), strict=True))
            ever += new
        gone = [s for s in held if rng.random() < 0.3]
        for slot in gone:
            del held[slot]
            free.append(slot)
        live = np.isin(np.arange(400), list(held))
        rows.forget(np.array(gone, np.int64))
        rows.check(live)
        asked = rng.permutation(np.repeat(np.array(list(held), np.int64), 2))
        assert pl.DataFrame(rows.gather(asked)).equals(frame([held[s] for s in asked.tolist()]))


def test_rows_of_freed_slots_are_given_up() -> None:
    rows = KeyRows(SCHEMA)
    rows.add(frame(list(range(1_000))), np.arange(1_000))
    full = rows.bytes
    for kept in (500, 100, 0):
        before, live = np.arange(1_000), np.arange(1_000) < kept
        rows.forget(before[kept : {500: 1_000, 100: 500, 0: 100}[kept]])
        rows.check(live)
        assert pl.DataFrame(rows.gather(np.arange(kept))).equals(frame(list(range(kept))))
    assert rows.bytes < full / 2


def test_renumbered_slots_have_the_rows_they_had() -> None:
    rows = KeyRows(SCHEMA)
    rows.add(frame(list(range(50))), np.arange(50))
    old = np.array([41, 3, 17])
    rows.forget(np.setdiff1d(np.arange(50), old))
    rows.take(old)
    rows.check(np.ones(3, np.bool_))
    assert pl.DataFrame(rows.gather(np.arange(3))).equals(frame([41, 3, 17]))
