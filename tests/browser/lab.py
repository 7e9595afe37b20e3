"""A real JupyterLab (or Notebook 7) and a page in a real Chromium: for tests, benchmark and pictures."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import TimeoutError as OutOfTime

sys.path.insert(0, str(Path(__file__).parents[2]))  # pictures.py is a program
import jupyter_stream
from tests.kernels import TRANSPORT, short_folder
from tests.waiting import PATIENCE

IN_LAB = pytest.mark.parametrize("frontend", ["lab"])
IN_NOTEBOOK = pytest.mark.parametrize("frontend", ["notebook"])
IN_BOTH = pytest.mark.parametrize("frontend", ["lab", "notebook"])
"""Both show the same widgets, by the same parts of JupyterLab's: most tests look at one of the two, about as many at each."""

ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
)  # fmt: skip
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
PROMPT = "n => document.querySelectorAll('.jp-Notebook .jp-Cell')[n].querySelector('.jp-InputPrompt').textContent"
VIEWS = Path(__file__).parents[1] / "views"
OUR_CODE = Path(jupyter_stream.__file__).parents[1]
"""Kernels run what the tests import: in a second working tree the code there, not that of the first one, which is installed."""
STEPPED = """n => {
  const [cell, next] = [...document.querySelectorAll('.jp-Notebook .jp-Cell')].slice(n, n + 2);
  const started = /[0-9*]/.test(cell.querySelector('.jp-InputPrompt')?.textContent);
  return next?.classList.contains('jp-mod-active') && (started || !cell.classList.contains('jp-CodeCell'));
}"""
OURS = ("blob:", "/extensions/jupyter-stream/")
"""Where our modules are in a page: anywidget gives those of widgets a place of their own, and the extension has a folder."""
SOON = 1_000 * PATIENCE
"""Milliseconds: how long what must come may take on a busy machine."""
LATE = "[anywidget] Failed to initialize model."
"""anywidget's word when a busy page took more than two seconds to load a widget's module. Nothing that a widget does comes sooner
than its own module, so it can't be prevented; our views are shown all the same, which has a test of its own (`heard.js`)."""


def browser_path():
    """The Chromium on the PATH, None where there is none."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


class Lab:
    """A JupyterLab on a folder of its own.

    `windowed` says whether cells far off the screen leave the page, as they do by default.
    """

    def __init__(self, root, *, windowed=True):
        self.root = root / "notebooks"
        self.root.mkdir()
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            wish = s.getsockname()[1]  # somebody may take it before the server does, which then takes another
        self._runtime = short_folder()
        private = {f"JUPYTER_{what}_DIR": str(root / what.lower()) for what in ("CONFIG", "DATA")}
        private["JUPYTER_RUNTIME_DIR"] = self._runtime.name
        settings = root / "config" / "lab" / "user-settings" / "@jupyterlab" / "apputils-extension"
        settings.mkdir(parents=True)
        (settings / "notification.jupyterlab-settings").write_text('{"fetchNews": "false", "checkForUpdates": false}')
        (settings.parent / "completer-extension").mkdir()
        completer = settings.parent / "completer-extension" / "manager.jupyterlab-settings"
        completer.write_text('{"providerTimeout": 60000}')  # its one second may be too short on a busy machine
        if not windowed:
            (settings.parent / "notebook-extension").mkdir()
            tracker = settings.parent / "notebook-extension" / "tracker.jupyterlab-settings"
            tracker.write_text('{"windowingMode": "none"}')
        extensions = root / "data" / "labextensions"  # ours as it is here, not as it was installed
        extensions.mkdir(parents=True)
        (extensions / "jupyter-stream").symlink_to(Path(__file__).parents[2] / "magics" / "labextension")
        self.log = (root / "server.log").open("w")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--ServerApp.port={wish}",
             "--ServerApp.ip=127.0.0.1", f"--KernelManager.transport={TRANSPORT}",
             "--IdentityProvider.token=t", f"--ServerApp.root_dir={self.root}",
             "--ServerApp.jpserver_extensions={'notebook': True, 'jupyterlab': True}",
             "--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"],
            stdout=self.log, stderr=self.log, env={**os.environ, **private, "PYTHONPATH": f"{VIEWS}{os.pathsep}{OUR_CODE}"},
        )  # fmt: skip
        told = Path(self._runtime.name) / f"jpserver-{self.process.pid}.json"
        end = time.monotonic() + PATIENCE
        while True:
            try:
                self.url = f"http://127.0.0.1:{json.loads(told.read_text())['port']}"
                urllib.request.urlopen(f"{self.url}/api?token=t", timeout=PATIENCE)
                return
            except (OSError, json.JSONDecodeError):  # not begun yet, or half written
                if time.monotonic() > end or self.process.poll() is not None:
                    raise
                time.sleep(0.3)

    def kernels(self):
        """Ids of the kernels that run."""
        with urllib.request.urlopen(f"{self.url}/api/kernels?token=t", timeout=PATIENCE) as answer:
            return [k["id"] for k in json.load(answer)]

    def shut_kernels(self):
        """End all kernels."""
        for kernel in self.kernels():
            request = urllib.request.Request(f"{self.url}/api/kernels/{kernel}?token=t", method="DELETE")
            urllib.request.urlopen(request, timeout=PATIENCE)

    def write(self, name, cells):
        """A notebook of code cells in the folder."""
        book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
        book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
        nbformat.write(book, self.root / name)

    def read(self, name):
        """The notebook as it is on disk, once it is whole: the server empties the file and then writes it."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return nbformat.read(self.root / name, as_version=4)
            except nbformat.reader.NotJSONError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)

    def close(self):
        """End it, its kernels first."""
        try:
            self.shut_kernels()
        finally:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                # an idle worker thread of AnyIO's keeps it if its loop ended during a request
                self.process.kill()
                self.process.wait()
            self.log.close()
            self._runtime.cleanup()


