"""Runs every NAME.sql here and compares with NAME.json: rows (in any order), late rows, or the error a mistake must give.

A .sql file holds statements as a user types them, the query last; inputs are in `inputs/`. Its .json says `columns` (null: any
name) and `rows`; where they matter `changes` (a relation's: its columns, `op` and `at`), `late` (the columns, the punctuation,
how many missed) and `errors` (how many bad rows); or, for a mistake, `error` (its class), `line` and `column`, and what the
message `says`. Times are text in UTC, DECIMALs text.
"""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from jupyter_stream import errors
from jupyter_stream.session.session import Session
from tests.oracle.compare import assert_same_bag
from tests.tiers import thinned

FOLDER = Path(__file__).parent
NAMES = sorted(path.stem for path in FOLDER.glob("*.sql"))
WITH_BUDGET = (
    "bad_records", "bad_values", "esl_2", "esl_3", "expressions", "filter_clause", "group_by_window", "having", "hop",
    "hop_as_flink_writes_it", "integer_division", "join_tumbling", "null_keys", "origin", "punctuation_column",
    "range_over_slide", "select_stream", "slide_over_range", "spread", "sum_overflow", "thesis_q1_1", "thesis_q3_1",
    "thesis_q5_1", "thesis_q5_7", "thesis_q5_8", "thesis_q6_1", "thesis_q6_2", "thesis_q6_3", "thesis_q6_5",
    "thesis_q6_6", "thesis_q6_7", "tumble",
)  # fmt: skip
"""All that can have a budget."""


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(FOLDER)  # the paths in the files are relative to it
    opened = Session({})
    yield opened
    opened.close()


def as_written(value: object) -> Any:
    """A value as the expected rows write it."""
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, list):
        return tuple(as_written(v) for v in value)
    return value.isoformat(sep=" ") if isinstance(value, dt.datetime) else value


def rows_of(frame: pl.DataFrame) -> list[tuple[Any, ...]]:
    return [tuple(as_written(v) for v in row) for row in frame.iter_rows()]


def expected_rows(rows: list[Any]) -> list[tuple[Any, ...]]:
    return [tuple(as_written(v) for v in row) for row in rows]


def as_frame(found: Any) -> pl.DataFrame:
    return found if isinstance(found, pl.DataFrame) else found.to_polars()


@pytest.mark.parametrize("name", thinned(NAMES, 3))
def test_query_file(name: str, session: Any) -> None:
    text = (FOLDER / f"{name}.sql").read_text()
    expected = json.loads((FOLDER / f"{name}.json").read_text())
    if "error" in expected:
        assert_refused(text, expected, session)
        return
    handle = session.execute(text)[-1]
    handle.wait(200)
    assert handle.status == "finished", handle.snapshot().error
    result = handle.to_polars()
    assert len(result.columns) == len(expected["columns"]), result.columns
    named = [(a, e) for a, e in zip(result.columns, expected["columns"], strict=True) if e is not None]
    assert [a for a, _ in named] == [e for _, e in named]
    assert_same_bag(rows_of(result), expected_rows(expected["rows"]), result.columns)
    if "changes" in expected:
        log = as_frame(handle.changes())
        assert log.columns[-2:] == ["op", "at"]
        assert_same_bag(rows_of(log), expected_rows(expected["changes"]), log.columns, "changes")
    late = as_frame(handle.late)
    assert_same_bag(rows_of(late), expected_rows(expected.get("late", [])), late.columns, "late rows")
    assert as_frame(handle.errors).height == expected.get("errors", 0)


@pytest.mark.parametrize("name", thinned(WITH_BUDGET))
def test_a_budget_changes_no_answer_in_the_end(name: str, session: Any) -> None:
    expected = json.loads((FOLDER / f"{name}.json").read_text())
    handle = session.execute((FOLDER / f"{name}.sql").read_text(), budget="0.5 probes/row")[-1]
    handle.wait(200)
    assert handle.status == "finished", handle.snapshot().error
    assert handle.coverage.share == 1.0
    result = handle.to_polars().drop("coverage", "is_final", strict=False)
    assert_same_bag(rows_of(result), expected_rows(expected["rows"]), result.columns)
    late = as_frame(handle.late)
    assert_same_bag(rows_of(late), expected_rows(expected.get("late", [])), late.columns, "late rows")


def assert_refused(text: str, expected: dict[str, Any], session: Any) -> None:
    """The mistake must be refused where it stands, with what to write instead, as a person sees it."""
    with pytest.raises(getattr(errors, expected["error"])) as refused:
        session.execute(text)
    error = refused.value
    for word in expected["says"]:
        assert word in str(error)
    if "line" in expected:
        assert error.line == expected["line"], str(error)
    if "column" in expected:
        assert error.column == expected["column"], str(error)


def test_every_query_has_its_expectation_and_every_expectation_its_query() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.json")) == NAMES
    assert len(NAMES) > 40
