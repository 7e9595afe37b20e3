"""What `%load_ext jupyter_stream` does in a real kernel."""

import nbformat
from nbclient import NotebookClient

CELLS = (
    "import threading\nbefore = set(threading.enumerate())\n%load_ext jupyter_stream",
    "print(set(threading.enumerate()) - before)",
    "import asyncio, sys\nwhile 'jupyter_stream.views.thread' not in sys.modules:\n    await asyncio.sleep(0.05)",
)


def test_what_is_slow_to_import_comes_between_cells_and_on_no_other_thread():
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS])
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    assert notebook.cells[1].outputs[0]["text"].strip() == "set()"
