"""Drawn SELECTs that mean the same to any SQL: joins of every kind, set operations, subqueries, aggregates. Not windows of time.

A relation stands in the text as `«a»`, or `«a|[RANGE 5]»` with a window; `for_us` and `for_duckdb` put in what each takes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.differential.draw import Draw
from tests.differential.rows import NAMES, TYPES

MARK = re.compile(r"«(\w+)(?:\|([^»]*))?»( t\d+)?")
KINDS = ("int", "text", "real")
LITERALS = {
    "int": ("1", "0", "2", "-1", "3", "NULL"),
    "text": ("'a'", "''", "'b'", "'ab'", "NULL"),
    "real": ("0.5e0", "1.0e0", "-0.25e0", "NULL"),
}
COMPARES = ("=", "<>", "<", "<=", ">", ">=")
JOINS = ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN", "CROSS JOIN", ",")
SETS = ("UNION ALL", "UNION", "EXCEPT", "INTERSECT", "EXCEPT ALL", "INTERSECT ALL")


@dataclass(frozen=True)
class Item:
    """A FROM item: what its columns are qualified with, and what they hold."""

    qualifier: str
    columns: dict[str, str]


@dataclass
class Scope:
    """Columns that can be named: of the SELECT itself and of those around it."""

    items: list[Item] = field(default_factory=list)
    merged: dict[str, str] = field(default_factory=dict)
    outer: Scope | None = None

    def own(self, kind: str) -> list[str]:
        """This SELECT's columns of a kind, as written."""
        found = [f"{i.qualifier}.{c}" for i in self.items for c, k in i.columns.items() if k == kind]
        names = [c for i in self.items for c in i.columns]
        found += [c for i in self.items for c, k in i.columns.items() if k == kind and names.count(c) == 1]
        return [c for c, k in self.merged.items() if k == kind] + found


