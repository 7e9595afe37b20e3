"""How large a statement may be: a thousand levels and chains of thousands work, and what doesn't is told with its place."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl
import pytest

from jupyter_stream import Session
from jupyter_stream.errors import QueryError
from tests.tiers import thinned

ROWS = pl.DataFrame({"a": [1, 2, None, 4], "k": ["x", "y", "x", None]})


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    opened = Session({"p": ROWS, "half": "\ud800"})
    opened.execute("CREATE STREAM p (a BIGINT, k STRING) SOURCE 'frame://p'")
    yield opened
    opened.close()


def answer(session: Session, text: str) -> list[object]:
    query = session.execute(text)[-1]
    query.wait(200)  # type: ignore[union-attr]
    assert query.status == "finished", query.snapshot().error  # type: ignore[union-attr]
    return query.to_polars().get_column("x").to_list()  # type: ignore[union-attr]


DEEP = {
    "parentheses": (f"{'(' * 990}a{')' * 990}", [1, 2, None, 4]),
    "calls": (f"{'abs(' * 990}a{')' * 990}", [1, 2, None, 4]),
    "signs": (f"{'- ' * 990}a", [1, 2, None, 4]),
    "not": (f"{'NOT ' * 990}(a > 1)", [False, True, None, True]),
    "case": (f"{'CASE WHEN a > 1 THEN a ELSE ' * 490}0{' END' * 490}", [0, 2, 0, 4]),
    "to the right": (f"{'(a + ' * 490}a{')' * 490}", [491, 982, None, 1964]),
    "lists": (f"{'coalesce(a, ' * 490}0{')' * 490}", [1, 2, 0, 4]),
}


@pytest.mark.parametrize("name", thinned(DEEP, 3))
def test_a_thousand_levels_work(name: str, session: Session) -> None:
    text, expected = DEEP[name]
    assert answer(session, f"SELECT {text} AS x FROM p") == expected


CHAINS = {
    "sum": (" + ".join(["a"] * 5_000), [5_000, 10_000, None, 20_000]),
    "and": (" AND ".join(f"a <> {i}" for i in range(4, 5_004)), [True, True, None, False]),
    "or": (" OR ".join(f"a = {i}" for i in range(4, 5_004)), [False, False, None, True]),
    "casts": (" OR ".join(f"CAST(a + {i} AS INT) = 5" for i in range(1_000)), [True, True, None, True]),
    "quotients": (" + ".join(f"a / (a + {i})" for i in range(1, 500)) + " > 5", [True, True, None, True]),
    "constants": (
        "a IN (" + ", ".join(f"CAST('{i}' AS INT)" for i in range(2, 1_002)) + ")",
        [False, True, None, True],
    ),
    "branches": (f"CASE {' '.join(f'WHEN a + 1 = {i} THEN a + {i}' for i in range(1_000))} END", [3, 5, None, 9]),
    "items": (f"a IN ({', '.join(f'a + {i}' for i in range(1, 1_000))}, 1)", [True, False, None, False]),
}


@pytest.mark.parametrize("name", thinned(CHAINS, 8))
def test_chains_of_thousands_work(name: str, session: Session) -> None:
    text, expected = CHAINS[name]
    assert answer(session, f"SELECT {text} AS x FROM p") == expected


def test_a_row_fails_for_the_first_reason_of_a_long_sum(session: Session) -> None:
    long = " + ".join(["a"] * 60)
    text = f"SELECT 1 + ({long} + 9223372036854775807) + ({long}) / (a - 1) AS x FROM p WHERE a <= 2"
    query = session.execute(text)[-1]
    query.wait(200)  # type: ignore[union-attr]
    assert query.errors.get_column("reason").to_list() == ["BIGINT overflow in +"] * 2  # type: ignore[union-attr]
    text = f"SELECT 1 + ({long}) / (a - 1) + ({long} + 9223372036854775807) AS x FROM p WHERE a = 1"
    query = session.execute(text)[-1]
    query.wait(200)  # type: ignore[union-attr]
    assert query.errors.get_column("reason").to_list() == ["division by zero"]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"SELECT {'(' * 1_001}a{')' * 1_001} AS x FROM p", "nested more than 1,000 levels"),
        (f"SELECT {'9' * 5_000} AS x FROM p", "5,000 digits"),
        (f"SELECT 1{' ' * 1_000_000} AS x FROM p", "the most is 1,000,000"),
        ("SELECT repeat('a', 1000000000) AS x FROM p", "1,000,000 characters"),
        ("SELECT lpad('a', 2000000000, 'b') AS x FROM p", "1,000,000 characters"),
        ("SELECT k || space(2000000000) AS x FROM p", "1,000,000 characters"),
        ("SELECT count(*) AS x FROM p [RANGE 2 SECONDS SLIDE 1 MICROSECOND]", "2,000,000 extents"),
        ("SELECT '\ud800' AS x FROM p", "half of a character"),
        ("SELECT :half AS x FROM p", "half of a character"),
    ],
)
def test_a_limit_is_told_where_it_is_passed(text: str, says: str, session: Session) -> None:
    with pytest.raises(QueryError) as caught:
        session.execute(text)
    assert says in str(caught.value)
    assert caught.value.line == 1 and caught.value.column is not None
    assert len(str(caught.value)) <= 2_000


@pytest.mark.parametrize("text", ["repeat(k, a * 1000000)", "rpad(k, a * 1000000, 'ab')", "space(a * 1000000)"])
def test_a_row_whose_text_would_be_too_long_is_an_error_of_the_row(text: str, session: Session) -> None:
    query = session.execute(f"SELECT length({text}) AS x FROM p WHERE a IN (1, 2)")[-1]
    query.wait(200)  # type: ignore[union-attr]
    assert query.to_polars().get_column("x").to_list() == [1_000_000]  # type: ignore[union-attr]
    reasons = query.errors.get_column("reason").to_list()  # type: ignore[union-attr]
    assert reasons == ["a text may not be made longer than 1,000,000 characters"]


def test_of_a_long_line_the_part_around_the_place_is_shown(session: Session) -> None:
    text = f"SELECT {', '.join(['a'] * 900)}, nothing, {', '.join(['a'] * 900)} FROM p"
    with pytest.raises(QueryError) as caught:
        session.execute(text)
    lines = str(caught.value).splitlines()
    at = lines[3].index("^")
    assert len(str(caught.value)) < 500
    assert lines[2][at : at + lines[3].count("^")] == "nothing"


@pytest.mark.parametrize(
    "text",
    [
        f"CREATE STREAM z (a CHAR({'9' * 5_000})) SOURCE 'frame://p'",
        f"SELECT a AS x FROM p [ROWS {'9' * 5_000}]",
        "CREATE STREAM z SOURCE 'file://~nobody-here/x.csv'",
        f"CREATE STREAM z SOURCE 'file://{'n' * 5_000}.csv'",
        f"CREATE STREAM z SOURCE 'frame://{'n' * 5_000}'",
        f"SELECT {'n' * 5_000}(a) AS x FROM p",
        "SELECT DSTREAM count(*) FROM p [ROWS 2 SLIDE 1] EMIT CHANGES",
        "DESCRIBE FUNCTION x",
        "SELECT max(p.a) OVER (PARTITION BY k) FROM p JOIN t ON p.k = t.k",
        "SELECT (SELECT a, k FROM t) AS x FROM p",
    ],
)
def test_a_mistake_has_its_place_and_a_short_text(text: str, session: Session) -> None:
    session.execute("CREATE OR REPLACE TABLE t SOURCE 'frame://p'")
    with pytest.raises(QueryError) as caught:
        session.execute(text)
    assert caught.value.line == 1 and caught.value.column is not None and "^" in str(caught.value)
    assert len(str(caught.value)) <= 2_000


def test_offset_without_limit_leaves_the_first_rows_out(session: Session) -> None:
    assert answer(session, "SELECT a AS x FROM p OFFSET 2") == [None, 4]
    assert answer(session, "SELECT count(*) AS x FROM p [ROWS 2 SLIDE 2] GROUP BY k OFFSET 1") == [1, 1, 1]
