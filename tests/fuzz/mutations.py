"""What is done to a cell: tokens dropped, swapped, doubled, nested, made huge, or made of other characters."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

_TOKEN = re.compile(r"\s+|--[^\n]*|'[^']*'|\"[^\"]*\"|`[^`]*`|\w+|.", re.DOTALL)

SCRAPS = (
    "(", ")", "[", "]", "{", "}", "{{", "}}", ",", ";", "'", '"', "`", "“", "’", ".", "*", "=", "<", "-", "--", "/*", "*/",
    "::", ":", "?", "$", "SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", "UNION", "ALL", "AS", "RANGE", "SLIDE", "ROWS",
    "OVER", "INTERVAL", "CASE", "END", "NOT", "IN", "BETWEEN", "AND", "NULL", "DISTINCT", "EMIT CHANGES", "WITH", "0", "1",
    "1.5", "-1", "1e999", "1e-999", "9999999999999999999999", "9223372036854775807", "-9223372036854775808", "0x", "NaN",
    "x", "ts", "count(*)", "MINUTES", "\n", "\t", "é", "\\", "∪", "≤", "^", "~", "!", "%", "JOIN", "ORDER BY", "LIMIT 1",
    "OFFSET 1", "FILTER", "TUMBLING", "\x00", "\r\n", "\u2028", "\N{NO-BREAK SPACE}", "\N{PILE OF POO}", "\ud800", "\udfff",
    "\ufeff", "\u202e", "a\u0301", "ſ", "İ", "IS", "LIKE", "ESCAPE", "EXISTS", "ON", "NOW", "SESSION", "UNBOUNDED", "'%'",
    "'9999-12-31'", "TIMESTAMP '0001-01-01'", "INTERVAL 1000000 DAYS", "OVER (PARTITION BY k)", "[NOW]",
    "[RANGE 1000000 DAYS SLIDE 1 MICROSECOND]", "[ROWS 1]", "[ROWS 1000000000 SLIDE 1]", "(SELECT 1)",
    "(SELECT max(1) FROM p)", "array(1, 2)", "repeat('a', 1000000000)", "lpad('a', 2000000000, 'b')", "ISTREAM", "DSTREAM",
    "RSTREAM", "EXCEPT ALL", "INTERSECT", "ROW_NUMBER() OVER (ORDER BY ts)", "file://~nobody/x.csv", "frame://", "':p'",
    ":p",
)  # fmt: skip


def mutated(text: str, draw: random.Random, others: tuple[str, ...]) -> str:
    """A text with one to four mutations.

    Args:
        text: the cell.
        draw: where chance comes from.
        others: cells that pieces are taken from.
    """
    for _ in range(draw.choice((1, 1, 1, 2, 2, 3, 4))):
        tokens = _TOKEN.findall(text) or [""]
        how = draw.choice(_MUTATIONS)
        text = "".join(how(tokens, draw, others))
        if len(text) > 2_000_000:
            break
    return text


def _place(tokens: list[str], draw: random.Random) -> int:
    solid = [i for i, token in enumerate(tokens) if not token.isspace()]
    return draw.choice(solid) if solid else 0


def _dropped(tokens: list[str], draw: random.Random, others: tuple[str, ...]) -> list[str]:
    at = _place(tokens, draw)
    return tokens[:at] + tokens[at + draw.choice((1, 1, 2, 4)) :]


def _swapped(tokens: list[str], draw: random.Random, others: tuple[str, ...]) -> list[str]:
    one, two = _place(tokens, draw), _place(tokens, draw)
    tokens[one], tokens[two] = tokens[two], tokens[one]
    return tokens


def _doubled(tokens: list[str], draw: random.Random, others: tuple[str, ...]) -> list[str]:
    start = _place(tokens, draw)
    end = min(len(tokens), start + draw.choice((1, 1, 3, 8)))
    return tokens[:start] + [*tokens[start:end], " "] * draw.choice((2, 2, 2, 3, 50)) + tokens[end:]


def _replaced(tokens: list[str], draw: random.Random, others: tuple[str, ...]) -> list[str]:
    tokens[_place(tokens, draw)] = f" {draw.choice(SCRAPS)} "
    return tokens


def _inserted(tokens: list[str], draw: random.Random, others: tuple[str, ...]) -> list[str]:
    tokens.insert(_place(tokens, draw), f" {draw.choice(SCRAPS)} ")
    return tokens


def _nested(tokens: list[str], draw: random.Random, others: tuple[str, ...]) -> list[str]:
    at, times = _place(tokens, draw), draw.choice((1, 2, 30, 300, 990, 5_000))
    before, behind = draw.choice(
        (("(", ")"), ("abs(", ")"), ("CASE WHEN true THEN ", " END"), ("NOT (", ")"), ("[", "]"), ("{", "}"))
    )
    if draw.random() < 0.15:
        before, behind, times = "(SELECT * FROM ", ")", min(times, 120)
    tokens[at] = f"{before * times}{tokens[at]}{behind * (times - draw.choice((0, 0, 0, 1)))}"
    return tokens


def _chained(tokens: list[str], draw: random.Random, others: tuple[str, ...]) -> list[str]:
    at, times = _place(tokens, draw), draw.choice((3, 40, 160, 1_000))
    sign = draw.choice((" + ", " || ", " AND ", " OR ", ", ", " UNION ALL ", " - ", " * ", " = "))
    tokens[at] = sign.join([tokens[at]] * times)
    return tokens


def _huge(tokens: list[str], draw: random.Random, others: tuple[str, ...]) -> list[str]:
    at = _place(tokens, draw)
    tokens[at] = draw.choice(
        (
            "n" * 5_000,
            "9" * draw.choice((20, 400, 5_000)),
            "'" + "x" * draw.choice((3_000, 300_000)) + "'",
            "`" + "ü" * 5_000 + "`",
            tokens[at]
            * min(draw.choice((100, 10_000)), 1 + 2_000_000 // max(1, len(tokens[at]))),  # it may be huge itself
            " " * draw.choice((10_000, 1_100_000)) + tokens[at],
            "f(" + ",".join("1" for _ in range(3_000)) + ")",
        )
    )
    return tokens


def _characters(tokens: list[str], draw: random.Random, others: tuple[str, ...]) -> list[str]:
    text = "".join(tokens)
    for _ in range(draw.choice((1, 2, 5))):
        at = draw.randrange(len(text) + 1)
        text = (
            text[:at]
            + chr(draw.choice((draw.randrange(128), draw.randrange(0x3000), draw.randrange(0x110000))))
            + text[at:]
        )
    return [text]


def _cut(tokens: list[str], draw: random.Random, others: tuple[str, ...]) -> list[str]:
    at = _place(tokens, draw)
    return tokens[:at] if draw.random() < 0.5 else tokens[at:]


def _crossed(tokens: list[str], draw: random.Random, others: tuple[str, ...]) -> list[str]:
    """A piece of another cell in the place of one of this."""
    piece = _TOKEN.findall(draw.choice(others))
    start, at = _place(piece, draw), _place(tokens, draw)
    length = draw.choice((1, 3, 10, 30))
    return [*tokens[:at], " ", *piece[start : start + length], " ", *tokens[at + draw.choice((0, 1, length)) :]]


def _renamed(tokens: list[str], draw: random.Random, others: tuple[str, ...]) -> list[str]:
    """One word is another of the same cell."""
    words = [i for i, token in enumerate(tokens) if token[:1].isalpha()]
    if len(words) > 1:
        one, two = draw.choice(words), draw.choice(words)
        tokens[one] = tokens[two]
    return tokens


_MUTATIONS: tuple[Callable[[list[str], random.Random, tuple[str, ...]], list[str]], ...] = (
    _dropped, _dropped, _swapped, _swapped, _doubled, _replaced, _replaced, _inserted, _inserted, _nested, _chained, _huge,
    _characters, _cut, _crossed, _crossed, _crossed, _renamed, _renamed, _renamed,
)  # fmt: skip
