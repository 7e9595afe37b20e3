"""`now()` and its like: the time at which the statement began, one for all of it. No row's arrival is ever asked for."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

import polars as pl

from jupyter_stream.core.schema import TIMESTAMP
from jupyter_stream.functions.binding import count
from jupyter_stream.functions.expression import Expr, Literal
from jupyter_stream.functions.function import Bind, Function

_began: ContextVar[dt.datetime | None] = ContextVar("_began", default=None)


@contextmanager
def at_one_time() -> Iterator[None]:
    """In this block all calls give the same time."""
    token = _began.set(_now())
    try:
        yield
    finally:
        _began.reset(token)


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC).replace(tzinfo=None)


def _instant(name: str) -> Bind:
    def bind(args: tuple[Expr, ...]) -> Expr:
        count(name, args, 0, 0)
        return Literal(_began.get() or _now(), TIMESTAMP)

    return bind


def _today(args: tuple[Expr, ...]) -> Expr:
    count("current_date", args, 0, 0)
    return Literal((_began.get() or _now()).date(), pl.Date())


_WHEN: Final = "when the statement began, in UTC; the same for all its rows."


def _time(name: str) -> Function:
    return Function(
        name, f"{name}() -> TIMESTAMP", f"The time {_WHEN}", f"{name}() > TIMESTAMP '2024-01-01' = true", _instant(name)
    )  # fmt: skip


FUNCTIONS: Final = (
    _time("current_timestamp"),
    _time("localtimestamp"),
    _time("now"),
    Function("current_date", "current_date() -> DATE", f"The day {_WHEN}", "current_date() > DATE '2024-01-01' = true", _today),
)  # fmt: skip
