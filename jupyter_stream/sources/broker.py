"""What sources of messages share: a thread that receives, and comes back when the connection breaks.

A connector says what one connection does, from its beginning until it breaks. What waits is an `Inbox`'s business, how messages
become rows that of `messages`.
"""

from __future__ import annotations

import random
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Final

import polars as pl

from jupyter_stream.core import address, logs, threads
from jupyter_stream.core.address import CREDENTIALS, WEB_CREDENTIALS, Address
from jupyter_stream.core.schema import Schema
from jupyter_stream.errors import SourceError
from jupyter_stream.secrets import remember, secret
from jupyter_stream.sources.complaints import Complaints
from jupyter_stream.sources.conform import both, rejected
from jupyter_stream.sources.inbox import Inbox, Item
from jupyter_stream.sources.messages import MessageFormat, MessageParser, Messages, schema_of_options, undeclared
from jupyter_stream.sources.options import check_known, split_query
from jupyter_stream.sources.protocol import Chunk, Context, Request, Trouble, wanted
from jupyter_stream.sources.text import batches

log = logs.of(__name__)

ANSWER: Final = 2.0
"""Seconds a server has to answer when a connection is made."""
_FIRST: Final = 10.0
"""Seconds until the first message must come, where it is to tell the columns."""
_QUIET: Final = 0.2
"""Seconds without a message after which the first ones are all there."""
_HEAD: Final = 1_000
"""Messages looked at for their columns, at most."""
_SOON: Final = 0.1
"""Seconds until a lost connection is tried again."""
_LATE: Final = 5.0
"""The same after many tries in vain."""


class ServerUnreachable(SourceError):
    """The server is out of reach: that may change."""


class AccessRefused(SourceError):
    """The server doesn't let us in: that ends the stream, unless it let us in before."""


class BrokerSource(ABC):
    """Messages of a server, as they come.

    Args:
        context: what is to be opened.

    Attributes:
        config: credentials and the like from the variable that `config` names, and from the address.
        options: the WITH options.
        shown: the address as it may be shown.

    Raises:
        SourceError: when it is made: an address or an option that can't be; where no columns are declared, no message within
            10 seconds that tells them.
    """

    replayable = False
    units: Mapping[str, str]
    about: ClassVar[Schema] = Schema(())
    """What the server says of a message; the first one says which message it is."""
    example: ClassVar[str]
    takes: ClassVar[Mapping[str, str]]
    """The options in WITH."""
    is_web: ClassVar[bool] = False
    """Whether what stands behind `?` in an address is for the server, and no option."""
    known: ClassVar[frozenset[str]] = address.PLAIN
    """What may stand in the variable that `config` names."""
    port: ClassVar[int] = 0

    def __init__(self, context: Context) -> None:
        scheme, _, rest = context.uri.partition("://")
        self.scheme = scheme.strip().lower()
        self.units = {}
        given = dict(context.options)
        if not self.is_web:
            rest, query = split_query(rest)
            check_known(query, self.takes, f"{self.scheme}://")
            given |= query
        self.options = {name: address.from_environment(text, _wrong, hide=secret(name)) for name, text in given.items()}
        self.config = address.credentials(self.options.get("config"), context.namespace, self.known, _wrong)
        self._address(rest, context.uri)
        self.check()
        told = {self.options[name]: name for name in self.about.names if name in self.options}
        self._head: list[bytes] = []
        if context.schema is None:
            known = schema_of_options(self.options)
            self._head = [] if known else [item[0] for item in self._first_messages(context.uri)]
            record = known or self.discover(self._head)
            extra = [
                (name, dict(_pairs(self.about))[column]) for name, column in told.items() if name not in record.names
            ]
            self.schema = Schema.of([*_pairs(record), *extra])
        else:
            self.schema = context.schema
        self._form = self._format(self.schema, told)
        self._form.is_found = context.schema is None

    # -- what a connector says ------------------------------------------------------------------------------------------

    @abstractmethod
    def check(self) -> None:
        """Look at the address and the options. Raises `SourceError` for what can't be."""

    @abstractmethod
    def receive(self, inbox: Inbox) -> None:
        """One connection: from its beginning until it breaks, or the inbox is closed.

        Raises:
            ServerUnreachable: the server is out of reach, or gone.
            AccessRefused: it doesn't let us in.
            SourceError: something else that ends the stream.
        """

    def discover(self, values: Sequence[bytes]) -> Schema:
        """The columns of the first messages."""
        return self._format(Schema.of([("value", pl.String())]), {}).discover(values)

    def headers(self) -> dict[str, str]:
        """Headers of HTTP with the credentials."""
        return address.headers(self.config)

    # -- reading --------------------------------------------------------------------------------------------------------

    def read(self, request: Request) -> Iterator[Chunk]:
        """Messages as they come, until told to stop.

        Raises:
            SourceError: the server doesn't let us read.
        """
        for chunk, _ in self.received(request, Inbox(request.trouble)):
            yield from batches(chunk)

    def peek(self) -> pl.DataFrame:
        """The messages that told the columns; none where they were declared."""
        return self._form.first_rows(self._head)

    def received(self, request: Request, inbox: Inbox) -> Iterator[tuple[Chunk, list[Item]]]:
        """Rows as their messages come, and these messages."""
        parser = self.parser(request)
        _Receiver(self, inbox).start()
        number = 0
        try:
            while not request.stop.is_set():
                taken = inbox.take(request.stop)
                if taken is None:
                    return
                items, faults = taken
                chunk = parser.parse(self.described(items, parser.told, number))
                number += len(items)
                told = rejected([raw for raw, _ in faults], [f"{reason} ({self.shown})" for _, reason in faults])
                yield Chunk(chunk.frame, both(chunk.rejected, told)), items
        finally:
            inbox.close()

    def parser(self, request: Request) -> MessageParser:
        """What makes rows of messages for one read."""
        return self._form.parser(wanted(self.schema, request), request.remarks)

    def described(self, items: list[Item], told: Sequence[str], number: int) -> Messages:
        """Messages with what the server says of them, of which `number` came before."""

        def place(i: int) -> str:
            return f" ({self.shown}, {items[i][1] if len(items[i]) > 1 else f'message {number + i + 1}'})"

        names = self.about.names
        types = dict(_pairs(self.about))
        columns = [pl.Series(n, [item[1 + names.index(n)] for item in items], dtype=types[n]) for n in told]
        return Messages([item[0] for item in items], pl.DataFrame(columns), place)

    def _format(self, schema: Schema, told: Mapping[str, str]) -> MessageFormat:
        return MessageFormat(self.options, schema, told, self.about, self.shown)

    def _first_messages(self, uri: str) -> list[Item]:
        inbox = Inbox(Trouble(), looking=True)
        _Receiver(self, inbox, once=True).start()
        found: list[Item] = []
        never = threads.Event()
        begun = time.monotonic()
        try:
            while len(found) < _HEAD and time.monotonic() - begun < _FIRST:
                items, _ = inbox.take(never, _QUIET) or ([], [])
                found += [item for item in items if item[0] and not item[0].isspace()]
                if found and not items:
                    break
        except ServerUnreachable as error:
            if not found:
                told = undeclared(uri)
                raise SourceError(f"{error.message} {told.message}", hint=told.hint) from None
        finally:
            inbox.close()
        if not found:
            told = undeclared(uri)
            raise SourceError(f"No message came within {_FIRST:g} seconds. {told.message}", hint=told.hint)
        return found[:_HEAD]

    def _address(self, rest: str, uri: str) -> None:
        """Take the address apart: what is secret in it is used and never shown."""
        found = Address.of(f"{self.scheme}://{rest}", self.example, _wrong)
        for name, value in (("username", found.username), ("password", found.password)):
            if value:
                self.config.setdefault(name, value)
        remember(self.config.get("password"))
        self.address = found
        self.host, self.given_port, self.path, self.shown = found.host, found.port, found.path, found.shown
        self.at = found.at(self.port)
        if not self.host:
            raise SourceError(f"'{uri}' names no host.", hint=f"Write '{self.example}'.")


