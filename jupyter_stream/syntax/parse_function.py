"""Functions of one's own as written: CREATE FUNCTION with its expression. Not for what names mean."""

from __future__ import annotations

from typing import Any

from sqlglot import TokenType

from jupyter_stream.syntax.parse_aggregate import typed
from jupyter_stream.syntax.parse_expression import ExpressionParser
from jupyter_stream.syntax.parse_type import parse_type
from jupyter_stream.syntax.syntax import CreateFunction

_USAGE = "Write CREATE FUNCTION name (x DOUBLE) : DOUBLE AS x * x."


def parse_function(p: ExpressionParser, common: dict[str, Any]) -> CreateFunction:
    """Take what follows CREATE FUNCTION. Spark's RETURNS type RETURN expression is the same.

    Args:
        p: where the tokens come from.
        common: what every statement has.
    """
    name = p.name("a function")
    p.expect_sign(TokenType.L_PAREN, "(", _USAGE)
    parameters = () if p.comes(TokenType.R_PAREN) else typed(p, "a parameter")
    p.expect_sign(TokenType.R_PAREN, ")")
    returns = parse_type(p) if p.sign(TokenType.COLON) or p.word("RETURNS") else None
    if not p.sign(TokenType.ALIAS) and not p.word("RETURN"):
        p.fail("AS is missing here", hint=_USAGE)
    expression = p.expression("an expression")
    return CreateFunction(name=name, parameters=parameters, returns=returns, expression=expression, **common)
