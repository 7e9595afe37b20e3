"""Plan nodes say what they are over, what they compute and what becomes of a column; few places ask which node they have."""

from __future__ import annotations

from typing import get_args

from jupyter_stream.plan.logical import Plan
from tests.type_tests import counted_by_file, type_tests

CLASSES = frozenset(node.__name__ for node in get_args(Plan))
ROOMS_OF_PLANS = ("plan", "binding", "graph", "spark")
"""These make nodes, work out facts about them, and make something of each."""
MOST = {
    "jupyter_stream/session/late_answers.py": 8,  # the one shape of query for which it can say what late rows missed
    "jupyter_stream/engine/explain.py": 3,  # words for nodes of the update-patterns paper
    "jupyter_stream/session/history.py": 2,  # scans that read other rows, and the aggregate above them
    "jupyter_stream/session/names.py": 2,  # names of derived streams
    "jupyter_stream/session/query.py": 2,  # which result columns keep their unit
    "jupyter_stream/session/recordings.py": 1,  # derived streams of a recorded one
    "jupyter_stream/engine/pipeline.py": 1,  # tables whose changes revise answers
    "jupyter_stream/relations/relation_join.py": 1,  # tables have no time
}
"""How many tests of a node's class there may be elsewhere, by file. Less is welcome; for more, put the fact into plan/."""
MOST_IN_ALL = 520


def test_the_count_knows_all_nodes_and_every_way_to_ask() -> None:
    text = """
from jupyter_stream.plan import logical
from jupyter_stream.plan.logical import Aggregate, Filter as Where, Project
isinstance(plan, Project | Where); isinstance(plan, logical.Scan); isinstance(plan, int); type(plan) is Aggregate
match plan:
    case Where(input=Aggregate()): pass
table = {Project: 1, Where: 2}
Filter(below, condition); {name: Filter(below, condition)}
"""
    assert len(CLASSES) > 20 and {"Scan", "WindowFunctions"} <= CLASSES
    assert len(list(type_tests(text, CLASSES))) == 7


def test_rooms_that_only_run_plans_ask_hardly_ever() -> None:
    found = counted_by_file(CLASSES, lambda file: not {*ROOMS_OF_PLANS} & {*file.parts})
    assert {name: n for name, n in found.items() if n > MOST.get(name, 0)} == {}


def test_all_rooms_together_ask_less_than_they_did() -> None:
    assert counted_by_file(CLASSES, lambda file: True).total() <= MOST_IN_ALL
