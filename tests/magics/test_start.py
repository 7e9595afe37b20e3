"""What `%load_ext jupyter_stream` does in a real kernel."""

import nbformat
import pytest

from tests import kernels
from tests.tiers import slow

CELLS = (
    """import asyncio, sys, threading
threads = set()
class Noted:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("jupyter_stream", "bokeh"):
            threads.add(threading.current_thread())
sys.meta_path.insert(0, Noted())""",
    "%load_ext jupyter_stream",
    "while 'jupyter_stream.views.thread' not in sys.modules:\n    await asyncio.sleep(0.05)",
    "print(threads == {threading.main_thread()})\n"
    "print([t.name for t in threading.enumerate() if t.name.startswith('jupyter-stream')])",
)


@slow
@pytest.mark.timeout(1_200)
def test_what_is_slow_to_import_comes_between_cells_and_on_no_other_thread():
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS])
    kernels.execute(notebook)
    assert notebook.cells[-1].outputs[0]["text"].split() == ["True", "[]"]
