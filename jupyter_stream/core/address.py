"""Addresses of servers, and the credentials that go with them: what is secret in either is remembered, to be shown nowhere.

Not for what a server is asked: that is the connector's.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from jupyter_stream.core.suggest import nearest
from jupyter_stream.secrets import remember, secret

_VARIABLE: Final = re.compile(r"\$\{(\w+)\}")
IN_CONFIG: Final[Mapping[str, str]] = {
    "username": "a text",
    "password": "a text",
    "token": "a text",
    "headers": "a dict of HTTP headers",
    "ca": "the path of a file with the certificates to trust",
    "cert": "the path of the client's own certificate",
    "key": "the path of its key",
}
"""What may stand in a variable with credentials."""
CREDENTIALS: Final = "a variable with credentials: {'username': ..., 'password': ...}"
"""What the option `config` does, where passwords are all there is."""
WEB_CREDENTIALS: Final = (
    "a variable with credentials: {'token': ..., 'headers': {...}, 'username': ..., 'password': ...}"
)
"""The same of those that speak HTTP."""
PLAIN: Final = frozenset({"username", "password", "ca", "cert", "key"})
"""What may stand there for a server that knows users and passwords."""
WEB: Final = frozenset({*PLAIN, "token", "headers"})
"""The same of those that speak HTTP."""

Wrong = Callable[[str, str | None], Exception]
"""Makes the error of a source, or of a sink, of a message and a hint."""


@dataclass(frozen=True, slots=True)
class Address:
    """An address, taken apart.

    Attributes:
        scheme: in lower case.
        host: without the port; empty where none is named.
        port: None where none is named.
        path: what stands behind the host, its `/` included, and what stands behind `?` with it.
        username: of who connects; None without.
        password: the same.
    """

    scheme: str
    host: str
    port: int | None
    path: str
    username: str | None
    password: str | None

    @classmethod
    def of(cls, uri: str, example: str, wrong: Wrong) -> Address:
        """Take one apart, variables of the environment filled in.

        Args:
            uri: the whole of it.
            example: one that could be, for the error.
            wrong: makes the error.
        """
        scheme, _, rest = uri.partition("://")
        authority, slash, path = from_environment(rest, wrong).partition("/")
        try:
            url = urlsplit(f"//{authority}")
            port = url.port
        except ValueError:
            raise wrong(f"'{uri}' has no port that can be.", f"Write '{example}'.") from None
        password = unquote(url.password) if url.password else None
        remember(password)
        username = unquote(url.username) if url.username else None
        return cls(scheme.strip().lower(), url.hostname or "", port, slash + path, username, password)

    @property
    def shown(self) -> str:
        """As it may be shown."""
        where = f"{self.host}:{self.port}" if self.port else self.host
        return f"{self.scheme}://{where}{self.path.partition('?')[0]}"

    def at(self, port: int) -> str:
        """Host and port; that port where none is named."""
        return f"{self.host}:{self.port or port}"


def from_environment(text: str, wrong: Wrong, *, hide: bool = True) -> str:
    """The text with variables of the environment in place of `${NAME}`. What they hold is shown nowhere.

    Args:
        text: as written.
        wrong: makes the error where there is no such variable.
        hide: whether what they hold is a secret.
    """

    def value(match: re.Match[str]) -> str:
        found = os.environ.get(match[1])
        if found is None:
            near = nearest(match[1], os.environ)
            hint = f"Did you mean '{near}'?" if near else f"Set it before the kernel starts: export {match[1]}=..."
            raise wrong(f"The environment has no variable {match[1]}.", hint)
        if hide:
            remember(found)
        return found

    return _VARIABLE.sub(value, text)


def credentials(
    name: str | None, namespace: Mapping[str, object], known: Iterable[str], wrong: Wrong
) -> dict[str, Any]:
    """Credentials in a variable of the notebook: they are not for queries.

    Args:
        name: what `config` says; None where it isn't there.
        namespace: the notebook's variables.
        known: what may stand in it.
        wrong: makes the error where the variable isn't there, is no dict, or holds something else.
    """
    if name is None:
        return {}
    names = tuple(known)
    value = namespace.get(name)
    example = ", ".join(f"'{key}': ..." for key in IN_CONFIG if key in names)
    if not isinstance(value, Mapping):
        told = "is not a dict" if name in namespace else "does not exist"
        raise wrong(f"The variable '{name}' {told}.", f"Define it: {name} = {{{example}}}.")
    for key, setting in value.items():
        if key not in names:
            near = nearest(str(key), names)
            hint = f"Did you mean '{near}'?" if near else f"It can have {example}."
            raise wrong(f"The variable '{name}' has '{key}', which means nothing here.", hint)
        for each_key, each in setting.items() if isinstance(setting, Mapping) else ((key, setting),):
            if secret(str(each_key)) or key == "headers":
                remember(each)
    return dict(value)


def headers(config: Mapping[str, Any]) -> dict[str, str]:
    """Headers of HTTP with the credentials."""
    found = {str(name): str(value) for name, value in config.get("headers", {}).items()}
    if config.get("token"):
        found["Authorization"] = f"Bearer {config['token']}"
    elif config.get("username"):
        pair = f"{config['username']}:{config.get('password') or ''}"
        found["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    return found


__all__ = [
    "CREDENTIALS",
    "IN_CONFIG",
    "PLAIN",
    "WEB",
    "WEB_CREDENTIALS",
    "Address",
    "credentials",
    "from_environment",
    "headers",
]
