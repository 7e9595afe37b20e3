"""Does memory grow with the stream? The most state operators ever held, and peak RSS, after 5 and after 50 million rows.

Each run in a process of its own. Tumbling and sliding queries from files, 1,000 keys; 5 and 20 million rows of Zipf keys.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import sliding
import tumbling
from race import KEPT, forget_peak, peak_rss, ready

CASES = (
    (tumbling.RACES[0], (5_000_000, 50_000_000)),
    (sliding.RACES[0], (5_000_000, 50_000_000)),
    (sliding.RACES[2], (5_000_000, 20_000_000)),
)


def child(name: str, rows: int) -> None:
    """One run, in a fresh process."""
    race = next(r for r, _ in CASES if r.name == name)
    work = ready(replace(race, rows=rows), "ours", rows)
    KEPT["keep"] = 10_000  # kept answers are no state
    forget_peak()
    _, facts = work(False)
    print(json.dumps({"rss": peak_rss(), "state": facts["state"]}))


def main() -> None:
    """Print the lines."""
    for race, sizes in CASES:
        seen = []
        for rows in sizes:
            run = subprocess.run(
                [sys.executable, __file__, race.name, str(rows)], stdout=subprocess.PIPE, text=True, check=True
            )
            seen.append(json.loads(run.stdout.splitlines()[-1]))
        few, many = seen
        print(f"  {race.name}: {sizes[0] / 1e6:g} and {sizes[1] / 1e6:g} M rows (target: within 10%)")
        for what, label in (("state", "state"), ("rss", "peak RSS")):
            growth = many[what] / max(1, few[what]) - 1
            print(f"    {label:9s}{few[what] / 1e6:10.2f} MB {many[what] / 1e6:10.2f} MB  {growth:+.1%}")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        child(sys.argv[1], int(sys.argv[2]))
    else:
        main()
