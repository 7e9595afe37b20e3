"""`redis://host:port/key`: an entry of a stream of Redis for each row, or, with a key, a hash for each row that is there now."""

from __future__ import annotations

from typing import Any, Final

import polars as pl

from jupyter_stream.core.address import CREDENTIALS, PLAIN
from jupyter_stream.errors import SinkError
from jupyter_stream.sinks.flat import flat
from jupyter_stream.sinks.keys import key_texts, keyed
from jupyter_stream.sinks.options import whole
from jupyter_stream.sinks.protocol import Sink, SinkConnector, SinkUnreachable, Target
from jupyter_stream.sinks.server import Server, missing

_EXAMPLE: Final = "redis://localhost:6379/alerts"
_ANSWER: Final = 5.0
"""Seconds a server has to answer."""
_LATER: Final = ("OOM", "READONLY", "LOADING", "MISCONF", "BUSY", "MASTERDOWN", "NOREPLICAS", "TRYAGAIN", "CLUSTERDOWN")
"""What errors begin with that pass."""


class RedisSink:
    """A stream, or hashes. Raises `SinkError` when it is made: no key in the address, or without the package `redis`."""

    def __init__(self, target: Target) -> None:
        try:
            import redis
            from redis.backoff import NoBackoff
            from redis.retry import Retry
        except ImportError:
            raise missing("redis", "redis", "redis") from None
        self._client: Any = redis
        server = Server.of(target, _EXAMPLE, PLAIN)
        self._at, self._name = server.at(6379), server.path
        if not self._name:
            raise SinkError("the address names no stream.", hint=f"Write TO '{_EXAMPLE}'.")
        self._key = target.key
        config = server.config
        secure = {
            "ssl": True,
            "ssl_ca_certs": config.get("ca"),
            "ssl_certfile": config.get("cert"),
            "ssl_keyfile": config.get("key"),
        }
        most = whole(target.options, "maxlen", 0)
        self._add: tuple[object, ...] = ("XADD", self._name, *(("MAXLEN", "~", most) if most else ()), "*")
        self._redis: Any = redis.Redis(
            host=server.address.host,
            port=server.address.port or 6379,
            db=whole(target.options, "db", 0),
            username=config.get("username") or None,
            password=config.get("password") or None,
            socket_connect_timeout=_ANSWER,
            socket_timeout=_ANSWER,
            retry=Retry(NoBackoff(), 0),  # trying again is the writer's business
            protocol=2,
            **(secure if server.address.scheme == "rediss" else {}),
        )
        self._staged: list[tuple[object, ...]] = []

    def check(self) -> None:
        """Look whether it lets us in, and whether the key is free or a stream."""
        errors = self._client.exceptions
        try:
            kind = "none" if self._key else self._redis.type(self._name).decode()
        except errors.RedisError as error:
            raise self._raised(error) from None
        if kind not in ("none", "stream"):
            raise SinkError(f"the key '{self._name}' of Redis holds a {kind}, no stream.", hint="Name another key.")

    def append(self, rows: pl.DataFrame) -> None:
        """Have an entry added for each row at the commit, its fields the columns that aren't NULL."""
        self._staged += [(*self._add, *fields) for fields in _fields(rows)]

    def upsert(self, rows: pl.DataFrame, gone: pl.DataFrame) -> pl.DataFrame | None:
        """Have a hash made for each row at the commit, called `name:key`, and those of keys that are gone deleted."""
        rows, gone, keyless = keyed(rows, gone, self._key, "Redis")
        self._staged += [("DEL", f"{self._name}:{key}") for key in key_texts(gone, self._key)]
        for key, fields in zip(key_texts(rows, self._key), _fields(rows), strict=True):
            self._staged += [("DEL", f"{self._name}:{key}"), ("HSET", f"{self._name}:{key}", *fields)]
        return keyless

    def replace(self, rows: pl.DataFrame) -> None:
        """A stream only grows."""
        raise AssertionError("no mode of streams")

    def commit(self, number: int, position: str) -> None:
        """Send all of it as one transaction."""
        if not self._staged:
            return
        pipe = self._redis.pipeline(transaction=True)
        for command in self._staged:
            pipe.execute_command(*command)
        try:
            pipe.execute()
        except self._client.exceptions.RedisError as error:
            raise self._raised(error) from None
        self._staged = []

    def committed(self) -> tuple[int, str] | None:
        """A stream keeps no positions."""
        return None

    def abort(self) -> None:
        """Nothing was sent, or all of it: it comes again."""
        self._staged = []

    def close(self) -> None:
        """Let go of the server."""
        self._staged = []
        self._redis.close()

    def _raised(self, error: Exception) -> Exception:
        """What is raised for an error of the library."""
        errors = self._client.exceptions
        text = str(error).rpartition("of pipeline caused error: ")[2]
        refused = isinstance(error, errors.AuthenticationError | errors.NoPermissionError)
        answered = isinstance(error, errors.ResponseError) and not text.startswith(_LATER)
        if refused or answered:
            return SinkError(
                f"Redis at {self._at} refuses: {text.rstrip('.')}.", hint="Look at the address and at config."
            )
        return SinkUnreachable(f"Redis at {self._at} can't be written to: {text}")


def _fields(rows: pl.DataFrame) -> list[list[str]]:
    """Names and values of each row as texts, without NULLs."""
    texts = flat(rows).cast(pl.String)
    names = texts.columns
    return [
        [part for pair in zip(names, row, strict=True) if pair[1] is not None for part in pair] for row in texts.rows()
    ]


def _open(target: Target) -> Sink:
    return RedisSink(target)


REDIS: Final = SinkConnector(
    scheme="redis",
    also=("rediss",),
    example=_EXAMPLE,
    options={
        "maxlen": "about how many entries the stream keeps; all without it",
        "db": "the number of the database, 0 by default",
        "config": CREDENTIALS,
    },
    modes=("upsert", "append", "changes"),
    promise="at least once",
    how="a commit is a transaction (MULTI); what is sent again after a failure has the same row_id, a field of the entry; "
    "hashes of mode = 'upsert' are only put in their own place again",
    open=_open,
)
"""The connector of `redis://`."""
