"""A sum beyond BIGINT, without GROUP BY: an error of its extent, which has no answer, neither of its rows nor as an empty one."""

from __future__ import annotations

import pytest

from jupyter_stream import Session

BIG = 2**62
ROWS = [(BIG, 0), (BIG, 1), (3, 25), (BIG, 41), (BIG, 42), (5, 65), (1, 66)]
TUMBLING = "[RANGE 10 MICROSECONDS TUMBLING]"
SLIDING = "[RANGE 20 MICROSECONDS SLIDE 10 MICROSECONDS]"
CASES = {
    TUMBLING: ([20, 30, 40, 60, 70], [10, 50]),
    SLIDING: ([30, 40, 70, 80], [10, 20, 50, 60]),
    "[RANGE ALL SLIDE 10 MICROSECONDS]": ([], [10, 20, 30, 40, 50, 60, 70]),
    "[SESSION 5 MICROSECONDS]": ([30, 71], [6, 47]),
    "[ROWS 2 SLIDE 2]": ([4, 6, 7], [2]),
    "[RANGE 10 MICROSECONDS SLIDE 1 ROW]": ([0, 25, 41, 65, 66], [1, 42]),
    "[RANGE 10 MICROSECONDS SLIDE 2 ROWS]": ([41, 65], [1]),
}
"""Window, the ends of the extents with an answer, and of those with an error."""


WAYS = [(w, None) for w in CASES] + [(w, s) for w in (TUMBLING, SLIDING) for s in ("wid", "adapt-wid", "rows")]


@pytest.mark.parametrize(("window", "strategy"), WAYS)
@pytest.mark.parametrize("emit", ["", " EMIT CHANGES"])
def test_a_sum_beyond_bigint_is_an_error_and_no_answer(window: str, strategy: str | None, emit: str) -> None:
    answered, wrong = CASES[window]
    with Session({"rows": ROWS}) as session:
        session.execute("CREATE STREAM s (n BIGINT, ts BIGINT) ORDER BY ts SOURCE 'python://rows'")
        (query,) = session.execute(f"SELECT count(*) AS c, sum(n) AS t FROM s {window}{emit}", strategy=strategy)
        assert query.wait(200)
        assert query.stats["state"] == "finished"
        answers = query.to_polars()
        if emit:
            answers = answers.filter("is_final")
        assert sorted(answers["window_end"]) == answered
        assert set(query.errors["reason"]) == {"a sum is beyond BIGINT"}
        ends = [int(raw.rstrip("}").split(":")[-1]) for raw in query.errors["raw"]]
        assert sorted(set(ends)) == wrong
        if not emit:
            assert len(ends) == len(wrong)
