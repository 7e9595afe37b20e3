"""Functions written in Python: called for each row, or with arrays of many rows; a row one fails on has no value, and a reason.

Rows with a NULL are NULL without a call, unless the annotation of that parameter admits None. A vectorised function that raises
is called with halves of its rows, so that only those it fails on have no value.
"""

from __future__ import annotations

import inspect
import itertools
import threading
import types
import uuid
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np
import polars as pl

from jupyter_stream.core.annotations import admits_null, found_type, hints, is_array, meant, sample
from jupyter_stream.core.code import Code, source_of
from jupyter_stream.core.schema import type_name
from jupyter_stream.errors import QueryError
from jupyter_stream.functions.binding import argument, count
from jupyter_stream.functions.expression import Call, Expr, columns, walk
from jupyter_stream.functions.function import Compiled, ComputedStep, Failure, Function
from jupyter_stream.functions.own import OwnName

_VALUE, _ERROR = "value", "error"
_numbers: Final = itertools.count()
_MOST: Final = 256
_known: Final[dict[Call, Compiled]] = {}
"""Calls, each a step once, however many expressions of a query hold it; the newest of them."""


class PythonFunction:
    """A registered function.

    Args:
        made: the function.
        name: as queries call it.
        arguments: types of the arguments; None for its annotations.
        returns: type of the result; None for its annotation, else what a trial gives.
        vectorised: whether it takes arrays; None for what its annotations say.

    Raises:
        TypeError: it isn't a function, or a type is none.
    """

    def __init__(
        self,
        made: Callable[..., Any],
        name: str,
        arguments: Sequence[object] | None = None,
        returns: object = None,
        vectorised: bool | None = None,
    ) -> None:
        if not callable(made):
            raise TypeError(f"{made!r} is no function")
        self.made = made
        self.name = name
        annotated = hints(made)
        parameters = list(inspect.signature(made).parameters.values())
        several = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        parameters = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        said = [annotated.get(p.name) for p in parameters]
        self._series = [s is pl.Series for s in said]
        self.vectorised = any(map(is_array, said)) or any(self._series) if vectorised is None else vectorised
        self._types = [meant(None if s is pl.Series else s) for s in said]
        self._nulls = [admits_null(s) for s in said]
        if arguments is not None:
            self._types = [meant(t) for t in arguments]
        self._least = sum(p.default is p.empty for p in parameters)
        self._most = None if several else len(parameters)
        self._returns = meant(returns if returns is not None else annotated.get("return"))
        shown = [
            p.name + ("" if t is None else f" {type_name(t)}") for p, t in zip(parameters, self._types, strict=False)
        ]
        gives = "" if self._returns is None else f" -> {type_name(self._returns)}"
        self.signature = f"{name}({', '.join([*shown, *(['...'] if several else [])])}){gives}"
        words = inspect.getdoc(made)
        how = "by arrays" if self.vectorised else "row by row"
        self.description = (
            f"{words.split(chr(10))[0] if words else ''} Function of yours in Python, called {how}.".strip()
        )
        self.text = source_of(made) or f"def {name}(...): ..."
        self.code = Code(f"def {name}", made)
        self.token = uuid.uuid4().hex
        self._tried: dict[tuple[str, ...], pl.DataType] = {}

    def sql_name(self, dtype: pl.DataType) -> str:
        """Its name on Spark, where several queries may have several functions of one name, with values of this type."""
        return f"jupyter_stream_{self.token}_{zlib.crc32(str(dtype).encode()):08x}"

    def bind(self, args: Sequence[Expr]) -> Expr:
        """The call, its arguments cast to the types it takes. Raises `BadArguments`."""
        count(self.name, tuple(args), self._least, self._most)
        wanted = [*self._types, *[None] * len(args)]
        given = tuple(argument(self.name, i, a, t) for i, (a, t) in enumerate(zip(args, wanted, strict=False)))
        dtype = self._returns if self._returns is not None else self._found([a.dtype for a in given])
        return Call(OwnName(self), given, dtype)

    @property
    def row(self) -> Function:
        """What the function table has for others."""
        example = f"{self.name}(...)"
        return Function(self.name, self.signature, self.description, example, self.bind, self._kernel, self._spark)

    def _found(self, of: Sequence[pl.DataType]) -> pl.DataType:
        """The result's type, where nobody has said it: that of two rows' values."""
        key = tuple(map(str, of))
        if key not in self._tried:
            rows = [sample(t) for t in of]
            columns = [
                pl.Series(r, dtype=t if isinstance(t, pl.Datetime) else None) for r, t in zip(rows, of, strict=True)
            ]
            try:
                values = self._called(columns) if self.vectorised else [self.made(*r) for r in zip(*rows, strict=True)]
                self._tried[key] = found_type([_plain(v) for v in values] or [_plain(self.made())])
            except Exception:  # whatever it says of two rows that were made up
                self._tried[key] = pl.Float64()
        return self._tried[key]

    # -- calling it

    def one(self, values: Sequence[Any], dtype: pl.DataType) -> tuple[Any, str | None]:
        """The value for one row, and what is wrong where there is none."""
        if any(v is None and not admits for v, admits in zip(values, self._admits(len(values)), strict=True)):
            return None, None
        if self.vectorised:
            found, errors = self.over([pl.Series([v]) for v in values], dtype)
            return found[0], errors[0]
        try:
            value = _plain(self.made(*values))
        except Exception as error:
            return None, self._said(error)
        except (SystemExit, KeyboardInterrupt) as error:
            self._leave(error)
            raise
        made, reasons = self._typed([value], dtype)
        return made[0], reasons[0]

    def over(self, given: Sequence[pl.Series], dtype: pl.DataType) -> tuple[pl.Series, list[str | None]]:
        """The values for rows, and for each what is wrong where there is none."""
        height = len(given[0]) if given else 1
        whole = np.ones(height, np.bool_)
        for column, admits in zip(given, self._admits(len(given)), strict=True):
            if column.null_count() and not admits:
                whole &= column.is_not_null().to_numpy()
        rows = np.flatnonzero(whole)
        asked = list(given) if rows.size == height else [c.gather(pl.Series(rows)) for c in given]
        made, errors = self._by_arrays(asked, dtype) if self.vectorised else self._by_rows(asked, dtype, rows.size)
        if rows.size == height:
            return made, errors
        place = np.full(height, -1, np.int64)
        place[rows] = np.arange(rows.size)
        at = pl.Series(place)
        spread: list[str | None] = [None] * height
        for row, reason in zip(rows.tolist(), errors, strict=True):
            spread[row] = reason
        return made.gather(at.set(at < 0, None)), spread

    def _admits(self, number: int) -> list[bool]:
        return [*self._nulls, *[False] * number][:number]

    def _by_rows(
        self, given: Sequence[pl.Series], dtype: pl.DataType, height: int
    ) -> tuple[pl.Series, list[str | None]]:
        values: list[Any] = [None] * height
        errors: list[str | None] = [None] * height
        rows = zip(*(c.to_list() for c in given), strict=True) if given else iter([()])
        made, failed = self.made, False
        try:
            for i, row in enumerate(rows):
                try:
                    values[i] = made(*row)
                except Exception as error:
                    errors[i], failed = self._said(error), True
        except (SystemExit, KeyboardInterrupt) as error:
            self._leave(error)
            raise
        series, reasons = self._typed([_plain(v) for v in values], dtype)
        return series, [a or b for a, b in zip(errors, reasons, strict=True)] if failed else reasons

    def _by_arrays(self, given: Sequence[pl.Series], dtype: pl.DataType) -> tuple[pl.Series, list[str | None]]:
        height = len(given[0]) if given else 1
        if not height:
            return pl.Series([], dtype=dtype), []
        try:
            return self._typed(self._called(given), dtype)
        except Exception as error:
            if height == 1 or isinstance(error, _WrongLengthError):
                return pl.Series([None] * height, dtype=dtype), [self._said(error)] * height
        except (SystemExit, KeyboardInterrupt) as error:
            self._leave(error)
            raise
        half = height // 2
        first, why_first = self._by_arrays([c[:half] for c in given], dtype)
        rest, why_rest = self._by_arrays([c[half:] for c in given], dtype)
        return pl.concat([first, rest]), [*why_first, *why_rest]

    def _called(self, given: Sequence[pl.Series]) -> Any:
        """What it gives for arrays: as many values as rows."""
        as_series = [*self._series, *[False] * len(given)]
        found = self.made(*(c if own else c.to_numpy() for c, own in zip(given, as_series, strict=False)))
        height = len(given[0]) if given else 1
        if np.ndim(found) == 0 and not isinstance(found, pl.Series):
            return [found] * height
        if len(found) != height:
            raise _WrongLengthError(f"it returned {len(found):,} values for {height:,} rows")
        return found

    def _typed(self, values: Any, dtype: pl.DataType) -> tuple[pl.Series, list[str | None]]:
        """What it returned as values of the type, and what is wrong with those that aren't."""
        try:
            if isinstance(values, list):
                return pl.Series(values, dtype=dtype, strict=True), [None] * len(values)
            made = values if isinstance(values, pl.Series) else pl.Series(np.asarray(values))
            if made.dtype == dtype or not (made.dtype.is_float() and dtype.is_integer()):
                return made.cast(dtype, strict=True), [None] * len(made)
        except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
            pass
        kept, reasons = [], []
        for value in values if isinstance(values, list) else [_plain(v) for v in values]:
            made_one, reason = self._as(value, dtype)
            kept.append(made_one)
            reasons.append(reason)
        return pl.Series(kept, dtype=dtype, strict=False), reasons

    def _as(self, value: Any, dtype: pl.DataType) -> tuple[Any, str | None]:
        """A value as the type, cast where a cast loses nothing."""
        if value is None:
            return None, None
        try:
            loose = pl.Series([value], strict=False)
            made = loose.cast(dtype, strict=True)
            if dtype.is_integer() and loose.dtype.is_float() and made.cast(loose.dtype)[0] != value:
                raise ValueError
            return made[0], None
        except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
            shown = repr(value)[:80]
            return None, f"{self.name}: it returned {shown}, which is not a value of type {type_name(dtype)}"

    def _said(self, error: BaseException) -> str:
        if isinstance(error, _WrongLengthError):
            return f"{self.name}: {error}"
        return f"{self.name}: {type(error).__name__}: {error}".rstrip(": ")

    def _leave(self, error: BaseException) -> None:
        """Raise what would end Python itself as what ends the query, unless it is an interrupt of the user's."""
        if isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread():
            return
        told = f"{type(error).__name__}: {error}".rstrip(": ")
        hint = "Raise a subclass of Exception instead: it is then an error of one row, and the query goes on."
        raise QueryError(f"the function {self.name} raised {told}", hint=hint) from error

    # -- in expressions

    def _spark(self, call: Call, parts: tuple[str, ...]) -> str:
        return f"{self.sql_name(call.dtype)}({', '.join(parts)})"

    def _kernel(self, call: Call, parts: tuple[Compiled, ...]) -> Compiled:
        if not columns(call):
            values = [pl.select(p.value).to_series() for p in parts]
            failed = next((f for p in parts for f in p.failures if pl.select(f.condition).item()), None)
            made, errors = self.over(values, call.dtype)
            reason = failed.reason if failed is not None else errors[0]
            return Compiled(pl.lit(made), () if reason is None else (Failure(pl.lit(True), reason),))
        if call in _known:
            return _known[call]
        # what reads columns of steps goes with the expression that has them
        read = [e for p in parts for e in (p.value, *(f.condition for f in p.failures))]
        alone = {name for e in read for name in e.meta.root_names()} <= columns(call)
        compiled = self._step(call, parts)
        if alone:
            if len(_known) >= _MOST:
                _known.clear()
            _known[call] = compiled
        return compiled

    def _step(self, call: Call, parts: tuple[Compiled, ...]) -> Compiled:
        name = f"$own{next(_numbers)}"
        step = PythonStep(self, tuple(p.value for p in parts), call.dtype, name)
        said = pl.col(name).struct.field(_ERROR)
        failures = (
            *(f for p in parts for f in p.failures),
            Failure(said.is_not_null(), f"{self.name} failed", said),
        )
        return Compiled(pl.col(name).struct.field(_VALUE), failures, (step,))


