"""Fresh seeds for as long as you like: `python -m tests.differential --minutes 60`. See README.md here."""

from __future__ import annotations

import argparse
import logging
import secrets
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.differential.cases import CASES, Outcome, smallest, state
from tests.differential.draw import Draw
from tests.differential.report import call_script, script, shape

FUNCTIONS = "functions"
AT_A_TIME = 100


class Hunt:
    """Draws until the time is up and prints each new finding."""

    def __init__(self, seed: str, minutes: float) -> None:
        self.seed = seed
        self.end = time.monotonic() + 60 * minutes
        self.counts: dict[str, Counter[str]] = {}
        self._seen: Counter[str] = Counter()

    @property
    def over(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() > self.end

    def count(self, kind: str, state: str) -> None:
        """One more case."""
        self.counts.setdefault(kind, Counter())[state] += 1

    def show(self, title: str, text: str, shown: str) -> None:
        """A finding, unless one of its shape has been shown."""
        self._seen[shape(text)] += 1
        if self._seen[shape(text)] == 1:
            print(f"\n=== {title}\n{shown}", flush=True)

    def queries(self, kind: str, start: int) -> None:
        """Some cases of rows and queries."""
        for i in range(start, start + AT_A_TIME):
            if self.over:
                return
            draw = Draw(f"{self.seed} {i}")
            outcome = CASES[kind](draw)
            self.count(kind, state(outcome))
            if state(outcome) == "found":
                least: Outcome = smallest(kind, draw.made)
                self.show(f"{kind}, seed {self.seed} {i}", least.text, script(least, kind == "tables"))

    def functions(self, start: int) -> None:
        """One call of every function, and a few more."""
        from tests.differential import functions, spark_values

        spark = spark_values.start(Path(tempfile.mkdtemp()))
        here, there = spark_values.Here(), spark_values.There(spark)
        for judged in functions.batches(here, there, functions.draws(f"{self.seed} {start}", 3)):
            kind = "found" if judged.found else "refused" if judged.refused else "other" if judged.unknown else "agree"
            self.count(FUNCTIONS, kind)
            if judged.found:
                self.show(f"{judged.name}, seed {self.seed} {start}", judged.text, call_script(judged))
        here.close()


def main() -> None:
    """Read the command line and hunt."""
    words = argparse.ArgumentParser(prog="python -m tests.differential", description=__doc__)
    words.add_argument("--minutes", type=float, default=10.0)
    words.add_argument("--seed", default="", help="a word; a fresh one if left out")
    words.add_argument("--only", default=f"{','.join(CASES)},{FUNCTIONS}", help="kinds of cases, with commas between")
    asked = words.parse_args()
    logging.disable(logging.CRITICAL)  # a query that fails is a finding, shown once
    hunt = Hunt(asked.seed or secrets.token_hex(4), asked.minutes)
    print(f"seed {hunt.seed}", flush=True)
    start = 0
    while not hunt.over:
        for kind in asked.only.split(","):
            if kind == FUNCTIONS:
                hunt.functions(start)
            else:
                hunt.queries(kind, start)
        start += AT_A_TIME
    print()
    for kind, counts in hunt.counts.items():
        print(f"{kind}: {counts.total()} drawn, " + ", ".join(f"{n} {what}" for what, n in sorted(counts.items())))


if __name__ == "__main__":
    main()
