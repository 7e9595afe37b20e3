"""Chains of 5,000 terms of every binary operator and kind: `python -m tests.fuzz.chains [--like PATTERN] [--terms 5000]`.

For each it prints the seconds of processor time from the cell to its answers, and how many of them were planning; those over 5
are marked, and make it exit with 1. Beside them stands the time of ten million additions in Python, which tells how busy the
machine was: 0.4 s where nothing else runs.
"""

from __future__ import annotations

import argparse
import datetime as dt
import re
import sys
import time
from collections.abc import Iterator

import polars as pl

from jupyter_stream import Query, Session
from jupyter_stream.errors import QueryError
from tests.fuzz.law import MOST_SECONDS

ROWS = pl.DataFrame(
    {
        "a": [1, 2, None, 4],
        "b": [3, 7, 1, 2],
        "x": [1.5, 0.5, None, 2.0],
        "k": ["x", "y", "x", None],
        "n": ["1", "2", "3", None],
        "ts": [dt.datetime(2024, 1, 1)] * 4,
    }
)
DECLARED = (
    "CREATE OR REPLACE STREAM p (a BIGINT, b BIGINT, x DOUBLE, k STRING, n STRING, ts TIMESTAMP) SOURCE 'frame://rows'"
)
TERMS: dict[str, tuple[str, str]] = {
    **{f"a {op} b": (" + ", f"a {op} (b + {{}})") for op in "+-*/%&|^"},
    **{f"1 {op} a": (" - ", f"{{}} {op} a") for op in "+-*/%"},
    **{f"x {op} 1": (" * ", f"x {op} {{}}") for op in "+-*/%"},
    **{
        f"b {op} a": (" OR ", f"b {op} a + {{}}") for op in ("=", "<>", "<", "<=", ">", ">=", "<=>", "IS DISTINCT FROM")
    },
    **{f"1 of {op}": (f" {op} ", "a / {}") for op in ("AND a <", "OR a =", "AND a + 1 >")},
    "div": (" + ", "b DIV (a + {})"),
    "text": (" || ", "CAST(a + {} AS STRING)"),
    "like": (" OR ", "k LIKE '%{}'"),
    "null": (" AND ", "(a + {}) IS NOT NULL"),
    "between": (" OR ", "a BETWEEN {} AND {} + 1"),
    "in": (" OR ", "a IN ({}, b)"),
    "case": (" + ", "CASE WHEN a = {} THEN 1 ELSE b / a END"),
    "cast of text": (" + ", "CAST(concat(n, '{}') AS BIGINT)"),
    "cast of number": (" + ", "CAST(a + {} AS INT)"),
    "cast of double": (" + ", "CAST(x + {} AS INT)"),
    "cast of constant": (" + ", "CAST('{}' AS INT)"),
    "cast to decimal": (" + ", "CAST(a + {} AS DECIMAL(10, 2))"),
    "times": (" OR ", "ts + INTERVAL {} SECONDS > ts"),
    "call": (" + ", "round(sqrt(x + {}), 1)"),
}
"""By name: what stands between terms, and a term with its number."""
LISTS: dict[str, tuple[str, str, str]] = {
    "IN of casts": ("a IN (", "CAST('{}' AS INT)", ")"),
    "IN of sums": ("a IN (", "b + {}", ")"),
    "IN of quotients": ("a IN (", "b / (a + {})", ")"),
    "coalesce": ("coalesce(", "a / (b + {})", ")"),
    "greatest": ("greatest(", "CAST(n AS INT) + {}", ")"),
    "array": ("array(", "a + {}", ")"),
    "items": ("1, ", "b / (a + {}) AS c{}", ""),
    "items of casts": ("1, ", "CAST(n AS INT) + {} AS c{}", ""),
    "sums": ("1, ", "sum(a + {}) AS c{}", ""),
}
DEEP = {
    **{f"nested {op}": ("(x {op} ".replace("{op}", op) * 490, "1", ")" * 490) for op in "+-*/%"},
    **{f"nested {name}": (f"{name}(" * 990, "a", ")" * 990) for name in ("abs", "sqrt", "floor", "-")},
    "nested casts": ("CAST(CAST(" * 490, "a", " AS STRING) AS INT)" * 490),
    "nested CASE": ("CASE WHEN b / a > 1 THEN a / b ELSE " * 490, "0", " END" * 490),
}


def cells(terms: int) -> Iterator[tuple[str, str]]:
    """Names and cells."""
    numbers = range(1, terms + 1)
    for op in ("+", "-", "*", "/", "%", "||"):
        yield f"{op} alone", f"SELECT {f' {op} '.join(['k' if op == '||' else 'a'] * terms)} AS y FROM p"
    for name, (between, term) in TERMS.items():
        yield name, f"SELECT {between.join(term.replace('{}', str(i)) for i in numbers)} AS y FROM p"
    for name, (before, term, behind) in LISTS.items():
        window = " [ROWS 2 SLIDE 2]" if name == "sums" else ""
        yield name, f"SELECT {before}{', '.join(term.replace('{}', str(i)) for i in numbers)}{behind} FROM p{window}"
    whens = " ".join(f"WHEN a / {i} > 1 THEN CAST(a + {i} AS STRING)" for i in numbers)
    yield "CASE of WHENs", f"SELECT CASE {whens} END AS y FROM p"
    for name, (before, inner, behind) in DEEP.items():
        yield name, f"SELECT {before}{inner}{behind} AS y FROM p"


def main() -> int:
    """Try them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--like", default="")
    parser.add_argument("--terms", type=int, default=5_000)
    said = parser.parse_args()
    slow = 0
    with Session({"rows": ROWS}) as session:
        for name, text in cells(said.terms):
            if not re.search(said.like, name):
                continue
            session.reset()
            session.execute(DECLARED)
            began = time.process_time()
            planned = began
            try:
                query = session.execute(text)[-1]
                planned = time.process_time()
                assert isinstance(query, Query)
                query.wait(300)
                told = f"{query.status}, {query.to_polars().height} rows, {query.errors.height} errors"
            except QueryError as error:
                told = f"refused: {str(error).splitlines()[0][:100]}"
            took = time.process_time() - began
            slow += took > MOST_SECONDS
            busy = time.process_time()
            sum(i for i in range(10_000_000))
            print(f"{'**' if took > MOST_SECONDS else '  '}{took:6.2f} s, planning {planned - began:5.2f}; machine "
                  f"{time.process_time() - busy:.2f}  {name}: {told}", flush=True)  # fmt: skip
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
