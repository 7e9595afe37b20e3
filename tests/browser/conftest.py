"""One server and one browser for all tests; a notebook and a page for each."""

import os
import sys
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).parent))

from lab import ARGUMENTS, BROWSERS, SOON, Lab, Notebook, browser_path  # beside this file


def pytest_collection_modifyitems(items):
    """Pages, kernels and servers take as long as a busy machine does."""
    for item in items:
        if item.nodeid.startswith("tests/browser/"):
            item.add_marker(pytest.mark.timeout(1_200))


@pytest.fixture(scope="session")
def lab(tmp_path_factory):
    made = Lab(tmp_path_factory.mktemp("lab"))
    yield made
    made.close()


@pytest.fixture(scope="session")
def profile_folder(tmp_path_factory):
    """A profile on disk, as anybody's is: what JupyterLab is made of is fetched and compiled once rather than for each page."""
    return tmp_path_factory.mktemp("profile")


@pytest.fixture(scope="module")
def profile(profile_folder):
    """A browser with that profile. It ends with the file's tests: while it runs, no other test can start a loop of asyncio's."""
    path = browser_path()
    if path is None and os.environ.get("CI") != "true":
        pytest.skip(f"none of {', '.join(BROWSERS)} is on the PATH (Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        made = playwright.chromium.launch_persistent_context(
            profile_folder, executable_path=path, args=list(ARGUMENTS), viewport={"width": 1200, "height": 1400}
        )
        made.set_default_timeout(SOON)  # other things run on the machine too
        yield made
        made.close()


@pytest.fixture(scope="module")
def chromium(profile):
    """The browser: its new pages know of no page before them."""
    return Browser(profile.browser)


class Browser:
    """Opens pages that wait as long as those of the profile do."""

    def __init__(self, browser):
        self._browser = browser

    def new_page(self, **options):
        page = self._browser.new_page(**options)
        page.set_default_timeout(SOON)
        return page


@pytest.fixture
def open_notebook(lab, profile):
    pages = []

    def open_(name, cells=None, frontend="lab"):
        if cells is not None:
            lab.write(name, cells)
        page = profile.new_page()
        pages.append(page)
        return Notebook(page, lab, name, frontend)

    yield open_
    for page in pages:
        page.close()
    lab.shut_kernels()
