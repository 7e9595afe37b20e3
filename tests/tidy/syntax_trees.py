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


def all_nodes(tree: ast.AST) -> list[ast.AST]:
    """All nodes of a file, in `ast.walk`'s order, but for those that say whether a name is read or written."""
    found = [tree]
    for node in found:  # it grows
        for field in node._fields:
            below = getattr(node, field, None)
            if isinstance(below, list):
                found.extend(n for n in below if isinstance(n, ast.AST))
            elif isinstance(below, ast.AST) and not isinstance(below, ast.expr_context):
                found.append(below)
    return found
