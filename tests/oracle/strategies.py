"""What Hypothesis draws: streams (columns, rows, disorder), windows, aggregates, conditions, batch splits.

Times are drawn as small whole ticks and scaled to microseconds afterwards, so that windows, ties and edges meet often and
examples shrink to readable ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from random import Random

from hypothesis import assume
from hypothesis import strategies as st

from jupyter_stream.engine.progress import FAR
from tests.oracle.aggregates import Aggregate
from tests.oracle.predicates import And, Compares, IsNull, Not, Or, Predicate
from tests.oracle.progress import Apart, InOrder, Progress, PunctuationColumn, Slack, Watermark, after_these
from tests.oracle.query import Query, Stream, duration
from tests.oracle.values import Row, Value
from tests.oracle.windows import Lifetime, TimeExtents

TICKS = (1, 1_000, 1_000_000, 60_000_000)
"""Microseconds per tick."""
BASES = (0, -7, -1_000_003, 1_357_034_400_000_000, -2_208_988_800_000_000)
"""Where ticks are counted from: around the epoch, before it, 2013 and 1900."""
ENDS = (-FAR, FAR)
"""Or from near an end of the axis, beyond what a TIMESTAMP can show: such times are BIGINT."""

VALUE_TYPES = ("INT", "BIGINT", "DOUBLE", "STRING", "BOOLEAN")
NUMERIC = ("INT", "BIGINT", "DOUBLE")

_WORDS = st.sampled_from(("", "a", "b", "B", "ab", "ä", "ß", "∪", "it's", "NULL", "\U0001f40d", "a\nb"))
_DOUBLES = st.one_of(
    st.sampled_from((0.0, -0.0, 1.0, 0.1, -2.5, 1e9, 1e9 + 1, 1e-9, math.nan, math.inf, -math.inf)),
    st.integers(-1000, 1000).map(lambda n: n / 8),
    st.floats(-1e12, 1e12),
)
_VALUES: dict[str, st.SearchStrategy[Value]] = {
    "INT": st.one_of(st.integers(-3, 3), st.integers(-(2**31), 2**31 - 1)),
    "BIGINT": st.one_of(st.integers(-3, 3), st.integers(-(2**56), 2**56)),
    "DOUBLE": _DOUBLES,
    "STRING": _WORDS,
    "BOOLEAN": st.booleans(),
}
_FINITE: dict[str, st.SearchStrategy[Value]] = {
    **_VALUES,
    "DOUBLE": st.integers(-1000, 1000).map(lambda n: n / 8),
}
"""Values on which doubles are exact in any order of summation."""


def values(kind: str, exact: bool = False) -> st.SearchStrategy[Value]:
    """Values of a type, NULL among them."""
    return st.one_of(st.none(), (_FINITE if exact else _VALUES)[kind])


@dataclass(frozen=True)
class Shape:
    """What all drawn times of one example share.

    Attributes:
        tick: microseconds.
        base: microseconds added to all times.
    """

    tick: int
    base: int

    @property
    def far(self) -> bool:
        """Whether times are near an end of the axis."""
        return abs(self.base) > FAR // 2

    @property
    def time_types(self) -> tuple[str, ...]:
        """SQL types that hold them, likelier ones more than once."""
        return ("BIGINT",) if self.far else ("TIMESTAMP", "TIMESTAMP", "BIGINT")

    @property
    def other_end(self) -> int:
        """How far it is from here to the other end of the axis."""
        across = 2 * FAR - _ACROSS * self.tick
        return across if self.base < 0 else -across

    def time(self, ticks: int, offset: int = 0) -> int:
        return self.base + ticks * self.tick + offset


_ACROSS = 302
"""Ticks that are left when times go from one end of the axis to the other: those before and behind a base of `long_shapes`."""


def shapes_of(ticks: st.SearchStrategy[int], room: tuple[int, int] = (40, 101)) -> st.SearchStrategy[Shape]:
    """Shapes of these ticks; `room`: how many of them times are before a base at most, and behind it."""
    below, above = room

    def moved(tick: int, base: int) -> Shape:
        return Shape(tick, {-FAR: -FAR + below * tick, FAR: FAR - above * tick}.get(base, base))

    return st.builds(moved, ticks, st.sampled_from((*BASES, *ENDS)))


shapes = shapes_of(st.sampled_from(TICKS))
long_shapes = shapes_of(st.sampled_from(TICKS), (151, 151))
"""For `long_queries`."""


@st.composite
def times(draw: st.DrawFn, shape: Shape, count: int, both: bool = False) -> list[int]:
    """Event times in order: dense, with ties, now and then with a lull, or (`both`) some at the other end of the axis."""
    span = draw(st.sampled_from((3, 12, 40)))
    offsets = st.integers(0, min(2, shape.tick - 1)) if draw(st.booleans()) else st.just(0)
    found = [shape.time(draw(st.integers(-span, span)), draw(offsets)) for _ in range(count)]
    lull = draw(st.sampled_from((0, 0, 0, 60))) * shape.tick
    if both and shape.far and draw(st.booleans()):
        lull = shape.other_end
    return sorted(t + (lull if i > count // 2 else 0) for i, t in enumerate(sorted(found)))


@st.composite
def disordered(draw: st.DrawFn, shape: Shape, ordered: list[Row], time: str, bound: int) -> list[Row]:
    """The rows in an arrival order in which none comes more than `bound` microseconds late."""
    delays = [draw(st.integers(0, bound // shape.tick)) * shape.tick for _ in ordered]
    indexed = sorted(range(len(ordered)), key=lambda i: (ordered[i][time] + delays[i], i))  # type: ignore[operator]
    return [ordered[i] for i in indexed]


@st.composite
def streams(
    draw: st.DrawFn, shape: Shape, *, late: bool = True, exact: bool = False, max_rows: int = 30, both: bool = False
) -> Stream:
    """A stream with one to three columns besides its time `ts`, a progress rule, and rows that keep it (or not: `late`).

    `both`: perhaps with rows at both ends of the axis, for queries that don't look at every instant in between.
    """
    kinds = draw(st.lists(st.sampled_from(VALUE_TYPES), min_size=1, max_size=3))
    columns = [(f"c{i}", kind) for i, kind in enumerate(kinds)]
    count = draw(st.integers(0, max_rows))
    # A small pool makes equal keys likely.
    pools = {name: draw(st.lists(values(kind, exact), min_size=1, max_size=5)) for name, kind in columns}
    ordered: list[Row] = []
    for ts in draw(times(shape, count, both)):
        row: Row = {name: draw(st.sampled_from(pools[name])) for name, _ in columns}
        ordered.append({**row, "ts": ts})
    rule: Progress
    bound = draw(st.integers(0, 6)) * shape.tick
    kind = draw(st.sampled_from(("in order", "declared", "watermark", "slack", "apart", "punctuation")))
    excess = draw(st.integers(0, 8)) * shape.tick if late else 0
    if kind in ("in order", "declared"):
        rule = InOrder(declared=kind == "declared")
        rows = draw(disordered(shape, ordered, "ts", excess))
    elif kind == "watermark":
        rule = Watermark(max(bound, 1))
        rows = draw(disordered(shape, ordered, "ts", bound + excess))
    elif kind == "slack":
        rows = draw(disordered(shape, ordered, "ts", bound + excess))
        needed = most_newer_before(rows)
        rule = Slack(draw(st.integers(0, needed)) if late else needed)
    elif kind == "apart":
        rows = draw(disordered(shape, ordered, "ts", bound + excess))
        needed = most_rows_apart(rows)
        rule = Apart(draw(st.integers(0, needed)) if late else needed)
    else:
        rule = PunctuationColumn("p")
        rows = draw(disordered(shape, ordered, "ts", bound + excess))
        rows = draw(punctuated(shape, rows, [name for name, _ in columns], late))
        columns.append(("p", "TIMESTAMP"))
    time_type = draw(st.sampled_from(shape.time_types))
    if columns[-1][0] == "p":
        columns[-1] = ("p", time_type)
    if draw(st.integers(0, 5)) == 0:  # a second time, on which a window may be defined
        columns.append(("w", time_type))
        rows = [{**row, "w": shape.time(draw(st.integers(-9, 9)))} for row in rows]
    return Stream((*columns, ("ts", time_type)), "ts", rule, tuple(rows))


def most_newer_before(rows: list[Row]) -> int:
    """The most rows that are newer than a row and came before it."""
    return max((sum(r["ts"] > row["ts"] for r in rows[:i]) for i, row in enumerate(rows)), default=0)  # type: ignore[operator]


def most_rows_apart(rows: list[Row]) -> int:
    """The most rows from a row to a later one that is older."""
    return max((j - i for j, b in enumerate(rows) for i, a in enumerate(rows[:j]) if a["ts"] > b["ts"]), default=0)  # type: ignore[operator]


@st.composite
def punctuated(draw: st.DrawFn, shape: Shape, rows: list[Row], columns: list[str], late: bool) -> list[Row]:
    """The rows with punctuations in between: true ones, or (`late`) some that say too much; none beyond the last row."""
    found: list[Row] = []
    newest = max((r["ts"] for r in rows), default=0)  # type: ignore[type-var]
    for i, row in enumerate(rows):
        found.append({**row, "p": None})
        if draw(st.integers(0, 3)) == 0:
            true = min((r["ts"] for r in rows[i + 1 :]), default=newest)  # type: ignore[type-var]
            said = true + (draw(st.integers(-3, 4)) * shape.tick if late else -draw(st.integers(0, 3)) * shape.tick)  # type: ignore[operator]
            nothing: Row = dict.fromkeys(columns)
            found.append({**nothing, "ts": None, "p": min(said, newest)})  # type: ignore[type-var]
    return found


@st.composite
def shuffled(draw: st.DrawFn, stream: Stream) -> Stream:
    """The same rows and punctuations in another arrival order in which still no row comes late."""
    left, rows = list(stream.rows), list[Row]()
    seen, said = list[int](), list[int]()

    def times_with(row: Row) -> tuple[list[int], list[int]]:
        punctuation = row.get("p") if isinstance(stream.progress, PunctuationColumn) else None
        if punctuation is not None:
            return seen, [*said, punctuation]  # type: ignore[list-item]
        return [*seen, row["ts"]], said  # type: ignore[list-item]

    def harmless(row: Row) -> bool:
        after = after_these(*times_with(row), stream.progress)
        return after is None or all(r is row or r["ts"] is None or r["ts"] >= after for r in left)  # type: ignore[operator]

    while left:
        candidates = [i for i, r in enumerate(left) if harmless(r)]
        assume(candidates)  # progress by rows apart may leave no row that can come next
        row = left[draw(st.sampled_from(candidates))]
        seen, said = times_with(row)
        left = [r for r in left if r is not row]
        rows.append(row)
    return replace(stream, rows=tuple(rows))


@st.composite
def dealt_out(draw: st.DrawFn, stream: Stream, names: tuple[str, ...]) -> list[Stream]:
    """Streams that hold the rows of one between them, each in its order; all get all punctuations."""
    hands: dict[str, list[Row]] = {name: [] for name in names}
    for row in stream.rows:
        said = isinstance(stream.progress, PunctuationColumn) and row["p"] is not None
        for name in names if said else (draw(st.sampled_from(names)),):
            hands[name].append(row)
    return [replace(stream, name=name, rows=tuple(rows)) for name, rows in hands.items()]


@st.composite
def long_queries(draw: st.DrawFn, shape: Shape) -> Query:
    """A query over some hundreds of rows with many keys; the rows come from a seed, as Hypothesis is slow at that size."""
    random = Random(draw(st.integers(0, 2**32)))
    count, spread, bound = draw(st.integers(100, 400)), draw(st.sampled_from((5, 60, 150))), draw(st.integers(0, 20))
    keys = draw(st.sampled_from((1, 7, 200)))
    ordered: list[Row] = [
        {
            "c0": random.choice((None, random.randrange(keys), random.randrange(keys))),
            "c1": random.choice((None, math.nan, 1e9, random.randrange(-80, 80) / 8)),
            "c2": random.choice("abc") * random.randrange(3),
            "ts": shape.time(random.randrange(-spread, spread), random.randrange(min(3, shape.tick))),
        }
        for _ in range(count)
    ]
    ordered.sort(key=lambda r: r["ts"] + random.randrange(bound * shape.tick + 1))  # type: ignore[operator]
    rule: Progress = draw(
        st.sampled_from(
            (Watermark(max(1, bound * shape.tick)), Watermark(max(1, bound * shape.tick // 2)), Slack(count // 8))
        )
    )
    columns = (("c0", "INT"), ("c1", "DOUBLE"), ("c2", "STRING"), ("ts", shape.time_types[0]))
    chosen = tuple(sorted(draw(st.sets(st.sampled_from(("c0", "c2")), max_size=2))))
    made = tuple(draw(st.lists(aggregates(columns[:3]), min_size=1, max_size=4)))
    return Query(Stream(columns, "ts", rule, tuple(ordered)), draw(time_extents(shape)), made, chosen)


@st.composite
def time_extents(draw: st.DrawFn, shape: Shape, *, landmark: bool = True) -> TimeExtents:
    """Windows with SLIDE in any ratio and spelling, some with an origin."""
    kind = draw(st.sampled_from(("sliding", "sliding", "tumbling", "landmark" if landmark else "tumbling", "starts")))
    slide = draw(st.integers(1, 9)) * shape.tick
    span = draw(st.one_of(st.integers(1, 20), st.integers(1, 4).map(lambda n: n * slide // shape.tick))) * shape.tick
    origins = st.integers(-20, 20).map(lambda n: shape.time(n, n % 2))
    origin = draw(st.none() if shape.far else st.none() | origins)  # it is written as a TIMESTAMP
    if kind == "landmark":
        spelling = draw(st.sampled_from(("bracket", "paper")))
        return TimeExtents(None, slide, origin if spelling == "bracket" else None, spelling=spelling)
    if kind == "tumbling":
        spelling = draw(st.sampled_from(("bracket", "tumbling", "paper", "table function", "group by")))
        origin = origin if spelling in ("bracket", "tumbling") else None
        return TimeExtents(slide, slide, origin, starts=spelling in ("table function", "group by"), spelling=spelling)
    if kind == "starts":
        spelling = draw(st.sampled_from(("table function", "group by")))
        if spelling == "group by":
            slide = min(slide, span)  # Spark refuses a slide beyond the range
        return TimeExtents(span, slide, starts=True, spelling=spelling)
    spelling = draw(st.sampled_from(("bracket", "bracket", "paper")))
    return TimeExtents(span, slide, origin if spelling == "bracket" else None, spelling=spelling)


@st.composite
def lifetimes(draw: st.DrawFn, shape: Shape) -> Lifetime:
    """Windows without SLIDE."""
    kind = draw(st.sampled_from(("none", "unbounded", "now", "range")))
    if kind == "range":
        span = draw(st.integers(1, 12)) * shape.tick
        return Lifetime(span, f"[RANGE {duration(span)}]")
    return {"none": Lifetime(), "unbounded": Lifetime(None, "[RANGE UNBOUNDED]"), "now": Lifetime(1, "[NOW]")}[kind]


@st.composite
def conditions(draw: st.DrawFn, columns: tuple[tuple[str, str], ...], depth: int = 1) -> Predicate:
    """Conditions over columns, NULL literals apart."""
    kind = draw(st.sampled_from(("compare", "compare", "null", *(("not", "and", "or") if depth else ()))))
    if kind == "not":
        return Not(draw(conditions(columns, depth - 1)))
    if kind in ("and", "or"):
        return (And if kind == "and" else Or)(
            draw(conditions(columns, depth - 1)), draw(conditions(columns, depth - 1))
        )
    name, kind_of = draw(st.sampled_from(columns))
    if kind == "null":
        return IsNull(name, draw(st.booleans()))
    constant: Value
    if kind_of == "DOUBLE":
        constant = draw(st.integers(-40, 40)) / 8
    elif kind_of == "STRING":
        constant = draw(st.sampled_from(("", "a", "ab", "B", "it's", "ß")))
    elif kind_of == "BOOLEAN":
        return Compares(name, draw(st.sampled_from(("=", "<>"))), draw(st.booleans()))
    else:
        constant = draw(st.integers(-3, 3))
    return Compares(name, draw(st.sampled_from(("=", "<>", "<", "<=", ">", ">="))), constant)


@st.composite
def aggregates(draw: st.DrawFn, columns: tuple[tuple[str, str], ...], *, order_free: bool = False) -> Aggregate:
    """Any aggregate that suits one of the columns; `order_free`: none that tells rows of equal time apart."""
    where = draw(st.none() | conditions(columns)) if draw(st.integers(0, 2)) == 0 else None
    name, kind = draw(st.sampled_from(columns))
    names = ["count(*)", "count", "count distinct"]
    names += [] if order_free else ["first", "last", "collect_list", "arg_min", "arg_max"]
    names += ["mode", "heavy_hitters"]
    names += ["min", "max"] if kind != "BOOLEAN" else []
    names += ["sum", "avg", "var_samp", "var_pop", "stddev_samp", "stddev_pop"] if kind in NUMERIC else []
    names += ["median", "quantile"] if kind in NUMERIC else []
    names += ["bool_and", "bool_or", "count_if"] if kind == "BOOLEAN" else []
    names += ["string_agg"] if kind == "STRING" and not order_free else []
    function = draw(st.sampled_from(names))
    if function == "count(*)":
        return Aggregate("count", where=where)
    if function == "count distinct":
        return Aggregate("count", name, distinct=True, where=where)
    by = draw(st.sampled_from(columns))[0] if function in ("arg_min", "arg_max") else None
    constant = draw(CONSTANTS[function]) if function in CONSTANTS else None
    return Aggregate(function, name, where=where, by=by, constant=constant)


CONSTANTS: dict[str, st.SearchStrategy[float | str]] = {
    "quantile": st.sampled_from((0, 0.1, 0.25, 0.5, 0.9, 1)),
    "heavy_hitters": st.sampled_from((0.01, 0.07, 0.2, 0.34, 0.5, 1)),
    "string_agg": st.sampled_from(("", ", ", "it's")),
}
"""Second arguments."""


def data_columns(stream: Stream) -> tuple[tuple[str, str], ...]:
    """The columns that are neither times nor punctuations."""
    return tuple((name, kind) for name, kind in stream.columns if name not in ("ts", "p", "w"))


@st.composite
def queries(
    draw: st.DrawFn,
    *,
    late: bool = True,
    order_free: bool = False,
    relation: bool = False,
    emit: bool = False,
    both: bool = False,
) -> Query:
    """A query over a stream of its own; `both`: perhaps with rows at both ends of the axis."""
    shape = draw(shapes)
    stream = draw(streams(shape, late=late, exact=relation, both=both or relation))
    columns = data_columns(stream)
    keys = tuple(sorted(draw(st.sets(st.sampled_from([name for name, _ in columns]), max_size=2))))
    made = tuple(draw(st.lists(aggregates(columns, order_free=order_free), min_size=1, max_size=3)))
    window = draw(lifetimes(shape) if relation else time_extents(shape))
    if isinstance(window, Lifetime) and window.range is None:
        # refused: these would keep every row for ever
        made = tuple(
            replace(a, function="last", constant=None) if a.function in ("collect_list", "string_agg") else a
            for a in made
        )
    where = draw(st.none() | conditions(columns))
    if isinstance(window, TimeExtents) and "w" in dict(stream.columns):
        window = replace(window, on="w")
    if isinstance(window, TimeExtents) and window.range is None:
        where = None  # whether the last extent is told by rows that WHERE drops is not written down
    query = Query(stream, window, made, keys, where)
    if draw(st.integers(0, 3)) == 0:
        counts = tuple((f"a{i}", "INT") for i, a in enumerate(made) if a.function == "count")
        if counts:
            query = replace(query, having=draw(conditions(counts)))
    if emit:
        query = replace(query, emit_every=draw(st.integers(1, 15)) * shape.tick)
    return query


@st.composite
def splits(draw: st.DrawFn, count: int) -> list[int]:
    """Sizes of batches that hold `count` rows together, empty ones among them."""
    kind = draw(st.sampled_from(("one", "rows", "any")))
    if kind == "one":
        return [count]
    if kind == "rows":
        return [1] * count
    cuts = sorted(draw(st.lists(st.integers(0, count), max_size=8)))
    return [b - a for a, b in zip([0, *cuts], [*cuts, count], strict=True)]