class Selects:
    """Draws SELECTs.

    Args:
        draw: the choices.
        windows: what may stand behind a stream; empty for tables.
        columns: those that may be named.
    """

    def __init__(self, draw: Draw, windows: Sequence[str] = ("",), columns: Sequence[str] = tuple(TYPES)) -> None:
        self.draw = draw
        self.windows = windows
        self.columns = {n: TYPES[n] for n in columns}
        self._aliases = 0

    # -- queries

    def query(
        self, depth: int, kinds: Sequence[str] | None = None, outer: Scope | None = None
    ) -> tuple[str, list[str]]:
        """A SELECT or set operation and what its columns, `c1`, `c2`, ..., hold."""
        if kinds is None:
            kinds = [self.draw.pick(KINDS) for _ in range(1 + self.draw.below(3))]
        if depth and self.draw.chance(25):
            left, _ = self._operand(depth - 1, kinds, outer)
            right, _ = self._operand(depth - 1, kinds, outer)
            return f"{left} {self.draw.pick(SETS)} {right}", list(kinds)
        return self.select(depth, kinds, outer), list(kinds)

    def _operand(self, depth: int, kinds: Sequence[str], outer: Scope | None) -> tuple[str, list[str]]:
        text, kinds = self.query(depth, kinds, outer)
        return (f"({text})" if self.draw.chance(30) or any(s in text for s in SETS) else text), list(kinds)

    def select(self, depth: int, kinds: Sequence[str], outer: Scope | None) -> str:
        """One SELECT, grouped or not."""
        scope = Scope(outer=outer)
        source = self.source(depth, scope)
        where = f" WHERE {self.condition(depth, scope)}" if self.draw.chance(50) else ""
        if self.draw.chance(35):
            return self._grouped(depth, kinds, scope, source, where)
        items = [f"{self.value(k, depth, scope)} AS c{i}" for i, k in enumerate(kinds, 1)]
        distinct = "DISTINCT " if self.draw.chance(20) else ""
        return f"SELECT {distinct}{', '.join(items)} FROM {source}{where}"

    def _grouped(self, depth: int, kinds: Sequence[str], scope: Scope, source: str, where: str) -> str:
        keys = [(k, self._key(k, scope)) for k in self.draw.subset(KINDS, 0, 2)]
        items = []
        for i, kind in enumerate(kinds, 1):
            fitting = [text for k, text in keys if k == kind]
            taken = self.draw.pick(fitting) if fitting and self.draw.chance(50) else self.aggregate(kind, depth, scope)
            items.append(f"{taken} AS c{i}")
        grouped = f" GROUP BY {', '.join(text for _, text in keys)}" if keys else ""
        having = ""
        if self.draw.chance(30):
            having = f" HAVING {self.aggregate('int', 0, scope)} {self.draw.pick(COMPARES)} {self.draw.pick(('1', '0', '2'))}"
        return f"SELECT {', '.join(items)} FROM {source}{where}{grouped}{having}"

    def _key(self, kind: str, scope: Scope) -> str:
        columns = scope.own(kind)
        if not columns:
            return {"int": "1 + 1", "text": "'a'", "real": "0.5e0"}[kind]  # a bare number would be a column's place
        column = self.draw.pick(columns)
        return f"{column} % 2" if kind == "int" and self.draw.chance(25) else column

    def aggregate(self, kind: str, depth: int, scope: Scope) -> str:
        """An aggregate call of a kind."""
        if kind == "int":
            forms = ["count(*)", "count({})", "sum({})", "min({})", "max({})", "count(DISTINCT {})"]
        else:
            forms = ["min({})", "max({})"] + (["sum({})", "avg({})"] if kind == "real" else [])
        form = self.draw.pick(forms)
        if "{}" in form:
            own = Scope(scope.items, scope.merged)  # an aggregate of columns from around belongs to the query around
            form = form.format(self.value(kind, 0, own, subqueries=False))
        if self.draw.chance(15):
            form += f" FILTER (WHERE {self.condition(0, Scope(scope.items, scope.merged), subqueries=False)})"
        if kind == "int" and self.draw.chance(15):
            return f"{form} + {self.draw.pick(('1', '2'))}"
        return form

    # -- FROM

    def source(self, depth: int, scope: Scope) -> str:
        """A FROM clause; its columns go into the scope."""
        text = self._item(depth, scope)
        if self.draw.chance(45):
            text, first = self._join(text, depth, scope, 0)
            if self.draw.chance(25) and not scope.merged:
                text, _ = self._join(text, depth, scope, first)
        return text

    def _item(self, depth: int, scope: Scope) -> str:
        self._aliases += 1
        alias = f"t{self._aliases}"
        if depth and self.draw.chance(25):
            text, kinds = self.query(depth - 1)
            scope.items.append(Item(alias, {f"c{i}": k for i, k in enumerate(kinds, 1)}))
            return f"({text}) {alias}"
        name = self.draw.pick(NAMES)
        window = self.draw.pick(self.windows)
        scope.items.append(Item(alias, dict(self.columns)))
        return f"«{name}|{window}» {alias}" if window else f"«{name}» {alias}"

    def _join(self, text: str, depth: int, scope: Scope, first: int) -> tuple[str, int]:
        """What is joined to a text, and the number of the item that a further JOIN begins with: JOIN binds before commas."""
        kind = self.draw.pick(JOINS)
        before = scope.items[first:]
        right = self._item(depth, scope)
        new = scope.items[-1]
        if kind in ("CROSS JOIN", ","):
            if kind == ",":
                return f"{text}, {right}", len(scope.items) - 1
            return f"{text} CROSS JOIN {right}", first
        shared = (
            [c for c in before[-1].columns if before[-1].columns[c] == new.columns.get(c)] if len(before) == 1 else []
        )
        if shared and self.draw.chance(30):
            used = self.draw.subset(shared, 1, 2)
            on = f"USING ({', '.join(used)})"
            semi = "SEMI" in kind or "ANTI" in kind
            if not semi:
                scope.merged = {c: new.columns[c] for c in used}
        else:
            on = f"ON {self._on(Scope(before), Scope([new]), depth, scope)}"
        if "SEMI" in kind or "ANTI" in kind:
            scope.items.remove(new)
        return f"{text} {kind} {right} {on}", first

    def _on(self, left: Scope, right: Scope, depth: int, scope: Scope) -> str:
        kind = self.draw.pick([k for k in KINDS if left.own(k) and right.own(k)] or [""])
        if not kind:
            return self.condition(0, scope, subqueries=False)
        compare = "=" if not self.draw.chance(15) else self.draw.pick(COMPARES)
        made = f"{self._qualified(left, kind)} {compare} {self._qualified(right, kind)}"
        if self.draw.chance(30):
            made += f" AND {self.condition(0, Scope(left.items + right.items), subqueries=False)}"
        return made

    def _qualified(self, scope: Scope, kind: str) -> str:
        return self.draw.pick([c for c in scope.own(kind) if "." in c])

    # -- values

    def value(self, kind: str, depth: int, scope: Scope, subqueries: bool = True) -> str:
        """A value of a kind."""
        column = self.draw.pick(self._columns(kind, scope))
        form = self.draw.below(100)
        if form < 60:
            return column
        if form < 68:
            return self.draw.pick(LITERALS[kind][:-1])
        if form < 76:
            other = self.value(kind, 0, scope, False)
            return f"CASE WHEN {self.condition(0, scope, False)} THEN {column} ELSE {other} END"
        if form < 84:
            return f"coalesce({column}, {self.draw.pick(LITERALS[kind][:-1])})"
        if form < 92 or not (subqueries and depth):
            plain = {"int": "{} + 1", "text": "{} || 'z'", "real": "{} * 2.0e0"}[kind]
            more = {"int": "abs({})", "text": "upper({})", "real": "-({})"}[kind]
            return self.draw.pick((plain, more, "nullif({0}, {0})")).format(column)
        return f"({self._scalar(kind, depth - 1, scope)})"

    def _columns(self, kind: str, scope: Scope) -> list[str]:
        found = scope.own(kind)
        if scope.outer is not None and self.draw.chance(25):
            found = [c for c in scope.outer.own(kind) if "." in c] or found
        return found or [LITERALS[kind][0]]

    def _scalar(self, kind: str, depth: int, outer: Scope) -> str:
        scope = Scope(outer=outer)
        source = self.source(depth, scope)
        where = f" WHERE {self._correlation(scope, outer)}" if self.draw.chance(60) else ""
        return f"SELECT {self.aggregate(kind, 0, scope)} FROM {source}{where}"

    def _correlation(self, scope: Scope, outer: Scope) -> str:
        kind = self.draw.pick([k for k in KINDS if scope.own(k) and outer.own(k)] or [""])
        if not kind:
            return self.condition(0, scope, False)
        mine = self._qualified(scope, kind) if any("." in c for c in scope.own(kind)) else scope.own(kind)[0]
        theirs = [c for c in outer.own(kind) if "." in c]
        made = f"{mine} = {self.draw.pick(theirs)}" if theirs else f"{mine} IS NOT NULL"
        return f"{made} AND {self.condition(0, scope, False)}" if self.draw.chance(30) else made

    # -- conditions

    def condition(self, depth: int, scope: Scope, subqueries: bool = True) -> str:
        """A condition."""
        form = self.draw.below(100)
        kind = self.draw.pick(KINDS)
        if form < 40:
            left, right = self.value(kind, 0, scope, False), self.value(kind, depth, scope, subqueries)
            return f"{left} {self.draw.pick(COMPARES)} {right}"
        if form < 50:
            return f"{self.value(kind, 0, scope, False)} {self.draw.pick(('IS NULL', 'IS NOT NULL'))}"
        if form < 60:
            inner = [self.condition(max(depth - 1, 0), scope, subqueries) for _ in range(2)]
            return f"({inner[0]} {self.draw.pick(('AND', 'OR'))} {inner[1]})"
        if form < 65:
            return f"NOT ({self.condition(max(depth - 1, 0), scope, subqueries)})"
        if form < 72 or not (subqueries and depth):
            return self._plain(kind, scope)
        if form < 86:
            inner_query, _ = self.query(depth - 1, [kind], scope if self.draw.chance(30) else None)
            return f"{self.value(kind, 0, scope, False)} {self.draw.pick(('IN', 'NOT IN'))} ({inner_query})"
        inside = Scope(outer=scope)
        source = self.source(depth - 1, inside)
        exists = self.draw.pick(("EXISTS", "NOT EXISTS"))
        return f"{exists} (SELECT 1 FROM {source} WHERE {self._correlation(inside, scope)})"

    def _plain(self, kind: str, scope: Scope) -> str:
        value = self.value(kind, 0, scope, False)
        literals = LITERALS[kind]
        form = self.draw.below(4)
        if form == 0:
            return f"{value} IN ({', '.join(self.draw.pick(literals) for _ in range(2))})"
        if form == 1:
            return f"{value} BETWEEN {self.draw.pick(literals)} AND {self.draw.pick(literals)}"
        if form == 2:
            return f"{value} IS DISTINCT FROM {self.value(kind, 0, scope, False)}"
        return f"{value} NOT IN ({', '.join(self.draw.pick(literals) for _ in range(2))})"


