"""Who may: a secret token for everything, a derived one for reading a single query, and pages of no other site.

There are no cookies, so that a browser brings no right along by itself. Two more checks hold where somebody turned the token off:
the name in `Host` must be one of this machine's or an address (a site that has its name point here is refused), and a browser's
`Origin` must be ours.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from jupyter_stream.secrets import remember


@dataclass(frozen=True, slots=True)
class Access:
    """The rules of one server.

    Attributes:
        token: what requests have to bring; None where they need none.
        names: host names it may be called by, beside `localhost`, this machine's name, and any address in digits.
    """

    token: str | None
    names: frozenset[str] = frozenset()

    def granted(self, token: str | None, query: str | None, *, reading: bool) -> bool:
        """Whether a request may be answered.

        Args:
            token: what it brings.
            query: the query it is about, None if it is about more than one.
            reading: whether it only reads that query's answers or its page.
        """
        if self.token is None:
            return True
        if token is None:
            return False
        if hmac.compare_digest(token.encode(), self.token.encode()):
            return True
        shared = self.shared(query) if reading and query is not None else None
        return shared is not None and hmac.compare_digest(token.encode(), shared.encode())

    def shared(self, query: str) -> str | None:
        """A token with which the answers of one query can be read, and nothing else."""
        if self.token is None:
            return None
        return hmac.new(self.token.encode(), query.encode(), hashlib.sha256).hexdigest()[:40]

    def known_host(self, host: str) -> bool:
        """Whether what stands in `Host` names this machine."""
        try:
            name = urlsplit(f"//{host}").hostname
        except ValueError:
            return False
        if not name:
            return False
        if name == "localhost" or name == socket.gethostname().lower() or name in self.names:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True

    @staticmethod
    def known_origin(origin: str | None, host: str) -> bool:
        """Whether a request comes from a page of ours, or from no page."""
        return origin is None or urlsplit(origin).netloc.lower() == host.lower()


def access(token: str | bool | None, names: Iterable[str] = ()) -> Access:
    """The rules for a token: a new one where it is None, none at all where it is False."""
    if token is None or token is True:
        token = secrets.token_urlsafe(24)
    if token:
        remember(token)
    return Access(token or None, frozenset(n.lower() for n in names))


__all__ = ["Access", "access"]
