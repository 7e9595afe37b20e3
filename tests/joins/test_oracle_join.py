"""The kernel engine against the oracle: joins of every kind, whatever order the rows of either stream come in."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from unittest.mock import patch

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from jupyter_stream import QueryError, Session
from jupyter_stream.core.messages import TS, Batch, KeyPunctuation
from jupyter_stream.core.schema import Field, Schema
from jupyter_stream.engine import feed
from jupyter_stream.functions import Column
from jupyter_stream.joins.window_join import WindowJoin
from jupyter_stream.joins.window_join_config import WindowJoinConfig
from tests.oracle import strategies
from tests.oracle.compare import assert_same_bag, in_columns, plain_rows
from tests.oracle.join import WORDS, JoinQuery, join
from tests.oracle.predicates import Compares
from tests.oracle.progress import InOrder, KeyedPunctuation, PunctuationColumn, Slack, Watermark
from tests.oracle.query import Stream
from tests.oracle.running import PATIENCE, batches
from tests.oracle.search import searching
from tests.oracle.values import Row
from tests.tiers import thinned
from tests.windowed.test_oracle_edges import SECOND, YEAR, stream
from tests.windowed.test_oracle_keyed import keyed

pytestmark = pytest.mark.timeout(900)  # many small queries; a busy machine is no failure


def renamed(made: Stream, prefix: str) -> Stream:
    """The stream with other names for itself and its columns."""
    names = {name: f"{prefix}{name}" for name, _ in made.columns}
    rows: tuple[Row, ...] = tuple({names[n]: v for n, v in row.items()} for row in made.rows)
    progress = made.progress
    if isinstance(progress, KeyedPunctuation):
        progress = KeyedPunctuation(names[progress.column], names[progress.key])
    elif isinstance(progress, PunctuationColumn):
        progress = PunctuationColumn(names[progress.column])
    columns = tuple((names[n], kind) for n, kind in made.columns)
    return Stream(columns, names[made.time], progress, rows, f"{prefix}s")


@st.composite
def join_queries(draw: st.DrawFn, by_key: bool = False) -> JoinQuery:
    """A join of two streams of its own, which may say group by group how far they have got."""
    shape = draw(strategies.shapes)
    streams = strategies.streams(shape, max_rows=18, both=True)
    if by_key:
        streams = st.one_of(streams.flatmap(keyed), streams)
    left, right = renamed(draw(streams), "l"), renamed(draw(streams), "r")
    assume(dict(left.columns)["lts"] == dict(right.columns)["rts"])
    kinds = [dict(n) for n in ([c for c in s.columns if c[0][1:] not in ("ts", "p", "w")] for s in (left, right))]
    query = JoinQuery(left, right, draw(st.sampled_from(sorted(WORDS))))
    pairs = [(a, b) for a, k in kinds[0].items() for b, other in kinds[1].items() if k == other and k != "DOUBLE"]
    if pairs and draw(st.integers(0, 4)):
        query = replace(query, keys=tuple(draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=2, unique=True))))
    how = draw(st.sampled_from(("windows", "windows", "tumbling", "bounds")))
    lengths = st.integers(1, 15).map(lambda n: n * shape.tick)
    if how == "windows":
        query = replace(query, left=draw(lengths), right=draw(lengths))
    elif how == "tumbling":
        query = replace(query, tumbling=draw(lengths))
    else:
        low = draw(st.integers(-10, 10)) * shape.tick
        query = replace(query, bounds=(low, low + draw(st.integers(0, 12)) * shape.tick))
    columns = (*kinds[0].items(), *kinds[1].items())
    query = replace(query, residual=draw(st.none() | st.none() | strategies.conditions(columns)))
    if query.kind == "inner":
        query = replace(query, listed=draw(st.booleans()), where=draw(st.none() | strategies.conditions(columns)))
    return query


def check(query: JoinQuery, left: list[int] | None = None, right: list[int] | None = None) -> None:
    """The engine's answer is the oracle's."""
    expected = join(query)
    one, other = batches(query.stream, left), batches(query.other, right)
    about = f"{query.sql()}\n{query.stream.rows}\n{query.other.rows}\n{left} {right}"
    with Session({"left": one, "right": other}) as session, patch.object(feed, "BATCH_ROWS", 0):
        session.execute(query.stream.sql("python://left"))
        session.execute(query.other.sql("python://right"))
        (handle,) = session.execute(query.sql())
        assert handle.wait(PATIENCE), about
        assert_same_bag(plain_rows(handle.to_polars()), in_columns(expected.rows, query.columns), query.columns, about)
        if query.residual is None and query.where is None:  # conditions on one input are looked at before it is joined
            assert handle.late.height == len(expected.late), about
        for step in handle._pipeline.graph.steps:
            step.operator.check() if hasattr(step.operator, "check") else None
            assert step.control.extra.get("kept_rows", 0) == 0, about


@searching
@given(st.data())
def test_joins_give_what_the_oracle_gives(data: st.DataObject) -> None:
    query = data.draw(join_queries())
    sizes = [data.draw(strategies.splits(len(s.rows))) for s in (query.stream, query.other)]
    check(query, *sizes)


@searching
@given(st.data())
def test_joins_of_streams_that_promise_key_by_key(data: st.DataObject) -> None:
    query = data.draw(join_queries(by_key=True))
    sizes = [data.draw(strategies.splits(len(s.rows))) for s in (query.stream, query.other)]
    check(query, *sizes)


def test_what_is_promised_of_a_key_frees_the_rows_that_wait_for_it() -> None:
    schema = Schema((Field("k", pl.String()), Field("n", pl.Int64())))
    names = ("k_2", "n_2")
    joined = Schema((*schema, *(Field(n, f.dtype) for n, f in zip(names, schema, strict=True))))
    key = Column("k", pl.String())
    config = WindowJoinConfig(
        "left", schema, schema, names, joined, ((key, key),), None, -9, 9, (10, 10), promised=(None, 0)
    )
    operator = WindowJoin(config)
    rows = pl.DataFrame({"k": ["a", "b"] * 50, "n": range(100), TS: range(100)})
    assert not list(operator.on_batch(0, Batch(rows)))
    held = operator.control.bytes
    told = pl.DataFrame({"k": ["a", "c"], TS: [60, 60]})
    (alone,) = operator.on_key_punctuation(1, KeyPunctuation(told))
    assert sorted(alone.frame.get_column("n")) == [n for n in range(51) if n % 2 == 0]  # 50 + 9 < 60
    assert operator.control.extra["kept_rows"] == 74 and operator.control.bytes < held
    operator.check()


WINDOWS = ({"left": 4 * SECOND, "right": 9 * SECOND}, {"tumbling": 7 * SECOND}, {"bounds": (-2 * SECOND, 5 * SECOND)})
PROGRESS = (InOrder(), Watermark(3 * SECOND), Watermark(YEAR), Slack(2))


@pytest.mark.parametrize(
    ("progress", "window", "kind"), thinned(product(PROGRESS, WINDOWS, sorted(WORDS)), 11), ids=str
)
def test_ties_null_keys_and_late_rows(kind: str, window: dict, progress: object) -> None:
    times = [1, 1, 3, 2, 2, 9, 4, 8, 8, 30, 30, 12, 31, 29]
    left = [(["a", "b", None][i % 3], i, t) for i, t in enumerate(times)]
    right = [(["a", None, "b", "c"][i % 4], i, t + 1) for i, t in enumerate(times)]
    one = stream(left, "lk STRING, ln INT, lts TIMESTAMP", progress)
    other = stream(right, "rk STRING, rn INT, rts TIMESTAMP", progress)
    query = JoinQuery(
        replace(one, time="lts", name="one"),
        replace(other, time="rts", name="other"),
        kind,
        keys=(("lk", "rk"),),
        **window,
    )
    check(query)
    check(replace(query, residual=Compares("ln", ">", 3)), [1] * 14, [5, 9])
    check(replace(query, keys=()), [3, 11], [14])


def test_times_years_apart_and_a_hot_key() -> None:
    far = [("ab"[i % 7 == 0], i, (i % 5 - 4) * 40 * YEAR // SECOND + i) for i in range(60)]
    one = stream(far, "lk STRING, ln INT, lts TIMESTAMP", Watermark(300 * YEAR))
    other = stream(far, "rk STRING, rn INT, rts TIMESTAMP", Watermark(300 * YEAR))
    query = JoinQuery(replace(one, time="lts", name="one"), replace(other, time="rts", name="other"), "left",
                      left=50 * YEAR, right=30 * SECOND, keys=(("lk", "rk"),))  # fmt: skip
    check(query, [20, 40], [1] * 60)


@pytest.fixture
def session():
    with Session({"a": [(1, 2, 0), (2, 3, 10)], "b": [(1, 5, 3), (3, 6, 11)], "c": [(1, 7, 4)]}) as made:
        for name in "abc":
            made.execute(
                f"CREATE STREAM {name} (k BIGINT, {name}v BIGINT, ts BIGINT) ORDER BY ts SOURCE 'python://{name}'"
            )
        yield made


def rows(session: Session, query: str) -> list[tuple]:
    (handle,) = session.execute(query)
    assert handle.wait(200)
    return sorted(handle.to_polars().rows(), key=repr)


def test_names_of_a_join(session: Session) -> None:
    near = "a [RANGE 5 MICROSECONDS] JOIN b [RANGE 5 MICROSECONDS]"
    assert rows(session, f"SELECT * FROM {near} ON a.k = b.k") == [(1, 2, 0, 1, 5, 3)]
    assert rows(session, f"SELECT b.*, av FROM {near} ON a.k = b.k") == [(1, 5, 3, 2)]
    assert rows(session, f"SELECT * FROM {near} USING (k)") == [(1, 2, 0, 5, 3)]
    full = near.replace("JOIN", "FULL OUTER JOIN")
    assert rows(session, f"SELECT k, av, bv FROM {full} USING (k)") == [(1, 2, 5), (2, 3, None), (3, None, 6)]
    (handle,) = session.execute(f"SELECT a.ts, b.ts FROM {near} ON a.k = b.k")
    assert handle.wait(200) and handle.to_polars().columns == ["ts", "ts_2"]


def test_three_streams_meet_where_all_three_lifetimes_do(session: Session) -> None:
    text = "SELECT av, bv, cv FROM a [RANGE {}], b [RANGE {}], c [RANGE {}] WHERE a.k = b.k AND b.k = c.k"
    five, four = "5 MICROSECONDS", "4 MICROSECONDS"
    assert rows(session, text.format(five, five, five)) == [(2, 5, 7)]
    assert rows(session, text.format(four, five, five)) == []  # a has left when c comes, though b is there
    assert rows(session, "SELECT av, bv, cv FROM a, b, c [RANGE 5 MICROSECONDS] WHERE a.k = b.k AND b.k = c.k") == [
        (2, 5, 7)
    ]


def test_a_joined_row_progresses_on_the_later_of_its_times(session: Session) -> None:
    inner = "SELECT av FROM a [RANGE 5 MICROSECONDS] JOIN b [RANGE 5 MICROSECONDS] ON a.k = b.k"
    assert rows(session, f"SELECT count(*) AS n FROM ({inner}) [RANGE 2 MICROSECONDS TUMBLING]") == [(2, 4, 1)]
    tumbling = "SELECT count(*) AS n, max(bv) AS v FROM a, b [RANGE TUMBLING 4 MICROSECONDS] WHERE a.k = b.k"
    assert rows(session, tumbling) == [(0, 4, 1, 5)]


def test_rows_of_one_stream_meet_each_other_and_themselves(session: Session) -> None:
    text = "SELECT x.av, y.av FROM a [RANGE 1 SECOND] x JOIN a [RANGE 1 SECOND] y ON x.av <= y.av"
    assert rows(session, text) == [(2, 2), (2, 3), (3, 3)]


@pytest.mark.parametrize(
    ("source", "message", "hint"),
    [
        ("a JOIN b ON a.k = b.k", "nothing says how long rows of the left input wait", "[RANGE UNBOUNDED]"),
        ("a JOIN b ON a.k = b.k AND a.ts <= b.ts", "nothing says how long rows of the left input wait", "BETWEEN"),
        (
            "a [RANGE 1 SECOND] JOIN a [RANGE 1 SECOND] ON a.k = a.k",
            "two inputs of the join are called a",
            "a name of its own",
        ),
        ("a [RANGE 1 SECOND] JOIN b [RANGE 1 SECOND] ON k = 1", "k could be a column of a or b", "Write a.k or b.k."),
        ("a [RANGE 1 SECOND] JOIN b [RANGE 1 SECOND]", "ON is missing here", "USING (k)"),
        (
            "a [RANGE 1 SECOND] JOIN b [RANGE 1 SECOND] USING (v)",
            "a [RANGE 1 SECOND] has no column called v",
            "ON a.k = b.l",
        ),
        ("a [RANGE 1 SECOND] JOIN b [RANGE 1 SECOND] ON c.k = 1", "c isn't in FROM", "FROM has a, b."),
        (
            "a [RANGE 1 SECOND TUMBLING] JOIN b [RANGE 2 SECONDS TUMBLING] ON a.k = b.k",
            "the windows of the two inputs slide differently",
            "the same SLIDE",
        ),
        ("a NATURAL CROSS JOIN b", "a NATURAL JOIN has its own condition", "a NATURAL LEFT JOIN b"),
    ],
)
def test_a_wrong_join_says_what_to_write(session: Session, source: str, message: str, hint: str) -> None:
    with pytest.raises(QueryError) as wrong:
        session.execute(f"SELECT av FROM {source}")
    assert message in wrong.value.message and hint in (wrong.value.hint or "")


def test_unbounded_when_written_out_keeps_everything(session: Session) -> None:
    text = "SELECT av, bv FROM a [RANGE UNBOUNDED] JOIN b [RANGE UNBOUNDED] ON a.k <= b.k"
    assert rows(session, text) == [(2, 5), (2, 6), (3, 6)]
