"""NEXMark: persons, auctions and bids of an on-line auction (Tucker, Tufte, Papadimos, Maier 2002), as Apache Beam runs it.

Events are numbered; of each 50, the first is a person, the next three are auctions, the rest bids. A stream of one kind has its
events of that common sequence, so that ids refer to each other across streams of one seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import numpy as np
import polars as pl
import pyarrow as pa

from jupyter_stream.core.messages import Int64s
from jupyter_stream.core.schema import TIMESTAMP, Schema
from jupyter_stream.sources.options import choice, whole
from jupyter_stream.sources.packets import blocks, rows_option

KINDS: Final = ("bid", "auction", "person")
OPTIONS: Final = {
    "kind": "'bid' (the default), 'auction' or 'person'",
    "rows": "how many rows of that kind: 1,000,000 by default, or 'unlimited'",
    "seed": "another seed, other rows",
    "per_second": "events of all kinds in a second of event time, 10,000 by default",
    "start": "the first event's time, 2024-01-01 by default",
}
_STRING, _BIGINT = pl.String(), pl.Int64()
SCHEMAS: Final = {
    "person": Schema.of(
        [
            ("id", _BIGINT),
            ("name", _STRING),
            ("emailAddress", _STRING),
            ("creditCard", _STRING),
            ("city", _STRING),
            ("state", _STRING),
            ("dateTime", TIMESTAMP),
            ("extra", _STRING),
        ]
    ),
    "auction": Schema.of(
        [
            ("id", _BIGINT),
            ("itemName", _STRING),
            ("description", _STRING),
            ("initialBid", _BIGINT),
            ("reserve", _BIGINT),
            ("dateTime", TIMESTAMP),
            ("expires", TIMESTAMP),
            ("seller", _BIGINT),
            ("category", _BIGINT),
            ("extra", _STRING),
        ]
    ),
    "bid": Schema.of(
        [
            ("auction", _BIGINT),
            ("bidder", _BIGINT),
            ("price", _BIGINT),
            ("channel", _STRING),
            ("url", _STRING),
            ("dateTime", TIMESTAMP),
            ("extra", _STRING),
        ]
    ),
}

_OF_50: Final = {"person": (0, 1), "auction": (1, 3), "bid": (4, 46)}
"""Where a kind's events begin in each 50, and how many they are."""
_FIRST_ID: Final = 1_000
_CATEGORIES: Final = (10, 5)
"""The first category, and how many."""
_HOT: Final = {"auction": 2, "bidder": 4, "seller": 4, "channel": 2}
"""One in so many events is not about the hot one (a recent auction, bidder, seller; a big channel)."""
_HOT_EACH: Final = 100
"""One in so many auctions, bidders and sellers is hot while it is among the newest."""
_RECENT_PERSONS, _RECENT_AUCTIONS = 1_000, 100
_WORD: Final = 12
"""Letters of a word of random text."""
_START: Final = 1_704_067_200_000_000

_FIRST_NAMES: Final = ("Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter")
_LAST_NAMES: Final = ("Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris")
_CITIES: Final = (
    "Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend", "Redmond", "Seattle", "Kent", "Cheyenne",
)  # fmt: skip
_STATES: Final = ("AZ", "CA", "CA", "ID", "OR", "OR", "WA", "WA", "WA", "WY")
_CHANNELS: Final = ("Google", "Facebook", "Baidu", "Apple")


