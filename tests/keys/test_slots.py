"""Key slots: equal keys, one slot; freed slots are used again; any mix of types."""

import datetime as dt

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_stream.core.messages import Int64s
from jupyter_stream.keys.slots import KeySlots
from tests.tiers import examples

COLUMNS = {
    "small ints": (pl.Int64(), st.integers(-5, 5)),
    "wide ints": (pl.Int64(), st.sampled_from([-(2**63), -1, 0, 1, 2**40, 2**63 - 1])),
    "strings": (pl.String(), st.sampled_from(["", "a", "b", "ü", "a\x00"])),
    "floats": (pl.Float64(), st.sampled_from([0.0, -0.0, float("nan"), float("inf"), 1.5])),
    "dates": (pl.Date(), st.dates(dt.date(1960, 1, 1), dt.date(1980, 1, 1))),
    "times": (pl.Datetime("us"), st.datetimes(dt.datetime(1960, 1, 1), dt.datetime(2030, 1, 1))),
    "booleans": (pl.Boolean(), st.booleans()),
}


def plain(value: object) -> object:
    if isinstance(value, float):
        return "nan" if value != value else value + 0.0
    return value


@settings(max_examples=examples(150))
@given(st.data())
def test_equal_keys_have_one_slot_and_different_keys_different_ones(data: st.DataObject) -> None:
    kinds = data.draw(st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=3))
    schema = [(f"k{i}", COLUMNS[kind][0]) for i, kind in enumerate(kinds)]
    slots, known = KeySlots(schema), {}
    for _ in range(data.draw(st.integers(1, 4))):
        rows = data.draw(st.lists(st.tuples(*(st.none() | COLUMNS[k][1] for k in kinds)), min_size=1, max_size=20))
        columns = [pl.Series(n, [r[i] for r in rows], dtype=t) for i, (n, t) in enumerate(schema)]
        got = slots.encode(columns)
        for row, slot in zip(rows, got.tolist(), strict=True):
            assert known.setdefault(tuple(plain(v) for v in row), slot) == slot
        back = slots.gather(got)
        for column, again in zip(columns, back, strict=True):
            assert [plain(v) for v in again.to_list()] == [plain(v) for v in column.to_list()]
        slots.check()
    assert len(set(known.values())) == len(known)


@pytest.mark.parametrize("text", [False, True])
def test_ever_new_keys_hold_slots_for_the_live_ones_only(text: bool) -> None:
    schema = [("k", pl.String() if text else pl.Int64())]
    slots = KeySlots(schema)
    sizes = []
    for i in range(200):
        keys = pl.Series("k", np.arange(i * 1000, (i + 1) * 1000))
        got = slots.encode([keys.cast(schema[0][1])])
        live = np.zeros(slots.capacity, np.bool_)
        live[got] = True
        slots.release(live)
        slots.check()
        sizes.append(slots.bytes)
    assert slots.live == 1000
    assert slots.capacity <= 2000
    assert max(sizes[100:]) <= 1.5 * max(sizes[10:50])


def test_renumbering_keeps_every_group() -> None:
    slots = KeySlots([("k", pl.String())])
    keys = pl.Series("k", [f"key {i}" for i in range(5000)])
    got = slots.encode([keys])
    live = np.zeros(slots.capacity, np.bool_)
    live[got[::500]] = True
    slots.release(live)
    before = slots.gather(np.flatnonzero(live))[0].to_list()
    slots.renumber()
    assert slots.capacity == slots.live == 10
    assert slots.gather(np.arange(10))[0].to_list() == before
    slots.check()


def test_null_is_a_group_of_its_own_and_can_be_released() -> None:
    slots = KeySlots([("k", pl.Int64())])
    first = slots.encode([pl.Series("k", [None, 1, None])])
    assert first[0] == first[2] != first[1]
    live = np.zeros(slots.capacity, np.bool_)
    live[first[1]] = True
    slots.release(live)
    again = slots.encode([pl.Series("k", [None, 1])])
    assert again[1] == first[1]
    assert slots.gather(again)[0].to_list() == [None, 1]


def test_two_keys_with_one_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    from jupyter_stream.keys import slots as module

    whole = module._hash
    # the first hash function is as bad as can be; the next one taken is the real one
    monkeypatch.setattr(module, "_hash", lambda f, seed: np.zeros(f.height, np.int64) if seed == 0 else whole(f, seed))
    slots = KeySlots([("k", pl.String())])
    got = slots.encode([pl.Series("k", ["a", "b", "a", "c"])])
    assert got[0] == got[2]
    assert len(set(got.tolist())) == 3
    assert slots.gather(got)[0].to_list() == ["a", "b", "a", "c"]


def test_two_of_many_new_keys_with_one_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    from jupyter_stream.keys import slots as module

    whole = module._hash

    def bad(frame: pl.DataFrame, seed: int) -> Int64s:
        hashes = whole(frame, seed).copy()
        if seed == 0:
            hashes[frame.get_column("k").is_in(["a", "b"]).to_numpy()] = 7
        return hashes

    monkeypatch.setattr(module, "_hash", bad)
    slots = KeySlots([("k", pl.String())])
    keys = ["a", "x", "y", "b", "z"]
    assert len(set(slots.encode([pl.Series("k", keys)]).tolist())) == 5
    slots.check()


WHOLE = st.one_of(
    st.integers(-3, 3), st.sampled_from([10**6, -(10**9), 1_700_000_000_000_000, 2**62, -(2**63), 2**63 - 1])
)
STEPS = st.lists(
    st.tuples(st.lists(st.tuples(st.none() | WHOLE, WHOLE, st.booleans()), max_size=8), st.integers(0, 3)), max_size=8
)


@given(STEPS)
def test_several_integers_have_the_slots_of_their_values_in_words_or_not(steps: list) -> None:
    schema = [("a", pl.Int64()), ("b", pl.Datetime("us")), ("c", pl.Boolean())]
    slots = KeySlots(schema)
    known: dict[tuple, int] = {}
    for rows, keep in steps:
        columns = [pl.Series(n, [r[i] for r in rows], dtype=pl.Int64).cast(t) for i, (n, t) in enumerate(schema)]
        found = slots.encode(columns).tolist()
        for row, slot in zip(rows, found, strict=True):
            assert known.setdefault(row, slot) == slot
        assert len(set(known.values())) == len(known) == slots.live
        back = slots.gather(np.array(found, np.int64))
        assert [c.dtype for c in back] == [t for _, t in schema]
        assert [(a, b, c) for a, b, c in zip(back[0], back[1].cast(pl.Int64), back[2], strict=True)] == rows
        slots.check()
        if keep < 3:
            live = np.zeros(slots.capacity, np.bool_)
            known = {row: slot for row, slot in known.items() if slot % 3 == keep}
            live[list(known.values())] = True
            slots.release(live)
            slots.check()


def test_words_give_way_to_rows_when_a_key_has_no_room_and_are_renewed_when_it_has() -> None:
    slots = KeySlots([("a", pl.Int64()), ("b", pl.Int64())])
    first = slots.encode([pl.Series([1, 2]), pl.Series([5, 6])])
    later = slots.encode([pl.Series([1, 2, 10**9]), pl.Series([5, 6, 10**6])])
    assert later[:2].tolist() == first.tolist()
    slots.check()
    far = slots.encode([pl.Series([1, 2, 10**9, 2**62]), pl.Series([5, 6, 10**6, -(2**62)])])
    assert far[:3].tolist() == later.tolist()
    null = slots.encode([pl.Series([None, 2]), pl.Series([5, 6])])
    assert null[1] == first[1] and null[0] not in far
    slots.check()
