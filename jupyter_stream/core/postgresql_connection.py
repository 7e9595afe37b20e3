"""How PostgreSQL is connected to, for its source and its sink."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from jupyter_stream.core.address import PLAIN, Address

PORT: Final = 5432
IN_CONFIG: Final = frozenset({*PLAIN, "sslmode"})
"""What may stand in a variable with credentials."""
IN_UTC: Final = "SET TIME ZONE 'UTC'; SET datestyle = 'ISO'; SET lock_timeout = '5s'"
"""What each session begins with: times are in UTC, and what another holds locked is tried again later."""
_PATIENCE: Final = {"connect_timeout": 5, "tcp_user_timeout": 20_000, "keepalives_idle": 10, "keepalives_count": 3}
"""Settings of the client library: seconds and milliseconds after which a server that is silent counts as gone."""


def settings(address: Address, config: Mapping[str, Any]) -> dict[str, Any]:
    """What psycopg is told; what is left out, it takes from its own environment, such as PGPASSWORD.

    Args:
        address: of the server, with the database behind it.
        config: credentials, and `ca`, `cert` and `key` for TLS.
    """
    given = {
        "host": address.host,
        "port": address.port,
        "dbname": address.path.partition("?")[0].strip("/"),
        "user": config.get("username"),
        "password": config.get("password"),
        "sslrootcert": config.get("ca"),
        "sslcert": config.get("cert"),
        "sslkey": config.get("key"),
        "sslmode": config.get("sslmode") or ("verify-full" if config.get("ca") else None),
    }
    return {**_PATIENCE, **{name: value for name, value in given.items() if value}}


__all__ = ["IN_CONFIG", "IN_UTC", "PORT", "settings"]
