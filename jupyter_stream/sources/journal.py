"""How a live source was read: notes in a file, by which it can be read again in that order after the reader was killed."""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from jupyter_stream.errors import SourceError


class Notes:
    """Lines in a file, each put down before what it tells of is handed over.

    Args:
        path: the file; made with the first line.

    Attributes:
        before: the lines that an earlier reader left.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        text = path.read_bytes() if path.exists() else b""
        whole = text[: text.rfind(b"\n") + 1]  # a last line that was being written isn't of something handed over
        if len(whole) < len(text):
            os.truncate(path, len(whole))
        self.before = whole.decode(errors="replace").splitlines()

    def put(self, lines: Iterable[str]) -> None:
        """Put down lines."""
        with self._path.open("a") as file:
            file.write("".join(f"{line}\n" for line in lines))


class Slice(NamedTuple):
    """Messages of one partition that were read one after another, from an offset up to another."""

    partition: int
    start: int
    end: int
    messages: int


def slices_of(messages: Iterable[Any]) -> list[Slice]:
    """The slices of messages in the order read."""
    found = []
    for partition, group in groupby(messages, key=lambda message: message.partition()):
        offsets = [message.offset() for message in group]
        found.append(Slice(partition, offsets[0], offsets[-1] + 1, len(offsets)))
    return found


class Journal:
    """The notes of one reader of a topic.

    Args:
        path: the file; made with the first note.

    Attributes:
        slices: what was read before, in order, those that follow one another as one.
        reached: where each partition goes on.

    Raises:
        SourceError: the file holds something else.
    """

    def __init__(self, path: Path) -> None:
        self._notes = Notes(path)
        self.slices: list[Slice] = []
        self.reached: dict[int, int] = {}
        for line in self._notes.before:
            try:
                self._add(Slice(*map(int, line.split())))
            except (ValueError, TypeError):
                raise SourceError(f"{path} doesn't say what was read of a topic: '{line[:50]}'.") from None

    def note(self, slices: Iterable[Slice]) -> None:
        """Put down what is about to be handed over."""
        self._notes.put(" ".join(map(str, piece)) for piece in slices)

    def _add(self, piece: Slice) -> None:
        self.reached[piece.partition] = piece.end
        last = self.slices[-1] if self.slices else None
        if last is not None and (last.partition, last.end) == (piece.partition, piece.start):
            self.slices[-1] = Slice(last.partition, last.start, piece.end, last.messages + piece.messages)
        else:
            self.slices.append(piece)
