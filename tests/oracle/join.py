"""Joins of two streams, by definition: every pair of rows looked at."""

from __future__ import annotations

from dataclasses import dataclass

from tests.oracle.predicates import Predicate
from tests.oracle.progress import Arrived, KeyedPunctuation
from tests.oracle.query import Answer, Stream, duration
from tests.oracle.values import Row, same_key

WORDS = {"inner": "JOIN", "left": "LEFT JOIN", "right": "RIGHT OUTER JOIN", "full": "FULL JOIN", "semi": "LEFT SEMI JOIN",
         "anti": "LEFT ANTI JOIN"}  # fmt: skip


@dataclass(frozen=True)
class JoinQuery:
    """Two streams joined.

    Attributes:
        stream: the left one.
        other: the right one; its columns are called otherwise.
        kind: which rows come out.
        left: how long left rows live, microseconds; None with `tumbling` or `bounds`.
        right: how long right rows live.
        tumbling: length of the extents both have to fall into.
        bounds: least and greatest right time minus left time, as a condition.
        keys: pairs of columns that are to be equal.
        residual: a further condition over both rows.
        where: WHERE, over what comes out.
        listed: written as a comma list with WHERE (inner joins).
        refers: (0 for left rows, 1 for right ones; microseconds): theirs come at most so long after them.
    """

    stream: Stream
    other: Stream
    kind: str = "inner"
    left: int | None = None
    right: int | None = None
    tumbling: int | None = None
    bounds: tuple[int, int] | None = None
    keys: tuple[tuple[str, str], ...] = ()
    residual: Predicate | None = None
    where: Predicate | None = None
    listed: bool = False
    refers: tuple[int, int] | None = None
    window: None = None
    emit_every: None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the result's columns, in order."""
        left = tuple(name for name, _ in self.stream.columns)
        extent = () if self.tumbling is None else ("window_start", "window_end")
        right = () if self.kind in ("semi", "anti") else tuple(name for name, _ in self.other.columns)
        return (*extent, *left, *right)

    def in_extent(self, row: Row, ts: int) -> Row:
        """A row of the result, one of whose times is `ts`, with its extent under a tumbling window."""
        if self.tumbling is None:
            return row
        start = ts // self.tumbling * self.tumbling
        return {"window_start": start, "window_end": start + self.tumbling, **row}

    def sql(self) -> str:
        """The SELECT."""
        windows = ["", ""]
        if self.tumbling is not None:
            windows[1] = f" [RANGE {duration(self.tumbling)} TUMBLING]"
        elif self.bounds is None:
            windows = [f" [RANGE {duration(d)}]" for d in (self.left, self.right) if d is not None]
        one, other = f"{self.stream.name}{windows[0]} l", f"{self.other.name}{windows[1]} r"
        parts = [f"l.{a} = r.{b}" for a, b in self.keys]
        if self.bounds is not None:
            integer = dict(self.stream.columns)[self.stream.time] == "BIGINT"
            amounts = [str(abs(b)) if integer else f"INTERVAL {duration(abs(b))}" for b in self.bounds]
            low, high = (f"{'-' if b < 0 else '+'} {a}" for a, b in zip(amounts, self.bounds, strict=True))
            parts.append(f"r.{self.other.time} BETWEEN l.{self.stream.time} {low} AND l.{self.stream.time} {high}")
        parts += [f"({self.residual.sql()})"] if self.residual else []
        condition = " AND ".join(parts) or "TRUE"
        where = f"({self.where.sql()})" if self.where else ""
        if self.listed:
            both = " AND ".join(p for p in (condition, where) if p)
            return f"SELECT * FROM {one}, {other} WHERE {both}"
        return f"SELECT * FROM {one} {WORDS[self.kind]} {other} ON {condition}" + (f" WHERE {where}" if where else "")

    @property
    def judges(self) -> bool:
        """Whether rows without partner are known to break what `refers` says: it looks for all they may refer to."""
        if self.refers is None or self.tumbling is not None or self.bounds is not None:
            return False
        port, within = self.refers
        own = (self.left, self.right)[port]
        if (self.kind in ("semi", "anti") and port == 1) or (self.kind != "inner" and self.residual is not None):
            return False
        filtered = self.where is not None
        return own is not None and own - 1 >= within and not filtered

    def meet(self, left: Arrived, right: Arrived, with_residual: bool = True) -> bool:
        """Whether two rows are partners; or, without the further condition, whether one may refer to the other."""
        if self.tumbling is not None:
            near = left.ts // self.tumbling == right.ts // self.tumbling
        elif self.bounds is not None:
            near = self.bounds[0] <= right.ts - left.ts <= self.bounds[1]
        else:
            assert self.left is not None and self.right is not None
            near = right.ts - self.left < left.ts < right.ts + self.right
        if self.refers is not None:
            late_by = right.ts - left.ts if self.refers[0] == 0 else left.ts - right.ts
            near = near and late_by <= self.refers[1]
        if not near or any(left.row[a] is None or right.row[b] is None for a, b in self.keys):
            return False
        if any(same_key(left.row[a]) != same_key(right.row[b]) for a, b in self.keys):
            return False
        return not with_residual or self.residual is None or self.residual.truth({**left.row, **right.row}) is True


