"""Types as they are written: `INT`, `CHAR(10)`, `DECIMAL(10, 2)`, `ARRAY<INT>`, `STRUCT<a: INT, b: STRING>`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
from sqlglot import TokenType

from jupyter_stream.core.schema import sql_names, sql_type
from jupyter_stream.syntax.diagnose import did_you_mean

if TYPE_CHECKING:
    from jupyter_stream.syntax.reader import Reader

_ALSO = {
    "BYTE": "TINYINT", "SHORT": "SMALLINT", "INT64": "BIGINT", "INT32": "INT", "FLOAT64": "DOUBLE", "FLOAT32": "FLOAT",
    "NCHAR": "CHAR", "CHARACTER": "CHAR", "NVARCHAR": "VARCHAR", "VARBINARY": "BINARY", "BYTES": "BINARY",
    "TIMESTAMP_NTZ": "TIMESTAMP", "TIMESTAMP_LTZ": "TIMESTAMP", "DATETIME": "TIMESTAMP",
}  # fmt: skip
"""Names of other systems for types of ours."""
_SIZED = ("CHAR", "VARCHAR", "TIMESTAMP", "STRING", "BINARY", "FLOAT", "REAL")


def parse_type(p: Reader) -> pl.DataType:
    """Take a type.

    Raises:
        QueryError: there is none, or one that doesn't exist.
    """
    token = p.curr
    if token.kind not in (TokenType.VAR, TokenType.INTERVAL):
        p.fail("a type is missing here", hint="Types are INT, BIGINT, DOUBLE, STRING, TIMESTAMP, ...")
    span = token.span
    p.advance()
    word = _ALSO.get(token.text.upper(), token.text.upper())
    if word in ("DECIMAL", "NUMERIC", "DEC"):
        return _decimal(p)
    if word == "ARRAY":
        _open(p, "ARRAY<INT>")
        inner = parse_type(p)
        _close(p)
        return pl.List(inner)
    if word in ("STRUCT", "ROW"):
        return _struct(p)
    if word == "MAP":
        p.unsupported("the type MAP", span, "Use a STRUCT, or keep it as a STRING and read it with get_json_object.")
    dtype = sql_type(word)
    if dtype is None:
        hint = did_you_mean(token.text, (*sql_names(), *_ALSO, "DECIMAL", "ARRAY", "STRUCT"), "types")
        p.fail(f"there is no type called {token.text}", span, hint)
    if word == "DOUBLE":
        p.word("PRECISION")
    if p.comes(TokenType.L_PAREN):
        if word not in _SIZED:
            p.fail(f"{word} takes no size", hint=f"Write {word}.")
        p.advance()
        _size(p)
        p.expect_sign(TokenType.R_PAREN, ")")
    return dtype


def _size(p: Reader) -> int:
    if not p.comes(TokenType.NUMBER) or not p.curr.text.isdigit():
        p.fail("a whole number is missing here")
    p.advance()
    return int(p.prev.text)


def _decimal(p: Reader) -> pl.DataType:
    precision, scale, start = 10, 0, p.prev_span
    if p.sign(TokenType.L_PAREN):
        precision = _size(p)
        scale = _size(p) if p.sign(TokenType.COMMA) else 0
        p.expect_sign(TokenType.R_PAREN, ")")
    if not 1 <= precision <= 38 or scale > precision:
        p.fail(
            f"DECIMAL({precision}, {scale}) doesn't exist",
            p.since(start),
            "The first number is 1 to 38, the second at most the first: DECIMAL(10, 2).",
        )
    return pl.Decimal(precision, scale)


def _struct(p: Reader) -> pl.DataType:
    _open(p, "STRUCT<a: INT, b: STRING>")
    fields: list[pl.Field] = []
    while True:
        name = p.name("a field")
        p.sign(TokenType.COLON)
        fields.append(pl.Field(name.text, parse_type(p)))
        if not p.sign(TokenType.COMMA):
            break
    _close(p)
    return pl.Struct(fields)


def _open(p: Reader, example: str) -> None:
    if not p.sign(TokenType.LT):
        p.fail("< is missing here", hint=f"Write {example}.")


def _close(p: Reader) -> None:
    p.expect_sign(TokenType.GT, ">")
