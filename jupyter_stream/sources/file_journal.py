"""How files that grow were read: which bytes of which, one after another, with a check that they are the same still.

Not for reading them (`follow`): here are the notes alone.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple, TypeAlias

from jupyter_stream.errors import SourceError
from jupyter_stream.sources.journal import Notes


class TextRecords(NamedTuple):
    """Records of a file read line by line.

    Attributes:
        path: where it was.
        inode: by which it is known when it has been renamed since.
        start: its first byte.
        end: the byte after its last.
        check: CRC-32 of the file's text from its beginning up to `end`, without a byte order mark.
    """

    path: Path
    inode: int
    start: int
    end: int
    check: int


class Whole(NamedTuple):
    """A file that was read when it was whole.

    Attributes:
        path: where it was.
        inode: by which it is known when it has been renamed since.
        size: its bytes.
        changed: when it was written last, nanoseconds since 1970.
        refused: why it could not be read, None if it could.
    """

    path: Path
    inode: int
    size: int
    changed: int
    refused: str | None


Piece: TypeAlias = TextRecords | Whole


class FileJournal:
    """The notes of one reader of files.

    Args:
        path: where they are kept.

    Attributes:
        before: what was read before, in order; records that follow one another in a file as one.

    Raises:
        SourceError: the file holds something else.
    """

    def __init__(self, path: Path) -> None:
        self._notes = Notes(path)
        self.before: list[Piece] = []
        for line in self._notes.before:
            try:
                kind, where, *numbers = json.loads(line)
                self._add({"text": TextRecords, "whole": Whole}[kind](Path(where), *numbers))
            except (ValueError, TypeError, KeyError):
                raise SourceError(f"{path} doesn't say which files were read: '{line[:50]}'.") from None

    def note(self, piece: Piece) -> None:
        """Put down what is about to be handed over."""
        kind = "text" if isinstance(piece, TextRecords) else "whole"
        self._notes.put([json.dumps([kind, str(piece.path), *piece[1:]])])

    def _add(self, piece: Piece) -> None:
        last = self.before[-1] if self.before else None
        if (
            isinstance(last, TextRecords)
            and isinstance(piece, TextRecords)
            and (last.inode, last.end) == (piece.inode, piece.start)
        ):
            piece = piece._replace(start=last.start)
            self.before.pop()
        self.before.append(piece)


def found(piece: Piece) -> Path:
    """Where the file of a note is now: there, renamed in its folder, or another of its name, which its check will tell.

    Raises:
        SourceError: it is gone.
    """
    folder = piece.path.parent
    near = [piece.path, *(folder.iterdir() if folder.is_dir() else ())]
    same = next((p for p in near if _inode(p) == piece.inode), None)
    if same is None and not piece.path.is_file():
        raise gone(piece, "it is no longer there")
    return same or piece.path


def _inode(path: Path) -> int | None:
    try:
        return path.stat().st_ino
    except OSError:  # it has just gone
        return None


def gone(piece: Piece, what: str) -> SourceError:
    """The error for a file that can't be read again."""
    return SourceError(
        f"{piece.path} can't be read again as it was before: {what}.", hint="Start the query with another checkpoint."
    )
