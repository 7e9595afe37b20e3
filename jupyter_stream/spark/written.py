"""DataFrames that are only written down: what is done to them becomes Python of PySpark's, which runs later and elsewhere.

The translation of a plan asks a DataFrame for little: a few of its methods, and which system columns it has. So that is all
there is. Nothing is analysed, which Spark's declarative pipelines forbid while they are defined.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

_NAMED: Final = re.compile(r"`((?:[^`]|``)+)`$")
"""How an item of a select list ends that has a name of its own, as all of the translation's have."""


class Script:
    """The lines of a function, in order."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._number = 0

    def made(self, code: str, columns: Sequence[str]) -> WrittenFrame:
        """A DataFrame that is the value of an expression."""
        self._number += 1
        name = f"rows{self._number}"
        self.lines.append(f"{name} = {code}")
        return WrittenFrame(self, name, columns)


class WrittenText:
    """A column: an expression of Spark's SQL."""

    def __init__(self, sql: str, name: str = "", metadata: dict[str, Any] | None = None) -> None:
        self._sql = sql
        self._metadata = metadata
        self.name = name or _name(sql)

    def alias(self, name: str, metadata: dict[str, Any] | None = None) -> WrittenText:
        """The same under a name."""
        return WrittenText(self._sql, name, metadata)

    def __repr__(self) -> str:
        """Its code."""
        code = f"expr({self._sql!r})"
        if self.name == _name(self._sql):
            return code
        more = "" if self._metadata is None else f", metadata={self._metadata!r}"
        return f"{code}.alias({self.name!r}{more})"


class WrittenFrame:
    """A DataFrame, by the name it has in the script.

    Args:
        script: where its making is written.
        name: its name.
        columns: those whose names are known; of a source's own nobody asks.
    """

    def __init__(self, script: Script, name: str, columns: Sequence[str] = ()) -> None:
        self._script = script
        self._name = name
        self.columns = list(columns)

    def selectExpr(self, *items: str) -> WrittenFrame:  # noqa: N802  PySpark's name
        """Columns by their SQL."""
        return self._called("selectExpr", items, self._columns_of(items))

    def select(self, *items: object) -> WrittenFrame:
        """Columns."""
        names = [i.name if isinstance(i, WrittenText) else _name(str(i)) for i in items]
        return self._called("select", items, names)

    def where(self, condition: str) -> WrittenFrame:
        """The rows for which it holds."""
        return self._called("where", [condition], self.columns)

    def withWatermark(self, column: str, delay: str) -> WrittenFrame:  # noqa: N802  PySpark's name
        """The same rows, with a promise."""
        return self._called("withWatermark", [column, delay], self.columns)

    def join(self, other: WrittenFrame, on: object, how: str) -> WrittenFrame:
        """Pairs."""
        return self._called("join", [_Name(other._name), on, how], [*self.columns, *other.columns])

    def unionByName(self, other: WrittenFrame) -> WrittenFrame:  # noqa: N802  PySpark's name
        """The rows of both."""
        return self._called("unionByName", [_Name(other._name)], self.columns)

    def groupBy(self, *columns: str) -> WrittenGroups:  # noqa: N802  PySpark's name
        """Groups, to be aggregated."""
        return WrittenGroups(self, columns)

    def result(self) -> list[str]:
        """The lines of a function that returns it."""
        return [*self._script.lines, f"return {self._name}"]

    def _columns_of(self, items: Sequence[str]) -> list[str]:
        return [name for item in items for name in (self.columns if item == "*" else [_name(item)])]

    def _called(self, method: str, given: Sequence[object], columns: Sequence[str]) -> WrittenFrame:
        return self._script.made(f"{self._name}.{method}({_arguments(given)})", columns)


class WrittenGroups:
    """Groups of a DataFrame."""

    def __init__(self, of: WrittenFrame, by: Sequence[str]) -> None:
        self._of = of
        self._by = by

    def agg(self, *items: WrittenText) -> WrittenFrame:
        """A row for each."""
        code = f"{self._of._name}.groupBy({_arguments(self._by)}).agg({_arguments(items)})"
        return self._of._script.made(code, [*map(_name, self._by), *(i.name for i in items)])


class WrittenReader:
    """`spark.readStream`, on which everything said is written one behind the other."""

    def __init__(self, script: Script, code: str = "spark.readStream") -> None:
        self._script = script
        self._code = code

    def option(self, name: str, value: object) -> WrittenReader:
        """An option."""
        return self._with("option", [name, value])

    def options(self, **given: str) -> WrittenReader:
        """Several options."""
        found = self
        for name, value in given.items():
            found = found.option(name, value)
        return found

    def schema(self, ddl: str) -> WrittenReader:
        """The columns of files."""
        return self._with("schema", [ddl])

    def format(self, name: str) -> WrittenReader:
        """What is read."""
        return self._with("format", [name])

    def parquet(self, path: str) -> WrittenFrame:
        """Rows of Parquet files."""
        return self._read("parquet", [path])

    def csv(self, path: str) -> WrittenFrame:
        """Rows of CSV files."""
        return self._read("csv", [path])

    def json(self, path: str) -> WrittenFrame:
        """Rows of JSON lines."""
        return self._read("json", [path])

    def load(self) -> WrittenFrame:
        """Rows of anything else."""
        return self._read("load", [])

    def _with(self, method: str, given: Sequence[object]) -> WrittenReader:
        return WrittenReader(self._script, f"{self._code}.{method}({_arguments(given)})")

    def _read(self, method: str, given: Sequence[object]) -> WrittenFrame:
        return self._script.made(f"{self._code}.{method}({_arguments(given)})", ())


class WrittenSpark:
    """A session in which nothing runs. Which one it will be, nobody knows: nor what is on its class path."""

    def __init__(self) -> None:
        self.readStream = WrittenReader(Script())


def expr_for(frame: Any) -> Callable[[str], Any]:
    """What makes a column of SQL for a DataFrame."""
    if isinstance(frame, WrittenFrame):
        return WrittenText
    from pyspark.sql import functions

    found: Callable[[str], Any] = functions.expr
    return found


class _Name:
    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _name(item: str) -> str:
    found = _NAMED.search(item)
    return found[1].replace("``", "`") if found else item


def _arguments(given: Sequence[object]) -> str:
    """One on a line, where there are several or they are long."""
    texts = [repr(g) for g in given]
    if len(texts) < 2 and sum(map(len, texts)) < 80:
        return ", ".join(texts)
    return "\n" + "".join(f"    {text},\n" for text in texts)


__all__ = ["Script", "WrittenFrame", "WrittenGroups", "WrittenReader", "WrittenSpark", "WrittenText", "expr_for"]
