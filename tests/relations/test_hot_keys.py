"""One key has half of the rows. Of joins millions of pairs come out, some at a time, and only rows are kept.

A bag difference looks at the key's rows that may change sides, not at every row at every instant.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from jupyter_stream.core.messages import SIGN, TS, Batch, Punctuation
from jupyter_stream.core.schema import Field, Schema
from jupyter_stream.core.time import MAX_TIME
from jupyter_stream.functions.expression import Column
from jupyter_stream.joins.window_join import WindowJoin
from jupyter_stream.joins.window_join_config import WindowJoinConfig
from jupyter_stream.plan.logical import JoinKind
from jupyter_stream.relations import except_on
from jupyter_stream.relations.except_on import ExceptOn
from tests.tiers import slow

ROWS, HOT, WINDOW = 4_000, 7, 1_000_000_000
LEFT = Schema((Field("k", pl.Int64()), Field("n", pl.Int64())))
RIGHT = Schema((Field("l", pl.Int64()), Field("m", pl.Int64())))
MOST = 1 << 19
"""Pairs that come out at once."""


def join_of(kind: JoinKind) -> WindowJoin:
    both = Schema((*LEFT.fields, *RIGHT.fields))
    key = (Column("k", pl.Int64()), Column("l", pl.Int64()))
    return WindowJoin(
        WindowJoinConfig(kind, LEFT, RIGHT, RIGHT.names, both, (key,), None, -WINDOW, WINDOW, (WINDOW, WINDOW))
    )


def rows(schema: Schema, wide: bool, seed: int) -> pl.DataFrame:
    """Half of them of one key; the others' keys are near each other, or all over."""
    rng = np.random.default_rng(seed)
    others = rng.permutation(ROWS) + 1_000
    key = np.where(np.arange(ROWS) % 2 == 0, HOT, others * (1_000_000_007 if wide else 1))
    return pl.DataFrame({schema.names[0]: key, schema.names[1]: np.arange(ROWS), TS: np.arange(ROWS)})


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("size", [100, ROWS])
def test_pairs_of_a_hot_key_come_some_at_a_time_and_none_is_kept(wide: bool, size: int) -> None:
    join = join_of("inner")
    left, right = rows(LEFT, wide, 1), rows(RIGHT, wide, 2)
    given, most = 0, 0
    for start in range(0, ROWS, size):
        for port, frame in enumerate((left, right)):
            for message in join.on_batch(port, Batch(frame[start : start + size])):
                if isinstance(message, Batch):
                    given, most = given + message.rows, max(most, message.rows)
                    assert (message.frame["k"] == message.frame["l"]).all()
    expected = left.group_by("k").len().join(right.group_by("l").len(), left_on="k", right_on="l")
    assert given == int((expected["len"] * expected["len_right"]).sum()) > 4_000_000
    assert most <= MOST
    assert join.control.peak_bytes < 300 * 2 * ROWS  # rows and their index; a pair takes 48 bytes
    for port in (0, 1):
        list(join.on_punctuation(port, Punctuation(MAX_TIME)))
    assert join.control.bytes == 0


def test_a_million_pairs_are_open_and_only_their_rows_are_kept() -> None:
    join = join_of("full")
    left, right = rows(LEFT, True, 1)[: ROWS // 2], rows(RIGHT, True, 2)[: ROWS // 2]
    paired = sum(m.rows for p, f in ((0, left), (1, right)) for m in join.on_batch(p, Batch(f)) if isinstance(m, Batch))
    assert paired >= 1_000_000
    assert join.control.bytes < 300 * ROWS
    alone = [m for port in (0, 1) for m in join.on_punctuation(port, Punctuation(MAX_TIME)) if isinstance(m, Batch)]
    lone = sum(m.rows for m in alone)
    assert lone == left.join(right, left_on="k", right_on="l", how="anti").height + (
        right.join(left, left_on="l", right_on="k", how="anti").height
    )
    assert join.control.bytes == 0


def changes_of(rows: int, seed: int, lives: int, key: list[int | None]) -> pl.DataFrame:
    """Rows that enter, one at each instant, and leave some time later, not in the order they came."""
    rng = np.random.default_rng(seed)
    times = np.arange(rows)
    ends = times + rng.integers(1, lives, rows)
    both = [
        pl.DataFrame({"k": pl.Series(key, dtype=pl.Int64), "n": times, TS: at}).with_columns(
            pl.lit(sign, pl.Int8).alias(SIGN)
        )
        for at, sign in ((times, 1), (ends, -1))
    ]
    return pl.concat(both).sort(TS, SIGN, maintain_order=True)


def difference(left: pl.DataFrame, right: pl.DataFrame, step: int) -> tuple[pl.DataFrame, ExceptOn]:
    """All changes of a bag difference, of inputs that come step by step."""
    operator = ExceptOn(LEFT, (("k", "k"),))
    given = []
    for begin in range(0, 10**9, step):
        for port, frame in enumerate((left, right)):
            due = frame.filter((pl.col(TS) >= begin) & (pl.col(TS) < begin + step))
            given += [m for m in operator.on_batch(port, Batch(due)) if isinstance(m, Batch)]
        for port in (0, 1):
            given += [m for m in operator.on_punctuation(port, Punctuation(begin + step)) if isinstance(m, Batch)]
        if begin > max(left[TS].max(), right[TS].max()):  # type: ignore[operator]  # numbers
            return pl.concat(m.frame for m in given), operator
    raise AssertionError


@slow
@pytest.mark.parametrize("step", [7, 300])
def test_a_bag_difference_is_the_same_whichever_way_values_are_looked_at(
    step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = [np.random.default_rng(seed).choice([None, 1, 1, 1, 2], 300).tolist() for seed in (1, 2)]
    left, right = (changes_of(300, seed, 60, key) for seed, key in enumerate(keys))
    monkeypatch.setattr(except_on, "_HOT", 0)
    by_border, _ = difference(left, right, step)
    monkeypatch.setattr(except_on, "_HOT", 10**9)
    by_pairs, _ = difference(left, right, step)
    assert by_border.equals(by_pairs) and by_pairs.height > 100


@slow
def test_a_bag_difference_with_a_hot_key_has_the_youngest_rows_at_every_instant() -> None:
    others = [np.random.default_rng(seed).permutation(ROWS) + 100 for seed in (1, 2)]
    keys = [np.where(np.arange(ROWS) % 2 == 0, HOT, other).tolist() for other in others]
    left, right = (changes_of(ROWS, seed, 3 * ROWS, key) for seed, key in enumerate(keys))
    found, operator = difference(left, right, ROWS // 2)
    assert operator.control.extra["live_rows"] == 0
    for at in range(0, 4 * ROWS, 997):
        states = []
        for frame in (left, right, found):
            past = frame.filter(pl.col(TS) <= at).with_columns(pl.col(SIGN).cast(pl.Int64))
            state = past.group_by("k", "n").agg(pl.col(SIGN).sum()).filter(pl.col(SIGN) != 0)
            states.append(state.select("k", "n").sort("k", "n"))
        youngest = pl.col("n").rank("ordinal", descending=True).over("k").cast(pl.Int64)
        copies = pl.len().over("k").cast(pl.Int64) - pl.col("right").fill_null(0)
        right_rows = states[1].group_by("k").agg(pl.len().cast(pl.Int64).alias("right"))
        expected = states[0].join(right_rows, on="k", how="left").filter(youngest <= copies)
        assert states[2].equals(expected.select("k", "n").sort("k", "n"))