class PythonStep(ComputedStep):
    """A call for all rows of a frame: a column of values and what is wrong.

    Args:
        function: what is called.
        args: its arguments.
        dtype: the type of its values.
        name: of the column.
    """

    def __init__(self, function: PythonFunction, args: tuple[pl.Expr, ...], dtype: pl.DataType, name: str) -> None:
        self._function = function
        self.args = args
        self._dtype = dtype
        self.name = name

    def __call__(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The frame with the column."""
        numbered = pl.int_range(pl.len(), dtype=pl.Int64).alias("$n")
        given = frame.select(numbered, *(a.alias(f"{i}") for i, a in enumerate(self.args))).get_columns()[1:]
        made, errors = self._function.over(given, self._dtype)
        both = pl.DataFrame([made.alias(_VALUE), pl.Series(_ERROR, errors, dtype=pl.String())])
        return frame.with_columns(both.to_struct(self.name))


class _WrongLengthError(ValueError):
    """A vectorised function returned more or fewer values than rows."""


def _plain(value: Any) -> Any:
    if isinstance(value, np.datetime64 | np.timedelta64):
        return value.astype(value.dtype.str[:3] + "[us]").item()
    if isinstance(value, np.generic):
        return value.item()
    return value.tolist() if isinstance(value, np.ndarray) else value


def function_called(frame: types.FrameType) -> str | None:
    """The name of the Python function that a frame of this file calls; None for other frames."""
    found = frame.f_locals.get("self") if frame.f_code.co_filename == __file__ else None
    return found.name if isinstance(found, PythonFunction) else None


def functions_called(expr: Expr) -> Iterator[PythonFunction]:
    """The functions of a user's own in Python that an expression calls."""
    for part in walk(expr):
        if isinstance(part, Call) and isinstance(part.function, OwnName):
            owner = part.function.owner
            if isinstance(owner, PythonFunction):
                yield owner


__all__ = ["PythonFunction", "PythonStep", "function_called", "functions_called"]
