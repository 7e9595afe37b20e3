"""The smallest windows of every kind, and sums beyond BIGINT in relations: each against what it must give."""

from __future__ import annotations

import pytest

from jupyter_stream import Session
from tests.engine.checked import Asks, check
from tests.oracle.aggregates import Aggregate
from tests.oracle.progress import Slack
from tests.oracle.windows import Lifetime, NewestRows, RowExtents, Sessions, TupleExtents
from tests.tiers import thinned
from tests.windowed.test_oracle_edges import COUNT, seconds, stream

pytestmark = pytest.mark.timeout(900)  # many small queries; a busy machine is no failure

SMALLEST: dict[str, Asks] = {
    "a second": seconds(1, 1),
    "a row": RowExtents(1, 1),
    "a row of a partition": RowExtents(1, 1, ("k",)),
    "a row alone": TupleExtents(1),
    "session": Sessions(1, "1 MICROSECOND"),
    "now": Lifetime(1, "[NOW]"),
    "newest": NewestRows(rows=1),
    "newest of a partition": NewestRows(rows=1, partition=("k",)),
    "OVER rows": {"rows": 1},
    "OVER range": {"range": 1},
}
COLUMNS = "k STRING, x DOUBLE, n BIGINT, ts TIMESTAMP"


@pytest.mark.parametrize("kind", thinned(SMALLEST, 3))
def test_windows_that_hold_a_row(kind: str) -> None:
    rows = stream([("ab"[t % 2], t / 2, t * 3, t) for t in (1, 0, 0, 3, 3, 2, 9)], COLUMNS, Slack(3))
    check(SMALLEST[kind], rows, (COUNT, Aggregate("max", "x"), Aggregate("sum", "n"), Aggregate("last", "n")))


SUMS = ("[RANGE 1 SECOND]", "[RANGE UNBOUNDED]", "[NOW]", "[ROWS 2]", "[PARTITION BY k ROWS 2]")


@pytest.mark.parametrize("window", SUMS)
@pytest.mark.parametrize("grouped", [True, False])
def test_a_sum_beyond_bigint_of_a_relation_is_an_error_and_never_another_number(window: str, grouped: bool) -> None:
    big = 2**62
    rows = [("a", big, 0), ("a", big, 0), ("a", 3, 2_000_000), ("a", -big, 2_000_000), ("a", 5, 9_000_000)]
    key, group = ("k, ", " GROUP BY k") if grouped else ("", "")
    with Session({"rows": rows}) as session:
        session.execute("CREATE STREAM s (k STRING, n BIGINT, ts BIGINT) ORDER BY ts SOURCE 'python://rows'")
        (query,) = session.execute(f"SELECT {key}sum(n) AS t FROM s {window}{group}")
        assert query.wait(200) and query.stats["state"] == "finished"
        reasons, seen = set(query.errors["reason"]), set(query.changes()["t"].to_list())
    assert reasons == {"a sum is beyond BIGINT"}
    assert seen <= {None, big, 3, 3 - big, -big, 5, 5 - big, big + 3, big - big, 8, 8 + big, 3 + big, 5 - big + 3}
    assert 2 * big not in seen and -2 * big not in seen
