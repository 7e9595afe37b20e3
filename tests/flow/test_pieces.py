"""What operators keep stays in few pieces of memory, however many small batches have come.

Polars' `filter` leaves a piece for each that a frame had, empty ones among them. A frame that is filtered and put together with
the next batch, again and again, would consist of more and more: a few rows of it take megabytes after an hour.
"""

from __future__ import annotations

import gc

import polars as pl
import pytest

from jupyter_stream import Query, Session
from jupyter_stream.engine import engine
from jupyter_stream.engine.feed import Feed, Taken
from tests.faults.test_operators import BUDGET, DECLARED, QUERIES
from tests.tiers import slow
from tests.waiting import until

BATCH, BATCHES, LATE = 6, 60, 12
"""How many rows come at a time, how often, and how late they are at most, in microseconds: 12 of them wait."""
PIECES = 20
"""Fewer than there are batches, more than are put together before they are copied."""
AT = range(BATCH * BATCHES)
ROWS = pl.DataFrame(
    {"ts": [max(0, i - LATE * (i % 2)) for i in AT], "k": ["abca"[i % 4] for i in AT], "n": [i % 5 for i in AT]}
)
MARKED = ROWS.with_columns(
    pl.when(pl.int_range(pl.len()) % 10 == 9).then(pl.col("ts") - 2 * LATE).alias("done"),
)


@slow
def test_frames_that_are_kept_stay_in_few_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"_FIRST": BATCH, "_MEANWHILE": BATCH, "_LEAST_MEANWHILE": BATCH, "_PAUSE": 0.0}.items():
        monkeypatch.setattr(engine, name, value)
    taken, broken = Feed.next, set[str]()
    calls = 0
    others = [held for held in gc.get_objects() if isinstance(held, pl.DataFrame | pl.Series)]  # of tests before
    known = {id(held) for held in others}

    def counted(feed: Feed, most: int) -> Taken:
        nonlocal calls
        calls += 1
        if (
            calls % 200 == 0 and not session.engine._steps.aside
        ):  # a step that takes long may be in the middle of putting together
            broken.update(in_pieces(known))
        return taken(feed, most)

    with Session({"rows": ROWS, "marked": MARKED}) as session:
        monkeypatch.setattr(Feed, "next", counted)
        watermark = f", WATERMARK FOR ts AS ts - INTERVAL {LATE} MICROSECONDS) SOURCE 'frame://rows'"
        session.execute(DECLARED.replace(") ORDER BY ts SOURCE 'frame://rows'", watermark))
        for name, text in QUERIES.items():
            options = {"budget": "1000 probes/row"} if name in BUDGET else {}
            (query,) = session.execute(text, paused=True, **options)
            assert isinstance(query, Query)
            query.resume()
        queries = list(session.queries.values())
        until(lambda: all(q._pipeline.done.is_set() for q in queries), lambda: [q.status for q in queries])
        assert {q.status for q in queries} == {"finished"}
    assert calls > BATCHES
    assert broken == set()


def in_pieces(known: set[int]) -> set[str]:
    """Frames and columns of more pieces than they may have, but for those that are known, and who holds them."""
    found = set()
    for held in gc.get_objects():
        if (
            isinstance(held, pl.DataFrame | pl.Series)
            and held.n_chunks() > max(PIECES, len(held))
            and id(held) not in known
        ):
            holders = [h for one in gc.get_referrers(held) for h in [one, *gc.get_referrers(one)]]
            found.update(type(h).__name__ for h in holders if type(h).__module__.startswith("jupyter_stream"))
            found.add(f"columns {held.columns}" if isinstance(held, pl.DataFrame) else held.name)
    return found
