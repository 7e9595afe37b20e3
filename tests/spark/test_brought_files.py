"""Files as people have them on Spark: the same rows where our reader reads them, and a refusal where Spark would read others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jupyter_stream.errors import UnsupportedError
from jupyter_stream.plan.catalog import OfFiles
from jupyter_stream.session.session import Session
from jupyter_stream.sources import open_source
from jupyter_stream.spark.texts import kind_of, rows_of_texts
from tests.sources.brought import BROUGHT
from tests.tiers import slow


@slow
def test_files_give_the_rows_of_the_kernel(tmp_path: Path, sessions: Callable[..., Session]) -> None:
    session = sessions()
    for name in ("frame.csv", "sims.csv", "cut.csv.gz", "days", "exports", "parts", "hashes.parquet"):
        brought = BROUGHT.get(name) or BROUGHT[f"{name}/"]
        brought.make(tmp_path / name)
        session.run(f"CREATE STREAM s SOURCE 'file://{tmp_path / name}'")
        query: Any = session.run("SELECT * FROM s", engine="spark")[-1]
        assert query.wait(200) and query.errors.height == brought.refused, name
        found = query.to_polars()
        kernel: Any = session.run("SELECT * FROM s")[-1]
        assert kernel.wait(200)
        assert kernel.to_polars().rows() == list(brought.rows), name
        assert found.schema == kernel.to_polars().schema, name
        assert sorted(found.rows(), key=str) == sorted(kernel.to_polars().rows(), key=str), name


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("frame.csv", "no column0 in this spelling"),
        ("twice.csv", "no v_1 in this spelling"),
        ("sep.csv", "not plain text in UTF-8"),
        ("excel.csv", None),
        ("exports/", "is not the one of|has no"),
    ],
)
def test_what_spark_would_read_otherwise_is_refused(name: str, says: str | None, tmp_path: Path) -> None:
    path = tmp_path / name.rstrip("/")
    BROUGHT[name].make(path)
    files = sorted(f for f in path.iterdir() if f.stat().st_size) if path.is_dir() else [path]
    source = open_source(f"file://{path}", None, {}, {})
    assert isinstance(source, OfFiles)
    options = {"delimiter": source.delimiters["csv"]}
    kind = kind_of(files, {})
    assert kind == "csv"
    reader = Noting()
    if says is None:
        rows_of_texts(reader, str(path), files, kind, source.schema, options)
        assert reader.given["sep"] == ";"
        return
    with pytest.raises(UnsupportedError, match=says):
        rows_of_texts(reader, str(path), files, kind, source.schema, options)


class Noting:
    """Takes the options that Spark's reader would be given."""

    def __init__(self) -> None:
        self.given: dict[str, str] = {}

    def option(self, name: str, value: str) -> Noting:
        self.given[name] = value
        return self

    def schema(self, _: str) -> Noting:
        return self

    def csv(self, _: str) -> Noting:
        return self

    def select(self, *_: str) -> Noting:
        return self
