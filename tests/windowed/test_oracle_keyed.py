"""Punctuations that speak for one key against the oracle: extents and sessions final key by key, in any split."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from jupyter_stream.engine.progress import FAR
from jupyter_stream.session.session import Session
from tests.oracle import strategies
from tests.oracle.answer import answer
from tests.oracle.compare import assert_same_bag, difference, in_columns
from tests.oracle.progress import KeyedPunctuation, PunctuationColumn
from tests.oracle.provisional import open_after
from tests.oracle.query import Query, Stream
from tests.oracle.running import Ran, assert_right, show
from tests.oracle.search import searching
from tests.oracle.stepping import steps
from tests.oracle.values import Row, same_key
from tests.oracle.windows import RowExtents, Sessions, TimeExtents
from tests.tiers import slow
from tests.windowed.test_oracle_sessions import session_queries

pytestmark = pytest.mark.timeout(900)  # many small queries; a busy machine is no failure

KEY = "c0"


@st.composite
def keyed(draw: st.DrawFn, stream: Stream, late: bool = True) -> Stream:
    """The stream with punctuations of its own, most of them for one value of its first column."""
    rows = [r for r in stream.rows if r["ts"] is not None]
    newest = max((r["ts"] for r in rows), default=0)  # type: ignore[type-var]
    keys = list({same_key(r[KEY]): r[KEY] for r in rows if r[KEY] is not None}.values())
    found: list[Row] = []
    for i, row in enumerate(rows):
        found.append({**row, "p": None})
        if draw(st.integers(0, 2)) == 0:
            key = draw(st.sampled_from([None, *keys, *keys]))
            to_come = [r["ts"] for r in rows[i + 1 :] if key is None or same_key(r[KEY]) == same_key(key)]
            true = min(to_come, default=newest)  # type: ignore[type-var]
            step = max(1, abs(true - row["ts"]))  # type: ignore[operator]
            said = true + (draw(st.sampled_from((-2, -1, 0, 0, 1, 2))) * step if late else 0)  # type: ignore[operator]
            found.append({**dict.fromkeys(row), KEY: key, "p": min(max(said, -FAR), newest)})  # type: ignore[type-var]
    time = dict(stream.columns)["ts"]
    columns = (*(c for c in stream.columns if c[0] not in ("p", "ts")), ("p", time), ("ts", time))
    return replace(stream, columns=columns, progress=KeyedPunctuation("p", KEY), rows=tuple(found))


@st.composite
def queries(draw: st.DrawFn, kind: str) -> Query:
    """A query grouped by the key, and by others now and then."""
    query = draw(strategies.queries() if kind == "time" else session_queries())
    assume("w" not in dict(query.stream.columns))
    window = query.window
    if isinstance(window, TimeExtents) and window.range is None:
        window = replace(window, range=3 * window.slide)
    if isinstance(window, Sessions) and window.partition:
        window = replace(window, partition=tuple(sorted({KEY, *window.partition})))
    keys = tuple(sorted({KEY, *query.keys, *(window.partition if isinstance(window, Sessions) else ())}))
    return replace(query, stream=draw(keyed(query.stream)), window=window, keys=keys)


@pytest.mark.parametrize("kind", ["time", "sessions"])
@searching
@given(st.data())
def test_each_key_is_final_by_itself(kind: str, data: st.DataObject) -> None:
    query = data.draw(queries(kind))
    sizes = data.draw(strategies.splits(len(query.stream.rows)))
    assert_right(query, answer(query), Ran(query, sizes), sizes)


@pytest.mark.parametrize("kind", ["time", "sessions"])
@searching
@given(st.data())
def test_what_is_final_for_a_key_is_given_at_once(kind: str, data: st.DataObject) -> None:
    query = data.draw(queries(kind))
    sizes = data.draw(strategies.splits(len(query.stream.rows)))
    columns, about = query.columns, show(query, sizes)
    for shown in steps(query.stream, f"{query.sql()} EMIT CHANGES", sizes):
        if shown.rows < len(query.stream.rows):
            so_far = replace(query, stream=replace(query.stream, rows=query.stream.rows[: shown.rows]))
            now = in_columns(open_after(query, shown.rows), columns)
            here = f"after {shown.rows} rows\n{about}"
            assert_same_bag(shown.open, now, columns, f"open {here}")
            every = in_columns(answer(so_far).rows, columns)
            assert_same_bag(shown.final, difference(now, every)[0], columns, f"final {here}")
    assert_same_bag(shown.final, in_columns(answer(query).rows, columns), columns, about)


@slow
@searching
@given(st.data())
def test_a_query_that_does_not_group_by_the_key_goes_by_what_is_said_for_all(data: st.DataObject) -> None:
    query = data.draw(st.one_of(strategies.queries(), session_queries()))
    assert not isinstance(query.window, RowExtents)
    partition = query.window.partition if isinstance(query.window, Sessions) else ()
    assume(KEY not in partition and "w" not in dict(query.stream.columns))
    keys = tuple(k for k in query.keys if k != KEY)
    query = replace(query, stream=data.draw(keyed(query.stream)), keys=keys)
    for_all = tuple(r for r in query.stream.rows if r["p"] is None or r[KEY] is None)
    plain = replace(query, stream=replace(query.stream, rows=for_all, progress=PunctuationColumn("p")))
    sizes = data.draw(strategies.splits(len(query.stream.rows)))
    ran, expected = Ran(query, sizes), answer(plain)
    assert_same_bag(ran.rows, in_columns(expected.rows, query.columns), query.columns, show(query, sizes))
    assert len(ran.late) == len(expected.late), show(query, sizes)


def stream(session: Session, name: str, rows: list[tuple]) -> None:
    """Rows (key, value, time, punctuation)."""
    schema = {"k": pl.String, "x": pl.Int64, "ts": pl.Int64, "p": pl.Int64}
    session.namespace[name] = pl.DataFrame(rows, schema=schema, orient="row")  # type: ignore[index]
    session.execute(
        f"CREATE STREAM {name} (k STRING, x BIGINT, ts BIGINT, p BIGINT) ORDER BY ts SOURCE 'frame://{name}'"
        " WITH (punctuation = 'p', punctuation_key = 'k')"
    )


@slow
def test_a_key_that_is_done_leaves_nothing_behind() -> None:
    rows: list[Row] = []
    for i in range(40):
        rows += [{"k": f"{i}", "x": 1, "ts": t, "p": None} for t in (i, i + 3)]
        rows.append({"k": f"{i}", "x": None, "ts": None, "p": 100})
    made = Stream(
        (("k", "STRING"), ("x", "INT"), ("p", "BIGINT"), ("ts", "BIGINT")),
        "ts",
        KeyedPunctuation("p", "k"),
        tuple(rows),
    )
    for window in ("[RANGE 10 MICROSECONDS SLIDE 5 MICROSECONDS]", "[SESSION 2 MICROSECONDS]"):
        text = f"SELECT k, count(*) AS n FROM s {window} GROUP BY k EMIT CHANGES"
        assert {len(s.open) for s in steps(made, text, [3] * 40)} == {0}


def test_punctuations_for_keys_pass_through_selections_and_unions_to_aggregates_of_aggregates() -> None:
    with Session({}) as session:
        stream(session, "one", [("a", 1, 1, None), ("a", None, None, 40), ("b", 5, 3, None), ("b", None, None, 4)])
        stream(session, "two", [("a", 2, 2, None), ("b", 7, 1, None), ("a", None, None, 35), ("b", 1, 30, None)])
        union = "(SELECT k AS key, x + 1 AS x FROM one WHERE x < 100) UNION ALL (SELECT k, x FROM two)"
        inner = f"SELECT key, sum(x) AS x FROM ({union}) [RANGE 10 MICROSECONDS TUMBLING] GROUP BY key"
        (query,) = session.execute(
            f"SELECT key, sum(x) AS x FROM ({inner}) [RANGE 20 MICROSECONDS TUMBLING] GROUP BY key"
        )
        query.wait(200)
        assert sorted(query.to_polars().rows()) == [(0, 20, "a", 4), (0, 20, "b", 13), (20, 40, "b", 1)]
        plan = query.explain()
        assert str(plan).count("final for each key on its own") == 2


def test_keys_of_any_type_and_null_keys() -> None:
    rows = [
        (None, 1, 1, None),
        ("a", 2, 2, None),
        ("a", None, None, 30),
        (None, 3, 3, None),
        (None, None, None, 20),
        (None, 4, 25, None),
    ]
    with Session({}) as session:
        stream(session, "s", rows)
        (query,) = session.execute("SELECT k, sum(x) AS x FROM s [RANGE 10 MICROSECONDS TUMBLING] GROUP BY k")
        query.wait(200)
        assert sorted(query.to_polars().rows(), key=str) == [(0, 10, "a", 2), (0, 10, None, 4), (20, 30, None, 4)]
        assert query.late.height == 0


def test_a_sum_beyond_bigint_is_left_out_and_told_of() -> None:
    with Session({}) as session:
        stream(session, "s", [("a", 2**62, 1, None), ("a", 2**62, 2, None), ("a", None, None, 30), ("b", 5, 3, None)])
        (query,) = session.execute("SELECT k, sum(x) AS x FROM s [RANGE 10 MICROSECONDS TUMBLING] GROUP BY k")
        query.wait(200)
        assert query.to_polars().rows() == [(0, 10, "b", 5)]
        assert query.errors.height == 1
