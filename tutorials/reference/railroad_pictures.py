"""Draws grammar.ebnf as railroad diagrams: a picture for each part of it, and grammar.md with all of them.

`python tutorials/reference/railroad_pictures.py` brings them up to date (`pip install railroad-diagrams`); a test fails while
they aren't. Not for what the grammar says: tests/syntax/test_grammar.py keeps that true.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import railroad
from railroad import (
    Choice,
    Diagram,
    DiagramItem,
    NonTerminal,
    OneOrMore,
    Optional,
    Sequence,
    Stack,
    Terminal,
    ZeroOrMore,
)

HERE = Path(__file__).parent
GRAMMAR = HERE / "grammar.ebnf"
PAGE = HERE / "grammar.md"
PICTURES = HERE / "pictures"
WIDEST = 860
"""Pixels of a track before it goes on in another line: what a page shows without scrolling."""
LISTS = ("reserved", "stops")
"""Rules that are long lists of words, which the page has as words."""
STYLE = """
svg { color-scheme: light dark; font: 14px ui-monospace, Menlo, Consolas, monospace; }
.paper { fill: #ffffff; }
.rule { fill: #1f2328; font-weight: bold; font-size: 15px; }
path { stroke: #57606a; stroke-width: 2; fill: none; }
rect { stroke: #57606a; stroke-width: 1.5; fill: #fff8e1; }
.terminal rect { stroke: #0072b2; fill: #e3f2fd; }
text { fill: #1f2328; text-anchor: middle; }
.rule { text-anchor: start; }
@media (prefers-color-scheme: dark) {
  .paper { fill: #0d1117; }
  .rule, text { fill: #e6edf3; }
  path { stroke: #9198a1; }
  rect { stroke: #9198a1; fill: #2b2611; }
  .terminal rect { stroke: #56b4e9; fill: #10304a; }
}
"""
TERMINALS = {
    "WORD": "letters, digits and underscores, no digit first",
    "BACKTICKED": "anything between backticks; a backtick itself is written twice",
    "BRACED": "a Python expression between `{{` and `}}`, whose value is taken as a parameter",
    "NUMBER": "`10`, `1_000`, `2.5`, `.5`, `1e6`",
    "TEXT": "characters between quotes; a quote itself is written twice",
}


@dataclass(frozen=True)
class Part:
    """A part of the grammar.

    Attributes:
        title: what it is about.
        rules: their texts by name, in order.
    """

    title: str
    rules: dict[str, str]

    @property
    def picture(self) -> Path:
        """Where it is drawn."""
        return PICTURES / f"grammar-{re.sub(r'[^a-z]+', '-', self.title.lower())}.svg"


def parts() -> list[Part]:
    """The grammar's parts, without the lists of words and the terminals."""
    found = [Part("statements", {})]
    text = GRAMMAR.read_text(encoding="utf-8")
    for paragraph in re.split(r"\n(?=\w|// ----)", text[: text.index("\nWORD: ")]):
        if paragraph.startswith("// ----"):
            found.append(Part(paragraph.splitlines()[0].removeprefix("// ----").strip(), {}))
        elif not paragraph.startswith("//"):
            name, _, rule = paragraph.partition(":")
            if name not in LISTS:
                found[-1].rules[name] = re.sub(r"^//.*$", "", rule, flags=re.MULTILINE)
    return found


def words(rule: str) -> list[str]:
    """The words of a rule that is a list of them."""
    (text,) = re.findall(rf"^{rule}: (.*?)\n(?=\w|\n)", GRAMMAR.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return re.findall(r'"(\w+)"', text)


class _Reader:
    """Reads one rule: alternatives of sequences of things with a mark behind."""

    def __init__(self, rule: str) -> None:
        self._tokens = re.findall(r'"[^"]*"|\w+|[\[\]()|*+]', rule)
        self._at = 0

    def rule(self) -> DiagramItem:
        """All of it."""
        read = self._choice()
        assert self._next is None, f"{self._next} is too many in {self._tokens}"
        return read

    @property
    def _next(self) -> str | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _take(self) -> str:
        self._at += 1
        return self._tokens[self._at - 1]

    def _choice(self) -> DiagramItem:
        ways = [self._sequence()]
        while self._next == "|":
            self._take()
            ways.append(self._sequence())
        return ways[0] if len(ways) == 1 else Choice(0, *ways)

    def _sequence(self) -> DiagramItem:
        items: list[DiagramItem] = []
        begins: list[int] = []  # where each of them begins, to see that `x ("," x)*` says the same thing twice
        while self._next not in (None, "|", ")", "]"):
            begin = self._at
            repeated = self._repetition(items, begins)
            if repeated is not None:
                items[-1] = repeated
                continue
            begins.append(begin)
            items.append(self._marked())
        return _lines(items)

    def _repetition(self, items: list[DiagramItem], begins: list[int]) -> DiagramItem | None:
        """`("," x)*` behind an x: the track back to x, with the comma on it."""
        if not items or self._next != "(":
            return None
        before = self._tokens[begins[-1] : self._at]
        end = self._at + 2 + len(before)
        behind = self._tokens[self._at + 1 : end]
        if behind[1:] != before or behind[0][0] != '"' or self._tokens[end : end + 2] != [")", "*"]:
            return None
        self._at = end + 2
        return OneOrMore(items[-1], Terminal(behind[0].strip('"')))

    def _marked(self) -> DiagramItem:
        item = self._thing()
        if self._next in ("*", "+"):
            return ZeroOrMore(item) if self._take() == "*" else OneOrMore(item)
        return item

    def _thing(self) -> DiagramItem:
        token = self._take()
        if token in ("(", "["):
            item = self._choice()
            assert self._take() == {"(": ")", "[": "]"}[token]
            return Optional(item) if token == "[" else item
        return Terminal(token.strip('"')) if token[0] == '"' else NonTerminal(token.replace("_", " "))


def _lines(items: list[DiagramItem]) -> DiagramItem:
    """Things one after the other, in several lines where one would be too wide."""
    lines: list[list[DiagramItem]] = [[]]
    for item in items:
        if lines[-1] and sum(i.width + 20 for i in lines[-1]) + item.width > WIDEST:
            lines.append([])
        lines[-1].append(item)
    rows = [line[0] if len(line) == 1 else Sequence(*line) for line in lines]
    return rows[0] if len(rows) == 1 else Stack(*rows)


def drawn(part: Part) -> str:
    """A part's picture: its rules, each under its name."""
    railroad.INTERNAL_ALIGNMENT = "left"
    pieces, top, width = [], 16, 0
    for name, rule in part.rules.items():
        diagram = Diagram(_Reader(rule).rule(), type="complex").format(8)
        wide, high = (float(diagram.attrs[side]) for side in ("width", "height"))
        body: list[str] = []
        diagram.attrs |= {"x": "8", "y": f"{top + 8}"}
        diagram.writeSvg(body.append)
        pieces += [f'<text class="rule" x="16" y="{top + 4}">{name.replace("_", " ")}</text>', *body]
        top += int(high) + 36
        width = max(width, int(wide) + 16)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{top}" viewBox="0 0 {width} {top}">'
    return f'{head}<style>{STYLE}</style><rect class="paper" width="100%" height="100%" stroke="none"/>{"".join(pieces)}</svg>\n'


def page() -> str:
    """The page that shows them."""
    lines = [
        "# The grammar, drawn",
        "",
        "Every statement is a way along the tracks, from left to right. What stands in a blue box is written as it is, in",
        "capitals or not; what stands in the other boxes is drawn under its name. The same as text:",
        "[grammar.ebnf](grammar.ebnf). What it all means: [the language](language.md).",
        "",
        *(f"- [{part.title[0].upper()}{part.title[1:]}](#{re.sub(r'[^a-z]+', '-', part.title)})" for part in parts()),
    ]
    for part in parts():
        title = part.title[0].upper() + part.title[1:]
        names = ", ".join(f"`{name.replace('_', ' ')}`" for name in part.rules)
        lines += ["", f"## {title}", "", names, "", f"![Railroad diagrams: {part.title}](pictures/{part.picture.name})"]
    lines += ["", "### Words", "", "| box | what it is |", "|---|---|"]
    lines += [f"| {name} | {what} |" for name, what in TERMINALS.items()]
    lines += ["", "Reserved words are no names unless they stand in backticks: " + _listed("reserved"), ""]
    lines += [
        "After a table or a column these are no names either, so that `AS` may be left out (`plain`): "
        + _listed("stops")
    ]
    return "\n".join(lines) + "\n"


def _listed(rule: str) -> str:
    return ", ".join(f"`{word}`" for word in words(rule)) + "."


def main() -> None:
    """Write the pictures and the page."""
    for part in parts():
        part.picture.write_text(drawn(part), encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
