"""Row patterns, conditions and rows, drawn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl
from hypothesis import strategies as st

from jupyter_stream.core.row_pattern import (
    AfterMatch,
    PatternChoice,
    PatternRepeat,
    PatternSequence,
    PatternVariable,
    RowPattern,
    beginnings,
    bounded,
    least_rows,
    size,
    variables,
)
from tests.matches.brute import At, Condition, Meant, Row
from tests.oracle import axis

NAMES = "ABC"
LATE = 6
"""How much rows come out of order."""


def _less(one: Any, other: Any) -> bool:
    return one is not None and other is not None and one < other


def conditions(name: str) -> list[tuple[str, Condition]]:
    """What can be asked of a variable, as SQL and by definition; some by columns, some step by step, some both."""
    return [
        (f"{name}.x > 2", lambda at: _less(2, at.last("x"))),
        ("x < PREV(x)", lambda at: _less(at.last("x"), at.near("x", -1))),
        (f"x > PREV({name}.x, 2)", lambda at: _less(at.near("x", -2), at.last("x"))),
        ("x < NEXT(x)", lambda at: _less(at.last("x"), at.near("x", 1))),
        ("x IS NULL OR x <> 3", lambda at: at.last("x") != 3),
        (f"x > LAST({name}.x, 1) OR LAST({name}.x, 1) IS NULL", lambda at: _grows(at, name)),
        ("x >= A.x", lambda at: _less(at.last("x", "A"), _plus(at.last("x")))),
        ("sum(A.x) < 9", lambda at: _less(at.total("x", "A"), 9)),
        ("count(*) <= 3 AND x < 5", lambda at: len(at.path) <= 3 and _less(at.last("x"), 5)),
        ("x < FIRST(x, 1)", lambda at: _less(at.last("x"), at.first("x", offset=1))),
        ("max(C.x) > 3 AND x <> 1", lambda at: _less(3, _most(at, "C")) and at.last("x") not in (None, 1)),
        ("x <= PREV(LAST(B.x), 1)", lambda at: _beside(at, "B")),
    ]


def _plus(value: Any) -> Any:
    return None if value is None else value + 1


def _grows(at: At, name: str) -> bool:
    before = at.last("x", name, 1)
    return before is None or _less(before, at.last("x"))


def _most(at: At, name: str) -> Any:
    return max((r["x"] for r in at.of(name) if r["x"] is not None), default=None)


def _beside(at: At, name: str) -> bool:
    places = [at.start + i for i, v in enumerate(at.path) if v == name]
    if not places or not places[-1]:
        return False
    beside = at.rows[places[-1] - 1]["x"]
    return _less(at.last("x"), _plus(beside))


@st.composite
def patterns(draw: st.DrawFn, depth: int = 2) -> RowPattern:
    """A pattern; nothing that is repeated without bound goes for no row."""
    kind = draw(st.sampled_from(("variable", "variable", "sequence", "sequence", "choice", "repeat", "repeat")))
    if kind == "variable" or not depth:
        return PatternVariable(draw(st.sampled_from(NAMES)))
    if kind in ("sequence", "choice"):
        parts = tuple(draw(st.lists(patterns(depth=depth - 1), min_size=2, max_size=3)))
        return PatternSequence(parts) if kind == "sequence" else PatternChoice(parts)
    part = draw(patterns(depth=depth - 1).filter(lambda p: least_rows(p) > 0))
    low, high = draw(st.sampled_from(((0, None), (1, None), (0, 1), (2, 2), (1, 3), (2, None), (0, 2))))
    return PatternRepeat(part, low, high, draw(st.booleans()))


@dataclass(frozen=True)
class Drawn:
    """A query and its rows.

    Attributes:
        meant: the pattern.
        defined: its conditions as SQL.
        rows: of all partitions, as they come.
        sizes: of batches.
    """

    meant: Meant
    defined: dict[str, str]
    rows: list[Row]
    sizes: list[int]

    def query(self, measures: str, all_rows: bool = False) -> str:
        """The SQL."""
        after = self.meant.after
        skip = {"past last row": "PAST LAST ROW", "next row": "TO NEXT ROW"}.get(
            after.to, f"TO {after.to.upper()} {' '.join(after.variables)}"
        )
        within = "" if self.meant.within is None else f" WITHIN INTERVAL {self.meant.within} MICROSECONDS"
        define = ", ".join(f"{name} AS {text}" for name, text in self.defined.items())
        return (
            f"SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES {measures} "
            f"{'ALL ROWS' if all_rows else 'ONE ROW'} PER MATCH AFTER MATCH SKIP {skip} "
            f"PATTERN ({self.meant.pattern}){within}{' DEFINE ' + define if define else ''}) AS m"
        )

    def batches(self) -> Iterator[pl.DataFrame]:
        """The rows as they come."""
        frame = pl.DataFrame(
            self.rows, schema={"k": pl.String, "ts": pl.Int64, "x": pl.Int64, "n": pl.Int64}, orient="row"
        )
        at = 0
        for many in self.sizes:
            yield frame[at : at + many]
            at += many
        yield frame[at:]

    def partitions(self) -> dict[str, list[Row]]:
        """The rows of each partition in order: by time, then as they come."""
        found: dict[str, list[Row]] = {}
        for row in sorted(self.rows, key=lambda r: r["ts"]):
            found.setdefault(row["k"], []).append(row)
        return found


@st.composite
def queries(draw: st.DrawFn) -> Drawn:
    """A pattern that goes for at least one row, and rows somewhat out of order."""
    pattern = draw(patterns().filter(lambda p: least_rows(p) > 0 and size(p) < 14))
    used = sorted(set(variables(pattern)))
    defined, meant = {}, {}
    for name in used:
        if draw(st.integers(0, 4)):
            text, condition = draw(st.sampled_from(conditions(name)))
            if all(other in used or f"{other}." not in text for other in NAMES):
                defined[name], meant[name] = text, condition
    within = draw(st.sampled_from((None, 4, 7, 15)))
    after = draw(
        st.one_of(
            st.sampled_from((AfterMatch(), AfterMatch("next row"))),
            st.builds(lambda to, v: AfterMatch(to, (v,)), st.sampled_from(("first", "last")), st.sampled_from(used)),
        )
    )
    if after.to == "first" and beginnings(pattern) <= set(after.variables):
        after = AfterMatch()
    many = draw(st.integers(1, 22 if bounded(pattern) else 16))
    times = sorted(draw(st.lists(axis.times(30), min_size=many, max_size=many)))
    order = sorted(range(many), key=lambda i: (times[i] + draw(st.integers(0, LATE)), i))
    values = st.one_of(st.integers(0, 6), st.integers(0, 6), st.none())
    rows = [{"k": draw(st.sampled_from("uv")), "ts": times[i], "x": draw(values), "n": n} for n, i in enumerate(order)]
    sizes = draw(st.lists(st.integers(1, 5), max_size=8))
    return Drawn(Meant(pattern, meant, within, after), defined, rows, sizes)
