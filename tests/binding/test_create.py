"""CREATE STREAM: columns, time, progress, options."""

# ruff: noqa: E501  # tables of queries read best with one query to a line
from __future__ import annotations

from collections.abc import Callable, Mapping

import polars as pl
import pytest

from jupyter_stream.binding import bind_stream
from jupyter_stream.core.schema import TIMESTAMP, Schema
from jupyter_stream.errors import QueryError, SourceError, UnsupportedError
from jupyter_stream.plan.catalog import (
    Apart,
    Clustered,
    Constraint,
    Ordered,
    PunctuationColumn,
    References,
    Slack,
    StreamDef,
    TimeSpec,
    Watermark,
)
from jupyter_stream.syntax import CreateStream, parse

COLUMNS = "(srcIP STRING, len INT, p TIMESTAMP, n BIGINT, ts TIMESTAMP)"
SECOND = 1_000_000


@pytest.fixture
def create(source_opener: Callable[..., object]) -> Callable[[str], StreamDef]:
    def run(text: str) -> StreamDef:
        (statement,) = parse(text)
        assert isinstance(statement, CreateStream)
        return bind_stream(statement, source_opener)  # type: ignore[arg-type]

    return run


@pytest.mark.parametrize(
    ("written", "constraint", "said"),
    [
        ("CONSTRAINT CLUSTERED (len) WITHIN 10 ROWS", Clustered("len", 10), "clustered by len within 10 rows"),
        ("CONSTRAINT c CLUSTERED (LEN) WITHIN 1 ROW", Clustered("len", 1), "clustered by len within 1 row"),
        ("clustered (len) within 0 rows", Clustered("len", 0), "clustered by len within 0 rows"),
        (
            "CONSTRAINT ORDERED (ts) WITHIN 5 SECONDS",
            Ordered("ts", Watermark(5 * SECOND)),
            "ordered by ts within 5 seconds",
        ),
        ("ORDERED (ts) WITHIN 3 ROWS", Ordered("ts", Apart(3)), "ordered by ts within 3 rows"),
        (
            "FOREIGN KEY (len) REFERENCES Orders WITHIN 5 SECONDS",
            References(("len",), "Orders", ("len",), 5 * SECOND),
            "len refers to Orders within 5 seconds",
        ),
        (
            "CONSTRAINT fk FOREIGN KEY (len, n) REFERENCES `my-orders` (a, b) WITHIN INTERVAL '1' MINUTE",
            References(("len", "n"), "my-orders", ("a", "b"), 60 * SECOND),
            "len, n refers to my-orders (a, b) within 1 minute",
        ),
    ],
)
def test_constraints_stand_in_the_column_list(
    create: Callable[[str], StreamDef], written: str, constraint: Constraint, said: str
) -> None:
    made = create(f"CREATE STREAM s {COLUMNS[:-1]}, {written}) ORDER BY ts SOURCE 'x'")
    assert made.constraints == (constraint,)
    assert str(constraint) == said
    expected = constraint.progress if isinstance(constraint, Ordered) else Watermark(0, declared=False)
    assert made.time == TimeSpec("external", "ts", expected)


def test_an_ordered_column_is_the_time_without_more_words(create: Callable[[str], StreamDef]) -> None:
    assert create("CREATE STREAM s (ts BIGINT, ORDERED (ts) WITHIN 3 ROWS) SOURCE 'x'").time == TimeSpec(
        "external", "ts", Apart(3)
    )


def test_columns_may_be_called_as_constraints_are(create: Callable[[str], StreamDef]) -> None:
    made = create(
        "CREATE STREAM s (clustered INT, ordered STRING, constraint INT, foreign INT, check STRING) SOURCE 'x'"
    )
    assert made.schema.names == ("clustered", "ordered", "constraint", "foreign", "check") and made.constraints == ()


def test_the_parts_of_a_declaration(create: Callable[[str], StreamDef]) -> None:
    text = """CREATE STREAM OpenAuction (itemID INT, sellerID CHAR(10), price REAL, start_time TIMESTAMP)
      ORDER BY start_time                                   -- external timestamps
      SOURCE 'file://bids.jsonl'
      WITH (format = 'json', follow = 'true', Slack = '5 rows')"""
    made = create(text)
    assert made.name == "OpenAuction"
    assert made.schema == Schema.of(
        (("itemID", pl.Int32()), ("sellerID", pl.String()), ("price", pl.Float64()), ("start_time", TIMESTAMP))
    )
    assert made.time == TimeSpec("external", "start_time", Slack(5))
    assert made.uri == "file://bids.jsonl"
    assert made.options == {"format": "json", "follow": "true", "slack": "5 rows"}
    assert made.text == text


