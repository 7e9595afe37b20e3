"""How fast the inner loop of GROUP BY key, pane can go in pure NumPy on this machine: each pass alone, then whole recipes.

Not a benchmark of the engine and not a test: it shows the ceiling that the operator's figures can be held against.
Run it as `python tests/benchmarks/sketch.py [passes] [recipes] [threads]`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

ROWS = 1 << 16
BATCHES = 48
RATE = 16_000
BAND = 3_200_000
SECOND = 1_000_000
LEAST = np.iinfo(np.int64).min


class Rows:
    """The same disordered rows as the benchmarks', cut in 64k-row batches."""

    def __init__(self, batches: int = BATCHES) -> None:
        rng = np.random.default_rng(1)
        n = self.n = ROWS * batches
        self.batches = batches
        ts = (np.arange(n) * (SECOND / RATE)).astype(np.int64) + 1_700_000_000 * SECOND
        ts -= rng.integers(0, BAND, n)
        share = 1 / np.arange(1, 100_001)
        edges = np.cumsum(share / share.sum())
        names = rng.permutation(100_000)
        zipf = names[np.minimum(np.searchsorted(edges, rng.random(n)), 99_999)]
        self.ts = self._cut(ts)
        self.keys = {1_000: self._cut(rng.integers(0, 1_000, n)), 100_000: self._cut(zipf)}
        self.value = self._cut(rng.integers(0, 1_000_000, n))

    def _cut(self, column: Ints) -> list[Ints]:
        return [column[at : at + ROWS].copy() for at in range(0, self.n, ROWS)]


