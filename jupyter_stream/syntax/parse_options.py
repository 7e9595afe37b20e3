"""Addresses and options as written: a text in quotes, and WITH (name = value, ...). Not for what they mean."""

from __future__ import annotations

from sqlglot import TokenType

from jupyter_stream.syntax.parse_expression import ExpressionParser
from jupyter_stream.syntax.source_text import Name, Span
from jupyter_stream.syntax.syntax import WithOption


def text_or_value(p: ExpressionParser, what: str) -> tuple[str, Span]:
    """A text in quotes, or a parameter that is one."""
    if p.value_ahead():
        written, value, span = p.value()
        if not isinstance(value, str) and not hasattr(value, "__fspath__"):
            p.fail(f"{written} is not a text", span, f"Write {what} as a text.")
        return str(value), span
    if not p.comes(TokenType.STRING, TokenType.RAW_STRING):
        p.fail(f"{what.removesuffix(',')} is missing here", hint="Write it in quotes.")
    p.advance()
    return p.prev.text, p.prev_span


def parse_options(p: ExpressionParser) -> tuple[WithOption, ...]:
    """`(name = value, ...)`, after WITH."""
    p.expect_sign(TokenType.L_PAREN, "(", "Write WITH (format = 'json').")
    options: dict[str, WithOption] = {}
    while not p.comes(TokenType.R_PAREN):
        start = p.here
        if p.comes(TokenType.STRING):
            name = Name(p.curr.text, p.here)
            p.advance()
        else:
            name = p.option_name()
        while p.sign(TokenType.DOT):
            name = Name(f"{name.text}.{p.option_name().text}", p.since(start))
        p.expect_sign(TokenType.EQ, "=", f"Write {name.text} = 'value'.")
        value, span = _option_value(p)
        lower = name.text.lower()
        if lower in options:
            p.fail(f"the option {lower} appears twice", name.span, "Remove one of the two.")
        options[lower] = WithOption(Name(lower, name.span), value, span)
        if not p.sign(TokenType.COMMA):
            break
    p.expect_sign(TokenType.R_PAREN, ")", None if p.at_end else "Write options as name = 'value', name = 'value'.")
    return tuple(options.values())


def _option_value(p: ExpressionParser) -> tuple[str, Span]:
    start = p.here
    if p.value_ahead():
        _, value, span = p.value()
        return (str(value).lower() if isinstance(value, bool) else str(value)), span
    if p.comes(TokenType.TRUE, TokenType.FALSE):
        p.advance()
        return p.prev.text.lower(), p.prev_span
    negative = "-" if p.sign(TokenType.DASH) else ""
    if p.comes(TokenType.NUMBER):
        p.advance()
        return negative + p.prev.text, p.since(start)
    if p.comes(TokenType.STRING, TokenType.RAW_STRING):
        p.advance()
        return p.prev.text, p.prev_span
    raise p.failure("the value of the option is missing here", hint="Write a text in quotes, a number, true or false.")
