"""A micro-batch that fails is not done: what Spark's state server did not answer is asked again of another, and answered once."""

from __future__ import annotations

import datetime as dt
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import jupyter_stream
from jupyter_stream.errors import QueryError
from jupyter_stream.session.session import Session
from jupyter_stream.spark import job
from jupyter_stream.spark.settings import Settings
from tests.tiers import slow

START = dt.datetime(2024, 5, 1, 12)
DECLARED = "CREATE STREAM s (n INT, ts TIMESTAMP) ORDER BY ts SOURCE 'frame://rows';"
ROWS = pl.DataFrame(
    {"n": [1] * 30, "ts": [START + dt.timedelta(seconds=s) for s in range(30)]}, schema_overrides={"n": pl.Int32}
)


def spoilt(lives: Path, spoil: Callable[[], None]) -> type:
    """A sum that spoils something first, as long as there are lives left in a file; each time takes one.

    A class of a function's own, so that Spark's processes get it by value, as they get a notebook's.
    """

    class Spoilt:
        def initialize(self, n: int) -> None:
            self.n = n
            left = int(lives.read_text())
            if left:
                lives.write_text(str(left - 1))
                spoil()

        def iterate(self, n: int) -> None:
            self.n += n

        def terminate(self) -> int:
            return self.n

    return Spoilt


def saying(words: bytes) -> Callable[[], None]:
    """Says that to the state server of the task this runs in."""

    def say() -> None:
        from pyspark.sql.streaming.stateful_processor_api_client import StatefulProcessorApiClient

        frame = sys._getframe()
        while (caller := frame.f_back) is not None:
            frame = caller
            for found in frame.f_locals.values():
                if isinstance(found, StatefulProcessorApiClient):
                    found.sockfile.write(words)
                    found.sockfile.flush()
                    return
        raise AssertionError("no task with a state server")

    return say


ENDING = bytes([0, 0, 0, 1])
"""A version there isn't: the server ends with an assertion."""
WAITING = bytes([0, 0, 0, 0, 0, 1, 0, 0])
"""The beginning of a long request: the server waits for the rest."""


@slow
@pytest.mark.parametrize(
    ("words", "lives"), [(ENDING, 1), (WAITING, 1), (ENDING, 9)], ids=["ends", "waits", "always ends"]
)
def test_query_whose_state_server_gives_no_answer_goes_on_from_its_checkpoint_or_says_so(
    words: bytes, lives: int, sessions: Callable[..., Session], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lives").write_text(str(lives))
    if words == WAITING:
        # short until it was spoilt: a server that is only slow then costs a try, and there are enough of them
        left = property(lambda _: 60.0 if (tmp_path / "lives").read_text() == "0" else 12.0)
        monkeypatch.setattr(Settings, "patience", left)
        monkeypatch.setattr(job, "_STALLS", 100)
    name = f"spoilt{lives}{len(words)}"
    jupyter_stream.aggregate(name=name, arguments=("INT",), returns="BIGINT")(spoilt(tmp_path / "lives", saying(words)))
    text = f"{DECLARED} SELECT {name}(n) AS n FROM s [ROWS 10 SLIDE 10]"
    query: Any = sessions(rows=ROWS).run(text, engine="spark")[-1]
    if lives == 1:
        assert query.wait(200)
        assert query.to_polars()["n"].to_list() == [10, 10, 10]
        assert (tmp_path / "lives").read_text() == "0"
    else:
        with pytest.raises(QueryError, match=r"state server gave no answer.*it has ended, 3 times over") as failed:
            query.wait(200)
        assert "\n" not in str(failed.value)


@slow
def test_rows_of_a_query_that_failed_come_again_once_what_was_wrong_is_mended(
    sessions: Callable[..., Session], tmp_path: Path
) -> None:
    (tmp_path / "lives").write_text("1")
    jupyter_stream.aggregate(name="mended", arguments=("INT",), returns="BIGINT")(
        spoilt(tmp_path / "lives", lambda: os._exit(1))
    )
    session = sessions(rows=ROWS)
    session.run(DECLARED)
    text = "SELECT mended(n) AS n FROM s [RANGE 10 SECONDS TUMBLING] GROUP BY n"
    options: dict[str, Any] = {"engine": "spark", "checkpoint": tmp_path / "checkpoint"}
    query: Any = session.run(text, **options)[-1]
    with pytest.raises(QueryError, match="crashed"):
        query.wait(200)
    again: Any = session.run(text, **options)[-1]
    assert again.wait(200)
    assert again.to_polars()["n"].to_list() == [10, 10, 10]
