"""Every registered aggregate with every type it takes, found by asking `resolve`: a new one is tested by being registered."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import polars as pl
from datasketches import cpc_sketch
from hypothesis import strategies as st

from jupyter_stream.aggregates import AGGREGATES, AggregateFunction, BadArguments, Dense, FrameForm
from jupyter_stream.aggregates.approx_count_distinct import LG_K
from jupyter_stream.aggregates.framed import Framed
from tests.oracle.aggregates import Aggregate, counted
from tests.oracle.progress import Arrived
from tests.oracle.values import Value, same_key

KINDS: dict[str, pl.DataType] = {
    "BIGINT": pl.Int64(),
    "DOUBLE": pl.Float64(),
    "STRING": pl.String(),
    "BOOLEAN": pl.Boolean(),
}
VALUES: dict[str, st.SearchStrategy[Value]] = {
    "BIGINT": st.none() | st.integers(-4, 4),
    "DOUBLE": st.none()
    | st.sampled_from((0.0, -0.0, 0.5, math.nan, math.inf, -math.inf))
    | st.integers(-40, 40).map(lambda n: n / 8),
    "STRING": st.none() | st.sampled_from(("", "a", "b", "B", "ä", "\U0001f40d", ".", "it's")),
    "BOOLEAN": st.none() | st.booleans(),
}
CONSTANTS: dict[str, tuple[object, ...]] = {
    "quantile": (0.0, 0.1, 0.5, 0.75, 1.0),
    "heavy_hitters": (0.07, 0.2, 0.5, 1.0),
    "approx_top_k": (1, 3),
    "string_agg": ("", ", "),
    "quantile_disc": (0.0, 0.3, 1.0),
    "topk": (1, 3),
    "topkdistinct": (3,),
    "earliest_by_offset": (None, 2),
    "latest_by_offset": (None, 2),
}
DISTINCT = ("count", "sum", "avg", "var_pop", "collect_list", "string_agg")


@dataclass(frozen=True)
class Case:
    """One aggregate as it could be called.

    Attributes:
        function: the aggregate.
        kinds: SQL types of its per-row arguments; empty for count(*).
        constant: its constant argument, None where it takes none.
        distinct: whether DISTINCT is written.
    """

    function: AggregateFunction
    kinds: tuple[str, ...]
    constant: object = None
    distinct: bool = False

    def __str__(self) -> str:
        constant = () if self.constant is None else (repr(self.constant),)
        return f"{self.function.name}({'DISTINCT ' * self.distinct}{', '.join((*self.kinds, *constant)) or '*'})"

    def resolved(self) -> tuple[tuple[pl.DataType, ...], pl.DataType]:
        types = [KINDS[k] for k in self.kinds]
        if self.constant is not None:
            types.append({float: pl.Float64(), int: pl.Int64(), str: pl.String()}[type(self.constant)])
        return self.function.resolve(types, self.distinct)

    def form(self) -> Dense | FrameForm:
        types, _ = self.resolved()
        parameters = () if self.constant is None else (self.constant,)
        return self.function.form(types, self.distinct, parameters)

    def framed(self) -> Framed:
        return Framed(self.function, self.form(), self.resolved()[1])

    def frame(self, rows: Sequence[Arrived]) -> pl.DataFrame:
        """The rows as operators hand them over: arguments cast, in arrival order."""
        types, _ = self.resolved()
        columns = [pl.Series("g", [r.row["g"] for r in rows], dtype=pl.Int64())]
        for i, kind in enumerate(self.kinds):
            values = pl.Series("v" if i == 0 else f"v{i}", [r.row[f"x{i}"] for r in rows], dtype=KINDS[kind])
            columns.append(values.cast(types[i]))
        return pl.DataFrame([*columns, pl.Series("$ts", [r.ts for r in rows], dtype=pl.Int64())])

    def model(self, rows: list[Arrived]) -> Value:
        """Its value in plain Python."""
        if self.function.name in APPROXIMATE:
            present = [r.row["x0"] for r in rows if r.row["x0"] is not None]
            return APPROXIMATE[self.function.name](present, self.constant)
        if self.distinct and self.function.name not in ("collect_list", "string_agg"):
            rows = list({same_key(r.row["x0"]): r for r in rows}.values())
        column = "x0" if self.kinds else None
        by = "x1" if len(self.kinds) > 1 else None
        return Aggregate(self.function.name, column, self.distinct, by=by, constant=self.constant).over(rows)  # type: ignore[arg-type]


def sketched(values: Iterable[Value]) -> int:
    """What a sketch of all values at once tells, with the precision and the ways to take values of the aggregate's."""
    sketch = cpc_sketch(LG_K)
    for value in values:
        sketch.update(value + "." if isinstance(value, str) else int(value) if isinstance(value, bool) else value)
    return round(sketch.get_estimate())


APPROXIMATE = {
    "approx_count_distinct": lambda values, _: sketched({same_key(v): v for v in values}.values()),
    "approx_top_k": lambda values, k: tuple(counted(values)[:k]) if values else None,
}
"""Estimates where there is little to estimate: exact, but for one pair of values in 12,000 that a sketch takes for one."""


def cases() -> Iterator[Case]:
    for function in AGGREGATES:
        arguments: list[tuple[str, ...]] = [(k,) for k in KINDS]
        if function.constant_from is None:
            arguments += [(), *((a, b) for a in ("BIGINT", "STRING") for b in KINDS)]
        constants = (None,) if function.constant_from is None else CONSTANTS[function.name]
        for kinds in arguments:
            for constant in constants:
                for distinct in (False, True) if function.name in DISTINCT and kinds else (False,):
                    case = Case(function, kinds, constant, distinct)
                    try:
                        case.resolved()
                    except BadArguments:
                        continue
                    yield case


CASES = [c for c in cases() if not (c.function.name == "string_agg" and c.kinds != ("STRING",))]
"""All of them; what a number looks like as a string is the casts' business."""


@st.composite
def rows(draw: st.DrawFn, case: Case, *, ties: bool) -> list[Arrived]:
    """Rows of two groups in arrival order, times in any order; `ties`: some of them equal."""
    found = []
    times = draw(st.lists(st.integers(0, 9 if ties else 99), max_size=14, unique=not ties))
    for number, ts in enumerate(times):
        row: dict[str, Value] = {f"x{i}": draw(VALUES[kind]) for i, kind in enumerate(case.kinds)}
        found.append(Arrived({**row, "g": draw(st.integers(0, 1))}, ts, number, None))
    return found
