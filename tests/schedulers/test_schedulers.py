"""Policies: what each promises; and that no answer depends on which."""

from dataclasses import dataclass

import polars as pl
import pytest

from jupyter_stream.schedulers import SCHEDULERS, LeastProgress, RoundRobin, Scheduler, find
from jupyter_stream.session import Session


@dataclass(eq=False)
class Line:
    low_watermark: int = 0


def test_round_robin_serves_everyone_before_anyone_twice() -> None:
    lines = [Line() for _ in range(5)]
    policy = RoundRobin()
    served = [policy.choose(lines) for _ in range(10)]
    assert {id(x) for x in served[:5]} == {id(x) for x in served[5:]} == {id(x) for x in lines}


def test_least_progress_serves_the_input_furthest_behind() -> None:
    lines = [Line(3), Line(1), Line(2)]
    assert LeastProgress().choose(lines) is lines[1]


def test_policies_are_found_by_name() -> None:
    assert [find(s.name) for s in SCHEDULERS] == list(SCHEDULERS)
    assert find("none such") is None


@pytest.mark.parametrize("policy", SCHEDULERS)
def test_a_union_answers_the_same_under_any_policy(policy: type[Scheduler]) -> None:
    frames = {
        f"f{i}": pl.DataFrame({"ts": range(i * 7, 3000, 3), "k": [j % 3 for j in range(i * 7, 3000, 3)]}).cast(pl.Int64)
        for i in range(3)
    }
    session = Session(dict(frames), scheduler=policy())
    for name in frames:
        session.execute(f"CREATE STREAM {name} (ts BIGINT, k BIGINT) ORDER BY ts SOURCE 'frame://{name}'")
    (query,) = session.execute(
        "SELECT k, count(*) AS n FROM f0 UNION f1 UNION f2 [RANGE 1 MILLISECOND TUMBLING] GROUP BY k"
    )
    assert query.wait(200)
    everything = pl.concat(frames.values()).with_columns((pl.col("ts") // 1000 * 1000).alias("window_start"))
    wanted = everything.group_by("window_start", "k").agg(pl.len().cast(pl.Int64).alias("n")).sort("window_start", "k")
    got = query.to_polars().select("window_start", "k", "n").sort("window_start", "k")
    session.close()
    assert got.equals(wanted)