def best(work: Callable[[], object], times: int = 3) -> float:
    """Seconds of the fastest of a few runs."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return min(taken)


def passes(rows: Rows) -> None:
    """Each pass over a batch alone, in ns per row."""
    ts, key, zipf, value = rows.ts, rows.keys[1_000], rows.keys[100_000], rows.value
    key32 = [k.astype(np.int32) for k in key]
    real = [v.astype(float) for v in value]
    pane = 5 * SECOND
    into = np.empty(ROWS, np.int64)
    mask = ts[0] >= ts[0][ROWS // 2]
    state = np.zeros(400_000, np.int64)
    state32 = state.astype(np.int32)
    table: list[tuple[str, Callable[[int], object]]] = [
        ("ts // pane", lambda i: ts[i] // pane),
        ("ts // pane, into", lambda i: np.floor_divide(ts[i], pane, out=into)),
        ("(ts - t0) * (1 / pane) to int64", lambda i: ((ts[i] - ts[i][0]) * (1 / pane)).astype(np.int64)),
        ("ts >= bound", lambda i: ts[i] >= ts[i][0]),
        ("ts >= bound, into bool", lambda i: np.greater_equal(ts[i], ts[i][0], out=mask)),
        ("ts.searchsorted in 3 bounds", lambda i: np.searchsorted(np.array([0, 1, 2]) * pane + ts[i][0], ts[i])),
        ("min and max of ts", lambda i: (ts[i].min(), ts[i].max())),
        ("min and max per 4096 rows", lambda i: (ts[i].reshape(-1, 4096).min(1), ts[i].reshape(-1, 4096).max(1))),
        ("maximum.accumulate(ts)", lambda i: np.maximum.accumulate(ts[i])),
        ("bincount(1,000 keys)", lambda i: np.bincount(key[i], minlength=1_000)),
        ("bincount(1,000 keys, int32)", lambda i: np.bincount(key32[i], minlength=1_000)),
        ("bincount(100,000 Zipf keys)", lambda i: np.bincount(zipf[i], minlength=100_000)),
        ("bincount(1,000 keys, weights int64)", lambda i: np.bincount(key[i], value[i], minlength=1_000)),
        ("bincount(1,000 keys, weights double)", lambda i: np.bincount(key[i], real[i], minlength=1_000)),
        ("add.at(state, 1,000 keys, 1)", lambda i: np.add.at(state, key[i], 1)),
        ("add.at(state, 1,000 keys, value)", lambda i: np.add.at(state, key[i], value[i])),
        ("add.at(state, Zipf keys, value)", lambda i: np.add.at(state, zipf[i], value[i])),
        ("maximum.at(state, 1,000 keys, value)", lambda i: np.maximum.at(state, key[i], value[i])),
        ("maximum.at(state, Zipf keys, value)", lambda i: np.maximum.at(state, zipf[i], value[i])),
        ("take int64, 1,000 keys", lambda i: state.take(key[i], out=into, mode="clip")),
        ("take int64, Zipf keys", lambda i: state.take(zipf[i], out=into, mode="clip")),
        ("take int32, Zipf keys", lambda i: state32.take(zipf[i], mode="clip")),
        ("state[keys] (bounds checked)", lambda i: state[key[i]]),
        ("key + mask * n", lambda i: key[i] + mask * 1_000),
        ("key + mask * n, into", lambda i: np.add(key[i], np.multiply(mask, 1_000, out=into), out=into)),
        ("key + n, into", lambda i: np.add(key[i], 1_000, out=into)),
        ("key[mask]", lambda i: key[i][mask]),
        ("sort(int32)", lambda i: np.sort(key32[i])),
        ("sort(key and value packed in int64)", lambda i: np.sort((key[i] << 20) + value[i])),
        ("argsort(stable, int16)", lambda i: np.argsort(key32[i].astype(np.int16), kind="stable")),
    ]
    for name, one in table:
        seconds = best(lambda one=one: [one(i) for i in range(rows.batches)])
        print(f"  {name:42s} {seconds / rows.n * 1e9:6.2f} ns/row")


class Panes:
    """count, sum and max of (pane, slot): a few panes in a row, the open ones moved to the front when the end is reached.

    Closing is not part of the sketch: panes left behind are forgotten.
    """

    ROOM = 8

    def __init__(self, keys: int, pane: int) -> None:
        self.keys = keys
        self.pane = pane
        self.first: int | None = None
        self.total = 0
        self.count = np.zeros(self.ROOM * keys, np.int64)
        self.sum = np.zeros(self.ROOM * keys, np.int64)
        self.max = np.full(self.ROOM * keys, LEAST)
        self._index = np.empty(ROWS, np.int64)

    def make_room(self, low: int, high: int) -> None:
        """Have panes low..high in the arrays."""
        if self.first is None:
            self.first = low
        if high - self.first >= self.ROOM:
            gone = (low - self.first) * self.keys
            self.total += int(self.count[:gone].sum())
            for array, nothing in ((self.count, 0), (self.sum, 0), (self.max, LEAST)):
                kept = array[gone:].copy()
                array[: kept.size] = kept
                array[kept.size :] = nothing
            self.first = low

    def cells(self, ts: Ints, slot: Ints) -> tuple[slice, Ints]:
        """Which part of the arrays, and where in it each row belongs. Two panes need a comparison, no division."""
        low, high = int(ts.min()) // self.pane, int(ts.max()) // self.pane
        self.make_room(low, high)
        assert self.first is not None
        part = slice((low - self.first) * self.keys, (high - self.first + 1) * self.keys)
        if low == high:
            return part, slot
        at = self._index[: ts.size]
        np.multiply(ts >= (low + 1) * self.pane, self.keys, out=at)
        for pane in range(low + 2, high + 1):
            at += (ts >= pane * self.pane) * self.keys
        return part, np.add(at, slot, out=at)


def slots(key: Ints, lut: Ints, into: Ints) -> Ints:
    """Key to slot: the range check is one pass, so that the gather needs none."""
    if key.view(np.uint64).max() >= lut.size:
        raise ValueError("a key outside the table")
    return lut.take(key, out=into[: key.size], mode="clip")


def plain(rows: Rows, keys: int, pane: int) -> Panes:
    """The obvious loop: whole batches, pane by division, `add.at`."""
    state, lut = Panes(keys, pane), first_seen(rows, keys)
    for ts, key in zip(rows.ts, rows.keys[keys], strict=True):
        panes = ts // pane
        low, high = int(panes.min()), int(panes.max())
        state.make_room(low, high)
        assert state.first is not None
        np.add.at(state.count, (panes - state.first) * keys + lut[key], 1)
    return state


def counts(rows: Rows, keys: int, pane: int, chunk: int, direct: bool = False) -> Panes:
    """Chunks, pane by comparison, `bincount`. `direct`: keys are their slots."""
    state, lut, into = Panes(keys, pane), first_seen(rows, keys), np.empty(chunk, np.int64)
    for batch, names in zip(rows.ts, rows.keys[keys], strict=True):
        for at in range(0, batch.size, chunk):
            ts, key = batch[at : at + chunk], names[at : at + chunk]
            part, cell = state.cells(ts, key if direct else slots(key, lut, into))
            state.count[part] += np.bincount(cell, minlength=part.stop - part.start)
    return state


def three(rows: Rows, keys: int, pane: int, chunk: int, how: str) -> Panes:
    """count, sum and max. `how`: plain; packed (count in the sum's upper bits); double (the same in bincount's weights)."""
    state, lut, into = Panes(keys, pane), first_seen(rows, keys), np.empty(chunk, np.int64)
    for batch, names, numbers in zip(rows.ts, rows.keys[keys], rows.value, strict=True):
        for at in range(0, batch.size, chunk):
            ts, key, value = batch[at : at + chunk], names[at : at + chunk], numbers[at : at + chunk]
            part, cell = state.cells(ts, slots(key, lut, into))
            size = part.stop - part.start
            if how == "packed":
                np.add.at(state.sum[part], cell, value + (1 << 40))
            elif how == "double":
                both = np.bincount(cell, value + float(1 << 36), minlength=size).astype(np.int64)
                state.count[part] += both >> 36
                state.sum[part] += both & ((1 << 36) - 1)
            else:
                if size <= chunk:
                    state.count[part] += np.bincount(cell, minlength=size)
                else:
                    np.add.at(state.count[part], cell, 1)
                np.add.at(state.sum[part], cell, value)
            np.maximum.at(state.max[part], cell, value)
    return state


@cache
def first_seen(rows: Rows, keys: int) -> Ints:
    """Slots numbered in the order keys first come: frequent keys then share cache lines."""
    every = np.concatenate(rows.keys[keys])
    names, first = np.unique(every, return_index=True)
    lut = np.zeros(keys, np.int64)
    lut[names[np.argsort(first)]] = np.arange(names.size)
    return lut


def recipes(rows: Rows) -> None:
    """Whole recipes: slots, panes and state, over all batches; closing panes and giving answers come on top."""

    def show(name: str, work: Callable[[], Panes]) -> None:
        state = work()
        if "plain" in name or "chunks" in name:
            assert state.total + int(state.count.sum()) in (rows.n, 0), "rows got lost"
        seconds = best(work)
        print(f"  {name:52s} {seconds / rows.n * 1e9:6.2f} ns/row {rows.n / seconds / 1e6:7.1f} M rows/s", flush=True)

    ten, five = 10 * SECOND, 5 * SECOND
    print("(a) tumbling 10 s count, 1,000 keys")
    show("plain", partial(plain, rows, 1_000, ten))
    for chunk in (4_096, 16_384, 65_536):
        show(f"chunks of {chunk}, look-up table", partial(counts, rows, 1_000, ten, chunk))
        show(f"chunks of {chunk}, key is slot", partial(counts, rows, 1_000, ten, chunk, direct=True))
    for letter, keys in (("b", 1_000), ("c", 100_000)):
        print(f"({letter}) count, sum, max in 5 s panes, {keys:,} keys")
        for how in ("plain", "packed", "double") if keys == 1_000 else ("plain", "packed"):
            for chunk in (16_384, 65_536):
                show(f"{chunk} rows at a time, {how}", partial(three, rows, keys, five, chunk, how))


def threads(rows: Rows) -> None:
    """Does a second thread help? Each call over the batches, by one thread and by two with half of the batches each."""
    ts, key, value = rows.ts, rows.keys[1_000], rows.value
    lut = np.arange(1_000)
    into = [np.empty(ROWS, np.int64) for _ in range(2)]
    state = [np.zeros(1_000, np.int64) for _ in range(2)]
    calls: tuple[tuple[str, Callable[[int, int], object]], ...] = (
        ("ts // pane", lambda who, i: ts[i] // 5_000_000),
        ("min", lambda who, i: ts[i].min()),
        ("lut[key]", lambda who, i: lut[key[i]]),
        ("take, into, clip", lambda who, i: lut.take(key[i], out=into[who], mode="clip")),
        ("bincount", lambda who, i: np.bincount(key[i])),
        ("bincount with weights", lambda who, i: np.bincount(key[i], value[i])),
        ("add.at", lambda who, i: np.add.at(state[who], key[i], value[i])),
        ("maximum.at", lambda who, i: np.maximum.at(state[who], key[i], value[i])),
    )

    def over(call: Callable[[int, int], object], step: int, who: int) -> None:
        for i in range(who, rows.batches, step):
            call(who, i)

    print("two threads against one (2.0 would be perfect, 1.0 means the call keeps the interpreter's lock)")
    with ThreadPoolExecutor(2) as pool:
        for name, call in calls:
            alone = best(partial(over, call, 1, 0))
            pair = best(lambda call=call: list(pool.map(partial(over, call, 2), (0, 1))))  # type: ignore[misc]
            print(f"  {name:30s} {alone / pair:5.2f} x")


if __name__ == "__main__":
    chosen = sys.argv[1:] or ["passes", "recipes", "threads"]
    data = Rows()
    for part in (passes, recipes, threads):
        if part.__name__ in chosen:
            part(data)
