"""Several windows in one query against the oracle: each answered alone, and put side by side extent by extent."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream.errors import UnsupportedError
from jupyter_stream.session.session import Session
from tests.oracle import strategies
from tests.oracle.answer import answer
from tests.oracle.compare import assert_same_bag, in_columns
from tests.oracle.provisional import open_after
from tests.oracle.query import Answer, Query, Stream, duration
from tests.oracle.running import Ran, assert_right, show
from tests.oracle.search import searching
from tests.oracle.stepping import steps
from tests.oracle.values import Row, same_key
from tests.oracle.windows import TimeExtents, TupleExtents

pytestmark = pytest.mark.timeout(900)  # many small queries; a busy machine is no failure


@dataclass(frozen=True)
class Beside:
    """Queries that differ in their window and aggregates only; the longest window's comes first.

    Attributes:
        parts: one for each window, with one aggregate.
    """

    parts: tuple[Query, ...]
    emit_every: None = None

    @property
    def stream(self) -> Stream:
        return self.parts[0].stream

    @property
    def window(self) -> object:
        return self.parts[0].window

    @property
    def columns(self) -> tuple[str, ...]:
        return ("window_start", "window_end", *self.parts[0].keys, *(f"a{i}" for i in range(len(self.parts))))

    def sql(self) -> str:
        """The SELECT, with the bracket after the aggregate."""
        first = self.parts[0]
        items = [
            *first.keys,
            *(f"{p.aggregates[0].sql()} {self._bracket(p)} AS a{i}" for i, p in enumerate(self.parts)),
        ]
        text = f"SELECT {', '.join(items)} FROM {self.stream.name}"
        if first.where:
            text += f" WHERE {first.where.sql()}"
        return text + (f" GROUP BY {', '.join(first.keys)}" if first.keys else "")

    @staticmethod
    def _bracket(part: Query) -> str:
        if isinstance(part.window, TupleExtents):
            return f"[{part.window.clause(duration(part.window.range), part.stream.time)}]"
        assert isinstance(part.window, TimeExtents)
        return f"[{Query._bracket(part.window)}]"

    def together(self, answers: list[list[Row]]) -> list[Row]:
        """The rows of the first, with what the others say of the same extent and group."""
        keys = ("window_end", *self.parts[0].keys)
        found = [dict(row) for row in answers[0]]
        for i, rows in enumerate(answers[1:], 1):
            known = {tuple(same_key(r[k]) for k in keys): r["a0"] for r in rows}
            nothing = self.parts[i].aggregates[0].over([])
            for row in found:
                row[f"a{i}"] = known.get(tuple(same_key(row[k]) for k in keys), nothing)
        return found

    def answer(self) -> Answer:
        answers = [answer(p) for p in self.parts]
        return Answer(self.together([a.rows for a in answers]), answers[0].late)


@st.composite
def beside(draw: st.DrawFn) -> Beside:
    """A query with two or three windows over time."""
    query = draw(strategies.queries())
    assert isinstance(query.window, TimeExtents)
    window = replace(query.window, starts=False, spelling="bracket")
    ranges = draw(st.lists(st.integers(1, 9).map(lambda n: n * window.slide // 2 or 1), min_size=1, max_size=2))
    longest = draw(st.sampled_from((None, max(ranges) + window.slide)))
    calls = draw(st.lists(strategies.aggregates(strategies.data_columns(query.stream)), min_size=3, max_size=3))
    where = None if longest is None else query.where
    parts = [
        replace(query, window=replace(window, range=r), aggregates=(call,), having=None, where=where)
        for r, call in zip([longest, *ranges], calls, strict=False)
    ]
    return Beside(tuple(parts))


@searching
@given(st.data())
def test_several_windows_give_what_each_gives_alone(data: st.DataObject) -> None:
    query = data.draw(beside())
    for sizes in (None, data.draw(strategies.splits(len(query.stream.rows)))):
        assert_right(query, query.answer(), Ran(query, sizes), sizes)


@searching
@given(st.data())
def test_open_answers_of_several_windows_are_exact_after_every_batch(data: st.DataObject) -> None:
    query = data.draw(beside())
    sizes = data.draw(strategies.splits(len(query.stream.rows)))
    about = show(query, sizes)
    for shown in steps(query.stream, f"{query.sql()} EMIT CHANGES", sizes):
        if shown.rows < len(query.stream.rows):
            now = query.together([open_after(p, shown.rows) for p in query.parts])
            assert_same_bag(shown.open, in_columns(now, query.columns), query.columns, f"after {shown.rows}\n{about}")
    assert_same_bag(shown.final, in_columns(query.answer().rows, query.columns), query.columns, about)


@searching
@given(st.data())
def test_several_windows_that_slide_by_rows(data: st.DataObject) -> None:
    shape = data.draw(strategies.shapes)
    stream = data.draw(strategies.streams(shape))
    columns = tuple(c for c in strategies.data_columns(stream))
    every, by_rank = data.draw(st.integers(1, 3)), data.draw(st.booleans())
    keys = tuple(sorted(data.draw(st.sets(st.sampled_from([n for n, _ in columns]), max_size=1))))
    ranges = [data.draw(st.integers(4, 9)) * shape.tick, data.draw(st.integers(1, 3)) * shape.tick]
    parts = [
        Query(stream, TupleExtents(r, every, by_rank), (data.draw(strategies.aggregates(columns)),), keys)
        for r in ranges
    ]
    query = Beside(tuple(parts))
    sizes = data.draw(strategies.splits(len(stream.rows)))
    ran = Ran(query, sizes)
    expected = [in_columns(answer(p).rows, ("window_end", *keys, "a0")) for p in parts]
    for i, rows in enumerate(expected):
        at = [ran.columns.index(c) for c in ("window_end", *keys, f"a{i}")]
        came = [tuple(row[j] for j in at) for row in ran.rows]
        if i == 0 or not keys:
            assert_same_bag(came, rows, ("window_end", *keys, "a"), show(query, sizes))


@dataclass(frozen=True)
class Staggered(Beside):
    """Queries that differ in the SLIDE of their windows as well."""

    def answer(self) -> Answer:
        sets: dict[object, list[int]] = {}
        for i, part in enumerate(self.parts):
            sets.setdefault((part.window.slide, (part.window.origin or 0) % part.window.slide), []).append(i)
        found: dict[tuple, Row] = {}
        late: dict[tuple, list[tuple]] = {}  # equal rows are late alike; each is listed once, whatever it missed
        for places in sets.values():
            places = sorted(places, key=lambda i: -_length(self.parts[i]))
            beside = Beside(tuple(self.parts[i] for i in places))
            answers = [answer(p) for p in beside.parts]
            for row in beside.together([a.rows for a in answers]):
                key = (row["window_end"], *(same_key(row[k]) for k in self.parts[0].keys))
                whole = found.setdefault(key, {k: row[k] for k in ("window_end", *self.parts[0].keys)})
                whole.update({f"a{i}": row[f"a{n}"] for n, i in enumerate(places)})
            missed: dict[tuple, list[tuple]] = {}
            for row, broken, _ in answers[0].late:
                missed.setdefault((*row.values(), broken), []).append((row, broken, None))
            late |= {key: rows for key, rows in missed.items() if len(rows) > len(late.get(key, ()))}
        rows = []
        for row in found.values():
            look = [p for p in self.parts if (row["window_end"] - (p.window.origin or 0)) % p.window.slide == 0]
            for i, part in enumerate(self.parts):
                row.setdefault(f"a{i}", part.aggregates[0].over([]) if part in look else None)
            longest = max(look, key=_length).window
            row["window_start"] = None if longest.range is None else row["window_end"] - longest.range
            rows.append(row)
        return Answer(rows, [each for alike in late.values() for each in alike])


def _length(part: Query) -> float:
    return float("inf") if part.window.range is None else part.window.range


@st.composite
def staggered(draw: st.DrawFn) -> Staggered:
    """A query with two or three windows over time of different slides."""
    query = draw(strategies.queries())
    assert isinstance(query.window, TimeExtents)
    window = replace(query.window, starts=False, spelling="bracket", on=None)
    calls = draw(st.lists(strategies.aggregates(strategies.data_columns(query.stream)), min_size=3, max_size=3))
    windows = [window]
    for _ in range(draw(st.integers(1, 2))):
        slide = draw(st.integers(1, 4)) * window.slide
        halves = draw(st.none() | st.integers(1, 9))
        windows.append(replace(window, slide=slide, range=None if halves is None else halves * slide // 2 or 1))
    windows = list(dict.fromkeys(windows))
    where = None if any(w.range is None for w in windows) else query.where
    parts = [
        replace(query, window=w, aggregates=(call,), having=None, where=where, emit_every=None)
        for w, call in zip(windows, calls, strict=False)
    ]
    return Staggered(tuple(parts))


@searching
@given(st.data())
def test_windows_with_different_slides_answer_at_every_instant_of_any(data: st.DataObject) -> None:
    query = data.draw(staggered())
    expected = query.answer()
    sizes = data.draw(strategies.splits(len(query.stream.rows)))
    ran = Ran(query, sizes)
    about = show(query, sizes)
    assert_same_bag(ran.rows, in_columns(expected.rows, query.columns), query.columns, about)
    names = [name for name, _ in query.stream.columns]
    late = [(*(row[n] for n in names), broken) for row, broken, _ in expected.late]
    assert_same_bag([row[:-1] for row in ran.late], late, [*names, "punctuation"], f"late rows\n{about}")


def sums(text: str) -> tuple[list[tuple], int]:
    session = Session({"rows": [{"k": "ab"[i % 2], "n": n, "at": at} for i, (n, at) in enumerate(ROWS)]})
    with session:
        session.execute("CREATE STREAM s (k STRING, n BIGINT, at BIGINT) ORDER BY at SOURCE 'python://rows'")
        (query,) = session.execute(text)
        query.wait(200)
        assert query.status == "finished", query.snapshot().error
        return query.to_polars().rows(), query.errors.height


ROWS = [(2**62, 1), (5, 2), (2**62, 3), (6, 4), (7, 11)]
LONG = "sum(n) [RANGE 20 MICROSECONDS SLIDE 10 MICROSECONDS]"
SHORT = "sum(n) [RANGE 10 MICROSECONDS TUMBLING]"


def test_an_answer_with_a_sum_beyond_bigint_in_any_window_is_left_out_and_told_of() -> None:
    rows, errors = sums(
        f"SELECT k, count(*) [RANGE 20 MICROSECONDS SLIDE 10 MICROSECONDS] AS c, {SHORT} AS s FROM s GROUP BY k"
    )
    assert sorted(rows) == [(-10, 10, "b", 2, 11), (0, 20, "a", 3, 7), (0, 20, "b", 2, None), (10, 30, "a", 1, None)]
    assert errors == 1


def test_a_row_an_expression_fails_on_is_in_none_of_the_windows() -> None:
    rows, errors = sums(
        "SELECT count(*) [RANGE 20 MICROSECONDS SLIDE 10 MICROSECONDS] AS c,"
        " max(1 / (n - 5)) [RANGE 10 MICROSECONDS TUMBLING] AS m FROM s WHERE n < 100"
    )
    assert [r[2:] for r in rows] == [(1, 1.0), (2, 0.5), (1, None)]
    assert errors == 1


def test_windows_that_only_look_different_are_one() -> None:
    with Session({"rows": [{"n": 1, "at": 1}]}) as session:
        session.execute("CREATE STREAM s (n INT, at BIGINT) ORDER BY at SOURCE 'python://rows'")
        (plan,) = session.execute(
            "EXPLAIN SELECT min(n) [RANGE 5 MICROSECONDS SLIDE 5 MICROSECONDS], max(n) [RANGE 5 MICROSECONDS TUMBLING] FROM s"
        )
        assert "beside" not in str(plan)


def test_explain_names_every_window() -> None:
    with Session({"rows": [{"n": 1, "at": 1}]}) as session:
        session.execute("CREATE STREAM s (n INT, at BIGINT) ORDER BY at SOURCE 'python://rows'")
        (plan,) = session.execute(f"EXPLAIN SELECT {SHORT}, {LONG} FROM s")
        assert "[RANGE 20 MICROSECONDS SLIDE 10 MICROSECONDS] beside [RANGE 10 MICROSECONDS TUMBLING]" in str(plan)


def test_windows_with_different_slides_are_no_view() -> None:
    with Session({"rows": []}) as session:
        session.execute("CREATE STREAM s (n BIGINT, at BIGINT) ORDER BY at SOURCE 'python://rows'")
        with pytest.raises(UnsupportedError, match="a view isn't available over windows with different SLIDEs"):
            session.execute(
                "CREATE VIEW v AS SELECT max(n) [RANGE 4 SECONDS TUMBLING] AS a, min(n) [RANGE 3 SECONDS TUMBLING] AS b FROM s"
            )
