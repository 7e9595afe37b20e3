"""Values of drawn calls here and in Spark SQL, which is given the same text. Not for drawing, nor for judging."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
from pyspark.errors import AnalysisException, PySparkException

from jupyter_stream import Query, Session
from jupyter_stream.core.schema import INTERVAL, TIMESTAMP
from jupyter_stream.errors import QueryError, StreamError
from tests.differential.calls import Drawn

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",  # a thousand expressions are quicker interpreted than compiled
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


class Refused(Exception):
    """A system doesn't take the text at all."""


class RowError:
    """What stands for a value of a row that fails.

    Attributes:
        reason: why, for people.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def __repr__(self) -> str:
        return f"error of the row ({self.reason})"


def start(home: Path) -> Any:
    """A Spark of one thread, made for many small queries."""
    from pyspark.sql import SparkSession

    os.environ["TZ"] = "UTC"
    builder = SparkSession.builder.master("local[1]").appName("differential")
    for key, value in {**SETTINGS, "spark.sql.warehouse.dir": str(home)}.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    logging.getLogger("SQLQueryContextLogger").disabled = True
    return session


class Here:
    """This engine, with a table of one row to select from."""

    def __init__(self) -> None:
        self._session = Session({"one": pl.DataFrame({"i": [1]})})
        self._session.execute("CREATE TABLE one (i BIGINT) SOURCE 'frame://one'")

    def close(self) -> None:
        """End the session."""
        self._session.close()

    def value(self, drawn: Drawn) -> tuple[object, pl.DataType]:
        """The value, comparable with Spark's, and its type; a `RowError` where the row fails.

        Raises:
            Refused: the query is refused.
        """
        try:
            (query,) = self._session.execute(ours(drawn))
            assert isinstance(query, Query) and query.wait(200)
            answer, errors = query.to_polars(), query.errors
        except QueryError as error:
            raise Refused(str(error).split("\n")[0]) from error
        except StreamError as error:
            return RowError(f"THE QUERY FAILS: {error}"), pl.Null()
        dtype = answer.schema["v"]
        rejected = errors if isinstance(errors, pl.DataFrame) else errors.to_polars()
        if rejected.height:
            return RowError(str(rejected["reason"][0])), dtype
        return _own(answer["v"]), dtype


def ours(drawn: Drawn) -> str:
    """The query for this engine."""
    if not drawn.columns:
        return f"SELECT {drawn.text} AS v FROM one"
    columns = ", ".join(f"{value} AS c{i}" for i, value in enumerate(drawn.columns))
    return f"SELECT {drawn.text} AS v FROM (SELECT {columns} FROM one) t"


def _own(column: pl.Series) -> object:
    physical = {pl.Date(): pl.Int32(), TIMESTAMP: pl.Int64(), INTERVAL: pl.Int64()}.get(column.dtype)
    value = (column.cast(physical) if physical is not None else column)[0]
    return value.to_list() if isinstance(value, pl.Series) else value


def _comparable(text: str, dtype: pl.DataType) -> str:
    """An expression for Spark whose value Python can hold, whatever the type's range."""
    if dtype == pl.Date():
        return f"unix_date({text})"
    if dtype == TIMESTAMP:
        return f"unix_micros(CAST({text} AS TIMESTAMP))"
    if dtype == INTERVAL:
        return f"unix_micros(timestamp_micros(0) + ({text}))"
    return text


class There:
    """Spark, asked for many values at once; those that fail are found by halving."""

    def __init__(self, spark: Any) -> None:
        self._spark = spark

    def values(self, calls: Sequence[tuple[Drawn, pl.DataType]]) -> list[object]:
        """A value, a `RowError` or a `Refused` for each."""
        if not calls:
            return []
        try:
            return self._at_once(calls)
        except Exception as error:
            if len(calls) == 1:
                message = str(error).split("\n")[0][:160]
                # what has no name of Spark's own is a fault inside it
                fails = isinstance(error, PySparkException) and not isinstance(error, AnalysisException)
                return [RowError(message) if fails else Refused(message)]
        half = len(calls) // 2
        return self.values(calls[:half]) + self.values(calls[half:])

    def _at_once(self, calls: Sequence[tuple[Drawn, pl.DataType]]) -> list[object]:
        values, items = ["1"], []
        for drawn, dtype in calls:
            text = drawn.text
            for i in reversed(range(len(drawn.columns))):
                text = _renamed(text, i, len(values) + i)
            values += drawn.columns
            items.append(_comparable(text, dtype))
        names = ", ".join(f"k{i}" for i in range(len(values)))
        row = self._spark.sql(f"SELECT {', '.join(items)} FROM VALUES ({', '.join(values)}) AS t({names})").collect()[0]
        return [bytes(v) if isinstance(v, bytearray) else v for v in row]


def _renamed(text: str, column: int, number: int) -> str:
    return re.sub(rf"\bc{column}\b(?=([^']*'[^']*')*[^']*$)", f"k{number}", text)
