"""Drawn joins get the same rows in the kernel, on Spark and in DuckDB. Several are one query on Spark, which starts once for all.

Seeds are fixed: a failure is of what has changed.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import polars as pl
import pytest

from jupyter_stream.session.session import Session
from tests.differential.draw import Draw
from tests.spark.drawn_joins import DECLARED, Case, case, condition, rows, together
from tests.spark_session import INTERPRETED
from tests.tiers import only, slow
from tests.waiting import PATIENCE

AT_ONCE, PIECES = 6, 9
SHORT, IN_GATE = 3, 6
"""How many cases the gate draws, and of which piece."""
COMPILED = 3
"""Each third piece runs as by default; in the others Spark interprets, since compiling takes it longer than the few rows."""
FEWEST = 10
"""Answers that a piece has at least: with fewer it would say little."""
ROWS = 14


class Answers(NamedTuple):
    """The rows of an answer, sorted."""

    kernel: list[str]
    spark: list[str]
    duckdb: list[str]


def drawn(seed: str, count: int) -> tuple[dict[str, pl.DataFrame], list[Case]]:
    draw = Draw(seed)
    return {name: rows(draw, ROWS) for name in "lr"}, [case(draw) for _ in range(count)]


def by_duckdb(frames: dict[str, pl.DataFrame], text: str) -> list[str]:
    with duckdb.connect() as made:
        made.execute("SET threads = 1")
        for name, frame in frames.items():
            made.register(name, frame.to_arrow())
        return sorted(map(str, made.execute(text).fetchall()))


def in_files(frames: dict[str, pl.DataFrame], folder: Path) -> dict[str, str]:
    """Each stream as a folder of three files, which Spark takes one by one."""
    for name, frame in frames.items():
        (folder / name).mkdir()
        for i, start in enumerate(range(0, ROWS, 5)):
            frame[start : start + 5].write_parquet(folder / name / f"{i}.parquet")
    return {name: f"file://{folder / name}" for name in frames}


def asked(
    session: Session, sources: dict[str, str], parts: list[Case], frames: dict[str, pl.DataFrame], compiled: bool
) -> Answers:
    session.run(DECLARED.format(**sources))
    text = together(parts, lambda part: part.text)
    conf = {"jupyter_stream.maxFilesPerTrigger": "1", "spark.sql.shuffle.partitions": "1"}
    if not compiled:
        conf |= INTERPRETED
    handles: list[Any] = [session.run(text)[-1], session.run(text, engine="spark", conf=conf)[-1]]
    for handle in handles:
        assert handle.wait(PATIENCE), "it doesn't end"
        assert not handle.errors.height
    found = (sorted(map(str, handle.to_polars().rows())) for handle in handles)
    return Answers(*found, by_duckdb(frames, together(parts, lambda part: part.duckdb)))


@slow
@pytest.mark.parametrize("piece", only(range(PIECES), IN_GATE))
def test_drawn_joins_are_the_same_on_both_engines_and_in_duckdb(
    piece: int, sessions: Callable[..., Session], tmp_path: Path
) -> None:
    frames, parts = drawn(f"joins {piece}", SHORT if piece == IN_GATE else AT_ONCE)
    sources = in_files(frames, tmp_path) if piece % 2 else {name: f"frame://{name}" for name in frames}
    answers = asked(sessions(**frames), sources, parts, frames, compiled=piece % COMPILED == 0)
    assert len(answers.kernel) >= FEWEST
    for engine in ("spark", "kernel"):
        wrong = set(getattr(answers, engine)) ^ set(answers.duckdb)
        cases = {part.text for n, part in enumerate(parts) if any(row.startswith(f"({n},") for row in wrong)}
        assert getattr(answers, engine) == answers.duckdb, (engine, sorted(cases))


@slow
def test_kernel_and_duckdb_agree_on_more_drawn_joins(sessions: Callable[..., Session]) -> None:
    pairs = 0
    for piece in range(12):
        frames, parts = drawn(f"more joins {piece}", 8)
        session = sessions(**frames)
        session.run(DECLARED.format(**{name: f"frame://{name}" for name in frames}))
        handle: Any = session.run(together(parts, lambda part: part.text))[-1]
        assert handle.wait(PATIENCE)
        found = sorted(map(str, handle.to_polars().rows()))
        assert found == by_duckdb(frames, together(parts, lambda part: part.duckdb))
        pairs += sum("None" not in row for row in found)
    assert pairs > 50


def test_what_is_drawn_holds_every_kind() -> None:
    seen = {word for i in range(300) for word in _words(case(Draw(f"kinds {i}")).text)}
    assert {
        "LEFT",
        "RIGHT",
        "FULL",
        "INNER",
        "SEMI",
        "ANTI",
        "EXISTS",
        "NOT",
        "IN",
        "RANGE",
        "BETWEEN",
        "CASE",
        "DATE",
    } <= seen
    assert any(condition(Draw(f"conditions {i}")) == "2 < 1" for i in range(300))


def _words(text: str) -> Iterator[str]:
    yield from text.replace("[", " ").replace("(", " ").split()


def test_drawn_rows_come_in_the_order_of_their_times() -> None:
    frame = rows(Draw("rows"), 200)
    assert frame["ts"].is_sorted()
    assert frame["ts"][0] >= dt.datetime(2024, 5, 1, 12)
    assert frame.null_count()["k"][0] > 20
