"""`kafka://host:port/topic`: the messages of a topic, as they come or replayed by offset. No group is joined, nothing committed.

A live read takes messages in the order the broker hands them over. A replay (`end = 'latest'`) must give one order each time, so
it merges the partitions by the times of their messages, as a live read does with what is there already. Lost connections are the
client library's business: it comes back and goes on at the offset where it was. A live read whose broker
or topic isn't there waits for it, and says so.
"""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast

import numpy as np
import polars as pl

from jupyter_stream.core import logs
from jupyter_stream.core.schema import TIMESTAMP, Schema
from jupyter_stream.core.topic import Topic
from jupyter_stream.errors import SourceError
from jupyter_stream.secrets import remember, secret
from jupyter_stream.sources.complaints import Complaints
from jupyter_stream.sources.journal import Journal, Slice, slices_of
from jupyter_stream.sources.messages import (
    OPTIONS,
    MessageFormat,
    MessageParser,
    Messages,
    schema_of_options,
    undeclared,
)
from jupyter_stream.sources.options import check_known, choice, did_you_mean, split_query
from jupyter_stream.sources.protocol import BATCH_ROWS, Chunk, Context, Request, Source, SourceConnector, wanted
from jupyter_stream.sources.text import batches
from jupyter_stream.sources.topic_head import newest

log = logs.of(__name__)

Offsets: TypeAlias = Mapping[int, int]
"""An offset for each partition, by its number."""
_Span: TypeAlias = tuple[Offsets, Offsets]
"""Where a read begins, and what is there then."""

_ANSWER: Final = 10.0
"""Seconds a broker has to answer when a source is opened."""
_TRY: Final = 1.0
"""Seconds a broker has to answer before the view says that a live stream waits for it."""
_AGAIN: Final = 0.5
"""Seconds until it is asked again."""
_LOOK: Final = 0.1
"""Seconds between looks at `stop` while waiting."""
_PARTITIONS: Final = 30.0
"""Seconds between looks for partitions added to the topic."""
_HELD: Final = 2 * BATCH_ROWS
"""Messages of a partition that wait in a replay for those of others, before it is held back."""
_BROKER: Final = Schema.of(
    [("key", pl.String()), ("timestamp", TIMESTAMP), ("partition", pl.Int64()), ("offset", pl.Int64())]
)
"""What the broker says of a message."""
_WRITTEN: Final = frozenset({*OPTIONS, "config"})
"""Options that say how messages are written and how to get them, not which."""
_PAIR: Final = re.compile(r"(\d+)\s*:\s*(\d+)")
_EXAMPLE: Final = "Write start = 'earliest', 'latest', '1000' for all partitions or '0:1000, 2:500' for some."


class _Unreachable(SourceError):
    """No broker answers, or it doesn't know the topic: that may change."""


class _NoTopic(_Unreachable):
    """A broker answers, and there is no such topic."""


