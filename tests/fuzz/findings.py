"""What the fuzzers found, as fixed cases: cells, and lots of records. Each broke the law once."""

from __future__ import annotations

import base64
from typing import Any

import pandas as pd
import polars as pl

CELLS: tuple[str, ...] = (
    "SELECT a FROM p OFFSET 1",
    "SELECT RSTREAM sum(a), count(*) FROM p [RANGE 3 SECONDS TUMBLING] AS p GROUP BY k HAVING count(*) > 1 OFFSET 1",
    "SELECT 2, max(a) OVER (PARTITION BY k) FROM p JOIN r ON p.k = r.k",
    "SELECT ISTREAM *, max(a) OVER (PARTITION BY k ROWS 2 PRECEDING) FROM p JOIN r ON p.k = r.k LIMIT 1 OFFSET 1",
    "SELECT (SELECT a, k FROM t) FROM p",
    "SELECT DISTINCT array(a, 2) FROM p",
    "SELECT DSTREAM count(*) FROM p [RANGE 3 SECONDS TUMBLING] EMIT CHANGES",
    "DESCRIBE FUNCTION x",
    "SELECT DSTREAM 100, count(*) FROM p [NOW] GROUP BY a QUALIFY ROW_NUMBER() OVER (ORDER BY a) < 3",
    "SELECT ISTREAM 100 AS c, a FROM p [RANGE 2 SECONDS SLIDE 2 ROWS] AS p QUALIFY ROW_NUMBER() OVER (ORDER BY a) < 3",
    "SELECT DSTREAM k, max(a) OVER (PARTITION BY k) FROM (SELECT a, k, ts FROM p) [RANGE 2 SECONDS SLIDE 3 ROWS]",
    "AGGREGATE deep(x BIGINT) : BIGINT { TABLE t(n BIGINT); INITIALIZE: { INSERT INTO t VALUES (x); } ITERATE: {"
    f" DELETE FROM t WHERE n < {' + '.join(['x'] * 1_500)}; INSERT INTO t VALUES (x); }}"
    " TERMINATE: { INSERT INTO RETURN SELECT max(n) FROM t; } }; SELECT deep(a) FROM p [RANGE 3 SECONDS TUMBLING]",
    "SELECT '\ud800' FROM p",
    "CREATE STREAM z SOURCE 'file://~nobody-here/x.csv'",
    f"CREATE STREAM z SOURCE 'file://{'inputs/bids.csv' * 100}'",
    f"CREATE STREAM z SOURCE 'file://{'n' * 5_000}.csv'",
    f"CREATE STREAM z (a CHAR(1{'9' * 5_000})) SOURCE 'frame://p_rows'",
    f"SELECT {'n' * 5_000} FROM p",
    f"SELECT {'9' * 5_000} FROM p",
    f"SELECT {'(' * 5_000}a{')' * 5_000} FROM p",
    f"SELECT a FROM {'(' * 10_000}p{')' * 10_000}",
    "SELECT a, k FROM p [RANGE 9 SECONDS] EXCEPT ALL ON (k, K, k) SELECT a, k FROM p [RANGE 9 SECONDS] WHERE a = 3",
    f"SELECT {' + '.join(['a'] * 160)} FROM p",
    f"SELECT a FROM p WHERE {' AND '.join(['a > 1'] * 1_000)}",
    f"SELECT a FROM p WHERE {' AND '.join(['a * 9223372036854775807 > 1'] * 5_000)}",
    f"SELECT count(*) FROM p [NOW] JOIN q [NOW] ON p.a = q.a WHERE {' AND '.join(f'p.a * p.x > {i}' for i in range(2_000))}",
    f"SELECT a FROM p WHERE {' OR '.join(['a = 1'] * 30_000)}",
    f"SELECT {' + '.join(f'a % (x + {i})' for i in range(5_000))} FROM p",
    f"SELECT a IN ({', '.join(f'CAST({i!r} AS INT)' for i in map(str, range(5_000)))}) FROM p",
    "SELECT count(*) FROM p [RANGE 10 SECONDS SLIDE 10 MICROSECONDS]",
    "SELECT a FROM p WHERE a > .101.0.0",
    "SELECT a FROM p WHERE (SELECT 1, count(*) FROM t WHERE t.k = p.k) < 4",
    "SELECT repeat('a', 1000000000) FROM p",
    "SELECT lpad('a', 2000000000, 'b') FROM p",
    f"{' ' * 1_100_000}SELECT a FROM p",
)

