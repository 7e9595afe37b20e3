"""What drawn queries have found, in its smallest form. The other system's answers are written down."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl
import pytest

from jupyter_stream import Query, Session
from jupyter_stream.errors import QueryError
from tests.differential.compare import bag
from tests.tiers import thinned

ROWS = {"a": [(1, 0, "x"), (2, 5, None)], "none": []}
COLUMNS = {"id": pl.Int64, "ts": pl.Int64, "s": pl.String}


@pytest.fixture(params=["tables", "streams"])
def session(request: pytest.FixtureRequest) -> Iterator[Session]:
    frames = {name: pl.DataFrame(rows, COLUMNS, orient="row") for name, rows in ROWS.items()}
    with Session(frames) as made:
        for name in ROWS:
            columns = "id BIGINT, ts BIGINT, s STRING"
            if request.param == "tables":
                made.execute(f"CREATE TABLE {name} ({columns}) SOURCE 'frame://{name}'")
            else:
                made.execute(f"CREATE STREAM {name} ({columns}, WATERMARK FOR ts AS ts) SOURCE 'frame://{name}'")
        yield made


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT count(*) AS n FROM none GROUP BY 'a'", []),
        ("SELECT count(*) AS n FROM a GROUP BY 'a'", [(2,)]),
        ("SELECT count(*) AS n, 1 AS one FROM a", [(2, 1)]),
        ("SELECT count(*) AS n, 7 AS seven FROM a GROUP BY ALL", [(2, 7)]),
        ("SELECT count(*) AS n, 7 AS seven FROM a GROUP BY ALL ORDER BY n LIMIT 1", [(2, 7)]),
        # a constant before a CASE that is the same for all rows
        ("SELECT count(*) AS n, count(*) FILTER (WHERE 1 = CASE WHEN id > 0 THEN 1 ELSE 2 END) AS m FROM a", [(2, 2)]),
        (
            "SELECT sum(id) AS n, sum(CASE WHEN 2 IN (CASE WHEN id > 0 THEN 1 ELSE 2 END, 3) THEN 1 ELSE 0 END) FROM a",
            [(3, 0)],
        ),
        # an alias has the name of a column that is part of what is grouped by
        ("SELECT max(id) AS ts, ts % 5 AS r, ts + 1 AS next FROM a GROUP BY ts % 5", [(2, 0, 3)]),
        ("SELECT count(*) AS c, c % 2 AS r FROM (SELECT count(*) AS c FROM a) t GROUP BY c % 2", [(1, 0)]),
        # aggregates of groups that WHERE has left no row
        ("SELECT count(*) AS n FROM (SELECT s, count(*) AS m FROM a WHERE id > 9 GROUP BY s) t", [(0,)]),
        (
            "SELECT count(*) AS n, max(m) AS m FROM (SELECT s, sum(id) AS m FROM a GROUP BY s HAVING sum(id) > 9) t",
            [(0, None)],
        ),
        (
            "SELECT count(*) AS n FROM (SELECT DISTINCT s FROM (SELECT s, max(id) AS m FROM a WHERE s = 'y' GROUP BY s) t) u",
            [(0,)],
        ),
    ],
)
def test_aggregates_of_few_rows(session: Session, text: str, expected: list[object]) -> None:
    (query,) = session.execute(text)
    assert isinstance(query, Query) and query.wait(200)
    assert query.to_polars().rows() == expected


@pytest.mark.parametrize("session", ["tables"], indirect=True)
@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("unix_timestamp(TIMESTAMP '1969-12-31 23:59:58.5')", -1),
        ("to_unix_timestamp(TIMESTAMP '1969-12-31 23:59:59.999999')", 0),
        ("unix_seconds(TIMESTAMP '1969-12-31 23:59:58.5')", -2),
        ("substring_index('a.b', '.', -2147483648)", "a.b"),
        ("locate(NULL, 'abc', 2)", None),
        ("locate('b', 'abc', NULL)", 0),
    ],
)
def test_values_of_calls(session: Session, call: str, expected: object) -> None:
    (query,) = session.execute(f"SELECT {call} AS v FROM a LIMIT 1")
    assert isinstance(query, Query) and query.wait(200)
    assert query.to_polars().rows() == [(expected,)]


@pytest.mark.parametrize("session", ["tables"], indirect=True)
def test_where_to_start_is_looked_at_first(session: Session) -> None:
    (query,) = session.execute(
        "SELECT locate(s, 'abc', concat('x', id)) AS v FROM (SELECT id, s FROM a WHERE s IS NULL) t"
    )
    assert isinstance(query, Query) and query.wait(200)
    assert query.to_polars().height == 0 and query.errors.height == 1


@pytest.mark.parametrize("session", ["tables"], indirect=True)
@pytest.mark.parametrize("months", [-2147483648, -2147459000, 2147483647])
def test_months_beyond_all_dates_are_errors_of_the_row(session: Session, months: int) -> None:
    (query,) = session.execute(f"SELECT add_months(DATE '2024-02-29', {months} * id) AS v FROM a WHERE id = 1")
    assert isinstance(query, Query) and query.wait(200)
    assert query.to_polars().height == 0 and query.errors.height == 1


@pytest.mark.parametrize("session", ["tables"], indirect=True)
def test_an_array_holds_no_arrays(session: Session) -> None:
    with pytest.raises(QueryError, match="not arrays"):
        session.execute("SELECT array(array(1), array(2)) AS v FROM a")


@pytest.mark.parametrize("session", ["tables"], indirect=True)
def test_a_look_up_without_matches_under_a_join(session: Session) -> None:
    (query,) = session.execute(
        "SELECT t.c FROM (SELECT id + 10 AS c FROM a) t JOIN a t2 ON t.c = t2.id JOIN (SELECT id AS c FROM a) t3 ON t.c = t3.c"
    )
    assert isinstance(query, Query) and query.wait(200)
    assert query.to_polars().rows() == []


@pytest.mark.parametrize("session", ["tables"], indirect=True)
@pytest.mark.parametrize(
    "text",
    [
        "try_divide(id, '-1.5')",
        "try_add('x', id)",
        "try_multiply(id, 'NaN')",
        "try_subtract(s, INTERVAL 1 DAY)",
        "try_add(INTERVAL 1 DAY, s)",
        "try_subtract(s, TIMESTAMP '2024-01-01')",
        "try_multiply(INTERVAL 1 DAY, s)",
    ],
)
def test_a_try_function_gives_null_for_a_text_that_is_no_number_of_the_other_sides_type(
    session: Session, text: str
) -> None:
    (query,) = session.execute(f"SELECT {text} AS v FROM a WHERE id = 1")
    assert isinstance(query, Query) and query.wait(200)
    assert query.to_polars().rows() == [(None,)]


FAILS = "CAST(concat('x', id) AS INT)"
NOTHING = "nullif(id, id)"
NO_ARRAY = "if(id < 0, array(1), NULL)"


@pytest.mark.parametrize("session", ["tables"], indirect=True)
@pytest.mark.parametrize(
    "call",
    [
        f"try_make_timestamp({NOTHING}, 'SECOND', 1, 2, 3, 4)",
        f"try_make_timestamp({NOTHING}, 1, {FAILS}, 2, 3, 4)",
        f"try_element_at({NO_ARRAY}, {FAILS})",
        f"try_add({NOTHING}, {FAILS})",
        f"try_subtract({NOTHING}, {FAILS})",
        f"try_multiply({NOTHING}, {FAILS})",
        f"try_divide({FAILS}, {NOTHING})",
        f"try_divide({FAILS}, id - 1)",
        f"try_mod({FAILS}, {NOTHING})",
        f"try_mod({FAILS}, id - 1)",
        f"try_add(NULL, {FAILS})",
        f"try_add({FAILS}, NULL)",
        "try_add(CAST(concat('x', id) AS TIMESTAMP), INTERVAL 1 DAY)",
        "try_subtract(CAST(concat('x', id) AS DATE), DATE '2024-01-01')",
        f"try_add(DATE '2024-01-01', {FAILS})",
        f"try_multiply(INTERVAL 1 DAY, {FAILS})",
        f"try_divide(INTERVAL 1 DAY * {FAILS}, id)",
        f"array_append({NO_ARRAY}, {FAILS})",
        f"array_prepend({NO_ARRAY}, {FAILS})",
        f"array_insert({NO_ARRAY}, {FAILS}, 1)",
        f"array_insert(array(1), {NOTHING}, {FAILS})",
    ],
)
def test_what_stands_behind_a_null_is_not_looked_at(session: Session, call: str) -> None:
    (query,) = session.execute(f"SELECT {call} AS v FROM a WHERE id = 1")
    assert isinstance(query, Query) and query.wait(200)
    assert query.to_polars().rows() == [(None,)]


@pytest.mark.parametrize("session", ["tables"], indirect=True)
@pytest.mark.parametrize(
    "call",
    [
        f"try_add({FAILS}, {NOTHING})",
        f"try_add(id, {FAILS})",
        f"try_divide({NOTHING}, {FAILS})",
        f"try_divide({FAILS}, id)",
        f"try_add(CAST({FAILS} AS DECIMAL(10, 2)), 1)",
        f"try_make_timestamp({FAILS}, {NOTHING}, 1, 1, 1, 1)",
        f"try_element_at(array({FAILS}), {NOTHING})",
        f"try_element_at(array(1), {FAILS})",
        f"array_append(array(1), {FAILS})",
        f"array_insert(array({FAILS}), {NOTHING}, 1)",
    ],
)
def test_what_fails_before_a_null_is_an_error_of_the_row(session: Session, call: str) -> None:
    (query,) = session.execute(f"SELECT {call} AS v FROM a WHERE id = 1")
    assert isinstance(query, Query) and query.wait(200)
    assert query.to_polars().height == 0 and query.errors.height == 1


@pytest.mark.parametrize("session", ["tables"], indirect=True)
@pytest.mark.parametrize(
    ("call", "argument"),
    [
        ("split_part(s, NULL, 9223372036854775807)", 3),
        ("split_part(NULL, s, 2147483647 + 1)", 3),
        (f"element_at({NO_ARRAY}, 2147483647 + 1)", 2),
        (f"try_element_at({NO_ARRAY}, 2147483647 + 1)", 2),
        (f"{NO_ARRAY}[2147483647 + 1]", 2),
        (f"get({NO_ARRAY}, 9223372036854775807)", 2),
    ],
)
def test_a_constant_number_of_an_item_that_is_too_large_is_a_mistake_in_the_query(
    session: Session, call: str, argument: int
) -> None:
    with pytest.raises(QueryError, match=f"argument {argument} of "):
        session.execute(f"SELECT {call} AS v FROM a")


@pytest.mark.parametrize("session", ["streams"], indirect=True)
def test_distinct_values_of_one_side_of_a_join(session: Session) -> None:
    (view,) = session.execute(
        "CREATE VIEW q AS SELECT DISTINCT l.s FROM a [RANGE UNBOUNDED] l CROSS JOIN a [RANGE 4 MICROSECONDS] r"
    )
    assert isinstance(view, Query) and view.wait(200)
    log = view.changes().select("s", "op", "at").rows()
    assert bag(log) == bag([("x", 1, 0), ("x", -1, 4), ("x", 1, 5), (None, 1, 5), ("x", -1, 9), (None, -1, 9)])


@pytest.mark.parametrize("session", ["streams"], indirect=True)
@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("RIGHT", [(1, None, 1), (1, 2, 2), (2, None, 1), (2, 2, 2)]),
        ("FULL", [(1, None, 1), (1, 2, 2), (2, None, 1), (2, 2, 2)]),
        ("LEFT", [(1, 2, 2), (2, 2, 2)]),
    ],
)
def test_a_join_binds_before_a_comma(session: Session, kind: str, expected: list[tuple[object, ...]]) -> None:
    (view,) = session.execute(
        "CREATE VIEW q AS SELECT l.id AS i, m.c, r.id AS j FROM a [RANGE UNBOUNDED] l, "
        f"(SELECT id AS c FROM a [RANGE UNBOUNDED] WHERE id > 1) m {kind} JOIN a [RANGE UNBOUNDED] r ON m.c = r.id"
    )
    assert isinstance(view, Query) and view.wait(200)
    assert bag(view.to_polars().rows()) == bag(expected)


LIST = "SELECT id + 8 FROM a [RANGE 4 MICROSECONDS] UNION ALL SELECT {} FROM a [RANGE UNBOUNDED] t4"


@pytest.mark.parametrize("session", ["streams"], indirect=True)
@pytest.mark.parametrize(
    ("condition", "expected"),
    thinned(
        [
            (f"t1.id NOT IN ({LIST.format('nullif(t1.id, t1.id)')})", []),
            (f"t1.id <> ALL ({LIST.format('nullif(t1.id, t1.id)')})", []),
            (f"t1.id <> ALL ({LIST.format('t1.id + 1')})", [1, 2]),
            (f"t1.id < ALL ({LIST.format('t1.id + 1')})", [1, 2]),
            (f"t1.id > ANY ({LIST.format('t1.id - 1')})", [1, 2]),
            (f"t1.id <> ANY ({LIST.format('nullif(t1.id, 2)')})", [1, 2]),
            (f"t1.id IN ({LIST.format('t1.id')})", [1, 2]),
            (f"(t1.id IN ({LIST.format('nullif(t1.id, t1.id)')})) IS NULL", [1, 2]),
            (f"EXISTS ({LIST.format('t1.id')})", [1, 2]),
            (f"NOT EXISTS ({LIST.format('t1.id')})", []),
            ("t1.id NOT IN (SELECT nullif(t1.id, t1.id) FROM a [RANGE UNBOUNDED] t4)", []),
            ("t1.id NOT IN (SELECT t1.id + t4.id FROM a [RANGE UNBOUNDED] t4)", [1, 2]),
            ("t1.id IN (SELECT t1.id * t4.id FROM a [RANGE UNBOUNDED] t4)", [1, 2]),
            ("t1.id < ALL (SELECT t1.id * t4.id + 1 FROM a [RANGE UNBOUNDED] t4)", [1, 2]),
        ],
        4,
    ),
)
def test_lists_that_name_the_row_around_them(session: Session, condition: str, expected: list[int]) -> None:
    (view,) = session.execute(f"CREATE VIEW q AS SELECT t1.id FROM a [RANGE UNBOUNDED] t1 WHERE {condition}")
    assert isinstance(view, Query) and view.wait(200)
    assert sorted(view.to_polars()["id"].to_list()) == expected


@pytest.mark.parametrize("session", ["tables"], indirect=True)
@pytest.mark.parametrize("number", ["CAST(-128 AS TINYINT)", "CAST(-32768 AS SMALLINT)", "(-2147483648)"])
def test_the_least_number_of_a_type_has_no_negative(session: Session, number: str) -> None:
    (query,) = session.execute(f"SELECT -{number} AS v FROM a")
    assert isinstance(query, Query) and query.wait(200)
    assert query.to_polars().is_empty() and "overflow in neg" in query.errors["reason"][0]