class KafkaSource:
    """The messages of one topic.

    Live, unless it ends at `end = 'latest'`: then each read gives the messages there were when it was opened, in one order.

    Raises:
        SourceError: when it is made: no columns declared and no message that tells them, an option that can't be, the package
            `confluent-kafka` missing; and where it ends at `end = 'latest'`, no broker that answers, or no such topic.
    """

    units: Mapping[str, str]
    catches_up = True

    def __init__(self, context: Context) -> None:
        where, query = split_query(context.path)
        check_known(query, KAFKA.options, "kafka://")
        options = {**context.options, **query}
        self._brokers, _, self._topic = where.partition("/")
        if not self._brokers or not self._topic or "/" in self._topic:
            raise SourceError(f"'{context.uri}' names no topic.", hint=f"Write '{KAFKA.example}'.")
        user, at, _ = self._brokers.rpartition("@")
        if at:  # the client library would take it for the name of a host, and show it
            remember(user.partition(":")[2])
            raise SourceError(
                "A user and password can't stand in the address of a Kafka broker.",
                hint="Write them into a variable: mine = {'sasl.username': ..., 'sasl.password': ..., ...}, and config = 'mine'.",
            )
        self.units = {}
        told = {options[name]: name for name in _BROKER.names if name in options}
        self.replayable = choice(options, "end", ("never", "latest"), "never") == "latest"
        self._start = _start(options.get("start", "earliest" if self.replayable else "latest"))
        self._config = _config(options, context.namespace)
        self._client = _library()
        self._written = {name: value for name, value in options.items() if name in _WRITTEN}
        self._known: list[int] = []
        self._from: Offsets = {}
        self._to: Offsets = {}
        self._head: list[bytes] = []
        self._consumer(_quiet).close()  # settings that can't be are told here
        self.schema: Schema = context.schema or self._found(options, told, context.uri)
        self._form = MessageFormat(options, self.schema, told, _BROKER, f"kafka://{where}")
        self._form.is_found = context.schema is None
        if self.replayable:
            self._look_at_topic()

    @property
    def topic(self) -> Topic:
        """What it reads, for an engine that has a connector of its own."""
        start: Literal["earliest", "latest"] | Mapping[int, int | None]
        if isinstance(self._start, str):
            start = "latest" if self._start == "latest" else "earliest"
        else:
            offsets = self._start
            start = {p: offsets.get(p, offsets.get(None)) for p in self._known or self._look()}
        form = self._form
        return Topic(self._brokers, self._topic, start, self.replayable, form.record, form.told, self._written)

    def read(self, request: Request) -> Iterator[Chunk]:
        """Messages as they come until told to stop, or all there were when it was opened.

        Raises:
            SourceError: the broker has deleted messages that are to be read, or doesn't let them be read.
        """
        if self.replayable:
            return self._rows(request, lambda consumer: self._replayed(consumer, request, self._from, self._to))
        return self._rows(
            request, lambda consumer: self._live(consumer, request, self._when_there(consumer, request, {}))
        )

    def read_again(self, request: Request, journal: Path) -> Iterator[Chunk]:
        """As `read`, after the messages of a former read that the journal tells of, in the order they had.

        Raises:
            SourceError: the broker has deleted messages that are to be read, or doesn't let them be read.
        """
        return self._rows(request, lambda consumer: self._journaled(consumer, request, Journal(journal)))

    def read_on(self, request: Request, place: object) -> Iterator[Chunk]:
        """As `read`, from the offsets that a former read had reached.

        Raises:
            SourceError: the broker has deleted messages that are to be read, or doesn't let them be read.
        """
        reached = dict(cast("Offsets", place or {}))
        return self._rows(request, lambda consumer: self._from_there(consumer, request, reached), reached)

    def peek(self) -> pl.DataFrame:
        """The messages that told the columns; none where they were declared."""
        return self._form.first_rows(self._head)

    def _from_there(self, consumer: Any, request: Request, reached: dict[int, int]) -> Iterator[list[Any]]:
        if self.replayable:
            yield from self._replayed(consumer, request, {**self._from, **reached}, self._to)
            return
        begin, there = self._when_there(consumer, request, reached)
        reached |= begin
        yield []  # what comes from now on is not to be missed by a read that goes on here
        yield from self._live(consumer, request, (begin, there))

    def _rows(
        self,
        request: Request,
        messages: Callable[[Any], Iterator[list[Any]]],
        reached: dict[int, int] | None = None,
    ) -> Iterator[Chunk]:
        parser = self._form.parser(wanted(self.schema, request), request.remarks)
        complaints = Complaints(log, f"kafka://{self._brokers}/{self._topic}")
        consumer = self._consumer(lambda error: self._heard(error, complaints, request))
        try:
            for found in messages(consumer):
                complaints.over()
                request.trouble.over()
                if reached is None:
                    yield from batches(parser.parse(self._described(found, parser)))
                    continue
                fields = Schema(wanted(self.schema, request))
                chunk = parser.parse(self._described(found, parser)) if found else Chunk(fields.empty())
                for message in found:
                    reached[message.partition()] = message.offset() + 1
                yield replace(chunk, place=dict(reached))
        finally:
            consumer.close()

    def _heard(self, error: Any, complaints: Complaints, request: Request) -> None:
        """The client library says that something went wrong, and goes on."""
        complaints.heard(error.code(), error.str())
        if error.code() == self._client.KafkaError._ALL_BROKERS_DOWN:
            request.trouble.text = f"No Kafka broker answers at {self._brokers}; the stream goes on when one does."

    def _found(self, options: Mapping[str, str], told: Mapping[str, str], uri: str) -> Schema:
        """The columns of messages that are there, or of the first ones that come; and those that the broker tells."""
        record = schema_of_options(options)
        if record is None:
            form = MessageFormat(options, Schema.of([("value", pl.String())]), {}, _BROKER, f"kafka://{self._topic}")
            consumer = self._consumer(_quiet)
            try:
                bounds = {p: self._bounds(consumer, p, _ANSWER) for p in self._partitions(consumer, _ANSWER)}
                values = newest(self._client, consumer, self._topic, bounds)
            except _Unreachable as error:
                raise SourceError(f"{error.message} {undeclared(uri).message}", hint=undeclared(uri).hint) from None
            finally:
                consumer.close()
            if not values:
                raise SourceError(
                    f"No message came within 10 seconds. {undeclared(uri).message}", hint=undeclared(uri).hint
                )
            record, self._head = form.discover(values), values
        types = _BROKER.polars()
        return Schema.of(
            [*((f.name, f.dtype) for f in record), *((n, types[c]) for n, c in told.items() if n not in record.names)]
        )

    # -- where to read -----------------------------------------------------------------------------------------------

    def _look(self) -> list[int]:
        """The topic's partitions."""
        consumer = self._consumer(_quiet)
        try:
            return self._partitions(consumer, _ANSWER)
        finally:
            consumer.close()

    def _look_at_topic(self) -> None:
        consumer = self._consumer(_quiet)
        try:
            self._known = self._partitions(consumer, _ANSWER)
            bounds = {p: self._bounds(consumer, p, _ANSWER) for p in self._known}
            self._to = {p: high for p, (_, high) in bounds.items()}
            self._from = {p: min(self._first(p, bounds[p]), bounds[p][1]) for p in self._known}
        finally:
            consumer.close()

    def _consumer(self, lost: Callable[[Any], None]) -> Any:
        settings = {
            "bootstrap.servers": self._brokers,
            "group.id": "jupyter-stream",  # the library asks for one; only subscribing would join it
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "error",  # what is no longer there must be told, never skipped
            "fetch.wait.max.ms": 100,
            "error_cb": lost,
            "log_level": 0,  # the library would write the same to standard error, each time it tries
            **self._config,
        }
        try:
            return self._client.Consumer(settings)
        except self._client.KafkaException as error:
            raise SourceError(f"kafka:// can't be set up with these settings: {_message_of(error)}.") from None

    def _partitions(self, consumer: Any, patience: float) -> list[int]:
        try:
            topic = consumer.list_topics(self._topic, timeout=patience).topics[self._topic]
            if topic.error is None:
                return sorted(topic.partitions)
            names = [n for n in consumer.list_topics(timeout=patience).topics if not n.startswith("__")]
        except self._client.KafkaException as error:
            raise _Unreachable(
                f"No Kafka broker answers at {self._brokers}: {_message_of(error)}.",
                hint="Is it running, and does it listen there? Its advertised address must be reachable from here, too.",
            ) from None
        exist = f"There are {', '.join(sorted(names))}." if names else "There is none yet."
        raise _NoTopic(
            f"There is no topic '{self._topic}' at {self._brokers}.", hint=did_you_mean(self._topic, names, exist)
        )

    def _bounds(self, consumer: Any, partition: int, patience: float) -> tuple[int, int]:
        """The first offset that is there, and the one the next message will have."""
        try:
            found = consumer.get_watermark_offsets(
                self._client.TopicPartition(self._topic, partition), timeout=patience
            )
        except self._client.KafkaException as error:
            raise _Unreachable(f"The offsets of topic '{self._topic}' can't be read: {_message_of(error)}.") from None
        low, high = found
        return int(low), int(high)

    def _first(self, partition: int, bounds: tuple[int, int]) -> int:
        """Where a read begins."""
        if self._start == "latest":
            return bounds[1]
        if isinstance(self._start, str):
            return bounds[0]
        return self._start.get(partition, self._start.get(None, bounds[0]))

    # -- reading -----------------------------------------------------------------------------------------------------

    def _when_there(self, consumer: Any, request: Request, known: Offsets) -> _Span:
        """Where a live read begins and what is there then, once a broker answers that has the topic; until then it says why not.

        A topic that wasn't there when the read began is read from its first message.
        """
        new = False
        while not request.stop.is_set():
            try:
                begin = self._begin(consumer, known, new=new)
                there = {p: max(offset, self._bounds(consumer, p, _TRY)[1]) for p, offset in begin.items()}
            except _Unreachable as error:
                new = new or isinstance(error, _NoTopic)
                request.trouble.text = f"{error.message} {error.hint or ''} The stream begins when it is there."
                request.stop.wait(_AGAIN)
            else:
                request.trouble.over()
                return begin, there
        return {}, {}

    def _begin(self, consumer: Any, known: Offsets, *, new: bool) -> dict[int, int]:
        """Where a live read begins: a partition that came since it was read last, or since it began, from its first message."""
        found = dict(known)
        for p in self._partitions(consumer, _TRY):
            if p not in known:
                bounds = self._bounds(consumer, p, _TRY)
                found[p] = bounds[0] if known or new else self._first(p, bounds)
        return found

    def _live(self, consumer: Any, request: Request, span: _Span) -> Iterator[list[Any]]:
        """What is there already by time, or one partition's rows would make those of the others late; then as they come."""
        begin, there = span
        if request.stop.is_set():
            return
        yield from self._replayed(consumer, request, begin, there)
        request.caught_up.set()
        known = list(begin)
        self._assign(consumer, there)
        looked = time.monotonic()
        while not request.stop.is_set():
            messages = self._taken(consumer)
            if messages:
                yield messages
            away = request.trouble.text is not None
            if time.monotonic() - looked > (_TRY if away else _PARTITIONS):
                looked = time.monotonic()
                known += self._added(consumer, known, request)

    def _journaled(self, consumer: Any, request: Request, journal: Journal) -> Iterator[list[Any]]:
        yield from self._as_before(consumer, request, journal)
        there: Offsets = self._to
        if self.replayable:
            begin: Offsets = {**self._from, **journal.reached}
        else:
            begin, there = self._when_there(consumer, request, journal.reached)
        journal.note(Slice(p, offset, offset, 0) for p, offset in begin.items() if p not in journal.reached)
        more = (
            self._replayed(consumer, request, begin, there)
            if self.replayable
            else self._live(consumer, request, (begin, there))
        )
        for messages in more:
            journal.note(slices_of(messages))
            yield messages

    def _as_before(self, consumer: Any, request: Request, journal: Journal) -> Iterator[list[Any]]:
        """What the journal says was read."""
        slices = deque(piece for piece in journal.slices if piece.messages)
        first: dict[int, int] = {}
        for piece in slices:
            first.setdefault(piece.partition, piece.start)
        held: dict[int, deque[Any]] = {p: deque() for p in first}
        reached = dict(first)
        ends: dict[int, int] = {}
        held_back: set[int] = set()
        self._assign(consumer, first)
        while slices and not request.stop.is_set():
            for message in self._taken(consumer, ends):
                partition = message.partition()
                held[partition].append(message)
                reached[partition] = max(reached[partition], message.offset() + 1)
            ready: list[Any] = []
            while slices and (reached[slices[0].partition] >= slices[0].end or slices[0].partition in ends):
                piece = slices.popleft()
                waiting, before = held[piece.partition], len(ready)
                while waiting and waiting[0].offset() < piece.end:
                    ready.append(waiting.popleft())
                if len(ready) - before != piece.messages:
                    raise SourceError(
                        f"Messages of partition {piece.partition} of topic '{self._topic}' that were read before are gone: "
                        f"{len(ready) - before} of {piece.messages} are left from offset {piece.start} to {piece.end}.",
                        hint="Start the query with another checkpoint.",
                    )
            if ready:
                yield ready
            needed = slices[0].partition if slices else None
            held_back = self._hold_back(consumer, {p for p in held if p != needed and len(held[p]) > _HELD}, held_back)

    def _added(self, consumer: Any, known: Sequence[int], request: Request) -> list[int]:
        """Partitions that are new, from now on read from their first message."""
        try:
            new = [p for p in self._partitions(consumer, _LOOK) if p not in known]
        except SourceError:  # the broker is away for now
            return []
        request.trouble.over()  # it answers
        if new:
            consumer.incremental_assign([self._client.TopicPartition(self._topic, p, 0) for p in new])
        return new

    def _replayed(self, consumer: Any, request: Request, begin: Offsets, end: Offsets) -> Iterator[list[Any]]:
        """The messages between two offsets of each partition, by time: a partition's never go back, for the sake of the order."""
        open_ = {p for p, first in begin.items() if first < end[p]}
        reached = dict.fromkeys(open_, -1)
        held: dict[int, list[tuple[int, int, int, Any]]] = {p: [] for p in open_}
        held_back: set[int] = set()
        self._assign(consumer, {p: begin[p] for p in sorted(open_)})
        request.share.whole = sum(end[p] - begin[p] for p in open_)
        while held and not request.stop.is_set():
            ends: dict[int, int] = {}
            for message in self._taken(consumer, ends):
                partition, offset = message.partition(), message.offset()
                if offset < end[partition]:
                    request.share.done += 1
                    reached[partition] = max(reached[partition], message.timestamp()[1])
                    held[partition].append((reached[partition], partition, offset, message))
                ends[partition] = max(ends.get(partition, 0), offset + 1)
            done = {p for p, offset in ends.items() if p in open_ and offset >= end[p]}
            open_ -= done
            held_back = self._hold_back(consumer, held_back | done, held_back)
            least = min((reached[p] for p in open_), default=None)
            yield from self._merged(held, least)
            for p in held.keys() - open_:
                if not held[p]:
                    del held[p]
            # never the one the others wait for
            full = {p for p in open_ if len(held[p]) > _HELD and reached[p] != least}
            held_back = self._hold_back(consumer, full | (held_back - open_), held_back)

    @staticmethod
    def _merged(held: dict[int, list[tuple[int, int, int, Any]]], least: int | None) -> Iterator[list[Any]]:
        """What was held of times before `least`, all without it, taken out."""
        ready: list[tuple[int, int, int, Any]] = []
        for partition, waiting in held.items():
            upto = len(waiting)
            if least is not None:
                times = np.fromiter((entry[0] for entry in waiting), np.int64, len(waiting))
                upto = int(np.searchsorted(times, least))
            ready += waiting[:upto]
            held[partition] = waiting[upto:]
        ready.sort(key=lambda entry: entry[:3])
        for start in range(0, len(ready), BATCH_ROWS):
            yield [entry[3] for entry in ready[start : start + BATCH_ROWS]]

    def _assign(self, consumer: Any, offsets: Offsets) -> None:
        """Read on from there, and from nowhere else."""
        consumer.assign([self._client.TopicPartition(self._topic, p, offset) for p, offset in offsets.items()])
        self._hold_back(consumer, set(), set(offsets))  # what was held back before would stay so

    def _hold_back(self, consumer: Any, partitions: set[int], before: set[int]) -> set[int]:
        """Let these partitions wait, and no others of those that did before."""
        for which, change in ((partitions - before, consumer.pause), (before - partitions, consumer.resume)):
            if which:
                change([self._client.TopicPartition(self._topic, p) for p in sorted(which)])
        return partitions

    def _taken(self, consumer: Any, ends: dict[int, int] | None = None) -> list[Any]:
        """Messages that have come; none after a short while. `ends` gets the offsets at which a partition has no more for now."""
        # the first alone: the library would wait for all that are asked for
        found = consumer.consume(1, _LOOK)
        if found:
            found += consumer.consume(BATCH_ROWS - 1, 0)
        kinds = self._client.KafkaError
        messages = []
        for message in found:
            error = message.error()
            if error is None:
                messages.append(message)
            elif error.code() == kinds._PARTITION_EOF:
                if ends is not None:
                    ends[message.partition()] = message.offset()
            elif error.code() == kinds._AUTO_OFFSET_RESET:
                raise SourceError(
                    f"Offset {message.offset()} of partition {message.partition()} isn't in topic '{self._topic}'.",
                    hint="The broker has deleted what was there, or nothing has come so far: write start = 'earliest'.",
                )
            elif not error.retriable():
                raise SourceError(f"Topic '{self._topic}' can't be read: {error.str()}.")
        return messages

    def _described(self, messages: list[Any], parser: MessageParser) -> Messages:
        def place(i: int) -> str:
            return f" ({self._topic}, partition {messages[i].partition()}, offset {messages[i].offset()})"

        about = [pl.Series(n, [_TELLS[n](m) for m in messages], dtype=_BROKER.polars()[n]) for n in parser.told]
        return Messages([m.value() for m in messages], pl.DataFrame(about), place)


