"""Texts and bytes in other forms: hexadecimal, base64, character sets, checksums."""

from __future__ import annotations

import base64
import hashlib
import re
import zlib
from collections.abc import Callable
from typing import Any, Final

import polars as pl

from jupyter_stream.core.schema import type_name
from jupyter_stream.functions.binding import admit, argument, constant, count
from jupyter_stream.functions.casts import cast
from jupyter_stream.functions.comparison import FUNCTIONS as COMPARISONS
from jupyter_stream.functions.conditional import FUNCTIONS as CONDITIONAL
from jupyter_stream.functions.elementwise import rowwise
from jupyter_stream.functions.expression import Call, Expr, Literal
from jupyter_stream.functions.function import BadArguments, Bind, Compiled, Failure, Kernel, strict
from jupyter_stream.functions.rows import alias, row
from jupyter_stream.functions.types import BIGINT, BINARY, INT, STRING, VOID, is_integral

_CASE: Final = next(f.bind for f in CONDITIONAL if f.name == "case")
_SAME: Final = next(f.bind for f in COMPARISONS if f.name == "<=>")

_SETS: Final = {
    "UTF-8": "utf-8", "ISO-8859-1": "latin-1", "US-ASCII": "ascii", "UTF-16BE": "utf-16-be", "UTF-16LE": "utf-16-le",
    "UTF-16": "utf-16",
}  # fmt: skip
_OTHER_NAMES: Final = {"UTF8": "UTF-8", "LATIN1": "ISO-8859-1", "ASCII": "US-ASCII", "SQL_ASCII": "US-ASCII"}


def _bytes(name: str, index: int, expr: Expr) -> Expr:
    """Bytes as they are, a text as its bytes in UTF-8."""
    value = admit(expr)
    if value.dtype not in (BINARY, STRING, VOID):
        raise BadArguments(f"argument {index + 1} of {name} must be a text or bytes, not {type_name(value.dtype)}")
    return cast(value, BINARY)


def _of_bytes(name: str, result: pl.DataType) -> Bind:
    def bind(args: tuple[Expr, ...]) -> Expr:
        count(name, args, 1, 1)
        return Call(name, (_bytes(name, 0, args[0]),), result)

    return bind


def _each(compute: Callable[..., Any], dtype: pl.DataType) -> Kernel:
    """Row by row in Python's own libraries: Polars has no checksums, Arrow neither."""
    return strict(lambda call, *values: rowwise(compute, dtype, *values))


def _bind_hex(args: tuple[Expr, ...]) -> Expr:
    count("hex", args, 1, 1)
    value = admit(args[0])
    if is_integral(value.dtype) or value.dtype == VOID:
        return Call("hex", (cast(value, BIGINT),), STRING)
    if value.dtype not in (STRING, BINARY):
        raise BadArguments(f"hex takes an integer, a text or bytes, not {type_name(value.dtype)}")
    return Call("hex", (cast(value, BINARY),), STRING)


def _hex(call: Call, value: pl.Expr) -> pl.Expr:
    if call.args[0].dtype == BIGINT:  # Polars shows numbers in base 10 only
        return rowwise(lambda n: f"{n & 0xFFFF_FFFF_FFFF_FFFF:X}", STRING, value)
    return value.bin.encode("hex").str.to_uppercase()


def _bind_text(name: str, result: pl.DataType) -> Bind:
    def bind(args: tuple[Expr, ...]) -> Expr:
        count(name, args, 1, 1)
        return Call(name, (argument(name, 0, args[0], STRING),), result)

    return bind


def _unhex(call: Call, text: pl.Expr) -> pl.Expr:
    even = pl.when(text.str.len_bytes() % 2 == 1).then(pl.lit("0") + text).otherwise(text)
    whole = pl.when(text.str.contains("^[0-9A-Fa-f]*$")).then(even)
    return whole.str.decode("hex", strict=False)


_UNIT: Final = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?")


def _base64(call: Call, value: pl.Expr) -> pl.Expr:
    lines = value.bin.encode("base64").str.replace_all("(.{76})", "${1}\r\n")
    return lines.str.strip_chars_end("\r\n")


def _from_base64(text: str) -> bytes | None:
    kept = re.sub(r"[^A-Za-z0-9+/=]", "", text)
    return base64.b64decode(kept.rstrip("=") + "===") if _UNIT.fullmatch(kept) else None


def _unbase64(call: Call, text: pl.Expr) -> Compiled:
    made = rowwise(_from_base64, BINARY, text)  # Polars refuses line ends
    return Compiled(made, (Failure(made.is_null() & text.is_not_null(), "the text is no base64"),))


def _bind_sha2(args: tuple[Expr, ...]) -> Expr:
    count("sha2", args, 2, 2)
    return Call("sha2", (_bytes("sha2", 0, args[0]), argument("sha2", 1, args[1], INT)), STRING)


def _sha2(value: bytes, bits: int) -> str | None:
    if bits not in (0, 224, 256, 384, 512):
        return None
    return hashlib.new(f"sha{bits or 256}", value).hexdigest()


def _charset(name: str, expr: Expr) -> Literal:
    found = constant(name, 1, argument(name, 1, expr, STRING))
    if isinstance(found.value, str):
        known = _OTHER_NAMES.get(found.value.upper(), found.value.upper())
        if known not in _SETS:
            raise BadArguments(f"{name} knows the character sets {', '.join(_SETS)}, not {found.value!r}")
        return Literal(known, STRING)
    return found


