"""Cutting a cell into statements, and where they are."""

from __future__ import annotations

import pytest

from jupyter_stream.errors import QueryError
from jupyter_stream.syntax import Select, parse, reader
from tests.tiers import slow


def texts(cell: str) -> list[str]:
    return [s.text for s in parse(cell)]


@pytest.mark.parametrize("cell", ["", "  \n ", ";", " ; ;\n;", "-- nothing", "/* nothing; */ ;", "-- a\n/* b */\n"])
def test_a_cell_without_statements_gives_none(cell: str) -> None:
    assert parse(cell) == ()


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("SHOW STREAMS", ["SHOW STREAMS"]),
        ("SHOW STREAMS;", ["SHOW STREAMS"]),
        ("SHOW STREAMS; SHOW QUERIES", ["SHOW STREAMS", "SHOW QUERIES"]),
        ("  SHOW STREAMS ;\n\n SHOW QUERIES  ; ", ["SHOW STREAMS", "SHOW QUERIES"]),
        ("SELECT ';' FROM s; SHOW STREAMS", ["SELECT ';' FROM s", "SHOW STREAMS"]),
        ('SELECT ";" FROM s', ['SELECT ";" FROM s']),
        ("SELECT `a;b` FROM s", ["SELECT `a;b` FROM s"]),
        ("SELECT “;” FROM s", ["SELECT “;” FROM s"]),
        ("SELECT 'it''s; so' FROM s", ["SELECT 'it''s; so' FROM s"]),
        (r"SELECT 'it\'s; so' FROM s", [r"SELECT 'it\'s; so' FROM s"]),
        (r"SELECT r'\'; SHOW STREAMS", [r"SELECT r'\'", "SHOW STREAMS"]),
        ("SELECT a -- ; no\nFROM s; SHOW STREAMS", ["SELECT a -- ; no\nFROM s", "SHOW STREAMS"]),
        ("SELECT a /* ; /* ; */ ; */ FROM s; SHOW STREAMS", ["SELECT a /* ; /* ; */ ; */ FROM s", "SHOW STREAMS"]),
        ("-- first\nSHOW STREAMS", ["-- first\nSHOW STREAMS"]),
    ],
)
def test_statements_are_cut_at_semicolons_outside_quotes_and_comments(cell: str, expected: list[str]) -> None:
    assert texts(cell) == expected


def test_a_semicolon_in_braces_is_not_the_end() -> None:
    made = parse("CREATE AGGREGATE f (x INT) : INT { INITIALIZE : { INSERT INTO state VALUES (1); } }; SHOW STREAMS")
    assert [type(statement).__name__ for statement in made] == ["CreateAggregate", "Show"]


@pytest.mark.parametrize(
    ("cell", "line", "column", "message"),
    [
        ("SELECT 'a FROM s", 1, 8, "a text in quotes isn't closed"),
        ('SELECT a,\n  "b FROM s', 2, 3, "a text in double quotes isn't closed"),
        ("SHOW STREAMS;\nSELECT `a FROM s", 2, 8, "a name in backticks isn't closed"),
        ("SELECT “a FROM s", 1, 8, "a text in curly quotes isn't closed"),
        ("SELECT a /* b", 1, 10, "a comment isn't closed"),
        ("SELECT {{ a FROM s", 1, 8, "{{ isn't closed"),
        ("SELECT {{ }} FROM s", 1, 8, "there is nothing between {{ and }}"),
    ],
)
def test_what_isnt_closed_is_named_where_it_opens(cell: str, line: int, column: int, message: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse(cell)
    assert (caught.value.line, caught.value.column, caught.value.message) == (line, column, message)


def test_lines_are_counted_as_the_notebook_shows_them() -> None:
    with pytest.raises(QueryError) as caught:
        parse("SHOW STREAMS;\n\nSELECT a\nFORM s", first_line=2)
    assert (caught.value.line, caught.value.column, caught.value.snippet) == (5, 1, "FORM s")


def test_a_statement_knows_its_line() -> None:
    first, second = parse("\nSHOW STREAMS;\n\n  SHOW QUERIES", first_line=2)
    assert (first.line, second.line) == (3, 5)


def test_an_error_shows_the_line_with_a_caret() -> None:
    with pytest.raises(QueryError) as caught:
        parse("SELECT count(*)\r\n\tFROM s GROP BY x")
    assert str(caught.value) == (
        "line 2, column 9: GROP isn't a clause\n\n     FROM s GROP BY x\n            ^^^^\n\nDid you mean GROUP BY?"
    )


def test_a_name_with_a_reserved_word_is_quoted() -> None:
    (statement,) = parse("SELECT `order`, `from` FROM `select`")
    assert isinstance(statement, Select)
    assert [item.text for item in statement.body.items] == ["`order`", "`from`"]  # type: ignore[union-attr]


def test_very_deep_nesting_is_an_error_not_a_crash() -> None:
    with pytest.raises(QueryError) as caught:
        parse("SELECT " + "(" * 20_000 + "1" + ")" * 20_000 + " FROM s")
    assert "levels deep" in caught.value.message


@slow
def test_more_operators_than_can_be_planned_in_seconds_are_refused_at_the_first_too_many() -> None:
    first, more = "SELECT a FROM s WHERE a = 1", " OR a = 1"
    with pytest.raises(QueryError) as caught:
        parse(first + more * 10_001)
    assert "a statement may have 20,000" in caught.value.message
    assert caught.value.column == len(first + more * 9_999 + " OR a =")


def test_more_words_than_can_be_planned_in_seconds_are_refused_before_they_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reader, "MOST_WORDS", 8)
    parse("SELECT 'a, b; c', `d e` -- and, of a comment, none\n FROM s")
    with pytest.raises(QueryError) as caught:
        parse("SELECT a, /* b, c, d, e, f */ 'g, h' FROM s, t, u")
    assert "a statement may have 8 words and signs" in caught.value.message
    assert caught.value.column == len("SELECT a, /* b, c, d, e, f */ 'g, h' FROM s, t,")


def test_more_columns_than_can_be_planned_in_seconds_are_refused_at_the_first_too_many() -> None:
    parse("SELECT " + ", ".join(["a"] * 2_000) + " FROM s")
    with pytest.raises(QueryError) as caught:
        parse("SELECT " + ", ".join(["a"] * 3_000) + " FROM s")
    assert "a select list may have 2,000" in caught.value.message
    assert caught.value.column == len("SELECT ") + 2_000 * len("a, ") + 1


def test_more_selects_than_can_be_planned_in_seconds_are_refused_at_the_first_too_many() -> None:
    with pytest.raises(QueryError) as caught:
        parse(" UNION ALL ".join(["SELECT a FROM s"] * 2_001))
    assert "a statement, which may have 2,000" in caught.value.message
    assert caught.value.column == 2_000 * len("SELECT a FROM s UNION ALL ") + 1
