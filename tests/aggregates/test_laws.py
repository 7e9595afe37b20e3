"""Every registered aggregate keeps the laws, on drawn values with NULL and NaN."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jupyter_stream.aggregates import AGGREGATES, Dense, FrameForm
from tests.aggregates.cases import CASES, Case, rows
from tests.aggregates.laws import LAWS, ORDER_LAWS, subtract_undoes_update, subtractable
from tests.tiers import examples, thinned

briefly = settings(
    max_examples=examples(12), deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)


def test_every_aggregate_has_cases() -> None:
    assert {c.function.name for c in CASES} == {a.name for a in AGGREGATES}


@pytest.mark.parametrize("case", thinned(CASES, 4), ids=str)
@briefly
@given(st.data())
def test_laws(case: Case, data: st.DataObject) -> None:
    given_rows = data.draw(rows(case, ties=True))
    for law in LAWS:
        law(case, given_rows)


@pytest.mark.parametrize("case", thinned(CASES, 24), ids=str)
@briefly
@given(st.data())
def test_order_laws(case: Case, data: st.DataObject) -> None:
    given_rows = data.draw(rows(case, ties=False))
    for law in ORDER_LAWS:
        law(case, given_rows)


@pytest.mark.parametrize("case", thinned(c for c in CASES if subtractable(c)), ids=str)
@briefly
@given(st.data())
def test_subtract_undoes_update(case: Case, data: st.DataObject) -> None:
    subtract_undoes_update(case, data.draw(rows(case, ties=True)))


def test_the_form_is_what_the_classes_say() -> None:
    for case in CASES:
        form = case.form()
        assert isinstance(form, Dense | FrameForm), case
        if case.function.differential == "pseudo":
            assert case.function.algebra == "holistic", case
            assert subtractable(case), case
        if isinstance(form, Dense):
            assert case.function.algebra != "holistic", case
