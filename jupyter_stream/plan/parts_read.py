"""Which parts of a stream's columns a plan reads: fields of objects, where it asks for no more. For which columns: `needs`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from jupyter_stream.functions.expression import Call, Column, Expr, Literal
from jupyter_stream.plan.logical import Plan, streams
from jupyter_stream.plan.needs import needed_columns

Path: TypeAlias = tuple[str, ...]
"""A column and the fields that lead to a part of it."""


def parts_read(plan: Plan, stream: str) -> frozenset[Path]:
    """The parts of a stream's columns that a plan reads; a column by itself is all of it.

    Fields are told apart up to the first node that makes other columns. Where something looks at whole rows before, all of a
    column is read.
    """
    needed = needed_columns(plan).get(stream, frozenset())
    found: set[Path] = set()
    for name, above in _scans(plan, ()):
        if name == stream:
            found |= _read(above, needed)
    return frozenset(found)


def asks(read: Iterable[Path], part: Sequence[str]) -> bool:
    """Whether any of the parts that are read is that part, holds it, or is in it."""
    return any(all(a == b for a, b in zip(path, part, strict=False)) for path in read)


def _scans(plan: Plan, above: tuple[Plan, ...]) -> Iterator[tuple[str, tuple[Plan, ...]]]:
    """The streams that are read, each with what is above, from below."""
    if not plan.inputs:
        yield from ((stream.name, above) for stream in streams(plan))
    for part in plan.inputs:
        yield from _scans(part, (plan, *above))


def _read(above: tuple[Plan, ...], needed: frozenset[str]) -> set[Path]:
    found: set[Path] = set()
    for node in above:
        if node.reads == "all":
            break
        found |= {path for e in node.expressions for path in paths(e) if path[0] in needed}
        if node.reads == "made":
            return found | {(name,) for name in needed if all(path[0] != name for path in found)}
    return {(name,) for name in needed}


def paths(expr: Expr) -> Iterator[Path]:
    """The parts of columns that an expression names."""
    left: list[tuple[Expr, Path]] = [(expr, ())]
    while left:
        found, inner = left.pop()
        if isinstance(found, Column):
            yield (found.name, *inner)
        elif isinstance(found, Call):
            field = found.args[1] if found.function == "get_field" else None
            if isinstance(field, Literal):
                left.append((found.args[0], (str(field.value), *inner)))
            else:
                left.extend((part, ()) for part in found.args)