def _bind_encode(name: str) -> Bind:
    def bind(args: tuple[Expr, ...]) -> Expr:
        count(name, args, 2, 2)
        return Call("encode", (argument(name, 0, args[0], STRING), _charset(name, args[1])), BINARY)

    return bind


def _bind_decode(name: str) -> Bind:
    def bind(args: tuple[Expr, ...]) -> Expr:
        count(name, args, 2, None if name == "decode" else 2)
        if len(args) > 2:
            value, pairs = args[0], args[1:]
            parts = [x for i in range(0, len(pairs) - 1, 2) for x in (_SAME((value, pairs[i])), pairs[i + 1])]
            return _CASE((*parts, *pairs[len(pairs) // 2 * 2 :]))
        return Call("decode", (_bytes(name, 0, args[0]), _charset(name, args[1])), STRING)

    return bind


def _coded(call: Call, value: pl.Expr, _: pl.Expr) -> pl.Expr | Compiled:
    charset = call.args[1]
    assert isinstance(charset, Literal)
    if not isinstance(charset.value, str):
        return pl.lit(None, dtype=call.dtype)
    if call.function == "encode" and charset.value == "UTF-8":
        return value.cast(BINARY)
    made = rowwise(_coder(_SETS[charset.value], call.function == "encode"), call.dtype, value)
    reason = (
        f"the text has what {charset.value} has not"
        if call.function == "encode"
        else f"these bytes are no {charset.value}"
    )
    return Compiled(made, (Failure(made.is_null() & value.is_not_null(), reason),))


def _coder(codec: str, encode: bool) -> Callable[[Any], Any]:
    def code(value: Any) -> Any:
        try:
            if codec == "utf-16":  # Java's begins with its order, and is read so; without it, big end first
                if encode:
                    return b"\xfe\xff" * (value != "") + value.encode("utf-16-be")
                little = value[:2] == b"\xff\xfe"
                return value[2 * (value[:2] in (b"\xff\xfe", b"\xfe\xff")) :].decode(
                    "utf-16-le" if little else "utf-16-be"
                )
            return value.encode(codec) if encode else value.decode(codec)
        except UnicodeError:
            return None

    return code


_MD5: Final = row(
    "md5(text) -> STRING", "The MD5 checksum of a text or of bytes, in hexadecimal digits.",
    "md5('a') = '0cc175b9c0f1b6a831c399e269772661'", _of_bytes("md5", STRING),
    _each(lambda b: hashlib.md5(b, usedforsecurity=False).hexdigest(), STRING),
)  # fmt: skip
_SHA1: Final = row(
    "sha1(text) -> STRING", "The SHA-1 checksum of a text or of bytes, in hexadecimal digits.",
    "sha1('a') = '86f7e437faa5a7fce15d1ddcb9eaeaea377667b8'", _of_bytes("sha1", STRING),
    _each(lambda b: hashlib.sha1(b, usedforsecurity=False).hexdigest(), STRING),
)  # fmt: skip

FUNCTIONS: Final = (
    row("hex(value) -> STRING", "An integer, a text or bytes in hexadecimal digits.", "hex(255) = 'FF'", _bind_hex, strict(_hex)),
    row(
        "unhex(text) -> BINARY", "Bytes from hexadecimal digits; NULL if they are none.", "decode(unhex('6162'), 'UTF-8') = 'ab'",
        _bind_text("unhex", BINARY), strict(_unhex),
    ),
    row(
        "base64(text) -> STRING", "A text or bytes in base 64.", "base64('abc') = 'YWJj'", _of_bytes("base64", STRING),
        strict(_base64),
    ),
    row(
        "unbase64(text) -> BINARY", "Bytes from base 64; an error of the row if it is none.",
        "decode(unbase64('YWJj'), 'UTF-8') = 'abc'", _bind_text("unbase64", BINARY), strict(_unbase64),
    ),
    _MD5,
    _SHA1,
    alias("sha", _SHA1),
    row(
        "sha2(text, bits) -> STRING", "The SHA-2 checksum of 224, 256 (or 0), 384 or 512 bits; NULL of others.",
        "sha2('a', 256) = 'ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb'", _bind_sha2, _each(_sha2, STRING),
    ),
    row(
        "crc32(text) -> BIGINT", "The CRC-32 checksum of a text or of bytes.", "crc32('a') = 3904355907",
        _of_bytes("crc32", BIGINT), _each(zlib.crc32, BIGINT),
    ),
    row(
        "encode(text, charset) -> BINARY", "The bytes of a text in a character set (a constant), such as UTF-8.",
        "hex(encode('é', 'UTF-8')) = 'C3A9'", _bind_encode("encode"), strict(_coded),
    ),
    row(
        "decode(bytes, charset) -> STRING",
        "The text that bytes are in a character set; or decode(x, a, r, b, s, ..., other): r where x is a, and so on.",
        "decode(2, 1, 'one', 2, 'two', 'many') = 'two'", _bind_decode("decode"), strict(_coded),
    ),
    row(
        "convert_to(text, charset) -> BINARY", "The bytes of a text in a character set, as encode.",
        "hex(convert_to('é', 'UTF8')) = 'C3A9'", _bind_encode("convert_to"),
    ),
    row(
        "convert_from(bytes, charset) -> STRING", "The text that bytes are in a character set, as decode.",
        "convert_from(unhex('6162'), 'UTF8') = 'ab'", _bind_decode("convert_from"),
    ),
)  # fmt: skip
