"""A watch on every operator of every query the tests run: it keeps what its output punctuations promise.

An operator that gives a row before its own punctuation, or takes a punctuation back, would make those after it call wrong
answers final. No test has to ask for this: the fixture in conftest.py watches them all. Operators that keep nothing pass rows
and punctuations on as they are: among them rows that came late and yet miss no final answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import polars as pl

from jupyter_stream.core.messages import BROKEN, TS, Batch, KeyPunctuation, Message, Punctuation
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.flow.meld import Meld
from jupyter_stream.flow.protocol import Stateless, Waits
from jupyter_stream.graph.graph import Graph, Step


class BrokenPromise(AssertionError):
    """An operator did what its punctuation said would not happen."""


class Watch:
    """What one operator has promised so far."""

    def __init__(self, step: Step) -> None:
        self.step = step
        self.promised = MIN_TIME
        self.unfinished = 0
        self.told = MIN_TIME
        self.promised_of_keys: dict[str, dict[object, int]] = {}
        operator = step.operator
        for name in ("on_batch", "on_punctuation", "on_key_punctuation", "on_tick"):
            if hasattr(operator, name):
                setattr(operator, name, self._watched(getattr(operator, name)))
        if isinstance(operator, Waits):
            operator.on_punctuation = self._patient(operator, operator.on_punctuation)  # type: ignore[method-assign]

    def _watched(self, method):  # type: ignore[no-untyped-def]
        def watched(*arguments: object) -> Iterable[Message]:
            made = method(*arguments)
            if isinstance(made, tuple | list):
                for message in made:
                    self._look(message)
                return made
            return iter_watched(made)

        def iter_watched(made: Iterable[Message]) -> Iterator[Message]:
            for message in made:
                self._look(message)
                yield message

        return watched

    def _patient(self, operator: Waits, method):  # type: ignore[no-untyped-def]
        """It gives nothing before what it said it waits for."""

        def patient(port: int, punctuation: Punctuation) -> Iterator[Message]:
            # while it rests, it gives what an earlier punctuation has made final: nothing to wait for. One that comes while it
            # rests may be kept by whoever goes on, the earlier one's generator
            waits = MIN_TIME if self.unfinished else operator.waits_for
            self.told = max(self.told, punctuation.value) if self.unfinished else punctuation.value
            self.unfinished += 1
            try:
                for message in method(port, punctuation):
                    if isinstance(message, Batch) and message.provisional is None and self.told < waits:
                        name = type(operator).__name__
                        raise BrokenPromise(f"{name} waited for {waits}, and gave rows at {self.told}")
                    yield message
            finally:
                self.unfinished -= 1

        return patient

    def _look(self, message: Message) -> None:
        name = type(self.step.operator).__name__
        if isinstance(message, Punctuation):
            if message.attribute == TS:
                if message.value < self.promised:
                    raise BrokenPromise(f"{name} promised {self.promised}, and then {message.value}")
                self.promised = message.value
        elif isinstance(self.step.operator, Stateless | Meld):
            return
        elif isinstance(message, KeyPunctuation):
            column = self.promised_of_keys.setdefault(message.column, {})
            for key, at in message.frame.select(message.column, TS).rows():
                column[key] = max(at, column.get(key, MIN_TIME))
        elif isinstance(message, Batch) and message.provisional is None and TS in message.frame.columns:
            frame = message.frame
            if BROKEN in frame.columns:  # late rows, which are known to break it
                frame = frame.filter(pl.col(BROKEN).is_null())
            first = frame.get_column(TS).min()
            if first is not None and first < self.promised:  # type: ignore[operator]
                raise BrokenPromise(f"{name} promised {self.promised}, and then gave a row of {first}")
            for column, promises in self.promised_of_keys.items():
                for key, at in frame.select(column, TS).rows():
                    if at < promises.get(key, MIN_TIME):
                        raise BrokenPromise(f"{name} promised {promises[key]} for {key!r}, and then gave a row of {at}")


def watch(graph: Graph) -> list[Watch]:
    """Watch all operators of a query."""
    return [Watch(step) for step in graph.steps]


def unfinished(watches: Iterable[Watch]) -> list[str]:
    """Operators that have not said that nothing more comes."""
    return [type(w.step.operator).__name__ for w in watches if w.promised != MAX_TIME]
