"""Functions of strings, counted in characters (code points) as Spark does. Patterns are in `patterns`."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import polars as pl

from jupyter_stream.functions.binding import admit, argument, constant, count, item_number, takes
from jupyter_stream.functions.elementwise import elementwise
from jupyter_stream.functions.expression import Call, Expr, Literal
from jupyter_stream.functions.function import (
    MOST_TEXT,
    TOO_LONG,
    Bind,
    Compiled,
    Failure,
    Function,
    Kernel,
    Spark,
    eager,
    inherited,
    strict,
)
from jupyter_stream.functions.types import BIGINT, BINARY, BOOLEAN, INT, STRING

_FEW: Final = 1_000
"""Times or characters by which a text may grow, however long it is."""


def _length(text: pl.Expr) -> pl.Expr:
    return text.str.len_chars().cast(BIGINT)


def _bind_length(name: str) -> Bind:
    def bind(args: tuple[Expr, ...]) -> Expr:
        count(name, args, 1, 1)
        value = admit(args[0])
        return Call(name, (value if value.dtype == BINARY else argument(name, 0, value, STRING),), INT)

    return bind


def _char_length(call: Call, text: pl.Expr) -> pl.Expr:
    return (text.bin.size() if call.args[0].dtype == BINARY else text.str.len_chars()).cast(INT)


def _octet_length(call: Call, text: pl.Expr) -> pl.Expr:
    return (text.bin.size() if call.args[0].dtype == BINARY else text.str.len_bytes()).cast(INT)


def _substring(call: Call, text: pl.Expr, position: pl.Expr, length: pl.Expr | None = None) -> pl.Expr:
    """Counted from 1, from the end if negative; what lies before the start counts towards the length."""
    given = call.args[1]
    known = length is None or (isinstance(call.args[2], Literal) and call.args[2].value is not None)
    if isinstance(given, Literal) and isinstance(given.value, int) and given.value > 0 and known:
        return text.str.slice(given.value - 1, None if length is None else length.clip(0))
    position = position.cast(BIGINT)
    start = pl.when(position > 0).then(position - 1).when(position < 0).then(_length(text) + position).otherwise(0)
    kept = start.clip(0)
    if length is None:
        return pl.when(position.is_not_null()).then(text.str.slice(kept))
    part = text.str.slice(kept, (start + length.cast(BIGINT) - kept).clip(0))
    return pl.when(position.is_not_null() & length.is_not_null()).then(part)


def _trim(side: str) -> Kernel:
    def compute(call: Call, text: pl.Expr, characters: pl.Expr | None = None) -> pl.Expr:
        strip = {"both": text.str.strip_chars, "start": text.str.strip_chars_start, "end": text.str.strip_chars_end}[
            side
        ]
        if characters is None:
            return strip(" ")
        # Without characters Polars would take all white space.
        return pl.when(characters == "").then(text).when(characters.is_not_null()).then(strip(characters))

    return strict(compute)


def _pad(left: bool) -> Kernel:
    def compute(call: Call, text: pl.Expr, length: pl.Expr, pad: pl.Expr) -> pl.Expr | Compiled:
        number = _constant(call.args[1])
        if number is not None and number <= MOST_TEXT:
            return padded(call, text, length.cast(BIGINT).clip(0), pad)
        fits = length <= MOST_TEXT
        made = padded(call, text, pl.when(fits).then(length.cast(BIGINT).clip(0)), pad)
        return Compiled(made, (Failure(~fits, TOO_LONG),))

    def padded(call: Call, text: pl.Expr, length: pl.Expr, pad: pl.Expr) -> pl.Expr:
        missing = (length - _length(text)).clip(0)
        known = call.args[2]
        if isinstance(known, Literal) and isinstance(known.value, str) and len(known.value) == 1:
            filled = text.str.pad_start(length, known.value) if left else text.str.pad_end(length, known.value)
            return filled.str.head(length)
        width = _length(pad)
        times = pl.when(width > 0).then((missing + width - 1) // width).otherwise(0)
        filler = pad.repeat_by(times).list.join("").str.head(missing)
        filled = pl.concat_str([filler, text] if left else [text, filler]).str.head(length)
        return pl.when(text.is_not_null() & pad.is_not_null()).then(filled)  # a list of NULLs is joined to ''

    return strict(compute)


def _bind_pad(name: str) -> Bind:
    bind = takes(name, STRING, INT, STRING, result=STRING)

    def with_default(args: tuple[Expr, ...]) -> Expr:
        count(name, args, 2, 3)
        return bind(args if len(args) == 3 else (*args, Literal(" ", STRING)))

    return with_default


def _bind_strings(name: str, least: int = 1) -> Bind:
    def bind(args: tuple[Expr, ...]) -> Expr:
        count(name, args, least)
        return Call(name, tuple(argument(name, i, a, STRING) for i, a in enumerate(args)), STRING)

    return bind


def _bind_concat_ws(args: tuple[Expr, ...]) -> Expr:
    count("concat_ws", args, 1)
    texts = tuple(argument("concat_ws", i, a, STRING) for i, a in enumerate(args))
    return Call("concat_ws", texts, STRING)


def _concat_ws(call: Call, separator: pl.Expr, *texts: pl.Expr) -> pl.Expr:
    known = call.args[0]
    if isinstance(known, Literal):
        if not isinstance(known.value, str):
            return pl.lit(None, dtype=STRING)
        return pl.concat_str(texts, separator=known.value, ignore_nulls=True) if texts else pl.lit("")
    parts = [pl.when(text.is_not_null()).then(separator + text).otherwise(pl.lit("")) for text in texts]
    whole = pl.concat_str(parts) if parts else pl.lit("")
    return pl.when(separator.is_not_null()).then(whole.str.slice(separator.str.len_chars()))


def _bind_replace(args: tuple[Expr, ...]) -> Expr:
    count("replace", args, 2, 3)
    args = args if len(args) == 3 else (*args, Literal("", STRING))
    return takes("replace", STRING, STRING, STRING, result=STRING)(args)


def _replace(call: Call, text: pl.Expr, search: pl.Expr, by: pl.Expr) -> pl.Expr | Compiled:
    given = call.args[2]
    if isinstance(given, Literal) and (given.value is None or len(str(given.value)) <= _FEW):
        return _replaced(call, text, search, by)
    # at most so many times as there is room for what is searched
    most = _length(text) + _length(text) // _length(search).clip(1) * _length(by)
    fits = most <= MOST_TEXT
    text = pl.when(fits).then(text)
    return Compiled(_replaced(call, text, search, by), (Failure(~fits, TOO_LONG),))


def _replaced(call: Call, text: pl.Expr, search: pl.Expr, by: pl.Expr) -> pl.Expr:
    known = call.args[1]
    if isinstance(known, Literal) and isinstance(known.value, str) and isinstance(call.args[2], Literal):
        if not known.value or call.args[2].value is None:
            return text if not known.value and call.args[2].value is not None else pl.lit(None, dtype=STRING)
        return text.str.replace_all(known.value, by, literal=True)
    replaced = text.str.split(pl.when(search != "").then(search)).list.join(by)
    return pl.when(search != "").then(replaced).when(by.is_not_null() & search.is_not_null()).then(text)


def _bind_reverse(args: tuple[Expr, ...]) -> Expr:
    count("reverse", args, 1, 1)
    value = args[0] if isinstance(args[0].dtype, pl.List) else argument("reverse", 0, args[0], STRING)
    return Call("reverse", (value,), value.dtype)


def _reverse(call: Call, text: pl.Expr) -> pl.Expr:
    if call.dtype != STRING:
        return text.list.reverse()
    return text.str.split("").list.reverse().list.join("")  # str.reverse() keeps accents on their letters


def _repeat(call: Call, text: pl.Expr, times: pl.Expr) -> pl.Expr | Compiled:
    number = _constant(call.args[1])
    if number is not None and number <= _FEW:  # this often any text goes
        repeated = text.repeat_by(times.clip(0)).list.join("")
        return pl.when(text.is_not_null()).then(repeated)  # a list of NULLs is joined to ''
    fits = _length(text) * times.cast(BIGINT).clip(0) <= MOST_TEXT
    repeated = text.repeat_by(pl.when(fits).then(times.clip(0))).list.join("")
    return Compiled(pl.when(text.is_not_null()).then(repeated), (Failure(~fits, TOO_LONG),))


def _space(call: Call, times: pl.Expr) -> pl.Expr | Compiled:
    fits = times <= MOST_TEXT
    return Compiled(pl.lit(" ").repeat_by(pl.when(fits).then(times.clip(0))).list.join(""), (Failure(~fits, TOO_LONG),))


def _constant(expr: Expr) -> int | None:
    """The whole number that an argument is for every row."""
    return expr.value if isinstance(expr, Literal) and isinstance(expr.value, int) else None


def _initcap(call: Call, text: pl.Expr) -> pl.Expr:
    word = pl.element()
    capital = word.str.head(1).str.to_uppercase() + word.str.slice(1).str.to_lowercase()
    return text.str.split(" ").list.eval(capital).list.join(" ")


def position(text: pl.Expr, part: pl.Expr) -> pl.Expr:
    """Where `part` first begins, counted from 1; 0 if nowhere."""
    before = text.str.splitn(part, 2).struct[0].str.len_chars().cast(INT)
    found = pl.when(part == "").then(1).when(text.str.contains(part, literal=True)).then(before + 1).otherwise(0)
    return pl.when(text.is_not_null() & part.is_not_null()).then(found.cast(INT))


def _instr(call: Call, text: pl.Expr, part: pl.Expr) -> pl.Expr:
    return position(text, part)


def _locate(call: Call, part: pl.Expr, text: pl.Expr, start: pl.Expr) -> pl.Expr:
    offset = (start - 1).clip(0)
    found = position(text.str.slice(offset), part)
    found = pl.when((found > 0) & (part != "")).then(found + offset).otherwise(found)
    found = pl.when((start < 1) & found.is_not_null()).then(0).otherwise(found)
    return pl.when(start.is_null()).then(0).otherwise(found).cast(INT)


def _locate_from(call: Call, parts: tuple[Compiled, ...]) -> Compiled:
    """Spark looks at where to start first, and at the rest only where there is such a number."""
    part, text, start = parts
    return Compiled(_locate(call, part.value, text.value, start.value), inherited((start, part, text)))


def _bind_locate(name: str) -> Bind:
    def bind(args: tuple[Expr, ...]) -> Expr:
        count(name, args, 2, 3)
        args = args if len(args) == 3 else (*args, Literal(1, INT))
        return takes("locate", STRING, STRING, INT, result=INT)(args)

    return bind


def _bind_split_part(args: tuple[Expr, ...]) -> Expr:
    count("split_part", args, 3, 3)
    texts = (argument("split_part", i, a, STRING) for i, a in enumerate(args[:2]))
    return Call("split_part", (*texts, item_number("split_part", 2, args[2])), STRING)


def _split_part(call: Call, text: pl.Expr, by: pl.Expr, number: pl.Expr) -> Compiled:
    parts = text.str.split(pl.when(by != "").then(by))
    index = pl.when(number > 0).then(number - 1).otherwise(number)
    whole = pl.when((by == "") & number.is_in((1, -1))).then(text)
    part = pl.when(by != "").then(parts.list.get(index, null_on_oob=True)).otherwise(whole)
    value = pl.when(text.is_not_null() & by.is_not_null() & number.is_not_null()).then(part.fill_null(""))
    failure = Failure(
        (number == 0) & text.is_not_null() & by.is_not_null(),
        "split_part has no part 0: the first is 1, the last is -1",
    )
    return Compiled(value, (failure,))


def _substring_index(call: Call, text: pl.Expr, by: pl.Expr, times: pl.Expr) -> pl.Expr:
    parts = text.str.split(pl.when(by != "").then(by))
    kept = (
        pl.when(times > 0)
        .then(parts.list.head(times.clip(0)))
        .otherwise(parts.list.tail((0 - times.cast(BIGINT)).clip(0)))
    )
    value = pl.when((by == "") | (times == 0)).then(pl.lit("")).otherwise(kept.list.join(by))
    return pl.when(text.is_not_null() & by.is_not_null() & times.is_not_null()).then(value)


def _bind_translate(args: tuple[Expr, ...]) -> Expr:
    count("translate", args, 3, 3)
    texts = tuple(argument("translate", i, a, STRING) for i, a in enumerate(args))
    return Call("translate", (texts[0], constant("translate", 1, texts[1]), constant("translate", 2, texts[2])), STRING)


def _translate(call: Call, text: pl.Expr, *_: pl.Expr) -> pl.Expr:
    old, new = (a.value if isinstance(a, Literal) else None for a in call.args[1:])
    if not isinstance(old, str) or not isinstance(new, str):
        return pl.lit(None, dtype=STRING)
    pairs: dict[str, str] = {}
    for i, character in enumerate(old):
        pairs.setdefault(character, new[i : i + 1])
    return text.str.replace_many(list(pairs), list(pairs.values())) if pairs else text


def _ascii(call: Call, text: pl.Expr) -> pl.Expr:
    first = text.str.head(1)
    code = first.str.encode("hex").str.to_integer(base=16, strict=False).cast(BIGINT)
    return pl.when(text == "").then(0).otherwise(elementwise(_code_point, INT, code)).cast(INT)


def _code_point(utf8: Any) -> Any:
    """The code points of characters whose one to four bytes are the digits of a number."""
    a, b, c, d = ((utf8 >> shift) & 0xFF for shift in (0, 8, 16, 24))
    low, middle, high = a & 0x3F, (b & 0x3F) << 6, (c & 0x3F) << 12
    short = np.where(utf8 < 0x80, utf8, (b & 0x1F) << 6 | low)
    long = np.where(utf8 < 0x1000000, (c & 0xF) << 12 | middle | low, (d & 0x7) << 18 | high | middle | low)
    return np.where(utf8 < 0x10000, short, long).astype(np.int32)


_LATIN: Final = tuple(map(chr, range(256)))


def _chr(call: Call, number: pl.Expr) -> pl.Expr:
    character = pl.lit(pl.Series(_LATIN)).gather(number % 256)
    return pl.when(number < 0).then(pl.lit("")).otherwise(character)


def _joined(name: str) -> Spark:
    return lambda call, args: f"{name}({', '.join(args)})"


def _trimmed(name: str, side: str) -> Spark:
    return lambda call, args: f"trim({side} {args[1]} FROM {args[0]})" if len(args) == 2 else f"{name}({args[0]})"


def _bind_overlay(args: tuple[Expr, ...]) -> Expr:
    count("overlay", args, 3, 4)
    return takes("overlay", STRING, STRING, INT, INT, result=STRING, optional=1)(args)


def _overlay(call: Call, text: pl.Expr, by: pl.Expr, start: pl.Expr, length: pl.Expr | None = None) -> pl.Expr:
    """As Spark: a length below 0, or none, is that of the text put in."""
    start = start.cast(BIGINT)
    width = _length(by) if length is None else pl.when(length >= 0).then(length.cast(BIGINT)).otherwise(_length(by))
    end = start + width
    size = _length(text)
    behind = pl.when(end > 0).then(end - 1).when(end < 0).then(size + end).otherwise(0).clip(0)
    made = pl.concat_str(text.str.head((start - 1).clip(0)), by, text.str.slice(behind))
    given = text.is_not_null() & by.is_not_null() & start.is_not_null()
    return pl.when(given if length is None else given & length.is_not_null()).then(made)


def _row(
    signature: str, description: str, example: str, bind: Bind, kernel: Kernel | None = None, spark: Spark | None = None
) -> Function:
    name = signature.partition("(")[0]
    return Function(name, signature, description, example, bind, kernel, spark or (_joined(name) if kernel else None))


def _test(name: str, description: str, example: str) -> tuple[Function, ...]:
    """contains, startswith or endswith, and its spelling with an underscore."""
    plain = name.replace("_", "")

    def compute(call: Call, text: pl.Expr, part: pl.Expr) -> pl.Expr:
        if plain == "contains":
            return text.str.contains(part, literal=True)
        return text.str.starts_with(part) if plain == "startswith" else text.str.ends_with(part)

    bind = takes(plain, STRING, STRING, result=BOOLEAN)
    made = _row(f"{plain}(string, part) -> BOOLEAN", description, example, bind, strict(compute))
    other = _row(f"{name}(string, part) -> BOOLEAN", description, example.replace(plain, name), bind)
    return (made,) if name == plain else (made, other)


_UPPER: Final = takes("upper", STRING, result=STRING)
_LOWER: Final = takes("lower", STRING, result=STRING)
_SUBSTRING: Final = takes("substring", STRING, INT, INT, result=STRING, optional=1)

FUNCTIONS: Final = (
    _row(
        "upper(string) -> STRING", "In capitals.", "upper('a') = 'A'", _UPPER,
        strict(lambda call, s: s.str.to_uppercase()),
    ),
    _row("ucase(string) -> STRING", "In capitals.", "ucase('a') = 'A'", _UPPER),
    _row(
        "lower(string) -> STRING", "In small letters.", "lower('A') = 'a'", _LOWER,
        strict(lambda call, s: s.str.to_lowercase()),
    ),
    _row("lcase(string) -> STRING", "In small letters.", "lcase('A') = 'a'", _LOWER),
    _row(
        "initcap(string) -> STRING", "Each word (between blanks) with a capital.", "initcap('ab cd') = 'Ab Cd'",
        takes("initcap", STRING, result=STRING), strict(_initcap),
    ),
    _row(
        "length(string) -> INT", "Characters of a string, bytes of a binary.", "length('abc') = 3",
        _bind_length("length"), strict(_char_length),
    ),
    _row("char_length(string) -> INT", "Characters of a string.", "char_length('abc') = 3", _bind_length("length")),
    _row(
        "character_length(string) -> INT", "Characters of a string.", "character_length('abc') = 3",
        _bind_length("length"),
    ),
    _row(
        "octet_length(string) -> INT", "Bytes in UTF-8.", "octet_length('é') = 2", _bind_length("octet_length"),
        strict(_octet_length),
    ),
    _row(
        "bit_length(string) -> INT", "Bits in UTF-8.", "bit_length('a') = 8", _bind_length("bit_length"),
        strict(lambda call, s: _octet_length(call, s) * 8),
    ),
    _row(
        "trim(string) -> STRING", "Without blanks at both ends.", "trim(' a ') = 'a'",
        takes("trim", STRING, result=STRING), _trim("both"),
    ),
    _row(
        "ltrim(string[, characters]) -> STRING", "Without these characters (blanks) at the start.", "ltrim(' a') = 'a'",
        takes("ltrim", STRING, STRING, result=STRING, optional=1), _trim("start"), _trimmed("ltrim", "LEADING"),
    ),
    _row(
        "rtrim(string[, characters]) -> STRING", "Without these characters (blanks) at the end.", "rtrim('a ') = 'a'",
        takes("rtrim", STRING, STRING, result=STRING, optional=1), _trim("end"), _trimmed("rtrim", "TRAILING"),
    ),
    _row(
        "btrim(string[, characters]) -> STRING", "Without these characters (blanks) at both ends.",
        "btrim('xax', 'x') = 'a'", takes("btrim", STRING, STRING, result=STRING, optional=1), _trim("both"),
    ),
    _row(
        "lpad(string, length[, pad]) -> STRING", "Filled up or cut to a length, on the left.",
        "lpad('7', 3, '0') = '007'", _bind_pad("lpad"), _pad(left=True),
    ),
    _row(
        "rpad(string, length[, pad]) -> STRING", "Filled up or cut to a length, on the right.",
        "rpad('7', 3, '.') = '7..'", _bind_pad("rpad"), _pad(left=False),
    ),
    _row(
        "substring(string, position[, length]) -> STRING",
        "Part of a string, counted from 1, from the end if negative.", "substring('abcd', 2, 2) = 'bc'", _SUBSTRING,
        strict(_substring),
    ),
    _row(
        "substr(string, position[, length]) -> STRING", "Part of a string, as substring.", "substr('abcd', -2) = 'cd'",
        _SUBSTRING,
    ),
    _row(
        "left(string, length) -> STRING", "The first characters.", "left('abc', 2) = 'ab'",
        takes("left", STRING, INT, result=STRING), strict(lambda call, s, n: s.str.head(n.clip(0))),
    ),
    _row(
        "right(string, length) -> STRING", "The last characters.", "right('abc', 2) = 'bc'",
        takes("right", STRING, INT, result=STRING), strict(lambda call, s, n: s.str.tail(n.clip(0))),
    ),
    _row(
        "concat(a, b, ...) -> STRING", "The texts joined together; NULL if one of them is NULL.", "concat('a', 1) = 'a1'",
        _bind_strings("concat"), eager(lambda call, *s: pl.concat_str(s)),
    ),
    Function(
        "||", "a || b -> STRING", "The texts joined together; NULL if one of them is NULL.", "'a' || 'b' = 'ab'",
        lambda args: _bind_strings("concat", 2)(args),
    ),
    _row(
        "concat_ws(separator, a, b, ...) -> STRING", "The texts that are not NULL, joined with a separator.",
        "concat_ws('-', 'a', NULL, 'b') = 'a-b'", _bind_concat_ws, eager(_concat_ws),
    ),
    _row(
        "replace(string, search[, by]) -> STRING", "Every occurrence replaced.", "replace('abab', 'b', 'x') = 'axax'",
        _bind_replace, strict(_replace),
    ),
    _row(
        "reverse(string)", "From the last character, or the last item of an array, to the first.", "reverse('abc') = 'cba'",
        _bind_reverse, strict(_reverse),
    ),
    _row(
        "repeat(string, times) -> STRING", "The string repeated so many times.", "repeat('ab', 2) = 'abab'",
        takes("repeat", STRING, INT, result=STRING), strict(_repeat),
    ),
    _row(
        "space(times) -> STRING", "So many blanks.", "space(2) = '  '", takes("space", INT, result=STRING),
        strict(_space),
    ),
    _row(
        "instr(string, part) -> INT", "Where the part first begins, from 1; 0 if nowhere.", "instr('abc', 'b') = 2",
        takes("instr", STRING, STRING, result=INT), strict(_instr),
    ),
    _row(
        "locate(part, string[, start]) -> INT", "Where the part first begins at or after start, from 1; 0 if nowhere.",
        "locate('b', 'abc') = 2", _bind_locate("locate"), _locate_from,
    ),
    _row(
        "position(part, string[, start]) -> INT", "Where the part first begins, as locate.",
        "position('b', 'abc') = 2", _bind_locate("position"),
    ),
    _row(
        "split_part(string, separator, number) -> STRING",
        "The n-th part, from the end if negative; '' if there is none.", "split_part('a-b-c', '-', 2) = 'b'",
        _bind_split_part, strict(_split_part),
    ),
    _row(
        "substring_index(string, separator, times) -> STRING",
        "What is before the n-th separator, or after it from the end.", "substring_index('a.b.c', '.', 2) = 'a.b'",
        takes("substring_index", STRING, STRING, INT, result=STRING), strict(_substring_index),
    ),
    _row(
        "translate(string, from, to) -> STRING", "Single characters replaced by those at the same place (constants).",
        "translate('abc', 'ab', 'x') = 'xc'", _bind_translate, strict(_translate),
    ),
    _row(
        "ascii(string) -> INT", "Code point of the first character; 0 of ''.", "ascii('a') = 97",
        takes("ascii", STRING, result=INT), strict(_ascii),
    ),
    _row(
        "chr(number) -> STRING", "The Latin-1 character of a code modulo 256; '' below 0.", "chr(65) = 'A'",
        takes("chr", BIGINT, result=STRING), strict(_chr),
    ),
    _row(
        "char(number) -> STRING", "The character of a code, as chr.", "char(65) = 'A'",
        takes("chr", BIGINT, result=STRING),
    ),
    _row(
        "prefix(string, part) -> BOOLEAN", "Whether it starts with the part, as startswith.", "prefix('abc', 'a') is true",
        takes("startswith", STRING, STRING, result=BOOLEAN),
    ),
    _row(
        "suffix(string, part) -> BOOLEAN", "Whether it ends with the part, as endswith.", "suffix('abc', 'c') is true",
        takes("endswith", STRING, STRING, result=BOOLEAN),
    ),
    _row(
        "overlay(string, by, start[, length]) -> STRING",
        "With another text in the place of so many characters from a place; also OVERLAY(a PLACING b FROM 2 FOR 3).",
        "overlay('abcdef', 'XX', 2, 3) = 'aXXef'", _bind_overlay, strict(_overlay),
        lambda call, args: f"overlay({', '.join(args)})",
    ),
    *_test("contains", "Whether the part is in it.", "contains('abc', 'b') is true"),
    *_test("starts_with", "Whether it starts with the part.", "startswith('abc', 'a') is true"),
    *_test("ends_with", "Whether it ends with the part.", "endswith('abc', 'c') is true"),
)  # fmt: skip
