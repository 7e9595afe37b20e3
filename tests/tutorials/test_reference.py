"""The language reference: its lists are what the program has, its examples run in order in one session."""

import datetime as dt
import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest

import jupyter_stream

REFERENCE = Path(__file__).parents[2] / "tutorials" / "reference"
PAGE = (REFERENCE / "language.md").read_text()
EXAMPLES = re.findall(r"^```sql\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
START = dt.datetime(2024, 1, 1, 12)

# what the pages speak of and leave to the reader's own data
GIVEN = """
CREATE STREAM departures (carrier STRING, flight INT, tailnum STRING, delay INT, at TIMESTAMP) ORDER BY at SOURCE 'frame://flights';
CREATE STREAM arrivals (carrier STRING, flight INT, tailnum STRING, at TIMESTAMP) ORDER BY at SOURCE 'frame://flights';
CREATE TABLE planes (tailnum STRING, year INT);
INSERT INTO planes VALUES ('N1', 1965), ('N2', 2004);
CREATE TABLE prices (day DATE, price DOUBLE);
INSERT INTO prices VALUES (DATE '2026-01-01', 1.5), (DATE '2026-01-02', 2.5);
CREATE STREAM packets SOURCE 'generate://packets?rows=50';
CREATE STREAM trades (symbol STRING, price DOUBLE, volume BIGINT, at TIMESTAMP) ORDER BY at
    SOURCE 'frame://traded' WITH (rate = 'event time');
CREATE STREAM m1 SOURCE 'generate://packets?rows=50&seed=1';
CREATE STREAM m2 SOURCE 'generate://packets?rows=50&seed=2';
"""


def lists() -> ModuleType:
    spec = importlib.util.spec_from_file_location("lists", REFERENCE / "lists.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def session(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # examples write files
    times = [START + dt.timedelta(minutes=m) for m in (0, 3, 1, 9, 30)]
    bids = pd.DataFrame(
        {"item": [1, 1, 2, 1, 2], "price": [10.0, 120.0, 5.0, 130.0, 7.0], "bidder": list("abacb"), "at": times}
    )
    readings = pd.DataFrame({"sensor": list("xyxyx"), "value": [1.0, 2.0, 3.0, 4.0, 5.0], "at": times})
    flights = pd.DataFrame({"carrier": list("aabba"), "flight": range(5), "tailnum": ["N1", "N2"] * 2 + ["N1"]})
    namespace = {"bids": bids, "readings": readings, "threshold": 6, "names": ["a", "b"]}
    namespace["placed"] = pd.DataFrame({"orderID": range(5), "placed": sorted(times)})
    namespace["fulfilled"] = pd.DataFrame({"orderID": range(5), "item": list("vwxyz"), "at": sorted(times)})
    namespace["sold_here"] = pd.DataFrame({"ItemNo": [1, 1, 2, 3, 1], "price": [1.0] * 5, "at": sorted(times)})
    namespace["sold_there"] = pd.DataFrame({"ItemNo": [1, 2, 2, 1, 3], "price": [1.0] * 5, "at": sorted(times)})
    namespace["flights"] = flights.assign(at=sorted(times), delay=range(5))
    near = [START + dt.timedelta(milliseconds=m) for m in range(40)]
    namespace["traded"] = pd.DataFrame({"symbol": ["a", "b"] * 20, "price": 120.0, "volume": 5, "at": near})
    namespace["warn"] = lambda rows: None
    session = jupyter_stream.Session(namespace=namespace)
    session.execute(GIVEN)
    session.execute(
        "SELECT protocol, count(*) AS n FROM packets [RANGE 1 SECOND TUMBLING] GROUP BY protocol", name="busy"
    )
    yield session
    session.close()


def test_lists_are_what_the_program_has():
    assert lists().written(PAGE) == PAGE, "run: python tutorials/reference/lists.py"


def test_there_are_examples():
    assert len(EXAMPLES) >= 10


def test_examples_run(session):
    """All in one test: each stands on what those before it created, and tests may be spread over processes."""
    for example in EXAMPLES:
        try:
            _runs(session, example)
        except Exception as error:
            error.add_note(f"in the example\n{example}")
            raise


def _runs(session, example: str) -> None:
    for answer in session.execute(example):
        if isinstance(answer, jupyter_stream.Query) and "system://" in example:  # live: it never ends by itself
            answer.stop()
            assert answer.wait(200)
            assert answer.status == "stopped" and answer.to_polars().width
        elif isinstance(answer, jupyter_stream.Query):
            assert answer.wait(200)
            assert answer.status == ("running" if "RETROACTIVE" in example else "finished")  # which follows its table
            assert answer.to_polars().width
        else:
            assert str(answer)