@pytest.mark.parametrize(
    ("clauses", "time"),
    [
        ("ORDER BY ts SOURCE 'x'", TimeSpec("external", "ts", Watermark(0, declared=False))),
        ("SOURCE 'x' ORDER BY TS ASC", TimeSpec("external", "ts", Watermark(0, declared=False))),
        ("ORDER BY n SOURCE 'x'", TimeSpec("external", "n", Watermark(0, declared=False))),
        ("WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS SOURCE 'x'", TimeSpec("external", "ts", Watermark(5 * SECOND))),
        ("WATERMARK FOR ts AS ts - INTERVAL '1' MINUTE SOURCE 'x'", TimeSpec("external", "ts", Watermark(60 * SECOND))),
        ("WATERMARK FOR ts AS ts - 5 SECONDS SOURCE 'x'", TimeSpec("external", "ts", Watermark(5 * SECOND))),
        ("WATERMARK FOR ts AS ts - INTERVAL '0' SECOND SOURCE 'x'", TimeSpec("external", "ts", Watermark(0))),
        ("WATERMARK FOR ts AS ts SOURCE 'x'", TimeSpec("external", "ts", Watermark(0))),
        ("WATERMARK FOR n AS n - 250 SOURCE 'x'", TimeSpec("external", "n", Watermark(250))),
        ("ORDER BY ts WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS SOURCE 'x'", TimeSpec("external", "ts", Watermark(5 * SECOND))),
        ("ORDER BY ts SOURCE 'x' WITH (slack = '10 rows')", TimeSpec("external", "ts", Slack(10))),
        ("ORDER BY ts SOURCE 'x' WITH (slack = '5 seconds')", TimeSpec("external", "ts", Watermark(5 * SECOND))),
        ("ORDER BY ts SOURCE 'x' WITH (punctuation = 'P')", TimeSpec("external", "ts", PunctuationColumn("p"))),
        ("ORDER BY ts SOURCE 'x' WITH (punctuation = 'p', punctuation_key = 'srcip')", TimeSpec("external", "ts", PunctuationColumn("p", "srcIP"))),
        ("ORDER BY ts SOURCE 'x' WITH (idle_timeout = '2 seconds')", TimeSpec("external", "ts", Watermark(0, declared=False), 2 * SECOND)),
        ("ORDER BY current_time SOURCE 'x'", TimeSpec("internal", "current_time", Watermark(0, declared=False))),
        ("SOURCE 'x'", TimeSpec("latent", "current_time", Watermark(0, declared=False), undecided=("p", "ts"))),
        ("SOURCE 'x' WITH (time = 'Latent')", TimeSpec("latent", "current_time", Watermark(0, declared=False))),
        ("SOURCE 'x' WITH (punctuation = 'P')", TimeSpec("external", "ts", PunctuationColumn("p"), assumed=True)),
    ],
)  # fmt: skip
def test_time_and_progress(create: Callable[[str], StreamDef], clauses: str, time: TimeSpec) -> None:
    assert create(f"CREATE STREAM s {COLUMNS} {clauses}").time == time


@pytest.mark.parametrize(
    ("columns", "time"),
    [
        ("(a INT, ts TIMESTAMP)", TimeSpec("external", "ts", Watermark(0, declared=False), assumed=True)),
        ("", TimeSpec("external", "ts", Watermark(0, declared=False), assumed=True)),
        ("(a INT, ts BIGINT)", TimeSpec("latent", "current_time", Watermark(0, declared=False))),
    ],
)
def test_the_only_timestamp_is_the_event_time(create: Callable[[str], StreamDef], columns: str, time: TimeSpec) -> None:
    assert create(f"CREATE STREAM s {columns} SOURCE 'x'").time == time


@pytest.mark.parametrize(
    "clauses", ["(n INT, at BIGINT, WATERMARK FOR at AS at)", "ORDER BY a", "(ORDERED (a) WITHIN 2 ROWS)"]
)
def test_timestamp_unit_makes_a_time_of_the_column_that_is_named(
    create: Callable[[str], StreamDef], clauses: str
) -> None:
    made = create(f"CREATE STREAM s {clauses} SOURCE 'x' WITH (timestamp_unit = 's')")
    assert made.time.column is not None and made.time.kind == "external"
    field = made.schema.find(made.time.column)
    assert field is not None and field.dtype == TIMESTAMP


