"""MATCH_RECOGNIZE against its definition: drawn patterns, conditions and rows, in disorder and in any batches."""

from __future__ import annotations

from typing import Any
from unittest import mock

from hypothesis import given

from jupyter_stream import Query, Session
from jupyter_stream.matches import row_matches
from tests.matches.brute import At
from tests.matches.drawn import LATE, Drawn, queries
from tests.oracle.search import searching

DECLARED = f"""
CREATE STREAM s (k STRING, ts BIGINT, x BIGINT, n BIGINT, WATERMARK FOR ts AS ts - INTERVAL {LATE} MICROSECONDS)
SOURCE 'python://batches'
"""
ONE_ROW = (
    "MATCH_NUMBER() AS number, CLASSIFIER() AS class, FIRST(n) AS begins, LAST(n) AS ends, {0}.x AS last, "
    "FIRST({0}.x, 1) AS second, sum({0}.x) AS total, count({0}.*) AS many, PREV(x) AS before, NEXT(x) AS behind, "
    "median(x) AS middle, ts AS ts"
)
ALL_ROWS = (
    "MATCH_NUMBER() AS number, CLASSIFIER() AS class, sum({0}.x) AS total, FINAL count({0}.*) AS many, LAST({0}.x, 1) AS last, "
    "FINAL LAST(n) AS ends, FIRST({0}.x) AS first"
)


def answer(drawn: Drawn, text: str) -> list[tuple[Any, ...]]:
    with Session({"batches": drawn.batches}) as session:
        session.execute(DECLARED)
        (query,) = session.execute(text)
        assert isinstance(query, Query) and query.wait(200), query.status
        assert query.status == "finished" and query.late.height == 0
        return sorted(query.to_polars().rows(), key=repr)


def median(values: list[Any]) -> Any:
    known = sorted(v for v in values if v is not None)
    if not known:
        return None
    half = len(known) // 2
    return float(known[half]) if len(known) % 2 else (known[half - 1] + known[half]) / 2


@searching
@given(queries())
def test_one_row_per_match(drawn: Drawn) -> None:
    expected = []
    asked = sorted(set(str(drawn.meant.pattern)) & set("ABC"))[0]
    for k, rows in drawn.partitions().items():
        for number, (start, path) in enumerate(drawn.meant.matches(rows), 1):
            at = At(rows, start, path)
            expected.append((
                k, number, path[-1], at.first("n"), at.last("n"), at.last("x", asked), at.first("x", asked, 1),
                at.total("x", asked), len(at.of(asked)), at.near("x", -1), at.near("x", 1),
                median([r["x"] for r in at.of(None)]), at.last("ts"),
            ))  # fmt: skip
    assert answer(drawn, drawn.query(ONE_ROW.format(asked))) == sorted(expected, key=repr)


@searching
@given(queries())
def test_all_rows_per_match(drawn: Drawn) -> None:
    expected = []
    asked = sorted(set(str(drawn.meant.pattern)) & set("ABC"))[-1]
    for k, rows in drawn.partitions().items():
        for number, (start, path) in enumerate(drawn.meant.matches(rows), 1):
            whole = At(rows, start, path)
            for place in range(len(path)):
                at = At(rows, start, path[: place + 1])
                row = rows[start + place]
                expected.append((
                    k, row["ts"], number, path[place], at.total("x", asked), len(whole.of(asked)), at.last("x", asked, 1),
                    whole.last("n"), at.first("x", asked), row["x"], row["n"],
                ))  # fmt: skip
    with mock.patch.object(row_matches, "_CHECK_ABOVE", -1_000_000):  # partitions get other slots at each punctuation
        found = answer(drawn, drawn.query(ALL_ROWS.format(asked), all_rows=True))
    assert found == sorted(expected, key=repr)
