"""What `file://path` names: one file, a folder's files, or those that match a pattern. Not for what is in them."""

from __future__ import annotations

import glob
from pathlib import Path

from jupyter_stream.errors import SourceError
from jupyter_stream.sources.options import nearest


def matching(text: str) -> list[Path]:
    """The files a path, folder or pattern names now, in name order.

    Args:
        text: relative to the working directory, or absolute, or starting with `~`. `*`, `?`, `[...]` and `**` make it a
            pattern, unless a file of just that name exists. Of folders and patterns, names that start with `.` or `_` are
            left out (Spark marks its own files so).
    """
    path = absolute(text)
    if path.is_dir():
        return sorted(p for p in path.iterdir() if p.is_file() and _is_data(p))
    if path.exists():
        return [path]
    if glob.has_magic(str(path)):
        found = (Path(p) for p in glob.glob(str(path), recursive=True))  # noqa: PTH207  Path.glob takes no absolute pattern
        return sorted(p for p in found if p.is_file() and _is_data(p))
    return []


def absolute(text: str) -> Path:
    """The path, absolute, with `~` replaced; nothing is looked up."""
    path = Path(text).expanduser()
    return path if path.is_absolute() else Path.cwd() / path


def is_open_ended(text: str) -> bool:
    """Whether further files may come to belong to it: a folder, or a pattern in a folder that exists."""
    path = absolute(text)
    return path.is_dir() or (glob.has_magic(str(path)) and not path.is_file() and _fixed_part(path).is_dir())


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


def _is_data(path: Path) -> bool:
    return not path.name.startswith((".", "_"))