def test_a_watermark_may_stand_among_the_columns(create: Callable[[str], StreamDef]) -> None:
    made = create("CREATE STREAM s (a INT, WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS, ts TIMESTAMP) SOURCE 'x'")
    assert made.schema.names == ("a", "ts")
    assert made.time == TimeSpec("external", "ts", Watermark(5 * SECOND))


def test_the_watermark_and_constraints_may_stand_alone_where_the_source_knows_its_columns(
    create: Callable[[str], StreamDef],
) -> None:
    stream = create(
        "CREATE STREAM s (WATERMARK FOR ts AS ts - INTERVAL 1 SECOND, CLUSTERED (a) WITHIN 3 ROWS) SOURCE 'x'"
    )
    assert stream.time == TimeSpec("external", "ts", Watermark(SECOND))
    assert stream.constraints == (Clustered("a", 3),)
    assert stream.schema.names == ("a", "b", "ts")


def test_without_columns_the_sources_own_are_taken(create: Callable[[str], StreamDef]) -> None:
    assert (
        str(create("CREATE OR REPLACE STREAM s ORDER BY TS SOURCE 'x'").schema) == "(a BIGINT, b STRING, ts TIMESTAMP)"
    )
    assert create("CREATE STREAM IF NOT EXISTS s ORDER BY TS SOURCE 'x'").time.column == "ts"


def test_a_stamped_column_is_not_asked_of_the_source(create: Callable[[str], StreamDef]) -> None:
    made = create("CREATE STREAM s (itemID int, current_time timestamp) ORDER BY current_time SOURCE 'port4446'")
    assert made.schema.names == ("itemID",)


def test_the_source_gets_its_own_options_only() -> None:
    seen: list[object] = []

    class Nothing:
        schema = Schema.of((("ts", TIMESTAMP),))
        replayable = True
        units: Mapping[str, str] = {}  # a protocol's attribute

    def open_source(uri: str, schema: Schema | None, options: Mapping[str, str]) -> Nothing:
        seen.extend([uri, schema, dict(options)])
        return Nothing()

    (statement,) = parse(
        "CREATE STREAM s ORDER BY ts SOURCE 'f' WITH (rate = '10/s', seed = 3, x = TRUE, neg = -1.5, slack = '1 row', `A.b` = 'c', end = 'latest')"
    )
    assert isinstance(statement, CreateStream)
    bind_stream(statement, open_source)
    assert seen == ["f", None, {"rate": "10/s", "seed": "3", "x": "true", "neg": "-1.5", "a.b": "c", "end": "latest"}]


def test_an_error_of_the_source_points_at_its_address() -> None:
    def open_source(uri: str, schema: Schema | None, options: Mapping[str, str]) -> StreamDef:
        raise SourceError("there is no file at /x/bids", hint="The files here are a, b.")

    (statement,) = parse("CREATE STREAM s\n  SOURCE 'file://bids'")
    assert isinstance(statement, CreateStream)
    with pytest.raises(SourceError) as caught:
        bind_stream(statement, open_source)  # type: ignore[arg-type]
    error = caught.value
    assert (error.line, error.column, error.width) == (2, 10, 13)
    assert (error.message, error.hint) == ("there is no file at /x/bids", "The files here are a, b.")


