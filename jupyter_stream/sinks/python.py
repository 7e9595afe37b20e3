"""`python://name`: a function of the notebook, called with a frame of each commit's rows, or with one row at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import polars as pl

from jupyter_stream.core.far import as_json
from jupyter_stream.errors import SinkError
from jupyter_stream.sinks.options import choice, did_you_mean
from jupyter_stream.sinks.protocol import Sink, SinkConnector, SinkUnreachable, Target


class PythonSink:
    """A callable. Raises `SinkError` when it is made where the notebook has none of that name.

    What it raises says that it will never take what it was given, but for `ConnectionError` and `TimeoutError`: these say
    "not just now", and it is called again with the same rows.
    """

    def __init__(self, target: Target) -> None:
        self._name = target.path.strip("/")
        self._namespace = target.namespace
        self._each = choice(target.options, "each", ("commit", "row"), "commit") == "row"
        self._function()

    def _function(self) -> Callable[[Any], object]:
        """The callable as it is now: a cell that defines it anew is heeded."""
        value = self._namespace.get(self._name)
        if value is None:
            names = [n for n, v in self._namespace.items() if not n.startswith("_") and callable(v)]
            raise SinkError(
                f"there is no variable '{self._name}'.",
                hint=did_you_mean(self._name, names, "Define a function of one frame in a cell first."),
            )
        if not callable(value):
            raise SinkError(
                f"'{self._name}' is a {type(value).__name__}, which can't be called.",
                hint="Name a function of one frame.",
            )
        return value

    def check(self) -> None:
        """It has been looked for when this was made."""

    def append(self, rows: pl.DataFrame) -> pl.DataFrame | None:
        """Call it with the rows, or once for each."""
        if not rows.height:
            return None
        return self._by_row(rows) if self._each else self._whole(rows)

    def replace(self, rows: pl.DataFrame) -> pl.DataFrame | None:
        """Call it with the whole answer, even an empty one."""
        return self._by_row(rows) if self._each else self._whole(rows)

    def upsert(self, rows: pl.DataFrame, gone: pl.DataFrame) -> None:
        """A function is told changes."""
        raise AssertionError("no mode of functions")

    def _whole(self, rows: pl.DataFrame) -> pl.DataFrame | None:
        why = self._call(rows)
        return None if why is None else _refused(rows, [why] * rows.height)

    def _by_row(self, rows: pl.DataFrame) -> pl.DataFrame | None:
        whys = [self._call(row) for row in rows.iter_rows(named=True)]
        bad = pl.Series([why is not None for why in whys], dtype=pl.Boolean)
        return _refused(rows.filter(bad), [why for why in whys if why is not None]) if bad.any() else None

    def _call(self, what: object) -> str | None:
        """Why it refused; None where it didn't."""
        try:
            self._function()(what)
        except (ConnectionError, TimeoutError) as error:
            raise SinkUnreachable(f"{self._name} raised {type(error).__name__}: {error}") from None
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return None

    def commit(self, number: int, position: str) -> None:
        """What was given has been taken."""

    def abort(self) -> None:
        """What was given can't be taken back: it comes again."""

    def committed(self) -> tuple[int, str] | None:
        """A function keeps no positions."""
        return None

    def close(self) -> None:
        """Nothing is held."""


def _refused(rows: pl.DataFrame, whys: list[str]) -> pl.DataFrame:
    return pl.DataFrame([as_json(rows), pl.Series("reason", whys, dtype=pl.String)])


def _open(target: Target) -> Sink:
    return PythonSink(target)


PYTHON: Final = SinkConnector(
    scheme="python",
    example="python://handle",
    options={
        "each": "'commit' (default) to call it with a Polars frame of each commit's rows, 'row' with a dict of each row"
    },
    modes=("changes", "append", "replace"),
    promise="at least once",
    how="it is called again with the same rows, and the same row_id, where it raised ConnectionError or TimeoutError",
    open=_open,
)
"""The connector of `python://`."""