_PANICS = (
    "P(e~L6#^M7NCa|kZ*&y`02K@+0vH2SAaf-EOdJ3J02Tll3>h343_(&-Pggo~V`yb<VHltSFE1}IFF8R$K|w)9K|w)5ICd{DFL+Tw"
    "K|w)9K|w`9K|w)FK|ymtLqS1HK|xVLWKb_JFLzNvK|w)6K|w)5LP0@6K~G{YFE1-uK|w)5YC%CkK}TmnK|w-iK|w)5M?pbBK|w`T"
    "MQ1@_K|xVLM?pbaK|yChL_tAOK|)bMK~X_LK|xVLK|w??FE1}INkKtDK|yyxK|w)DK|yyxLP0@EK|yChK|w)EPkKQ&WK>OgPj^8<"
    "K|w)LK|w)5STRCPSTIgPRz+4wR540QQ7}eLO=m$tK|w)5K|w)5D^M>lFL!rAK|w)DK|yChK|w)9K~Q2ZFE2P}K|w)5K|w)BK|yCh"
    "LP110FE1}ILP0@AK|xJHK|w-QNk~mW02oeCZ){<5b08>id30!RZYdykWpZ<AZ*CwmE-@}JAShyWX>4R5H)c67GGb&iW@cnEH)duy"
    "GGs9{GB-G3Fgal|IW=ZxGG;enWn?)rDH$9b000210RR9{K~ga"
)
"""A Parquet file of whose description Polars panics, in Base85."""


def records() -> tuple[tuple[str, Any], ...]:
    """Kinds of records, and what they hold."""
    return (
        ("json", b'{"": -30, "\\ud801": "-"}\n{"a": 1}'),
        ("gz", b"\x1f\x8b\x08\x00"),
        (
            "pandas",
            pd.DataFrame({"a": pd.arrays.SparseArray([0, 0, 1]), "b": pd.period_range("2024", periods=3, freq="Y")}),
        ),
        ("pandas", pd.DataFrame({"a": pd.Series(["\ud800", "b"], dtype=object), "c": [1 + 2j] * 2})),
        ("parquet", base64.b85decode(_PANICS)),
        ("python", [{"a": 1, "\ud801": 2}, {"\ud801": "b", "a": 3}]),
        ("python", [{"l": ""}, {"l": -1}, {"l": [{"n": 1}]}, {"s": ""}, {"s": 0}]),
        ("python", [{"": 1, "a": 2}]),
        ("any.csv", b'mark,a,x,k,ts\n0000-01-01,x,"a,b",nan,2024-01-01'),
        ("python", [{"mark": {}}, {"mark": [{"n": 1}]}]),
        ("python", [{"mark": "x", "s": "\ud800"}, {"l": "[1]"}]),
        ("python", [{"mark": "x", "ts": "\ud800"}, {"ts": "01/05/2024"}]),
        ("polars", pl.DataFrame({"ts": [1, 2**62]}).with_columns(pl.col("ts").cast(pl.Datetime("ms")))),
        ("polars", pl.DataFrame({"ts": [1, 120_373_044]}).with_columns(pl.col("ts").cast(pl.Date))),
        ("polars", pl.DataFrame({"": [1, 2], "a": [2**100, None]}, schema={"": pl.Int64(), "a": pl.Int128()})),
    )
