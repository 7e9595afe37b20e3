"""Rows of columns by their places are those that Polars takes."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_series_equal

from jupyter_stream.arrays.rows import gathered

COLUMNS = {
    "whole": pl.Series("c", [1, -2, 3]),
    "small": pl.Series("c", [1, 2, 3], dtype=pl.UInt32),
    "fractions": pl.Series("c", [0.5, float("nan"), -0.0]),
    "missing": pl.Series("c", [1, None, 3]),
    "times": pl.Series("c", [datetime(2024, 1, 1), None, datetime(2024, 1, 2)]),
    "texts": pl.Series("c", ["a", "", None]),
    "wide": pl.Series("c", [2**100, 1, -1], dtype=pl.Int128),
    "truths": pl.Series("c", [True, False, None]),
    "cut": pl.concat([pl.Series("c", [1]), pl.Series("c", [2, 3])], rechunk=False),
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("at", [[], [2], [0, 0, 2, 1, 1]])
def test_rows_by_their_places_are_those_that_polars_takes(name: str, at: list[int]) -> None:
    column, places = COLUMNS[name], np.array(at, np.int64)
    assert_series_equal(gathered(column, places), column.gather(pl.Series(places)), check_exact=True)
