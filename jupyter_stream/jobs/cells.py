"""What a job runs: the text of a SQL file, or the cells of a notebook. Not for running it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from jupyter_stream.errors import QueryError

MAGIC = "%%stream"


@dataclass(frozen=True, slots=True)
class Cell:
    """A piece of a job.

    Attributes:
        text: statements, or Python where `python`.
        line: what stands behind `%%stream`.
        where: the file and, of a notebook, the number of the cell.
        python: whether it is a cell of Python.
    """

    text: str
    line: str
    where: str
    python: bool = False


def cells_of(file: Path, *, python: bool = False) -> list[Cell]:
    """The pieces of a job, in order.

    Args:
        file: SQL text, or a notebook (`.ipynb`), of which the `%%stream` cells count.
        python: whether a notebook's other code cells are run as well.

    Raises:
        QueryError: a file that can't be read, or that has nothing to run.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise QueryError(f"{file} can't be read: {error}") from None
    if file.suffix != ".ipynb":
        return [Cell(text, "", str(file))]
    try:
        found = [c for c in json.loads(text)["cells"] if c["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError):
        raise QueryError(f"{file} is not a notebook", hint="Give a file of SQL, or a notebook (.ipynb).") from None
    cells = []
    for number, cell in enumerate(found, 1):
        source = cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])
        head, _, body = source.lstrip("\n").partition("\n")
        where = f"{file}, code cell {number}"
        if head.split()[:1] == [MAGIC]:
            cells.append(Cell(body, head.strip().removeprefix(MAGIC).strip(), where))
        elif python and source.strip():
            cells.append(Cell(source, "", where, python=True))
    if not any(not c.python for c in cells):
        raise QueryError(f"{file} has no {MAGIC} cell", hint=f"A cell that begins with {MAGIC} is run.")
    return cells
