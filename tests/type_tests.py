"""Where a module asks of which class something is: isinstance, issubclass, class patterns, type(x) is, dictionaries by class."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]


def type_tests(text: str, of: Collection[str]) -> Iterator[ast.AST]:
    """The places where a module's text asks for one of these classes, under whatever name it imports them."""
    if not any(name in text for name in of):
        return
    tree = ast.parse(text)
    renamed = [a for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) for a in n.names if a.name in of]
    classes = {*of, *(a.asname for a in renamed if a.asname)}

    def names(node: ast.AST | None) -> bool:
        found = () if node is None else ast.walk(node)
        return any(getattr(n, "id", getattr(n, "attr", None)) in classes for n in found)

    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, wanted]) if names(wanted):
                yield node
            case ast.MatchClass(cls=wanted) if names(wanted):
                yield node
            case ast.Compare() if any(_is_type_of(n) for n in (node.left, *node.comparators)) and names(node):
                yield node
            case ast.Dict(keys=keys):
                yield from (key for key in keys if isinstance(key, ast.Name | ast.Attribute) and names(key))


def counted_by_file(of: Collection[str], counts: Callable[[Path], bool]) -> Counter[str]:
    """How many such places each file of the package has, of the files that count."""
    files = [f for room in ("jupyter_stream", "magics") for f in sorted((ROOT / room).rglob("*.py")) if counts(f)]
    assert len(files) > 300
    return Counter({str(f.relative_to(ROOT)): len(list(type_tests(f.read_text(), of))) for f in files})


def _is_type_of(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "type"
