"""The page "Bring your data": each of its lines reads what it says, from a file made as people make them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_stream.plan.catalog import StreamDef
from jupyter_stream.session.session import Session
from jupyter_stream.sources import Request
from jupyter_stream.sources.file import FileSource
from tests.sources.brought import BROUGHT
from tests.sources.conftest import collect

PAGE = (Path(__file__).parents[2] / "tutorials" / "reference" / "bring-your-data.md").read_text()
FILES = PAGE.partition("## Files")[2].partition("\n## ")[0]
LINES = {
    re.sub(r"/?'.*", "", line.partition("file://")[2]): line
    for line in re.findall(r"`(CREATE STREAM s .*?SOURCE 'file://.*?)` \|", FILES)
}
NAMES = {name.rstrip("/"): name for name in BROUGHT}


@pytest.fixture
def session() -> Iterator[Session]:
    session = Session(namespace={})
    yield session
    session.close()


def test_all_kinds_are_on_the_page() -> None:
    assert set(LINES) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_line_of_the_page_reads_its_file(
    name: str, session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    brought = BROUGHT[NAMES[name]]
    brought.make(tmp_path / name)
    said = str(session.run(LINES[name])[-1])
    assert [word for word in brought.says if word not in said] == [], said
    stream = session.catalog.find("s")
    assert isinstance(stream, StreamDef) and isinstance(stream.source, FileSource)
    assert stream.schema.names == brought.names
    read = collect(stream.source.read(Request()))
    assert tuple(read.rows) == brought.rows
    assert len(read.rejected) == brought.refused


@pytest.mark.parametrize("name", [n for n in NAMES if "WITH" not in LINES[n]])
def test_a_file_can_be_named_in_a_query(
    name: str, session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    brought = BROUGHT[NAMES[name]]
    brought.make(tmp_path / name)
    text = f"SELECT * FROM '{name}'" if "." in name else f"SELECT * FROM './{name}'"
    (query,) = session.execute(text)
    assert query.wait(200) and query.errors.height == brought.refused
    assert tuple(query.to_polars().rows()) == brought.rows
    hint = query.snapshot().hint or ""
    assert [word for word in brought.says if word not in hint] == []
    assert ("is damaged" in hint) == bool(brought.refused)


def test_late_rows_of_files_in_another_order_than_their_numbers_are_explained(session: Session, tmp_path: Path) -> None:
    for n in (1, 2, 10):
        (tmp_path / f"part {n}.csv").write_text(f"at,v\n2024-05-01 10:{n:02},{n}\n")
    (query,) = session.execute(f"SELECT count(*) AS n FROM '{tmp_path}/*.csv' [RANGE 1 MINUTE TUMBLING]")
    assert query.wait(200)
    assert query.to_polars().get_column("n").sum() == 2 and query.late.height == 1
    hint = query.snapshot().hint or ""
    assert "part 10.csv before part 2.csv" in hint and "02" in hint
