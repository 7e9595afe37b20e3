"""What an aggregate query without groups says of no rows, as far as that can be told before it runs: `1 + count(*)` is 1."""

from __future__ import annotations

from typing import Final

from jupyter_stream import aggregates
from jupyter_stream.binding.bind_expression import ExpressionBinder
from jupyter_stream.errors import QueryError
from jupyter_stream.functions import BadArguments, Expr, Literal
from jupyter_stream.functions.binding import constant
from jupyter_stream.functions.types import BIGINT, VOID
from jupyter_stream.syntax.nodes import FunctionCall, Node
from jupyter_stream.syntax.source_text import Name, SourceText

_NULL: Final = Literal(None, VOID)


def of_nothing(item: Node, having: Node | None, source: SourceText) -> Expr:
    """The value of a select item over no rows: a NULL literal where it is NULL, or where HAVING lets no row pass.

    Args:
        item: as written.
        having: HAVING.
        source: the cell.
    """
    binder = ExpressionBinder(source, _NoRows())
    try:
        passes = None if having is None else constant("HAVING", 0, binder.condition(having, "HAVING")).value
        if having is not None and passes is not True:
            return _NULL
        value = binder.bind(item)
    except (QueryError, BadArguments):
        return _NULL  # a mistake in it is told where it is bound in earnest
    try:
        known = constant("a value", 0, value)
    except BadArguments:
        return value  # it fails, for the rows that ask for it
    return _NULL if known.value is None else known


class _NoRows:
    """Names over no rows: aggregates have the values they have of none."""

    def column(self, name: Name, qualifier: Name | None) -> Expr | None:
        """Of no rows, no column has a value."""
        return _NULL

    def known(self) -> tuple[str, ...]:
        """Nobody asks."""
        return ()

    def pseudo(self) -> tuple[str, ...]:
        """Nobody asks."""
        return ()

    def aggregate(self, call: FunctionCall) -> Expr:
        """0 of counts, NULL of the others."""
        return _NULL if aggregates.of_nothing(call.name.text) is None else Literal(0, BIGINT)

    def special(self, node: Node) -> Expr | None:
        """Nothing means something else."""
        return None


__all__ = ["of_nothing"]
