"""JOIN ... USING against DuckDB: the column of USING is one, and each input's own where it is named with the input's name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import duckdb
import polars as pl
import pytest

from jupyter_stream import Session
from jupyter_stream.errors import QueryError
from tests.tiers import thinned

KINDS = ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
ROWS = {
    "t": pl.DataFrame({"b": [10, 20, 30, 40, 50], "a": [1, 2, 3, None, 3]}),
    "u": pl.DataFrame({"a": [2, 3, 5, None], "c": [200, 300, 500, 600]}),
    "w": pl.DataFrame({"d": [3, 5, 7, 1], "a": [3, 5, 7, None]}),
}
ITEMS = "a, t.a AS ta, u.a AS ua, w.a AS wa, b, c, d", "*", "t.*, w.*", "u.*, a"
FORMS = {
    "tables": ("{}", "SELECT"),
    "streams": ("{} [RANGE UNBOUNDED]", "SELECT"),
    "aggregates": (
        "(SELECT a, max({1}) AS {1}, count(*) AS n{1} FROM {0} [RANGE UNBOUNDED] GROUP BY a) AS {0}",
        "SELECT",
    ),
    "a view": ("{} [RANGE UNBOUNDED]", "CREATE VIEW v AS SELECT"),
}


CASES = [
    (form, first, second)
    for form in FORMS
    for first in KINDS
    for second in KINDS
    if form != "tables" or second in KINDS[:2]  # a table is looked up from the left
]


@pytest.fixture(scope="module")
def sessions() -> Iterator[dict[bool, Session]]:
    """One with the rows in tables, one with them in streams."""
    opened = {}
    for streams in (False, True):
        session = opened[streams] = Session({f"{n}_rows": f for n, f in ROWS.items()})
        for name, frame in ROWS.items():
            columns = ", ".join(f"{c} BIGINT" for c in frame.columns)
            kind = "STREAM" if streams else "TABLE"
            session.execute(f"CREATE {kind} {name} ({columns}) SOURCE 'frame://{name}_rows'")
    yield opened
    for session in opened.values():
        session.close()


def from_of(form: str, first: str, second: str) -> str:
    parts = [form.format(name, column) for name, column in zip("tuw", "bcd", strict=True)]
    return f"{parts[0]} {first} {parts[1]} USING (a) {second} {parts[2]} USING (a)"


@pytest.mark.parametrize(("form", "first", "second"), thinned(CASES, 9))
def test_it_is_what_duckdb_gives(form: str, first: str, second: str, sessions: dict[bool, Session]) -> None:
    pattern, select = FORMS[form]
    which = KINDS.index(first) + KINDS.index(second)
    with duckdb.connect() as connection:
        for name, frame in ROWS.items():
            connection.register(name, frame.to_arrow())
        for items in ITEMS if form == "tables" else (ITEMS[0], ITEMS[1 + which % 3]):
            theirs = connection.sql(
                f"SELECT {items} FROM {from_of(pattern.replace(' [RANGE UNBOUNDED]', ''), first, second)}"
            )
            session = sessions[form != "tables"]
            session.execute("DROP VIEW IF EXISTS v") if "VIEW" in select else None
            (query,) = session.execute(f"{select} {items} FROM {from_of(pattern, first, second)}")[-1:]
            assert query.wait(200)
            assert query.status == "finished", query.snapshot().error
            assert Counter(query.to_polars().rows()) == Counter(theirs.fetchall()), items


def test_columns_of_types_with_nothing_in_common_are_refused(sessions: dict[bool, Session]) -> None:
    with Session({}) as session:
        session.execute("CREATE TABLE x (a INT); CREATE TABLE y (a TIMESTAMP)")
        with pytest.raises(QueryError, match="a is INT and TIMESTAMP in the two inputs"):
            session.execute("SELECT * FROM x JOIN y USING (a)")
