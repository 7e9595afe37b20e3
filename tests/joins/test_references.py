"""Rows that break a FOREIGN KEY go to `late(name)`, whole, as soon as what they refer to can come no more."""

from __future__ import annotations

import polars as pl
import pytest

from jupyter_stream import Query, Session
from tests.engine.live import Live

ITEMS = [(1, "pen", 10), (2, "ink", 11), (3, "nib", 12), (None, "cap", 13), (1, "box", 30)]
ORDERS = [(1, 50, 12), (3, 70, 19), (9, 20, 60)]
"""Order 3 comes 7 after its item; order 2 never; an item without order number refers to nothing."""
ITEM, ORDER = {"o": pl.Int64, "item": pl.String, "at": pl.Int64}, {"o": pl.Int64, "price": pl.Int64, "placed": pl.Int64}
DECLARED = """
CREATE STREAM Orders (o BIGINT, price BIGINT, placed BIGINT) ORDER BY placed SOURCE '{0}orders';
CREATE STREAM Items (o BIGINT, item STRING, at BIGINT, FOREIGN KEY (o) REFERENCES Orders WITHIN 5 MICROSECONDS)
ORDER BY at SOURCE '{0}items'
"""
JOIN = "SELECT i.at, price FROM Items {} i {} Orders {} p ON i.o = p.o"
WINDOWS = ("[RANGE 1 MINUTE]", "JOIN", "[RANGE 1 HOUR]")


def run(*texts: str, sources: str = "frame://") -> tuple[Session, list[Query]]:
    """Queries of one cell over these rows, ended."""
    frames = {"orders": pl.DataFrame(ORDERS, ORDER, orient="row"), "items": pl.DataFrame(ITEMS, ITEM, orient="row")}
    namespace = (
        frames if sources == "frame://" else {name: (lambda f=f: f.iter_slices(2)) for name, f in frames.items()}
    )
    session = Session(namespace)
    session.execute(DECLARED.format(sources))
    queries = [q for q in session.execute(";".join(texts)) if isinstance(q, Query)]
    assert all(q.wait(200) for q in queries)
    return session, queries


def listed(query: Query) -> list[tuple[object, ...]]:
    return sorted(query.late.select("item", "punctuation", "missed").rows())


BROKE = [("ink", 17, None), ("nib", 18, None)]
"""With the first time of Orders at which nothing they refer to can come: their own, and 5, and 1."""


@pytest.mark.parametrize("sources", ["frame://", "python://"])
def test_rows_that_refer_to_nothing_in_time_are_listed_whole_though_the_query_reads_less(sources: str) -> None:
    session, (query,) = run(JOIN.format(*WINDOWS), sources=sources)
    assert sorted(query.to_polars().rows()) == [(10, 50), (30, 50)]
    assert listed(query) == BROKE and query.snapshot(0).state_bytes == 0
    assert all(t["bytes"] == 0 for t in query.stats["operators"])
    (late,) = session.execute("SELECT o, item, punctuation FROM late(Items)")
    assert isinstance(late, Query) and late.wait(200)
    assert sorted(late.to_polars().select("o", "item", "punctuation").rows()) == [(2, "ink", 17), (3, "nib", 18)]
    session.close()


@pytest.mark.parametrize("kind", ["LEFT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN"])
def test_joins_of_every_kind_tell_of_them(kind: str) -> None:
    columns = "i.at" if kind in ("LEFT SEMI JOIN", "LEFT ANTI JOIN") else "i.at, price"
    session, (query,) = run(JOIN.replace("i.at, price", columns).format("[RANGE 1 MINUTE]", kind, "[RANGE 1 HOUR]"))
    assert listed(query) == BROKE
    session.close()


def test_the_stream_that_refers_may_be_the_right_one() -> None:
    session, (query,) = run("SELECT i.at FROM Orders [RANGE 1 HOUR] p JOIN Items [RANGE 1 MINUTE] i ON i.o = p.o")
    assert listed(query) == BROKE
    session.close()


def test_a_further_condition_breaks_nothing() -> None:
    session, (query,) = run(JOIN.format(*WINDOWS) + " AND i.at + price > 70")
    assert query.to_polars().rows() == [(30, 50)] and listed(query) == BROKE
    session.close()


@pytest.mark.parametrize(
    "text",
    [
        JOIN.format(*WINDOWS) + " WHERE price > 60",  # the order may be among those left out
        JOIN.format("[RANGE 3 MICROSECONDS]", "JOIN", "[RANGE 1 HOUR]"),  # it may come after the item has left
        "SELECT i.at FROM Items [RANGE 1 MINUTE] i JOIN Orders [RANGE 1 HOUR] p ON i.o = p.o AND i.at = p.price",
    ],
)
def test_a_join_that_does_not_look_for_all_a_row_may_refer_to_accuses_none(text: str) -> None:
    session, (query,) = run(text)
    assert listed(query) == []
    session.close()


def test_each_query_that_shares_the_join_tells_of_them_once() -> None:
    session, queries = run(*(JOIN.format(*WINDOWS) + more for more in ("", " WHERE i.at + price > 0")))
    assert [listed(q) for q in queries] == [BROKE, BROKE]
    session.close()


def test_they_are_told_of_when_the_other_stream_has_got_past_them_and_kept_no_longer() -> None:
    with Live({"orders": ORDER, "items": ITEM}) as live:
        live.session.execute(DECLARED.format("python://"))
        (query,) = live.session.execute(JOIN.format(*WINDOWS))
        assert isinstance(query, Query)
        live.say(query, "items", (1, "pen", 10), (2, "ink", 11), (3, "nib", 40))
        live.say(query, "orders", (1, 50, 14), (7, 50, 16))
        assert listed(query) == []  # order 2 may come at 16 as well
        (kept,) = (t for t in query._pipeline.synopses if t.name == "rows of Items that wait for what they refer to")
        assert kept.extra["rows"] == 3
        live.say(query, "orders", (8, 50, 17))
        assert listed(query) == [("ink", 17, None)]
        live.say(query, "orders", (9, 50, 60), (9, 50, 61))
        assert listed(query) == [("ink", 17, None), ("nib", 46, None)] and query.status == "running"
        live.end(query)
        assert kept.bytes == 0
