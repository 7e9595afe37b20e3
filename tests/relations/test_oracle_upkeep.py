"""Three ways to keep relations up to date, one answer: by update pattern, directly, with negative tuples; and brute force."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracle.search import searching
from tests.relations.test_oracle_sets import arrivals, session_over

pytestmark = pytest.mark.timeout(900)  # many small queries; a busy machine is no failure

Row = tuple[str | None, int | None, int]
Bag = Counter[tuple[object, ...]]
Alive = Callable[[str, int], list[Row]]


def q_join(alive: Alive) -> Bag:
    return Counter(
        (k, n, m) for k, n, _ in alive("s", D) for j, m, _ in alive("t", E) if k is not None and k == j and n != 2
    )


def q_distinct(alive: Alive) -> Bag:
    return Counter({(k,) for k, _, _ in alive("s", D)})


def q_distinct_join(alive: Alive) -> Bag:
    left, right = {k for k, _, _ in alive("s", D)}, {(k, n) for k, n, _ in alive("t", E)}
    return Counter((k, n) for k, n in right if k in left and k is not None)


def q_distinct_of_join(alive: Alive) -> Bag:
    return Counter(set(q_join(alive)))


def q_difference(alive: Alive) -> Bag:
    return Counter((k, n) for k, n, _ in alive("s", D)) - Counter((k, n) for k, n, _ in alive("t", E))


def q_difference_joined(alive: Alive) -> Bag:
    found: Bag = Counter()
    for (k, n), count in q_difference(alive).items():
        for j, m, _ in alive("t", D):
            if k is not None and k == j and m == 1:
                found[k, n, m] += count
    return found


def q_distinct_negated(alive: Alive) -> Bag:
    return Counter(set(q_difference(alive)))


def q_intersection(alive: Alive) -> Bag:
    joined = Counter((k,) for k, _, _ in q_join(alive).elements())
    return joined & Counter((k,) for k, _, _ in alive("t", D))


D, E = 11, 5
LEFT, RIGHT = f"s [RANGE {D} MICROSECONDS]", f"t [RANGE {E} MICROSECONDS]"
QUERIES: dict[str, tuple[str, Callable[[Alive], Bag]]] = {
    "join": (
        f"SELECT l.k, l.n, r.n AS m FROM {LEFT} l JOIN {RIGHT} r ON l.k = r.k WHERE l.n IS NULL OR l.n <> 2",
        q_join,
    ),
    "distinct": (f"SELECT DISTINCT k FROM {LEFT}", q_distinct),
    "join of distinct": (
        f"SELECT r.k, r.n FROM (SELECT DISTINCT k FROM {LEFT}) l JOIN (SELECT DISTINCT k, n FROM {RIGHT}) r ON l.k = r.k",
        q_distinct_join,
    ),
    "distinct of a join": (
        f"SELECT DISTINCT l.k, l.n, r.n AS m FROM {LEFT} l JOIN {RIGHT} r ON l.k = r.k WHERE l.n IS NULL OR l.n <> 2",
        q_distinct_of_join,
    ),
    "difference": (f"SELECT k, n FROM {LEFT} EXCEPT ALL SELECT k, n FROM {RIGHT}", q_difference),
    "join of a difference": (
        f"SELECT x.k, x.n, f.n AS m FROM (SELECT k, n FROM {LEFT} EXCEPT ALL SELECT k, n FROM {RIGHT}) x,"
        f" t [RANGE {D} MICROSECONDS] f WHERE x.k = f.k AND f.n = 1",
        q_difference_joined,
    ),
    "distinct of a difference": (
        f"SELECT DISTINCT k, n FROM (SELECT k, n FROM {LEFT} EXCEPT ALL SELECT k, n FROM {RIGHT})",
        q_distinct_negated,
    ),
    "intersection with a join": (
        f"SELECT l.k FROM {LEFT} l JOIN {RIGHT} r ON l.k = r.k WHERE l.n IS NULL OR l.n <> 2"
        f" INTERSECT ALL SELECT k FROM t [RANGE {D} MICROSECONDS]",
        q_intersection,
    ),
}


def expected(query: Callable[[Alive], Bag], rows: dict[str, list[Row]]) -> Counter[tuple[object, ...]]:
    """Every change, by brute force over all instants at which anything happens."""
    times = {ts for some in rows.values() for _, _, ts in some}
    found: Counter[tuple[object, ...]] = Counter()
    before: Bag = Counter()
    for instant in sorted(times | {t + D for t in times} | {t + E for t in times}):
        now = query(lambda name, d, at=instant: [r for r in rows[name] if r[2] <= at < r[2] + d])
        for row, count in (now - before).items():
            found[*row, 1, instant] += count
        for row, count in (before - now).items():
            found[*row, -1, instant] += count
        before = now
    return found


@searching
@given(
    st.sampled_from(sorted(QUERIES)),
    arrivals(),
    arrivals(),
    st.lists(st.integers(1, 5), max_size=8),
    st.integers(1, 20),
)
def test_every_upkeep_gives_the_changes_brute_force_gives(
    name: str, s: list[Row], t: list[Row], pieces: list[int], partitions: int
) -> None:
    sql, query = QUERIES[name]
    rows = {"s": s, "t": t}
    wanted = expected(query, rows)
    with_times = session_over(rows, pieces)
    for upkeep in ("upa", "direct", "nt"):
        (view,) = with_times.execute(f"CREATE VIEW {upkeep} AS {sql}", strategy=upkeep, partitions=partitions)
        view.wait(200)
        assert Counter(view.changes().rows()) == wanted, (upkeep, view.explain())
        held = [t for t in view.stats["operators"] if t["name"].startswith("rows alive") or "δ*" in t["name"]]
        assert all(t.get("live_values", 0) == t.get("live_rows", 0) == 0 for t in held), held
    with_times.close()