class _Receiver:
    """A thread that makes connections, one after the other, until the inbox is closed.

    Args:
        source: says what a connection does.
        inbox: where messages go.
        once: the first connection that breaks ends it.
    """

    def __init__(self, source: BrokerSource, inbox: Inbox, *, once: bool = False) -> None:
        self._source, self._inbox, self._once = source, inbox, once
        self._complaints = Complaints(log, source.shown)
        self._delay = _SOON
        inbox.well = self._well

    def start(self) -> None:
        """Begin."""
        _reading.add(self)
        threads.begin(f"jupyter-stream receives {self._source.shown}", self._run, self._inbox.fail)

    def _well(self) -> None:
        self._delay = _SOON
        self._complaints.over()

    def _run(self) -> None:
        inbox = self._inbox
        try:
            while not inbox.closed.is_set():
                try:
                    self._source.receive(inbox)
                    self._lost(ServerUnreachable(f"{self._source.at} closed the connection."))
                except ServerUnreachable as error:
                    self._lost(error)
                except AccessRefused as error:
                    if not inbox.connected:
                        raise
                    self._lost(error)
        except SourceError as error:
            inbox.fail(error)
        finally:
            _reading.discard(self)

    def _lost(self, error: SourceError) -> None:
        inbox = self._inbox
        if inbox.closed.is_set():
            return
        if self._once:
            raise error
        inbox.away(f"{error.message} The stream goes on when it is back.")
        self._complaints.heard(type(error).__name__, error.message)
        inbox.closed.wait(self._delay * random.uniform(0.7, 1.0))
        self._delay = min(2 * self._delay, _LATE)

    def forked(self) -> None:
        """This is a process forked from the one that reads, and the thread isn't here."""
        self._inbox.forked(SourceError(f"{self._source.shown} is read by the process from which this one was forked."))


_reading: set[_Receiver] = set()


def _forked() -> None:
    for each in list(_reading):
        each.forked()
    _reading.clear()


threads.on_fork(_forked)


def _wrong(message: str, hint: str | None) -> SourceError:
    return SourceError(message, hint=hint)


def missing(scheme: str, package: str, extra: str) -> SourceError:
    """What is raised where a client library isn't installed."""
    return SourceError(
        f"{scheme}:// needs the package {package}, which is not installed",
        hint=f"Install it: pip install 'jupyter-stream[{extra}]'.",
    )


def _pairs(schema: Schema) -> list[tuple[str, pl.DataType]]:
    return [(f.name, f.dtype) for f in schema]


__all__ = [
    "ANSWER",
    "CREDENTIALS",
    "WEB_CREDENTIALS",
    "AccessRefused",
    "BrokerSource",
    "ServerUnreachable",
    "missing",
]
