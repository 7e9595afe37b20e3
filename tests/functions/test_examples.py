"""Each function's example gives the value that it says."""

from __future__ import annotations

import ast
import datetime as dt

import polars as pl
import pytest

from jupyter_stream import Query, Session
from jupyter_stream.functions import describe
from tests.tiers import thinned

EXAMPLES = {row.name: row.example for row in describe()}
WORDS = {"true": True, "false": False, "NULL": None}


@pytest.fixture(scope="module")
def values() -> dict[str, object]:
    """Of all examples, asked at once."""
    items = ", ".join(f"{asked(example)} AS v{i}" for i, example in enumerate(EXAMPLES.values()))
    with Session() as session:
        (query,) = session.execute(f"SELECT {items}")
        assert isinstance(query, Query) and query.wait(200)
        (row,) = query.to_polars().rows()
    return dict(zip(EXAMPLES, row, strict=True))


def asked(example: str) -> str:
    return parts(example)[0]


def parts(example: str) -> tuple[str, str]:
    """What is asked, and the value."""
    for sign in (" is ", " = "):
        question, found, value = example.rpartition(sign)
        if found:
            return question, value
    raise AssertionError(f"{example} says no value")


def said(value: object) -> object:
    """A value as examples write it."""
    if isinstance(value, dt.datetime):
        return str(value).removesuffix("00000") if value.microsecond else str(value)
    return str(value) if isinstance(value, dt.date) else value.to_list() if isinstance(value, pl.Series) else value


@pytest.mark.parametrize("name", thinned(EXAMPLES))
def test_example(name: str, values: dict[str, object]) -> None:
    expected = parts(EXAMPLES[name])[1]
    wanted = WORDS[expected] if expected in WORDS else ast.literal_eval(expected)
    found = said(values[name])
    assert found == (pytest.approx(wanted, rel=1e-14) if isinstance(wanted, float) else wanted)
    assert type(found) is type(wanted)
