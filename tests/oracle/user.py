"""User-defined aggregates beside what they should give: plain functions of the rows of a window, in the order of their times.

Their argument is the row's number, so that an answer tells which rows were taken, and in which order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hypothesis import strategies as st

import jupyter_stream
from tests.oracle import strategies
from tests.oracle.aggregates import Aggregate
from tests.oracle.progress import Arrived
from tests.oracle.values import Value

DECLARATIONS = """
CREATE AGGREGATE traced (n BIGINT) : BIGINT
{ TABLE state (h BIGINT);
  INITIALIZE : { INSERT INTO state VALUES (n % 1009); }
  ITERATE : { UPDATE state SET h = (h * 31 + n) % 1000003; }
  TERMINATE : { INSERT INTO RETURN SELECT h FROM state; } };

CREATE AGGREGATE pairs (n)
{ TABLE seen (m BIGINT);
  INITIALIZE : ITERATE : { INSERT INTO seen VALUES (n); INSERT INTO RETURN SELECT count(*) * 1000 + sum(m) FROM seen; } };

CREATE WINDOW AGGREGATE taken_back (n BIGINT) : BIGINT
{ TABLE state (total BIGINT, cnt INT, newest BIGINT);
  TABLE inwindow (wn BIGINT);
  INITIALIZE : { INSERT INTO state VALUES (n, 1, n); }
  ITERATE : { UPDATE state SET total = total + n, cnt = cnt + 1, newest = n; }
  TERMINATE : { INSERT INTO RETURN SELECT total * 64 + cnt * 7 + newest * 5 + oldest() FROM state; }
  EXPIRE : { UPDATE state SET total = total - oldest().wn, cnt = cnt - 1; } };

CREATE WINDOW AGGREGATE as_it_comes (n BIGINT) : BIGINT
{ TABLE state (total BIGINT);
  INITIALIZE : { INSERT INTO state VALUES (n); INSERT INTO RETURN VALUES (n); }
  ITERATE : { UPDATE state SET total = total + n; INSERT INTO RETURN SELECT total FROM state; }
  EXPIRE : { UPDATE state SET total = total - n; } };

CREATE WINDOW AGGREGATE largest (n BIGINT) : BIGINT
{ TABLE inwindow (wn BIGINT);
  INITIALIZE : ITERATE : { DELETE FROM inwindow WHERE wn ≤ n; INSERT INTO RETURN VALUES (oldest()); }
  EXPIRE : { } };

CREATE WINDOW AGGREGATE naive (n BIGINT) : BIGINT
{ TABLE inwindow (wn BIGINT);
  INITIALIZE : ITERATE : { INSERT INTO RETURN SELECT sum(wn) + count(*) FROM inwindow; } };

CREATE ALGEBRAIC AGGREGATE joined (s STRING) : STRING
{ TABLE state (t STRING);
  INITIALIZE : { INSERT INTO state VALUES (s); }
  ITERATE : { UPDATE state SET t = t || ',' || s; }
  TERMINATE : { INSERT INTO RETURN SELECT t FROM state; } };

CREATE ALGEBRAIC WINDOW AGGREGATE added (n BIGINT) : BIGINT
{ TABLE state (total BIGINT);
  TABLE inwindow (wn BIGINT);
  INITIALIZE : { INSERT INTO state VALUES (n); }
  ITERATE : { UPDATE state SET total = total + n; }
  TERMINATE : { INSERT INTO RETURN SELECT total FROM state; }
  EXPIRE : { UPDATE state SET total = total - oldest(); } };
