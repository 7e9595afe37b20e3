"""What a view sees of a query that goes on while it looks: nothing is missed, and what has ended is whole."""

import itertools
import threading

import pytest

import jupyter_stream
from tests.waiting import until


@pytest.fixture
def run():
    """Starts a query over (k, ts) rows that come when their events are set, and the end when the last is."""
    with jupyter_stream.Session(namespace={}) as session:

        def start(text, rows, events):
            def source():
                for i, (row, event) in enumerate(itertools.zip_longest(rows, events)):
                    if event is not None:
                        assert event.wait(200)
                    if row is not None and i < len(rows):
                        yield {"k": row[0], "ts": row[1]}

            session.namespace["source"] = source
            session.execute("CREATE STREAM s (k STRING, ts BIGINT) ORDER BY ts SOURCE 'python://source'")
            return session.execute(text)[0]

        yield start


def snapshot_while(query, happens):
    """What a query looks like, where something happens between a look at its rows and at the rest."""
    results = query._pipeline.results
    tail = results.tail

    def slow(last):
        found = tail(last)
        results.tail = tail
        happens()
        return found

    results.tail = slow
    return query.snapshot()


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5])
def test_a_view_hears_of_the_end_however_few_rows_there_were(run, rows):
    end = threading.Event()
    query = run("SELECT k, ts FROM s", [("a", i) for i in range(rows)], [*[None] * rows, end])
    until(lambda: query.to_polars().height == rows)
    before = query.snapshot()
    end.set()
    assert query.wait(200)
    assert before.state == "running" and query.version > before.version


def test_what_comes_while_a_snapshot_is_taken_is_in_the_next(run):
    first, second, end = (threading.Event() for _ in range(3))
    query = run("SELECT k, ts FROM s", [("a", 1), ("b", 2)], [first, second, end])

    def another_comes():
        second.set()
        until(lambda: query.to_polars().height == 2)

    first.set()
    until(lambda: query.to_polars().height == 1)
    seen = snapshot_while(query, another_comes)
    assert seen.rows.height == 1 and seen.version != query.version
    end.set()


def test_a_snapshot_of_a_query_that_ends_meanwhile_is_not_its_last(run):
    end = threading.Event()
    text = "SELECT k, count(*) AS n FROM s [RANGE 10 MICROSECONDS TUMBLING] GROUP BY k"
    query = run(text, [("a", 1), ("a", 11)], [None, None, end])
    until(lambda: query.to_polars().height == 1)

    def it_ends():
        end.set()
        assert query.wait(200)

    seen = snapshot_while(query, it_ends)
    assert seen.state == "running" and seen.version != query.version
    assert query.snapshot().state == "finished" and query.snapshot().rows.height == 2


def test_the_end_is_told_when_all_of_it_is_there(run):
    end, seen = threading.Event(), []
    query = run("SELECT k, ts FROM s", [("a", 1)], [None, end])
    until(lambda: query.to_polars().height == 1)
    results = query._pipeline.results
    close = results.close

    def watched():
        seen.append(query.snapshot())
        close()

    results.close = watched
    end.set()
    assert query.wait(200)
    assert [s.state for s in seen] == ["running"] and seen[0].version != query.version
    assert query.snapshot().ended is not None
