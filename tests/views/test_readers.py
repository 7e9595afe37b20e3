import time

import pytest

from jupyter_stream.views import ViewOptions, thread
from jupyter_stream.views.budget import BYTES, MESSAGES, ViewBudget
from jupyter_stream.views.live import LiveView
from jupyter_stream.views.readers import CLOSED_EVERY, OFF_SCREEN_EVERY, SILENCE, Readers
from tests.tiers import slow
from tests.waiting import until


def frames(readers, begin, seconds):
    """How many of eight frames a second are worth sending."""
    return sum(readers.due(begin + i / 8) for i in range(8 * seconds))


def test_a_view_whose_page_has_not_spoken_gets_every_frame():
    assert frames(Readers(), 100.0, 30) == 240


def test_a_view_off_the_screen_gets_a_frame_now_and_then_until_it_is_seen():
    readers = Readers()
    readers.hear({"page": "a", "seen": False}, 100.0)
    assert frames(readers, 100.0, 30) == 30 / OFF_SCREEN_EVERY
    readers.hear({"page": "a", "seen": True}, 130.0)
    assert frames(readers, 130.0, 30) == 240


def test_one_page_that_sees_a_view_is_enough():
    readers = Readers()
    readers.hear({"page": "a", "seen": True}, 100.0)
    readers.hear({"page": "b", "seen": False}, 101.0)
    assert frames(readers, 102.0, 10) == 80


def test_a_page_that_fell_silent_is_presumed_closed():
    readers = Readers()
    readers.hear({"page": "a", "seen": True}, 100.0)
    assert frames(readers, 100.0 + SILENCE, 40) == 40 / CLOSED_EVERY


@pytest.mark.parametrize(("sent", "most"), [(100, MESSAGES), (BYTES / 10, 10)])
def test_no_more_goes_in_a_second_than_the_budget_has(sent, most):
    budget, seconds, went = ViewBudget(), 20, 0
    for _ in range(seconds * 8):
        while budget.left:
            budget.spend(sent)
            went += 1
        budget.refill(1 / 8)
    assert most * seconds <= went <= most * (seconds + 1) + 8


@slow
def test_views_on_the_screen_are_served_before_those_off_it(demo):
    views, counts, begun = thread.ViewThread(), {}, time.monotonic()
    try:
        for seen in (True, False):
            view = LiveView(demo().advance(3).run(0.05), ViewOptions())
            sent = counts.setdefault(seen, [])
            view.widget.send = lambda message, buffers=None, sent=sent: sent.append(message)
            view.hear({"say": "alive", "page": "a", "seen": seen})
            views.add(view)
        until(lambda: len(counts[True]) >= 12)
        off_screen, passed = len(counts[False]), time.monotonic() - begun
        assert off_screen <= 1 + passed / OFF_SCREEN_EVERY
    finally:
        views.close()