@pytest.mark.parametrize(
    ("written", "dtype"),
    [
        ("BOOLEAN", pl.Boolean()), ("tinyint", pl.Int8()), ("SMALLINT", pl.Int16()), ("INT", pl.Int32()), ("INTEGER", pl.Int32()), ("BIGINT", pl.Int64()),
        ("REAL", pl.Float64()), ("DOUBLE", pl.Float64()), ("DOUBLE PRECISION", pl.Float64()), ("FLOAT", pl.Float32()), ("STRING", pl.String()),
        ("CHAR(10)", pl.String()), ("VARCHAR(5)", pl.String()), ("VARCHAR", pl.String()), ("TEXT", pl.String()), ("BINARY", pl.Binary()), ("DATE", pl.Date()),
        ("TIMESTAMP", TIMESTAMP), ("TIMESTAMP(3)", TIMESTAMP), ("TIMESTAMP_NTZ", TIMESTAMP), ("INTERVAL", pl.Duration("us")),
        ("DECIMAL(10, 2)", pl.Decimal(10, 2)), ("DECIMAL", pl.Decimal(10, 0)), ("NUMERIC(5)", pl.Decimal(5, 0)),
        ("ARRAY<INT>", pl.List(pl.Int32())), ("ARRAY<ARRAY<STRING>>", pl.List(pl.List(pl.String()))),
        ("STRUCT<a: INT, b: STRING>", pl.Struct([pl.Field("a", pl.Int32()), pl.Field("b", pl.String())])),
        ("STRUCT<a INT, b ARRAY<DOUBLE>>", pl.Struct([pl.Field("a", pl.Int32()), pl.Field("b", pl.List(pl.Float64()))])),
    ],
)  # fmt: skip
def test_types(create: Callable[[str], StreamDef], written: str, dtype: pl.DataType) -> None:
    assert create(f"CREATE STREAM s (x {written}, y INT) SOURCE 'x'").schema.fields[0].dtype == dtype


