"""Rows with times that Polars can't show: they are told of, and shown, like any other bad row."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from jupyter_stream import Session
from jupyter_stream.core.far import as_json
from jupyter_stream.views.words import cells

FAR = [9223372036854775807, -9223372036854775807, 9 * 10**18, 0, None]


@pytest.mark.parametrize(("unit", "value"), [("us", 2**63 - 1), ("ms", 9 * 10**15), ("s", 9 * 10**12)])
def test_a_row_with_a_time_beyond_all_years_is_told_and_the_others_count(tmp_path: Path, unit: str, value: int) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(f'{{"k":"{k}","ts":{ts}}}\n' for k, ts in (("a", 1), ("b", value), ("c", 5))))
    with Session() as session:
        session.execute(
            f"""CREATE STREAM s (k STRING, ts TIMESTAMP) ORDER BY ts
                SOURCE 'file://{path}' WITH (timestamp_unit = '{unit}')"""
        )
        (query,) = session.execute("SELECT k FROM s")
        assert query.wait(200)
        assert query.to_polars()["k"].to_list() == ["a", "c"]
        (raw,) = query.errors["raw"].to_list()
        assert raw.startswith('{"k":"b","ts":9')


def test_a_far_time_beside_a_missing_one_is_told() -> None:
    rows = pl.DataFrame({"ts": [1, None, 3], "at": FAR[:3]}).with_columns(pl.col("ts", "at").cast(pl.Datetime("us")))
    with Session({"rows": rows}) as session:
        session.execute("CREATE STREAM s ORDER BY ts SOURCE 'frame://rows'")
        (query,) = session.execute("SELECT ts, at FROM s")
        assert query.wait(200) and query.to_polars().height == 2
        assert query.errors["raw"].to_list() == ['{"ts":null,"at":-9223372036854775807}']


def test_times_too_far_to_show_are_shown_as_numbers_wherever_they_are() -> None:
    at = pl.Series("at", FAR, dtype=pl.Int64).cast(pl.Datetime("us"))
    day = pl.Series("day", [2**31 - 1, 0, None, 5, 5], dtype=pl.Int32).cast(pl.Date)
    frame = pl.DataFrame([at, day]).with_columns(pl.struct("at").alias("s"), pl.concat_list("at").alias("l"))
    assert as_json(frame.select("at")).to_list() == [
        '{"at":9223372036854775807}',
        '{"at":-9223372036854775807}',
        '{"at":9000000000000000000}',
        '{"at":"1970-01-01 00:00:00"}',
        '{"at":null}',
    ]
    assert as_json(frame.select("s", "l"))[0] == '{"s":{"at":9223372036854775807},"l":[9223372036854775807]}'
    assert cells(frame["at"]) == [*(str(v) for v in FAR[:3]), "1970-01-01 00:00:00.000", "NULL"]
    assert cells(frame["day"])[:2] == ["2147483647", "1970-01-01"]
    assert cells(frame["s"])[0] == "{'at': 9223372036854775807}"
