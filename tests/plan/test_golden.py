"""Golden files: a fact, a query, and its plan as EXPLAIN shows it, with the update pattern of every edge.

`GOLDEN=write` in the environment writes the plans anew; look at the difference before it is committed.
"""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest

from jupyter_stream import Session
from jupyter_stream.session.query import Query

GOLDEN = Path(__file__).parent / "golden"
LINK = pl.DataFrame(
    schema={"ts": pl.Int64(), "src": pl.String(), "dest": pl.String(), "protocol": pl.String(), "size": pl.Int64()}
)
DECLARED = """
CREATE STREAM link1 (ts BIGINT, src STRING, dest STRING, protocol STRING, size BIGINT, WATERMARK FOR ts AS ts) SOURCE 'frame://link';
CREATE STREAM link2 (ts BIGINT, src STRING, dest STRING, protocol STRING, size BIGINT, WATERMARK FOR ts AS ts) SOURCE 'frame://link';
CREATE STREAM link3 (ts BIGINT, src STRING, dest STRING, protocol STRING, size BIGINT, WATERMARK FOR ts AS ts) SOURCE 'frame://link';
CREATE TABLE hosts (ip STRING, owner STRING);
CREATE RETROACTIVE TABLE blocked (ip STRING);
"""


def explained(statement: str) -> str:
    """The plan of a query, started on streams without rows."""
    session = Session({"link": LINK})
    session.execute(DECLARED)
    (query,) = session.execute(statement, paused=True)
    assert isinstance(query, Query)
    plan = str(query.plan)
    session.close()
    return plan


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.txt")), ids=lambda p: p.stem)
def test_explain_shows_the_plan_of_the_golden_file(path: Path) -> None:
    fact, statement, expected = path.read_text().split("\n\n", 2)
    plan = explained(statement)
    if os.environ.get("GOLDEN") == "write":
        path.write_text(f"{fact}\n\n{statement}\n\n{plan}\n")
        return
    assert plan == expected.rstrip("\n")