MISTAKES = [
    ("CREATE «STRAEM» s (a INT) SOURCE 'x'", "STREAM is missing here", "Did you mean STREAM?"),
    ("CREATE STREAM «SOURCE» 'x'", None, None),
    ("CREATE STREAM s (a INT) «SURCE» 'x'", "SURCE isn't expected here", "Did you mean SOURCE?"),
    ("CREATE TABLE t (a INT) «FROM» 'x'", "FROM isn't expected here", "Write SOURCE in its place"),
    ("CREATE STREAM s (a INT) «FROM» 'x'", "FROM isn't expected here", "Write SOURCE in its place"),
    ("CREATE STREAM s (a INT) «'x'»", "SOURCE is missing before this", "SOURCE 'file://"),
    ("CREATE STREAM s (a INT«)»", "SOURCE is missing: the statement ends here", "Say where the rows come from"),
    ("CREATE STREAM s (a INT) SOURCE «x»", None, "Write it in quotes."),
    ("CREATE STREAM s (a «ITN») SOURCE 'x'", "there is no type called ITN", "Did you mean INT?"),
    ("CREATE STREAM s (a «VARCHA»(3)) SOURCE 'x'", "there is no type called VARCHA", "Did you mean VARCHAR?"),
    ("CREATE STREAM s (a INT«(»3)) SOURCE 'x'", "INT takes no size", None),
    ("CREATE STREAM s (a «DECIMAL(50, 2)») SOURCE 'x'", "DECIMAL(50, 2) doesn't exist", "1 to 38"),
    ("CREATE STREAM s («a») SOURCE 'x'", "the type of a is missing", "a DOUBLE"),
    ("CREATE STREAM s (a INT «b» INT) SOURCE 'x'", ", or ) is missing here", "name TYPE, name TYPE"),
    ("CREATE STREAM s (a INT, b INT «SOURCE» 'x'", ", or ) is missing here", None),
    ("CREATE STREAM s (a INT, «A» STRING) SOURCE 'x'", "two columns are called A", "another name"),
    ("CREATE STREAM s (a INT) ORDER BY «b» SOURCE 'x'", "there is no column called b", "current_time"),
    ("CREATE STREAM s (start_time TIMESTAMP) ORDER BY «strat_time» SOURCE 'x'", "there is no column called strat_time", "Did you mean start_time?"),
    ("CREATE STREAM s (a STRING) ORDER BY «a» SOURCE 'x'", "a is STRING and can't be the time column", "TIMESTAMP, or a BIGINT"),
    ("CREATE STREAM s (ts TIMESTAMP) ORDER BY ts «DESC» SOURCE 'x'", "a stream can only be ordered by ascending time", None),
    ("CREATE STREAM s (ts TIMESTAMP, WATERMARK FOR ts AS «t» - INTERVAL 5 SECONDS) SOURCE 'x'", "the watermark for ts can't be computed from t", "WATERMARK FOR ts AS ts"),
    ("CREATE STREAM s (ts TIMESTAMP, WATERMARK FOR ts AS ts «+» INTERVAL 5 SECONDS) SOURCE 'x'", "a watermark can't be ahead of the newest row", None),
    ("CREATE STREAM s (ts TIMESTAMP, WATERMARK FOR ts «-» INTERVAL 5 SECONDS) SOURCE 'x'", "AS is missing here", None),
    ("CREATE STREAM s (ts TIMESTAMP, a TIMESTAMP, WATERMARK FOR «a» AS a) ORDER BY ts SOURCE 'x'", "ORDER BY names ts, and WATERMARK FOR names a", None),
    ("CREATE STREAM s (ts TIMESTAMP, WATERMARK FOR ts AS ts) SOURCE 'x' WITH («slack» = '3 rows')", "a stream can have only one watermark or order", None),
    ("CREATE STREAM s (a INT) SOURCE 'x' WITH («slack» = '3 rows')", "this stream has no time column, and this option needs one", "ORDER BY ts"),
    ("CREATE STREAM s (a INT) ORDER BY current_time SOURCE 'x' WITH («slack» = '3 rows')", "with ORDER BY current_time rows get their time when they arrive, and are never late", None),
    ("CREATE STREAM s (ts TIMESTAMP) ORDER BY ts SOURCE 'x' WITH (slack = «'some'»)", "slack takes a number of rows or a length of time", "'10 rows'"),
    ("CREATE STREAM s (ts TIMESTAMP) ORDER BY ts SOURCE 'x' WITH (idle_timeout = «'soon'»)", "idle_timeout takes a length of time", None),
    ("CREATE STREAM s (ts TIMESTAMP) ORDER BY ts SOURCE 'x' WITH (punctuation = «'q'»)", "there is no column called q", None),
    ("CREATE STREAM s (ts TIMESTAMP, q STRING) ORDER BY ts SOURCE 'x' WITH (punctuation = «'q'»)", "the column of punctuations must be a time, and q is STRING", None),
    ("CREATE STREAM s (ts TIMESTAMP) ORDER BY ts SOURCE 'x' WITH (punctuation = «'ts'»)", "punctuations need a column of their own, not the time column", None),
    ("CREATE STREAM s (ts TIMESTAMP, p TIMESTAMP) ORDER BY ts SOURCE 'x' WITH (punctuation = 'p', punctuation_key = «'k'»)", "there is no column called k", None),
    ("CREATE STREAM s (ts TIMESTAMP) ORDER BY ts SOURCE 'x' WITH («punctuation_key» = 'ts')", "punctuation_key needs punctuation", None),
    ("CREATE STREAM s (ts TIMESTAMP) ORDER BY ts SOURCE 'x' WITH («punctuaton» = 'ts')", "there is no option called punctuaton", "Did you mean punctuation?"),
    ("CREATE STREAM s SOURCE 'x' WITH (a = 'b', «A» = 'c')", "the option a appears twice", "Remove one"),
    ("CREATE STREAM s SOURCE 'x' WITH (a «'b'»)", "= is missing here", "a = 'value'"),
    ("CREATE STREAM s SOURCE 'x' WITH (a = «b»)", "the value of the option is missing here", None),
    ("CREATE STREAM s SOURCE 'x' «SOURCE» 'y'", "SOURCE appears twice", "Remove one"),
    ("CREATE VIEW v («WATERMARK FOR ts AS ts») AS SELECT ts FROM M", "a view can't have a watermark of its own: it has that of its SELECT", "the stream that has the SOURCE"),
    ("CREATE STREAM s AS SELECT count(*) AS n FROM M [RANGE 1 MINUTE TUMBLING] «WATERMARK FOR window_end AS window_end»", "a WATERMARK of its own needs a SELECT that makes each row from one row of a stream", "Leave windows, aggregates and joins"),
    ("CREATE STREAM s AS SELECT srcIP FROM M WATERMARK FOR «srcIP» AS srcIP", "srcIP is STRING and can't be the time column", "to_timestamp(srcIP"),
    ("CREATE STREAM s (x «INT» AS a) SOURCE 'x'", None, None),
    ("CREATE STREAM s (x AS «len») SOURCE 'x'", None, None),
    ("CREATE STREAM s (a INT, «a» AS a + 1) SOURCE 'x'", "two columns are called a", "another name"),
    ("CREATE STREAM s (a INT, n AS «count(*)») SOURCE 'x'", "an aggregate can't be used in a computed column", None),
    ("CREATE STREAM s (a INT) SOURCE 'x' WHERE «a»", "WHERE takes a condition, and this is INT", None),
    ("CREATE STREAM s (a INT) SOURCE 'x' WHERE «row_num > 1»", "times of arrival and row numbers are not known yet when a row is read", None),
    ("CREATE TABLE t (a INT, «n» AS a + 1)", "a table can't have computed columns", None),
    ("CREATE STREAM s (m STRUCT<t: STRING>, WATERMARK FOR «m.t» AS m.t) SOURCE 'x'", "m.t is STRING and can't be the time", "to_timestamp(m.t"),
    ("CREATE STREAM s (m STRUCT<t: TIMESTAMP>, WATERMARK FOR m.t AS «m.u») SOURCE 'x'", "the watermark for m.t can't be computed from m.u", None),
    ("CREATE STREAM s «SELECT» len FROM M", "AS is missing before SELECT", "AS SELECT"),
    ("CREATE STREAM s (a INT, CONSTRAINT «SORTED» (a) WITHIN 5 ROWS) SOURCE 'x'", "CLUSTERED, ORDERED or FOREIGN KEY is missing here", "CONSTRAINT CLUSTERED (orderID) WITHIN 10 ROWS"),
    ("CREATE STREAM s (a INT, CONSTRAINT c «SORTED» (a) WITHIN 5 ROWS) SOURCE 'x'", "CLUSTERED, ORDERED or FOREIGN KEY is missing here", "CONSTRAINT CLUSTERED (orderID) WITHIN 10 ROWS"),
    ("CREATE STREAM s (a INT, CONSTRAINT CLUSTERED «a» WITHIN 5 ROWS) SOURCE 'x'", "( is missing here", "CLUSTERED (orderID)"),
    ("CREATE STREAM s (a INT, CLUSTERED (a«)») SOURCE 'x'", None, None),
    ("CREATE STREAM s (a INT, CLUSTERED (a) WITHIN «10 MINUTES») SOURCE 'x'", "WITHIN of a CLUSTERED constraint takes a number of rows, not a length of time", "WITHIN 10 ROWS"),
    ("CREATE STREAM s (a INT, CLUSTERED (a) WITHIN 10«)» SOURCE 'x'", "ROWS or a unit of time is missing here", "WITHIN 10 ROWS"),
    ("CREATE STREAM s (a INT, CLUSTERED (a) WITHIN «-1 ROWS») SOURCE 'x'", "this must be more than zero", None),
    ("CREATE STREAM s (a INT, CLUSTERED («b») WITHIN 1 ROW) SOURCE 'x'", "there is no column called b", None),
    ("CREATE STREAM s (a INT, ts TIMESTAMP, ORDERED («a») WITHIN 1 ROW) ORDER BY ts SOURCE 'x'", "the stream is ordered by ts, and ORDERED names a", "ORDERED (ts)"),
    ("CREATE STREAM s (ts TIMESTAMP, WATERMARK FOR ts AS ts) SOURCE 'x' WITH («slack» = '1 row')", "a stream can have only one watermark or order", "Keep one of"),
    ("CREATE STREAM s (ts TIMESTAMP, at TIMESTAMP, WATERMARK FOR ts AS ts, ORDERED («at») WITHIN 1 ROW) SOURCE 'x'", "the stream is ordered by ts, and ORDERED names at", "ORDERED (ts)"),
    ("CREATE STREAM s (ts TIMESTAMP, ORDERED (ts) WITHIN 1 ROW, «ORDERED (ts) WITHIN 2 ROWS») SOURCE 'x'", "a stream can have only one watermark or order", "Keep one"),
    ("CREATE STREAM s (a INT, FOREIGN KEY («b») REFERENCES M WITHIN 5 SECONDS) SOURCE 'x'", "there is no column called b", None),
    ("CREATE STREAM s (a INT, FOREIGN KEY (a) «TO» M WITHIN 5 SECONDS) SOURCE 'x'", "REFERENCES is missing here", "REFERENCES Orders"),
    ("CREATE STREAM s (a INT, FOREIGN KEY (a) REFERENCES M (len) WITHIN «5 ROWS») SOURCE 'x'", "WITHIN of a FOREIGN KEY takes a length of time, not a number of rows", "WITHIN 5 SECONDS"),
    ("CREATE STREAM s (a INT, FOREIGN KEY (a) REFERENCES M («len», ts) WITHIN 5 SECONDS) SOURCE 'x'", "the numbers of columns differ: 1 in FOREIGN KEY, 2 in REFERENCES", None),
    ("CREATE STREAM s (a INT, FOREIGN KEY (a) REFERENCES «Mian» (len) WITHIN 5 SECONDS) SOURCE 'x'", "there is no stream called Mian", "Main"),
    ("CREATE STREAM s (a INT, FOREIGN KEY (a) REFERENCES M («lne») WITHIN 5 SECONDS) SOURCE 'x'", "there is no column called lne in M", "len"),
    ("CREATE STREAM s (a INT, FOREIGN KEY («a») REFERENCES M (srcIP) WITHIN 5 SECONDS) SOURCE 'x'", "a is INT, and M.srcIP is STRING", None),
    ("CREATE STREAM s (a INT, FOREIGN KEY (a) REFERENCES «hourly» (n) WITHIN 5 SECONDS) SOURCE 'x'", "a FOREIGN KEY must refer to a stream with a SOURCE, and hourly is a derived stream", None),
    ("CREATE STREAM s (a INT, FOREIGN KEY (a) REFERENCES «s» WITHIN 5 SECONDS) SOURCE 'x'", "a stream can't refer to itself", None),
    ("CREATE STREAM s (a, «CLUSTERED (a) WITHIN 5 ROWS») AS SELECT len FROM M", "a derived stream can't have a constraint", "the stream that has the SOURCE"),
    ("CREATE TABLE t (a INT, «CLUSTERED (a) WITHIN 5 ROWS»)", "a table can't have a constraint", None),
    ("CREATE STREAM s («a» INT) AS SELECT len FROM M", "the columns of a derived stream have the types of its SELECT", None),
    ("CREATE STREAM s («a, b») AS SELECT len FROM M", "2 names for 1 columns", None),
    ("CREATE STREAM s (a, «A») AS SELECT len, ts FROM M", "two columns are called A", "another name"),
    ("CREATE VIEW v AS SELECT len FROM M «WITH» TOLERANCE (SAMPLE AT LEAST 5)", "a view can't have a tolerance: it belongs to the query that runs", "SELECT * FROM v WITH TOLERANCE"),
    ("CREATE STREAM s AS SELECT len FROM M «EMIT» FINAL", "EMIT can't be used here: a derived stream holds final answers only", None),
]  # fmt: skip