class Notebook:
    """A notebook open in a page."""

    def __init__(self, page, lab, name, frontend="lab"):
        self.page, self.lab, self.name, self.frontend = page, lab, name, frontend
        self.errors = []
        page.on("pageerror", self._failed)
        self.open()

    def _failed(self, error):
        # JupyterLab throws some of its own, Notebook 7 one at every start; ours pass through modules of ours
        if any(place in (error.stack or "") for place in OURS) and error.message != LATE:
            self.errors.append(str(error))

    def open(self):
        """Open it in the page, again if it was open."""
        path = {"lab": "lab/tree", "notebook": "notebooks"}[self.frontend]
        self.page.goto(f"{self.lab.url}/{path}/{self.name}?token=t&reset", wait_until="domcontentloaded")
        self.page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=SOON)
        idle = {
            "lab": "() => document.querySelector('#jp-main-statusbar')?.textContent.includes('| Idle')",
            "notebook": "() => document.querySelector('.jp-Notebook-ExecutionIndicator')?.dataset.status === 'idle'",
        }
        self.page.wait_for_function(idle[self.frontend], timeout=SOON)

    def cell(self, number):
        """The cell, from 0."""
        return self.page.locator(".jp-Notebook .jp-Cell").nth(number)

    def run(self, number):
        """Start a cell."""
        before = self.page.evaluate(PROMPT, number)
        for _ in range(20):
            self.cell(number).locator(".cm-content").first.click()
            self.page.keyboard.press("Control+Enter")
            if self._left(number, before):
                return
        raise TimeoutError("the cell did not start")

    def _left(self, number, before):
        """Whether a cell's prompt becomes another than it was. JupyterLab forgets a key while it is still connecting."""
        try:
            self.page.wait_for_function(
                f"([n, before]) => ({PROMPT})(n) !== before", arg=[number, before], timeout=10_000
            )
        except OutOfTime:
            return False
        return True

    def step(self, number):
        """Shift+Enter on the chosen cell, which has that number. JupyterLab forgets a key while it is still connecting."""
        for _ in range(20):
            self.page.keyboard.press("Shift+Enter")
            try:
                return self.page.wait_for_function(STEPPED, arg=number, timeout=10_000)
            except OutOfTime:
                self.cell(number).click(position={"x": 3, "y": 3})
        raise TimeoutError("the cell did not start")

    def run_all(self):
        """Start all cells."""
        before = self.page.evaluate(PROMPT, 0)
        for _ in range(20):
            self.cell(0).locator(".jp-InputPrompt").first.click()
            self.page.get_by_role("menuitem", name="Run", exact=True).click()
            self.page.locator(".lm-Menu-itemLabel").get_by_text("Run All Cells", exact=True).click()
            if self._left(0, before):
                return
        raise TimeoutError("the cells did not start")

    def theme(self, which):
        """Change JupyterLab's theme: Light or Dark."""
        self.page.get_by_role("menuitem", name="Settings", exact=True).click()
        self.page.locator(".lm-Menu-itemLabel", has_text="Theme").first.click()
        self.page.locator(".lm-Menu-itemLabel").get_by_text(f"JupyterLab {which}", exact=True).click()

    def wait_idle(self):
        """Until no cell waits or runs."""
        self.page.wait_for_function(
            "() => ![...document.querySelectorAll('.jp-InputPrompt')].some(e => e.textContent.includes('*'))",
            timeout=SOON,
        )

    def save(self):
        """Save it and wait until it is written, all of it."""
        before = (self.lab.root / self.name).stat().st_mtime_ns
        self.page.keyboard.press("Control+s")
        self.until(lambda: (self.lab.root / self.name).stat().st_mtime_ns != before, "the notebook is saved")
        self.lab.read(self.name)

    def until(self, condition, what):
        """Until something is so; the page goes on meanwhile."""
        end = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > end:
                raise TimeoutError(f"it doesn't come about that {what}")
            self.page.wait_for_timeout(100)

    def live(self, number):
        """The live view under a cell."""
        return self.cell(number).locator(".jupyter-stream-live")
