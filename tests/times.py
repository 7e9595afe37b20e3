"""What took how long: a table by room, and advice on tiers, at the end of a run. Not a reason to fail."""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from tests.tiers import ALL

LONG, SHORT = 5.0, 1.0
"""Seconds: tests of the gate over the first, slow ones under the second are named."""
NAMED = 20
"""So many of the latter are named: most are like others that the gate has, not slow."""
RETRIES = 4
"""Second tries in a whole run; more of them are a failure, since the machine or the tests are not as they should be."""

seconds: defaultdict[str, float] = defaultdict(float)
marked: set[str] = set()
retried: dict[str, str] = {}
outcomes: Counter[str] = Counter()
left: dict[str, object] = {}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    name = report.nodeid
    seconds[name] += report.duration
    if report.outcome != "passed" or report.when == "call":
        outcomes[report.outcome] += 1
    if report.when == "teardown":
        left.update((name, value) for key, value in report.user_properties if key == "left")
    if "slow" in report.keywords:
        marked.add(name)
    if report.outcome == "rerun":  # type: ignore[comparison-overlap]
        retried[name] = cause(str(report.longrepr))


def cause(told: str) -> str:
    """What a failure is, and at which statement of the test, since many of them wait for the same."""
    whats, wheres = ([line for line in told.splitlines() if line.startswith(sign)] for sign in ("E ", ">"))
    what = whats[0][1:].strip() if whats else told[-200:]
    return f"{what} (at {wheres[0][1:].strip()})" if wheres else what


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workerinput"):
        return
    if len(retried) > RETRIES and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    if told := os.environ.get("TESTS_TOLD"):
        failed = max(outcomes["failed"], int(session.exitstatus != pytest.ExitCode.OK))
        Path(told).write_text(f"{outcomes['passed']} passed, {failed} failed, {outcomes['skipped']} skipped\n")
    if file := os.environ.get("TEST_TIMES"):
        Path(file).write_text(json.dumps({"seconds": seconds, "slow": sorted(marked)}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    tell = terminalreporter.write_line
    if len(seconds) > 100:
        tell("")
        rooms: Counter[str] = Counter()
        numbers: Counter[str] = Counter()
        for name, took in seconds.items():
            room = name.removeprefix("tests/").split("/")[0]
            rooms[room] += took  # type: ignore[assignment]
            numbers[room] += 1
        tell(f"seconds of all workers together: {sum(seconds.values()):.0f}, by room:")
        for room, took in rooms.most_common():
            tell(f"  {room:16}{numbers[room]:6} tests{took:8.0f} s")
    for name, cause in retried.items():
        tell(f"second try: {name}: {cause}")
    if len(retried) > RETRIES:
        tell(f"FAILED: {len(retried)} tests were tried twice, {RETRIES} is the most", red=True)
    for name, what in left.items():
        tell(f"left behind by {name}: {what}")
    long = sorted((took, name) for name, took in seconds.items() if name not in marked and took > LONG)
    if long and not ALL:
        tell(f"tests of the gate over {LONG:.0f} s:")
        for took, name in reversed(long):
            tell(f"  {took:6.1f} s  {name}")
    short = sorted((took, name) for name, took in seconds.items() if name in marked and took < SHORT)
    if short:
        tell(f"slow tests under {SHORT:.0f} s, which the gate could run: {len(short)}, the shortest of them")
        for took, name in short[:NAMED]:
            tell(f"  {took:6.1f} s  {name}")
