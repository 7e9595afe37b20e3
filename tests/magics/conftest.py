import atexit
import datetime as dt
import gc

import polars as pl
import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config


class Notebook:
    """A real IPython shell with the extension loaded; `run` gives what a cell showed and whether it failed."""

    def __init__(self):
        # without a history: its file would be one for all kernels and shells of a run
        self.shell = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
        self.shell.run_line_magic("load_ext", "jupyter_stream")
        self.names = self.shell.user_ns
        gc.freeze()  # a shell that ends looks for garbage: not among all that was imported and collected before

    def run(self, cell):
        """Run a cell; returns its text output."""
        with capture_output() as shown:
            self.result = self.shell.run_cell(cell)
        out = shown.stdout + shown.stderr
        return out + "\n".join(str(o.data.get("text/plain", "")) for o in shown.outputs)

    def html(self, cell):
        """Run a cell; returns the HTML it showed."""
        with capture_output() as shown:
            self.shell.run_cell(cell)
        return "".join(o.data.get("text/html", "") for o in shown.outputs)

    @property
    def failed(self):
        """Whether the last cell failed, so that Run All would have stopped."""
        return not self.result.success

    def complete(self, text):
        """What is offered at the `|` in the text."""
        at = text.index("|")
        with provisionalcompleter():
            return [c.text for c in self.shell.Completer.completions(text[:at] + text[at + 1 :], at)]

    def close(self):
        self.shell.run_line_magic("unload_ext", "jupyter_stream")
        self.shell.reset()
        atexit.unregister(self.shell.atexit_operations)  # that was all
        InteractiveShell.clear_instance()


@pytest.fixture
def notebook():
    made = Notebook()
    made.names["ticks"] = pl.DataFrame(
        {"symbol": ["a", "b"] * 300, "price": [float(i % 17) for i in range(600)],
         "ts": [dt.datetime(2024, 1, 1) + dt.timedelta(seconds=i) for i in range(600)]}
    )  # fmt: skip
    yield made
    made.close()


@pytest.fixture
def trades(notebook):
    """A notebook with a stream `trades`."""
    notebook.run("%%stream\nCREATE STREAM trades ORDER BY ts SOURCE 'frame://ticks'")
    assert not notebook.failed
    return notebook


@pytest.fixture
def hot(trades):
    """The same with a finished query `hot`."""
    trades.run(
        "%%stream hot\nSELECT symbol, avg(price) AS price FROM trades [RANGE 1 MINUTE SLIDE 1 MINUTE] GROUP BY symbol"
    )
    assert trades.names["hot"].wait(200)
    return trades
