"""`redis://host:port/key`: the entries of a stream of Redis, read by their ids, or what is published to a channel.

Redis keeps the entries of a stream, so a lost connection loses nothing. It keeps nothing that is published.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any, ClassVar, Final

import polars as pl

from jupyter_stream.core.schema import TIMESTAMP, Schema
from jupyter_stream.errors import SourceError
from jupyter_stream.sources.broker import ANSWER, CREDENTIALS, AccessRefused, BrokerSource, ServerUnreachable, missing
from jupyter_stream.sources.inbox import Inbox, Item
from jupyter_stream.sources.messages import OPTIONS
from jupyter_stream.sources.options import choice, split_query, whole
from jupyter_stream.sources.positioned import PositionedSource
from jupyter_stream.sources.protocol import BATCH_ROWS, Chunk, Context, Request, Source, SourceConnector
from jupyter_stream.sources.redis_entries import as_json, typed

_AT_ONCE: Final = 1_000
"""Entries asked for at once."""
_LOOK: Final = 0.1
"""Seconds a question waits for new messages."""
_ID: Final = re.compile(r"\d+(-\d+)?")


class RedisSource(BrokerSource):
    """A stream or a channel of Redis."""

    about = Schema.of([("id", pl.String()), ("timestamp", TIMESTAMP), ("channel", pl.String())])
    example = "redis://localhost:6379/ticks"
    takes: ClassVar[Mapping[str, str]] = {
        "type": "'stream' for the entries of a stream (the default), 'pubsub' for what is published to a channel or, as in "
        "'news.*', to several",
        "start": "'latest' for what comes from now on (the default), 'earliest', or the id of the entry after which to begin",
        "end": "'latest' for a replay up to the newest entry there is, from 'earliest' or from `start`; 'never' by default",
        "field": "the field of an entry that holds the message; without it, the fields are the columns",
        "db": "the number of the database, 0 by default",
        **OPTIONS,
        "id": "the column that has the id of an entry",
        "timestamp": "the column that has the time of an entry, as its id tells",
        "channel": "the column that has the channel of what was published",
        "config": CREDENTIALS,
    }
    port = 6379

    def check(self) -> None:
        """Raise `SourceError` for what can't be."""
        self._client = _library(self.scheme)
        self._key = self.path.strip("/")
        if not self._key:
            raise SourceError(f"'{self.shown}' names no stream.", hint=f"Write '{self.example}'.")
        self._published = choice(self.options, "type", ("stream", "pubsub"), "stream") == "pubsub"
        self._start = self.options.get("start", "latest").strip().lower()
        if self._start not in ("latest", "earliest") and not _ID.fullmatch(self._start):
            raise SourceError(
                f"Option start = '{self._start}' is no place in a stream of Redis.",
                hint="Write start = 'latest', 'earliest' or an entry's id such as '1700000000000-0', after which to begin.",
            ).about("start")
        if self._published and self.options.get("end") == "latest":
            raise SourceError(
                "What is published to a channel has no end.", hint="Leave end out; a job runs --for a time."
            )
        alone = ("start", "field", "id", "timestamp") if self._published else ("channel",)
        for name in alone:
            if name in self.options:
                other = "stream" if self._published else "pubsub"
                raise SourceError(f"Option {name} is for type = '{other}'.", hint=f"Leave {name} out.").about(name)
        self._field = self.options.get("field")
        self._entries = not self._published and self._field is None
        if self._entries and "format" in self.options:
            raise SourceError(
                "Option format says how one field of an entry is written.",
                hint="Write field = 'data' to name it, or leave format out: the fields of an entry are then the columns.",
            ).about("format")
        self._db = whole(self.options, "db", 0)

    def discover(self, values: Sequence[bytes]) -> Schema:
        """The columns of the first entries: their fields, or what the field named holds."""
        return typed(values) if self._entries else super().discover(values)

    def receive(self, inbox: Inbox) -> None:
        """One connection. The id of the last entry is kept for the next."""
        with self.as_source_errors(), closing(self._connection()) as redis:
            if self._published:
                self._listen(redis, inbox)
            else:
                self._follow(redis, inbox)

    @contextmanager
    def as_source_errors(self) -> Iterator[None]:
        """Errors of the library as those of a source."""
        errors = self._client.exceptions
        try:
            yield
        except (errors.AuthenticationError, errors.NoPermissionError) as error:
            raise AccessRefused(f"Redis at {self.at} refuses: {error}.") from None
        except (errors.ConnectionError, errors.TimeoutError, OSError) as error:
            raise ServerUnreachable(f"No Redis answers at {self.at}: {error}.") from None
        except errors.ResponseError as error:
            text = str(error)
            if text.startswith(("NOAUTH", "WRONGPASS", "NOPERM")):
                raise AccessRefused(f"Redis at {self.at} refuses: {text}.") from None
            if text.startswith("WRONGTYPE"):
                raise SourceError(
                    f"The key '{self._key}' of Redis at {self.at} is no stream.",
                    hint="Write type = 'pubsub' for a channel.",
                ) from None
            raise SourceError(f"Redis at {self.at} says: {text}.") from None

    def _connection(self) -> Any:
        config = self.config
        tls = self.scheme == "rediss"
        secure = {
            "ssl_ca_certs": config.get("ca"),
            "ssl_certfile": config.get("cert"),
            "ssl_keyfile": config.get("key"),
        }
        return self._client.Redis(
            host=self.host,
            port=self.given_port or self.port,
            db=self._db,
            username=config.get("username") or None,
            password=config.get("password") or None,
            socket_connect_timeout=ANSWER,
            socket_timeout=_LOOK + ANSWER,
            retry=_never(),
            protocol=2,
            **({"ssl": True, **secure} if tls else {}),
        )

    def _follow(self, redis: Any, inbox: Inbox) -> None:
        if inbox.position is None:
            inbox.begins(self._begin(redis, inbox))
        else:
            self._look_for_gap(redis, inbox)
        inbox.is_connected()
        while not inbox.closed.is_set():
            found = redis.xread({self._key: inbox.position}, count=_AT_ONCE, block=int(_LOOK * 1000))
            for _, entries in found or ():
                inbox.put([self._item(id_.decode(), fields) for id_, fields in entries])
                inbox.position = entries[-1][0]

    def _begin(self, redis: Any, inbox: Inbox) -> bytes | str:
        """The id after which to begin. A look at the columns takes the newest entries that are there."""
        newest = redis.xrevrange(self._key, count=100 if inbox.looking else 1)
        if inbox.looking:
            inbox.put([self._item(id_.decode(), fields) for id_, fields in reversed(newest)])
        if self._start == "latest":
            return newest[0][0] if newest else self._last(redis)
        return "0-0" if self._start == "earliest" else self._start

    def _last(self, redis: Any) -> bytes | str:
        """The id of the last entry that was ever added, where all have been deleted."""
        if not redis.exists(self._key):
            return "0-0"
        last: bytes = redis.xinfo_stream(self._key)["last-generated-id"]
        return last

    def _look_for_gap(self, redis: Any, inbox: Inbox) -> None:
        """Tell what the stream no longer has of what comes behind the position."""
        if not redis.exists(self._key):
            if _number(inbox.position) > (0, 0):
                inbox.refuse("", f"the stream was deleted after entry {_text(inbox.position)} was read")
            return
        about = redis.xinfo_stream(self._key)
        position = _number(inbox.position)
        if _number(about["last-generated-id"]) < position:
            raise SourceError(
                f"The stream '{self._key}' of Redis at {self.at} ends at {_text(about['last-generated-id'])}, and entry "
                f"{_text(inbox.position)} was read.",
                hint="It was made anew: start the query anew, too (--checkpoint-reset, where it has a checkpoint).",
            )
        first = about["first-entry"]
        gone = first is None or _number(first[0]) > position
        if gone and position > (0, 0) and _number(about["last-generated-id"]) > position:
            from_ = "nothing" if first is None else f"entry {_text(first[0])}"
            inbox.refuse(
                "", f"the stream was cut and begins with {from_}: entries behind {_text(inbox.position)} may be lost"
            )

    def _item(self, id_: str, fields: Mapping[bytes, bytes]) -> Item:
        value = as_json(fields) if self._field is None else fields.get(self._field.encode(), b"")
        return value, id_, int(id_.partition("-")[0]) * 1_000, None

    def _listen(self, redis: Any, inbox: Inbox) -> None:
        listener = redis.pubsub(ignore_subscribe_messages=True)
        try:
            pattern = any(c in self._key for c in "*[")
            (listener.psubscribe if pattern else listener.subscribe)(self._key)
            listener.get_message(ignore_subscribe_messages=False, timeout=ANSWER)  # it is there from here on
            inbox.is_connected()
            while not inbox.closed.is_set():
                message = listener.get_message(timeout=_LOOK)
                if message is not None:
                    channel = message["channel"].decode(errors="replace")
                    inbox.offer([(message["data"], channel, None, channel)])
        finally:
            listener.close()


