"""Encodings of text: a byte-order mark decides, else `WITH (encoding = ...)`, else it is UTF-8. What is parsed is UTF-8."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from jupyter_stream.core.suggest import nearest
from jupyter_stream.errors import SourceError

UTF8: Final = "utf-8"
_MARKS: Final = (
    (codecs.BOM_UTF8, UTF8),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # it begins as the next one does
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_KNOWN: Final = (
    "utf-8",
    "utf-16-le",
    "utf-16-be",
    "latin-1",
    "cp1252",
    "cp1250",
    "cp1251",
    "gbk",
    "shift_jis",
    "euc_kr",
    "big5",
)
_NO_TEXT: Final = (
    "idna",
    "punycode",
    "unicode_escape",
    "raw_unicode_escape",
    "undefined",
    "mbcs",
    "oem",
    "palmos",
    "utf-7",
    "hz",
)
"""What Python can decode and no file is written in, or what has no bytes for itself where a record begins."""


def encoding_of(options: Mapping[str, str]) -> str | None:
    """What the option `encoding` says, by the name Python has for it; None where it says nothing.

    Raises:
        SourceError: there is no such encoding.
    """
    given = options.get("encoding")
    if given is None:
        return None
    try:
        found = codecs.lookup(given.strip())
        name = {"utf-8-sig": UTF8, "utf-16": "utf-16-le", "utf-32": "utf-32-le"}.get(found.name, found.name)
        stateful = name.startswith("iso2022") or name in _NO_TEXT
        if stateful or "a\n".encode(name).decode(name) != "a\n":
            raise LookupError
    except (LookupError, ValueError):
        near = nearest(given.strip().lower(), _KNOWN)
        hint = (
            f"Did you mean '{near}'?" if near is not None else f"Write for instance {', '.join(map(repr, _KNOWN[:5]))}."
        )
        raise SourceError(f"Option encoding = '{given}' is no encoding of text files.", hint=hint).about(
            "encoding"
        ) from None
    return name


def mark_of(data: bytes) -> tuple[int, str | None]:
    """How many bytes the byte-order mark has that some text begins with, and what encoding it says; 0 and None without one."""
    return next(((len(mark), name) for mark, name in _MARKS if data.startswith(mark)), (0, None))


def as_utf8(data: bytes, encoding: str) -> bytes:
    """Text in another encoding. What is no character there becomes bytes that are no UTF-8 either: its record is refused."""
    if encoding == UTF8:
        return data
    if encoding.startswith("utf-"):
        whole = whole_units(data, encoding)
        try:
            text = data[:whole].decode(encoding, "surrogatepass")
        except UnicodeDecodeError:  # of UTF-32 there are values that no character has
            text = data[:whole].decode(encoding, "replace")
        return text.encode(UTF8, "surrogatepass") + (b"" if whole == len(data) else b"\xff")
    return data.decode(encoding, "surrogateescape").encode(UTF8, "surrogateescape")


def whole_units(data: bytes, encoding: str) -> int:
    """How many bytes at the start are whole units of an encoding."""
    if encoding == UTF8 or not encoding.startswith("utf-"):
        return len(data)
    return len(data) - len(data) % (4 if "32" in encoding else 2)


def from_utf8(text: bytes, encoding: str) -> bytes:
    """The bytes that `as_utf8` made this of."""
    errors = "surrogatepass" if encoding.startswith("utf-") else "surrogateescape"
    return text.decode(UTF8, errors).encode(encoding, errors)


def head_as_utf8(data: bytes, encoding: str | None, path: Path) -> bytes:
    """The beginning of a file as UTF-8, without its mark.

    Raises:
        SourceError: it is in UTF-16, and neither a mark nor an option says so.
    """
    length, marked = mark_of(data)
    found = marked or encoding
    if found is None:
        check_utf16(data, path)
        return data
    data = data[length:]
    return as_utf8(data[: whole_units(data, found)], found)


def check_utf16(data: bytes, path: Path) -> None:
    """Refuse text of two bytes a letter: every other byte of its first is a nothing.

    Raises:
        SourceError: naming the encoding to write.
    """
    start = data[:1_000]
    for name, high in (("utf-16-le", start[1::2]), ("utf-16-be", start[::2])):
        if len(high) > 1 and high.count(0) > len(high) // 2 and start.count(0) < len(start) * 2 // 3:
            raise SourceError(
                f"{path} looks like UTF-16 and has no byte-order mark.", hint=f"Write WITH (encoding = '{name}')."
            )


def suggested(data: bytes) -> str:
    """What to write where text is not UTF-8: the encoding that most of such files have."""
    return "latin-1" if any(data.find(bytes([b])) >= 0 for b in (0x81, 0x8D, 0x8F, 0x90, 0x9D)) else "cp1252"
