"""`https://host/path`, asked again and again, and `sse+https://`, which sends events by itself.

Of an answer, what wasn't in the one before is new. The id of the last event is kept: a server that knows ids goes on behind it.
"""

from __future__ import annotations

import json
import logging
import socket
import ssl
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

import polars as pl

from jupyter_stream.core.address import WEB
from jupyter_stream.core.schema import Schema
from jupyter_stream.errors import SourceError
from jupyter_stream.sources.broker import ANSWER, WEB_CREDENTIALS, AccessRefused, BrokerSource, ServerUnreachable
from jupyter_stream.sources.inbox import Inbox, Item
from jupyter_stream.sources.messages import OPTIONS, refuse_avro
from jupyter_stream.sources.options import duration, flag
from jupyter_stream.sources.positioned import PositionedSource
from jupyter_stream.sources.protocol import Context, Source, SourceConnector

_SILENT: Final = 300.0
"""Seconds without a word after which events are asked for anew."""
_EVERY: Final = 5_000_000
"""Microseconds between two polls, unless `every` says otherwise."""
logging.getLogger("httpx").setLevel(logging.WARNING)  # it would write each address, tokens and all, to its log


class _WebSource(BrokerSource):
    """What speaks HTTP."""

    is_web = True
    known = WEB

    def check(self) -> None:
        """Find the address to ask."""
        refuse_avro(self.options, "text")
        scheme = self.scheme.removeprefix("sse+")
        self.at = f"{self.host}:{self.given_port or (443 if scheme == 'https' else 80)}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = f":{self.given_port}" if self.given_port else ""
        self._url = f"{scheme}://{host}{port}{self.path or '/'}"

    def receive(self, inbox: Inbox) -> None:
        """One connection, until it breaks."""
        import httpx

        try:
            with self._client() as client:
                self._ask(client, inbox)
        except (httpx.HTTPError, httpx.StreamError, OSError) as error:
            raise ServerUnreachable(
                f"No web server answers at {self.at}: {str(error) or type(error).__name__}."
            ) from None

    @abstractmethod
    def _ask(self, client: Any, inbox: Inbox) -> None:
        """Ask, and hand over what comes."""

    def _client(self) -> Any:
        import httpx

        verify: ssl.SSLContext | bool = True
        if self.config.get("ca") or self.config.get("cert"):
            verify = ssl.create_default_context(cafile=self.config.get("ca"))
            if self.config.get("cert"):
                verify.load_cert_chain(self.config["cert"], self.config.get("key"))
        patience = httpx.Timeout(5 * ANSWER, connect=ANSWER)
        return httpx.Client(headers=self.headers(), timeout=patience, verify=verify, follow_redirects=True)

    def _look(self, status: int) -> None:
        """Raise where the server doesn't give what was asked for."""
        if 200 <= status < 300:
            return
        kind = AccessRefused if status in (401, 403) else ServerUnreachable
        raise kind(f"{self.at} answers with HTTP status {status}.")


@dataclass(slots=True)
class _Polled:
    """What the last answer was.

    Attributes:
        headers: to ask whether there is another.
        records: those it held, and how often each.
    """

    headers: dict[str, str] = field(default_factory=dict)
    records: Counter[bytes] = field(default_factory=Counter)


