import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream.views.picture import Ragged
from jupyter_stream.views.wire import encode


def apply(old, changes, buffers):
    """What the page does with a message (`merge` in live.js)."""
    columns = dict(old)
    for name, change in changes.items():
        if "offsets" in change:
            columns[name] = Ragged(
                np.frombuffer(buffers[change["at"]], "<f8"), np.frombuffer(buffers[change["offsets"]], "<i4")
            )
            continue
        if "words" in change:
            numbers = np.frombuffer(buffers[change["at"]], "<u2")
            change = {**change, "text": [change["words"][i] for i in numbers]}
        news = change["text"] if "text" in change else np.frombuffer(buffers[change["at"]], "<f8")
        kept = columns[name][change["drop"] :] if "drop" in change else news[:0]
        columns[name] = kept + news if "text" in change else np.concatenate((kept, news))
    return columns


def same(a, b):
    if isinstance(a, Ragged):
        return np.array_equal(a.offsets, b.offsets) and np.array_equal(a.values, b.values, equal_nan=True)
    return np.array_equal(a, b, equal_nan=True) if isinstance(a, np.ndarray) else a == b


numbers = st.lists(st.sampled_from([0.0, 1.0, 2.5, float("nan")]), max_size=12).map(
    lambda v: np.array(v, dtype=np.float64)
)
texts = st.lists(st.sampled_from(["a", "b", ""]), max_size=12)
ragged = st.lists(numbers, max_size=4).map(Ragged.of)
pictures = st.fixed_dictionaries({"n": numbers, "t": texts, "r": ragged})


@given(st.lists(pictures, min_size=1, max_size=5))
def test_the_page_holds_what_was_sent_whatever_came_before(sent):
    page, known = {}, {}
    for columns in sent:
        page = apply(page, *encode(columns, known))
        known = columns
        assert all(same(page[name], columns[name]) for name in columns)


def test_appended_rows_are_sent_alone():
    old = {"x": np.arange(500.0), "t": [f"row {i}" for i in range(500)]}
    new = {"x": np.arange(2.0, 502.0), "t": [f"row {i}" for i in range(2, 502)]}
    changes, buffers = encode(new, old)
    assert changes["x"] == {"drop": 2, "at": 0} and len(buffers[0]) == 16
    assert changes["t"] == {"drop": 2, "text": ["row 500", "row 501"]}


def test_nothing_is_sent_when_nothing_changed():
    column = {"x": np.array([1.0, np.nan]), "t": ["a"], "r": Ragged.of([np.arange(3.0)])}
    assert encode(column, column) == ({}, [])


def test_rows_appended_where_many_share_each_value_are_sent_alone():
    def rows(first):
        window, place = np.divmod(np.arange(first, first + 600), 60)
        return {
            "r.0": [f"12:{w:02}" for w in window], "r.1": [f"place {p}" for p in place],
            "0.left": window * 1.0, "0.top": place * 1.0, "0.row": np.arange(600.0), "0.alpha": np.ones(600),
        }  # fmt: skip

    changes, buffers = encode(rows(75), rows(0))
    assert "0.row" not in changes and "0.alpha" not in changes
    assert {name: change["drop"] for name, change in changes.items()} == dict.fromkeys(changes, 75) and len(
        changes
    ) == 4
    assert sum(map(len, buffers)) == 2 * 75 * 8


def test_a_long_column_of_few_words_is_sent_as_their_numbers():
    column = {"r.0": ["#0173b2", "#de8f05"] * 200}
    changes, buffers = encode(column, {})
    assert changes["r.0"]["words"] == ["#0173b2", "#de8f05"] and len(buffers[0]) == 800
    assert same(apply({}, changes, buffers)["r.0"], column["r.0"])
