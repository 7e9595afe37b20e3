"""FROM of a body where it is more than a list of tables: SELECTs in it, outer joins, UNION, EXCEPT and INTERSECT."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeAlias

from jupyter_stream.aggregates.user.alike import once, row_key
from jupyter_stream.aggregates.user.body import DerivedRows, PairedRows, Read, SelectRows, SetRows, Source
from jupyter_stream.functions.expression import Expr
from jupyter_stream.functions.scalar import Env, Scalar

Places: TypeAlias = Callable[[Env], Iterator[None]]
"""Puts rows into their places, one after the other."""
Rows: TypeAlias = Callable[[Env], Iterator[tuple[Any, ...]]]


class Compiler(Protocol):
    """What makes functions of the parts."""

    def read(self, read: Read) -> Places:
        """The rows of a table."""

    def select(self, select: SelectRows) -> Rows:
        """What a SELECT gives."""

    def condition(self, expr: Expr | None) -> Scalar | None:
        """A condition; None for none."""


def places_of(source: Source, compiler: Compiler) -> Places:
    """The rows of FROM."""
    match source:
        case Read():
            return compiler.read(source)
        case DerivedRows():
            return _derived(source, compiler)
        case PairedRows():
            return _joined(source, compiler)


def rows_of(query: SelectRows | SetRows, compiler: Compiler) -> Rows:
    """What a SELECT gives, or several put together."""
    if isinstance(query, SelectRows):
        return compiler.select(query)
    left, right = (rows_of(part, compiler) for part in query.parts)
    kind, keeps_equal = query.kind, query.all

    def union(env: Env) -> Iterator[tuple[Any, ...]]:
        found = [*left(env), *right(env)]
        yield from found if keeps_equal else once(found)

    def other(env: Env) -> Iterator[tuple[Any, ...]]:
        others = Counter(map(row_key, right(env)))
        rows = list(left(env))
        for row in rows if keeps_equal else once(rows):
            key = row_key(row)
            there = others[key] > 0
            if keeps_equal and there:
                others[key] -= 1
            if there == (kind == "intersect"):
                yield row

    return union if kind == "union" else other


def _derived(source: DerivedRows, compiler: Compiler) -> Places:
    rows = rows_of(source.query, compiler)
    places = slice(source.place, source.place + source.width)

    def run(env: Env) -> Iterator[None]:
        for row in list(rows(env)):
            env[places] = row
            yield

    return run


def _joined(source: PairedRows, compiler: Compiler) -> Places:
    left, right = places_of(source.left, compiler), places_of(source.right, compiler)
    on = compiler.condition(source.on)
    first, end = source.right_places
    lefts, rights = slice(source.left_place, first), slice(first, end)
    nothing_left, nothing_right = [None] * (first - source.left_place), [None] * (end - first)
    kind = source.kind

    def run(env: Env) -> Iterator[None]:
        held = [env[rights] for _ in right(env)]
        met = [False] * len(held)
        for _ in left(env):
            alone = True
            for i, row in enumerate(held):
                env[rights] = row
                if on is None or on(env):
                    alone, met[i] = False, True
                    yield
            if alone and kind != "inner":
                env[rights] = nothing_right
                yield
        if kind == "full":
            for i, row in enumerate(held):
                if not met[i]:
                    env[lefts], env[rights] = nothing_left, row
                    yield

    return run


__all__ = ["places_of", "rows_of"]
