"""The project's check: `python tests` is the gate, which every change passes; its other forms answer other questions.

Not for benchmarks; they have a command of their own in CONTRIBUTING.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
from contextlib import nullcontext
from pathlib import Path

sys.path.insert(
    0, str(Path(__file__).resolve().parents[1])
)  # run as a folder, Python looks for modules in it, not beside it

from tests.checking import environments, reach, stabilize, steps

EPILOG = """arguments that are not listed go to pytest: `python tests -x tests/plan`. Two tests run at a time, since most wait
for a kernel, a browser or Spark for some of theirs, and four with --all; `-n 0` runs one."""


def parsed() -> tuple[argparse.Namespace, list[str]]:
    """The options, and what is pytest's."""
    parser = argparse.ArgumentParser(prog="python tests", description=__doc__, epilog=EPILOG, allow_abbrev=False)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--all", action="store_true", help="every test, the slow ones too, with more drawn examples")
    which.add_argument("--static", action="store_true", help="format, lint, types and rooms: under a minute")
    which.add_argument(
        "--changed", nargs="?", const="main", metavar="REF", help="tests that files changed since REF (main) can reach"
    )
    which.add_argument(
        "--stabilize", nargs="?", const="main", metavar="REF",
        help="tests changed since REF (main) ten times, slow ones three times, half of them on a busy machine",
    )  # fmt: skip
    which.add_argument(
        "--newest", action="store_true", help="the gate's tests with the newest releases of all packages"
    )
    which.add_argument("--oldest", action="store_true", help="the gate's tests with the oldest releases allowed")
    which.add_argument("--pins", action="store_true", help="write .ci/constraints.txt anew")
    return parser.parse_known_args()


def tier(arguments: list[str]) -> list[str]:
    """What leaves slow tests out. Who names a test, or chooses by marks, gets it."""
    named = any(not a.startswith("-") and Path(a.split("::")[0]).exists() for a in arguments)
    return [] if named or "-m" in arguments else ["-m", "not slow"]


def oracles() -> list[str]:
    """Files of tests that compare the engine's answers with the oracle's."""
    folder = Path(__file__).parent
    return sorted(str(p) for p in folder.glob("*/test_oracle_*.py") if p.parent.name != "oracle")


NEAR = 40
"""So many files of tests are run first of those that a change reaches: a minute or two, after which one may go on working."""


def reached(ref: str, arguments: list[str]) -> None:
    """Run the tests that files changed since a commit can reach, the nearest first."""
    files, every = reach.reached(reach.changed(ref)), len(reach.every_file())
    if len(files) == every:
        print(f"What has changed since {ref} reaches all {every} files of tests.")
    else:
        print(f"What has changed since {ref} reaches {len(files)} of {every} files of tests.")
    near = NEAR if len(files) > NEAR * 3 // 2 else len(files)
    for title, part in (("tests near by", files[:near]), ("tests further away", files[near:])):
        try:
            if part:
                steps.tests(["-m", "not slow", *part, *arguments], title)
        except steps.Failed as failed:
            if failed.code != 5:  # none left: all are slow
                raise


def static_beside_collecting(arguments: list[str]) -> None:
    """Format, lint, types, rooms; where all tests of a tier are to run, their bytecode is made meanwhile."""
    with nullcontext() if arguments else steps.collecting():
        steps.static()


def main() -> str:
    """Do what was asked for; gives the last word."""
    asked, rest = parsed()
    if asked.pins:
        environments.pin()
        return f"{environments.PINS.name} is written."
    if asked.newest or asked.oldest:
        return environments.tested("newest" if asked.newest else "oldest", [*tier(rest), *rest])
    if asked.stabilize:
        stabilize.stabilize(asked.stabilize, rest)
    elif asked.changed:
        reached(asked.changed, rest)
    elif asked.static:
        steps.static()
    elif asked.all:
        os.environ["TESTS"] = "all"
        os.environ.setdefault("TESTS_ORDER", str(random.randrange(10**6)))
        print(f"files in any order: TESTS_ORDER={os.environ['TESTS_ORDER']} repeats it")
        static_beside_collecting(rest)
        steps.tests(rest)
        if not rest:
            steps.tests(
                ["-m", "not slow", *oracles()],
                "the oracle's tests under drawn policies",
                TESTS="",
                TESTS_POLICIES="drawn",
                TEST_TIMES="",  # those of all tests stay
            )
    else:
        static_beside_collecting(rest)
        steps.tests([*tier(rest), *rest])
    return "All checks passed."


if __name__ == "__main__":
    # a command that was started in the background may ignore interrupts, and so would all that it starts
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        word = main()
    except steps.Failed as failed:
        print(f"\nFAILED. {steps.told()}")
        sys.exit(failed.code)
    print(f"\n{word} {steps.told()}")