def _judged(rows: list[Arrived], stream: Stream, keys: list[str]) -> tuple[list[Arrived], list[Arrived]]:
    """Rows that came in time, and late ones. What is promised of one key counts where rows meet by that key."""
    by_key = not isinstance(stream.progress, KeyedPunctuation) or stream.progress.key in keys
    limits = [r.before if by_key else r.before_all for r in rows]
    late = [limit is not None and r.ts < limit for r, limit in zip(rows, limits, strict=True)]
    return [r for r, is_late in zip(rows, late, strict=True) if not is_late], [
        r for r, is_late in zip(rows, late, strict=True) if is_late
    ]


def broken(query: JoinQuery) -> list[Arrived]:
    """Rows that came in time and refer to nothing, where the join can tell."""
    if not query.judges or query.refers is None:
        return []
    lefts, _ = _judged(query.stream.arrived(), query.stream, [a for a, _ in query.keys])
    rights, _ = _judged(query.other.arrived(), query.other, [b for _, b in query.keys])
    if query.refers[0] == 0:
        own, column = lefts, 0
        found = [a for a in lefts if any(query.meet(a, b, with_residual=False) for b in rights)]
    else:
        own, column = rights, 1
        found = [b for b in rights if any(query.meet(a, b, with_residual=False) for a in lefts)]
    refers = [r for r in own if all(r.row[pair[column]] is not None for pair in query.keys)]
    return [r for r in refers if not any(r is f for f in found)]


def join(query: JoinQuery) -> Answer:
    """What a join gives: late rows are not used."""
    lefts, rights = query.stream.arrived(), query.other.arrived()
    answer = Answer(rows=[])
    broke = [r for r in (*lefts, *rights) if r.broke]
    lefts, late_lefts = _judged(lefts, query.stream, [a for a, _ in query.keys])
    rights, late_rights = _judged(rights, query.other, [b for _, b in query.keys])
    answer.late = [(r.row, r.before, None) for r in (*late_lefts, *late_rights)]
    told = {id(r.row) for r in (*late_lefts, *late_rights)}
    answer.late += [(r.row, r.before, 0) for r in broke if id(r.row) not in told]  # type: ignore[misc]
    pairs = [(one, two) for one in lefts for two in rights if query.meet(one, two)]
    found: list[Row] = []
    if query.kind in ("inner", "left", "right", "full"):
        found += [query.in_extent({**one.row, **two.row}, one.ts) for one, two in pairs]
    lone_left = [query.in_extent(r.row, r.ts) for r in lefts if not any(r is one for one, _ in pairs)]
    lone_right = [query.in_extent(r.row, r.ts) for r in rights if not any(r is other for _, other in pairs)]
    if query.kind in ("left", "full"):
        found += [{**row, **{name: None for name, _ in query.other.columns}} for row in lone_left]
    if query.kind in ("right", "full"):
        found += [{**{name: None for name, _ in query.stream.columns}, **row} for row in lone_right]
    if query.kind == "semi":
        found = [query.in_extent(r.row, r.ts) for r in lefts if any(r is one for one, _ in pairs)]
    if query.kind == "anti":
        found = lone_left
    answer.rows = [row for row in found if query.where is None or query.where.truth(row) is True]
    return answer
