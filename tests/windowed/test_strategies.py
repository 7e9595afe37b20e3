"""WID, Paned-WID and AdaptWID as the planner's choices: what EXPLAIN and the control table say, and what is refused."""

from collections.abc import Iterator
from threading import Event
from unittest.mock import patch

import polars as pl
import pytest

from jupyter_stream import Session
from jupyter_stream.errors import QueryError, UnsupportedError
from jupyter_stream.partials import panes
from jupyter_stream.partials.groups import WindowGroups
from jupyter_stream.plan import strategy
from jupyter_stream.session.query import Query
from tests.tiers import slow
from tests.waiting import settle, until

SLIDING = "SELECT k, sum(v) AS total FROM rows [RANGE 10 MILLISECONDS SLIDE 1 MILLISECOND] GROUP BY k"
LANDMARK = "SELECT k, sum(v) AS total FROM rows [RANGE ALL SLIDE 1 MILLISECOND] GROUP BY k"


@pytest.fixture
def session() -> Iterator[Session]:
    """Thirty milliseconds in order; group 0 has a row every microsecond, the others one each."""
    ts = pl.Series("ts", range(30_000))
    k = pl.select(pl.when(ts % 10 > 0).then(0).otherwise(ts + 1).alias("k")).to_series()
    session = Session({"rows_frame": pl.DataFrame([ts, k, ts.alias("v")])})
    session.execute(
        "CREATE STREAM rows (ts BIGINT, k BIGINT, v BIGINT, WATERMARK FOR ts AS ts) SOURCE 'frame://rows_frame'"
    )
    yield session
    session.close()


def operator(query: Query) -> dict[str, object]:
    """The control table of the window aggregate."""
    tables: list[dict[str, object]] = query.stats["operators"]
    return next(t for t in tables if str(t["name"]).startswith("window aggregate"))


@pytest.mark.parametrize(
    ("window", "why"),
    [
        (
            "[RANGE 10 MILLISECONDS SLIDE 1 MILLISECOND]",
            "an extent is 10 panes, and a row is added to one of them instead of 10 extents",
        ),
        (
            "[RANGE 10 MILLISECONDS SLIDE 4 MILLISECONDS]",
            "an extent is 5 panes, and a row is added to one of them instead of 3 extents",
        ),
        ("[RANGE 1 MILLISECOND TUMBLING]", "each extent is one pane"),
        ("[RANGE ALL SLIDE 1 MILLISECOND]", "no row ever leaves"),
    ],
)
def test_explain_names_the_strategy_and_the_reason(session: Session, window: str, why: str) -> None:
    (plan,) = session.execute(f"EXPLAIN SELECT k, sum(v) FROM rows {window} GROUP BY k")
    assert f"{window}: {why} (Paned-WID)" in str(plan)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("wid", "a partial result for each group and extent, as asked (WID)"),
        ("adapt-wid", "partial results for each pane, but rows of groups that have few, as asked (AdaptWID)"),
        ("rows", "all rows are kept, as asked (lazy)"),
    ],
)
def test_a_strategy_that_is_asked_for_is_taken(session: Session, asked: strategy.Strategy, says: str) -> None:
    (plan,) = session.execute(f"EXPLAIN {SLIDING}", strategy=asked)
    assert says in str(plan)
    (query,) = session.execute(SLIDING, strategy=asked)
    (paned,) = session.execute(SLIDING)
    assert isinstance(query, Query) and isinstance(paned, Query)
    assert query.wait(200) and paned.wait(200)
    by = ["window_end", "k"]
    assert query.to_polars().sort(by).equals(paned.to_polars().sort(by))
    assert says in query.explain()


def test_the_control_table_counts_groups_by_state(session: Session) -> None:
    frame, read = session.namespace["rows_frame"], Event()
    assert isinstance(frame, pl.DataFrame)

    def batches() -> Iterator[pl.DataFrame]:
        for begin in range(0, 30_000, 1000):
            if begin == 25_000:
                assert read.wait(200)
            yield frame[begin : begin + 1000]

    session.namespace["batches"] = batches()
    session.execute(
        "CREATE STREAM few (ts BIGINT, k BIGINT, v BIGINT, WATERMARK FOR ts AS ts) SOURCE 'python://batches'"
    )
    (query,) = session.execute(SLIDING.replace("rows", "few"), strategy="adapt-wid")
    assert isinstance(query, Query)
    until(
        lambda: query.stats["rows_in"] >= 25_000 and operator(query).get("eager_groups") == 1, lambda: operator(query)
    )
    settle(session.engine)  # the last batch is through
    halfway = operator(query)
    read.set()
    assert isinstance(halfway["lazy_groups"], int) and halfway["lazy_groups"] > 100
    assert halfway["groups_in_transition"] == 0
    assert query.wait(200)
    assert "lazy groups" in query.explain()


def test_an_unknown_strategy_is_an_error_that_lists_them(session: Session) -> None:
    with pytest.raises(QueryError, match="adaptive") as error:
        session.execute(SLIDING, strategy="adaptive")
    assert "adapt-wid" in str(error.value.hint)


@pytest.mark.parametrize("asked", ["wid", "adapt-wid", "rows"])
def test_a_landmark_is_refused_by_strategies_that_wait_for_its_end(session: Session, asked: strategy.Strategy) -> None:
    with pytest.raises(UnsupportedError, match="no row ever leaves") as error:
        session.execute(LANDMARK, strategy=asked)
    assert "paned-wid" in str(error.value.hint)


