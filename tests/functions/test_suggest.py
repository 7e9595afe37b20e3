"""What was probably meant: near words only."""

from __future__ import annotations

import pytest

from jupyter_stream.core.suggest import distance, nearest


@pytest.mark.parametrize(
    ("wrong", "right", "found"),
    [
        ("pirce", ("price", "symbol"), "price"),
        ("PRICE", ("price",), "price"),
        ("strat_time", ("start_time", "end_time"), "start_time"),
        ("symbol", ("symbol_name", "n"), "symbol_name"),
        ("select", ("reset", "stop"), None),
        ("now", ("row_num", "power"), None),
        ("destport", ("srcport",), None),
        ("x", ("y",), None),
    ],
)
def test_the_nearest_is_near(wrong: str, right: tuple[str, ...], found: str | None) -> None:
    assert nearest(wrong, right) == found


def test_swapped_letters_are_one_change() -> None:
    assert distance("pirce", "price") == 1 and distance("", "abc") == 3 and distance("reset", "reset") == 0
