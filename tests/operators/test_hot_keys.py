"""Joins where one key has half of the rows: millions of pairs come out, some at a time, and only rows are kept."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from jupyter_stream.core.messages import TS, Batch, Punctuation
from jupyter_stream.core.schema import Field, Schema
from jupyter_stream.core.time import MAX_TIME
from jupyter_stream.functions.expression import Column
from jupyter_stream.operators.window_join import WindowJoin, WindowJoinConfig
from jupyter_stream.plan.logical import JoinKind

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
