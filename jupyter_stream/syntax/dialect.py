"""Our dialect of Spark SQL: which words and signs there are. The grammar is in the `parse_*` files.

Few words are reserved: every other one can name a column, a stream or a function, and functions arrive under the name
they were written with.
"""

from __future__ import annotations

import re
from typing import ClassVar, Final

from sqlglot import TokenType
from sqlglot.dialects.spark import Spark

RESERVED: dict[str, TokenType] = {
    "AND": TokenType.AND,
    "AS": TokenType.ALIAS,
    "BETWEEN": TokenType.BETWEEN,
    "CASE": TokenType.CASE,
    "DISTINCT": TokenType.DISTINCT,
    "DIV": TokenType.DIV,
    "ELSE": TokenType.ELSE,
    "END": TokenType.END,
    "ESCAPE": TokenType.ESCAPE,
    "EXCEPT": TokenType.EXCEPT,
    "FALSE": TokenType.FALSE,
    "FROM": TokenType.FROM,
    "GROUP": TokenType.GROUP_BY,
    "GROUPBY": TokenType.GROUP_BY,
    "HAVING": TokenType.HAVING,
    "ILIKE": TokenType.ILIKE,
    "IN": TokenType.IN,
    "INTERSECT": TokenType.INTERSECT,
    "INTERVAL": TokenType.INTERVAL,
    "IS": TokenType.IS,
    "JOIN": TokenType.JOIN,
    "LIKE": TokenType.LIKE,
    "NOT": TokenType.NOT,
    "NULL": TokenType.NULL,
    "OR": TokenType.OR,
    "ORDER": TokenType.ORDER_BY,
    "RLIKE": TokenType.RLIKE,
    "REGEXP": TokenType.RLIKE,
    "SELECT": TokenType.SELECT,
    "THEN": TokenType.THEN,
    "TRUE": TokenType.TRUE,
    "UNION": TokenType.UNION,
    "WHEN": TokenType.WHEN,
    "WHERE": TokenType.WHERE,
}
"""Words that are never a name unless in backticks."""

_SIGNS: dict[str, TokenType] = {
    "!=": TokenType.NEQ,
    "<>": TokenType.NEQ,
    "==": TokenType.EQ,
    "<=": TokenType.LTE,
    ">=": TokenType.GTE,
    "<=>": TokenType.NULLSAFE_EQ,
    "||": TokenType.DPIPE,
    "::": TokenType.DCOLON,
    "->": TokenType.ARROW,
}

_PRINTED: dict[str, TokenType] = {
    "≤": TokenType.LTE,
    "≥": TokenType.GTE,
    "≠": TokenType.NEQ,
    "∪": TokenType.UNION,
    "×": TokenType.STAR,
    "“": TokenType.UNKNOWN,
    "”": TokenType.UNKNOWN,
    "‘": TokenType.UNKNOWN,
    "’": TokenType.UNKNOWN,
}
"""Signs as papers print them; the quotes only end a word here, they open a text in `QUOTES`."""

_PLAIN: Final = re.compile(r"[^\W\d]\w*")


def as_written(name: str) -> str:
    """A name as a statement has it: in backticks where it would be read as something else."""
    return name if _PLAIN.fullmatch(name) and name.upper() not in RESERVED else f"`{name.replace('`', '``')}`"


class StreamDialect(Spark):
    """Spark SQL with our words."""

    IDENTIFIERS_CAN_START_WITH_DIGIT = False

    class Tokenizer(Spark.Tokenizer):
        """Signs, quotes and reserved words."""

        QUOTES: ClassVar = ["'", '"', ("“", "”"), ("”", "”"), ("‘", "’"), ("’", "’")]
        STRING_ESCAPES: ClassVar = ["\\", "'", '"']
        RAW_STRINGS: ClassVar = [(prefix + quote, quote) for quote in ("'", '"') for prefix in ("r", "R")]
        # `$` begins the system's own names, which are refused as a whole.
        SINGLE_TOKENS: ClassVar = {
            **{sign: kind for sign, kind in Spark.Tokenizer.SINGLE_TOKENS.items() if sign != "$"},
            **_PRINTED,
        }
        KEYWORDS: ClassVar = {**_SIGNS, **RESERVED}
        COMMANDS: ClassVar = set()
