"""Passwords in what a user wrote stand in nothing that is shown or kept."""

import logging
import socket
import stat

import pytest

from jupyter_stream import secrets
from jupyter_stream.core import logs
from jupyter_stream.errors import SourceError
from tests.sources.senders import Senders
from tests.waiting import until

WORD = "hunter2-very-secret"


@pytest.fixture(autouse=True)
def forgotten():
    secrets._known.clear()
    yield
    secrets._known.clear()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"kafka://me:{WORD}@host:9092/t", f"kafka://me:{'*' * 19}@host:9092/t"),
        ("kafka://host:9092/trades", "kafka://host:9092/trades"),
        ("postgresql://:p/w@h/d", "postgresql://:p/w@h/d"),
        ("https://h/x?token=abc&n=3", "https://h/x?token=***&n=3"),
        ("WITH (password = 'it', rate = 'max')", "WITH (password = '**', rate = 'max')"),
        ("{'sasl.password': 'it', 'sasl.username': 'me'}", "{'sasl.password': '**', 'sasl.username': 'me'}"),
        ("SELECT token, secret FROM s WHERE word = 'x'", "SELECT token, secret FROM s WHERE word = 'x'"),
    ],
)
def test_a_secret_is_known_by_its_place(text, shown):
    assert secrets.hidden(text) == shown and len(shown) == len(text)


def test_what_was_read_as_a_secret_is_hidden_wherever_it_stands():
    secrets.remember(WORD)
    assert WORD not in str(SourceError(f"the broker said: no user with {WORD}", hint=f"not {WORD}?"))


CELLS = [
    f"%%stream\nCREATE STREAM s SOURCE 'kafka://me:{WORD}@127.0.0.1:9/t' WITH (nonsense = 'x')",
    f"%%stream\nCREATE STREAM s SOURCE 'file:///no/such?token={WORD}'",
    f"%%stream\nCREATE STREAM s SOURCE 'frame://nothing' WITH (password = '{WORD}')",
    f"%%stream\nCREATE STREAM s SOURCE 'mqtt://me:{WORD}@host/t'",
    f"%%stream\nSELECT * FROM 'ws://me:{WORD}@host/t' [NOW]",
]


@pytest.mark.parametrize("cell", CELLS)
def test_an_error_shows_the_place_but_not_the_password(notebook, cell):
    out = notebook.run(cell)
    assert notebook.failed or "***" in out
    assert WORD not in out and WORD not in notebook.html(cell)


def test_lists_descriptions_views_and_plans_of_a_stream_have_no_password(notebook, tmp_path, caplog):
    file = tmp_path / f"trades.csv?token={WORD}"
    file.write_text("a,b\n1,2\n")
    with caplog.at_level(logging.DEBUG, "jupyter_stream"):
        notebook.run(f"%%stream\nCREATE STREAM t SOURCE 'file://{file}' WITH (format = 'csv')")
        shown = notebook.run("%%stream q\nSELECT a + b AS n FROM t")
        notebook.names["q"].wait(200)
        for cell in ("SHOW STREAMS", "DESCRIBE t", "EXPLAIN q"):
            shown += notebook.run(f"%%stream\n{cell}") + notebook.html(f"%%stream\n{cell}")
        for line in ("list", "status q", "show q", "explain q", "sources"):
            shown += notebook.run(f"%stream {line}") + notebook.html(f"%stream {line}")
        shown += repr(notebook.names["q"]) + str(notebook.names["q"].snapshot())
        assert logs.flush()
    assert "token=" in shown and WORD not in shown + caplog.text


@pytest.fixture
def where():
    """An address where nobody answers, nor will while the test has it."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{held.getsockname()[1]}"


@pytest.mark.parametrize("scheme", sorted(Senders.schemes - {"socket"}))
def test_streams_of_brokers_show_no_password(notebook, scheme, where, caplog):
    uri = f"{scheme}://me:{WORD}@{where}/t"
    with caplog.at_level(logging.DEBUG, "jupyter_stream"):
        shown = notebook.run(f"%%stream\nCREATE STREAM t SOURCE '{uri}'")  # no columns, and nobody there to tell them
        assert where in shown
        shown += notebook.run(f"%%stream\nCREATE STREAM t (n BIGINT) SOURCE '{uri}'")
        shown += notebook.run("%%stream q\nSELECT n + 1 AS m FROM t")
        until(lambda: where in (notebook.names["q"].snapshot().hint or ""))
        for cell in ("SHOW STREAMS", "DESCRIBE t", "EXPLAIN q"):
            shown += notebook.run(f"%%stream\n{cell}") + notebook.html(f"%%stream\n{cell}")
        for line in ("list", "status q", "show q", "explain q", "sources"):
            shown += notebook.run(f"%stream {line}") + notebook.html(f"%stream {line}")
        shown += repr(notebook.names["q"]) + str(notebook.names["q"].snapshot())
        notebook.names["q"].stop()
        assert logs.flush()
    assert WORD not in shown + caplog.text


def test_a_recording_is_for_its_owner_alone(notebook, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    notebook.run("import pandas as pd\ndf = pd.DataFrame({'a': [1, 2]})")
    notebook.run("%%stream\nCREATE STREAM d SOURCE 'frame://df'")
    notebook.run("%stream record d")
    notebook.names["d_recording"].wait(200)
    assert stat.S_IMODE((tmp_path / "d.parquet").stat().st_mode) == 0o600
