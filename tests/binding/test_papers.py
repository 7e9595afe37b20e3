"""Queries as the papers print them."""

# ruff: noqa: E501  # tables of queries read best with one query to a line
from __future__ import annotations

from collections.abc import Callable

import pytest

W = "window_start=$window_start, window_end=$window_end"

RUNNING = {
    "Q1-1": (
        "SELECT    srcIP, count(*) [RANGE 10 minutes, SLIDE 1 minute, WA ts]\nFROM      M\nGROUP BY  srcIP",
        f"Project({W}, srcIP, count(*)=$agg0) <- Aggregate(srcIP | count() | [RANGE 10 MINUTES SLIDE 1 MINUTE]) <- M",
    ),
    "Q1-2": (
        "SELECT count (*) [RANGE 1 minute, SLIDE 1 minute, WA ts]  \nFROM Control union Main1 union Main2",
        f"Project({W}, count (*)=$agg0) <- Aggregate( | count() | [RANGE 1 MINUTE TUMBLING]) <- Union(Control; Main1; Main2)",
    ),
    "Q2-1": (
        "SELECT    srcIP, ts, count (*)\nFROM      Main1\nWHERE     srcIP = “202.101.0.0” or srcIP = “202.101.0.1”\nGROUP BY  srcIP, ts",
        "Project(srcIP, ts, count (*)=$agg0) <- Aggregate(srcIP, ts | count() | [RANGE UNBOUNDED]) <- "
        "Filter(((srcIP = '202.101.0.0') OR (srcIP = '202.101.0.1'))) <- Main1",
    ),
    "Q5-1": (
        "Select srcIP, count(*) [RANGE 10 minutes, SLIDE 1 minute, WATTR ts]\nFrom Main\nGroup By srcIP",
        f"Project({W}, srcIP, count(*)=$agg0) <- Aggregate(srcIP | count() | [RANGE 10 MINUTES SLIDE 1 MINUTE]) <- Main",
    ),
    "Q5-2": (
        "SELECT srcIP, max(length)\n      [RANGE 1000 rows, SLIDE 10 rows, WA row-num, PA srcIP]\nFROM   Main",
        f"Project({W}, srcIP, max(length)=$agg0) <- Aggregate(srcIP | max(length) | [PARTITION BY srcIP ROWS 1000 SLIDE 10]) <- Main",
    ),
    "Q5-3": (
        "SELECT srcIP, max(length)\n      [RANGE 1000 rows, SLIDE 10 rows, WA row-num]\nFROM   Main\nGROUP-BY srcIP",
        f"Project({W}, srcIP, max(length)=$agg0) <- Aggregate(srcIP | max(length) | [ROWS 1000 SLIDE 10]) <- Main",
    ),
    "Q5-4": (
        "SELECT srcIP, count(*) [RANGE ALL, SLIDE 1 minute, WA ts]\n\nFROM Main1\nGROUP BY srcIP",
        f"Project({W}, srcIP, count(*)=$agg0) <- Aggregate(srcIP | count() | [RANGE ALL SLIDE 1 MINUTE]) <- Main1",
    ),
    "Q5-5": (
        "SELECT max(length)\n      [RANGE 5 minutes, RATTR ts, SLIDE 1 row, SATTR row-num]\nFROM Main",
        f"Project({W}, max(length)=$agg0) <- Aggregate( | max(length) | [RANGE 5 MINUTES SLIDE 1 ROW]) <- Main",
    ),
    "Q5-6": (
        "SELECT count(*)  \n      [RANGE 5 minutes, RATTR ts, SLIDE 5 rows, SATTR rank(ts)]  \nFROM Main",
        f"Project({W}, count(*)=$agg0) <- Aggregate( | count() | [RANGE 5 MINUTES SLIDE 5 ROWS BY RANK]) <- Main",
    ),
    "Q6-1": (
        "Select srcIP, count(*) [RANGE 10 minutes, SLIDE 1 minute, WA ts]\nFrom Main\nGroup By srcIP",
        f"Project({W}, srcIP, count(*)=$agg0) <- Aggregate(srcIP | count() | [RANGE 10 MINUTES SLIDE 1 MINUTE]) <- Main",
    ),
    "Q6-2": (
        "SELECT max(length) [RANGE 4 minutes, SLIDE 1 minute, WA ts]  \nFROM Main",
        f"Project({W}, max(length)=$agg0) <- Aggregate( | max(length) | [RANGE 4 MINUTES SLIDE 1 MINUTE]) <- Main",
    ),
    "Q6-3": (
        "SELECT count(*) [RANGE 4 minutes, SLIDE 1 minute, WA ts]\nFROM packets\nGROUP BY srcIP",
        f"Project({W}, count(*)=$agg0) <- Aggregate(srcIP | count() | [RANGE 4 MINUTES SLIDE 1 MINUTE]) <- packets",
    ),
    "Q6-5": (
        "SELECT srcIP, count(*)  \n          [RANGE 5 minutes, SLIDE 1 minute, WA ts]  \nFROM M1  \nGROUP BY srcIP",
        f"Project({W}, srcIP, count(*)=$agg0) <- Aggregate(srcIP | count() | [RANGE 5 MINUTES SLIDE 1 MINUTE]) <- M1",
    ),
    "Q6-6": (
        "SELECT srcIP, sum(len)\n      [RANGE 10 seconds, SLIDE 1 second, WA ts]\nFROM packets\nGROUPBY srcIP",
        f"Project({W}, srcIP, sum(len)=$agg0) <- Aggregate(srcIP | sum(len) | [RANGE 10 SECONDS SLIDE 1 SECOND]) <- packets",
    ),
    "Q6-7": (
        "SELECT srcIP, sum(len)\n      [RANGE 1 second, SLIDE 1 second, WA ts]\nFROM Main\nGROUP-BY srcIP",
        f"Project({W}, srcIP, sum(len)=$agg0) <- Aggregate(srcIP | sum(len) | [RANGE 1 SECOND TUMBLING]) <- Main",
    ),
    "Q6-8": (
        "SELECT count(*)\n      [RANGE 10 sec, SLIDE 1 sec, WA ts]\nFROM (Main2 ∪ (Main1 ∪ Control))\nGROUP-BY srcIP",
        f"Project({W}, count(*)=$agg0) <- Aggregate(srcIP | count() | [RANGE 10 SECONDS SLIDE 1 SECOND]) <- Union(Main2; Main1; Control)",
    ),
    "Q8-1": (
        "SELECT      srcIP, destIP, count(*)\n           [RANGE 1 minute, SLIDE 1 minute, WA ts]\nFROM        Main\nGROUP BY   srcIP,\n           destIP",
        f"Project({W}, srcIP, destIP, count(*)=$agg0) <- Aggregate(srcIP, destIP | count() | [RANGE 1 MINUTE TUMBLING]) <- Main",
    ),
    "Q8-2": (
        "SELECT    srcIP, destIP, count(*)\n          [RANGE 1 minute, SLIDE 1 minute, WA ts]\nFROM      M1 UNION M\nGROUP BY  srcIP, destIP",
        f"Project({W}, srcIP, destIP, count(*)=$agg0) <- Aggregate(srcIP, destIP | count() | [RANGE 1 MINUTE TUMBLING]) <- Union(M1; M)",
    ),
    "CQL, first query": (
        "Select Count(*)\nFrom M S [Range 1 Day Preceding]\nWhere S.srcIP = ‘stanford.edu’",
        "Project(Count(*)=$agg0) <- Aggregate( | count() | [RANGE 1 DAY]) <- Filter((srcIP = 'stanford.edu')) <- M",
    ),
    "Q3-1": (
        "SELECT *  \nFROM Main1 [WA ts, RANGE 3 min],  \n      Main2 [WA ts, RANGE 2 min]  \nWHERE Main1.srcIP = Main2.destIP;",
        "Join(inner: srcIP = destIP, -119999999 <= dt <= 179999999) <- (Main1; Main2)",
    ),
    "Q5-7": (
        "SELECT Main1.srcIP, Main2.ts\nFROM Main1, Main2\n    [RANGE TUMBLING 5 minutes, WA ts],\nWHERE Main1.srcIP = Main2.destIP",
        "Project(window_start=timestamp_micros(($ts - pmod($ts, 300000000))), "
        "window_end=timestamp_micros((($ts - pmod($ts, 300000000)) + 300000000)), srcIP, ts=ts_2) <- "
        "Join(inner: ($ts - pmod($ts, 300000000)) = ($ts - pmod($ts, 300000000)) AND srcIP = destIP,"
        " -299999999 <= dt <= 299999999) <- (Main1; Main2)",
    ),
    "CQL, second query": (
        "Select Count(*)\nFrom M S\n[Partition By S.srcIP\nRows 10 Preceding\nWhere S.destIP = ‘stanford.edu’]\nWhere S.srcIP Like ‘http://cs.stanford.edu/%’",
        "Project(Count(*)=$agg0) <- Aggregate( | count() | [PARTITION BY srcIP ROWS 10] where like(srcIP, 'http://cs.stanford.edu/%'))"
        " <- Filter((destIP = 'stanford.edu')) <- M",
    ),
    "CQL, third query": (
        "Select T.srcIP\nFrom\n(Select srcIP\nFrom M\nWhere srcIP = ’commerce’) T Sample(10)\nWhere T.srcIP Between 1 And 1000",
        "Filter(((cast(srcIP AS BIGINT) >= 1) AND (cast(srcIP AS BIGINT) <= 1000))) <- Sample(10%) <- Project(srcIP) <- "
        "Filter((srcIP = 'commerce')) <- M",
    ),
    "ESL, example 5": (
        "SELECT srcIP, len, min(len) OVER (PARTITION BY\nsrcIP RANGE UNBOUNDED PRECEDING)\nAS Price FROM M",
        "Project(srcIP, len, Price=$over0_0) <- Over(min(len) | OVER (PARTITION BY srcIP RANGE UNBOUNDED PRECEDING)) <- M",
    ),
    "ESL, example 14": (
        "SELECT srcIP, sum(M.len)\nOVER(PARTITION BY srcIP\nROWS 49 PRECEDING SLIDE 10)\nFROM M",
        "Project(srcIP, sum(M.len)=$over0_0) <- Over(sum(len) | OVER (PARTITION BY srcIP ROWS 49 PRECEDING SLIDE 10)) <- M",
    ),
    "ESL, example 18": (
        "SELECT srcIP, max(len) OVER\n(RANGE 5 SECONDS PRECEDING ACTIVE EXPIRATION)\nFROM M",
        "Project(srcIP, max(len)=$over0_0) <- Over(max(len) | OVER (RANGE 5 SECONDS PRECEDING ACTIVE EXPIRATION)) <- M",
    ),
    "ESL, example 2": (
        "SELECT item, bid_time\n    FROM bids WHERE item > 1000",
        "Project(item, bid_time) <- Filter((item > 1000)) <- bids",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RUNNING)
def test_a_printed_query_has_this_plan(plan: Callable[..., str], name: str) -> None:
    text, expected = RUNNING[name]
    assert plan(text) == expected
