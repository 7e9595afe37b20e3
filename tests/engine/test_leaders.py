"""The row of the greatest time is the first of its time, wherever it stands in a batch."""

from __future__ import annotations

import numpy as np
import pytest

from jupyter_stream.engine import leaders
from jupyter_stream.engine.leaders import _newest


@pytest.mark.parametrize("rows", [1, 2, 7, 8, 9, 24, 25])
def test_the_first_row_of_the_greatest_time_is_found(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaders, "_TAIL", 8)
    of = np.random.default_rng(rows)
    for _ in range(200):
        ts = of.integers(0, 4, rows)
        assert _newest(ts) == int(np.argmax(ts))
