"""The signature of what is pickled into a checkpoint: nothing is unpickled that this user has not written.

Unpickling runs code, and a checkpoint is a folder that somebody else might write to. So each state is signed with a key of the
user's, as Jupyter signs notebooks, and read back only with its signature. The key is made at first use, readable for its owner
alone, in Jupyter's data folder. `JUPYTER_STREAM_KEY` takes its place where that folder doesn't last, as in a container.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

VARIABLE: Final = "JUPYTER_STREAM_KEY"
_FILE: Final = "jupyter_stream_key"
DIGEST: Final = 32
"""Bytes of a signature."""


class ForeignState(Exception):
    """A state without this user's signature."""

    def __init__(self) -> None:
        super().__init__(
            "the checkpoint's state was not written with this user's key, so it is not loaded. Delete the checkpoint to begin "
            f"anew; or set {VARIABLE} to the value it was written with."
        )


def key() -> bytes:
    """The user's key, 32 bytes."""
    given = os.environ.get(VARIABLE)
    return hashlib.sha256(given.encode()).digest() if given else _kept()


def signed(key: bytes, data: bytes) -> bytes:
    """The data behind their signature."""
    return _signature(key, data) + data


def checked(key: bytes, data: bytes) -> bytes:
    """The data without their signature.

    Raises:
        ForeignState: it isn't that of this key.
    """
    signature, rest = data[:DIGEST], data[DIGEST:]
    if not hmac.compare_digest(signature, _signature(key, rest)):
        raise ForeignState
    return rest


def signature(key: bytes) -> hashlib.blake2b:
    """What signs data that come piece by piece."""
    return hashlib.blake2b(key=key, digest_size=DIGEST)  # 1 GB/s; HMAC-SHA256 takes twice as long


def _signature(key: bytes, data: bytes) -> bytes:
    signed = signature(key)
    signed.update(data)
    return signed.digest()


@cache
def _kept() -> bytes:
    from jupyter_core.paths import jupyter_data_dir

    path = Path(jupyter_data_dir()) / _FILE
    with suppress(FileNotFoundError):
        return _read(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    made = path.with_name(f"{_FILE}.{os.getpid()}.{secrets.token_hex(4)}")
    with os.fdopen(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(secrets.token_bytes(32))
    try:
        os.link(made, path)  # of two processes that make one at once, the first wins, and no one reads half a key
    except FileExistsError:
        pass
    except OSError:  # a file system without links
        made.replace(path)
    made.unlink(missing_ok=True)
    return _read(path)


def _read(path: Path) -> bytes:
    found = path.read_bytes()
    if len(found) != 32:
        raise ValueError(f"{path} is not a key of 32 bytes: delete it, and a new one is made")
    return found