class Nexmark:
    """The generator and its settings.

    Args:
        options: see `OPTIONS`.
        start: the first event's time, microseconds.
    """

    def __init__(self, options: Mapping[str, str], start: int | None = None) -> None:
        self._kind = choice(options, "kind", KINDS, "bid")
        self.schema = SCHEMAS[self._kind]
        self.rows = rows_option(options)
        self._seed = whole(options, "seed", 1)
        self._per_second = whole(options, "per_second", 10_000, least=1)
        self._start = _START if start is None else start

    def read(self, columns: frozenset[str]) -> Iterator[pl.DataFrame]:
        """The rows in the order of their times, these columns of them."""
        make = {"person": self._person, "auction": self._auction, "bid": self._bid}[self._kind]
        offset, share = _OF_50[self._kind]
        for first, count in blocks(self.rows):
            number = np.arange(first, first + count, dtype=np.int64)
            event = number // share * 50 + offset + number % share
            made = make(event, number, _Random(self._seed, self._kind, first, count))
            yield pl.DataFrame({name: made[name]() for name in self.schema.names if name in columns})

    def _time(self, event: Int64s) -> pl.Series:
        return pl.Series(self._start + event * 1_000_000 // self._per_second).cast(TIMESTAMP)

    def _person(self, event: Int64s, number: Int64s, rnd: _Random) -> dict[str, Callable[[], Any]]:
        first, last = rnd.below(1, len(_FIRST_NAMES)), rnd.below(2, len(_LAST_NAMES))
        place = rnd.below(3, len(_CITIES))
        first_name, last_name = pl.Series("f", _FIRST_NAMES).gather(first), pl.Series("l", _LAST_NAMES).gather(last)
        return {
            "id": lambda: number + _FIRST_ID,
            "name": lambda: first_name + " " + last_name,
            "emailAddress": lambda: first_name.str.to_lowercase() + "@" + last_name.str.to_lowercase() + ".example",
            "creditCard": lambda: _digits(rnd.below(4, 10**16), 16).str.replace(
                r"(\d{4})(\d{4})(\d{4})(\d{4})", "$1 $2 $3 $4"
            ),
            "city": lambda: pl.Series(_CITIES).gather(place),
            "state": lambda: pl.Series(_STATES).gather(place),
            "dateTime": lambda: self._time(event),
            "extra": lambda: rnd.text(5),
        }

    def _auction(self, event: Int64s, number: Int64s, rnd: _Random) -> dict[str, Callable[[], Any]]:
        initial = _price(rnd, 1)
        # An auction lives for about as long as a hundred of them are opened.
        lasts = np.maximum(1, rnd.below(2, 2 * _RECENT_AUCTIONS * 50 // 3 * 1_000_000 // self._per_second + 1))
        persons = event // 50 + 1
        return {
            "id": lambda: number + _FIRST_ID,
            "itemName": lambda: rnd.text(3),
            "description": lambda: rnd.text(4) + " " + rnd.text(5),
            "initialBid": lambda: initial,
            "reserve": lambda: initial + _price(rnd, 6),
            "dateTime": lambda: self._time(event),
            "expires": lambda: pl.Series(self._time(event).to_physical() + lasts).cast(TIMESTAMP),
            "seller": lambda: _FIRST_ID + rnd.hot_or_recent(7, persons, _HOT["seller"], _RECENT_PERSONS, hottest=0),
            "category": lambda: _CATEGORIES[0] + rnd.below(8, _CATEGORIES[1]),
            "extra": lambda: rnd.text(9),
        }

    def _bid(self, event: Int64s, number: Int64s, rnd: _Random) -> dict[str, Callable[[], Any]]:
        persons, auctions = event // 50 + 1, (event // 50 + 1) * 3
        big = rnd.below(5, _HOT["channel"]) > 0
        channel = rnd.below(6, 10_000)
        names = pl.select(
            pl.when(pl.Series(big))
            .then(pl.Series(_CHANNELS).gather(channel % len(_CHANNELS)))
            .otherwise("channel-" + pl.Series(channel).cast(pl.String))
        ).to_series()
        return {
            "auction": lambda: _FIRST_ID + rnd.hot_or_recent(1, auctions, _HOT["auction"], _RECENT_AUCTIONS, hottest=0),
            "bidder": lambda: _FIRST_ID + rnd.hot_or_recent(2, persons, _HOT["bidder"], _RECENT_PERSONS, hottest=1),
            "price": lambda: _price(rnd, 3),
            "channel": lambda: names,
            "url": lambda: "https://www.nexmark.example/" + names.str.to_lowercase() + "/item.htm?query=1",
            "dateTime": lambda: self._time(event),
            "extra": lambda: rnd.text(8),
        }


class _Random:
    """Random columns of one block; each purpose has a stream of its own, so that none depends on what else is read."""

    def __init__(self, seed: int, kind: str, first: int, count: int) -> None:
        self._key = (seed, KINDS.index(kind), first)
        self._count = count

    def _rng(self, purpose: int, part: int = 0) -> np.random.Generator:
        return np.random.default_rng([*self._key, purpose, part])

    def below(self, purpose: int, limit: int, part: int = 0) -> Int64s:
        return self._rng(purpose, part).integers(0, limit, self._count)

    def uniform(self, purpose: int) -> np.ndarray[Any, np.dtype[np.float64]]:
        return self._rng(purpose).random(self._count)

    def text(self, purpose: int) -> pl.Series:
        letters = self._rng(purpose).integers(97, 123, self._count * _WORD, dtype=np.uint8)
        ends = np.arange(0, (self._count + 1) * _WORD, _WORD, dtype=np.int64)
        return pl.Series(pa.LargeStringArray.from_buffers(self._count, pa.py_buffer(ends), pa.py_buffer(letters)))

    def hot_or_recent(self, purpose: int, existing: Int64s, ratio: int, recent: int, hottest: int) -> Int64s:
        """Numbers of things below `existing`: mostly the newest hot one, else any of the recent ones."""
        hot = self.below(purpose, ratio, part=1) > 0
        newest_hot = np.minimum((existing - 1) // _HOT_EACH * _HOT_EACH + hottest, existing - 1)
        among = np.minimum(existing, recent)
        some = existing - 1 - (self._rng(purpose, 2).random(self._count) * among).astype(np.int64)
        return np.where(hot, newest_hot, some)


def _price(rnd: _Random, purpose: int) -> Int64s:
    return np.round(10.0 ** (rnd.uniform(purpose) * 6.0) * 100.0).astype(np.int64)


def _digits(numbers: Int64s, width: int) -> pl.Series:
    return pl.Series(numbers).cast(pl.String).str.zfill(width)
