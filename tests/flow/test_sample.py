"""SAMPLE(p): which rows are kept depends on the rows and the seed, on nothing else."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream import Session
from jupyter_stream.errors import QueryError
from tests.oracle.search import searching

ROWS = 20_000


def session_over(rows: int, pieces: list[int] | None = None, seed: int | None = None) -> Session:
    """Streams s and t of that many rows, brought in batches of those sizes."""
    frame = pl.DataFrame({"n": range(rows), "k": [i % 7 for i in range(rows)], "ts": [i // 3 for i in range(rows)]})

    def batches() -> Iterator[pl.DataFrame]:
        begin, sizes = 0, list(pieces or [])
        while begin < rows:
            size = sizes.pop(0) if sizes else rows
            yield frame[begin : begin + size]
            begin += size

    session = Session(
        {"rows": batches, "names": pl.DataFrame({"k": [0, 0, 1, 2, 3, 4, 5, 6], "name": list("aabcdefg")})}
    )
    said = "" if seed is None else f" WITH (seed = '{seed}')"
    for name in ("s", "t"):
        session.execute(
            f"CREATE STREAM {name} (n BIGINT, k BIGINT, ts BIGINT) ORDER BY ts SOURCE 'python://rows'{said}"
        )
    session.execute("CREATE TABLE names SOURCE 'frame://names'")
    return session


def numbers(session: Session, query: str) -> list[int]:
    (handle,) = session.execute(query)
    assert handle.wait(200)
    return sorted(handle.to_polars().get_column("n").to_list())


def test_so_many_of_a_hundred_rows_are_kept() -> None:
    with session_over(ROWS) as session:
        for percent in (0.5, 10, 50, 97.5):
            kept = len(numbers(session, f"SELECT n FROM s SAMPLE({percent})"))
            spread = (ROWS * percent / 100 * (1 - percent / 100)) ** 0.5
            assert abs(kept - ROWS * percent / 100) < 5 * spread
        assert numbers(session, "SELECT n FROM s SAMPLE(100)") == list(range(ROWS))


def test_a_larger_sample_holds_the_smaller_one_and_another_seed_keeps_others() -> None:
    with session_over(ROWS) as session, session_over(ROWS, seed=2) as other:
        ten, twenty = (set(numbers(session, f"SELECT n FROM s SAMPLE({p})")) for p in (10, 20))
        assert ten < twenty
        assert ten == set(numbers(session, "SELECT n FROM s TABLESAMPLE(10 PERCENT)"))
        others = set(numbers(other, "SELECT n FROM s SAMPLE(10)"))
        assert 100 < len(ten & others) < 300  # one in a hundred


def test_samples_of_samples_and_of_several_streams_are_independent() -> None:
    with session_over(ROWS) as session:
        ten = set(numbers(session, "SELECT n FROM s SAMPLE(10)"))
        again = set(numbers(session, "SELECT n FROM (SELECT n FROM s SAMPLE(10)) SAMPLE(10)"))
        assert again < ten and 100 < len(again) < 300
        assert 100 < len(ten & set(numbers(session, "SELECT n FROM t SAMPLE(10)"))) < 300
        both = numbers(session, "SELECT n FROM (s UNION t) SAMPLE(10)")
        assert 3500 < len(both) < 4500 and len(both) - len(set(both)) < 300


def test_rows_of_one_row_are_kept_each_by_itself() -> None:
    with session_over(ROWS) as session:
        found = numbers(session, "SELECT n FROM (SELECT s.n FROM s JOIN names USING (k) WHERE k = 0) SAMPLE(50)")
        twice = len(found) - len(set(found))
        assert 0.2 < twice / (ROWS / 7) < 0.3


def test_a_window_counts_what_the_sample_leaves() -> None:
    with session_over(ROWS) as session:
        kept = numbers(session, "SELECT n FROM s SAMPLE(5)")
        (counted,) = session.execute("SELECT sum(n) AS total FROM s SAMPLE(5) [ROWS 10 SLIDE 10]")
        assert counted.wait(200)
        arrived = [sum(kept[i : i + 10]) for i in range(0, len(kept), 10)]
        assert counted.to_polars().get_column("total").to_list() == arrived


def test_answers_and_joined_rows_can_be_sampled() -> None:
    with session_over(ROWS) as session:
        (answers,) = session.execute(
            "SELECT * FROM (SELECT k, sum(n) AS total FROM s [RANGE 10 MICROSECONDS TUMBLING] GROUP BY k) SAMPLE(20)"
        )
        (pairs,) = session.execute(
            "SELECT * FROM (SELECT a.n, b.k FROM s [RANGE 2 MICROSECONDS] a JOIN t [RANGE 2 MICROSECONDS] b ON a.n = b.n)"
            " SAMPLE(20)"
        )
        assert answers.wait(200) and pairs.wait(200)
        assert 0.17 < answers.to_polars().height / (ROWS / 30 * 7) < 0.23
        assert 0.17 < pairs.to_polars().height / ROWS < 0.23


@searching
@given(st.lists(st.integers(1, 40), max_size=12), st.integers(0, 3))
def test_batches_dont_change_a_sample(pieces: list[int], seed: int) -> None:
    with session_over(120, seed=seed) as whole, session_over(120, pieces, seed) as split:
        for query in (
            "SELECT n FROM s SAMPLE(30) WHERE n % 2 = 0",
            "SELECT n FROM (SELECT n, name FROM s JOIN names USING (k)) SAMPLE(30)",
            "SELECT sum(n) AS n FROM s [RANGE 4 MICROSECONDS SLIDE 2 MICROSECONDS] SAMPLE(60)",
        ):
            assert numbers(split, query) == numbers(whole, query)


@pytest.mark.parametrize(
    ("query", "says", "column"),
    [
        ("SELECT n FROM s SAMPLE(0)", "more than 0 and at most 100", 24),
        ("SELECT n FROM s SAMPLE(101)", "more than 0 and at most 100", 24),
        ("SELECT n FROM s SAMPLE(k)", "more than 0 and at most 100", 24),
        ("SELECT n FROM s SAMPLE 10", "Write SAMPLE(10)", 24),
        ("SELECT n FROM s SAMPLE(5) SAMPLE(5)", "only one SAMPLE", 27),
        ("SELECT k FROM names SAMPLE(5)", "SAMPLE needs a stream", 21),
        ("SELECT k FROM (SELECT DISTINCT k FROM s [RANGE 5 SECONDS]) SAMPLE(5)", "SAMPLE needs a stream", 60),
    ],
)
def test_what_cant_be_sampled_is_refused_where_it_stands(query: str, says: str, column: int) -> None:
    with session_over(5) as session:
        with pytest.raises(QueryError) as refused:
            session.execute(query)
        assert says in str(refused.value)
        assert refused.value.column == column


def test_a_seed_is_a_whole_number() -> None:
    with session_over(5) as session:
        session.execute("CREATE STREAM u (n BIGINT, k BIGINT, ts BIGINT) SOURCE 'python://rows' WITH (seed = 'x')")
        with pytest.raises(QueryError, match="must be a whole number"):
            session.execute("SELECT n FROM u SAMPLE(5)")
