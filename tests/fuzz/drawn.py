"""Cells drawn from the grammar of the reference, with names that exist, so that many of them get as far as a plan."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from tests.fuzz.corpus import ROOT

STREAMS = ("p", "p", "q", "q", "t", "r", "v", "late(p)", "d")
COLUMNS = (
    "a", "a", "b", "k", "k", "x", "ts", "row_num", "s", "l", "window_start", "window_end", "p.a", "q.k", "s.n", "nothing",
)  # fmt: skip
CALLS = (
    "count", "sum", "avg", "min", "max", "first", "last", "median", "mode", "collect_list", "string_agg",
    "approx_top_k", "arg_max", "abs", "upper", "length", "coalesce", "concat", "array", "size", "get", "round", "floor",
    "substring", "lpad", "repeat", "replace", "date_trunc", "hour", "to_timestamp", "get_json_object", "if", "nullif",
    "greatest", "regexp_replace", "split", "count", "sum", "lag", "ddof", "stddev_samp", "quantile", "heavy_hitters",
    "approx_count_distinct",
)  # fmt: skip
TEXTS = (
    "'a'",
    "'x'",
    "'2024-01-01'",
    "'2024-01-01 00:00:02'",
    "'%a%'",
    "''",
    "'1 hour'",
    "'('",
    "'$.a'",
    "'ü'",
    "'10 seconds'",
)
NUMBERS = ("0", "1", "2", "3", "10", "0.5", "1e3", "100", "1000000", "9223372036854775807", "2147483648", "5", "7")
UNITS = ("SECONDS", "SECOND", "MINUTES", "MILLISECONDS", "HOURS", "DAYS")
WORDS = ("hour", "day", "minute", "x", "k", "INT", "BIGINT", "DOUBLE", "STRING", "TIMESTAMP", "start")
TYPES = ("INT", "BIGINT", "DOUBLE", "STRING", "TIMESTAMP", "DATE", "BOOLEAN", "REAL", "TINYINT", "BINARY")


@dataclass(frozen=True)
class Several:
    """Parts one after the other, or one of several, or one part some times over."""

    kind: str
    parts: tuple[Part, ...]


Part: TypeAlias = str | Several
"""A rule's name, a word in quotes, or something made of others."""

_PIECES = re.compile(r'"[^"]*"|\w+|[()\[\]|*+]')


@cache
def rules() -> dict[str, Part]:
    """The grammar: what each name stands for."""
    text = (ROOT / "tutorials" / "reference" / "grammar.ebnf").read_text(encoding="utf-8")
    text = re.sub(r"^//.*$", "", text[: text.index("WORD: ")], flags=re.MULTILINE)
    found = {}
    for name, body in re.findall(r"^(\w+):((?:.*\n)(?:[ \t]+.*\n)*)", text, flags=re.MULTILINE):
        pieces = _PIECES.findall(body)
        found[name], rest = _choice(pieces, 0)
        assert rest == len(pieces), (name, pieces[rest:])
    return found


def _choice(pieces: list[str], at: int) -> tuple[Part, int]:
    options: list[Part] = []
    parts: list[Part] = []
    while at < len(pieces) and pieces[at] not in (")", "]"):
        piece = pieces[at]
        if piece == "|":
            options.append(Several("all", tuple(parts)))
            parts, at = [], at + 1
        elif piece in ("*", "+"):
            parts[-1], at = Several(piece, (parts[-1],)), at + 1
        elif piece in ("(", "["):
            inner, at = _choice(pieces, at + 1)
            parts.append(inner if piece == "(" else Several("?", (inner,)))
            at += 1
        else:
            parts.append(piece)
            at += 1
    options.append(Several("all", tuple(parts)))
    return (options[0] if len(options) == 1 else Several("|", tuple(options))), at


_GIVEN: dict[str, Callable[[random.Random], str]] = {
    "stream_name": lambda draw: draw.choice(STREAMS), "name": lambda draw: draw.choice(COLUMNS),
    "unit": lambda draw: draw.choice(UNITS), "word": lambda draw: draw.choice(WORDS),
    "type": lambda draw: draw.choice(TYPES), "parameter": lambda draw: ":p",
    "plain": lambda draw: draw.choice(("c", "d", "p", "q")), "NUMBER": lambda draw: draw.choice(NUMBERS),
    "TEXT": lambda draw: draw.choice(TEXTS), "BACKTICKED": lambda draw: "`a`", "BRACED": lambda draw: "{{ 1 }}",
    "attribute": lambda draw: draw.choice(("ts", "ts", "k", "a")),
}  # fmt: skip
_WINDOWS = (
    "", "", "", "[RANGE 2 SECONDS]", "[RANGE 2 SECONDS SLIDE 1 SECOND]", "[RANGE 3 SECONDS TUMBLING]", "[ROWS 2]",
    "[ROWS 3 SLIDE 2]", "[NOW]", "[RANGE ALL SLIDE 2 SECONDS]", "[RANGE 1 SECOND SLIDE 1 ROW]", "[SESSION 1 SECOND]",
    "[PARTITION BY k ROWS 2]", "[RANGE UNBOUNDED]", "[RANGE 2 SECONDS SLIDE 2 ROWS]",
    "[RANGE 2 SECONDS SLIDE 3 ROWS BY RANK]", "[PARTITION BY k ROWS 2 SLIDE 1 WHERE a > 1]",
)  # fmt: skip
_FROM = (
    "p {w}", "p {w}", "p {w}", "p {w} AS p", "p {w}, q {w} WHERE p.k = q.k AND", "p {w} JOIN t ON p.k = t.k",
    "p {w} LEFT JOIN q {w} ON p.a = q.a", "(SELECT {e} AS a, k, ts FROM p) {w}", "p UNION q {w}", "p JOIN r ON p.k = r.k",
    "v", "late(p)", "p {w} SEMI JOIN q {w} ON p.k = q.k", "(SELECT k, count(*) AS a FROM p {w} GROUP BY k) {w}", "d {w}",
    "p {w}, p {w} AS z WHERE z.k = p.k AND", "t", "r",
)  # fmt: skip
_BEHIND = (
    "", "", "", "ORDER BY 1 LIMIT 2", "EMIT CHANGES", "EMIT EVERY 1 SECOND", "LIMIT 3", "OFFSET 1",
    "ORDER BY {e} DESC LIMIT 1 OFFSET 1", "UNION ALL SELECT {e} FROM q", "EXCEPT ALL SELECT {e} FROM q {w}",
    "INTERSECT SELECT {e} FROM q {w}", "QUALIFY ROW_NUMBER() OVER (ORDER BY a) < 3",
)  # fmt: skip

