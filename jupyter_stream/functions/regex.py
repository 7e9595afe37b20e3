r"""Java's regular expressions, as Spark has them, in the syntax of Polars. Not for SQL names and types (`patterns`).

Both engines are given a pattern that means the same to them: `.` and `$` know no line ends but `\n`, `$` is the very end of the
text, `\d \w \s` are ASCII, `(?i)` goes for all letters. Look-around, back references and possessive quantifiers are refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import polars as pl

from jupyter_stream.functions.function import BadArguments

_CLASSES: Final = {"d": "0-9", "w": "A-Za-z0-9_", "s": r" \t\n\x0B\f\r"}
_KEPT: Final = frozenset("tnrfabBAz")
_QUANTIFIED: Final = re.compile(r"[*+?]|\{[0-9]+(?:,[0-9]*)?\}")
_OPENING: Final = re.compile(r"\(\?(?:([is]*)(-[is]+)?([:)])|<([A-Za-z][A-Za-z0-9]*)>)")


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression for both engines.

    Attributes:
        polars: as Polars takes it.
        spark: as Spark takes it.
        groups: how many capturing groups it has.
    """

    polars: str
    spark: str
    groups: int


def escape(text: str) -> str:
    """A pattern that matches just this text, in Polars' syntax."""
    return "".join(c if c.isalnum() or c == "_" or ord(c) > 127 else f"\\x{{{ord(c):x}}}" for c in text)


def translate(pattern: str) -> Pattern:
    """The pattern for both engines.

    Raises:
        BadArguments: if it is not a regular expression, or uses what only one engine has.
    """
    ours: list[str] = []
    theirs: list[str] = []
    groups = depth = i = 0

    def refuse(what: str) -> BadArguments:
        return BadArguments(f"the pattern {pattern!r} has {what}, which is not supported")

    def both(text: str) -> None:
        ours.append(text)
        theirs.append(text)

    while i < len(pattern):
        c = pattern[i]
        if c == "\\":
            quoted = pattern[i + 1 : i + 2] == "Q"
            mine, java, i = _quoted(pattern, i) if quoted else _escaped(pattern, i, depth > 0, refuse)
            ours.append(mine)
            theirs.append(java)
            continue
        if depth or c == "[":
            part = _class_part(pattern, i, refuse)
            i += len(part)
            if not depth and pattern[i : i + 1] == "]":
                raise refuse("an empty class")
            depth += (part[0] == "[") - (part == "]")
            both(part)
            continue
        if c == "(":
            if pattern[i + 1 : i + 2] == "?":
                opening = _OPENING.match(pattern, i)
                if opening is None:
                    raise refuse("look-around, an unknown flag or an atomic group")
                groups += opening[4] is not None
                ours.append(opening[0])
                theirs.append(_java_opening(opening))
                i = opening.end()
                continue
            groups += 1
        quantifier = _quantifier(pattern, i, refuse)
        if quantifier:
            both(quantifier)
            i += len(quantifier)
            continue
        ours.append(c)
        theirs.append(r"\z" if c == "$" else c)
        i += 1
    made = Pattern("".join(ours), "(?d)" + "".join(theirs), groups)
    _check(pattern, made.polars)
    return made


def _quoted(pattern: str, i: int) -> tuple[str, str, int]:
    r"""The text from the `\Q` at i: for Polars, for Java, and where it ends."""
    end = pattern.find("\\E", i)
    end = len(pattern) if end < 0 else end
    text = pattern[i + 2 : end]
    return "".join(map(escape, text)), "".join(map(_java, text)), end + 2


def _class_part(pattern: str, i: int, refuse: Callable[[str], BadArguments]) -> str:
    """What stands at i in a class or begins one, where `[^` is one thing."""
    if pattern[i : i + 2] in ("--", "~~"):
        raise refuse(f"{pattern[i : i + 2]} in a class")
    return "[^" if pattern[i : i + 2] == "[^" else pattern[i]


def _java_opening(opening: re.Match[str]) -> str:
    """How a group with a flag or a name begins in Java, whose letters without case are Unicode's where it is told so."""
    return opening[0].replace("i", "iu", 1) if opening[1] and "i" in opening[1] else opening[0]


def _quantifier(pattern: str, i: int, refuse: Callable[[str], BadArguments]) -> str:
    """The quantifier at i; empty without one."""
    found = _QUANTIFIED.match(pattern, i)
    if found is None:
        return ""
    following = pattern[found.end() : found.end() + 1]
    if following == "+":
        raise refuse("a possessive quantifier")
    return found[0] + ("?" if following == "?" else "")


def _escaped(pattern: str, i: int, in_class: bool, refuse: object) -> tuple[str, str, int]:
    """The escape at i: for Polars, for Java, and where it ends."""
    assert callable(refuse)
    c = pattern[i + 1 : i + 2]
    if not c:
        raise refuse("a backslash at its end")
    if c.lower() in _CLASSES:
        inner = _CLASSES[c.lower()]
        negated = f"[^{inner}]" if c.isupper() else inner if in_class else f"[{inner}]"
        return negated, "\\" + c, i + 2
    if c == "u" and re.fullmatch("[0-9A-Fa-f]{4}", pattern[i + 2 : i + 6]):
        return f"\\x{{{pattern[i + 2 : i + 6]}}}", pattern[i : i + 6], i + 6
    if c == "x" and re.fullmatch("[0-9A-Fa-f]{2}", pattern[i + 2 : i + 4]):
        return pattern[i : i + 4], pattern[i : i + 4], i + 4
    if c in "pP":
        category = re.match(r"\{(L[ultmo]?|N[dlo]?|P[cdseifo]?|S[mcko]?|Z[slp]?)\}", pattern[i + 2 :])
        if category:
            return "\\" + c + category[0], "\\" + c + category[0], i + 2 + category.end()
    if c in _KEPT and not (in_class and c in "bBAz"):
        return "\\" + c, "\\" + c, i + 2
    if c.isalnum():
        raise refuse(f"\\{c}")
    return escape(c), _java(c), i + 2


def _java(character: str) -> str:
    return character if character.isalnum() or ord(character) > 127 else "\\" + character


def _check(pattern: str, polars: str) -> None:
    try:
        pl.select(pl.lit("").str.contains(polars))
    except pl.exceptions.ComputeError as error:
        line = str(error).split("error: ")[-1].split("\n")[0]
        raise BadArguments(f"{pattern!r} is not a regular expression: {line}") from None


def replacement(text: str, pattern: Pattern) -> str:
    r"""Java's replacement (`$1`, `\$`) in Polars' syntax.

    Raises:
        BadArguments: if it names a group that the pattern doesn't have.
    """
    made, i = "", 0
    while i < len(text):
        c = text[i]
        if c == "\\":
            if i + 1 == len(text):
                raise BadArguments(f"the replacement {text!r} ends with a backslash; write \\\\\\\\ for one")
            made, i = made + text[i + 1].replace("$", "$$"), i + 2
        elif c == "$":
            digits = re.match("[0-9]+", text[i + 1 :])
            if digits is None or int(digits[0][0]) > pattern.groups:
                raise BadArguments(
                    f"the replacement {text!r} names a group that isn't there; write \\\\$ for a dollar sign"
                )
            number = digits[0]
            while int(number) > pattern.groups:  # as many digits as name a group
                number = number[:-1]
            made, i = made + f"${{{number}}}", i + 1 + len(number)
        else:
            made, i = made + c, i + 1
    return made
