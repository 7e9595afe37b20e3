"""Where a module asks of which class something is: isinstance, issubclass, class patterns, type(x) is, dictionaries by class."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

_TELLING = (ast.ImportFrom, ast.Call, ast.MatchClass, ast.Compare, ast.Dict)


def type_tests(module: Collection[ast.AST], of: Collection[str]) -> Iterator[ast.AST]:
    """The places where a module, all its nodes, asks for one of these classes, under whatever name it imports them."""
    nodes = [n for n in module if isinstance(n, _TELLING)]
    renamed = [a for n in nodes if isinstance(n, ast.ImportFrom) for a in n.names if a.name in of]
    classes = {*of, *(a.asname for a in renamed if a.asname)}

    def names(node: ast.AST | None) -> bool:
        found = () if node is None else ast.walk(node)
        return any(getattr(n, "id", getattr(n, "attr", None)) in classes for n in found)

    for node in nodes:
        match node:
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, wanted]) if names(wanted):
                yield node
            case ast.MatchClass(cls=wanted) if names(wanted):
                yield node
            case ast.Compare() if any(_is_type_of(n) for n in (node.left, *node.comparators)) and names(node):
                yield node
            case ast.Dict(keys=keys):
                yield from (key for key in keys if isinstance(key, ast.Name | ast.Attribute) and names(key))


def _is_type_of(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "type"
