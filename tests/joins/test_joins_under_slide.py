"""Joins, IN, EXISTS and set operations of streams under windows with SLIDE: brute force over the extents is the oracle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream import QueryError, Session, UnsupportedError
from jupyter_stream.relations import instants_of_joins as looks
from tests.oracle.search import searching
from tests.relations.test_oracle_relation_join import KINDS, joined
from tests.relations.test_oracle_sets import OPERATORS, Both, Leaf, arrivals, session_over
from tests.tiers import thinned

pytestmark = pytest.mark.timeout(900)  # many small queries; a busy machine is no failure

Rows = list[tuple[str | None, int | None, int]]
Bag = Counter[tuple[object, ...]]
PIECES = st.lists(st.integers(1, 5), max_size=8)


def ends(rows: dict[str, Rows], slide: int, longest: int | None) -> Iterator[int]:
    """The ends of all extents that could hold a row; a landmark's up to the first beyond the last row."""
    times = [ts for some in rows.values() for _, _, ts in some]
    if times:
        first, last = min(times), max(times) if longest is None else max(times) + longest
        yield from range(first // slide * slide, last // slide * slide + slide + 1, slide)


def answered(
    rows: dict[str, Rows], slide: int, lengths: tuple[int | None, int | None], of: Callable[[Bag, Bag], Bag]
) -> Bag:
    """What each extent holds, with its bounds."""
    longest = None if None in lengths else max(length for length in lengths if length is not None)
    found: Bag = Counter()
    for end in ends(rows, slide, longest):
        one, two = (Leaf(name, d, False, None).at(end - 1, rows) for name, d in zip("st", lengths, strict=True))
        for row, count in of(Counter(one), Counter(two)).items():
            found[None if longest is None else end - longest, end, *row] += count
    return found


def answer(session: Session, text: str) -> Bag:
    (query,) = session.execute(text)
    assert query.wait(200), text
    return Counter(query.to_polars().rows())


def window(length: int | None, slide: int) -> str:
    return f"[RANGE {'ALL' if length is None else f'{length} MICROSECONDS'} SLIDE {slide} MICROSECONDS]"


def sizes() -> st.SearchStrategy[int | None]:
    return st.none() | st.integers(1, 15)


@pytest.mark.parametrize("kind", thinned(KINDS))
@searching
@given(arrivals(), arrivals(), PIECES, sizes(), sizes(), st.integers(1, 9), st.booleans())
def test_each_extent_holds_the_join_of_its_rows(
    kind: str, s: Rows, t: Rows, pieces: list[int], left: int | None, right: int | None, slide: int, residual: bool
) -> None:
    if left == right == slide:
        right = slide + 1  # a tumbling join gives each pair once, without its extent
    rows = {"s": s, "t": t}
    one_sided = "SEMI" in kind or "ANTI" in kind
    columns = "a.k, a.n" if one_sided else "a.k, a.n, b.k AS l, b.n AS m"
    on = "a.k = b.k" + (" AND a.n <= b.n" if residual else "")
    text = f"SELECT {columns} FROM s {window(left, slide)} a {kind} t {window(right, slide)} b ON {on}"
    with session_over(rows, pieces) as session:
        got = answer(session, text)
    assert got == answered(rows, slide, (left, right), lambda one, two: joined(kind, one, two, residual)), text


@pytest.mark.parametrize("kind", ["JOIN", "LEFT JOIN"])
@searching
@given(arrivals(), arrivals(), PIECES, sizes(), sizes(), st.integers(1, 9))
def test_aggregates_are_over_the_joined_rows_of_each_extent(
    kind: str, s: Rows, t: Rows, pieces: list[int], left: int | None, right: int | None, slide: int
) -> None:
    rows = {"s": s, "t": t}

    def counted(one: Bag, two: Bag) -> Bag:
        groups: Counter[object] = Counter()
        for (key, *_), count in joined(kind, one, two, False).items():
            groups[key] += count
        return Counter(groups.items())

    sides = f"FROM s {window(left, slide)} a {kind} t {window(right, slide)} b ON a.k = b.k"
    with session_over(rows, pieces) as session:
        got = answer(session, f"SELECT a.k, count(*) AS c {sides} GROUP BY a.k")
    if kind == "JOIN" or not left == right == slide:
        assert got == answered(rows, slide, (left, right), counted)


@searching
@given(arrivals(), arrivals(), PIECES, st.integers(1, 15), st.integers(1, 15), st.integers(1, 9))
def test_one_slide_says_when_to_look_at_both_windows(
    s: Rows, t: Rows, pieces: list[int], left: int, right: int, slide: int
) -> None:
    rows = {"s": s, "t": t}
    sides = f"FROM s {window(left, slide)} a JOIN t [RANGE {right} MICROSECONDS] b ON a.k = b.k"
    with session_over(rows, pieces) as session:
        got = answer(session, f"SELECT window_end AS e, a.k, a.n, b.k AS l, b.n AS m {sides}")
    expected: Bag = Counter()
    for (_, end, *row), count in answered(rows, slide, (left, right), lambda a, b: joined("JOIN", a, b, False)).items():
        expected[end - left, end, *row] += count
    assert got == expected


@searching
@given(arrivals(), arrivals(), PIECES, st.integers(1, 15), st.integers(1, 9), st.booleans())
def test_in_asks_the_extent_that_ends_at_the_same_time(
    s: Rows, t: Rows, pieces: list[int], length: int, slide: int, negated: bool
) -> None:
    rows = {"s": s, "t": t}
    held = window(length, slide)

    def there(one: Bag, two: Bag) -> Bag:
        asked = {n for _, n in two}
        if not negated:
            return Counter({row: c for row, c in one.items() if row[1] is not None and row[1] in asked})
        if not two:
            return one
        return Counter({row: c for row, c in one.items() if row[1] is not None and not {None, row[1]} & asked})

    with session_over(rows, pieces) as session:
        word = "NOT IN" if negated else "IN"
        got = answer(session, f"SELECT k, n FROM s {held} WHERE n {word} (SELECT n FROM t {held})")
    assert got == answered(rows, slide, (length, length), there)


@pytest.mark.parametrize("operator", thinned(OPERATORS))
@searching
@given(arrivals(), arrivals(), PIECES, sizes(), st.integers(1, 9))
def test_set_operations_are_between_extents_that_end_together(
    operator: str, s: Rows, t: Rows, pieces: list[int], length: int | None, slide: int
) -> None:
    rows = {"s": s, "t": t}
    held = window(length, slide)
    with session_over(rows, pieces) as session:
        got = answer(session, f"SELECT k, n FROM s {held} {operator} SELECT k, n FROM t {held}")
    expected: Bag = Counter()
    last = {n: max((ts for *_, ts in rows[n]), default=-1) // slide * slide + slide for n in "st"}
    for end in ends(rows, slide, length):
        sides = {n: Leaf(n, length, False, None).at(end - 1, rows) for n in "st"}
        if length is None:  # each part's extents end after its own last row
            sides = {n: bag if end <= last[n] else Counter() for n, bag in sides.items()}
        at_end = {n: [(*row, end - 1) for row, c in bag.items() for _ in range(c)] for n, bag in sides.items()}
        for row, count in Both(operator, *(Leaf(n, 1, False, None) for n in "st")).at(end - 1, at_end).items():
            expected[None if length is None else end - length, end, *row] += count
    assert got == expected


@searching
@given(arrivals(), arrivals(), arrivals(), PIECES, st.integers(1, 15), st.integers(1, 9))
def test_three_streams(s: Rows, t: Rows, u: Rows, pieces: list[int], length: int, slide: int) -> None:
    rows = {"s": s, "t": t, "u": u}
    with session_over(rows, pieces) as session:
        got = answer(
            session,
            f"SELECT a.k, a.n, b.n AS m, c.n AS o FROM s {window(length, slide)} a, t {window(length, slide)} b,"
            f" u {window(length + slide, slide)} c WHERE a.k = b.k AND c.k = a.k",
        )
    expected: Bag = Counter()
    for end in ends(rows, slide, length + slide):
        one, two = (Leaf(n, length, False, None).at(end - 1, rows) for n in "st")
        three = Leaf("u", length + slide, False, None).at(end - 1, rows)
        for (k, n, _, m), count in joined("JOIN", Counter(one), Counter(two), False).items():
            for (other, o), copies in three.items():
                if other == k:
                    expected[end - length - slide, end, k, n, m, o] += count * copies
    assert got == expected


@pytest.mark.parametrize("length", [9, None])
@pytest.mark.parametrize("kind", ["JOIN", "LEFT JOIN"])
def test_extents_of_many_rows_are_given_in_pieces(
    monkeypatch: pytest.MonkeyPatch, kind: str, length: int | None
) -> None:
    monkeypatch.setattr(looks, "_MOST", 5)
    rows: dict[str, Rows] = {
        "s": [("abc"[i % 3], i, i * 2) for i in range(12)],
        "t": [("ab"[i % 2], i, i * 3) for i in range(9)],
    }
    with session_over(rows, [4, 3, 14]) as session:
        got = answer(
            session,
            f"SELECT a.k, a.n, b.k AS l, b.n AS m FROM s {window(length, 3)} a {kind} t {window(length, 3)} b ON a.k = b.k",
        )
    expected = answered(rows, 3, (length, length), lambda one, two: joined(kind, one, two, False))
    assert got == +expected


@pytest.mark.parametrize("kind", ["SESSION", "SLIDE 1 ROW"])
@searching
@given(arrivals(), arrivals(), PIECES, st.integers(2, 12), st.integers(1, 15))
def test_rows_of_extents_that_end_with_rows_are_joined_as_these_end(
    kind: str, s: Rows, t: Rows, pieces: list[int], length: int, right: int
) -> None:
    clause = f"[SESSION {length} MICROSECONDS]" if kind == "SESSION" else f"[RANGE {length} MICROSECONDS SLIDE 1 ROW]"
    with session_over({"s": s, "t": t}, pieces) as session:
        with pytest.raises(UnsupportedError, match="ends with rows of this stream") as refused:
            session.execute(f"SELECT x.n FROM s {clause} x JOIN t [RANGE {right} MICROSECONDS] y ON x.k = y.k")
        written = f"(SELECT * FROM a {clause}) [NOW] x JOIN b"
        assert refused.value.hint is not None and written in refused.value.hint
        said = written.replace("FROM a", "FROM s").replace("JOIN b", f"JOIN t [RANGE {right} MICROSECONDS] y")
        got = answer(session, f"SELECT x.window_end, x.k, x.n, y.n AS m FROM {said} ON x.k = y.k")
    extents: list[tuple[int, int, Rows]] = []  # the instant, the end, the rows
    if kind == "SESSION":
        for row in sorted(s, key=lambda r: r[2]):
            before = extents.pop()[2] if extents and row[2] < extents[-1][1] else []
            extents.append((row[2] + length - 1, row[2] + length, [*before, row]))
    else:
        extents = [(ts, ts, [r for r in s if ts - length < r[2] <= ts]) for _, _, ts in s]
    expected: Bag = Counter()
    for instant, end, rows in extents:
        alive = Leaf("t", right, False, None).at(instant, {"t": t})
        for (k, n, _, m), count in joined("JOIN", Counter((k, n) for k, n, _ in rows), alive, False).items():
            expected[end, k, n, m] += count
    assert got == expected


def test_an_inner_join_has_provisional_answers() -> None:
    rows = {"s": [("a", 1, 0), ("a", 2, 20)], "t": [("a", 3, 1), ("a", 4, 22)]}
    text = f"SELECT count(*) AS c FROM s a, t b {window(9, 3)} WHERE a.k = b.k EMIT EVERY 1 MICROSECOND"
    with session_over(rows, [1] * 4) as session:
        (query,) = session.execute(text)
        assert query.wait(200)
        log = query.changes()
        assert set(log.get_column("is_final")) == {True, False}
        finals = Counter(log.filter(log.get_column("is_final")).drop("is_final").rows())
    counts = answered(rows, 3, (9, 9), lambda one, two: Counter({(joined("JOIN", one, two, False).total(),): 1}))
    holding = [end for _, end, count in counts if count and isinstance(end, int)]
    assert finals == Counter(row for row in counts if row[1] in range(min(holding), max(holding) + 1))


def test_what_comes_when_it_is_final_has_no_provisional_answers() -> None:
    with session_over({"s": [], "t": []}, []) as session, pytest.raises(UnsupportedError, match="nothing to revise"):
        session.execute(f"SELECT count(*) AS c FROM s a LEFT JOIN t b {window(9, 3)} ON a.k = b.k EMIT CHANGES")


def test_windows_that_look_at_other_instants_are_refused() -> None:
    with session_over({"s": [], "t": []}, []) as session, pytest.raises(QueryError, match="slide differently"):
        session.execute(f"SELECT a.k FROM s {window(9, 3)} a, t {window(9, 2)} b WHERE a.k = b.k")


@pytest.mark.parametrize("rows", ["[ROWS 4 SLIDE 2]", "[RANGE 9 MICROSECONDS SLIDE 1 ROW]", "[SESSION 9 MICROSECONDS]"])
def test_extents_that_end_with_rows_are_not_compared(rows: str) -> None:
    with session_over({"s": [], "t": []}, []) as session, pytest.raises(QueryError, match="end with rows") as wrong:
        session.execute(f"SELECT k FROM s {rows} EXCEPT SELECT k FROM t {rows}")
    assert "SLIDE over time" in str(wrong.value)
