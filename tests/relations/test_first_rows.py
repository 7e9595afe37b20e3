"""The first rows of a relation at every instant, against sorting them all."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_stream.core.messages import Int64s
from jupyter_stream.relations import first_rows
from jupyter_stream.relations.first_rows import FirstRows
from tests.tiers import examples

Answer = Counter[tuple[int, int, int]]
"""By partition, value and place: how many rows."""


@pytest.fixture(
    params=[(1 << 15, 1 << 12, 256, True), (4, 8, 1, True), (1 << 15, 0, 1, False)],
    ids=["at once", "in small steps", "halved"],
    autouse=True,
)
def sizes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    events, pairs, kept, roots = request.param
    monkeypatch.setattr(first_rows, "_EVENTS", events)
    monkeypatch.setattr(first_rows, "_PAIRS", pairs)
    monkeypatch.setattr(first_rows, "_MANY", 16 if pairs > 8 else 0)
    monkeypatch.setattr(first_rows, "_KEPT", kept)
    if not roots:  # few are kept in order, so that the bound is set again and again
        monkeypatch.setattr(first_rows, "isqrt", lambda _: 0)


def rows_of(offset: int, end: int | None, numbered: bool, by_part: bool) -> FirstRows:
    """Slots are numbered by their places in the order, the other way round."""

    def ranked(slots: Int64s) -> Int64s:
        return np.argsort(-slots, kind="stable")

    def before(slots: Int64s, bound: int) -> Int64s:
        return slots[slots // 2 >= bound // 2]  # not all of them are before it

    def best(slots: Int64s, wanted: int) -> Int64s:
        return np.sort(slots)[::-1][:wanted]

    return FirstRows(offset, end, numbered, by_part, ranked, before, best)


def answer(copies: Counter[int], parts: int, offset: int, end: int | None, numbered: bool) -> Answer:
    found: Answer = Counter()
    for part in range(parts):
        rows = sorted((s for s in copies.elements() if s % parts == part), reverse=True)[:end]
        for place, slot in enumerate(rows):
            if place >= offset:
                found[part, slot, place if numbered else 0] += 1
    return found


@settings(max_examples=examples(60), deadline=None)
@given(st.data(), st.integers(1, 3), st.integers(0, 2), st.sampled_from([0, 1, 2, 5, None]), st.booleans())
def test_the_first_rows_are_those_of_all_rows_sorted(
    data: st.DataObject, parts: int, offset: int, limit: int | None, numbered: bool
) -> None:
    end = None if limit is None else limit + offset
    held: Counter[int] = Counter()
    rows = rows_of(offset, end, numbered, parts > 1)
    now, shown = 0, answer(held, parts, offset, end, numbered)
    for _ in range(data.draw(st.integers(1, 4))):
        slots, times, signs = [], [], []
        expected: list[tuple[int, Answer]] = []
        for _ in range(data.draw(st.integers(1, 12))):
            now += data.draw(st.integers(1, 3))
            for _ in range(data.draw(st.integers(1, 3))):
                leaves = data.draw(st.booleans()) and bool(+held)
                slot = data.draw(st.sampled_from(sorted(+held))) if leaves else data.draw(st.integers(0, 30))
                held[slot] += -1 if leaves else 1
                slots, times, signs = [*slots, slot], [*times, now], [*signs, -1 if leaves else 1]
            then = answer(held, parts, offset, end, numbered)
            change = Counter(then)
            change.subtract(shown)
            expected.append((now, Counter({k: n for k, n in change.items() if n})))
            shown = then
        order = data.draw(st.permutations(range(len(slots))))
        columns = [np.array(c, np.int64)[list(order)] for c in (slots, times, signs)]
        told: dict[int, Answer] = {}
        last = (0, -1)
        for moves in rows.advance(columns[0], columns[0] % parts if parts > 1 else 0 * columns[0], *columns[1:]):
            for s, p, at, sign in zip(
                *(a.tolist() for a in (moves.slots, moves.places, moves.instants, moves.signs)), strict=True
            ):
                assert (at, sign) >= last, "by instant, leaving rows first"
                last = (at, sign)
                told.setdefault(at, Counter())[s % parts, s, p] += sign
        assert told == {at: change for at, change in expected if change}


def test_a_row_behind_the_bound_is_not_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = rows_of(0, 2, False, False)
    monkeypatch.setattr(first_rows, "_KEPT", 4)
    monkeypatch.setattr(first_rows, "isqrt", lambda _: 0)
    many = np.arange(100)
    rows.advance(many, 0 * many, 0 * many + 1, 0 * many + 1)
    sorted_ = []
    rows._ranked = lambda slots: sorted_.append(slots.size) or np.argsort(-slots)  # type: ignore[method-assign]
    assert not rows.advance(np.array([3, 7]), np.zeros(2, np.int64), np.array([2, 3]), np.array([1, -1]))
    assert not sorted_
    (moves,) = rows.advance(np.array([99]), np.zeros(1, np.int64), np.array([4]), np.array([-1]))
    assert moves.slots.tolist() == [99, 97] and moves.signs.tolist() == [-1, 1]
