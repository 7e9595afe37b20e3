"""A real JupyterLab and a real Chromium. One server and one browser for all tests; a notebook and a page for each."""

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
from playwright.sync_api import sync_playwright

ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
VIEWS = Path(__file__).parents[1] / "views"


class Lab:
    """A JupyterLab on a folder of its own."""

    def __init__(self, root):
        self.root = root / "notebooks"
        self.root.mkdir()
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        private = {f"JUPYTER_{what}_DIR": str(root / what.lower()) for what in ("CONFIG", "DATA", "RUNTIME")}
        settings = root / "config" / "lab" / "user-settings" / "@jupyterlab" / "apputils-extension"
        settings.mkdir(parents=True)
        (settings / "notification.jupyterlab-settings").write_text('{"fetchNews": "false", "checkForUpdates": false}')
        self.log = (root / "server.log").open("w")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--ServerApp.port={self.port}",
             "--ServerApp.ip=127.0.0.1", "--IdentityProvider.token=t", f"--ServerApp.root_dir={self.root}",
             "--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"],
            stdout=self.log, stderr=self.log, env={**os.environ, **private, "PYTHONPATH": str(VIEWS)},
        )  # fmt: skip
        self.url = f"http://127.0.0.1:{self.port}"
        end = time.monotonic() + 60
        while True:
            try:
                urllib.request.urlopen(f"{self.url}/api?token=t", timeout=1)
                return
            except OSError:
                if time.monotonic() > end or self.process.poll() is not None:
                    raise
                time.sleep(0.3)

    def kernels(self):
        """Ids of the kernels that run."""
        with urllib.request.urlopen(f"{self.url}/api/kernels?token=t", timeout=5) as answer:
            return [k["id"] for k in json.load(answer)]

    def shut_kernels(self):
        """End all kernels."""
        for kernel in self.kernels():
            request = urllib.request.Request(f"{self.url}/api/kernels/{kernel}?token=t", method="DELETE")
            urllib.request.urlopen(request, timeout=20)

    def write(self, name, cells):
        """A notebook of code cells in the folder."""
        book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
        book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
        nbformat.write(book, self.root / name)

    def read(self, name):
        """The notebook as it is on disk."""
        return nbformat.read(self.root / name, as_version=4)

    def close(self):
        """End it, its kernels first."""
        try:
            self.shut_kernels()
        finally:
            self.process.terminate()
            self.process.wait(20)
            self.log.close()


class Notebook:
    """A notebook open in a page."""

    def __init__(self, page, lab, name):
        self.page, self.lab, self.name = page, lab, name
        self.errors = []
        page.on("pageerror", lambda e: self.errors.append(str(e)))
        self.open()

    def open(self):
        """Open it in the page, again if it was open."""
        self.page.goto(f"{self.lab.url}/lab/tree/{self.name}?token=t&reset", wait_until="domcontentloaded")
        self.page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=60_000)
        self.page.wait_for_function(
            "() => document.querySelector('#jp-main-statusbar')?.textContent.includes('| Idle')", timeout=90_000
        )

    def cell(self, number):
        """The cell, from 0."""
        return self.page.locator(".jp-Notebook .jp-Cell").nth(number)

    def run(self, number):
        """Start a cell."""
        prompt = self.cell(number).locator(".jp-InputPrompt").first
        before = prompt.inner_text()
        for _ in range(20):
            self.cell(number).locator(".cm-content").first.click()
            self.page.keyboard.press("Control+Enter")
            self.page.wait_for_timeout(1_000)
            if prompt.inner_text() != before:  # JupyterLab forgets the key while it is still connecting
                return
        raise AssertionError("the cell did not start")

    def run_all(self):
        """Start all cells."""
        for _ in range(20):
            self.cell(0).locator(".jp-InputPrompt").first.click()
            self.page.get_by_role("menuitem", name="Run", exact=True).click()
            self.page.get_by_text("Run All Cells", exact=True).click()
            self.page.wait_for_timeout(1_000)
            if self.cell(0).locator(".jp-InputPrompt").first.inner_text().strip() != "[ ]:":
                return
        raise AssertionError("the cells did not start")

    def wait_idle(self):
        """Until no cell waits or runs."""
        self.page.wait_for_function(
            "() => ![...document.querySelectorAll('.jp-InputPrompt')].some(e => e.textContent.includes('*'))",
            timeout=60_000,
        )

    def save(self):
        """Save it and wait until it is written."""
        before = (self.lab.root / self.name).stat().st_mtime_ns
        self.page.keyboard.press("Control+s")
        end = time.monotonic() + 20
        while (self.lab.root / self.name).stat().st_mtime_ns == before:
            if time.monotonic() > end:
                raise TimeoutError("the notebook was not saved")
            self.page.wait_for_timeout(200)

    def live(self, number):
        """The live view under a cell."""
        return self.cell(number).locator(".jupyter-stream-live")


@pytest.fixture(scope="session")
def lab(tmp_path_factory):
    made = Lab(tmp_path_factory.mktemp("lab"))
    yield made
    made.close()


@pytest.fixture(scope="session")
def chromium():
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None and os.environ.get("CI") != "true":
        pytest.skip(f"none of {', '.join(BROWSERS)} is on the PATH (Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture
def open_notebook(lab, chromium):
    pages = []

    def open_(name, cells=None, **options):
        if cells is not None:
            lab.write(name, cells)
        page = chromium.new_page(viewport={"width": 1200, "height": 1400}, **options)
        pages.append(page)
        return Notebook(page, lab, name)

    yield open_
    for page in pages:
        page.close()
    lab.shut_kernels()
