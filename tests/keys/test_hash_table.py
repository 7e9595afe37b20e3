"""The array map against a dictionary."""

from unittest.mock import patch

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream.keys import hash_table
from jupyter_stream.keys.hash_table import _MULTIPLIER, EMPTY, DirectTable, HashTable

keys = st.lists(st.integers(-(2**63), 2**63 - 1), unique=True, max_size=200)


@given(keys, keys)
def test_look_up_finds_what_was_inserted_and_nothing_else(present: list[int], asked: list[int]) -> None:
    table, model = HashTable(), {}
    for start in range(0, len(present), 7):
        some = present[start : start + 7]
        table.insert(np.array(some, np.int64), np.arange(start, start + len(some)))
        model.update({k: start + i for i, k in enumerate(some)})
    table.check()
    wanted = present + asked
    found = table.lookup(np.array(wanted, np.int64))
    assert found.tolist() == [model.get(k, EMPTY) for k in wanted]


@given(keys, st.data())
def test_keep_forgets_the_dead_and_only_them(present: list[int], data: st.DataObject) -> None:
    table = HashTable()
    table.insert(np.array(present, np.int64), np.arange(len(present)))
    live = np.array(data.draw(st.lists(st.booleans(), min_size=len(present), max_size=len(present))), np.bool_)
    table.keep(live)
    table.check()
    found = table.lookup(np.array(present, np.int64))
    assert found.tolist() == [i if alive else EMPTY for i, alive in enumerate(live.tolist())]


def test_keys_that_collide_in_one_insert_all_get_their_place() -> None:
    # consecutive multiples of 2^54 share the few top bits that choose a place in a small table
    crowd = (np.arange(400, dtype=np.int64) << 54) + 3
    table = HashTable()
    table.insert(crowd, np.arange(400))
    table.check()


def test_a_few_keys_are_found_far_behind_their_place() -> None:
    # all want the first place; the multiplier's inverse makes them so
    inverse = pow(int(_MULTIPLIER), -1, 1 << 64)
    crowd = (np.arange(1, 401, dtype=np.uint64) * np.uint64(inverse)).view(np.int64)
    table = HashTable()
    table.insert(crowd, np.arange(400))
    table.remove(crowd[50:60])
    for begin in range(0, 400, 40):
        expected = [EMPTY if 50 <= i < 60 else i for i in range(begin, begin + 40)]
        assert table.lookup(crowd[begin : begin + 40]).tolist() == expected
    others = (np.arange(401, 441, dtype=np.uint64) * np.uint64(inverse)).view(np.int64)
    assert (table.lookup(others) == EMPTY).all()


@given(st.lists(st.integers(-1000, 1000), unique=True, min_size=1, max_size=50))
def test_a_direct_table_answers_as_a_dictionary_does(present: list[int]) -> None:
    table = DirectTable()
    for i, key in enumerate(present):
        assert table.covers(key, key)
        table.insert(np.array([key]), np.array([i]))
    assert table.covers(-1000, 1000)
    model = {k: i for i, k in enumerate(present)}
    asked = np.arange(-1000, 1001)
    assert table.lookup(asked).tolist() == [model.get(k, EMPTY) for k in asked.tolist()]


def test_a_direct_table_refuses_a_range_too_wide() -> None:
    table = DirectTable()
    assert table.covers(0, DirectTable.LIMIT - 1)
    assert not table.covers(-1, 0)


@given(
    st.lists(st.integers(-40, 40), unique=True, max_size=30), st.lists(st.integers(-40, 40), min_size=1, max_size=60)
)
def test_keys_close_together_that_have_no_slot_are_found(present: list[int], asked: list[int]) -> None:
    table = DirectTable()
    assert table.covers(-40, 40)
    for key in present:
        table.insert(np.array([key]), np.array([key + 100]))
    found = table.together(np.array(asked))
    if found is None:
        assert max(asked) - min(asked) + 1 > len(asked)
    else:
        assert found.tolist() == sorted(set(asked) - set(present))


@given(st.lists(st.integers(-40, 40), max_size=60), st.booleans(), st.sampled_from((0, 60)))
def test_a_key_is_first_seen_where_it_comes_first(asked: list[int], direct: bool, few: int) -> None:
    table = DirectTable() if direct else HashTable()
    if isinstance(table, DirectTable):
        assert table.covers(-40, 40)
    with patch.object(hash_table, "_SORTED", few):
        first = table.first_seen(np.array(asked, np.int64))
    assert first.tolist() == sorted({asked.index(k) for k in asked})
    assert (table.lookup(np.arange(-40, 41)) == EMPTY).all()


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 60), st.integers(1, 40)), max_size=40), st.integers(1, 50))
def test_keys_may_go_and_come_again_while_the_table_grows(steps: list[tuple[bool, int, int]], factor: int) -> None:
    table, model, slot = HashTable(), {}, 0
    for come, first, count in steps:
        keys = np.arange(first, first + count) * factor * 1_000_003
        for _ in range(3):
            if come:
                new = np.array([k for k in keys.tolist() if k not in model], np.int64)
                table.insert(new, np.arange(slot, slot + new.size))
                model.update(zip(new.tolist(), range(slot, slot + new.size), strict=True))
                slot += new.size
            else:
                table.remove(keys)
                for k in keys.tolist():
                    model.pop(k, None)
            keys = keys + 7
        assert len(table) == len(model)
        asked = np.arange(120) * factor * 1_000_003
        for shift in (0, 7, 14):
            assert table.lookup(asked + shift).tolist() == [model.get(k + shift, EMPTY) for k in asked.tolist()]
    assert dict(zip(*(a.tolist() for a in table.items()), strict=True)) == model


def test_a_table_that_grows_a_little_at_a_time_forgets_nothing() -> None:
    table = HashTable()
    rng = np.random.default_rng(3)
    keys = rng.permutation(np.arange(60_000)) * 977
    for start in range(0, keys.size, 500):
        table.insert(keys[start : start + 500], np.arange(start, start + 500))
        gone = keys[start : start + 500 : 3]
        table.remove(gone)
        seen = np.arange(max(0, start - 20_000), start + 500)
        expected = np.where((seen % 500) % 3 == 0, EMPTY, seen)
        assert np.array_equal(table.lookup(keys[seen]), expected)
    table.check()


def test_a_large_table_that_grows_and_lets_go_finds_all_it_holds() -> None:
    table = HashTable()
    rng = np.random.default_rng(4)
    fresh = rng.permutation(600_000) * 7_919
    gone = 0
    for start in range(0, fresh.size, 10_000):
        some = fresh[start : start + 10_000]
        table.insert(some, np.arange(start, start + some.size))
        if start - gone > 150_000:
            table.remove(fresh[gone : gone + 20_000])
            gone += 20_000
        sample = fresh[: start + 10_000 : 97]
        met = np.arange(0, start + 10_000, 97)
        assert np.array_equal(table.lookup(sample), np.where(met < gone, EMPTY, met))
        assert len(table) == start + 10_000 - gone
    table.check()
