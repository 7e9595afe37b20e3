"""Conditions of WHERE, HAVING and FILTER: each knows its SQL and its three-valued truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tests.oracle.values import Row, Value, compare


class Predicate(Protocol):
    """A condition on one row."""

    def truth(self, row: Row) -> bool | None:
        """True, False or NULL."""

    def sql(self) -> str:
        """The condition as a user would write it."""


def literal(value: Value) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(value)


@dataclass(frozen=True)
class Compares:
    column: str
    operator: str
    value: Value

    def truth(self, row: Row) -> bool | None:
        return compare(row[self.column], self.operator, self.value)

    def sql(self) -> str:
        return f"{self.column} {self.operator} {literal(self.value)}"


@dataclass(frozen=True)
class IsNull:
    column: str
    negated: bool = False

    def truth(self, row: Row) -> bool | None:
        return (row[self.column] is None) != self.negated

    def sql(self) -> str:
        return f"{self.column} IS {'NOT ' if self.negated else ''}NULL"


@dataclass(frozen=True)
class Not:
    inner: Predicate

    def truth(self, row: Row) -> bool | None:
        truth = self.inner.truth(row)
        return None if truth is None else not truth

    def sql(self) -> str:
        return f"NOT ({self.inner.sql()})"


@dataclass(frozen=True)
class And:
    left: Predicate
    right: Predicate

    def truth(self, row: Row) -> bool | None:
        truths = (self.left.truth(row), self.right.truth(row))
        return False if False in truths else None if None in truths else True

    def sql(self) -> str:
        return f"({self.left.sql()}) AND ({self.right.sql()})"


@dataclass(frozen=True)
class Or:
    left: Predicate
    right: Predicate

    def truth(self, row: Row) -> bool | None:
        truths = (self.left.truth(row), self.right.truth(row))
        return True if True in truths else None if None in truths else False

    def sql(self) -> str:
        return f"({self.left.sql()}) OR ({self.right.sql()})"
