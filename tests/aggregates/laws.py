"""The laws of an aggregate as callables: ways to compute that must all give what its model gives.

Each takes a case and rows in arrival order and fails where the law is broken.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from jupyter_stream.aggregates import Dense
from jupyter_stream.aggregates.framed import Framed
from jupyter_stream.aggregates.value_counts import ValueCounts
from tests.aggregates.cases import Case
from tests.oracle.compare import assert_same_bag, plain_rows
from tests.oracle.progress import Arrived

BY = ["g"]


def assert_answers(case: Case, rows: Sequence[Arrived], partials: pl.DataFrame) -> None:
    """The partial results give the model's answer for each group that has rows, in the order groups first appear."""
    framed = case.framed()
    merged = framed.merge(partials, BY)
    answers = dict(plain_rows(framed.finish(merged, BY)[0].select("g", "v")))
    assert list(answers) == [g for g in merged.get_column("g").unique(maintain_order=True) if g in answers]
    expected = []
    for group in sorted({r.row["g"] for r in rows}, key=repr):
        value = case.model([r for r in rows if r.row["g"] == group])
        # a group without partials is answered as nothing is
        if value in (0, None, ()) and group not in answers:
            continue
        if value == 0 and answers.get(group) is None:
            continue
        expected.append((group, value))
    known = {group for group, _ in expected}
    assert_same_bag([p for p in answers.items() if p[0] in known], expected, ["group", "answer"], f"{case}: {rows}")
    assert all(answers[g] in (None, 0) for g in answers if g not in known), f"{case}: {answers}"


def partials(case: Case, rows: Sequence[Arrived]) -> pl.DataFrame:
    return case.framed().update(case.frame(rows), BY)


def thirds(rows: Sequence[Arrived]) -> list[Sequence[Arrived]]:
    cut = len(rows) // 3
    return [rows[:cut], rows[cut : 2 * cut], rows[2 * cut :]]


def merged(framed: Framed, *parts: pl.DataFrame) -> pl.DataFrame:
    return framed.merge(pl.concat(parts), BY)


def update_gives_the_models_answer(case: Case, rows: Sequence[Arrived]) -> None:
    assert_answers(case, rows, partials(case, rows))


def merge_is_associative(case: Case, rows: Sequence[Arrived]) -> None:
    framed = case.framed()
    a, b, c = (partials(case, part) for part in thirds(rows))
    assert_answers(case, rows, merged(framed, merged(framed, a, b), c))
    assert_answers(case, rows, merged(framed, a, merged(framed, b, c)))


def any_batches_give_the_same(case: Case, rows: Sequence[Arrived]) -> None:
    framed = case.framed()
    each = [partials(case, [row]) for row in rows]
    if each:
        assert_answers(case, rows, pl.concat(each))
        one_by_one = each[0]
        for part in each[1:]:
            one_by_one = merged(framed, one_by_one, part)
        assert_answers(case, rows, one_by_one)


def merge_is_commutative(case: Case, rows: Sequence[Arrived]) -> None:
    """Of rows whose times differ: ties go by arrival, which is part of the data."""
    framed = case.framed()
    a, b, c = (partials(case, part) for part in thirds(rows))
    assert_answers(case, rows, merged(framed, c, a, b))
    assert_answers(case, rows, merged(framed, b, merged(framed, c, a)))


def any_order_gives_the_same(case: Case, rows: Sequence[Arrived]) -> None:
    """Of rows whose times differ."""
    assert_answers(case, rows, partials(case, rows[::-1]))
    assert_answers(case, rows, partials(case, sorted(rows, key=lambda r: r.ts)))


def subtractable(case: Case) -> bool:
    """Whether partial results can be taken back exactly."""
    form = case.form()
    if isinstance(form, Dense):
        return all(p.subtractable for p in form.partials)
    return isinstance(form, ValueCounts)


def subtract_undoes_update(case: Case, rows: Sequence[Arrived]) -> None:
    """Partials of all rows less those of the older half answer for the younger half."""
    framed = case.framed()
    old, young = rows[: len(rows) // 2], rows[len(rows) // 2 :]
    keys = [*BY, *framed.extra]
    whole = merged(framed, partials(case, old), partials(case, young))
    taken = partials(case, old).with_columns(pl.exclude(keys) * -1)
    left = pl.concat([whole, taken]).group_by(keys).agg(pl.exclude(keys).sum())
    if framed.extra:
        left = left.filter(pl.col("n") != 0)
    assert_answers(case, young, left)


LAWS = (update_gives_the_models_answer, merge_is_associative, any_batches_give_the_same)
"""Of any rows."""
ORDER_LAWS = (merge_is_commutative, any_order_gives_the_same)
"""Of rows whose times differ."""
