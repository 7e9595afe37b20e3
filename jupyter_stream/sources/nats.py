"""`nats://host:port/subject`: what JetStream keeps of a subject, read by its sequence numbers, or else what is sent meanwhile.

JetStream keeps messages, so a lost connection loses nothing. Core NATS keeps none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, ClassVar, Final

import polars as pl

from jupyter_stream.core.address import CREDENTIALS, PLAIN
from jupyter_stream.core.nats_connection import ANSWER, PORT, connected, run
from jupyter_stream.core.schema import TIMESTAMP, Schema
from jupyter_stream.errors import SourceError
from jupyter_stream.sources.broker import AccessRefused, BrokerSource, ServerUnreachable, missing
from jupyter_stream.sources.inbox import Inbox, Item
from jupyter_stream.sources.messages import OPTIONS
from jupyter_stream.sources.options import choice, split_query
from jupyter_stream.sources.positioned import PositionedSource
from jupyter_stream.sources.protocol import Context, Source, SourceConnector

_LOOK: Final = 0.1
"""Seconds between looks whether more is wanted."""
_AT_ONCE: Final = 1_000
"""Messages asked for at once."""
_HEAD: Final = 100
"""Messages that are there and looked at for their columns."""


class NatsSource(BrokerSource):
    """The messages of a subject, or of several with `*` and `>`."""

    about = Schema.of([("sequence", pl.Int64()), ("subject", pl.String()), ("timestamp", TIMESTAMP)])
    example = "nats://localhost:4222/trades.*"
    takes: ClassVar[Mapping[str, str]] = {
        "type": "'jetstream' for what a stream of JetStream keeps, 'core' for what is sent meanwhile; by default the first where "
        "a stream keeps the subject",
        "start": "'latest' for what comes from now on (the default), 'earliest', or the sequence number to begin with; for "
        "JetStream",
        **OPTIONS,
        "sequence": "the column that has the sequence number of a message in its stream",
        "subject": "the column that has the subject of a message",
        "timestamp": "the column that has the time at which JetStream got a message",
        "config": CREDENTIALS,
    }
    known = frozenset({*PLAIN, "token"})
    port = PORT

    def check(self) -> None:
        """Raise `SourceError` for what can't be."""
        self._nats = _library(self.scheme)
        self._subject = self.path.strip("/")
        if not self._subject or "/" in self._subject or " " in self._subject:
            raise SourceError(f"'{self.shown}' names no subject.", hint=f"Write '{self.example}'.")
        self._type = choice(self.options, "type", ("auto", "jetstream", "core"), "auto")
        self._start = self.options.get("start", "latest").strip().lower()
        if self._start not in ("latest", "earliest") and not self._start.isdecimal():
            raise SourceError(
                f"Option start = '{self._start}' is no place in a stream of JetStream.",
                hint="Write start = 'latest', 'earliest' or a sequence number such as '1000'.",
            ).about("start")
        if self._type == "core" and "start" in self.options:
            raise SourceError("Option start is for JetStream: core NATS keeps nothing.", hint="Leave start out.").about(
                "start"
            )

    def receive(self, inbox: Inbox) -> None:
        """One connection. The number of the next message of JetStream is kept for the next."""
        try:
            run(self._received(inbox))
        except self._nats.errors.Error as error:
            text = str(error) or type(error).__name__
            kind = AccessRefused if "authorization" in text.lower() else ServerUnreachable
            raise kind(f"No NATS answers at {self.at}: {text}.") from None
        except (OSError, TimeoutError) as error:
            raise ServerUnreachable(f"No NATS answers at {self.at}: {error}.") from None

    async def _received(self, inbox: Inbox) -> None:
        client = await connected(self.address, self.config)
        try:
            jetstream = client.jetstream(timeout=ANSWER)
            stream = None if self._type == "core" else await self._stream(jetstream)
            if stream is None:
                await self._listen(client, inbox)
            else:
                await self._follow(client, jetstream, stream, inbox)
        finally:
            await client.close()

    async def _stream(self, jetstream: Any) -> str | None:
        """The stream that keeps the subject."""
        errors = self._nats.js.errors
        try:
            name: str = await jetstream.find_stream_name_by_subject(self._subject)
        except (errors.NotFoundError, errors.ServiceUnavailableError, self._nats.errors.NoRespondersError):
            if self._type == "auto" and "start" not in self.options:
                return None
            raise SourceError(
                f"No stream of JetStream at {self.at} keeps the subject '{self._subject}'.",
                hint=f"Make one: nats stream add --subjects '{self._subject}', or write type = 'core'.",
            ) from None
        return name

    async def _follow(self, client: Any, jetstream: Any, stream: str, inbox: Inbox) -> None:
        from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy

        state = (await jetstream.stream_info(stream)).state
        if inbox.position is None:
            inbox.begins(self._begin(state.first_seq, state.last_seq, looking=inbox.looking))
        else:
            self._look_for_gap(inbox, state)
        config = ConsumerConfig(
            ack_policy=AckPolicy.NONE,
            deliver_policy=DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=max(1, inbox.position),
            inactive_threshold=60.0,
        )
        consumer = await jetstream.pull_subscribe(self._subject, stream=stream, config=config)
        inbox.is_connected()
        while not inbox.closed.is_set() and client.is_connected:
            try:
                messages = await consumer.fetch(_AT_ONCE, timeout=_LOOK)
            except self._nats.errors.TimeoutError:
                continue
            if not messages:  # as the library gives now and then in the place of a TimeoutError
                continue
            told = [(m, m.metadata) for m in messages]
            inbox.put([(m.data, t.sequence.stream, m.subject, int(t.timestamp.timestamp() * 1e6)) for m, t in told])
            inbox.position = told[-1][1].sequence.stream + 1

    def _look_for_gap(self, inbox: Inbox, state: Any) -> None:
        """Tell what the stream no longer has of what comes at the position."""
        position = inbox.position
        if state.last_seq < position - 1:
            raise SourceError(
                f"The stream of '{self._subject}' at {self.at} ends at number {state.last_seq}, and {position - 1} was read.",
                hint="It was made anew: start the query anew, too (--checkpoint-reset, where it has a checkpoint).",
            )
        if state.first_seq > position and inbox.connected == 0:
            gone = f"{position} to {state.first_seq - 1}"
            inbox.refuse(
                "",
                f"the stream has deleted its messages {gone} before they were read, those of other subjects among them",
            )

    def _begin(self, first: int, last: int, *, looking: bool) -> int:
        if looking:
            return max(first, last - _HEAD + 1)
        if self._start == "latest":
            return last + 1
        return first if self._start == "earliest" else int(self._start)

    async def _listen(self, client: Any, inbox: Inbox) -> None:
        waiting: list[tuple[bytes, None, str, None]] = []

        async def heard(message: Any) -> None:
            waiting.append((message.data, None, message.subject, None))

        await client.subscribe(self._subject, cb=heard)
        await client.flush(ANSWER)  # it is there from here on
        inbox.is_connected()
        while not inbox.closed.is_set() and client.is_connected:
            await asyncio.sleep(_LOOK / 5)
            if waiting:
                inbox.offer(waiting)
                waiting.clear()


def _library(scheme: str) -> Any:
    try:
        import nats
        import nats.errors
        import nats.js.errors
    except ImportError:
        raise missing(scheme, "nats-py", "nats") from None
    return nats


class JetStreamSource(NatsSource, PositionedSource):
    """What a stream of JetStream keeps of a subject, where that is said: it goes on by sequence numbers."""

    def position_after(self, item: Item) -> object:
        """The number after that of the message."""
        return int(item[1]) + 1


def _open(context: Context) -> Source:
    given = {**context.options, **split_query(context.path)[1]}
    kept = given.get("type", "").strip().lower() == "jetstream" or "start" in given
    return JetStreamSource(context) if kept else NatsSource(context)


NATS = SourceConnector(scheme="nats", example=NatsSource.example, options=NatsSource.takes, open=_open)
