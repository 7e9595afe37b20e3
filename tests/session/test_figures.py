"""The session's own figures as streams: they are what the handles say, and a session may watch itself."""

import json
from collections.abc import Iterator

import polars as pl
import pytest

from jupyter_stream import Session, SourceError
from jupyter_stream.core.figures import FIGURES, MEANINGS
from jupyter_stream.session.query import Query
from jupyter_stream.sources import open_source
from tests.tiers import slow
from tests.waiting import until

COUNT = "SELECT k, count(*) AS n FROM rows [RANGE 1 MILLISECOND TUMBLING] GROUP BY k"


@pytest.fixture
def session() -> Iterator[Session]:
    n = 5000
    rows = pl.DataFrame({"ts": range(n), "k": [i % 3 for i in range(n)]}).cast(pl.Int64)
    called: list[pl.DataFrame] = []
    with Session({"rows": rows, "warn": called.append, "called": called}) as session:
        session.execute("CREATE STREAM rows (ts BIGINT, k BIGINT) ORDER BY ts SOURCE 'frame://rows'")
        yield session


def started(session: Session, text: str, name: str) -> Query:
    (query,) = session.execute(text, name=name)
    assert isinstance(query, Query)
    return query


def look(session: Session, name: str) -> pl.DataFrame:
    """What a source of these figures would give now."""
    rows = session.figures(name)()
    return pl.DataFrame(rows, schema={n: t for n, t, _ in FIGURES[name]}, orient="row")


def test_an_ended_query_is_in_one_more_look_with_what_it_has_done(session: Session) -> None:
    sample = session.figures("queries")
    count = started(session, COUNT, "count")
    assert count.wait(200)
    (row,) = sample()
    named = dict(zip((n for n, *_ in FIGURES["queries"]), row, strict=True))
    assert (named["query"], named["engine"], named["state"]) == ("count", "kernel", "finished")
    assert (named["rows_in"], named["rows_out"], named["late"], named["bad"]) == (5000, count.to_polars().height, 0, 0)
    assert sample() == []


def test_operators_queues_and_synopses_say_what_the_handle_says(session: Session) -> None:
    watched = started(
        session,
        "SELECT core, avg(percent) AS p FROM 'system://cpu?every=100ms' [RANGE 1 HOUR TUMBLING] GROUP BY core",
        "watched",
    )

    def taken() -> bool:
        operators = look(session, "operators")
        return operators["rows_in"][0] > 2 and "open_panes" in operators["attributes"].to_list()[1]

    until(taken)
    operators, queues, synopses = (look(session, name) for name in ("operators", "queues", "synopses"))
    steps = watched._pipeline.graph.steps
    assert operators["operator"].to_list() == ["scan system://cpu?every=100ms", *(s.control.name for s in steps)]
    assert operators["place"].to_list() == list(range(len(steps) + 1))
    assert operators["rows_in"][0] > 2
    assert {"live_groups", "open_panes"} <= json.loads(operators["attributes"][1]).keys()
    assert queues["queue"].to_list() == ["queue of system://cpu?every=100ms"]
    assert json.loads(queues["attributes"][0])["most_rows"] > 0
    assert synopses["synopsis"].to_list() == [t.name for t in watched._pipeline.synopses]
    assert synopses["bytes"].sum() > 0


def test_shared_operators_are_listed_once_with_those_who_share_them(session: Session) -> None:
    text = "SELECT core, avg(percent) AS p FROM 'system://cpu?every=100ms' [RANGE 1 HOUR TUMBLING] GROUP BY core"
    started(session, text, "a")
    started(session, text, "b")
    until(lambda: "a, b" in look(session, "operators")["shared_by"].to_list())
    operators = look(session, "operators")
    assert operators.filter(pl.col("operator").str.starts_with("window aggregate")).height == 1
    assert operators.filter(pl.col("place") == 0)["shared_by"].to_list() == ["a, b"]


@slow
def test_a_session_that_watches_itself_adds_its_own_rows_and_no_more(session: Session) -> None:
    own = started(
        session,
        "SELECT query, sum(bytes) AS held, count(*) AS n FROM 'system://operators?every=100ms' "
        "[RANGE 300 MILLISECONDS TUMBLING] GROUP BY query",
        "own",
    )
    until(lambda: own.to_polars().height >= 4)
    answers = own.to_polars()
    assert answers["query"].unique().to_list() == ["own"]
    assert (
        answers["n"].max() <= 4 * 3
    )  # looks in 300 ms, each with the source and two operators, however many came before
    held = answers["held"].to_list()[1:]
    assert max(held) < 4 * 3 * 100_000


def test_an_alert_on_its_own_figures_reaches_a_function(session: Session) -> None:
    session.execute(
        "INSERT INTO 'python://warn' WITH (commit_every = '100 ms') "
        "SELECT ts, query, state FROM 'system://queries?every=100ms' WHERE state <> 'failed'"
    )
    until(lambda: session.namespace["called"])
    assert session.namespace["called"][0]["query"].to_list()[0].startswith("q")  # type: ignore[index]


def test_growth_of_a_counter_that_started_anew_counts_from_zero() -> None:
    from jupyter_stream.session.figures import Growth

    growth = Growth()
    for count, grown in ((5, 5), (9, 4), (2, 2)):
        growth.turn()
        assert growth.rate("k", count) * growth._passed == pytest.approx(grown)
    growth.turn()
    growth.turn()
    assert growth._before == {}  # what has ended is forgotten


def test_without_a_session_there_are_no_figures() -> None:
    with pytest.raises(SourceError, match="is of a session"):
        open_source("system://queries", None, {}, {})


def test_every_column_has_a_meaning_and_every_meaning_a_column() -> None:
    assert {n for columns in FIGURES.values() for n, *_ in columns} == set(MEANINGS)
