"""A JSON file that is one array: its items as lines, so that it is read as JSON lines are, also while it grows.

Not a check of the whole: what is between two items is skipped, and an item that can't be read is told as a line that can't.
"""

from __future__ import annotations

import json
import re
from typing import Final

_BETWEEN: Final = re.compile(r"[\s,\[\]]*")
"""What stands before an item; at the start of the file the bracket that opens the array."""
_NEXT: Final = re.compile(r",\s*(?=[{\[])")
"""Where the item after a damaged one begins, most likely."""
_TEXT: Final = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_NEAR: Final = 10
"""Bytes from the end within which a fault may be that the item isn't there as a whole yet, such as half a number."""
_SCAN: Final = json.JSONDecoder().scan_once  # type: ignore[attr-defined]  # what raw_decode calls


class ArrayItems:
    """Finds the items of an array in blocks of its text. Bytes are read as Latin-1, where each is a character: places are those
    of bytes, and only what is between quotes could differ.
    """

    def __init__(self) -> None:
        self._known: tuple[int, list[tuple[int, int]]] = (-1, [])

    def cut(self, data: bytes) -> int:
        """How many bytes at the start are whole items and what follows them; looked at once more by `lines`."""
        spans, end = self._spans(data, whole=False)
        self._known = (end, spans)
        return end

    def lines(self, data: bytes) -> bytes:
        """Each item on a line of its own. What isn't an item is a line as well, for its fault to be told."""
        length, spans = self._known
        if length != len(data):
            spans, _ = self._spans(data, whole=True)
        self._known = (-1, [])
        # within an item a newline can only stand between its parts
        return b"".join(data[a:b].replace(b"\n", b" ").replace(b"\r", b" ") + b"\n" for a, b in spans)

    def _spans(self, data: bytes, *, whole: bool) -> tuple[list[tuple[int, int]], int]:
        text = data.decode("latin-1")
        spans: list[tuple[int, int]] = []
        at = end = 0
        while True:
            at = _BETWEEN.match(text, at).end()  # type: ignore[union-attr]  # it matches nothing as well
            if at >= len(text):
                return spans, len(text)
            try:
                _, after = _SCAN(text, at)
            except (StopIteration, ValueError, RecursionError) as fault:
                place = getattr(fault, "pos", getattr(fault, "value", at))
                unfinished = _open_at_end(text, at) or place is None or place >= len(text) - _NEAR
                if not whole and unfinished:
                    return spans, end
                after = self._end_of_item(text, at)
                if after is None:
                    if not whole:
                        return spans, end
                    after = len(text)
            if not whole and after >= len(text) and text[after - 1] not in '}]"':
                return spans, end  # a number may go on
            spans.append((at, after))
            at = end = after

    @staticmethod
    def _end_of_item(text: str, at: int) -> int | None:
        """Where a damaged item ends: before the comma behind which another begins."""
        found = _NEXT.search(text, at)
        return None if found is None else found.start()


def _open_at_end(text: str, at: int) -> bool:
    """Whether a quote is open at the end."""
    return '"' in _TEXT.sub("", text[at:])
