"""What a checkpoint belongs to, what it keeps, and what is said where it can't."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest

from jupyter_stream import Query, QueryError, Session, aggregate, function
from jupyter_stream.checkpoints.store import FORMAT
from tests.waiting import PATIENCE, until

ROWS = pl.DataFrame({"ts": range(2_000), "k": ["a", "b"] * 1_000, "n": [1, 2, 3, 4] * 500})
DECLARED = "CREATE STREAM s (ts BIGINT, k STRING, n BIGINT) ORDER BY ts SOURCE 'frame://rows'"
COUNTS = "SELECT k, count(*) AS c FROM s [RANGE 100 MICROSECONDS TUMBLING] GROUP BY k"


def session() -> Session:
    made = Session({"rows": ROWS})
    made.execute(DECLARED)
    return made


def started(of: Session, text: str, at: Path, **options: object) -> Query:
    found = [r for r in of.run(text, checkpoint=at, checkpoint_every="10 ms", **options) if isinstance(r, Query)]  # type: ignore[arg-type]
    return found[-1]


def ended(text: str, at: Path, **options: object) -> pl.DataFrame:
    with session() as of:
        query = started(of, text, at, **options)
        assert query.wait(200)
        return query.to_polars()


def test_a_query_that_had_ended_has_its_answers_at_once(tmp_path: Path) -> None:
    first = ended(COUNTS, tmp_path / "c")
    assert first.height == 40
    assert ended(COUNTS, tmp_path / "c").equals(first)


@pytest.mark.parametrize(
    ("text", "declared", "told"),
    [
        (COUNTS.replace("100", "50"), DECLARED, "The query was: SELECT .* 100 .*; and is now: SELECT .* 50 "),
        (COUNTS, DECLARED + " WITH (slack = '3 rows')", "Stream s was: .*; and is now: .*slack"),
    ],
)
def test_a_changed_query_is_refused_naming_what_changed(tmp_path: Path, text: str, declared: str, told: str) -> None:
    ended(COUNTS, tmp_path / "c")
    with Session({"rows": ROWS}) as other:
        source = declared.index("SOURCE")
        options = declared.find(" WITH")
        if options > 0:  # stands before SOURCE
            declared = declared[:source] + declared[options + 1 :] + " " + declared[source:options]
        other.execute(declared)
        with pytest.raises(QueryError, match=told) as error:
            started(other, text, tmp_path / "c")
        assert "--checkpoint-reset" in str(error.value)
        assert started(other, text, tmp_path / "c", checkpoint_reset=True).wait(200)


SUM = """CREATE AGGREGATE {} (n BIGINT) : BIGINT {{ TABLE t (x BIGINT); INITIALIZE : {{ INSERT INTO t VALUES (n) }}
  ITERATE : {{ UPDATE t SET x = x + {} * n }} TERMINATE : {{ INSERT INTO RETURN SELECT {} FROM t }} }}"""
WINDOWS = " FROM s [RANGE 100 MICROSECONDS TUMBLING]"


def refusal_of(at: Path, *texts: tuple[str, str]) -> str:
    """What is said of the last of some declarations with a query, where those before are taken up."""
    for i, (declaration, query) in enumerate(texts):
        with session() as of:
            if declaration:
                of.execute(declaration)
            if i == len(texts) - 1:
                with pytest.raises(QueryError) as error:
                    started(of, query, at)
                return str(error.value)
            assert started(of, query, at).wait(200)
    raise AssertionError("no texts")


def test_a_changed_aggregate_of_ones_own_is_refused(tmp_path: Path) -> None:
    one, two = SUM.format("mine", 1, "x"), SUM.format("mine", 2, "x")
    query = "SELECT mine(n) AS m" + WINDOWS
    again = "-- it isn't changed\n" + one.replace(" ITERATE", "\n\n   ITERATE")
    message = refusal_of(
        tmp_path / "a", (one, query), (again, "SELECT /* as before */  mine(n) AS m" + WINDOWS), (two, query)
    )
    assert "ggregate mine was: CREATE AGGREGATE" in message and "1 * n" in message and "2 * n" in message
    inner = [SUM.format("inner_sum", k, "x") + ";" + SUM.format("mine", 1, "inner_sum(x)") for k in (1, 2)]
    message = refusal_of(tmp_path / "b", (inner[0], query), (inner[0], query), (inner[1], query))
    assert "ggregate inner_sum was" in message


DOUBLED = """class Doubled:
    def iterate(self, n: int) -> int:
        return {0} * n
    def terminate(self) -> int:
        return {0}"""


def test_a_changed_aggregate_in_python_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    query = "SELECT doubled(n) AS m" + WINDOWS

    def again(factor: int) -> None:
        module = ModuleType("of_doubled")
        monkeypatch.setitem(sys.modules, "of_doubled", module)
        exec(DOUBLED.format(factor), vars(module))  # whose text nobody knows
        aggregate(name="doubled")(module.Doubled)

    again(2)
    first = ended(query, tmp_path / "c")
    again(2)
    assert ended(query, tmp_path / "c").equals(first)
    again(3)
    with session() as of, pytest.raises(QueryError, match="ggregate doubled was"):
        started(of, query, tmp_path / "c")


@pytest.mark.parametrize(
    "query",
    ["SELECT sum(scaled(n)) AS m" + WINDOWS, "SELECT mine(n) AS m" + WINDOWS],
    ids=["in the query", "in a body"],
)
def test_a_changed_function_in_python_is_refused(tmp_path: Path, query: str) -> None:
    def again(factor: int) -> None:
        function(name="scaled", arguments=["BIGINT"], returns="BIGINT")(lambda n: factor * n)

    declared = SUM.format("mine", 1, "sum(scaled(x))")
    again(2)
    with session() as of:
        of.run(declared)
        first = started(of, query, tmp_path / "c")
        first.wait()
        before = first.to_polars()
    again(2)
    with session() as of:
        of.run(declared)
        same = started(of, query, tmp_path / "c")
        same.wait()
        assert same.to_polars().equals(before)
    again(3)
    with session() as of, pytest.raises(QueryError, match=r"where factor = 2; and is now: .*where factor = 3"):
        of.run(declared)
        started(of, query, tmp_path / "c")
    function(name="scaled", arguments=["BIGINT"], returns="BIGINT")(lambda n: n - 1)
    with session() as of, pytest.raises(QueryError, match="unction scaled was"):
        of.run(declared)
        started(of, query, tmp_path / "c")


def test_a_changed_function_in_sql_in_a_body_is_refused(tmp_path: Path) -> None:
    functions = [
        f"CREATE FUNCTION {n}" for n in ("times (x BIGINT) : BIGINT AS 2 * x", "times (x BIGINT) : BIGINT AS 3 * x")
    ]
    declared = [f + ";" + SUM.format("mine", 1, "sum(times(x))") for f in functions]
    query = "SELECT mine(n) AS m" + WINDOWS
    message = refusal_of(tmp_path / "c", (declared[0], query), (declared[0], query), (declared[1], query))
    assert "unction times was" in message


def test_spaces_in_quotes_count(tmp_path: Path) -> None:
    texts = [("", f"SELECT n, '{text}' AS t FROM s") for text in ("a b", "a  b")]
    assert "The query was: SELECT n, 'a b' AS t" in refusal_of(
        tmp_path / "w", texts[0], ("", texts[0][1].replace(" FROM", "\n  FROM")), texts[1]
    )
    apart = refusal_of(tmp_path / "v", ("", "SELECT n, 'a -- b' AS t FROM s"), ("", "SELECT n, 'a -- c' AS t FROM s"))
    assert "'a -- c'" in apart


def test_another_format_is_refused(tmp_path: Path) -> None:
    ended(COUNTS, tmp_path / "c")
    note = tmp_path / "c" / "checkpoint.json"
    note.write_text(json.dumps({**json.loads(note.read_text()), "format": FORMAT + 1, "version": "9.9"}))
    with session() as of, pytest.raises(QueryError, match=f"has format {FORMAT + 1}, written by version 9.9"):
        started(of, COUNTS, tmp_path / "c")


def test_what_somebody_else_wrote_is_not_loaded(tmp_path: Path) -> None:
    ended(COUNTS, tmp_path / "c")
    (cut,) = (tmp_path / "c").glob("cut-*")
    data = bytearray(cut.read_bytes())
    data[200] ^= 1
    cut.write_bytes(data)
    with session() as of, pytest.raises(QueryError, match="not written with this user's key"):
        started(of, COUNTS, tmp_path / "c")


def test_a_folder_with_other_files_is_no_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("\\title")
    with session() as of, pytest.raises(QueryError, match="has files in it and is not a checkpoint"):
        started(of, COUNTS, tmp_path)


def test_queries_of_one_text_have_a_folder_each(tmp_path: Path) -> None:
    for _ in range(2):
        with session() as of:
            made = of.run(f"{COUNTS}; SELECT n FROM s WHERE n > 3", checkpoint=tmp_path / "c")
            queries = [q for q in made if isinstance(q, Query)]
            assert all(q.wait(200) for q in queries)
            assert [q.to_polars().height for q in queries] == [40, 500]
    assert {p.name for p in (tmp_path / "c").iterdir()} >= {"checkpoint.json", "2"}


def test_a_sink_with_other_columns_is_refused(tmp_path: Path) -> None:
    declared = [f"CREATE SINK out (c BIGINT, m {t}) TO 'file://{tmp_path}/out/'" for t in ("BIGINT", "DOUBLE")]
    query = "INSERT INTO out SELECT count(*) AS c, sum(n) AS m" + WINDOWS
    message = refusal_of(tmp_path / "c", (declared[0], query), (declared[0], query), (declared[1], query))
    assert (
        "ink file://" in message and "m BIGINT); and is now: mode append, [], columns (c BIGINT, m DOUBLE)" in message
    )


def test_an_insert_says_its_checkpoint_itself(tmp_path: Path) -> None:
    text = (
        f"INSERT INTO 'file://{tmp_path}/out/' WITH (checkpoint = '{tmp_path}/c', checkpoint_every = '10 ms') {COUNTS}"
    )
    for _ in range(2):
        with session() as of:
            (query,) = of.execute(text)
            assert query.wait(200)
            assert query.sinks[0].written == 40
            assert "checkpoint" in query.snapshot(0).notes
    files = (tmp_path / "out").glob("*.parquet")
    assert sum(pl.read_parquet(f).height for f in files) == 40


def test_a_source_that_can_not_be_read_again_says_so_before_the_start(tmp_path: Path) -> None:
    def forever() -> Iterator[dict[str, int]]:
        yield {"ts": 1, "n": 1}

    with Session({"live": forever()}) as of:
        of.execute("CREATE STREAM s (ts BIGINT, n BIGINT) ORDER BY ts SOURCE 'python://live'")
        told, query = of.run("SELECT n FROM s", checkpoint=tmp_path / "c")
        assert "s (python://live) can't be read again: rows that come after the last cut" in str(told)
        assert isinstance(query, Query) and query.wait(200)


def test_rows_that_stop_in_the_middle_go_on_there(tmp_path: Path) -> None:
    """Stopped, with a last cut; and a table that a statement changed meanwhile is as it was."""
    text = "SELECT s.n, name FROM s JOIN names ON s.k = names.k"
    declared = (
        "CREATE STREAM s (ts BIGINT, k STRING, n BIGINT) ORDER BY ts SOURCE 'python://rows';"
        "CREATE TABLE names (k STRING, name STRING); INSERT INTO names VALUES ('a', 'A')"
    )
    changed, begun_again = threading.Event(), threading.Event()

    def rows() -> Iterator[pl.DataFrame]:
        yield ROWS[:200]
        changed.wait(PATIENCE)
        yield ROWS[200:1_000]
        begun_again.wait(PATIENCE)
        yield ROWS[1_000:]

    with Session({"rows": rows}) as of:
        of.execute(declared)
        query = started(of, text, tmp_path / "c")
        until(lambda: query.to_polars().height == 100)
        of.execute("INSERT INTO names VALUES ('b', 'B')")
        changed.set()
        until(lambda: query.to_polars().height == 900)
        query.stop()
        assert query.wait(200)
        before = query.to_polars()
    begun_again.set()
    assert before.height == 900
    with Session({"rows": rows}) as of:
        of.execute(declared)
        query = started(of, text, tmp_path / "c")
        assert query.wait(200)
        after = query.to_polars()
        assert of.execute("SELECT name FROM names")[0].wait(200)
    assert after.head(before.height).equals(before)
    assert after["name"].value_counts().sort("name").row(0) == ("A", 1_000)
    assert after.height == 1_000 + ROWS.filter(pl.col("k") == "b").height - (1_000 - (after["name"] == "B").sum())


def test_bad_rows_and_late_ones_are_there_once(tmp_path: Path) -> None:
    lines = [f"{i if i % 50 else max(0, i - 40)},{'x' if i % 70 == 0 else i}" for i in range(1, 2_000)]
    (tmp_path / "rows.csv").write_text("\n".join(["ts,n", *lines]) + "\n")
    declared = (
        f"CREATE STREAM s (ts BIGINT, n BIGINT) ORDER BY ts WITH (rate = '4000/s') SOURCE 'file://{tmp_path}/rows.csv'"
    )
    found = []
    for checkpoint in (tmp_path / "c", None):
        for stops in (True, False) if checkpoint else (False,):
            with Session() as of:
                of.execute(declared)
                text = "SELECT count(*) AS c FROM s [RANGE 10 MICROSECONDS TUMBLING]"
                options = {} if checkpoint is None else {"checkpoint": checkpoint, "checkpoint_every": "10 ms"}
                (query,) = of.execute(text, **options)
                if stops:
                    until(lambda query=query: query.stats["late"] > 3 and query.stats["bad"] > 3)
                    query.stop()
                assert query.wait(200)
                sides = [of.side_stream(kind, "s").frame().rows() for kind in ("late", "errors")]
                counters = (query.stats["late"], query.stats["bad"], query.stats["rows_in"])
                last = (query.to_polars().rows(), *sides, counters)
        found.append(last)
    assert found[0] == found[1]
    assert len(found[0][1]) > 10 and len(found[0][2]) > 10
