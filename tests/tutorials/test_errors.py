"""The error index: it has every mistake the program tells, as it tells it."""

import importlib.util
import re
from pathlib import Path

import polars as pl
import pytest

import jupyter_stream
from jupyter_stream import errors
from tests.garbage import uncollected

REFERENCE = Path(__file__).parents[2] / "tutorials" / "reference"
PAGE = (REFERENCE / "errors.md").read_text(encoding="utf-8")


def index():
    spec = importlib.util.spec_from_file_location("errors_page", REFERENCE / "errors.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@uncollected()
def test_the_page_is_what_the_program_tells():
    assert index().page() == PAGE, "run: python tutorials/reference/errors.py"


def test_every_class_of_errors_is_explained():
    family = {c.__name__ for c in vars(errors).values() if isinstance(c, type) and issubclass(c, errors.StreamError)}
    assert set(index().CLASSES) == family - {"StreamError"}


@pytest.mark.parametrize(
    "text",
    [
        "SELECT pric FROM trades",
        "SELECT price FROM trade",
        "SELECT price FROM trades [RANGE",
        "SELECT nothing(price) FROM trades",
        "CREATE STREAM s SOURCE 'frame://nothing'",
        "CREATE STREAM s SOURCE 'ftp://x'",
        "SELECT price FROM trades [RANGE 1 MINUTE SLIDE 1 MINUTE] ORDER",
        "SELECT sum(price) WITHIN GROUP (ORDER BY price) FROM trades",
    ],
)
def test_what_a_mistake_says_is_in_the_index(text):
    rows = pl.DataFrame({"price": [1.0], "ts": pl.Series([0]).cast(pl.Datetime("us"))})
    known = [re.sub(r"\\(.)", r"\1", line.split(" | ")[0][2:]) for line in PAGE.splitlines() if line.startswith("| ")]
    patterns = [".+".join(re.escape(part) for part in entry.split("…")) for entry in known]
    with jupyter_stream.Session({"rows": rows}) as session:
        session.execute("CREATE STREAM trades (price DOUBLE, ts TIMESTAMP) ORDER BY ts SOURCE 'frame://rows'")
        with pytest.raises(errors.QueryError) as caught:
            session.execute(text)
    message = " ".join(caught.value.message.split())
    assert any(re.fullmatch(pattern, message) for pattern in patterns), message
