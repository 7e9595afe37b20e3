"""Plans of up to five operators against DuckDB: the bag at every instant is the same SQL over the rows alive at that instant.

Some of their parts are views, which what is above them reads by name. Some are joined with a retroactive table, which changes.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, replace

import duckdb
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jupyter_stream.engine.progress import FAR
from tests.engine.live import Live
from tests.oracle.search import searching
from tests.relations.test_oracle_sets import arrivals, session_over
from tests.tiers import slow

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
        view: whether it is a view of its own, where it is an input.
    """

    ours: str
    duckdb: str
    inputs: tuple[Plan, ...] = ()
    reads: tuple[tuple[str, int | None], ...] = ()
    view: bool = False

    def sql(self, views: list[str]) -> str:
        """As we write it; the statements that make its views are appended to `views`."""
        return self.ours.format(*(f"({p.inside(views)})" for p in self.inputs))

    def inside(self, views: list[str]) -> str:
        """The same as an input."""
        text = self.sql(views)
        if not self.view:
            return text
        views.append(f"CREATE VIEW part{len(views)} AS {text}")
        return f"SELECT k, n FROM part{len(views) - 1}"

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
    "SELECT k, (SELECT max(n) FROM {1}) AS n FROM {0}",
    "SELECT a.k, a.n + (SELECT count(*) FROM {1} b WHERE b.k = a.k) AS n FROM {0} a",
    "SELECT k, count(*) + (SELECT count(*) FROM {1}) AS n FROM {0} GROUP BY k",
    "SELECT a.k, (SELECT min(b.n) FROM {1} b WHERE b.k = a.k) AS n FROM {0} a GROUP BY a.k",
    "SELECT a.k, sum(a.n) AS n FROM {0} a GROUP BY a.k HAVING count(*) >= (SELECT count(b.n) FROM {1} b WHERE b.k = a.k)",
    "SELECT a.k, max(a.n + (SELECT min(b.n) FROM {1} b WHERE b.k = a.k)) AS n FROM {0} a GROUP BY a.k",
)


def unary(inner: st.SearchStrategy[Plan]) -> st.SearchStrategy[Plan]:
    return st.builds(lambda text, p: Plan(text, text, (p,)), st.sampled_from(UNARY), inner)


def binary(inner: st.SearchStrategy[Plan]) -> st.SearchStrategy[Plan]:
    def both(text: str, one: Plan, two: Plan) -> Plan:
        text = text.replace("SELECT k, n FROM {0} a LEFT", "SELECT a.k, a.n FROM {0} a LEFT")
        return Plan(text, text.replace("LEFT SEMI", "SEMI").replace("LEFT ANTI", "ANTI"), (one, two))

    return st.builds(both, st.sampled_from(BINARY), inner, inner)


def perhaps_views(inner: st.SearchStrategy[Plan]) -> st.SearchStrategy[Plan]:
    return st.builds(lambda plan, view: replace(plan, view=view), inner, st.booleans())


leaves = perhaps_views(st.builds(leaf, st.sampled_from(["s", "t"]), st.none() | st.integers(1, 20)))
plans = st.recursive(leaves, lambda inner: perhaps_views(unary(inner) | binary(inner)), max_leaves=4)


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
        views: list[str] = []
        text = f"CREATE VIEW v AS {plan.sql(views)}"
        text = ";".join([*views, text])
        *_, view = session.execute(text)
        assert view.wait(200), text
        got = Counter(view.changes().select("k", "n", "op", "at").rows())
        (now,) = session.execute("SELECT k, n FROM v")
        assert now.wait(200) and Counter(now.to_polars().rows()) == Counter(view.to_polars().select("k", "n").rows())
    assert got == changes_by_duckdb(plan, rows), text


TABLED = (
    "SELECT a.k, b.n FROM {0} a JOIN r b ON a.k = b.k",
    "SELECT b.k, a.n FROM {0} a JOIN r b ON a.n = b.n AND a.k <> b.k",
    "SELECT a.k, b.n FROM {0} a LEFT JOIN r b ON a.k = b.k",
    "SELECT a.k, a.n FROM {0} a LEFT SEMI JOIN r b ON a.n = b.n",
    "SELECT a.k, a.n FROM {0} a LEFT ANTI JOIN r b ON a.k = b.k",
    "SELECT k, n FROM {0} WHERE n IN (SELECT n FROM r)",
    "SELECT k, n FROM {0} WHERE k NOT IN (SELECT k FROM r)",
    "SELECT k, n FROM {0} WHERE n >= (SELECT avg(n) FROM r)",
    "SELECT a.k, a.n + (SELECT count(*) FROM r b WHERE b.k = a.k) AS n FROM {0} a",
    "SELECT k, count(*) + (SELECT max(n) FROM r) AS n FROM {0} GROUP BY k",
    "SELECT a.k, b.n FROM {0} a LEFT JOIN (SELECT k, count(*) AS n FROM r GROUP BY k) b ON a.k = b.k",
    "SELECT k, n FROM {0} WHERE n NOT IN (SELECT min(n) FROM r GROUP BY k)",
)


