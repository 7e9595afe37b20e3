"""Plans of up to five operators against DuckDB: the bag at every instant is the same SQL over the rows alive at that instant."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import duckdb
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.engine.test_oracle_sets import arrivals, session_over
from tests.oracle.search import searching

pytestmark = pytest.mark.timeout(900)  # many small queries; a busy machine is no failure

Rows = list[tuple[str | None, int | None, int]]


@dataclass(frozen=True)
class Plan:
    """SQL with places for its inputs, each of which gives k and n.

    Attributes:
        ours: how we write it.
        duckdb: how DuckDB does, where that differs.
        inputs: its inputs; of a leaf, none.
        reads: the streams and ranges it reads.
    """

    ours: str
    duckdb: str
    inputs: tuple[Plan, ...] = ()
    reads: tuple[tuple[str, int | None], ...] = ()

    def sql(self) -> str:
        return self.ours.format(*(f"({p.sql()})" for p in self.inputs))

    def reference(self) -> str:
        return self.duckdb.format(*(f"({p.reference()})" for p in self.inputs))

    @property
    def leaves(self) -> tuple[tuple[str, int | None], ...]:
        return self.reads + tuple(leaf for p in self.inputs for leaf in p.leaves)


def leaf(stream: str, lifetime: int | None) -> Plan:
    window = "RANGE UNBOUNDED" if lifetime is None else f"RANGE {lifetime} MICROSECONDS"
    alive = "ts <= $now" if lifetime is None else f"ts <= $now AND $now < ts + {lifetime}"
    return Plan(
        f"SELECT k, n FROM {stream} [{window}]", f"SELECT k, n FROM {stream} WHERE {alive}", (), ((stream, lifetime),)
    )


UNARY = (
    "SELECT k, n FROM {0} WHERE n >= 1",
    "SELECT k, n FROM {0} WHERE k = 'a' OR n IS NULL",
    "SELECT k, n % 2 AS n FROM {0}",
    "SELECT DISTINCT k, n FROM {0}",
    "SELECT k, max(n) AS n FROM {0} GROUP BY k",
    "SELECT k, count(*) AS n FROM {0} GROUP BY k HAVING count(*) > 1",
    "SELECT k, count(n) AS n FROM {0} WHERE k IS NOT NULL GROUP BY k",
)
BINARY = (
    "{0} UNION ALL {1}",
    "{0} UNION {1}",
    "{0} EXCEPT ALL {1}",
    "{0} EXCEPT {1}",
    "{0} INTERSECT ALL {1}",
    "{0} INTERSECT {1}",
    "SELECT a.k, b.n FROM {0} a JOIN {1} b ON a.k = b.k",
    "SELECT b.k, a.n FROM {0} a JOIN {1} b ON a.n = b.n AND a.k <> b.k",
    "SELECT a.k, b.n FROM {0} a LEFT JOIN {1} b ON a.k = b.k AND a.n <= b.n",
    "SELECT b.k, a.n FROM {0} a RIGHT JOIN {1} b ON a.k = b.k",
    "SELECT coalesce(a.k, b.k) AS k, b.n FROM {0} a FULL JOIN {1} b ON a.k = b.k",
    "SELECT k, n FROM {0} a LEFT SEMI JOIN {1} b ON a.n = b.n",
    "SELECT k, n FROM {0} a LEFT ANTI JOIN {1} b ON a.n = b.n",
    "SELECT k, n FROM {0} WHERE n IN (SELECT n FROM {1})",
    "SELECT k, n FROM {0} WHERE n NOT IN (SELECT n FROM {1})",
    "SELECT k, n FROM {0} WHERE n >= (SELECT avg(n) FROM {1})",
    "SELECT a.k, a.n FROM {0} a WHERE a.n >= (SELECT max(b.n) FROM {1} b WHERE b.k = a.k)",
    "SELECT a.k, a.n FROM {0} a WHERE (SELECT count(*) FROM {1} b WHERE b.k = a.k) <= 1",
)


def unary(inner: st.SearchStrategy[Plan]) -> st.SearchStrategy[Plan]:
    return st.builds(lambda text, p: Plan(text, text, (p,)), st.sampled_from(UNARY), inner)


def binary(inner: st.SearchStrategy[Plan]) -> st.SearchStrategy[Plan]:
    def both(text: str, one: Plan, two: Plan) -> Plan:
        text = text.replace("SELECT k, n FROM {0} a LEFT", "SELECT a.k, a.n FROM {0} a LEFT")
        return Plan(text, text.replace("LEFT SEMI", "SEMI").replace("LEFT ANTI", "ANTI"), (one, two))

    return st.builds(both, st.sampled_from(BINARY), inner, inner)


leaves = st.builds(leaf, st.sampled_from(["s", "t"]), st.none() | st.integers(1, 20))
plans = st.recursive(leaves, lambda inner: unary(inner) | binary(inner), max_leaves=4)


def changes_by_duckdb(plan: Plan, rows: dict[str, Rows]) -> Counter[tuple]:
    """Rows that enter (1) and leave (-1) at each instant, by asking DuckDB at each instant at which an input changes."""
    instants = set()
    with duckdb.connect() as database:
        for name, data in rows.items():
            database.execute(f"CREATE TABLE {name} (k VARCHAR, n BIGINT, ts BIGINT)")
            if data:
                database.executemany(f"INSERT INTO {name} VALUES (?, ?, ?)", data)
        for stream, lifetime in plan.leaves:
            for _, _, ts in rows[stream]:
                instants |= {ts} if lifetime is None else {ts, ts + lifetime}
        found: Counter[tuple] = Counter()
        before: Counter[tuple] = Counter()
        text = f"SELECT k, n FROM ({plan.reference()})"
        for instant in sorted(instants):
            now = Counter(database.execute(text.replace("$now", str(instant))).fetchall())
            for sign, some in ((1, now - before), (-1, before - now)):
                for row, count in some.items():
                    found[*row, sign, instant] += count
            before = now
    return found


def twice(text: str) -> Plan:
    """The bag union of a plan with itself."""
    inner = Plan(text, text.replace("LEFT ANTI", "ANTI"), (leaf("s", 18), leaf("s", 17)))
    return Plan("{0} UNION ALL {1}", "{0} UNION ALL {1}", (inner, inner))


SOME: Rows = [("b", None, 0), ("a", 1, 8), ("a", 0, 7), ("a", 1, 13), (None, 2, 17)]


@searching
@example(twice("SELECT a.k, a.n FROM {0} a LEFT ANTI JOIN {1} b ON a.n = b.n"), SOME, [], [])
@example(twice("SELECT a.k, b.n FROM {0} a JOIN {1} b ON a.k = b.k"), SOME, [], [])
@given(plans, arrivals(), arrivals(), st.lists(st.integers(1, 5), max_size=8))
def test_a_plan_holds_at_every_instant_what_duckdb_finds_in_the_rows_alive(
    plan: Plan, s: Rows, t: Rows, pieces: list[int]
) -> None:
    rows = {"s": s, "t": t}
    with session_over(rows, pieces) as session:
        (view,) = session.execute(f"CREATE VIEW v AS {plan.sql()}")
        assert view.wait(30), plan.sql()
        got = Counter(view.changes().select("k", "n", "op", "at").rows())
    assert got == changes_by_duckdb(plan, rows), plan.sql()