_EXPRESSIONS = ("value", "expression", "argument", "comparison", "conjunction", "negation", "operand", "thing")
_SHORT = {
    "selects": "SELECT a FROM p", "select": "SELECT a FROM p", "from": "p", "union": "p", "part": "p", "amount": "2 SECONDS",
    "window_part": "NOW",
}  # fmt: skip
"""What is written where enough has been."""


def _size(part: Part) -> int:
    return 1 if isinstance(part, str) else 1 + sum(map(_size, part.parts))


def drawn(draw: random.Random) -> str:
    """A statement, mostly a query."""
    if draw.random() < 0.7:
        return _likely(draw)
    start = draw.choice(
        ("query",) * 12 + ("select",) * 4 + ("create_derived", "create_view", "statement", "create_aggregate", "insert")
    )
    return _Drawing(draw, draw.choice((6, 9, 12, 16))).text(start)


def _likely(draw: random.Random) -> str:
    """A query of a usual shape, with expressions from the grammar."""

    def fill(text: str) -> str:
        while "{w}" in text:
            text = text.replace("{w}", draw.choice(_WINDOWS), 1)
        while "{e}" in text:
            text = text.replace("{e}", expression(), 1)
        return text

    def expression() -> str:
        return _Drawing(draw, draw.choice((2, 4, 6))).text(
            draw.choice(("value", "value", "call", "expression", "comparison"))
        )

    items = [
        draw.choice(("{e}", "{e}", "a", "k", "*", "count(*)", "sum(a)", "max(a)", "{e} AS c"))
        for _ in range(draw.choice((1, 2, 2, 3)))
    ]
    over = draw.choice(
        (
            "",
            "",
            "",
            "OVER (PARTITION BY k)",
            "OVER (PARTITION BY k ROWS 2 PRECEDING)",
            "OVER (RANGE 1 SECOND PRECEDING)",
        )
    )
    first = draw.choice(("", "", "", "DISTINCT", "ISTREAM", "RSTREAM", "DSTREAM"))
    text = f"SELECT {first} {', '.join(items)} {over} FROM {draw.choice(_FROM)}"
    if text.endswith("AND"):
        text += " {e} > 1"
    elif draw.random() < 0.4:
        text += draw.choice(
            (" WHERE {e} = {e}", " WHERE a > 1", " WHERE k IN (SELECT k FROM t)", " WHERE a = (SELECT max(a) FROM t)")
        )
    text += draw.choice(("", "", " GROUP BY k", " GROUP BY {e}", " GROUP BY k HAVING count(*) > 1", " GROUP BY ALL"))
    return fill(f"{text} {draw.choice(_BEHIND)}")


class _Drawing:
    def __init__(self, draw: random.Random, deep: int) -> None:
        self._draw = draw
        self._most = deep
        self._left = 300  # parts; beyond them only what must be there

    def text(self, rule: str) -> str:
        words: list[str] = []
        self._write(rule, 0, words)
        return " ".join(words)

    def _write(self, part: Part, depth: int, words: list[str]) -> None:
        draw, self._left = self._draw, self._left - 1
        tight = depth > 3 * self._most or self._left < 0
        if isinstance(part, str):
            if part.startswith('"'):
                words.append(part[1:-1])
            elif part in _GIVEN:
                words.append(_GIVEN[part](draw))
            elif part == "reserved":
                words.append("k")
            elif part in _EXPRESSIONS and (tight or draw.random() < 0.35):
                words.append(draw.choice((*COLUMNS, *NUMBERS)))
            elif part == "call" and draw.random() < 0.8:
                self._call(depth, words)
            elif part in _SHORT and tight:
                words.append(_SHORT[part])
            else:
                self._write(rules()[part], depth + 1, words)
        elif part.kind == "all":
            for each in part.parts:
                self._write(each, depth + 1, words)
        elif part.kind == "|":
            short = min(part.parts, key=_size)
            self._write(short if tight else draw.choice(part.parts), depth + 1, words)
        else:
            least = 1 if part.kind == "+" else 0
            most = 1 if part.kind == "?" else 2
            times = least if tight else max(least, draw.choice((0, 0, 0, 1, most)))
            for _ in range(times):
                self._write(part.parts[0], depth + 1, words)

    def _call(self, depth: int, words: list[str]) -> None:
        draw = self._draw
        words += [draw.choice(CALLS), "("]
        if draw.random() < 0.1:
            words.append(draw.choice(("DISTINCT", "*")))
        for i in range(draw.choice((0, 1, 1, 1, 2, 3))):
            words += [","] if i else []
            self._write("expression", depth + 3, words)
        words.append(")")
        if draw.random() < 0.2:
            self._write("behind", depth + 1, words)
