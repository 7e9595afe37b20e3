"""What sinks at a server share: the address without its secrets, and credentials from a variable or the environment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jupyter_stream.core.address import Address, credentials
from jupyter_stream.errors import SinkError
from jupyter_stream.secrets import remember
from jupyter_stream.sinks.protocol import Target


@dataclass(frozen=True, slots=True)
class Server:
    """Where a sink is.

    Attributes:
        address: taken apart.
        config: credentials and the like from the variable that `config` names, and from the address.
    """

    address: Address
    config: dict[str, Any]

    @classmethod
    def of(cls, target: Target, example: str, known: frozenset[str]) -> Server:
        """Take a sink's address apart.

        Args:
            target: what is opened.
            example: an address that could be.
            known: what may stand in `config`.

        Raises:
            SinkError: an address that can't be, or a variable that isn't there.
        """
        address = Address.of(target.uri, example, wrong)
        config = credentials(target.options.get("config"), target.namespace, known, _about_config)
        for name, value in (("username", address.username), ("password", address.password)):
            if value:
                config.setdefault(name, value)
        remember(config.get("password"))
        if not address.host:
            raise SinkError("the address names no host.", hint=f"Write TO '{example}'.")
        return cls(address, config)

    def at(self, port: int) -> str:
        """Host and port; that port where none is named."""
        return self.address.at(port)

    @property
    def path(self) -> str:
        """What stands behind the host, without options."""
        return self.address.path.partition("?")[0].strip("/")


def wrong(message: str, hint: str | None) -> SinkError:
    """The error of a sink's address."""
    return SinkError(message, hint=hint)


def _about_config(message: str, hint: str | None) -> SinkError:
    return SinkError(message, hint=hint).about("config")


def missing(scheme: str, package: str, extra: str) -> SinkError:
    """What is raised where a client library isn't installed."""
    return SinkError(
        f"{scheme}:// needs the package {package}, which is not installed.",
        hint=f"Install it: pip install 'jupyter-stream[{extra}]'.",
    )


__all__ = ["Server", "missing", "wrong"]
