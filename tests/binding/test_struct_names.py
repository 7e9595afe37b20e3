"""The fields of `struct(...)` and `row(...)` have the names of columns as queries know them, never one of the plan's own."""

from __future__ import annotations

import polars as pl
import pytest

from jupyter_stream import Session

ROWS = pl.DataFrame({"k": ["a", "a", "b"], "Vol": [1, 2, 3], "ts": [1, 2, 3]})


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("SELECT struct(k, vol, vol + 1) AS s FROM f", ["k", "Vol", "col3"]),
        ("SELECT struct(row_num, ts) AS s FROM f", ["row_num", "ts"]),
        (
            "SELECT struct(count(*), k, sum(vol)) AS s FROM f [RANGE 9 MICROSECONDS TUMBLING] GROUP BY k",
            ["col1", "k", "col3"],
        ),
        (
            "SELECT struct(window_start, k) AS s FROM f [RANGE 9 MICROSECONDS TUMBLING] GROUP BY k",
            ["window_start", "k"],
        ),
        ("SELECT row(sum(vol) OVER (ROWS 2 PRECEDING), k) AS s FROM f", ["col1", "k"]),
        (
            "SELECT struct(a.k, b.Vol, a.Vol) AS s FROM f [RANGE 1 SECOND] a JOIN f [RANGE 1 SECOND] b ON a.vol = b.vol",
            ["k", "Vol", "Vol_2"],
        ),
        ("SELECT struct(p.x, p.y) AS s FROM (SELECT named_struct('x', k, 'y', vol) AS p FROM f)", ["x", "y"]),
    ],
)
def test_fields_have_the_names_of_columns(query: str, names: list[str]) -> None:
    with Session({"rows": ROWS}) as session:
        session.execute("CREATE STREAM f (k STRING, `Vol` BIGINT, ts BIGINT) ORDER BY ts SOURCE 'frame://rows'")
        (q,) = session.execute(query)
        assert q.wait(200)
        dtype = q.to_polars().schema["s"]
        assert isinstance(dtype, pl.Struct)
        assert [f.name for f in dtype.fields] == names


def test_in_the_body_of_an_aggregate_too() -> None:
    with Session({"rows": ROWS}) as session:
        session.execute("CREATE STREAM f (k STRING, `Vol` BIGINT, ts BIGINT) ORDER BY ts SOURCE 'frame://rows'")
        session.execute(
            "CREATE AGGREGATE newest(x BIGINT, y STRING) : STRING { TABLE st(a BIGINT, b STRING);"
            " INITIALIZE: { INSERT INTO st VALUES (x, y); } ITERATE: { UPDATE st SET a = x, b = y; }"
            " TERMINATE: { INSERT INTO RETURN SELECT to_json(struct(a, b)) FROM st; } }"
        )
        (q,) = session.execute("SELECT newest(vol, k) AS s FROM f [RANGE 9 MICROSECONDS TUMBLING]")
        assert q.wait(200) and q.to_polars().get_column("s").to_list() == ['{"a":3,"b":"b"}']
