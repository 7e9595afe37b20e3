"""The statements that are neither CREATE nor SELECT."""

# ruff: noqa: E501  # tables of queries read best with one query to a line
from __future__ import annotations

from collections.abc import Callable

import pytest

from jupyter_stream.errors import QueryError
from jupyter_stream.syntax import KEYWORDS, Describe, DescribeFunctions, Drop, Explain, Show, parse, stream_names


@pytest.mark.parametrize("what", ["streams", "queries", "tables", "views", "sources", "functions"])
def test_show(what: str) -> None:
    (statement,) = parse(f"Show {what.title()}")
    assert isinstance(statement, Show) and statement.what == what


@pytest.mark.parametrize(
    ("text", "name", "function"),
    [("DESCRIBE s", "s", None), ("DESC STREAM s", "s", None), ("DESCRIBE late(s)", "s", "late"), ("DESCRIBE errors(`a b`)", "a b", "errors"), ("DESCRIBE late", "late", None)],
)  # fmt: skip
def test_describe(text: str, name: str, function: str | None) -> None:
    (statement,) = parse(text)
    assert isinstance(statement, Describe)
    assert (statement.name.text, statement.function) == (name, function)


def test_describe_functions() -> None:
    everything, one = parse("DESCRIBE FUNCTIONS; DESCRIBE FUNCTION upper")
    assert isinstance(everything, DescribeFunctions) and everything.name is None
    assert isinstance(one, DescribeFunctions) and one.name is not None and one.name.text == "upper"


@pytest.mark.parametrize(
    ("text", "kind", "if_exists"), [("DROP STREAM s", "stream", False), ("DROP STREAM IF EXISTS s", "stream", True), ("drop view s", "view", False)]
)  # fmt: skip
def test_drop(text: str, kind: str, if_exists: bool) -> None:
    (statement,) = parse(text)
    assert isinstance(statement, Drop)
    assert (statement.kind, statement.name.text, statement.if_exists) == (kind, "s", if_exists)


def test_explain() -> None:
    query, spark, named = parse(
        "EXPLAIN SELECT a FROM s; EXPLAIN WITH x AS (SELECT a FROM s) SELECT a FROM x ON SPARK; EXPLAIN q1"
    )
    assert (
        isinstance(query, Explain)
        and query.select is not None
        and query.select.text == "SELECT a FROM s"
        and query.engine == "kernel"
    )
    assert isinstance(spark, Explain) and spark.select is not None and spark.engine == "spark"
    assert isinstance(named, Explain) and named.select is None and named.name is not None and named.name.text == "q1"


def test_the_streams_a_statement_reads_are_listed_once() -> None:
    (statement,) = parse(
        "SELECT a FROM (SELECT a FROM s UNION t WHERE a > 1 UNION ALL SELECT a FROM late(u)) x UNION s"
    )
    assert stream_names(statement) == ("s", "t", "u")


@pytest.mark.parametrize(
    ("marked", "message", "hint"),
    [
        ("SHOW «STREEMS»", "there is nothing called STREEMS to show", "Did you mean STREAMS?"),
        ("«SHOW»", "what to show is missing here: the statement ends here", None),
        ("DROP «s»", "STREAM is missing here", "DROP STREAM name"),
        ("«DESCRIBE»", "the name of a stream is missing here: the statement ends here", None),
        ("EXPLAIN SELECT a FROM s ON «FLINK»", "SPARK or KERNEL is missing here", None),
        ("SHOW STREAMS «now»", "now isn't expected here", None),
    ],
)
def test_mistakes(mistake: Callable[..., QueryError], marked: str, message: str, hint: str | None) -> None:
    error = mistake(marked.replace("«", "").replace("»", ""))
    assert (error.message, error.column, error.width) == (
        message,
        marked.index("«") + 1,
        marked.index("»") - marked.index("«") - 1,
    )
    assert (hint or "") in (error.hint or "")


def test_keywords_are_in_upper_case_and_each_once() -> None:
    assert len(set(KEYWORDS)) == len(KEYWORDS)
    assert all(word == word.upper() for word in KEYWORDS)