"""


def traced(numbers: list[int]) -> int:
    h = numbers[0] % 1009
    for n in numbers[1:]:
        h = (h * 31 + n) % 1000003
    return h


BY_NAME: dict[str, Callable[[list[int]], Value]] = {
    "traced": traced,
    "pairs": lambda ns: len(ns) * 1000 + sum(ns),
    "taken_back": lambda ns: sum(ns) * 64 + len(ns) * 7 + ns[-1] * 5 + ns[0],
    "as_it_comes": sum,
    "largest": max,
    "naive": lambda ns: sum(ns) + len(ns),
    "joined": lambda ns: ",".join(map(str, ns)),
    "added": sum,
}
RETURNS_AS_ROWS_COME = ("pairs", "as_it_comes", "largest", "naive", "PyComes")


PANED = ("joined", "ArrayJoined")
"""Those run over answers of panes, where one can see it: a late row of a pane that is folded comes behind the others in it."""


@dataclass(frozen=True)
class UserAggregate(Aggregate):
    """One of them over the rows' numbers.

    Attributes:
        panes: of a paned one the pane's length, how far apart extents end, and an end.
    """

    panes: tuple[int, int, int] | None = None

    def sql(self) -> str:
        argument = "CAST(row_num AS STRING)" if self.function.lower().endswith("joined") else "row_num"
        filtered = f" FILTER (WHERE {self.where.sql()})" if self.where else ""
        return f"{self.function}({argument}){filtered}"

    def over(self, rows: list[Arrived]) -> Value:
        """Its value over rows (in any order)."""
        kept = [r for r in rows if self.where is None or self.where.truth(r.row) is True]
        numbers = [r.number for r in sorted(kept, key=self._place)]
        return BY_NAME[self.function](numbers) if numbers else None

    def _place(self, r: Arrived) -> tuple[int, ...]:
        if self.panes is None:
            return r.ts, r.number
        length, apart, end = self.panes
        pane = (r.ts - end) // length
        told = r.before if r.before_all is None else r.before_all
        behind = told is not None and end + (pane + 1) * length <= end + (told - end) // apart * apart
        return pane, int(behind), 0 if behind else r.ts, r.number


@st.composite
def user_aggregates(draw: st.DrawFn, columns: tuple[tuple[str, str], ...], filtered: bool = True) -> UserAggregate:
    """Any of them, some with FILTER."""
    where = draw(st.none() | strategies.conditions(columns)) if filtered and draw(st.integers(0, 2)) == 0 else None
    return UserAggregate(draw(st.sampled_from(sorted(BY_NAME))), "row_num", where=where)


def register() -> None:
    """The same in Python, under other names."""

    @jupyter_stream.aggregate
    class PyTraced:
        def initialize(self, n):
            self.h = n % 1009

        def iterate(self, n):
            self.h = (self.h * 31 + n) % 1000003

        def terminate(self):
            return self.h

    @jupyter_stream.aggregate
    class PyTakenBack:
        def __init__(self):
            self.rows = []

        def iterate(self, n: int):
            self.rows.append(n)

        def terminate(self) -> int:
            return BY_NAME["taken_back"](self.rows)

        def expire(self, n):
            assert self.rows.pop(0) == n

    @jupyter_stream.aggregate(returns="BIGINT")
    class PyComes:
        def iterate(self, n):
            self.total = getattr(self, "total", 0) + n
            return self.total

        def expire(self, n):
            self.total -= n

    @jupyter_stream.aggregate
    class ArrayAdded:
        def update(self, n):
            return int(n.sum())

        def merge(self, a, b):
            return a + b

        def subtract(self, a, b):
            return a - b

        def finish(self, a):
            return a

    @jupyter_stream.aggregate
    class ArrayJoined:
        def update(self, s):
            return list(s)

        def merge(self, a, b):
            return a + b

        def finish(self, a):
            return ",".join(a)

    @jupyter_stream.aggregate
    class ArrayTraced:
        def update(self, n):
            return traced(n.tolist())

        def finish(self, a):
            return a


IN_PYTHON = {
    "PyTraced": "traced", "PyTakenBack": "taken_back", "PyComes": "as_it_comes", "ArrayAdded": "added",
    "ArrayJoined": "joined", "ArrayTraced": "traced",
}  # fmt: skip
BY_ARRAYS = ("ArrayAdded", "ArrayJoined", "ArrayTraced")
BY_NAME.update({name: BY_NAME[same] for name, same in IN_PYTHON.items()})
