"""Conditions of ON that hold a SELECT are conditions of WHERE, where the rows they judge are kept by nothing else.

FROM a JOIN b ON a.k = b.k AND b.n > (SELECT avg(n) FROM c)
FROM a JOIN b ON a.k = b.k WHERE b.n > (SELECT avg(n) FROM c)

In the left part of a LEFT JOIN and the right part of a RIGHT JOIN it is the same; ON of an outer join stays as it is.
"""

from __future__ import annotations

from dataclasses import replace

from jupyter_stream.syntax.nodes import Node, Operation, Subselect, conjuncts, walk
from jupyter_stream.syntax.query_syntax import FromItem, JoinRef, SelectBody


def with_where(body: SelectBody) -> SelectBody:
    """A SELECT whose inner joins have no SELECT in ON."""
    source, found = _parted(body.source)
    where = body.where
    for part in found:
        where = part if where is None else Operation("and", (where, part), part.span)
    return replace(body, source=source, where=where) if found else body


def _parted(item: FromItem) -> tuple[FromItem, list[Node]]:
    """An item of FROM without such conditions, and these."""
    if not isinstance(item, JoinRef) or item.window is not None or item.alias is not None or item.sample is not None:
        return item, []
    left, right = item.parts
    found: list[Node] = []
    if item.kind != "right" and item.kind != "full":
        left, of_left = _parted(left)
        found += of_left
    if item.kind in ("inner", "right"):
        right, of_right = _parted(right)
        found += of_right
    on = item.on
    if item.kind == "inner" and on is not None:
        moved = [part for part in conjuncts(on) if any(isinstance(node, Subselect) for node in walk(part))]
        if moved:
            kept: Node | None = None
            for part in conjuncts(on):
                if part not in moved:
                    kept = part if kept is None else Operation("and", (kept, part), part.span)
            found += moved
            on = kept
    return (replace(item, parts=(left, right), on=on) if found else item), found


__all__ = ["with_where"]
