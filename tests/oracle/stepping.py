"""Drives the real thing batch by batch, to look at what it shows after each: for provisional answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import polars as pl

from jupyter_stream import binding, syntax
from jupyter_stream.engine.feed import Feed
from jupyter_stream.engine.pipeline import Pipeline
from jupyter_stream.engine.results import Results
from jupyter_stream.plan.logical import streams
from jupyter_stream.plan.needs import reads_row_numbers
from jupyter_stream.session.session import Session
from tests.oracle.compare import plain_rows
from tests.oracle.query import Stream
from tests.oracle.running import batches, frame
from tests.oracle.values import Value


@dataclass
class Shown:
    """What a query shows at one time.

    Attributes:
        rows: how many rows have come.
        final: the final answers.
        open: the provisional ones.
        given: the provisional rows given since the time before.
    """

    rows: int
    final: list[tuple[Value, ...]]
    open: list[tuple[Value, ...]]
    given: list[tuple[Value, ...]]


def steps(stream: Stream, text: str, sizes: list[int]) -> Iterator[Shown]:
    """What the query shows after each batch, and when the input has ended."""
    with Session({"whole": frame(stream)}) as session:
        session.execute(stream.sql("frame://whole"))
        (statement,) = syntax.parse(text, {}, 1)
        assert isinstance(statement, syntax.Select)
        query = binding.bind_query(statement, session.catalog)
        pipeline = Pipeline("q", query, 10**9, _nothing, _nothing, {})
        feed = Feed(streams(query.plan)[0], None, reads_row_numbers(query.plan), lambda: None)
        pipeline.attach(feed)
        results = pipeline.results
        assert isinstance(results, Results)
        rows = given = 0

        def shown() -> Shown:
            nonlocal given
            now, history = results.frame(), results.history()
            new = history[given:].filter(~pl.col("is_final")).drop("is_final")
            given = history.height
            sides = (now.filter(keep).drop("is_final") for keep in (pl.col("is_final"), ~pl.col("is_final")))
            final, still_open = (plain_rows(side) for side in sides)
            return Shown(rows, final, still_open, plain_rows(new))

        for batch in batches(stream, sizes):
            for message in feed.ingest.take(batch):
                pipeline.accept(feed, message)
            assert pipeline.error is None, pipeline.error
            rows += batch.height
            yield shown()
        for message in feed.ingest.end():
            pipeline.accept(feed, message)
        assert pipeline.state == "finished", pipeline.error
        yield shown()


_nothing: Callable[..., None] = lambda *_: None  # noqa: E731  # late rows and errors are others' business
