"""Walks through the syntax of a file."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """All statements in one, without going through expressions, which are most of a text."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        below = getattr(node, field, ())
        for child in below if isinstance(below, list) else ():  # a lambda's body is an expression
            yield child
            yield from statements(child)
