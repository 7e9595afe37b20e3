"""What `file://path` names: one file, a folder's files, or those that match a pattern. Not for what is in them."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from jupyter_stream.core.suggest import nearest
from jupyter_stream.errors import SourceError

_MOST_BYTES = 255
"""Bytes a file's name may have."""
_MOST_IN_ALL = 4_096
"""Bytes a path may have, with the one that ends it."""
_NUMBERS = re.compile(r"(\d+)")


def matching(text: str) -> list[Path]:
    """The files a path, folder or pattern names now, in name order.

    Args:
        text: relative to the working directory, or absolute, or starting with `~`. `*`, `?`, `[...]` and `**` make it a
            pattern, unless a file of just that name exists. Of folders and patterns, names that start with `.` or `_` are
            left out (Spark marks its own files so). Of a folder, folders in it such as `day=2024-05-01` belong to it.
    """
    path = absolute(text)
    if path.is_dir():
        return sorted(_in_folder(path))
    if path.exists():
        return [path]
    if glob.has_magic(str(path)):
        found = [Path(p) for p in glob.glob(str(path), recursive=True)]  # noqa: PTH207  Path.glob takes no absolute pattern
        files = {p for p in found if p.is_file() and _is_data(p)}
        return sorted(files.union(*(_in_folder(p) for p in found if _has_column(p))))
    return []


def absolute(text: str) -> Path:
    """The path, absolute, with `~` replaced; nothing is looked up.

    Raises:
        SourceError: no file can have this name.
    """
    try:
        path = Path(text).expanduser()
    except RuntimeError:
        user = text.split("/")[0]
        raise SourceError(f"There is no user {user[1:]} here.", hint="Write ~/ for your own folder.") from None
    longest = max((len(part.encode(errors="replace")) for part in path.parts), default=0)
    if longest > _MOST_BYTES or "\0" in text:
        wrong = "holds a character that no file's name has" if "\0" in text else f"is {longest:,} bytes long"
        raise SourceError(f"A name in this path {wrong}.", hint=f"A file's name has {_MOST_BYTES} bytes at most.")
    whole = path if path.is_absolute() else Path.cwd() / path
    size = len(str(whole).encode(errors="replace"))
    if size >= _MOST_IN_ALL:
        raise SourceError(
            f"This path is {size:,} bytes long.", hint=f"A path must be shorter than {_MOST_IN_ALL:,} bytes."
        )
    return whole


def is_open_ended(text: str) -> bool:
    """Whether further files may come to belong to it: a folder, or a pattern in a folder that exists."""
    path = absolute(text)
    return path.is_dir() or (glob.has_magic(str(path)) and not path.is_file() and _fixed_part(path).is_dir())


def fixed_folder(text: str) -> Path:
    """The folder that a path, folder or pattern names before there is a pattern in it."""
    path = absolute(text)
    if path.is_dir():
        return path
    return path.parent if path.exists() else _fixed_part(path)


def is_path(text: str) -> bool:
    """Whether a text is the path of files rather than a name: it has folders, a pattern, or an ending data have, or a
    file here with any ending, or a folder with such files, is called so.
    """
    known = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet", ".pq", ".gz")
    if "/" in text or glob.has_magic(text) or text.lower().endswith(known):
        return True
    if "." in text and os.path.isfile(text):  # noqa: PTH113  a text too long for a path is none
        return True
    return os.path.isdir(text) and any(p.name.lower().endswith(known) for p in matching(text))  # noqa: PTH112  the same


def nothing_there(text: str) -> SourceError:
    """The error for a path that names no file: where it was looked for, and what there is instead."""
    path = absolute(text)
    if path.is_dir():
        return SourceError(f"There are no files in {path}.")
    folder = _fixed_part(path)
    while not folder.is_dir():
        folder = folder.parent
    wanted = path.relative_to(folder).parts[0]
    names = sorted(p.name + ("/" if p.is_dir() else "") for p in folder.iterdir() if not p.name.startswith("."))
    near = nearest(wanted, names)
    if near is not None:
        hint = f"Did you mean '{folder / near}'?"
    else:
        hint = (
            f"{folder} holds "
            + (", ".join(names[:10]) + (", ..." if len(names) > 10 else "") if names else "nothing")
            + "."
        )
    return SourceError(f"No file matches {path}.", hint=hint)


def _fixed_part(path: Path) -> Path:
    """The folders before the first one that is a pattern."""
    fixed = Path(path.anchor)
    for part in path.parts[1:-1]:
        if glob.has_magic(part):
            break
        fixed /= part
    return fixed


def _in_folder(folder: Path) -> Iterator[Path]:
    """A folder's files, and those of the folders in it whose names are a column and its value."""
    for path in folder.iterdir():
        if not _is_data(path):
            continue
        if path.is_file():
            yield path
        elif _has_column(path):
            yield from _in_folder(path)


def _has_column(path: Path) -> bool:
    return "=" in path.name[1:] and _is_data(path) and path.is_dir()


def in_another_order(paths: Sequence[Path]) -> tuple[Path, Path] | None:
    """Two files, the first of which comes before the other by name and after it by the numbers in their names; None for none."""
    for before, after in pairwise(paths):
        if _by_number(before) > _by_number(after):
            return before, after
    return None


def _by_number(path: Path) -> list[tuple[str, int]]:
    parts = _NUMBERS.split(str(path))
    return [(word, int(number)) for word, number in zip(parts[::2], [*parts[1::2], "0"], strict=True)]


def _is_data(path: Path) -> bool:
    return not path.name.startswith((".", "_"))
