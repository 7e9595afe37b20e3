"""What a user gets: the built wheel in a fresh environment, imported from there and not from this tree."""

import tarfile
import zipfile
from pathlib import Path

from tests.tiers import slow

ROOT = Path(__file__).parents[2]

QUERY = """
import jupyter_stream, pandas as pd
from IPython.core.interactiveshell import InteractiveShell

assert "site-packages" in jupyter_stream.__file__, jupyter_stream.__file__
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "jupyter_stream")
import jupyter_stream.magics
assert "site-packages" in jupyter_stream.magics.__file__, jupyter_stream.magics.__file__
minutes = pd.to_datetime(["2024-01-01 10:00", "2024-01-01 10:01", "2024-01-01 10:06"])
shell.user_ns["ticks"] = pd.DataFrame({"at": minutes, "price": [1.0, 3.0, 7.0]})
shell.run_cell_magic("stream", "", "CREATE STREAM t ORDER BY at SOURCE 'frame://ticks'")
shell.run_cell_magic(
    "stream", "means --chart none", "SELECT avg(price) AS price FROM t [RANGE 5 MINUTES TUMBLING]"
)
means = shell.user_ns["means"]
assert means.wait(200)
print(means.to_pandas()["price"].tolist())
"""

LOADED = """
import sys
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "jupyter_stream")
assert "stream" in shell.magics_manager.magics["cell"]
print(sorted({name.split(".")[0] for name in sys.modules} & {"pyspark", "py4j", "bokeh", "pandas"}))
"""


@slow
def test_a_query_runs_in_ipython_from_the_wheel(installed):
    assert installed(QUERY).strip().splitlines()[-1] == "[2.0, 7.0]"


@slow
def test_the_extension_loads_with_a_clone_as_the_working_directory(installed):
    """Python then takes the package from there, where the magics stand beside it."""
    in_clone = "import jupyter_stream; assert 'site-packages' not in jupyter_stream.__file__\n"
    assert installed(in_clone + LOADED, ROOT).strip().splitlines()[-1] == "[]"


@slow
def test_loading_the_extension_imports_neither_spark_nor_bokeh_nor_pandas(installed):
    assert installed(LOADED).strip().splitlines()[-1] == "[]"


@slow
def test_wheel_holds_every_file_of_the_package(distributions):
    with zipfile.ZipFile(distributions[0]) as wheel:
        held = {name for name in wheel.namelist() if ".dist-info/" not in name}
    package = {str(f.relative_to(ROOT)) for f in (ROOT / "jupyter_stream").rglob("*") if f.is_file()}
    magics = {"jupyter_stream/" + str(f.relative_to(ROOT)) for f in (ROOT / "magics").rglob("*") if f.is_file()}
    extension = {name for name in held if "/share/jupyter/labextensions/jupyter-stream/" in name}
    assert held - extension == {name for name in package | magics if "__pycache__" not in name}
    folder = ROOT / "magics" / "labextension"
    files = {str(f.relative_to(folder)) for f in folder.rglob("*") if f.is_file()}
    assert {name.partition("/labextensions/jupyter-stream/")[2] for name in extension} == files


@slow
def test_sdist_holds_what_a_packager_reads(distributions):
    with tarfile.open(distributions[1]) as sdist:
        held = {name.partition("/")[2] for name in sdist.getnames()}
    assert held >= {"pyproject.toml", "README.md", "LICENSE", "magics/__init__.py", "jupyter_stream/py.typed"}
