"""The error bounds that sketches state, on drawn streams that are too large for them to be exact."""

from __future__ import annotations

from collections import Counter
from random import Random

import polars as pl
import pytest

from jupyter_stream import aggregates
from jupyter_stream.aggregates import approx_count_distinct, approx_top_k
from jupyter_stream.aggregates.framed import Framed

BY = ["g"]


def framed(name: str, dtype: pl.DataType, *parameters: object) -> Framed:
    function = aggregates.find(name)
    assert function is not None
    types, result = function.resolve([dtype, *([pl.Int64()] * len(parameters))], False)
    return Framed(function, function.form(types, False, parameters), result)


def answer(kept: Framed, values: list[object], dtype: pl.DataType, parts: int) -> object:
    """The answer over values that came in so many parts."""
    frame = pl.DataFrame({"g": pl.zeros(len(values), pl.Int64, eager=True), "v": pl.Series(values, dtype=dtype)})
    size = -(-len(values) // parts)
    partials = pl.concat([kept.update(frame[i : i + size], BY) for i in range(0, len(values), size)])
    return kept.finish(kept.merge(partials, BY), BY)[0].get_column("v").to_list()[0]


@pytest.mark.parametrize("seed", range(4))
def test_distinct_counts_are_within_three_standard_errors(seed: int) -> None:
    random = Random(seed)
    count = random.choice((3_000, 20_000, 40_000))
    dtype: pl.DataType = pl.String() if seed % 2 else pl.Int64()
    values: list[object] = [f"10.0.{n}" if seed % 2 else n * 977 for n in range(count)]
    values += random.choices(values, k=count // 4)
    random.shuffle(values)
    kept = framed("approx_count_distinct", dtype)
    found = answer(kept, values, dtype, 5)
    assert isinstance(found, int)
    assert abs(found - count) <= 3 * approx_count_distinct.RELATIVE_ERROR * count
    assert found == answer(kept, values[::-1], dtype, 2), "any order and any batches give the same estimate"


@pytest.mark.parametrize("seed", range(4))
def test_top_counts_are_off_by_less_than_the_error_and_miss_nothing_more_frequent(seed: int) -> None:
    random = Random(seed)
    k, rows = 5, 40_000
    values: list[object] = [
        int(random.paretovariate(0.6)) if random.random() < 0.7 else random.randrange(10**6) for _ in range(rows)
    ]
    true = Counter(values)
    assert len(true) > approx_top_k.exact_items(k)
    found = answer(framed("approx_top_k", pl.Int64(), k), values, pl.Int64(), 3)
    assert isinstance(found, list) and len(found) == k
    bound = approx_top_k.error(k, rows)
    for item in found:
        assert abs(item["count"] - true[item["item"]]) <= bound
    assert [i["count"] for i in found] == sorted((i["count"] for i in found), reverse=True)
    listed = {item["item"] for item in found}
    least = found[-1]["count"]
    assert not [v for v, n in true.items() if v not in listed and n > least + bound]


def test_top_counts_of_few_items_are_exact() -> None:
    values: list[object] = [n % 700 if n % 3 else 1 for n in range(20_000)]
    found = answer(framed("approx_top_k", pl.Int64(), 2), values, pl.Int64(), 4)
    assert found == [
        {"item": v, "count": n} for v, n in sorted(Counter(values).items(), key=lambda p: (-p[1], p[0]))[:2]
    ]
