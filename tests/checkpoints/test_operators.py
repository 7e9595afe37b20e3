"""Cut anywhere, killed, started again: every operator there is goes on as if nothing had been, late rows and errors too."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jupyter_stream import Query, Session
from jupyter_stream.checkpoints.state import TakenState
from jupyter_stream.checkpoints.store import Store
from jupyter_stream.core import threads
from jupyter_stream.engine import cuts, engine, feed
from tests.faults.test_operators import BUDGET, DECLARED, MARKED, QUERIES, ROWS, discovered
from tests.tiers import thinned
from tests.waiting import until

Answers = tuple[list[str], list[str], list[str], int]


class AtOnce:
    """Threads that have done their work when they have begun."""

    Event = threads.Event

    @staticmethod
    def begin(name: str, run: Callable[[], None], died: object) -> None:
        run()


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that there are many places for a cut, and each is on disk before the next batch."""
    monkeypatch.setattr(cuts, "threads", AtOnce)
    for name, value in {"_FIRST": 16, "_MEANWHILE": 16, "_LEAST_MEANWHILE": 16, "_PAUSE": 0.0}.items():
        monkeypatch.setattr(engine, name, value)
    monkeypatch.setattr(
        feed, "REPLAY_ROWS", 16
    )  # EMIT CHANGES answers once a batch, so that all have to be of one size


def answers(name: str, folder: Path | None, monkeypatch: pytest.MonkeyPatch, most: int = 10**9) -> tuple[Answers, int]:
    """A query's answers, and how many cuts came to disk; of these there are no more than `most`, as if it was killed then."""
    write, written = Store.write, 0

    def until_killed(self: Store, taken: TakenState) -> None:
        nonlocal written
        if written < most:
            write(self, taken)
            written += 1

    options: dict[str, Any] = {"budget": "1000 probes/row"} if name in BUDGET else {}
    if folder is not None:
        options |= {"checkpoint": folder, "checkpoint_every": "0 seconds"}
    with monkeypatch.context() as patch, Session({"rows": ROWS, "marked": MARKED}) as session:
        patch.setattr(Store, "write", until_killed)
        session.execute(DECLARED)
        (query,) = session.execute(QUERIES[name], **options)
        assert isinstance(query, Query)
        until(lambda: query._pipeline.done.is_set(), lambda: query.status)
        assert query.status in ("finished", "running"), query._pipeline.error
        late = [str(row) for kind in ("late", "errors") for row in session.side_stream(kind, "s").frame().rows()]
        rows = (query.to_polars().rows(), query._pipeline.results.history().rows())
        return (*(sorted(map(str, r)) for r in rows), sorted(late), query._pipeline.late), written


def test_the_law_is_about_every_operator() -> None:
    assert set(QUERIES) == set(discovered())


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("name", thinned(QUERIES, 72))
def test_the_rest_is_as_if_it_had_not_been_killed(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, _ = answers(name, None, monkeypatch)
    again, cuts_taken = answers(name, tmp_path / "whole", monkeypatch)
    assert again == whole and cuts_taken > 1
    at = random.Random(name).randint(1, cuts_taken - 1)
    answers(name, tmp_path / "killed", monkeypatch, at)
    assert answers(name, tmp_path / "killed", monkeypatch)[0] == whole