class RedisStreamSource(RedisSource, PositionedSource):
    """The entries of a stream, live, or as a replay of those there are when it is opened."""

    def check(self) -> None:
        """Look at the address and the options; for a replay, at where the stream ends."""
        super().check()
        self.replayable = choice(self.options, "end", ("never", "latest"), "never") == "latest"
        if not self.replayable:
            return
        self._start = "earliest" if "start" not in self.options else self._start
        with self.as_source_errors(), closing(self._connection()) as redis:
            about = redis.xinfo_stream(self._key) if redis.exists(self._key) else {}
        self._end = about.get("last-generated-id", b"0-0")

    def position_after(self, item: Item) -> object:
        """The id of the entry."""
        return item[1]

    def read(self, request: Request) -> Iterator[Chunk]:
        """Entries as they come, or all there were when it was opened."""
        return self._replayed(request, None) if self.replayable else super().read(request)

    def read_on(self, request: Request, place: object) -> Iterator[Chunk]:
        """As `read`, behind the entry that a former read had reached."""
        return self._replayed(request, place) if self.replayable else super().read_on(request, place)

    def _replayed(self, request: Request, place: object) -> Iterator[Chunk]:
        parser = self.parser(request)
        begin = place or {"earliest": b"0-0", "latest": self._end}.get(self._start, self._start)
        number = 0
        with self.as_source_errors(), closing(self._connection()) as redis:
            while not request.stop.is_set():
                entries = redis.xrange(self._key, min=f"({_text(begin)}", max=self._end, count=BATCH_ROWS)
                if not entries:
                    return
                items = [self._item(id_.decode(), fields) for id_, fields in entries]
                begin = items[-1][1]
                yield replace(parser.parse(self.described(items, parser.told, number)), place=begin)
                number += len(items)


def _number(id_: object) -> tuple[int, int]:
    """An entry's id as a pair that compares as Redis compares."""
    millis, _, count = _text(id_).partition("-")
    return int(millis), int(count or 0)


def _text(id_: object) -> str:
    return id_.decode() if isinstance(id_, bytes) else str(id_)


def _library(scheme: str) -> Any:
    try:
        import redis
    except ImportError:
        raise missing(scheme, "redis", "redis") from None
    return redis


def _never() -> Any:
    """Trying again is our business: the library would do so in silence."""
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    return Retry(NoBackoff(), 0)


def _open(context: Context) -> Source:
    given = {**context.options, **split_query(context.path)[1]}
    published = given.get("type", "").strip().lower() == "pubsub"
    return RedisSource(context) if published else RedisStreamSource(context)


REDIS = SourceConnector(
    scheme="redis",
    also=("rediss",),
    example=RedisSource.example,
    options=RedisSource.takes,
    open=_open,
    to_end={"end": "latest"},
)
