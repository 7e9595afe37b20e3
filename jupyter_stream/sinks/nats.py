"""`nats://host:port/subject`: a message for each row, into JetStream where a stream keeps the subject, else to who listens."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any, Final

import polars as pl

from jupyter_stream.core.address import CREDENTIALS, PLAIN
from jupyter_stream.core.nats_connection import ANSWER, PORT, connected, run
from jupyter_stream.errors import SinkError
from jupyter_stream.sinks.messages import OPTIONS, MessageWriter, shown
from jupyter_stream.sinks.protocol import ROW_ID, Sink, SinkConnector, SinkUnreachable, Target
from jupyter_stream.sinks.server import Server, missing

_EXAMPLE: Final = "nats://localhost:4222/alerts"
_AT_ONCE: Final = 500
"""Messages on their way at once."""


class NatsSink:
    """A subject. Raises `SinkError` when it is made: no subject that can be, or without the package `nats-py`.

    A connection is made for each commit: the client library needs a loop of its own, which stands still between two of them.
    """

    def __init__(self, target: Target) -> None:
        try:
            import nats
            import nats.errors
            import nats.js.errors
        except ImportError:
            raise missing("nats", "nats-py", "nats") from None
        self._nats: Any = nats
        server = Server.of(target, _EXAMPLE, frozenset({*PLAIN, "token"}))
        self._server, self._subject = server, server.path
        self._at = server.at(PORT)
        if not self._subject or set(self._subject) & set(" */>"):
            raise SinkError("the address names no one subject.", hint=f"Write TO '{_EXAMPLE}'.")
        self._writer = MessageWriter(target)

    def check(self) -> None:
        """Look whether it lets us in."""
        try:
            self._run(self._nothing())
        except SinkUnreachable as away:
            if "authorization" in str(away).lower():
                raise SinkError(f"{away}.", hint="Look at the address and at config.") from None
            raise

    async def _nothing(self) -> None:
        await (await connected(self._server.address, self._server.config)).close()

    def append(self, rows: pl.DataFrame) -> pl.DataFrame | None:
        """Publish a message for each row, and wait until the server has them."""
        if not rows.height:
            return None
        ids = rows.get_column(ROW_ID).to_list()
        values, reasons = self._writer.messages(rows)
        return shown(rows, {**self._run(self._published(values, ids, reasons)), **reasons})

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        try:
            return run(work)
        except (self._nats.errors.Error, OSError, TimeoutError) as error:
            raise SinkUnreachable(
                f"NATS at {self._at} can't be written to: {str(error) or type(error).__name__}"
            ) from None

    async def _published(self, values: list[bytes], ids: list[str], wrong: Mapping[int, str]) -> dict[int, str]:
        """Send messages, but for those that are wrong. Returns why others are never taken, by their number."""
        client = await connected(self._server.address, self._server.config)
        try:
            most = client.max_payload
            large = f"the server takes messages of {most:,} bytes at most"
            reasons = {i: large for i, value in enumerate(values) if len(value) > most}
            rest = [i for i in range(len(values)) if i not in reasons and i not in wrong]
            jetstream = client.jetstream(timeout=ANSWER)
            kept = await self._is_kept(jetstream)
            for first in range(0, len(rest), _AT_ONCE):
                to = jetstream.publish_async if kept else client.publish
                some = rest[first : first + _AT_ONCE]
                sent = [await to(self._subject, values[i], headers={"Nats-Msg-Id": ids[i]}) for i in some]
                if kept:
                    await _acknowledged(sent)
            await client.flush(ANSWER)
            return reasons
        finally:
            await client.close()

    async def _is_kept(self, jetstream: Any) -> bool:
        """Whether a stream of JetStream keeps the subject."""
        errors = self._nats.js.errors
        try:
            await jetstream.find_stream_name_by_subject(self._subject)
        except (errors.NotFoundError, errors.ServiceUnavailableError, self._nats.errors.NoRespondersError):
            return False
        return True

    def upsert(self, rows: pl.DataFrame, gone: pl.DataFrame) -> None:
        """A subject takes no row in another's place."""
        raise AssertionError("no mode of subjects")

    def replace(self, rows: pl.DataFrame) -> None:
        """A subject only grows."""
        raise AssertionError("no mode of subjects")

    def commit(self, number: int, position: str) -> None:
        """The server has all messages."""

    def committed(self) -> tuple[int, str] | None:
        """A subject keeps no positions."""
        return None

    def abort(self) -> None:
        """What was given can't be taken back: it comes again."""

    def close(self) -> None:
        """Nothing is held."""


async def _acknowledged(messages: list[Any]) -> None:
    """Wait until a stream has messages. Raises what it says of the first it doesn't take."""
    async with asyncio.timeout(ANSWER):
        said = await asyncio.gather(*messages, return_exceptions=True)
    wrong = next((answer for answer in said if isinstance(answer, BaseException)), None)
    if wrong is not None:
        raise wrong


def _open(target: Target) -> Sink:
    return NatsSink(target)


NATS: Final = SinkConnector(
    scheme="nats",
    example=_EXAMPLE,
    options={**OPTIONS, "config": CREDENTIALS},
    modes=("changes", "append"),
    promise="at least once",
    how="JetStream, where a stream keeps the subject, acknowledges each message, and what is sent again after a failure has "
    "the same Nats-Msg-Id, so that it isn't kept twice (within the stream's duplicate window, 2 minutes by default); "
    "core NATS keeps nothing: who doesn't listen misses it",
    open=_open,
)
"""The connector of `nats://`."""
