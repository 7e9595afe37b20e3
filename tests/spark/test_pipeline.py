"""Projects of Spark's declarative pipelines: what is in one, what can't be, and that its flows give the kernel's answers."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from pyspark.pipelines.flow import AutoCdcFlow, Flow
from pyspark.pipelines.graph_element_registry import GraphElementRegistry, graph_element_registration_context
from pyspark.pipelines.output import Output

from jupyter_stream.jobs.command import main
from jupyter_stream.session.query import Query
from jupyter_stream.session.session import Session
from tests.tiers import slow
from tests.waiting import PATIENCE

DECLARED = "CREATE STREAM s (ts TIMESTAMP, k STRING, v BIGINT) ORDER BY ts SOURCE 'file://{at}/rows/*.parquet';\n"
OWN = """CREATE SINK pairs (at TIMESTAMP, a BIGINT, b DOUBLE) TO 'file://{at}/pairs/';
SELECT k, count(*) AS n, sum(v) AS v FROM s [RANGE 10 SECONDS TUMBLING] GROUP BY k HAVING count(*) > :least;
INSERT INTO 'file://{at}/out/' SELECT ts, k, v * 2 AS w FROM s WHERE v % 7 = 0;
INSERT INTO pairs SELECT l.ts, l.v AS lv, r.v AS rv FROM s [RANGE 1 SECOND] l JOIN s [RANGE 1 SECOND] r
  ON l.k = r.k AND l.v = r.v + 3;
"""


class Defined(GraphElementRegistry):
    """What a project defines, as `spark-pipelines run` would register it."""

    def __init__(self) -> None:
        self.outputs: list[Output] = []
        self.flows: list[Flow] = []

    def register_output(self, output: Output) -> None:
        self.outputs.append(output)

    def register_flow(self, flow: Flow) -> None:
        self.flows.append(flow)

    def register_auto_cdc_flow(self, flow: AutoCdcFlow) -> None:
        raise AssertionError("none is written")

    def register_sql(self, sql_text: str, file_path: Path) -> None:
        raise AssertionError("none is written")


@pytest.fixture
def at(tmp_path: Path) -> Iterator[Path]:
    """A folder with rows of 50 seconds."""
    v = pl.Series("v", range(1_000))
    ts = (1_735_689_600_000_000 + v * 50_000).cast(pl.Datetime("us"))
    (tmp_path / "rows").mkdir()
    pl.DataFrame({"ts": ts, "k": (v % 3).cast(pl.String), "v": v}).write_parquet(tmp_path / "rows/0.parquet")
    yield tmp_path


def text_in(at: Path, text: str) -> str:
    (at / "job.sql").write_text((DECLARED + text).format(at=at))
    return str(at / "job.sql")


@slow
def test_its_flows_give_the_answers_of_the_kernel(at: Path, spark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    file, project = text_in(at, OWN), at / "project"
    assert main(["pack", "--pipeline", str(project), file, "--set", "least=2"]) == 0
    said = capsys.readouterr().out
    assert f"q1: a streaming table\nq2: into file://{at}/out/\npairs: into file://{at}/pairs/\n" in said
    assert "the last ones are missing where the input ends" in said and "spark-pipelines run" in said
    assert "include: transformations/queries.py" in (project / "spark-pipeline.yml").read_text()
    defined = Defined()
    with graph_element_registration_context(defined):
        runpy.run_path(str(project / "transformations/queries.py"))
    assert [(type(o).__name__, o.name) for o in defined.outputs] == [
        ("StreamingTable", "q1"),
        ("Sink", "q2"),
        ("Sink", "pairs"),
    ]
    assert getattr(defined.outputs[2], "options", None) == {"path": f"{at}/pairs"}
    with Session({"least": 2}) as session:
        queries = [q for q in session.run(Path(file).read_text()) if isinstance(q, Query)]
        for query in queries:
            assert query.wait(PATIENCE), "it doesn't end"
        expected = [queries[0].to_polars(), *(pl.read_parquet(at / into / "*.parquet") for into in ("out", "pairs"))]
    expected[0] = expected[0].filter(pl.col("window_end") < pl.col("window_end").max())  # the last ones stay open
    assert [frame.height for frame in expected] == [12, 143, 997]
    for number, (flow, frame) in enumerate(zip(defined.flows, expected, strict=True)):
        answers = flow.func()
        writer = answers.writeStream.format("memory").queryName(f"flow{number}").trigger(availableNow=True)
        assert writer.start().awaitTermination(PATIENCE), "it doesn't end"
        found = pl.DataFrame(pl.from_arrow(answers.sparkSession.table(f"flow{number}").toArrow()))
        found = found.with_columns(pl.selectors.datetime().dt.replace_time_zone(None))
        assert_frame_equal(found, frame, check_row_order=False)


def test_what_is_not_sparks_own_is_named_part_by_part_and_nothing_is_written(
    at: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = """SELECT k, count(*) AS n FROM s [RANGE 1 SECOND TUMBLING] GROUP BY k;
    SELECT k, count(*) AS n FROM s [ROWS 100 SLIDE 10] GROUP BY k;
    INSERT INTO 'sqlite://answers.db?table=t' SELECT k, v FROM s WHERE v > 3;
    INSERT INTO 'file://{at}/out/' WITH (partition_by = 'k') SELECT k, first(v) AS v FROM s [RANGE 1 SECOND TUMBLING] GROUP BY k;
    """
    assert main(["pack", "--pipeline", str(at / "project"), text_in(at, text)]) == 2
    said = capsys.readouterr().err
    assert "q1:" not in said and "q2:\n  window [ROWS 100 SLIDE 10]: ours in Spark" in said
    assert "q3:\n  sink sqlite://: a pipeline writes its own tables, and files." in said
    assert "q4:\n  first, last and lists go by the order of arrival" in said
    assert "the option partition_by" in said and not (at / "project").exists()


@pytest.mark.parametrize(
    ("text", "words", "said"),
    [
        ("", [], "starts no query"),
        ("CREATE TABLE t (k STRING); INSERT INTO t VALUES ('a'); SELECT k FROM s;", [], "rows of a table"),
        ("SELECT m FROM s;", [], "job.sql: line 2, column 8"),
        ("SELECT k FROM s;", ["--set", "x"], "--set takes NAME=VALUE"),
    ],
)
def test_mistakes_are_told_in_a_sentence(
    text: str, words: list[str], said: str, at: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pack", "--pipeline", str(at / "project"), text_in(at, text), *words]) == 2
    assert said in capsys.readouterr().err
    (at / "other").mkdir()
    (at / "other" / "mine.txt").write_text("mine")
    assert main(["pack", "--pipeline", str(at / "other"), text_in(at, "SELECT k FROM s;")]) == 2
    assert "holds other files" in capsys.readouterr().err
