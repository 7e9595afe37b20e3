"""What `%%stream` does where its line says nothing: built in, from pyproject.toml, from `%config StreamMagics`; the last wins."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Final

from traitlets import Bool, Enum, HasTraits, Int, TraitError, Unicode

from jupyter_stream.core.suggest import nearest
from jupyter_stream.errors import QueryError
from jupyter_stream.magics.options import ENGINES
from jupyter_stream.views.options import CHARTS

TABLE: Final = "jupyter_stream"
"""The table in pyproject.toml, under `tool`."""
NAMES: Final = ("chart", "last", "keep", "engine", "quiet")


class Defaults(HasTraits):  # type: ignore[misc] # traitlets publishes no types
    """The options of `%%stream` that have a default to set; they are shown by `%config StreamMagics`."""

    chart = Enum(CHARTS, "auto", help="how queries are shown: as --chart").tag(config=True)
    last = Unicode("500", help="rows, or a time span, kept on screen: as --last").tag(config=True)
    keep = Int(1_000_000, min=1, help="result rows kept in memory: as --keep").tag(config=True)
    engine = Enum(ENGINES, "kernel", help="where queries run: as --engine").tag(config=True)
    quiet = Bool(False, help="show nothing under the cell: as --quiet").tag(config=True)


def read(start: Path) -> dict[str, Any]:
    """What `[tool.jupyter_stream]` says in the nearest pyproject.toml, in this folder or above.

    Raises:
        QueryError: the file can't be read, or names something there is no default for.
    """
    for folder in (start, *start.parents):
        file = folder / "pyproject.toml"
        if file.is_file():
            try:
                found = tomllib.loads(file.read_text(encoding="utf-8")).get("tool", {}).get(TABLE, {})
            except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
                raise QueryError(f"{file} can't be read: {error}") from None
            return {name: _known(name, value, file) for name, value in found.items()}
    return {}


def _known(name: str, value: Any, file: Path) -> Any:
    if name not in NAMES:
        near = nearest(name, NAMES)
        hint = f"Did you mean {near}?" if near else f"There are {', '.join(NAMES)}."
        raise QueryError(f"[tool.{TABLE}] in {file} has {name}, for which there is no default", hint=hint)
    return str(value) if name == "last" else value


def apply(to: HasTraits, said: dict[str, Any]) -> None:
    """Set the defaults said in a file.

    Raises:
        QueryError: a value that can't be.
    """
    for name, value in said.items():
        try:
            setattr(to, name, value)
        except TraitError as error:
            raise QueryError(f"[tool.{TABLE}]: {error}") from None
