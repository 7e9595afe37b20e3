"""Every function and cast, found in the function table, gets the values and errors of Spark SQL for drawn arguments."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from jupyter_stream.functions import names
from tests.differential.calls import NOT_DRAWN, NOT_IN_SPARK, WITH_WORDS, drawable, signatures
from tests.differential.functions import AT_ONCE, batches, draws
from tests.differential.report import call_script
from tests.differential.spark_values import Here, There
from tests.tiers import only, slow

EACH = 8
"""Calls of each function; in the gate one, of every thirtieth."""
SEED = "calls"


@pytest.fixture(scope="module")
def in_utc(interpreting: Any) -> Iterator[Any]:
    """The session; what it gives is shown in UTC too, where the machine is elsewhere."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield interpreting
    time.tzset()


@slow
def test_every_function_of_the_table_is_drawn() -> None:
    assert set(names()) >= NOT_DRAWN
    assert [n for n in drawable() if not (n in NOT_IN_SPARK or n in WITH_WORDS or signatures(n))] == []


@slow
def test_what_spark_lacks_is_listed(in_utc: Any) -> None:
    known = {row[0] for row in in_utc.sql("SHOW FUNCTIONS").collect()}
    assert not known & NOT_IN_SPARK


@pytest.mark.parametrize("each", only((1, EACH), 1))
def test_drawn_calls_get_sparks_values(in_utc: Any, each: int) -> None:
    here = Here()
    states: Counter[str] = Counter()
    found = []
    failing = 1 if each == 1 else AT_ONCE
    for judged in batches(here, There(in_utc), draws(SEED, each)[:: 30 if each == 1 else 1], failing):
        states[
            "refused" if judged.refused else "other" if judged.unknown else "found" if judged.found else "agree"
        ] += 1
        if judged.found:
            found.append(judged)
    here.close()
    shown = "\n\n".join(call_script(j) for j in sorted(found, key=lambda j: len(j.text))[:5])
    assert not found, f"{len(found)} of {states.total()}\n{shown}"
    assert states["agree"] >= 0.85 * states.total(), states
