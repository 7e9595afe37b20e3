"""One server and one browser for all tests; a notebook and a page for each."""

import os
import sys
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).parent))

from lab import ARGUMENTS, BROWSERS, Lab, Notebook, browser_path  # beside this file


@pytest.fixture(scope="session")
def lab(tmp_path_factory):
    made = Lab(tmp_path_factory.mktemp("lab"))
    yield made
    made.close()


@pytest.fixture(scope="session")
def chromium():
    path = browser_path()
    if path is None and os.environ.get("CI") != "true":
        pytest.skip(f"none of {', '.join(BROWSERS)} is on the PATH (Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture
def open_notebook(lab, chromium):
    pages = []

    def open_(name, cells=None, frontend="lab", **options):
        if cells is not None:
            lab.write(name, cells)
        page = chromium.new_page(viewport={"width": 1200, "height": 1400}, **options)
        pages.append(page)
        return Notebook(page, lab, name, frontend)

    yield open_
    for page in pages:
        page.close()
    lab.shut_kernels()
