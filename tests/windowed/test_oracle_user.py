"""User-defined aggregates against plain functions of the rows in order: every window, any disorder, any batch split."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream.aggregates.user.declared import PYTHON
from tests.oracle import strategies
from tests.oracle.answer import answer
from tests.oracle.over import over
from tests.oracle.progress import InOrder
from tests.oracle.query import Query
from tests.oracle.running import Ran, assert_right
from tests.oracle.search import searching
from tests.oracle.user import (
    BY_ARRAYS,
    DECLARATIONS,
    PANED,
    RETURNS_AS_ROWS_COME,
    UserAggregate,
    register,
    user_aggregates,
)
from tests.oracle.windows import TimeExtents
from tests.tiers import slow
from tests.windowed.test_oracle_edges import SECOND, stream
from tests.windowed.test_oracle_over import over_queries
from tests.windowed.test_oracle_rows import row_queries
from tests.windowed.test_oracle_sessions import session_queries
from tests.windowed.test_oracle_tuples import queries as tuple_queries

pytestmark = pytest.mark.timeout(900)  # many small queries; a busy machine is no failure


@pytest.fixture(scope="module", autouse=True)
def in_python() -> Iterator[None]:
    """The aggregates in Python are registered while these tests run."""
    former = dict(PYTHON)
    register()
    yield
    PYTHON.clear()
    PYTHON.update(former)


def with_user(data: st.DataObject, query: Query) -> Query:
    """The query with user-defined aggregates behind its own."""
    columns = strategies.data_columns(query.stream)
    own = tuple(data.draw(st.lists(user_aggregates(columns), min_size=1, max_size=3)))
    return replace(query, aggregates=(*query.aggregates, *own))


def by_panes(query: Query) -> Query:
    """The query, its paned aggregates knowing their panes."""
    window = query.window
    if not isinstance(window, TimeExtents):
        return query
    made = []
    for aggregate in query.aggregates:
        if isinstance(aggregate, UserAggregate) and aggregate.function in PANED:
            overlapping = window.range is not None and window.slide < window.range
            if overlapping or (window.range is None and aggregate.function == "ArrayJoined"):
                mark = (window.origin or 0) + (window.range if window.starts and window.range is not None else 0)
                length = window.slide if window.range is None else math.gcd(window.range, window.slide)
                aggregate = replace(aggregate, panes=(length, window.slide, mark))
        made.append(aggregate)
    return replace(query, aggregates=tuple(made))


def check(data: st.DataObject, query: Query) -> None:
    query = by_panes(query)
    sizes = data.draw(strategies.splits(len(query.stream.rows)))
    assert_right(query, answer(query), Ran(query, sizes, before=DECLARATIONS), sizes)


@searching
@given(st.data())
def test_windows_of_time_give_what_the_oracle_gives(data: st.DataObject) -> None:
    check(data, with_user(data, data.draw(strategies.queries())))


@slow
@searching
@given(st.data())
def test_provisional_answers_disturb_no_final_one(data: st.DataObject) -> None:
    check(data, with_user(data, data.draw(strategies.queries(emit=True))))


@searching
@given(st.data())
def test_windows_of_rows_give_what_the_oracle_gives(data: st.DataObject) -> None:
    check(data, with_user(data, data.draw(row_queries())))


@searching
@given(st.data())
def test_sessions_give_what_the_oracle_gives(data: st.DataObject) -> None:
    check(data, with_user(data, data.draw(session_queries())))


@slow
@searching
@given(st.data())
def test_slide_by_tuple_gives_what_the_oracle_gives(data: st.DataObject) -> None:
    check(data, with_user(data, data.draw(tuple_queries())))


@searching
@given(st.data())
def test_over_gives_what_the_oracle_gives(data: st.DataObject) -> None:
    query = data.draw(over_queries())
    columns = strategies.data_columns(query.stream)
    own = data.draw(st.lists(user_aggregates(columns, filtered=False), min_size=1, max_size=3))
    if query.rows is None and query.range is None:
        own = [a for a in own if a.function not in BY_ARRAYS]  # refused there
    if query.on_expiry:  # what EXPIRE returns has a test of its own
        made: tuple = tuple(UserAggregate(name, "row_num") for name in ("traced", "naive", "joined"))
    else:
        made = (*query.aggregates, *own)
    query = replace(query, aggregates=made)
    sizes = data.draw(strategies.splits(len(query.stream.rows)))
    assert_right(query, over(query), Ran(query, sizes, before=DECLARATIONS), sizes)


@searching
@given(st.data())
def test_over_with_filter_gives_what_the_oracle_gives(data: st.DataObject) -> None:
    """Where TERMINATE says the answer; without one, a row that FILTER leaves out returns nothing."""
    query = data.draw(over_queries())
    columns = strategies.data_columns(query.stream)
    unfit = (*RETURNS_AS_ROWS_COME, *(BY_ARRAYS if query.rows is None and query.range is None else ()))
    own = [a for a in data.draw(st.lists(user_aggregates(columns), max_size=4)) if a.function not in unfit]
    if not query.on_expiry and own:
        query = replace(query, aggregates=tuple(own))
        assert_right(query, over(query), Ran(query, before=DECLARATIONS))


@pytest.mark.parametrize("name", BY_ARRAYS)
def test_a_late_row_goes_before_those_that_came_in_an_extent_that_is_still_open(name: str) -> None:
    rows = stream([(13,), (14,), (9,), (26,)], "ts TIMESTAMP", InOrder())
    query = Query(rows, TimeExtents(15 * SECOND, SECOND), (UserAggregate(name, "row_num"),))
    for sizes in (None, [1] * 4):
        ran = Ran(query, sizes, before=DECLARATIONS)
        assert_right(query, answer(query), ran, sizes)
        assert name != "ArrayJoined" or {"1,2", "3,1,2"} <= {row[-1] for row in ran.rows}
