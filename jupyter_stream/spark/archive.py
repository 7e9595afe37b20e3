"""The archive that Spark's executors elsewhere need: this package, compiled, as one file for `--py-files`.

What it stands on (Polars, NumPy, PyArrow, pandas) is compiled code, which the cluster's Python has to have.
"""

from __future__ import annotations

import importlib.util
import marshal
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

NAME: Final = "jupyter_stream.zip"
"""What the archive is called."""
_HOME: Final = Path(__file__).parents[1]
_UNCHECKED: Final = (1).to_bytes(4, "little")
"""Of a compiled module: it goes by a hash of its source, which nobody checks (PEP 552)."""


def write(to: Path) -> int:
    """Write it; returns how many modules it has. Raises `OSError` where it can't be written."""
    hidden = to.with_name(f".{to.name}")
    count = 0
    with zipfile.ZipFile(hidden, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, inside in _files():
            archive.write(path, inside)
            if path.suffix == ".py":
                # a module of an archive is compiled anew by each process that has no compiled one beside it
                archive.writestr(f"{inside}c", _compiled(path, inside))
                count += 1
    hidden.replace(to)
    return count


def _files() -> Iterator[tuple[Path, str]]:
    for path in sorted(_HOME.rglob("*")):
        if path.suffix in (".py", ".properties", ".js", ".css", ".typed") and "__pycache__" not in path.parts:
            yield path, f"{_HOME.name}/{path.relative_to(_HOME).as_posix()}"


def _compiled(path: Path, inside: str) -> bytes:
    source = path.read_bytes()
    code = compile(source, inside, "exec", dont_inherit=True)
    return importlib.util.MAGIC_NUMBER + _UNCHECKED + importlib.util.source_hash(source) + marshal.dumps(code)