def ordered(draw: Draw, text: str, kinds: Sequence[str]) -> str:
    """The query with ORDER BY over all its columns, so that only equal rows tie, and LIMIT."""
    if any(s in text for s in SETS):
        text = f"SELECT * FROM ({text}) o"
    keys = [f"c{i}{draw.pick(('', ' DESC', ' NULLS LAST', ' DESC NULLS FIRST'))}" for i in range(1, len(kinds) + 1)]
    offset = f" OFFSET {draw.pick((1, 2))}" if draw.chance(20) else ""
    return f"{text} ORDER BY {', '.join(keys)} LIMIT {draw.pick((2, 1, 4))}{offset}"


def for_us(text: str) -> str:
    """The query in our words."""
    return MARK.sub(lambda m: f"{m[1]}{' ' + m[2] if m[2] else ''}{m[3] or ''}", text)


def for_duckdb(text: str, at: int | None = None) -> str:
    """The query in DuckDB's words; `at` an instant, over the rows alive then."""

    def alive(match: re.Match[str]) -> str:
        if at is None:
            return f"{match[1]}{match[3] or ''}"
        return f"({alive_rows(match[1], match[2] or '', at)}){match[3] or ' ' + match[1]}"

    return MARK.sub(alive, text).replace("LEFT SEMI", "SEMI").replace("LEFT ANTI", "ANTI")


def alive_rows(name: str, window: str, at: int) -> str:
    """The rows of a stream that a window without SLIDE holds at an instant."""
    if match := re.fullmatch(r"\[RANGE (\d+) MICROSECONDS\]", window):
        return f"SELECT * FROM {name} WHERE ts <= {at} AND ts > {at - int(match[1])}"
    if window == "[NOW]":
        return f"SELECT * FROM {name} WHERE ts = {at}"
    if match := re.fullmatch(r"\[ROWS (\d+)\]", window):
        return f"SELECT * FROM {name} WHERE ts <= {at} ORDER BY ts DESC, id DESC LIMIT {match[1]}"
    return f"SELECT * FROM {name} WHERE ts <= {at}"
