"""`late(name)` merged back into the stream it is of."""

import threading
from typing import Any

import polars as pl
import pytest

from jupyter_stream import Query, Session
from jupyter_stream.core.messages import Missed
from jupyter_stream.engine.engine import Engine


def test_late_rows_merged_back_into_their_stream_end_with_it() -> None:
    rows = pl.DataFrame({"ts": [0, 130, 2, 200], "n": [1, 2, 3, 4]}).cast(pl.Int64)
    with Session({"rows": rows}) as session:
        session.execute("CREATE STREAM s (ts BIGINT, n BIGINT) ORDER BY ts SOURCE 'frame://rows'")
        (missing,) = session.execute("SELECT count(*) AS c FROM s [RANGE 100 MICROSECONDS TUMBLING]")
        assert missing.wait(200) and missing.late.get_column("n").to_list() == [3]
        (merged,) = session.execute("SELECT n FROM late(s) UNION ALL SELECT n FROM s")
        assert merged.wait(200) and merged.status == "finished"
        assert sorted(merged.to_polars()["n"]) == [1, 2, 3, 3, 4]
        (count,) = session.execute("SELECT count(*) AS c FROM late(s)")
        assert count.wait(200) and count.to_polars()["c"].to_list() == [1]


def test_columns_called_as_those_of_late_rows_are_kept_beside_them() -> None:
    rows = pl.DataFrame({"ts": [1, 50, 2], "punctuation": [None, None, None], "missed": [7, 8, 9]}).cast(pl.Int64)
    with Session({"rows": rows}) as session:
        session.execute("""
            CREATE STREAM s (ts BIGINT, punctuation BIGINT, missed BIGINT) ORDER BY ts SOURCE 'frame://rows';
            CREATE STREAM d AS SELECT missed, ts FROM s""")
        (query,) = session.execute("SELECT count(*) AS c FROM s [RANGE 10 MICROSECONDS TUMBLING]")
        (derived,) = session.execute("SELECT count(*) AS c FROM d [RANGE 10 MICROSECONDS TUMBLING]")
        assert query.wait(200) and derived.wait(200)
        expected = {"ts": [2], "punctuation": [None], "missed": [9], "punctuation_2": [50], "missed_2": [1]}
        assert query.late.to_dict(as_series=False) == expected
        (late,) = session.execute("SELECT * FROM late(d)")
        assert late.wait(200)
        assert late.to_polars().to_dict(as_series=False) == {
            "missed": [9],
            "ts": [2],
            "punctuation": [50],
            "missed_2": [1],
        }


def test_a_column_called_punctuation_holds_punctuations_and_late_rows_keep_it() -> None:
    rows = pl.DataFrame({"ts": [5, None, 3], "punctuation": [None, 10, None]}).cast(pl.Int64)
    with Session({"rows": rows}) as session:
        session.execute("""CREATE STREAM s (ts BIGINT, punctuation BIGINT) ORDER BY ts SOURCE 'frame://rows'
                           WITH (punctuation = 'punctuation')""")
        (query,) = session.execute("SELECT count(*) AS c FROM s [RANGE 10 MICROSECONDS TUMBLING]")
        assert query.wait(200) and query.to_polars()["c"].to_list() == [1]
        assert query.late.rows() == [(3, None, 10, 1)]


def test_rows_that_broke_a_constraint_are_late_whichever_thread_hears_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    give = Engine._give

    def elsewhere(engine: Engine, taker: Any, feed: Any, message: Any, stash: Any) -> None:
        if not isinstance(message, Missed):
            give(engine, taker, feed, message, stash)
            return
        thread = threading.Thread(target=give, args=(engine, taker, feed, message, stash))
        thread.start()
        thread.join()

    monkeypatch.setattr(Engine, "_give", elsewhere)
    rows = pl.DataFrame({"ts": [0, 1, 2, 3, 4, 5], "k": [1, 1, 2, 2, 1, 2]})
    with Session({"rows": rows}) as session:
        session.execute(
            "CREATE STREAM s (ts BIGINT, k BIGINT, CLUSTERED (k) WITHIN 1 ROW) ORDER BY ts SOURCE 'frame://rows'"
        )
        (query,) = session.execute("SELECT count(*) AS c FROM s [RANGE 10 MICROSECONDS TUMBLING]")
        assert isinstance(query, Query) and query.wait(100)
        assert query.late.select("ts", "missed").rows() == [(4, 0)]
