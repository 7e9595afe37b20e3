"""An answer's rows as a sink has them: its columns, matched by position and cast; texts that can be names where they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce

import polars as pl

from jupyter_stream import functions
from jupyter_stream.core.messages import Failed
from jupyter_stream.core.schema import Field, Schema
from jupyter_stream.engine.error_rows import as_errors
from jupyter_stream.errors import QueryError
from jupyter_stream.flow.evaluate import Evaluator
from jupyter_stream.functions.expression import Call, Column, Expr, Literal
from jupyter_stream.functions.types import BOOLEAN, STRING, VOID
from jupyter_stream.sinks import OP
from jupyter_stream.sinks.options import columns
from jupyter_stream.sinks.part_files import NO_NAMES

BOUNDS = ("window_start", "window_end")
"""Columns that extents have by themselves."""


class SinkShape:
    """An answer's rows in a sink's columns and types, by position.

    Args:
        answer: the answer's columns.
        declared: the sink's, if they are declared.
        names: of those that are written to.
        integer: whether the time is a number.
        wrong: makes the error.
        options: the sink's, of which `partition_by` names columns whose values are names of folders.

    Raises:
        QueryError: when it is made, where a column can't have its type.
    """

    def __init__(
        self,
        answer: Schema,
        declared: Schema | None,
        names: Sequence[str] | None,
        integer: bool,
        wrong: Callable[[str], QueryError],
        options: Mapping[str, str],
    ) -> None:
        self.answer = answer
        self._integer = integer
        if declared is None:
            declared = answer
            if names is not None:
                declared = Schema.of(zip(names, (f.dtype for f in matching(answer, names)), strict=True))
        self.schema = declared
        wanted = names or declared.names
        given = dict(zip(wanted, matching(answer, wanted), strict=True))
        try:
            exprs = [_cast(given.get(f.name), f) for f in declared]
        except functions.BadArguments as bad:
            raise wrong(bad.message) from None
        self.items = tuple(zip(declared.names, exprs, strict=True))
        """The sink's columns, of the answer's."""
        folders = columns(options, "partition_by", declared.names)
        named = [f.name in folders and f.dtype == pl.String() for f in declared]
        exprs = [_as_folder(f.name, e) if folder else e for f, e, folder in zip(declared, exprs, named, strict=True)]
        self.evaluator = None if declared == answer and not any(named) else Evaluator(exprs)

    def rows(self, frame: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame | None]:
        """The rows, and those that can't have these types, as `raw` and `reason`. Columns beside the answer's stay."""
        if self.evaluator is None:
            return frame, None
        good, columns, failed = self.evaluator.evaluate(frame)
        made = pl.DataFrame([c.alias(f.name) for c, f in zip(columns, self.schema, strict=True)])
        made = made.hstack(good.select(c for c in good.columns if c not in self.answer.names))
        if failed is not None and OP in failed.frame.columns:  # what can't enter, can't leave either
            entering = failed.frame.get_column(OP) > 0
            failed = Failed(failed.frame.filter(entering), failed.reasons.filter(entering))
        return made, None if failed is None else self.refused(failed)

    def refused(self, failed: Failed) -> pl.DataFrame:
        """Answers that can't have these types, as `raw` and `reason`."""
        return as_errors(failed, self._integer)


def matching(answer: Schema, names: Sequence[str]) -> tuple[Field, ...]:
    """The columns that go to a sink's by position: without the bounds of extents that come by themselves and aren't wanted."""
    fields = list(answer.fields)
    lower = {name.lower() for name in names}
    for bound in BOUNDS:
        extra = next((f for f in fields[:2] if f.name == bound and bound not in lower), None)
        if extra is not None and len(fields) > len(names):
            fields.remove(extra)
    return tuple(fields)


def _cast(of: Field | None, to: Field) -> Expr:
    return Literal(None, to.dtype) if of is None else functions.cast(Column(of.name, of.dtype), to.dtype)


def _as_folder(name: str, text: Expr) -> Expr:
    """A text that is a folder's name: one that readers take for NULL, or can't read at all, isn't written."""
    why = f"{name}, which names a folder, is a text that stands for NULL there"
    failing = functions.cast(Call("raise_error", (Literal(why, STRING),), VOID), STRING)
    no_names = [Call("=", (text, Literal(no_name, STRING)), BOOLEAN) for no_name in NO_NAMES]
    return Call("case", (reduce(lambda a, b: Call("or", (a, b), BOOLEAN), no_names), failing, text), STRING)


__all__ = ["BOUNDS", "SinkShape", "matching"]
