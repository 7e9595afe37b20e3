"""Passwords and keys in what users write: `hidden` takes them out of every text that is shown or kept.

A secret is known by its place (`scheme://user:password@host`, `?token=...`, `password = '...'`), or because it was
`remember`ed when the option or variable that holds it was read. Not for data: rows are shown as they are.
"""

from __future__ import annotations

import re
import threading
from typing import Final

_NAME: Final = (
    r"[\w.\-]*(?:password|passwd|passphrase|secret|token|credential|api[_\-]?key|access[_\-]?key|private[_\-]?key|authorization|"
    r"sasl\.jaas\.config|ssl\.key\.pem)s?"
)
_SECRET: Final = re.compile(_NAME, re.IGNORECASE)
_IN_ADDRESS: Final = re.compile(r"(?<=://)([^\s/'\"@:]*):([^\s/'\"]*)(?=@)")
_IN_QUERY: Final = re.compile(rf"([?&;]{_NAME}=)([^&\s;'\"]+)", re.IGNORECASE)
_IN_OPTION: Final = re.compile(rf"(['\"`]?\b{_NAME}['\"`]?\s*[=:]\s*)(['\"])((?:(?!\2).)*)(?=\2)", re.IGNORECASE)
_LEAST: Final = 4
"""Characters of a remembered secret: a shorter one would be found in the middle of ordinary words."""
_MOST: Final = 1000
"""Secrets remembered, the newest."""

_known: dict[str, None] = {}
_lock = threading.Lock()


def secret(name: str) -> bool:
    """Whether an option or setting of that name holds a secret, such as `sasl.password`."""
    return _SECRET.fullmatch(name.strip()) is not None


def remember(value: object) -> None:
    """Keep a value out of all texts from now on, wherever it stands in them."""
    text = value if isinstance(value, str) else ""
    if len(text) < _LEAST:
        return
    with _lock:
        _known.pop(text, None)
        _known[text] = None
        while len(_known) > _MOST:
            del _known[next(iter(_known))]


def hidden(text: str) -> str:
    """The text with a `*` for every character of a secret, so that places in it stay what they were."""
    if "://" in text:
        text = _IN_ADDRESS.sub(lambda m: f"{m[1]}:{'*' * len(m[2])}", text)
    if "=" in text or ":" in text:
        text = _IN_QUERY.sub(lambda m: m[1] + "*" * len(m[2]), text)
        text = _IN_OPTION.sub(lambda m: m[1] + m[2] + "*" * len(m[3]), text)
    for known in tuple(_known):
        if known in text:
            text = text.replace(known, "*" * len(known))
    return text
