"""What CREATE STREAM makes of its source's rows: computed columns, times in fields and texts, WHERE, a WATERMARK of its own."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from jupyter_stream import Session
from jupyter_stream.errors import QueryError
from tests.tiers import slow
from tests.waiting import PATIENCE, until

START = dt.datetime(2024, 5, 1, 10)
TEXT = "yyyy-MM-dd HH:mm:ss,SSS"
ROWS: list[dict[str, Any]] = [
    {"raw": f"2024-05-01 10:00:0{i},000", "v": i, "meta": {"at": START + dt.timedelta(seconds=i), "ms": 1714557600000 + i * 1000,
     "raw": f"01.05.2024 10:00:0{i}"}}
    for i in range(4)
]  # fmt: skip
META = "meta STRUCT<at: TIMESTAMP, ms: BIGINT, raw: STRING>"
EXTENTS = "SELECT window_start, count(*) AS n, sum(v) AS v FROM s [RANGE 2 SECONDS TUMBLING] GROUP BY window_start, window_end"
EXPECTED = [(START, 2, 1), (START + dt.timedelta(seconds=2), 2, 5)]


def answers(query: Any) -> list[tuple[Any, ...]]:
    """The rows of an answer, without the ends of extents."""
    rows: list[tuple[Any, ...]] = query.to_polars().select("window_start", "n", "v").rows()
    return sorted(rows)


def run(declared: str, query: str = EXTENTS, rows: Any = ROWS, **how: Any) -> tuple[list[tuple[Any, ...]], list[str]]:
    """The rows of an answer, and why others are refused."""
    with Session({"rows": rows}) as session:
        session.run(declared)
        found: Any = session.run(query, **how)[-1]
        assert found.wait(PATIENCE)
        assert found.snapshot().error is None
        return answers(found), found.errors.get_column("reason").to_list()


TIMES = [
    f"(raw STRING, v INT, at AS to_timestamp(raw, '{TEXT}'), WATERMARK FOR at AS at - INTERVAL 1 SECOND) SOURCE 'python://rows'",
    f"(at AS to_timestamp(raw, '{TEXT}'), WATERMARK FOR at AS at) SOURCE 'python://rows'",
    f"(raw TIMESTAMP, v INT) ORDER BY raw SOURCE 'python://rows' WITH (timestamp_format = '{TEXT}')",
    f"ORDER BY raw SOURCE 'python://rows' WITH (timestamp_format = '{TEXT}')",
    "(WATERMARK FOR meta.at AS meta.at - INTERVAL 1 SECOND) SOURCE 'python://rows'",
    f"(v INT, {META}) ORDER BY meta.ms SOURCE 'python://rows' WITH (timestamp_unit = 'ms')",
    "ORDER BY meta.raw SOURCE 'python://rows' WITH (timestamp_format = 'dd.MM.yyyy HH:mm:ss')",
]


@pytest.mark.parametrize("declared", TIMES)
def test_a_time_in_a_text_or_a_field_is_the_time(declared: str) -> None:
    rows, reasons = run(f"CREATE STREAM s {declared}")
    assert (rows, reasons) == (EXPECTED, [])


def test_a_row_whose_column_cannot_be_computed_is_refused_unless_where_leaves_it_out() -> None:
    declared = (
        f"CREATE STREAM s (v INT, raw STRING, at AS to_timestamp(raw, '{TEXT}')) ORDER BY at SOURCE 'python://rows'"
    )
    bad = [*ROWS, {"raw": "soon", "v": 9}]
    rows, reasons = run(declared, rows=bad)
    assert rows == EXPECTED and len(reasons) == 1 and TEXT in reasons[0]
    assert run(f"{declared} WHERE v < 9", rows=bad)[1] == []


@pytest.mark.parametrize(
    "declared",
    [
        "(WATERMARK FOR metta.at AS metta.at) SOURCE 'python://rows'",
        "ORDER BY metta.at SOURCE 'python://rows'",
        "(at AS to_timestamp(metta.raw)) SOURCE 'python://rows'",
        "SOURCE 'python://rows' WHERE metta.ms > 5",
    ],
)
def test_a_misspelt_column_before_a_field_is_no_stream(declared: str) -> None:
    with (
        Session({"rows": ROWS}) as session,
        pytest.raises(QueryError, match="there is no column called metta") as error,
    ):
        session.run(f"CREATE STREAM s {declared}")
    assert error.value.hint == "Did you mean meta?"


def test_where_keeps_rows_out_before_they_move_the_time() -> None:
    rows = [{"at": START + dt.timedelta(seconds=i), "dev": "a", "v": i} for i in range(4)]
    rows.insert(1, {"at": START + dt.timedelta(days=1), "dev": "bad", "v": 100})
    declared = "CREATE STREAM s (at TIMESTAMP, dev STRING, v INT) ORDER BY at SOURCE 'python://rows'"
    assert sum(n for _, n, _ in run(declared, rows=rows)[0]) < 5
    assert run(f"{declared} WHERE dev <> 'bad'", rows=rows)[0] == EXPECTED


def test_a_derived_stream_may_go_by_a_time_of_its_own() -> None:
    with Session({"rows": ROWS}) as session:
        session.run("CREATE STREAM t SOURCE 'python://rows'")
        session.run(
            f"CREATE STREAM s AS SELECT to_timestamp(raw, '{TEXT}') AS at, v FROM t WHERE v <> 1 "
            "WATERMARK FOR at AS at - INTERVAL 1 SECOND"
        )
        query: Any = session.run(EXTENTS)[-1]
        assert query.wait(PATIENCE)
        assert answers(query) == [(START, 1, 0), EXPECTED[1]]


def test_the_late_hint_names_the_one_row_that_is_ahead() -> None:
    rows = [{"at": START + dt.timedelta(seconds=i), "dev": "abc"[i % 3]} for i in range(12)]
    rows.insert(2, {"at": START + dt.timedelta(hours=23, minutes=59), "dev": "bad"})
    with Session({"rows": rows}) as session:
        session.run("CREATE STREAM s (at TIMESTAMP, dev STRING) ORDER BY at SOURCE 'python://rows'")
        query: Any = session.run("SELECT count(*) AS n FROM s [RANGE 1 SECOND TUMBLING]")[-1]
        assert query.wait(PATIENCE)
        assert "10 of 10 late rows: since dev='bad' sent 2024-05-02 09:59:00" in (query.snapshot().hint or "")


@slow
@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ("(t TIMESTAMP, v INT) ORDER BY t SOURCE 'python://rows'", "timestamp_format"),
        ("(at TIMESTAMP, v INT) ORDER BY at SOURCE 'python://rows'", "all 4 rows so far have the time"),
        ("(at TIMESTAMP, v INT) ORDER BY at SOURCE 'python://rows' WITH (slack = '10 rows')", "so far it is 4 rows"),
        (
            "(at TIMESTAMP, p TIMESTAMP) ORDER BY at SOURCE 'python://rows' WITH (punctuation = 'p')",
            "no punctuation has come",
        ),
    ],
)
def test_a_query_over_live_rows_whose_time_stands_still_says_so(declared: str, said: str) -> None:
    over = threading.Event()

    def live() -> Iterator[dict[str, Any]]:
        yield from ({"t": f"01.05.2024 10:00:0{i}", "v": i, "at": START} for i in range(4))
        over.wait(PATIENCE)

    with Session({"rows": live()}) as session:
        session.run(f"CREATE STREAM s {declared}")
        query: Any = session.run("SELECT count(*) AS n FROM s [RANGE 2 SECONDS TUMBLING]")[-1]
        until(lambda: said in (query.snapshot().hint or ""), lambda: query.snapshot().hint)
        over.set()
        assert said in (query.snapshot().hint or "")
