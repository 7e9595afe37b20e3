from __future__ import annotations

import polars as pl
import pytest

from jupyter_stream.errors import SourceError
from jupyter_stream.sources import SOURCES, open_source
from jupyter_stream.sources.options import GENERAL

FRAME = {"f": pl.DataFrame({"x": [1]})}


@pytest.mark.parametrize(
    ("uri", "told"),
    [
        ("kavka://host/topic", "There is no source 'kavka://'."),
        ("amqp://host/topic", "'file://bids.jsonl'"),
        ("fram://f", "Did you mean 'frame'?"),
        ("bids.jsonl", "it has no '://'"),
    ],
)
def test_an_unknown_scheme_names_those_there_are(uri, told):
    with pytest.raises(SourceError) as error:
        open_source(uri, None, {}, FRAME)
    assert told in str(error.value)


def test_an_unknown_option_is_refused_with_the_nearest_one(tmp_path):
    (tmp_path / "x.csv").write_text("a\n1\n")
    with pytest.raises(SourceError, match="file:// has no option 'delimeter'") as error:
        open_source(f"file://{tmp_path}/x.csv", None, {"delimeter": ";"}, {})
    assert "Did you mean 'delimiter'?" in str(error.value)
    with pytest.raises(SourceError) as error:
        open_source("frame://f", None, {"zzzz": "1"}, FRAME)
    assert "Options here: ahead, idle_timeout, progress, punctuation" in str(error.value)


def test_general_options_are_taken_by_every_source():
    options = dict.fromkeys(GENERAL, "1 second") | {"rate": "max", "SEED": "7"}
    assert open_source("frame://f", None, options, FRAME).schema.names == ("x",)
    for connector in SOURCES:
        assert connector.example.startswith(connector.scheme + "://")
        assert all(name == name.lower() and text for name, text in connector.options.items())


def test_schemes_and_option_names_are_read_whatever_their_case(tmp_path):
    (tmp_path / "x.txt").write_text("a;b\n1;2\n")
    source = open_source(f"FILE://{tmp_path}/x.txt", None, {"Format": "CSV", "DELIMITER": ";"}, {})
    assert source.schema.names == ("a", "b")
