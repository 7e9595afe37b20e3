"""The grammar of the reference: it takes what the parser takes in tests and reference, and knows the parser's words."""

import ast
import json
import re
from collections.abc import Collection
from functools import cache
from pathlib import Path

import pytest
from lark import Lark
from lark.exceptions import LarkError

from jupyter_stream.errors import StreamError
from jupyter_stream.syntax import parse_join, parse_window, statements
from jupyter_stream.syntax.dialect import RESERVED
from jupyter_stream.syntax.parse_literal import STOP_WORDS
from tests.tiers import thinned

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "tutorials" / "reference"
TEXT = (REFERENCE / "grammar.ebnf").read_text()
RULES = re.sub(r"^//.*$|^[A-Z]+: /.*$", "", TEXT, flags=re.MULTILINE)
WORDS = set(re.findall(r'"([A-Z_]+)"', RULES))
FILES = sorted((ROOT / "tests" / "sql").glob("*.sql"))
EXAMPLES = re.findall(r"^```sql\n(.*?)^```$", (REFERENCE / "language.md").read_text(), re.MULTILINE | re.DOTALL)
PARSERS = sorted((ROOT / "jupyter_stream" / "syntax").glob("parse_*.py"))
WORD = r"WORD: /[^\W\d]\w*/"
MISTAKES = (
    "SELECT count(* FROM s", "SELECT a FROM", "SELECT FROM s", "SELECT a b c FROM s", "CREATE STREAM s (a INT",
    "SELECT a FROM s [RANGE 1 MINUTE", "SELECT a FROM s GROUP a", "SELECT a FROM s HAVING", "SHOW all", "EMIT FINAL",
    "SELECT a FROM s EMIT SOON", "SELECT CASE a END FROM s", "SELECT a FROM s WHERE a IN ()", "DROP s", "INSERT t VALUES (1)",
    "SELECT a FROM s JOIN t", "SELECT a, FROM s", "CREATE s SOURCE 'x'", "SELECT a FROM (s",
)  # fmt: skip


def lark_of(text: str) -> str:
    """The grammar as lark reads it: words in either case, and those that aren't reserved are names too.

    Each parenthesis and bracket becomes a rule of its own: lark would write out all combinations of what may be left out.
    """
    rules, terminals = text[: text.index("WORD: ")], text[text.index("WORD: ") :]
    rules = re.sub(r"\n\n+", "\n", re.sub(r"^//.*$", "", rules, flags=re.MULTILINE)).strip()
    open_, made, done = [[]], [], []
    for piece in re.findall(r'"[^"]*"|[\[\]()]|\n(?=\w)|\s+|[^"\[\]()\s]+', rules):
        if piece in ("(", "["):
            open_.append([])
        elif piece in (")", "]"):
            inner = "".join(open_.pop())
            made.append(f"part{len(made)}: {inner}" + (" |" if piece == "]" else ""))
            open_[-1].append(f"part{len(made) - 1}")
        else:
            open_[-1].append(" " if piece.isspace() and piece != "\n" else piece)
    (done,) = open_
    free = " | ".join(f'"{word}"' for word in sorted(WORDS - set(RESERVED)))
    plain = " | ".join(f'"{word}"' for word in sorted(WORDS - set(RESERVED) - STOP_WORDS))
    whole = "\n".join(("".join(done), *made, f"word: WORD | {free}", f"plain: WORD | BACKTICKED | {plain}"))
    ignored = "%ignore /\\s+/\n%ignore /--[^\\n]*/\n%ignore /\\/\\*.*?\\*\\//s\n"
    either = re.sub(r'"([A-Z_]+)"', r'"\1"i', whole)
    return f"{either}\n{terminals.replace(WORD, WORD + 'i')}\n{ignored}"


@cache
def grammar() -> Lark:
    """Built where it is used: two workers import this file, and one runs it."""
    return Lark(lark_of(TEXT), start="statements", parser="earley", lexer="basic")


def takes(text: str) -> bool:
    try:
        grammar().parse(text)
    except LarkError:
        return False
    return True


def understood(text: str) -> bool:
    try:
        statements.parse(text, lambda _: 1)
    except StreamError:
        return False
    return True


@pytest.mark.parametrize("path", thinned(FILES, 50), ids=lambda path: path.stem)
def test_the_grammar_takes_every_query_file_the_parser_takes(path: Path):
    text = path.read_text()
    if "error" in json.loads(path.with_suffix(".json").read_text()) and not understood(text):
        assert not takes(text) or path.stem in BEYOND
    else:
        grammar().parse(text)


BEYOND = ("error_unit", "error_zero_slide")
"""Mistakes a grammar has no words for: that a unit is a unit, that a length is more than zero."""


@pytest.mark.parametrize("text", thinned(EXAMPLES, 9), ids=lambda text: text[:30])
def test_the_grammar_takes_every_example_of_the_reference(text: str):
    grammar().parse(text)


@pytest.mark.parametrize("text", MISTAKES)
def test_neither_the_grammar_nor_the_parser_takes_a_mistake(text: str):
    assert not understood(text)
    assert not takes(text)


@pytest.mark.parametrize(("rule", "words"), [("reserved", RESERVED), ("stops", STOP_WORDS)])
def test_words_that_are_no_names_are_the_parsers(rule: str, words: Collection[str]):
    (written,) = re.findall(rf"^{rule}: (.*?)\n(?=\w|\n)", TEXT, re.MULTILINE | re.DOTALL)
    assert set(re.findall(r'"([A-Z_]+)"', written)) == set(words)


def taken_words() -> set[str]:
    """The words parsers ask for: what stands in calls of `word` and `expect`, and in the tables of windows, joins, SHOW."""
    found = {word for words, _ in parse_window._READERS for word in words}
    found |= {word for words, *_ in parse_join._KINDS for word in words} | set(statements._SHOWN)
    for path in (*PARSERS, Path(statements.__file__)):
        for node in ast.walk(ast.parse(path.read_text())):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in ("word", "expect")
            ):
                found |= {a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)}
    return {word for word in found if word.isupper()}


def test_every_word_the_parser_takes_is_in_the_grammar():
    used = set(re.findall(r'"([A-Z_]+)"', RULES[: RULES.index("reserved:")]))
    assert taken_words() - used - {"TO"} == set()  # TO is taken only to be refused
