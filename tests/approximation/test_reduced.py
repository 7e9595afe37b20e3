"""APPROXIMATE: what a query is changed into before it starts, how little, what is refused, and what its answers say."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
import pytest

from jupyter_stream import Query, QueryError, Session
from jupyter_stream.plan.footprint import Known, held
from jupyter_stream.plan.logical import Sample, walk
from jupyter_stream.plan.rates import Rates
from jupyter_stream.plan.reduced import shortened
from jupyter_stream.plan.sampling import sampled

N = 50_000
RNG = np.random.default_rng(3)
ROWS = pl.DataFrame({"ts": np.arange(N) * 100_000, "k": RNG.choice(5, N), "n": RNG.integers(0, 1000, N)})
"""Ten rows a second, for 83 minutes."""
OTHERS = ROWS.with_columns(pl.col("n").reverse())
DECLARED = """CREATE STREAM s (ts BIGINT, k BIGINT, n BIGINT) ORDER BY ts SOURCE 'frame://rows';
CREATE STREAM r (ts BIGINT, k BIGINT, n BIGINT) ORDER BY ts SOURCE 'frame://others'"""


@pytest.fixture
def session() -> Iterator[Session]:
    with Session({"rows": ROWS, "others": OTHERS}) as session:
        session.execute(DECLARED)
        yield session


def changed(session: Session, text: str) -> tuple[str, ...]:
    """What EXPLAIN says a query became."""
    lines = str(session.execute("EXPLAIN " + text)[0]).splitlines()
    return tuple(line.removeprefix("approximate: ") for line in lines if line.startswith("approximate: "))[:-1]


SLIDING = "FROM s [RANGE 1 HOUR SLIDE 5 MINUTES] GROUP BY k"
JOIN = "SELECT a.n, b.n AS m FROM s [RANGE 1 HOUR] a, r [RANGE 1 HOUR] b WHERE a.k = b.k AND a.n = b.n"
CHANGES = {
    "median": ("SELECT k, median(n) AS m FROM s [RANGE 1 HOUR SLIDE 5 MINUTES] GROUP BY k", "200 kB", ("SAMPLE 10 % of s",)),
    "max": (f"SELECT k, max(n) AS m, median(n) AS d {SLIDING}", "700 kB", ("RANGE 1 HOUR became 20 MINUTES",)),
    "join": (JOIN, "1.2 MB", ("RANGE 1 HOUR became 20 MINUTES",)),
    "relation": ("SELECT k, sum(n) AS t FROM s [RANGE 1 HOUR] GROUP BY k", "700 kB", ("SAMPLE 40 % of s",)),
    "enough": ("SELECT k, sum(n) AS t FROM s [RANGE 1 HOUR SLIDE 5 MINUTES] GROUP BY k", "1 MB", ()),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_as_little_is_given_up_as_is_enough(session: Session, name: str) -> None:
    text, size, expected = CHANGES[name]
    assert changed(session, f"APPROXIMATE {text} TO '{size}'") == expected


def test_a_tolerance_says_how_far(session: Session) -> None:
    text = "SELECT k, max(n) AS m, median(n) AS d FROM s [RANGE 1 HOUR SLIDE 5 MINUTES] GROUP BY k"
    kept = changed(
        session, f"APPROXIMATE {text} WITH TOLERANCE (WINDOW AT LEAST 30 MINUTES, SAMPLE AT LEAST 50) TO '700 kB'"
    )
    assert kept == ("RANGE 1 HOUR became 45 MINUTES", "SAMPLE 50 % of s")
    with pytest.raises(
        QueryError, match=r"can't be made to fit into 20 kB[\s\S]*allows windows of at least 30 minutes"
    ):
        session.execute(f"APPROXIMATE {text} WITH TOLERANCE (WINDOW AT LEAST 30 MINUTES) TO '20 kB'")


REFUSED = {
    "SELECT DISTINCT k, n FROM s [RANGE 1 HOUR]": "below DISTINCT: with less input a value ends sooner",
    "SELECT k, n FROM s [RANGE 1 SECOND] EXCEPT ALL SELECT k, n FROM r [RANGE 1 HOUR]": "right of EXCEPT",
    "SELECT n FROM s [RANGE 1 SECOND] WHERE n NOT IN (SELECT n FROM r [RANGE 1 HOUR])": "right of a negation",
}


@pytest.mark.parametrize("text", REFUSED, ids=list(REFUSED.values()))
def test_where_less_input_makes_more_output_nothing_is_given_up(session: Session, text: str) -> None:
    with pytest.raises(QueryError, match="can't be made to fit") as refused:
        session.execute(f"APPROXIMATE {text} TO '3 kB'")
    assert REFUSED[text] in str(refused.value)


def test_the_left_of_a_negation_may_have_less(session: Session) -> None:
    text = "SELECT k, n FROM s [RANGE 1 HOUR] EXCEPT ALL SELECT k, n FROM r [RANGE 1 SECOND]"
    assert changed(session, f"APPROXIMATE {text} TO '1.5 MB'") == ("RANGE 1 HOUR became 30 MINUTES",)


def test_answers_say_what_was_done_and_how_far_they_are_off(session: Session) -> None:
    text = "SELECT k, count(*) AS c, sum(n) AS t, median(n) AS m FROM s [RANGE 20 MINUTES TUMBLING] GROUP BY k"
    (query,) = session.execute(f"APPROXIMATE {text} TO '60 kB'")
    (exact,) = session.execute(text)
    assert isinstance(query, Query) and isinstance(exact, Query)
    assert query.wait(200) and exact.wait(200)
    share = query.precision.share
    assert query.precision.changed == ("SAMPLE 10 % of s",) and 0.09 < share < 0.11
    assert query.snapshot().notes["precision"].startswith("SAMPLE 10 % of s; ")
    both = query.to_polars().join(exact.to_polars(), on=["window_end", "k"], suffix="_exact")
    precision = both["precision"].struct.unnest()
    assert set(precision["done"]) == {"SAMPLE 10 % of s"} and set(precision["share"]) == {0.1}
    errors = precision["error"].struct.unnest()
    z = np.concatenate([((both[v] - both[f"{v}_exact"]) / errors[v]).to_numpy() for v in ("c", "t")])
    assert np.abs(z).max() < 4 and np.mean(np.abs(z) < 1.96) > 0.85


def test_answers_of_a_shortened_window_are_not_called_exact(session: Session) -> None:
    (query,) = session.execute(f"APPROXIMATE SELECT k, max(n) AS m, median(n) AS d {SLIDING} TO '700 kB'")
    assert isinstance(query, Query) and not query.precision.exact
    assert query.wait(200)
    assert query.precision.changed == ("RANGE 1 HOUR became 20 MINUTES",) and not query.precision.exact
    precision = query.to_polars()["precision"].struct.unnest()
    assert set(precision["done"]) == {"RANGE 1 HOUR became 20 MINUTES"}
    assert set(precision["fp"]) == set(precision["fn"]) == {None}


def test_rows_of_a_stream_that_is_read_twice_are_drawn_each_by_themselves(session: Session) -> None:
    text = "SELECT n FROM s [RANGE 20 MINUTES] UNION ALL SELECT n FROM s [RANGE 20 MINUTES]"
    (query,) = session.execute(text)
    assert isinstance(query, Query)
    plan = query._pipeline.query.plan
    seeds = [node.seed for node in walk(sampled(plan, 0.5)) if isinstance(node, Sample)]
    assert len(seeds) == len(set(seeds)) == 2


def test_a_query_that_is_there_can_be_made_to_fit(session: Session) -> None:
    (query,) = session.execute("SELECT k, median(n) AS m FROM s [RANGE 1 HOUR SLIDE 5 MINUTES] GROUP BY k", name="q")
    assert isinstance(query, Query)
    assert query.wait(200)
    (smaller,) = session.execute("APPROXIMATE QUERY q TO '200 kB'")
    assert isinstance(smaller, Query) and smaller.name == "q" and smaller is not query
    assert smaller.wait(200)
    assert smaller.precision.changed and "precision" in smaller.to_polars().columns
    (whole,) = session.execute("APPROXIMATE QUERY q TO '1 GB'")  # what was given up before comes back
    assert isinstance(whole, Query)
    assert whole.precision.changed == ()
    with pytest.raises(QueryError, match="there is no stream or query called p") as refused:
        session.execute("APPROXIMATE QUERY p TO '1 MB'")
    assert "^" in str(refused.value)


def test_a_share_of_the_processor_needs_a_pace(session: Session) -> None:
    text = "SELECT k, median(n) AS m FROM {} [RANGE 1 HOUR SLIDE 5 MINUTES] GROUP BY k"
    with pytest.raises(QueryError, match="read as fast as it is taken"):
        session.execute(f"APPROXIMATE {text.format('s')} TO 20% CPU")
    session.execute(
        "CREATE STREAM paced (ts BIGINT, k BIGINT, n BIGINT) ORDER BY ts SOURCE 'frame://rows' WITH (rate = '10000000/s')"
    )
    (said,) = changed(session, f"APPROXIMATE {text.format('paced')} TO 100% CPU")
    assert said.startswith("SAMPLE ")


def test_of_a_live_stream_something_has_to_be_known() -> None:
    with Session({"rows": iter([ROWS])}) as session:
        session.execute("CREATE STREAM s (ts BIGINT, k BIGINT, n BIGINT) ORDER BY ts SOURCE 'python://rows'")
        with pytest.raises(QueryError, match="nothing is known yet of how fast s comes"):
            session.execute("APPROXIMATE SELECT n FROM s TO '1 MB'")


def test_more_rows_need_more_bytes_and_shorter_windows_fewer(session: Session) -> None:
    (query,) = session.execute(JOIN)
    assert isinstance(query, Query)
    plan = query._pipeline.query.plan
    few, many = (held(plan, Known(Rates({"s": rate, "r": rate}))) for rate in (1.0, 10.0))
    assert 9 < many / few < 11
    found = shortened(plan, 1 / 3, 1)
    assert found is not None and found[1] == ("RANGE 1 HOUR became 20 MINUTES",)
    assert 2.9 < few / held(found[0], Known(Rates({"s": 1.0, "r": 1.0}))) < 3.1