@pytest.mark.parametrize(("marked", "message", "hint"), MISTAKES, ids=[m[0] for m in MISTAKES])
def test_a_mistake_is_shown_where_it_is(
    mistake: Callable[..., QueryError], marked: str, message: str | None, hint: str | None
) -> None:
    start, end = marked.index("«"), marked.index("»") - 1
    error = mistake(marked.replace("«", "").replace("»", ""))
    if message is not None:
        assert (error.message, error.line, error.column, error.width) == (message, 1, start + 1, end - start)
    assert not isinstance(error, UnsupportedError)
    assert (hint or "") in (error.hint or "")


@pytest.mark.parametrize(
    ("marked", "what"),
    [
        ("CREATE STREAM s (a INT, «PRIMARY» KEY (a)) SOURCE 'x'", "PRIMARY in the column list"),
        ("CREATE STREAM s (a INT, CONSTRAINT only «UNIQUE» (a)) SOURCE 'x'", "UNIQUE in the column list"),
        (
            "CREATE STREAM s (a INT, b INT, CLUSTERED (a, «b») WITHIN 1 ROW) SOURCE 'x'",
            "a constraint over several columns",
        ),
        (
            "CREATE STREAM s (a INT, b INT, CLUSTERED (a) WITHIN 1 ROW, «CLUSTERED (b) WITHIN 1 ROW») SOURCE 'x'",
            "a second CLUSTERED",
        ),
        (
            "CREATE STREAM s (a INT, p BIGINT, ts BIGINT, «CLUSTERED (a) WITHIN 1 ROW») ORDER BY ts SOURCE 'x' WITH (punctuation = 'p', punctuation_key = 'a')",
            "CLUSTERED together with punctuation_key",
        ),
        ("CREATE STREAM s (a INT «NOT» NULL) SOURCE 'x'", "NOT NULL after a column"),
        ("CREATE STREAM s (a «MAP»<INT, INT>) SOURCE 'x'", "the type MAP"),
    ],
)
def test_what_cant_be_declared_yet_is_named(mistake: Callable[..., QueryError], marked: str, what: str) -> None:
    error = mistake(marked.replace("«", "").replace("»", ""))
    assert isinstance(error, UnsupportedError)
    assert (error.message, error.column) == (f"{what} isn't available in this version", marked.index("«") + 1)
