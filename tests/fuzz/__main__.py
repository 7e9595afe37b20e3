"""Fuzz for as long as you like: `python -m tests.fuzz cells --count 100000`, `python -m tests.fuzz records --for 3600`.

Workers try one thing after another; one that hangs, dies or eats memory is ended, what it tried is a finding, and another goes
on behind it. Findings are counted by their place, and the shortest text of each is kept in a file.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from tests.fuzz import cells, records
from tests.fuzz.law import Finding

TRIED: dict[str, Callable[[int, int], Callable[[int], tuple[str, Finding | None]]]] = {
    "cells": cells.trying,
    "records": records.trying,
}
"""What can be fuzzed: from a seed, a function that tries the n-th thing."""
SILENT = 25.0
"""Seconds of a worker's own processor time after which one that says nothing is taken to hang."""
STILL = 200.0
"""Seconds after which one is that does nothing at all. On a busy machine a process may take a minute to begin."""
MOST_MEMORY = 4 << 30
LAST_WORDS = 4_000
"""Characters that are kept of what one said before it ended: the stacks of its threads."""


def work(what: str, seed: int, start: int, step: int, progress: Path) -> None:
    """Try every `step`-th thing; findings go to standard output."""
    try_one = TRIED[what](seed, start)
    at = start
    while True:
        progress.write_text(str(at))
        _, found = try_one(at)
        if found is not None:
            print(json.dumps({"at": at, **vars(found)}), flush=True)
            if found.kind == "dead":
                os._exit(3)
        at += step


class Worker:
    """A process that tries things, and what is known of it."""

    def __init__(self, what: str, seed: int, start: int, step: int, folder: Path) -> None:
        self.what, self.seed, self.step = what, seed, step
        self.progress = folder / f"at{start % step}"
        self.output = (folder / f"found{start % step}").open("a")
        self.complaints = folder / f"said{start % step}"
        self.last_words = ""
        self._start(start)

    def _start(self, at: int) -> None:
        self.progress.write_text(str(at))
        command = [
            sys.executable,
            "-m",
            "tests.fuzz",
            self.what,
            "--seed",
            str(self.seed),
            "--worker",
            str(at),
            str(self.step),
        ]
        with self.complaints.open("w") as said:
            self.process = subprocess.Popen([*command, str(self.progress)], stdout=self.output, stderr=said)
        self.at, self.since, self.used = at, time.monotonic(), 0.0

    def look(self) -> str | None:
        """What has gone wrong, if something has; then it goes on with the next."""
        at = int(self.progress.read_text() or self.at)
        wrong = None
        if self.process.poll() is not None:
            wrong = "dead" if self.process.returncode != 3 else ""
        else:
            process = psutil.Process(self.process.pid)
            used = sum(process.cpu_times()[:2])
            if at != self.at:
                self.at, self.since, self.used = at, time.monotonic(), used
            if used - self.used > SILENT or time.monotonic() - self.since > STILL:
                wrong = "stall"
            elif process.memory_info().rss > MOST_MEMORY:
                wrong = "memory"
        if wrong is not None:
            self.process.kill()
            self.process.wait()
            said = self.complaints.read_text(errors="replace")
            fatal = said.rfind("Fatal Python error")
            self.last_words = said[-LAST_WORDS:] if fatal < 0 else said[fatal:][:LAST_WORDS]
            self._start(self.at + self.step)
        return wrong

    def end(self) -> None:
        """Stop it."""
        self.process.kill()
        self.process.wait()
        self.output.close()


def main() -> None:
    """Run workers until enough was tried."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=sorted(TRIED))
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--for", dest="seconds", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("findings.json"))
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.worker:
        work(asked.what, asked.seed, int(asked.worker[0]), int(asked.worker[1]), Path(asked.worker[2]))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that workers are ended as well
    found: dict[str, dict[str, object]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        workers = [Worker(asked.what, asked.seed, i, asked.workers, folder) for i in range(asked.workers)]
        read = [0] * asked.workers
        end = time.monotonic() + asked.seconds
        told = time.monotonic()
        try:
            while time.monotonic() < end and min(w.at for w in workers) < asked.count:
                time.sleep(1)
                for i, worker in enumerate(workers):
                    wrong = worker.look()
                    at = worker.at - asked.workers if wrong else worker.at
                    if wrong:
                        text = TRIED[asked.what](asked.seed, -1)(at)[0]
                        _count(found, {"at": at, **vars(Finding(wrong, "the process", text, worker.last_words))})
                    lines = (folder / f"found{i}").read_text().splitlines()
                    for line in lines[read[i] :]:
                        _count(found, json.loads(line))
                    read[i] = len(lines)
                asked.out.write_text(json.dumps(found, indent=1))
                if time.monotonic() - told > 30:
                    told = time.monotonic()
                    print(f"{min(w.at for w in workers):,} tried, {len(found)} places", flush=True)
        finally:
            for worker in workers:
                worker.end()
    print(f"seed {asked.seed}: {min(w.at for w in workers):,} tried; findings in {asked.out}")
    for where, told_of in sorted(found.items(), key=lambda pair: -int(str(pair[1]["times"]))):
        print(
            f"{told_of['times']:>6}  {where}\n        {str(told_of['detail'])[:200]!r}\n        {str(told_of['text'])[:300]!r}"
        )
    sys.exit(bool(found))


def _count(found: dict[str, dict[str, object]], one: dict[str, object]) -> None:
    where = f"{one['kind']}: {one['where']}"
    if one["kind"] in ("stall", "dead", "memory"):
        where += f" {one['at']}"
    known = found.setdefault(where, {**one, "times": 0})
    known["times"] = int(str(known["times"])) + 1
    if len(str(one["text"])) < len(str(known["text"])):
        known.update(one)


if __name__ == "__main__":
    main()