def tabled(inner: st.SearchStrategy[Plan]) -> st.SearchStrategy[Plan]:
    def made(text: str, below: Plan) -> Plan:
        return Plan(text, text.replace("LEFT SEMI", "SEMI").replace("LEFT ANTI", "ANTI"), (below,))

    return st.builds(made, st.sampled_from(TABLED), inner)


# rows that live on: what a table's change revises once the streams have ended
lasting = perhaps_views(st.builds(leaf, st.sampled_from(["s", "t"]), st.none()))
tabled_plans = tabled(
    st.recursive(lasting, lambda inner: perhaps_views(unary(inner) | binary(inner) | tabled(inner)), max_leaves=3)
).flatmap(lambda plan: st.sampled_from([plan, *(Plan(text, text, (plan,)) for text in UNARY)]))
CHANGES = (
    "INSERT INTO r VALUES ('a', 1)",
    "INSERT INTO r VALUES ('b', 2), ('b', 0), (NULL, 1)",
    "INSERT INTO r VALUES ('a', NULL)",
    "DELETE FROM r WHERE k = 'a'",
    "DELETE FROM r WHERE n IS NULL",
    "UPDATE r SET n = n + 1",
    "UPDATE r SET k = 'a' WHERE n = 2",
    "DELETE FROM r",
)


@slow
@searching
@given(
    tabled_plans,
    arrivals(),
    arrivals(),
    st.lists(st.integers(1, 5), max_size=8),
    st.lists(st.sampled_from(CHANGES), min_size=1, max_size=2),
    st.lists(st.sampled_from(CHANGES), min_size=2, max_size=5),
)
def test_a_plan_follows_a_retroactive_table_as_duckdb_does(
    plan: Plan, s: Rows, t: Rows, pieces: list[int], early: list[str], late: list[str]
) -> None:
    rows = {"s": s, "t": t}
    with session_over(rows, pieces) as session, duckdb.connect() as database:
        for name, data in rows.items():
            database.execute(f"CREATE TABLE {name} (k VARCHAR, n BIGINT, ts BIGINT)")
            if data:
                database.executemany(f"INSERT INTO {name} VALUES (?, ?, ?)", data)
        database.execute("CREATE TABLE r (k VARCHAR, n BIGINT)")
        session.execute("CREATE RETROACTIVE TABLE r (k STRING, n BIGINT)")
        for change in early:
            session.execute(change)
            database.execute(change)
        views: list[str] = []
        text = f"CREATE VIEW v AS {plan.sql(views)}"
        text = ";".join([*views, text])
        *_, view = session.execute(text)
        assert view.wait(200), text
        reference = f"SELECT k, n FROM ({plan.reference()})".replace("$now", str(FAR))
        for change in [None, *late]:
            if change is not None:
                session.execute(change)
                database.execute(change)
            expected = Counter(database.execute(reference).fetchall())
            assert Counter(view.to_polars().select("k", "n").rows()) == expected, (text, change)


EVENTS = st.lists(
    st.sampled_from(CHANGES)
    | st.tuples(st.sampled_from("st"), st.none() | st.sampled_from("ab"), st.none() | st.integers(0, 2)),
    max_size=12,
)


@slow
@searching
@given(tabled_plans, EVENTS)
def test_a_plan_follows_a_retroactive_table_that_changes_while_rows_come(
    plan: Plan, events: list[str | tuple[str, str | None, int | None]]
) -> None:
    read = sorted({stream for stream, _ in plan.leaves})
    schema = {"k": pl.String, "n": pl.Int64, "ts": pl.Int64}
    with Live(dict.fromkeys(read, schema)) as live, duckdb.connect() as database:
        database.execute("CREATE TABLE r (k VARCHAR, n BIGINT)")
        live.session.execute("CREATE RETROACTIVE TABLE r (k STRING, n BIGINT)")
        for name in read:
            database.execute(f"CREATE TABLE {name} (k VARCHAR, n BIGINT, ts BIGINT)")
            live.session.execute(
                f"CREATE STREAM {name} (k STRING, n BIGINT, ts BIGINT, WATERMARK FOR ts AS ts) SOURCE 'python://{name}'"
            )
        views: list[str] = []
        text = f"CREATE VIEW v AS {plan.sql(views)}"
        text = ";".join([*views, text])
        *_, view = live.session.execute(text)
        # a change of the table counts from the clock, so rows have its times; the last rows come after all changes
        for event in (*events, *((name, None, None) for name in read)):
            if isinstance(event, str):
                live.session.execute(event)
                database.execute(event)
            elif event[0] in read:
                row = (*event[1:], time.time_ns() // 1_000)
                live.say(view, event[0], row)
                database.execute(f"INSERT INTO {event[0]} VALUES (?, ?, ?)", row)
        live.end(view)
        reference = f"SELECT k, n FROM ({plan.reference()})".replace("$now", str(time.time_ns()))
        expected = Counter(database.execute(reference).fetchall())
        assert Counter(view.to_polars().select("k", "n").rows()) == expected, text
        told: Counter = Counter()
        for k, n, op in view.changes().select("k", "n", "op").rows():
            told[k, n] += op
        assert +told == expected and min(told.values(), default=0) >= 0, text