def test_the_planner_goes_over_to_adapt_wid_when_partials_of_sparse_groups_take_too_much(session: Session) -> None:
    with patch.object(strategy, "SPARED", 100_000), patch.object(panes, "_SPARSE", 1 << 60):
        (query,) = session.execute(SLIDING)
        assert isinstance(query, Query)
        assert query.wait(200)
    assert "(AdaptWID)" in query.explain()
    assert "groups have so few rows that their rows are kept, which takes" in query.explain()
    (paned,) = session.execute(SLIDING, strategy="paned-wid")
    assert isinstance(paned, Query)
    assert paned.wait(200)
    by = ["window_end", "k"]
    assert query.to_polars().sort(by).equals(paned.to_polars().sort(by))


def test_memory_that_is_spared_lightly_changes_no_mind() -> None:
    assert strategy.reconsider(strategy.SPARED, 10, 0) is None
    assert strategy.reconsider(2 * strategy.SPARED, 10, 2 * strategy.SPARED) is None
    choice = strategy.reconsider(2 * strategy.SPARED, 1_000_000, strategy.SPARED // 2)
    assert choice is not None
    assert choice.strategy == "adapt-wid"


@pytest.mark.parametrize(
    ("window", "asked", "how"),
    [
        (
            "[RANGE 10 MILLISECONDS SLIDE 1 MILLISECOND]",
            None,
            "sum by subtract-on-evict; max by two stacks; median by pane merge",
        ),
        ("[RANGE 1 MILLISECOND TUMBLING]", None, "; median by pane merge"),
        ("[RANGE ALL SLIDE 1 MILLISECOND]", None, "; sum, max by adding panes; median by pane merge"),
        ("[RANGE 10 MILLISECONDS SLIDE 1 MILLISECOND]", "wid", "; median by pane merge"),
        ("[RANGE 10 MILLISECONDS SLIDE 1 MILLISECOND]", "rows", "sum, max, median by pane merge"),
        (
            "[RANGE 10 MILLISECONDS SLIDE 1 ROW]",
            None,
            "sum by differences of running sums; max by runs of 1, 2, 4, ... bins; median by bin merge",
        ),
        ("[ROWS 10 SLIDE 2]", None, "by pane merge"),
        ("[SESSION 1 MILLISECOND]", None, "by merging sessions"),
    ],
)
def test_explain_says_how_each_aggregate_is_folded(
    session: Session, window: str, asked: strategy.Strategy | None, how: str
) -> None:
    (plan,) = session.execute(
        f"EXPLAIN SELECT k, sum(v), max(v), median(v) FROM rows {window} GROUP BY k", strategy=asked
    )
    assert how in str(plan)


@slow
def test_a_batch_of_rows_each_of_its_own_pane_and_group_takes_memory_for_its_rows_only() -> None:
    rows = pl.DataFrame({"k": range(8_000), "ts": range(8_000)})
    with Session({"rows": rows}) as session, patch.object(strategy, "SPARED", 1_000_000):
        session.execute("CREATE STREAM s (k BIGINT, ts BIGINT) ORDER BY ts SOURCE 'frame://rows'")
        (query,) = session.execute("SELECT k, count(*) AS n FROM s [RANGE 1 MICROSECONDS TUMBLING] GROUP BY k")
        assert isinstance(query, Query)
        assert query.wait(200)
        assert query.to_polars().sort("k").select("k", "n").equals(pl.DataFrame({"k": range(8_000), "n": [1] * 8_000}))
        assert "so these rows are kept (AdaptWID)" in query.explain()
        assert query.stats["peak_state_bytes"] < 100_000_000  # a count for each pane and group is 512 million bytes


@slow
def test_few_groups_are_folded_in_at_once_however_many_panes_a_batch_spans() -> None:
    rows = pl.DataFrame({"k": [i % 4 for i in range(16_000)], "ts": range(16_000)})
    fold = WindowGroups.add
    with Session({"rows": rows}) as session, patch.object(WindowGroups, "add", autospec=True, side_effect=fold) as add:
        session.execute("CREATE STREAM s (k BIGINT, ts BIGINT) ORDER BY ts SOURCE 'frame://rows'")
        (query,) = session.execute("SELECT k, count(*) AS n FROM s [RANGE 1 MICROSECONDS TUMBLING] GROUP BY k")
        assert isinstance(query, Query)
        assert query.wait(200)
        assert query.to_polars().height == 16_000
    assert add.call_count == 1


def test_user_defined_aggregates_stay_with_panes_however_sparse_groups_are() -> None:
    rows = pl.DataFrame({"k": range(800), "ts": [i // 4 for i in range(800)]})
    total = (
        "CREATE AGGREGATE total(x BIGINT) : BIGINT { TABLE state(s BIGINT); INITIALIZE : { INSERT INTO state VALUES (x); }"
        " ITERATE : { UPDATE state SET s = s + x; } TERMINATE : { INSERT INTO RETURN SELECT s FROM state; } };"
    )
    with Session({"rows": rows}) as session, patch.object(strategy, "SPARED", 0), patch.object(panes, "_FEW", 1):
        session.execute(f"CREATE STREAM s (k BIGINT, ts BIGINT) ORDER BY ts SOURCE 'frame://rows'; {total}")
        (query,) = session.execute(
            "SELECT k, total(k) AS n FROM s [RANGE 8 MICROSECONDS SLIDE 4 MICROSECONDS] GROUP BY k"
        )
        assert isinstance(query, Query)
        assert query.wait(200)
        assert query.to_polars().select(pl.col("n") == pl.col("k")).to_series().all()
