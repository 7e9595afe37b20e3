"""The query files of tests/sql on Spark: the rows, late rows and errors expected of the kernel, or a refusal of a known kind."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from jupyter_stream.errors import UnsupportedError
from jupyter_stream.session.session import Session
from jupyter_stream.spark.support import TABLE
from tests.oracle.compare import assert_same_bag
from tests.sql.test_query_files import FOLDER, NAMES, as_frame, expected_rows, rows_of
from tests.tiers import slow

GAPS: dict[str, str] = {}
"""Queries that Spark can't run, and the kind of gap. One that starts to run fails here, and is to be taken out."""


def expected_of(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return found


RUNNABLE = [n for n in NAMES if "error" not in expected_of(n)]
GATE = ("tumble", "bad_values")
CASES = [
    pytest.param(
        n,
        marks=[
            *([] if n in GATE else [slow]),
            *([pytest.mark.xfail(strict=True, raises=UnsupportedError, reason=GAPS[n])] if n in GAPS else []),
        ],
    )
    for n in RUNNABLE
]


@pytest.mark.parametrize("name", CASES)
def test_query_file_on_spark(name: str, sessions: Callable[..., Session], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER)  # the paths in the files are relative to it
    expected = expected_of(name)
    try:
        handle: Any = sessions().run((FOLDER / f"{name}.sql").read_text(), engine="spark")[-1]
    except UnsupportedError as error:
        kind = next((k for k in {row.kind for row in TABLE} if k in str(error)), None)
        assert kind is not None, "a refusal says its kind"
        if name in GAPS:
            assert kind == GAPS[name]
            raise
        pytest.xfail(kind)  # a query file added for the kernel, whose gap isn't listed yet
    assert handle.wait(400), "it doesn't end"
    assert handle.status == "finished", handle.snapshot().error
    result = handle.to_polars()
    named = [(a, e) for a, e in zip(result.columns, expected["columns"], strict=True) if e is not None]
    assert [a for a, _ in named] == [e for _, e in named]
    assert_same_bag(rows_of(result), expected_rows(expected["rows"]), result.columns)
    late = as_frame(handle.late)
    assert_same_bag(rows_of(late), expected_rows(expected.get("late", [])), late.columns, "late rows")
    assert as_frame(handle.errors).height == expected.get("errors", 0)


def test_gaps_are_of_query_files_that_exist() -> None:
    assert set(GAPS) <= set(RUNNABLE)
