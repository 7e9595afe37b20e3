"""Builds what the Binder badge builds, in a clean directory, and runs every tutorial there.

`python tests/packaging/binder.py [FOLDER]`: a fresh clone of the last commit, a fresh environment of the Python in runtime.txt,
then binder/postBuild as it stands. Packages of apt.txt must be installed already; with `--apt` it installs them, as root. Prints
for each notebook how long it ran and the most memory its kernel and all below it held. Fails where a notebook does, or where one
that needs no Spark takes more than 2 GB.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[2]
MOST = 2e9
SPARK = "05-from-the-kernel-to-spark"
RUN = """import sys, nbformat, nbclient
book = nbformat.read(sys.argv[1], as_version=4)
nbclient.NotebookClient(book, timeout=600, kernel_name="python3", resources={"metadata": {"path": "tutorials"}}).execute()
"""


def build(folder: Path, *, apt: bool) -> Path:
    """The environment, as Binder makes it; returns its repository."""
    repository, env = folder / "repository", folder / "env"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(repository)], check=True)
    binder = repository / "binder"
    if apt:
        packages = (binder / "apt.txt").read_text().split()
        subprocess.run(["apt-get", "install", "--yes", "--no-install-recommends", *packages], check=True)
    wanted = (binder / "runtime.txt").read_text().strip().removeprefix("python-")
    python = shutil.which(f"python{wanted}")
    if python is None:
        sys.exit(f"binder/runtime.txt asks for Python {wanted}; there is none on the PATH")
    subprocess.run([python, "-m", "venv", str(env)], check=True)
    subprocess.run(["bash", "binder/postBuild"], cwd=repository, env=inside(folder), check=True)
    return repository


def inside(folder: Path) -> dict[str, str]:
    """The environment's variables: nothing of the Python that runs this."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "JUPYTER", "VIRTUAL_"))}
    private = {f"JUPYTER_{what}_DIR": str(folder / what.lower()) for what in ("CONFIG", "DATA", "RUNTIME")}
    return {**kept, **private, "PATH": f"{folder / 'env' / 'bin'}:{os.environ['PATH']}"}


def held(process: psutil.Process) -> int:
    """Bytes of a process and all below it; what they share counts once."""
    total = 0
    for each in (process, *process.children(recursive=True)):
        try:
            total += each.memory_full_info().pss
        except psutil.Error:
            continue  # it ended meanwhile
    return total


def run(folder: Path, notebook: Path) -> tuple[bool, float, float]:
    """Whether a notebook runs from top to bottom, in how many seconds, and its most bytes."""
    began, most, over = time.monotonic(), [0], threading.Event()
    command = [str(folder / "env" / "bin" / "python"), "-c", RUN, f"tutorials/{notebook.name}"]
    process = subprocess.Popen(
        command, cwd=folder / "repository", env=inside(folder), stderr=subprocess.PIPE, text=True
    )

    def watch() -> None:
        while not over.wait(0.2):
            try:
                most[0] = max(most[0], held(psutil.Process(process.pid)))
            except psutil.Error:
                continue  # it is about to end

    watcher = threading.Thread(target=watch)
    watcher.start()
    _, said = process.communicate()
    over.set()
    watcher.join()
    if process.returncode:
        print(said, file=sys.stderr)
    return process.returncode == 0, time.monotonic() - began, most[0]


def main() -> None:
    """Build, run, report."""
    arguments = [a for a in sys.argv[1:] if a != "--apt"]
    folder = Path(arguments[0]).resolve() if arguments else Path(tempfile.mkdtemp(prefix="binder-"))
    repository = folder / "repository"
    if not repository.exists():
        build(folder, apt="--apt" in sys.argv)
    failed = []
    for notebook in sorted((repository / "tutorials").glob("[0-9]*.ipynb")):
        fine, seconds, most = run(folder, notebook)
        too_much = most > MOST and notebook.stem != SPARK
        word = "failed" if not fine else "too much memory" if too_much else "runs"
        print(f"{notebook.stem}: {word}, {seconds:.0f} s, {most / 1e6:.0f} MB", flush=True)
        if not fine or too_much:
            failed.append(notebook.stem)
    if failed:
        sys.exit(json.dumps(failed))


if __name__ == "__main__":
    main()
