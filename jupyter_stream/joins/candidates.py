"""Which rows of a join's side and which new ones may belong together: how to find out, by what takes least.

Where about as many rows come as are kept near them, hashes of both are sorted together (`sorted_hashes`). Otherwise one of two
runs looks for its rows in the other, by an index (`run_index`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, chain
from typing import Any, Final, TypeAlias, TypeVar

from jupyter_stream.arrays.two_threads import in_parallel
from jupyter_stream.core.messages import Int64s
from jupyter_stream.joins.run_index import CROWDED, MANY, Probes, expanded
from jupyter_stream.joins.runs import Run
from jupyter_stream.joins.sorted_hashes import MOST_ROWS, Neighbours
from jupyter_stream.joins.time_bounds import TimeBounds

Made = TypeVar("Made")
Make: TypeAlias = Callable[[Run, Int64s, Int64s, frozenset[int]], Made]

_PIECE: Final = 32_768
"""Rows looked up at a time where two threads do it."""
_APART: Final = 16_384
"""Rows looked up or put into an index from which on two threads do it."""
_COUPLES: Final = 32_768
"""Places where rows of equal hashes meet that one of two threads looks at at a time."""
_WORTH: Final = 8_192
"""New rows from which on sorting them with those kept is thought of,"""
_KEPT: Final = 12
"""if no more than so many are kept for each."""
_UNSETTLED: Final[frozenset[int]] = frozenset()


@dataclass(frozen=True)
class _RunSearch:
    """Rows looked for in a run, or for rows of a run in the new ones.

    Attributes:
        run: the run.
        by_run: whether its rows look for the new ones.
        here: the rows that are looked at by key.
        asked: those that look, and from which to which.
    """

    run: Run
    by_run: bool
    here: Run
    asked: Probes
    begin: int
    end: int

    def made(self, make: Make[Made], begin: int, end: int) -> Iterator[Made]:
        """What is made of what some of the rows find."""
        index = self.here.index
        for one, other in index.pairs(self.asked, begin, end):
            new, old = (other, one) if self.by_run else (one, other)
            yield make(self.run, new, old, index.settled)


class Meanwhile:
    """Work that is done once, as one of the tasks of two threads."""

    def __init__(self, work: Callable[[], None] | None) -> None:
        self._work = work

    def tasks(self) -> list[Callable[[], list[Any]]]:
        """The work, the first time this is asked for."""
        work, self._work = self._work, None
        return [] if work is None else [partial(_nothing_made, work)]


def _nothing_made(work: Callable[[], None]) -> list[Any]:
    work()
    return []


def meet(
    new: Run,
    runs: Sequence[Run],
    reach: TimeBounds,
    timed: bool,
    make: Make[Made],
    meanwhile: Meanwhile,
) -> Iterator[tuple[Run, Made]]:
    """What is made of candidates, some at a time, and of which run they are.

    Those with times outside of the bounds may be among them. Either looks for its rows in the other: the one where that
    takes less, since an index has to be made first, and serves whoever comes later.

    Args:
        new: rows to find partners for.
        runs: where.
        reach: which times there may meet those of new rows.
        timed: whether there may be rows of one key that are farther apart.
        make: takes a run, numbers of new rows and of the run's, and which of their key columns are known to be equal. It must
            change nothing that others see, since it may be called by two threads.
        meanwhile: what can be done beside that. It is done when all is given.
    """
    yield from _pairs(new, runs, reach, timed, make, meanwhile)
    in_parallel(meanwhile.tasks())


def _pairs(
    new: Run,
    runs: Sequence[Run],
    reach: TimeBounds,
    timed: bool,
    make: Make[Made],
    meanwhile: Meanwhile,
) -> Iterator[tuple[Run, Made]]:
    sorted_together = _together(new, runs, reach)
    if sorted_together is not None:
        found = sorted_together.made(new, timed, make, meanwhile)
        if found is not None:
            yield from found
            return
    looks = [look for run in runs if (look := _look(new, run, reach, timed)) is not None]
    here = {id(look.here): look.here for look in looks if not look.here.has_index}
    apart = sum(run.rows for run in here.values()) >= _APART
    _done([run.make_index for run in here.values()], apart)
    tasks: list[Callable[[], list[tuple[Run, Made]]]] = []
    for look in looks:
        if not look.here.index.by_numbers:
            _ = look.asked.keys.hashes  # once, before two threads ask
        if look.here.index.crowded:
            continue
        for begin in range(look.begin, look.end, _PIECE):
            end = min(look.end, begin + _PIECE)
            tasks.append(partial(_all_made, look, make, begin, end))
    apart = sum(look.end - look.begin for look in looks) >= _APART
    for some in _done([*meanwhile.tasks(), *tasks] if tasks else [], apart):
        yield from some
    for look in looks:
        if look.here.index.crowded:  # there may be many pairs: some at a time
            for each in look.made(make, look.begin, look.end):
                yield look.run, each


def _done(tasks: Sequence[Callable[[], Made]], apart: bool) -> list[Made]:
    """What tasks make: by two threads, or by this one where handing work over would take longer than doing it."""
    return in_parallel(tasks) if apart else [task() for task in tasks]


def _all_made(look: _RunSearch, make: Make[Made], begin: int, end: int) -> list[tuple[Run, Made]]:
    return [(look.run, each) for each in look.made(make, begin, end)]


def _look(new: Run, run: Run, reach: TimeBounds, timed: bool) -> _RunSearch | None:
    mine = new.near(*reach.back.of(run.low, run.high))
    theirs = run.near(*reach.of(new.low, new.high))
    if mine[0] == mine[1] or theirs[0] == theirs[1]:
        return None
    if run.cost(mine[1] - mine[0]) <= new.cost(theirs[1] - theirs[0]):
        return _RunSearch(run, False, run, _probes(new, reach, timed), *mine)
    run.asked += theirs[1] - theirs[0]
    return _RunSearch(run, True, new, _probes(run, reach.back, timed), *theirs)


def _probes(asking: Run, reach: TimeBounds, timed: bool) -> Probes:
    return Probes(asking.keys, asking.times, *((reach.low, reach.high) if timed else (None, None)))


@dataclass(frozen=True)
class _Stretch:
    """Rows of a run that are near new ones: which of its rows, and their numbers among all such."""

    run: Run
    begin: int
    first: int
    end: int


@dataclass(frozen=True)
class _Together:
    """New rows and all those kept that are near, to be sorted by their hashes."""

    stretches: tuple[_Stretch, ...]

    def made(self, new: Run, timed: bool, make: Make[Made], meanwhile: Meanwhile) -> Iterator[tuple[Run, Made]] | None:
        """What is made of candidates, and of which run they are; None where an index is better: many rows have one hash."""
        kept = [s.run.keys.hashes[s.begin : s.begin + s.end - s.first] for s in self.stretches]
        near = Neighbours(kept, new.keys.hashes)
        if near.distinct:
            cuts = range(0, near.places.size, _COUPLES)
            tasks = [partial(self._of_couples, near, at, make) for at in cuts]
            return chain.from_iterable(in_parallel([*meanwhile.tasks(), *tasks]))
        mine, begin, end, rows = near.groups()
        many = int((end - begin).sum())
        if many > CROWDED * new.rows + MANY:
            if timed:
                return None
            return self._of_pairs(mine, begin, end, rows, make)
        cuts = range(0, mine.size, _PIECE)
        parts = [(mine[at : at + _PIECE], begin[at : at + _PIECE], end[at : at + _PIECE]) for at in cuts]
        tasks = [partial(self._all_of_pairs, *part, rows, make) for part in parts]
        return chain.from_iterable(in_parallel([*meanwhile.tasks(), *tasks]))

    def _of_couples(self, near: Neighbours, at: int, make: Make[Made]) -> list[tuple[Run, Made]]:
        return list(self._by_run(*near.couples(at, at + _COUPLES), make))

    def _all_of_pairs(
        self, mine: Int64s, begin: Int64s, end: Int64s, rows: Int64s, make: Make[Made]
    ) -> list[tuple[Run, Made]]:
        return list(self._of_pairs(mine, begin, end, rows, make))

    def _of_pairs(
        self, mine: Int64s, begin: Int64s, end: Int64s, rows: Int64s, make: Make[Made]
    ) -> Iterator[tuple[Run, Made]]:
        for one, other in expanded(mine, begin, end, rows):
            yield from self._by_run(one, other, make)

    def _by_run(self, mine: Int64s, theirs: Int64s, make: Make[Made]) -> Iterator[tuple[Run, Made]]:
        """Pairs, run by run."""
        for each in self.stretches:
            one, other = mine, theirs
            if len(self.stretches) > 1:
                here = (theirs >= each.first) & (theirs < each.end)
                one, other = mine.compress(here), theirs.compress(here)
            if one.size:
                yield each.run, make(each.run, one, other + (each.begin - each.first), _UNSETTLED)


def _together(new: Run, runs: Sequence[Run], reach: TimeBounds) -> _Together | None:
    """The new rows with what is near of the runs, if they are worth sorting."""
    if new.rows < _WORTH or not new.keys.columns or new.cells:
        return None
    near = [(run, run.near(*reach.of(new.low, new.high))) for run in runs]
    near = [(run, span) for run, span in near if span[0] < span[1]]
    ends = list(accumulate(end - begin for _, (begin, end) in near))
    kept = ends[-1] if ends else 0
    if not kept or kept > _KEPT * new.rows or kept + new.rows > MOST_ROWS or any(run.cells for run, _ in near):
        return None
    firsts = [0, *ends]
    return _Together(
        tuple(
            _Stretch(run, begin, first, last)
            for (run, (begin, _)), first, last in zip(near, firsts, ends, strict=False)
        )
    )


__all__ = ["Meanwhile", "meet"]
