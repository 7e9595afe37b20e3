from drawn import QUICK, rows, streams, summary
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_stream.core.time import MAX_TIME


@settings(max_examples=30, deadline=None, phases=QUICK)
@given(streams(), st.integers(1, 3), st.integers(2, 3), st.sampled_from([0, 1]))
def test_every_row_that_is_not_gone_is_found_in_its_cell_once(batches, depth, rate, kind):
    made = summary(depth, rate, kind)
    everything: list[tuple[int, int]] = []
    for ts, items, clock in batches:
        made.insert(rows(ts, items))
        everything += zip(ts, items, strict=True)
        made.check()
        made.advance(clock)
        made.check()
        views = made.zones()
        held = {}
        for view in views:
            for bucket in range(made.spec.buckets):
                frame, seq = made.cell(view.number, bucket)
                for number, at, item in (
                    zip(seq.tolist(), *(frame.to_dict(as_series=False).values()), strict=True) if seq.size else ()
                ):
                    assert number not in held
                    held[number] = (at, item)
        assert all(everything[number] == row for number, row in held.items())
        oldest = views[0].start if views else 0
        missing = [row for number, row in enumerate(everything) if number not in held]
        assert all(at < oldest for at, _ in missing)
    assert [v.end for v in made.zones()][-1:] in ([], [MAX_TIME])
