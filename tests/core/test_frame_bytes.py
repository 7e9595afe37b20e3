"""Frames as bytes, and back."""

from __future__ import annotations

from datetime import timedelta

import polars as pl
from polars.testing import assert_frame_equal, assert_series_equal

from jupyter_stream.core import frame_bytes

FRAME = pl.DataFrame(
    {"a": [1, None, 3], "t": [None, "é", ""], "l": [[1.5], [], None], "d": [timedelta(seconds=1), None, timedelta(0)]},
    schema_overrides={"a": pl.Int8},
)


def test_frames_and_columns_anywhere_in_an_object() -> None:
    given = {"frame": FRAME, "empty": [FRAME.clear(), (FRAME["a"], pl.Series("", ["x"]))], "other": 7}
    found = frame_bytes.loads(frame_bytes.dumps(given))
    assert_frame_equal(found["frame"], FRAME)
    empty, (column, nameless) = found["empty"]
    assert_frame_equal(empty, FRAME.clear())
    assert_series_equal(column, FRAME["a"])
    assert_series_equal(nameless, pl.Series("", ["x"]))
    assert found["other"] == 7


def test_no_frame_is_pickled() -> None:
    assert b"polars" not in frame_bytes.dumps([FRAME, FRAME["l"]])
