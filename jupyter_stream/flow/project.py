"""Project: new columns from old. System columns go along."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from jupyter_stream.arrays.rows import frame_of
from jupyter_stream.core.messages import Batch, KeyPunctuation, Message
from jupyter_stream.flow.evaluate import Evaluator
from jupyter_stream.flow.protocol import Stateless, either
from jupyter_stream.functions.expression import Column, Expr, show


class ProjectOperator(Stateless):
    """Columns named in `items`, computed; system columns (`$...`) are kept.

    Args:
        items: name and expression of each.
        wanted: those that somebody reads; None for all. Others are left out, but for those whose expressions may fail.
    """

    def __init__(self, items: tuple[tuple[str, Expr], ...], wanted: frozenset[str] | None = None) -> None:
        super().__init__("project " + ", ".join(n if show(e) == n else f"{show(e)} AS {n}" for n, e in items))
        self._items = items
        self._renamed: dict[str, list[str]] = {}
        for name, expr in items:
            if isinstance(expr, Column):
                self._renamed.setdefault(expr.name, []).append(name)
        self._take(wanted)

    def _take(self, wanted: frozenset[str] | None) -> None:
        self.wanted = wanted
        made = [(n, e) for n, e in self._items if wanted is None or n in wanted or not isinstance(e, Column)]
        self._names = [name for name, _ in made]
        self._evaluator = Evaluator([expr for _, expr in made])
        self._plain = {expr.name: expr.dtype for _, expr in made if isinstance(expr, Column)}

    def widen(self, wanted: frozenset[str] | None) -> None:
        """Somebody reads these, too."""
        self._take(either(self.wanted, wanted))

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Compute the columns."""
        absent = [n for n in self._plain if n not in batch.frame.columns]  # nobody reads them
        frame = (
            batch.frame.with_columns(pl.lit(None, self._plain[n]).alias(n) for n in absent) if absent else batch.frame
        )
        frame, columns, failed = self._evaluator.evaluate(frame)
        if failed is not None:
            yield failed
        taken = set(self._names)  # a key that is selected under a hidden name comes with it already
        system = [frame.get_column(c) for c in frame.columns if c.startswith("$") and c not in taken]
        named = [c.alias(n) for n, c in zip(self._names, columns, strict=True)]
        if frame.height or batch.tells:
            yield batch.with_frame(frame_of([*named, *system]))

    def on_key_punctuation(self, port: int, punctuation: KeyPunctuation) -> Iterator[Message]:
        """Pass it on under the key's new name; it says nothing where the key is left out."""
        for name in self._renamed.get(punctuation.column, ())[:1]:
            yield KeyPunctuation(punctuation.frame.rename({punctuation.column: name}))
