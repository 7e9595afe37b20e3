"""Other rooms ask windows what they give, not which they are: tests of their classes are counted, and there are few."""

from __future__ import annotations

import jupyter_stream.windows
from jupyter_stream.windows import Window
from tests.type_tests import counted_by_file, type_tests

CLASSES = frozenset(
    name
    for name, value in vars(jupyter_stream.windows).items()
    if isinstance(value, type) and issubclass(value, Window)
)
MOST = {
    "jupyter_stream/graph/windowed.py": 7,  # the operator of each kind, of some one of two
    "jupyter_stream/graph/planned.py": 1,  # an assertion, for the type checker
}
"""How many tests of a window's class there may be, by file. Less is welcome; for more, ask the window (`windows/protocol.py`)."""


def test_the_count_finds_every_way_to_ask() -> None:
    text = """
from jupyter_stream.windows import LifetimeWindow, RowWindow as Rows, TimeWindow
isinstance(w, TimeWindow); isinstance(w, int | windows.LifetimeWindow); issubclass(type(w), Rows); type(w) is TimeWindow
match plan:
    case Aggregate(window=TimeWindow()): pass
    case Rows(slide=None): pass
table = {TimeWindow: 1, LifetimeWindow: 2}
TimeWindow(1, 1) == w; {TimeWindow(1, 1): 3}; isinstance(w, int)
"""
    assert len(list(type_tests(text, CLASSES))) == 8


def test_nobody_asks_which_window_it_has_but_where_operators_are_made() -> None:
    found = counted_by_file(CLASSES, lambda file: file.parent.name != "windows")
    assert {name: n for name, n in found.items() if n > MOST.get(name, 0)} == {}