def _quiet(error: Any) -> None:
    """What counts is raised."""
    log.debug("kafka:// %s", error.str())


def _key(message: Any) -> str | None:
    key = message.key()
    return None if key is None else key.decode(errors="replace")


def _time(message: Any) -> int | None:
    _, millis = message.timestamp()
    return None if millis < 0 else millis * 1_000


_TELLS: Final[Mapping[str, Callable[[Any], str | int | None]]] = {
    "key": _key,
    "timestamp": _time,
    "partition": lambda message: int(message.partition()),
    "offset": lambda message: int(message.offset()),
}
"""How each of the broker's columns is found in a message of the library."""


def _start(text: str) -> str | Mapping[int | None, int]:
    """`earliest`, `latest`, or offsets by partition, under None that of all others."""
    word = text.strip().lower()
    if word in ("earliest", "latest"):
        return word
    if word.isdecimal():
        return {None: int(word)}
    pairs = [_PAIR.fullmatch(part.strip()) for part in word.split(",")]
    if not all(pairs):
        raise SourceError(f"Option start = '{text}' is not a place in a topic.", hint=_EXAMPLE).about("start")
    return {int(pair[1]): int(pair[2]) for pair in pairs if pair}


def _config(options: Mapping[str, str], namespace: Mapping[str, object]) -> dict[str, Any]:
    """Settings of the client library in a variable of the notebook: passwords are not for queries."""
    if "config" not in options:
        return {}
    name = options["config"]
    value = namespace.get(name)
    if not isinstance(value, Mapping):
        told = "is not a dict" if name in namespace else "does not exist"
        raise SourceError(
            f"The variable '{name}' {told}.",
            hint=f"Define it: {name} = {{'security.protocol': 'SASL_SSL', 'sasl.mechanism': 'PLAIN', ...}}.",
        )
    for key, setting in value.items():
        if secret(str(key)):
            remember(setting)
    return {str(key): setting for key, setting in value.items()}


def _library() -> Any:
    try:
        import confluent_kafka
    except ImportError:
        raise SourceError(
            "kafka:// needs the package confluent-kafka, which is not installed",
            hint="Install it: pip install 'jupyter-stream[kafka]'.",
        ) from None
    return confluent_kafka


def _message_of(error: Any) -> str:
    """What an exception of the library says."""
    return str(error.args[0].str()) if hasattr(error.args[0], "str") else str(error)


def _open(context: Context) -> Source:
    return KafkaSource(context)


KAFKA = SourceConnector(
    scheme="kafka",
    example="kafka://localhost:9092/trades",
    options={
        "start": "'latest' for what comes from now on (the default), 'earliest', or offsets: '1000', '0:1000, 2:500'",
        "end": "'latest' for a replay up to where the topic ends now, from 'earliest' or from `start`; 'never' by default",
        **OPTIONS,
        "key": "the declared column that has the key of a message",
        "timestamp": "the declared column that has the time of a message",
        "partition": "the declared column that has the partition of a message",
        "offset": "the declared column that has the offset of a message",
        "config": "a variable with settings of the client library: {'security.protocol': 'SASL_SSL', ...}",
    },
    open=_open,
    to_end={"end": "latest"},
)
