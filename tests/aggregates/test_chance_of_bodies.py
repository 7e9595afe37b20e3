"""`rand()` in bodies: every group and every answer has chance of its own, by the stream's seed, and the same in every run."""

from __future__ import annotations

import pickle
from datetime import datetime, timedelta

import polars as pl
import pytest

from jupyter_stream.session.session import Session
from tests.aggregates.test_user_bodies import program

START = datetime(2024, 1, 1)
ROWS = pl.DataFrame(
    {
        "ts": [START + timedelta(seconds=i) for i in range(40)],
        "k": ["a", "b"] * 20,
        "v": [i // 4 for i in range(40)],
    }
)
PICK = """CREATE AGGREGATE pick (x BIGINT) : DOUBLE
{ TABLE t (r DOUBLE);
  INITIALIZE : { INSERT INTO t VALUES (rand()); }
  ITERATE : { UPDATE t SET r = r + rand(); }
  TERMINATE : { INSERT INTO RETURN SELECT r FROM t; } }"""
"""The sum of as many numbers as there are rows."""
SHAKE = """CREATE ALGEBRAIC AGGREGATE shake (x DOUBLE) : DOUBLE
{ TABLE t (r DOUBLE);
  INITIALIZE : { INSERT INTO t VALUES (x + rand()); }
  ITERATE : { UPDATE t SET r = r + x; }
  TERMINATE : { INSERT INTO RETURN SELECT r FROM t; } }"""
"""Numbers with chance added to the first."""
QUERIES = {
    "extents": "SELECT window_end, k, pick(v) AS r FROM s [RANGE 8 SECONDS SLIDE 4 SECONDS] GROUP BY k",
    "OVER": "SELECT ts, k, pick(v) OVER (PARTITION BY k ROWS 3 PRECEDING) AS r FROM s",
    "sessions": "SELECT window_end, k, pick(v) AS r FROM s [SESSION 1 SECOND PARTITION BY k]",
    "DISTINCT": "SELECT window_end, k, pick(DISTINCT v) AS r FROM s [RANGE 8 SECONDS TUMBLING] GROUP BY k",
    "panes": "SELECT window_end, k, shake(v) AS r FROM s [RANGE 8 SECONDS SLIDE 4 SECONDS] GROUP BY k",
    "a view": "SELECT k, pick(v) AS r FROM (SELECT k, count(*) AS v FROM s GROUP BY k) GROUP BY k",
}


def answer(query: str, seed: str = "1", batches: int = 1) -> pl.DataFrame:
    size = len(ROWS) // batches
    parts = [ROWS[i : i + size] for i in range(0, len(ROWS), size)]
    with Session({"parts": lambda: iter(parts)}) as session:
        session.run(
            f"CREATE STREAM s (ts TIMESTAMP, k STRING, v BIGINT) ORDER BY ts SOURCE 'python://parts' WITH (seed = '{seed}')"
        )
        for text in (PICK, SHAKE):
            session.run(text)
        (handle,) = session.run(query)
        assert handle.wait(200) and handle.status == "finished", handle.snapshot().error
        return handle.to_polars()


@pytest.mark.parametrize("name", QUERIES)
def test_groups_and_answers_differ_and_a_run_repeats_however_its_rows_come(name: str) -> None:
    found = answer(QUERIES[name])
    numbers = found["r"].to_list()
    assert len(numbers) >= 2 and len(set(numbers)) == len(numbers)
    assert found.equals(answer(QUERIES[name], batches=8))


def test_another_seed_is_other_chance() -> None:
    one, other = (answer(QUERIES["extents"], seed)["r"].to_list() for seed in ("1", "2"))
    assert not set(one) & set(other)


def test_a_sum_of_chance_is_that_of_as_many_numbers() -> None:
    found = answer("SELECT pick(v) AS r, pick(DISTINCT v) AS d FROM s [RANGE 1 DAY TUMBLING]")
    ((all_rows, those_that_differ),) = found.select("r", "d").rows()
    assert 15 < all_rows < 25 and 2.5 < those_that_differ < 7.5  # of 40 and of 10


def test_it_can_be_sent_to_other_processes() -> None:
    made = program(PICK, pl.Int64()).seeded(7)
    again = pickle.loads(pickle.dumps(made))
    rows = [(i, 100 + i) for i in range(5)]
    assert again.over(rows) == made.over(rows) != made.over([(i, 200 + i) for i in range(5)])
    assert made.over([(i, 100 + 9 * i) for i in range(5)]) == made.over(rows)  # the first row's number says it


def test_the_answer_over_rows_is_that_of_one_after_the_other() -> None:
    roll = (
        "CREATE AGGREGATE roll (x BIGINT) : DOUBLE { INITIALIZE : ITERATE : { INSERT INTO RETURN VALUES (rand()); } }"
    )
    made = program(roll, pl.Int64()).seeded(7)
    rows, run = [(i, 100 + i) for i in range(5)], made.start()
    for row in rows:
        last = run.take(0, row)
    assert made.over(rows) == last


def test_explain_shows_the_call_as_it_was_written() -> None:
    with Session({"rows": ROWS}) as session:
        session.run("CREATE STREAM s (ts TIMESTAMP, k STRING, v BIGINT) ORDER BY ts SOURCE 'frame://rows'")
        session.run(PICK)
        (shown,) = session.run(
            "EXPLAIN SELECT k, pick(v), pick(DISTINCT v) FROM s [RANGE 8 SECONDS TUMBLING] GROUP BY k"
        )
        assert "k, pick(v), pick(DISTINCT v)" in str(shown)
