"""`generate://packets|nexmark`: synthetic rows, the same for the same seed. What they are like is the generators' own file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, Protocol

import polars as pl

from jupyter_stream.core.instants import parse_instants
from jupyter_stream.core.schema import Schema
from jupyter_stream.errors import SourceError
from jupyter_stream.sources import nexmark, packets
from jupyter_stream.sources.conform import check_castable, conform, match_names
from jupyter_stream.sources.options import check_known, did_you_mean, split_query
from jupyter_stream.sources.protocol import Chunk, Context, Request, Source, SourceConnector, wanted
from jupyter_stream.sources.text import batches


class Generator(Protocol):
    """Makes rows; without state of its own, so that several reads go side by side."""

    schema: Schema
    rows: int | None
    """How many it makes; None for no end."""

    def read(self, columns: frozenset[str]) -> Iterator[pl.DataFrame]:
        """The rows from the first, these columns of them."""


GENERATORS: Final[dict[str, tuple[Mapping[str, str], Callable[[Mapping[str, str], int | None], Generator]]]] = {
    "packets": (packets.OPTIONS, packets.Packets),
    "nexmark": (nexmark.OPTIONS, nexmark.Nexmark),
}
"""Options and maker by the name after `generate://`."""


class GeneratedSource:
    """Rows of a generator; its options may stand in the URI (`generate://packets?rows=1000`) or in WITH.

    Raises:
        SourceError: when it is made: no such generator, an option it doesn't have, or a declared column it doesn't make.
    """

    schema: Schema
    replayable = True
    units: Mapping[str, str]

    def __init__(self, context: Context) -> None:
        path, query = split_query(context.path)
        name, _, kind = path.partition("/")
        if name not in GENERATORS:
            hint = did_you_mean(name, GENERATORS, f"There are {', '.join('generate://' + g for g in GENERATORS)}.")
            raise SourceError(f"There is no 'generate://{name}'.", hint=hint)
        known, make = GENERATORS[name]
        options = {**context.options, **query, **({"kind": kind} if kind else {})}
        check_known(
            (o for o in options if o in query or o in GENERATE.options or o == "kind"), known, f"generate://{name}"
        )
        self._generator = make(options, _start(options))
        raw = self._generator.schema
        self.schema = context.schema or raw
        self._names = match_names(self.schema, raw.names, context.uri)
        check_castable(self.schema, raw, self._names, None, context.uri)
        self.units = {
            declared: "bytes" for declared, made in self._names.items() if name == "packets" and made == "len"
        }

    def read(self, request: Request) -> Iterator[Chunk]:
        """The rows, a block at a time."""
        fields = wanted(self.schema, request)
        columns = [pl.col(self._names[f.name]).alias(f.name) for f in fields]
        request.share.whole = self._generator.rows or 0
        for frame in self._generator.read(frozenset(self._names[f.name] for f in fields)):
            for chunk in batches(conform(frame.select(columns), fields)):
                if request.stop.is_set():
                    return
                request.share.done += chunk.frame.height
                yield chunk


def _start(options: Mapping[str, str]) -> int | None:
    if "start" not in options:
        return None
    micros: int | None = parse_instants(pl.Series([options["start"]])).to_physical()[0]
    if micros is None:
        raise SourceError(
            f"Option start = '{options['start']}' is not a time.", hint="Write start = '2024-01-01 12:00:00'."
        ).about("start")
    return micros


def _open(context: Context) -> Source:
    return GeneratedSource(context)


GENERATE = SourceConnector(
    scheme="generate",
    example="generate://packets?rows=100000",
    options={
        **packets.OPTIONS,
        **nexmark.OPTIONS,
        "rows": packets.OPTIONS["rows"],
        "per_second": "packets in a second of event time, 16,000 by default; or auction events of all kinds, 10,000",
    },
    open=_open,
)
