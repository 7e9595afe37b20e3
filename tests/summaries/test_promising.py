from drawn import QUICK, rows, streams, summary
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_stream.summaries.promising import DIRECTIONS, PromisingRegions


@settings(max_examples=15, deadline=None, phases=QUICK)
@given(streams(), st.sampled_from(DIRECTIONS), st.integers(0, 30), st.sampled_from([0, 1]))
def test_every_row_comes_once_or_is_missed(batches, direction, budget, kind):
    made = summary(kind=kind)
    query = PromisingRegions(made, direction, 0.8)
    seen: list[int] = []
    for ts, items, clock in batches:
        query.note(made.insert(rows(ts, items)))
        query.check()
        for region in query.take(budget):
            seen += region.seq.tolist()
        made.advance(clock)
        query.fade()
        query.check()
    waiting = query.rows
    last = [n for region in query.take(10**9) for n in region.seq.tolist()]
    assert len(last) == waiting and query.rows == 0
    seen += last
    assert len(set(seen)) == len(seen)
    assert len(seen) + query.missed + made.gone == made.seq
