"""Extents that become final together come one after the other, those without rows in their places."""

import polars as pl
import pytest

from jupyter_stream import Session


@pytest.mark.parametrize("window", ["RANGE 1 MICROSECOND TUMBLING", "RANGE 3 MICROSECONDS SLIDE 1 MICROSECOND"])
@pytest.mark.parametrize("mode", ["", "EMIT EVERY 4 MICROSECONDS"])
@pytest.mark.parametrize("times", [[1, 5, 9, 20], [20, 1, 9, 5], [3, 70_000, 140_000]])
def test_empty_extents_stand_between_the_others(window: str, mode: str, times: list[int]) -> None:
    rows = pl.DataFrame({"ts": times})
    with Session({"rows": rows}) as session:
        session.execute("CREATE STREAM s (ts BIGINT) ORDER BY ts SOURCE 'frame://rows' WITH (slack = '9 rows')")
        (query,) = session.execute(f"SELECT count(*) AS c FROM s [{window}] {mode}")
        assert query.wait(200)
        answer = query.to_polars()
    width = 1 if "TUMBLING" in window else 3
    ends = answer["window_end"].to_list()
    assert ends == list(range(min(times) + 1, max(times) + width + 1))
    assert answer["c"].sum() == width * len(times)
