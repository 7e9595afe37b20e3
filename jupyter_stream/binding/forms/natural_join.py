"""NATURAL JOIN is USING with the columns that both inputs have.

FROM a NATURAL LEFT JOIN b
FROM a LEFT JOIN b USING (k, n)          -- where a has columns k, n, x and b has k, n, y
"""

from __future__ import annotations

from dataclasses import replace

from jupyter_stream.binding.scope import Scope
from jupyter_stream.syntax.query_syntax import JoinRef
from jupyter_stream.syntax.source_text import Name, SourceText


def with_using(item: JoinRef, left: Scope, right: Scope, source: SourceText) -> JoinRef:
    """The join with USING, where it is written NATURAL; any other as it is.

    Raises:
        QueryError: the inputs have no column in common.
    """
    if item.natural is None:
        return item
    theirs = {name.lower() for name, _ in right.star()}
    common = [name for name, _ in left.star() if name.lower() in theirs]
    if not common:
        raise source.error(
            "the inputs of this NATURAL JOIN have no column of the same name",
            item.natural,
            "Write JOIN b ON a.k = b.l, or CROSS JOIN for every row with every other.",
        )
    names = tuple(Name(name, item.natural) for name in dict.fromkeys(common))
    return replace(item, using=names, natural=None)
