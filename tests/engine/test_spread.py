"""Who is late is the same whether a batch is judged at once, by chunks, or row by row."""

from __future__ import annotations

import numpy as np
import pytest

from jupyter_stream.core.time import MIN_TIME
from jupyter_stream.engine import progress, spread
from jupyter_stream.engine.progress import DelayFrontier
from jupyter_stream.engine.spread import TimeSpread


@pytest.mark.parametrize("rows", [1, 7, 8, 9, 16, 25])
def test_the_least_and_the_greatest_are_found_by_chunks(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spread, "CHUNK", 8)
    ts = np.random.default_rng(rows).integers(-100, 100, rows)
    found = TimeSpread.of(ts)
    assert (found.least, found.greatest) == (ts.min(), ts.max())
    assert len(found.lows) == len(found.highs) == -(-rows // 8)


@pytest.mark.parametrize("disorder", [0, 3, 10, 40])
@pytest.mark.parametrize("seed", range(5))
def test_late_rows_are_those_of_one_by_one(disorder: int, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spread, "CHUNK", 8)
    monkeypatch.setattr(progress, "CHUNK", 8)
    of = np.random.default_rng(seed)
    ts = np.arange(200) // 2 - of.integers(0, disorder + 1, 200)

    def ended(punctuation: int) -> int:
        """The end of the last extent that is final, of 20 each."""
        return punctuation if punctuation == MIN_TIME else punctuation // 20 * 20

    def missed(size: int) -> list[bool]:
        """Of each row whether it came after an extent of its time was final."""
        frontier, found = DelayFrontier(5), []
        for start in range(0, ts.size, size):
            part = ts[start : start + size]
            broken = frontier.take(part, ended, TimeSpread.of(part))
            said = np.full(part.size, MIN_TIME) if broken is None else broken
            found += [t < ended(int(p)) for t, p in zip(part.tolist(), said, strict=True)]
        assert (frontier.newest, frontier.value) == (ts.max(), ts.max() - 5)
        return found

    one_by_one = missed(1)
    assert any(one_by_one) or disorder < 40
    assert not any(one_by_one) or disorder > 5
    assert missed(200) == missed(37) == missed(8) == one_by_one
