"""How long `import jupyter_stream` and `%load_ext jupyter_stream` take in a fresh interpreter, and whether a JVM was started."""

from __future__ import annotations

import subprocess
import sys

TIMES = 5

IMPORT = """
import time; start = time.perf_counter()
import jupyter_stream
print(time.perf_counter() - start)
"""

LOAD = """
import sys, time, psutil
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
start = time.perf_counter()
shell.run_line_magic("load_ext", "jupyter_stream")
taken = time.perf_counter() - start
assert "stream" in shell.magics_manager.magics["cell"], "the extension gives no %%stream"
children = [p.name() for p in psutil.Process().children(recursive=True)]
print(taken, "java" in " ".join(children), "pyspark" in sys.modules)
"""


def fresh(code: str) -> list[list[str]]:
    """What a few fresh interpreters print."""
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(TIMES)
    ]
    return [run.stdout.split() for run in runs]


def main() -> None:
    """Print the lines."""
    taken = sorted(float(line[0]) for line in fresh(IMPORT))
    print(f"  import jupyter_stream     {taken[TIMES // 2]:5.2f} s median of {TIMES}, best {taken[0]:.2f}")
    loads = fresh(LOAD)
    taken = sorted(float(line[0]) for line in loads)
    print(f"  %load_ext jupyter_stream  {taken[TIMES // 2]:5.2f} s median of {TIMES}, best {taken[0]:.2f} (target 1.5)")
    started, pyspark = (any(line[i] == "True" for line in loads) for i in (1, 2))
    print(f"  a JVM was started: {started}; pyspark imported: {pyspark}")


if __name__ == "__main__":
    main()
