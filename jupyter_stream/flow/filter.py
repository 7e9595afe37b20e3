"""Select: rows for which a predicate is true. Lifetimes, lateness and order are kept."""

from __future__ import annotations

from collections.abc import Iterator

from jupyter_stream.arrays.rows import rows_if
from jupyter_stream.core.messages import Batch, KeyPunctuation, Message
from jupyter_stream.flow.evaluate import Evaluator
from jupyter_stream.flow.protocol import Stateless
from jupyter_stream.functions.expression import Expr, show


class FilterOperator(Stateless):
    """Rows for which `predicate` is true (not false, not NULL).

    Attributes:
        condition: the predicate in words.
    """

    def __init__(self, predicate: Expr) -> None:
        self.condition = show(predicate)
        super().__init__(f"filter {self.condition}")
        self._evaluator = Evaluator([predicate])

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Keep what qualifies."""
        frame, (mask,), failed = self._evaluator.evaluate(batch.frame)
        if failed is not None:
            yield failed
        kept = rows_if(frame, mask)
        # provisional answers are replaced also by nothing
        if kept.height or batch.tells:
            yield batch.with_frame(kept)

    def on_key_punctuation(self, port: int, punctuation: KeyPunctuation) -> Iterator[Message]:
        """Pass it on: rows keep their key and their time."""
        yield punctuation
