"""Drawn windowed queries, each written twice: in the words of this language, and as a condition on times for DuckDB."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tests.differential.draw import Draw
from tests.differential.rows import NAMES, Rows
from tests.differential.selects import COMPARES, KINDS, Item, Scope, Selects

US = "MICROSECONDS"
LENGTHS = (4, 5, 1, 10, 12, 30)
JOINS = ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")
AGGREGATES = ("count(*)", "count({})", "sum({})", "min({})", "max({})", "avg({})", "count(DISTINCT {})")


@dataclass(frozen=True)
class Pair:
    """One query in both systems' words."""

    ours: str
    theirs: str


def _theirs(text: str) -> str:
    return text.replace("LEFT SEMI", "SEMI").replace("LEFT ANTI", "ANTI")


class Windowed:
    """Draws windowed queries.

    Args:
        draw: the choices.
        rows: what they are asked of: extents are listed from the first time to the last.
    """

    def __init__(self, draw: Draw, rows: Rows) -> None:
        self.draw = draw
        self.times = rows.times()
        self.selects = Selects(draw)

    def query(self) -> Pair:
        """Any of them."""
        kinds = (
            self.extents,
            self.over,
            self.joined_extents,
            self.joined,
            self.nested,
            self.over_extents,
            self.sessions,
        )
        return self.draw.pick(kinds)()

    # -- parts

    def _where(self, name: str) -> str:
        if not self.draw.chance(40):
            return ""
        return " WHERE " + self.selects.condition(0, Scope([Item(name, self.selects.columns)]), subqueries=False)

    def _aggregate(self, name: str, distinct: bool = True) -> str:
        form = self.draw.pick(AGGREGATES if distinct else AGGREGATES[:-1])
        if "{}" not in form:
            return form
        kind = self.draw.pick(KINDS if form[:3] in ("min", "max", "cou") else ("int", "real"))
        return form.format(self.selects.value(kind, 0, Scope([Item(name, self.selects.columns)]), subqueries=False))

    def _ends(self, length: int, slide: int) -> str:
        first = self.times[0] // slide * slide
        last = (self.times[-1] + length) // slide * slide
        return f"(SELECT unnest(range({first}, {last + slide + 1}, {slide})) AS e) ends"

    def _extent_query(self, name: str, keys: list[str], made: list[str], where: str, having: str) -> Pair:
        """Aggregates per extent, `made` with their aliases."""
        slide = self.draw.pick((4, 5, 1, 10))
        length = slide if self.draw.chance(50) else self.draw.pick(LENGTHS)
        window = f"[RANGE {length} {US} TUMBLING]" if length == slide else f"[RANGE {length} {US} SLIDE {slide} {US}]"
        items = ", ".join(["window_start", "window_end", *keys, *made])
        grouped = f" GROUP BY {', '.join(keys)}" if keys else ""
        ours = f"SELECT {items} FROM {name} {window}{where}{grouped}{having}"
        bounds = f"e - {length} AS window_start, e AS window_end"
        among = f"{name}, {self._ends(length, slide)}" + (where or " WHERE true")
        inside = f"{name}.ts >= e - {length} AND {name}.ts < e"
        listed = ", ".join([bounds, *keys, *made])
        held = f"({among.split(' WHERE ', 1)[1]}) AND {inside}"
        source = among.split(" WHERE ", 1)[0]
        if keys:
            theirs = f"SELECT {listed} FROM {source} WHERE {held} GROUP BY e, {', '.join(keys)}{having}"
        else:  # extents without rows between the first and the last that hold some have a row as well
            alive = f"SELECT e AS ending, {name}.* FROM {source} WHERE {held}"
            span = f"e BETWEEN (SELECT min(ending) FROM ({alive}) f) AND (SELECT max(ending) FROM ({alive}) g)"
            # one row that counts for nothing is no row: aggregates are over a left join
            body = ", ".join(_of_joined(m, name) for m in made)
            theirs = (
                f"SELECT {bounds}, {body} FROM {self._ends(length, slide)} LEFT JOIN ({alive}) {name} "
                f"ON {name}.ending = e WHERE {span} GROUP BY e{_of_joined(having, name)}"
            )
        return Pair(ours, theirs)

    # -- kinds of queries

    def extents(self) -> Pair:
        """Aggregates over time windows, some of them without groups."""
        name = self.draw.pick(NAMES)
        keys = self.draw.subset(("k", "s"), 0, 2)
        made = [f"{self._aggregate(name)} AS n{i}" for i in range(1 + self.draw.below(2))]
        having = ""
        if self.draw.chance(25):
            made_of = self.draw.pick(("count(*)", "sum(v)", "count(v)"))
            having = f" HAVING {made_of} {self.draw.pick(COMPARES)} {self.draw.pick((1, 0, 2))}"
        return self._extent_query(name, keys, made, self._where(name), having)

    def over(self) -> Pair:
        """Aggregates over the rows up to each row."""
        name = self.draw.pick(NAMES)
        ours, theirs = [], []
        for i in range(1 + self.draw.below(2)):
            partition = self.draw.pick(("", "PARTITION BY k ", "PARTITION BY k, s "))
            size = self.draw.pick((2, 1, 4, 10))
            frame = self.draw.pick(
                (f"RANGE {size} {US} PRECEDING", f"ROWS {size} PRECEDING", "RANGE UNBOUNDED PRECEDING")
            )
            made = self._aggregate(name, distinct=False)
            ours.append(f"{made} OVER ({partition}{frame}) AS n{i}")
            order = "ORDER BY ts, id" if frame.startswith("ROWS") else "ORDER BY ts"
            theirs.append(f"{made} OVER ({partition}{order} {frame.replace(f' {US}', '')}) AS n{i}")
        where = self._where(name)
        return Pair(
            f"SELECT id, {', '.join(ours)} FROM {name}{where}", f"SELECT id, {', '.join(theirs)} FROM {name}{where}"
        )

    def joined(self) -> Pair:
        """Streams joined under windows, or with a bound on their times."""
        left, right = self.draw.pick(NAMES), self.draw.pick(NAMES)
        kind = self.draw.pick(JOINS)
        columns = self.selects.columns
        scope = Scope([Item("l", columns), Item("r", columns)])
        on = self.selects._on(Scope([Item("l", columns)]), Scope([Item("r", columns)]), 0, scope)
        using = self.draw.chance(25)
        used = self.draw.subset(("k", "s", "v"), 1, 2) if using else []
        condition = " AND ".join(f"l.{c} = r.{c}" for c in used) if using else on
        if "SEMI" in kind or "ANTI" in kind:
            items = "l.id, l.v AS v1, l.s AS s1"
        else:
            items = "l.id AS i, r.id AS j, r.x AS x1, l.s AS s1"
            if using:
                items += f", {used[0]} AS u"
        length, other = self.draw.pick(LENGTHS), self.draw.pick(LENGTHS)
        bound = self.draw.below(3)
        ours_on = f"USING ({', '.join(used)})" if using else f"ON {on}"
        if bound == 0:
            near = f"l.ts < r.ts + {other} AND r.ts < l.ts + {length}"
            source = f"{left} [RANGE {length} {US}] l {kind} {right} [RANGE {other} {US}] r {ours_on}"
        elif bound == 1 or using:
            near = f"floor(l.ts / {length}) = floor(r.ts / {length})"
            source = (
                f"{left} [RANGE {length} {US} TUMBLING] l {kind} {right} [RANGE {length} {US} TUMBLING] r {ours_on}"
            )
        else:
            near = f"r.ts BETWEEN l.ts - {length} AND l.ts + {other}"
            source = f"{left} l {kind} {right} r ON {on} AND {near}"
        if using and kind in ("RIGHT JOIN", "FULL JOIN"):
            theirs_items = items.replace(f", {used[0]} AS u", f", coalesce(l.{used[0]}, r.{used[0]}) AS u")
        else:
            theirs_items = items.replace(f", {used[0]} AS u", f", l.{used[0]} AS u") if using else items
        if " TUMBLING]" in source:
            items = f"window_start, window_end, {items}"
            start = (
                f"floor({'l.ts' if 'SEMI' in kind or 'ANTI' in kind else 'coalesce(l.ts, r.ts)'} / {length}) * {length}"
            )
            theirs_items = f"{start}, {start} + {length}, {theirs_items}"
        theirs = f"SELECT {theirs_items} FROM {left} l {kind} {right} r ON {condition} AND {near}"
        return Pair(f"SELECT {items} FROM {source}", _theirs(theirs))

    def _inner(self, keys: list[str]) -> tuple[Pair, list[str]]:
        name = self.draw.pick(NAMES)
        made = ["count(*) AS n", f"{self.draw.pick(('sum(v)', 'max(v)', 'min(id)'))} AS m"]
        return self._extent_query(name, keys, made, self._where(name), ""), [
            "window_start",
            "window_end",
            *keys,
            "n",
            "m",
        ]

    def joined_extents(self) -> Pair:
        """Windowed aggregates joined on their windows."""
        keys = self.draw.subset(("k", "s"), 0, 1)
        (left, _), (right, _) = self._inner(keys), self._inner(keys)
        kind = self.draw.pick(JOINS)
        columns = ["window_end", *keys] if self.draw.chance(50) else ["window_start", "window_end", *keys]
        if self.draw.chance(30):
            on = f"USING ({', '.join(columns)})"
        else:
            on = "ON " + " AND ".join(f"l.{c} = r.{c}" for c in columns)
            if self.draw.chance(25):
                on += f" AND l.n {self.draw.pick(COMPARES)} r.n"
        items = (
            "l.n AS n1, l.m AS m1" if "SEMI" in kind or "ANTI" in kind else "l.n AS n1, l.m AS m1, r.n AS n2, r.m AS m2"
        )
        text = f"SELECT {items} FROM ({{}}) l {kind} ({{}}) r {on}"
        return Pair(text.format(left.ours, right.ours), _theirs(text.format(left.theirs, right.theirs)))

    def nested(self) -> Pair:
        """A selection over windowed aggregates."""
        keys = self.draw.subset(("k", "s"), 0, 1)
        inner, columns = self._inner(keys)
        items = ", ".join(self.draw.pick((c, c, f"coalesce({c}, {c})")) + f" AS c{i}" for i, c in enumerate(columns))
        where = f" WHERE {self.draw.pick(('n', 'm', 'window_end'))} {self.draw.pick(COMPARES)} {self.draw.pick((1, 0, 2, 5))}"
        text = f"SELECT {items} FROM ({{}}) w{where if self.draw.chance(50) else ''}"
        return Pair(text.format(inner.ours), text.format(inner.theirs))

    def over_extents(self) -> Pair:
        """Extents of extents: a row of the inner query progresses on its window's end less one."""
        keys = self.draw.subset(("k", "s"), 0, 1)
        inner, _ = self._inner(keys)
        length = self.draw.pick((20, 10, 4, 7))
        made = self.draw.pick(("count(*)", "sum(n)", "max(m)", "avg(n)")) + " AS z"
        group = ", ".join(keys)
        before = f"{group}, " if keys else ""
        ours = (
            f"SELECT window_start, window_end, {before}{made} FROM ({inner.ours}) w [RANGE {length} {US} TUMBLING]"
            + (f" GROUP BY {group}" if keys else "")
        )
        end = f"CAST(floor((window_end - 1) / {length}) * {length} + {length} AS BIGINT)"
        theirs = (
            f"SELECT {end} - {length} AS ws, {end} AS we, {before}{made} FROM ({inner.theirs}) w GROUP BY ws, we"
            + (f", {group}" if keys else "")
        )
        if keys:
            return Pair(ours, theirs)
        first = f"(SELECT min(we) FROM ({theirs}) f)"
        last = f"(SELECT max(we) FROM ({theirs}) g)"
        zero = "0" if made.startswith("count") else "NULL"
        ends = f"(SELECT unnest(range({first}, {last} + 1, {length})) AS e) ends"
        value = f"CASE WHEN we IS NULL THEN {zero} ELSE z END"
        filled = f"SELECT e - {length}, e, {value} FROM {ends} LEFT JOIN ({theirs}) h ON we = e"
        return Pair(ours, filled)

    def sessions(self) -> Pair:
        """Sessions of each key."""
        name = self.draw.pick(NAMES)
        gap = self.draw.pick((3, 1, 6, 14))
        made = [f"{self._aggregate(name)} AS n{i}" for i in range(1 + self.draw.below(2))]
        keys = self.draw.subset(("k", "s"), 0, 1)
        where = self._where(name)
        group = ", ".join(keys)
        listed = ", ".join([*keys, *made])
        ours = f"SELECT window_start, window_end, {listed} FROM {name} [SESSION {gap} {US}]{where}" + (
            f" GROUP BY {group}" if keys else ""
        )
        partition = f"PARTITION BY {group} " if keys else ""
        over = f"OVER ({partition}ORDER BY ts, id"
        step = f"SELECT *, CASE WHEN ts - lag(ts) {over}) < {gap} THEN 0 ELSE 1 END AS first_ FROM {name}{where}"
        numbered = f"SELECT *, sum(first_) {over} ROWS UNBOUNDED PRECEDING) AS session_ FROM ({step}) p"
        theirs = f"SELECT min(ts), max(ts) + {gap}, {listed} FROM ({numbered}) {name} GROUP BY session_" + (
            f", {group}" if keys else ""
        )
        return Pair(ours, theirs)


def _of_joined(text: str, name: str) -> str:
    """An aggregate over a left join, where an extent without rows has one row of NULLs: it doesn't count."""
    return (
        re.sub(
            r"( AS n\d+| AS n| AS m| (?:=|<>|<=?|>=?) -?\d+)?$",
            rf" FILTER (WHERE {name}.id IS NOT NULL)\1",
            text,
            count=1,
        )
        if text
        else text
    )
