"""What is on disk when a call returns, also where the power fails then. Not for what a file holds."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def sync_folder(folder: Path) -> None:
    """Bring the names of a folder to disk, where its file system can."""
    with suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def make_folder(folder: Path) -> None:
    """Make a folder and those above it. Raises `OSError` where that can't be."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for each in missing:
        sync_folder(each.parent)


def write_text(at: Path, text: str) -> None:
    """Write a small file, which is there as it was or as it will be. Raises `OSError` where that can't be."""
    part = at.with_suffix(".part")
    with part.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    part.replace(at)
    sync_folder(at.parent)