class PolledSource(_WebSource):
    """The records of an address that is asked again and again: those that weren't in the answer before."""

    example = "https://example.com/quakes.json"
    takes: ClassVar[Mapping[str, str]] = {
        "every": "the time between two polls, '5 seconds' by default",
        "repeat": "'true' to have all records of each answer that has changed, not only those that weren't in the one before",
        "records": "the fields of a JSON object, from the outside in, that lead to the list of records: 'data.items'",
        **OPTIONS,
        "config": WEB_CREDENTIALS,
    }

    def check(self) -> None:
        """Raise `SourceError` for what can't be."""
        super().check()
        self._every = duration(self.options, "every", _EVERY) / 1e6
        if self._every <= 0:
            raise SourceError("Option every must be more than nothing.", hint="Write every = '5 seconds'.").about(
                "every"
            )
        self._repeat = flag(self.options, "repeat")
        self._records = [name for name in self.options.get("records", "").split(".") if name]
        self._is_json = self.options.get("format", "json").strip().lower() == "json"

    def _ask(self, client: Any, inbox: Inbox) -> None:
        inbox.position = inbox.position or _Polled()
        polled: _Polled = inbox.position
        while not inbox.closed.is_set():
            answer = client.get(self._url, headers=polled.headers)
            if answer.status_code != 304:
                self._look(answer.status_code)
            inbox.is_connected()
            if answer.status_code != 304:
                records = self._split(answer.content, inbox)
                inbox.put([(record,) for record in self._new(records, polled.records)])
                polled.records = Counter(records)
                asked = (("If-None-Match", "ETag"), ("If-Modified-Since", "Last-Modified"))
                polled.headers = {to: answer.headers[of] for to, of in asked if of in answer.headers}
            inbox.closed.wait(self._every)

    def _new(self, records: list[bytes], before: Counter[bytes]) -> list[bytes]:
        """Those that weren't there before; of equal ones, those that are more than before."""
        if self._repeat:
            return [] if Counter(records) == before else records
        left = before.copy()
        found = []
        for record in records:
            if left[record] > 0:
                left[record] -= 1
            else:
                found.append(record)
        return found

    def _split(self, body: bytes, inbox: Inbox) -> list[bytes]:
        """The records of an answer: lines, or the elements of a JSON array, or an object alone."""
        lines = [line for line in body.splitlines() if line.strip()]
        if not self._is_json:
            return lines
        try:
            value = json.loads(body)
            for name in self._records:
                value = value[name]
        except (ValueError, KeyError, TypeError):
            if self._records:
                inbox.refuse(body[:1000].decode(errors="replace"), f"no records under '{'.'.join(self._records)}'")
                return []
            return lines
        return [
            json.dumps(each, ensure_ascii=False).encode() for each in (value if isinstance(value, list) else [value])
        ]


class EventSource(_WebSource, PositionedSource):
    """Server-sent events (WHATWG HTML, section 9.2): the data of each is a message."""

    about = Schema.of([("id", pl.String()), ("event", pl.String())])
    example = "sse+https://stream.wikimedia.org/v2/stream/recentchange"
    takes: ClassVar[Mapping[str, str]] = {
        "start": "the id of the event after which to begin, where the server knows ids",
        **OPTIONS,
        "id": "the column that has the id of an event",
        "event": "the column that has the type of an event",
        "config": WEB_CREDENTIALS,
    }

    def position_after(self, item: Item) -> object:
        """The id of the last event that had one."""
        return item[1]

    def _ask(self, client: Any, inbox: Inbox) -> None:
        import httpx

        last = inbox.position or self.options.get("start")
        headers = {
            "Accept": "text/event-stream",
            "Cache-Control": "no-store",
            **({"Last-Event-ID": last} if last else {}),
        }
        patience = httpx.Timeout(_SILENT, connect=ANSWER)
        with client.stream("GET", self._url, headers=headers, timeout=patience) as answer:
            self._look(answer.status_code)
            kind = answer.headers.get("Content-Type", "")
            if not kind.startswith("text/event-stream"):
                raise SourceError(
                    f"{self.shown} sends no events: its Content-Type is '{kind[:100]}'.",
                    hint="Write https:// to ask it again and again.",
                )
            inbox.is_connected()
            wire = answer.extensions["network_stream"].get_extra_info("socket")
            inbox.at_close(lambda: _cut(wire))
            for item in events(answer.iter_lines(), last):
                if inbox.closed.is_set():
                    return
                inbox.put([item])
                inbox.position = item[1]


def events(lines: Iterable[str], last: str | None) -> Iterator[Item]:
    """Data, id and type of the events of a stream, given its lines and the id of the event before."""
    data: list[str] = []
    kind = "message"
    for line in lines:
        if not line:
            if data:
                yield "\n".join(data).encode(), last, kind
            data, kind = [], "message"
            continue
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            data.append(value)
        elif name == "event":
            kind = value
        elif name == "id" and "\0" not in value:
            last = value


def _cut(wire: socket.socket) -> None:
    """Wake the thread that waits for a socket."""
    with suppress(OSError):
        wire.shutdown(socket.SHUT_RDWR)


def _poll(context: Context) -> Source:
    return PolledSource(context)


def _listen(context: Context) -> Source:
    return EventSource(context)


POLLED = SourceConnector(
    scheme="https", also=("http",), example=PolledSource.example, options=PolledSource.takes, open=_poll
)
EVENTS = SourceConnector(
    scheme="sse+https", also=("sse+http",), example=EventSource.example, options=EventSource.takes, open=_listen
)
