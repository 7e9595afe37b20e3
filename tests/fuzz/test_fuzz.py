"""The fuzzers with fixed seeds, and all that they have found. `python -m tests.fuzz` goes on for as long as you like."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fuzz import cells, findings, records
from tests.fuzz.law import Bench, bench
from tests.fuzz.records import RecordBench
from tests.tiers import ALL, only, slow

SEED = 20_240_501
PARTS = 12
CELLS, RECORDS = 100, 84
"""Tried in each part: with everything about two minutes on a quiet core."""
EACH = 1 if ALL else 2
"""In the gate every second one of them."""

LONG = [n for n, cell in enumerate(findings.CELLS) if len(cell) > 40_000]
"""Chains of thousands, of which tests/binding/test_limits.py keeps two in the gate."""


@pytest.fixture(scope="module")
def cell_bench() -> Iterator[Bench]:
    with bench() as made:
        yield made


@pytest.fixture(scope="module")
def record_bench() -> Iterator[RecordBench]:
    made = RecordBench()
    yield made
    made.close()


@pytest.mark.parametrize(
    "number", [pytest.param(n, marks=slow) if n in LONG else n for n in range(len(findings.CELLS))]
)
def test_a_cell_that_broke_the_law_keeps_it(number: int, cell_bench: Bench) -> None:
    assert cell_bench.check(findings.CELLS[number]) is None


@pytest.mark.parametrize("number", range(len(findings.records())))
def test_records_that_broke_the_law_keep_it(number: int, record_bench: RecordBench) -> None:
    kind, data = findings.records()[number]
    found = record_bench.check(kind, data, kind)
    assert found is None or found.kind == "lost"  # these have no whole records beside them


@pytest.mark.parametrize("part", only(range(PARTS), 0))
def test_cells_are_answered_or_refused(part: int, cell_bench: Bench) -> None:
    for number in range(part * CELLS, (part + 1) * CELLS, EACH):
        found = cell_bench.check(cells.cell(SEED, number))
        assert found is None, (number, found)


@pytest.mark.parametrize("part", only(range(PARTS), 0))
def test_records_become_rows_or_errors(part: int, record_bench: RecordBench) -> None:
    for number in range(part * RECORDS, (part + 1) * RECORDS, EACH):
        kind, data = records.records(SEED, number)
        found = record_bench.check(kind, data, records.shown(kind, data))
        assert found is None, (number, found)
