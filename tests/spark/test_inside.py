"""The kernel's operators as they travel to Spark and wait there: whatever they hold can be put away and taken up again."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from typing import Any

import pytest

from jupyter_stream.plan.logical import Lookup, TableRelation, walk
from jupyter_stream.session.session import Session
from jupyter_stream.spark.inside import pickled
from jupyter_stream.spark.processor import Operators
from tests.sql.test_query_files import FOLDER, NAMES
from tests.tiers import slow, thinned

RUN = [n for n in NAMES if "error" not in json.loads((FOLDER / f"{n}.json").read_text())]


@pytest.mark.parametrize(
    "name", [*thinned((n for n in RUN if n != "lateral_tables"), 25), pytest.param("lateral_tables", marks=slow)]
)
def test_operators_can_be_put_away_with_what_they_hold(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER)
    with Session() as session:
        handle: Any = session.run((FOLDER / f"{name}.sql").read_text())[-1]
        assert handle.wait(200)
        if any(isinstance(n, Lookup | TableRelation) for n in walk(handle._pipeline.query.plan)):
            return  # tables stay here, and so do such queries
        for step in handle._pipeline.graph.steps:
            again = pickle.loads(pickled(step.operator))
            assert type(again) is type(step.operator)
            assert again.control.rows_in == step.control.rows_in


def test_naming_the_states_needs_none_of_what_the_operators_need() -> None:
    names = "[m for m in sys.modules if m.split('.')[0] in ('polars', 'pandas') or 'jupyter_stream.flow' in m]"
    code = f"import sys, pickle; pickle.loads({pickle.dumps(Operators(b'', 1.0, b''))!r}); print({names})"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
