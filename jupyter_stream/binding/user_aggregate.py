"""Aggregates declared in SQL: bound for each combination of argument types they are called with, once."""

from __future__ import annotations

from collections.abc import Sequence
from threading import get_ident

import polars as pl

from jupyter_stream.aggregates import BadArguments
from jupyter_stream.aggregates.user import Program
from jupyter_stream.aggregates.user.protocol import check_count
from jupyter_stream.aggregates.user.sql import SqlProgram
from jupyter_stream.binding.bind_body import bind_body
from jupyter_stream.binding.body_stored import FindTable
from jupyter_stream.core.schema import type_name
from jupyter_stream.functions.types import admitted
from jupyter_stream.syntax.syntax import CreateAggregate


class SqlAggregate:
    """CREATE AGGREGATE.

    Args:
        statement: as parsed. Where all its types are written it is bound at once, so that mistakes are told at once.
        find: gives the session's table of a name.

    Raises:
        QueryError: a mistake in its body.
    """

    def __init__(self, statement: CreateAggregate, find: FindTable = lambda name: None) -> None:
        self.statement = statement
        self._find = find
        self.name = statement.name.text
        self.text = statement.text
        self.algebraic = statement.algebraic
        self.windowed = statement.windowed
        self._types = [p.dtype for p in statement.parameters]
        self._programs: dict[tuple[str, ...], SqlProgram] = {}
        self._binding: set[tuple[int, tuple[str, ...]]] = set()  # by thread
        shown = (p.name.text + (f" {type_name(p.dtype)}" if p.dtype is not None else "") for p in statement.parameters)
        returns = f" -> {type_name(statement.returns)}" if statement.returns is not None else ""
        self.signature = f"{self.name}({', '.join(shown)}){returns}"
        words = [w for w, said in (("algebraic", self.algebraic), ("window", self.windowed)) if said]
        states = [s.upper() for s in statement.states]
        self.description = f"User-defined {' '.join([*words, 'aggregate'])} in SQL: {', '.join(states)}."
        if None not in self._types:
            self.program([t for t in self._types if t is not None])

    def program(self, types: Sequence[pl.DataType]) -> Program:
        """The aggregate for these types. Raises `BadArguments` for a wrong number, `QueryError` for a mistake in the body."""
        check_count(self.name, len(self._types), len(types))
        wanted = [admitted(t) if d is None else d for t, d in zip(types, self._types, strict=True)]
        key = tuple(str(t) for t in wanted)
        found = self._programs.get(key)
        if found is None or found.body.stored:  # a table may have been declared again
            bound = (get_ident(), key)
            if bound in self._binding:
                raise BadArguments(f"{self.name} can't be called here: it would call itself, through others")
            self._binding.add(bound)
            try:
                made = SqlProgram(bind_body(self.statement, wanted, self._find))
            finally:
                self._binding.discard(bound)
            if found is None or [*map(id, made.body.stored)] != [*map(id, found.body.stored)]:
                found = self._programs[key] = made
        return found
