"""Answers that Spark's executors write: the files of the kernel, and not a row of them in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from jupyter_stream.core.schema import Schema
from jupyter_stream.errors import SinkError
from jupyter_stream.session.query import Query
from jupyter_stream.session.session import Session
from jupyter_stream.sinks.delta import DELTA
from jupyter_stream.sinks.file import FILE
from jupyter_stream.sinks.part_files import PIECES
from jupyter_stream.sinks.protocol import SinkConnector, TakesPieces, Target
from tests.tiers import slow
from tests.waiting import PATIENCE

DECLARED = """CREATE STREAM s (k STRING, n BIGINT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 2 SECONDS)
    SOURCE 'file://{at}/rows.csv'"""
QUERIES = {
    "windows of Spark's own": "SELECT k, count(*) AS c, sum(n) AS n FROM s [RANGE 10 SECONDS TUMBLING] GROUP BY k",
    "the kernel's operators in Spark": "SELECT k, n, sum(n) OVER (PARTITION BY k ROWS 2 PRECEDING) AS c FROM s",
}


@pytest.fixture
def at(tmp_path: Path) -> Path:
    """A folder with rows, 20 in a second and each twentieth of them late."""
    i = pl.Series("i", range(4_000))
    ts = (1_735_689_600_000_000 + i * 50_000 - (i % 20 == 7).cast(pl.Int64) * 7_000_000).cast(pl.Datetime("us"))
    pl.DataFrame({"k": (i % 3).cast(pl.String), "n": i, "ts": ts}).write_csv(tmp_path / "rows.csv")
    return tmp_path


def run(session: Session, text: str, **how: Any) -> Query:
    query = session.run(text, **how)[-1]
    assert isinstance(query, Query)
    assert query.wait(PATIENCE), "it doesn't end"
    return query


def files(at: Path) -> pl.DataFrame:
    return pl.read_parquet(at / "**/*.parquet", hive_partitioning=True).with_columns(pl.col("k").cast(pl.String))


@slow
@pytest.mark.parametrize("kind", QUERIES)
def test_executors_write_the_files_of_the_kernel(kind: str, at: Path, sessions: Callable[..., Session]) -> None:
    session = sessions()
    session.run(DECLARED.format(at=at))
    session.run(f"CREATE SINK small (c SMALLINT, n INT, k STRING) TO 'file://{at}/spark/' WITH (partition_by = 'k')")
    insert = "INSERT INTO small (k, c, n) SELECT k, c, n * 900000 FROM (" + QUERIES[kind] + ")"
    session.seen = False
    spark = run(session, insert, engine="spark", checkpoint=str(at / "checkpoint"))
    assert spark.to_polars().is_empty()  # nobody looks at them here
    session.run("DROP SINK small")
    session.run(f"CREATE SINK small (c SMALLINT, n INT, k STRING) TO 'file://{at}/kernel/' WITH (partition_by = 'k')")
    kernel = run(session, insert)
    assert_frame_equal(files(at / "spark"), files(at / "kernel"), check_row_order=False, check_column_order=False)
    for said in ("written", "late", "errors"):
        ours, theirs = (
            len(v) if isinstance(v, pl.DataFrame) else v for v in (getattr(spark, said), getattr(kernel, said))
        )
        assert ours == theirs > 0, said
    assert spark.stats["rows_out"] == kernel.stats["rows_out"]
    assert not [p for p in (at / "spark").rglob(".*") if p.suffix in (".part", ".piece")]


@pytest.mark.parametrize(("connector", "where"), [(FILE, "file"), (DELTA, "delta")])
def test_what_was_written_elsewhere_is_seen_with_its_commit_and_once(
    connector: SinkConnector, where: str, tmp_path: Path
) -> None:
    rows = pl.DataFrame({"a": [1, 2, 3], "at": pl.Series([1, 2, 3]).cast(pl.Datetime("us")), "l": [[1], [], None]})
    schema = Schema.from_frame(rows)

    def opened() -> TakesPieces:
        sink = connector.open(Target(f"{where}://{tmp_path}/t", schema, "append", (), False, {}, {}, "w"))
        assert isinstance(sink, TakesPieces)
        return sink

    def there() -> int:
        files = list((tmp_path / "t").glob("*.parquet"))
        if where == "delta":
            return pl.read_delta(str(tmp_path / "t")).height if (tmp_path / "t" / "_delta_log").exists() else 0
        return sum(pl.read_parquet(f).height for f in files)

    sink: Any = opened()
    writer = sink.apart()
    assert writer is not None
    kept, lost = writer.written_apart(rows, "task"), writer.written_apart(rows, "task that failed")
    assert kept.schema == PIECES.polars() and kept["rows"].sum() == 3
    sink.adopt(kept)
    sink.abort()  # the sink was away, and it is told once more
    sink.adopt(kept)
    assert there() == 0
    sink.commit(1, "0")
    assert there() == 3 and sink.committed() == (1, "0")
    again: Any = opened()  # the process ended before anybody heard of the commit
    assert again.committed() == (1, "0")
    again.commit(1, "0")
    assert again.apart() is not None and there() == 3
    assert not any((tmp_path / "t" / name).exists() for name in lost["hidden"])
    with pytest.raises(SinkError, match="another machine"):
        again.adopt(lost)
