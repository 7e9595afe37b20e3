"""Units of time as bare words among a function's arguments."""

from __future__ import annotations

import pytest

from jupyter_stream import Query, Session
from jupyter_stream.errors import QueryError


def value(text: str) -> object:
    with Session() as session:
        (query,) = session.execute(f"SELECT {text} AS v FROM (SELECT DATE '2024-01-31' AS day, 5 AS n) t")
        assert isinstance(query, Query) and query.wait(200)
        return query.to_polars()["v"][0]


def test_a_unit_is_no_column() -> None:
    assert value("timestampdiff(DAY, DATE '2024-01-01', day)") == 30
    assert value("datediff(months, day, DATE '2024-03-30')") == 1
    assert str(value("date_trunc(month, day)")) == "2024-01-01 00:00:00"


def test_with_two_arguments_it_is_a_column() -> None:
    assert value("datediff(day, DATE '2024-01-01')") == 30


@pytest.mark.parametrize("unit", ["'DAY'", "day + 1", "n"])
def test_what_is_no_unit_is_refused_at_its_place(unit: str) -> None:
    with pytest.raises(QueryError, match="datediff takes a unit of time first, without quotes") as caught:
        value(f"datediff({unit}, DATE '2024-01-01', day)")
    assert "column 17" in str(caught.value)
