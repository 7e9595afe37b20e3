"""A connection to NATS, for its source and its sink. Where nobody answers it fails at once: trying again is their business."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

from jupyter_stream.core.address import Address

PORT: Final = 4222
ANSWER: Final = 5.0
"""Seconds a server has to answer."""


_T = TypeVar("_T")


def run(work: Coroutine[Any, Any, _T]) -> _T:
    """Do what has to be done in a loop, also where one is running already, as in a cell of a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1, "jupyter-stream asks NATS") as thread:
        return thread.submit(asyncio.run, work).result()


async def connected(address: Address, config: dict[str, Any], **more: Any) -> Any:
    """A client of nats-py with a connection.

    Args:
        address: of the server.
        config: credentials, and `ca`, `cert` and `key` for TLS.
        more: of what the library takes, the rest.

    Raises:
        nats.errors.Error: the server doesn't let us in, or hangs up.
        OSError: nobody answers.
    """
    import nats

    connecting = True

    async def heard(error: Exception) -> None:
        if connecting:  # or the library would go on for two minutes
            raise error

    tls = _context(config)
    client = await nats.connect(
        f"{'nats' if tls is None else 'tls'}://{address.at(PORT)}",
        user=config.get("username"),
        password=config.get("password"),
        token=config.get("token"),
        tls=tls,
        tls_hostname=None if tls is None else address.host,
        connect_timeout=ANSWER,
        allow_reconnect=False,
        error_cb=heard,
        **more,
    )
    connecting = False
    return client


def _context(config: dict[str, Any]) -> ssl.SSLContext | None:
    if not config.get("ca"):
        return None
    context = ssl.create_default_context(cafile=config["ca"])
    if config.get("cert"):
        context.load_cert_chain(config["cert"], config.get("key"))
    return context


__all__ = ["ANSWER", "PORT", "connected", "run"]
