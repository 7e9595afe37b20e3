"""What EXPLAIN looks like under a cell: no line is too long for it, and nothing is left out."""

from pathlib import Path

import polars as pl
from IPython.lib.pretty import pretty

from jupyter_stream import Query, Session

SQL = """SELECT max(n) AS most FROM (
  SELECT k, count(*) AS n, avg(ts) AS mean FROM s [RANGE 10 MICROSECONDS SLIDE 2 MICROSECONDS] GROUP BY k
) [RANGE 2 MICROSECONDS TUMBLING]"""


def test_long_lines_go_on_under_their_own_beginning() -> None:
    rows = pl.DataFrame({"ts": range(100), "k": [i % 7 for i in range(100)]})
    with Session({"rows": rows}) as session:
        session.execute("CREATE STREAM s (ts BIGINT, k BIGINT) ORDER BY ts SOURCE 'frame://rows'")
        (query,) = session.execute(SQL)
        assert isinstance(query, Query)
        assert query.wait(200)
        plan = query.explain()
    shown = pretty(plan)
    assert max(map(len, plan.splitlines())) > 150
    assert max(map(len, shown.splitlines())) <= 100
    assert shown.split() == plan.split()
    branch = next(line for line in plan.splitlines() if "[RANGE 2" in line).index("window")
    at = next(i for i, line in enumerate(shown.splitlines()) if "[RANGE 2" in line)
    behind = shown.splitlines()[at + 1]
    assert len(behind) - len(behind.lstrip()) == branch + 5


def test_the_clauses_of_a_declaration_are_shown(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("raw;v\n01.05.2024 10:00;1,5\n")
    form = "'dd.MM.yyyy HH:mm'"
    with Session({}) as session:
        session.run(
            f"CREATE STREAM s (raw STRING, v DOUBLE, at AS to_timestamp(raw, {form}), WATERMARK FOR at AS at) "
            f"SOURCE 'file://{path}' WHERE v > 1 WITH (decimal = ',', ahead = '5 minutes')"
        )
        session.run(
            f"CREATE STREAM t ORDER BY raw SOURCE 'file://{path}' WITH (timestamp_format = {form}, encoding = 'cp1252')"
        )
        shown = [str(session.run(f"EXPLAIN SELECT v FROM {name} WHERE v > 2")[0]) for name in "st"]
    for part in (
        "only rows where (v > 1",
        f"at is to_timestamp(raw, {form})",
        "read with decimal = ',', ahead = '5 minutes'",
    ):
        assert part in shown[0]
    assert f"read with timestamp_format = {form}, encoding = 'cp1252'" in shown[1] and "raw is" not in shown[1]
