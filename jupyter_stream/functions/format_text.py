"""`format_string('%d of %s', n, name)`: Java's formats, as Spark has them. Not for dates, whose patterns are in `formats`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Final

import polars as pl

from jupyter_stream.core.schema import type_name
from jupyter_stream.functions.binding import admit, argument, constant, count
from jupyter_stream.functions.casts import cast
from jupyter_stream.functions.elementwise import calling
from jupyter_stream.functions.expression import Call, Expr, Literal
from jupyter_stream.functions.function import BadArguments, Bind, Function, eager
from jupyter_stream.functions.rows import row
from jupyter_stream.functions.types import BOOLEAN, DOUBLE, INTEGRAL, STRING, is_integral, is_numeric

_FIELD: Final = re.compile(r"%(?:(\d+)\$)?([-+ 0,(#]*)(\d+)?(?:\.(\d+))?([a-zA-Z%])")
_KNOWN: Final = "d, x, X, o, f, e, E, s, S, b, B, c, n and %"
_WIDEST: Final = 1_000
_FLAGS: Final = {"d": "-+ 0,(", "x": "-0", "o": "-0", "f": "-+ 0,(", "e": "-+ 0(", "s": "-", "b": "-", "c": "-"}


@dataclass(frozen=True, slots=True)
class _Field:
    """A `%5.2f` of a format: its argument from 0, flags, width, digits and letter."""

    place: int
    flags: str
    width: int
    digits: int | None
    letter: str


def _parts(form: str) -> list[str | _Field]:
    """Texts and fields, in order."""
    made: list[str | _Field] = []
    at = following = 0
    while at < len(form):
        if form[at] != "%":
            end = form.find("%", at)
            end = len(form) if end < 0 else end
            made.append(form[at:end])
            at = end
            continue
        found = _FIELD.match(form, at)
        if found is None:
            raise BadArguments(f"the format {form!r} can't be read at {form[at:]!r}; write %% for a percent sign")
        number, flags, width, digits, letter = found.groups()
        at = found.end()
        if letter in "%n":
            if flags or width or digits:
                raise BadArguments(f"the format {form!r} has {found[0]}; write %{letter} alone")
            made.append("%" if letter == "%" else "\n")
            continue
        if letter not in "dxXofeEsSbBc":
            raise BadArguments(f"the format {form!r} has %{letter}; there are {_KNOWN}")
        wrong = [flag for flag in flags if flag not in _FLAGS[letter.lower()]]
        unfit = letter in "dxXoc" and digits is not None
        padded = ("-" in flags or "0" in flags) and width is None
        if (
            wrong
            or unfit
            or padded
            or len(set(flags)) < len(flags)
            or {"-", "0"} <= set(flags)
            or {"+", " "} <= set(flags)
        ):
            raise BadArguments(f"the format {form!r} has {found[0]}, whose flags don't go together")
        if int(width or 0) > _WIDEST or int(digits or 0) > _WIDEST:
            raise BadArguments(f"the format {form!r} has {found[0]}: at most {_WIDEST:,} characters")
        place = int(number) - 1 if number else following
        following += number is None
        made.append(_Field(place, flags, int(width or 0), None if digits is None else int(digits), letter))
    return made


def _bind(name: str) -> Bind:
    def bind(args: tuple[Expr, ...]) -> Expr:
        count(name, args, 1)
        form = constant(name, 0, argument(name, 0, args[0], STRING))
        if form.value is None:
            return Literal(None, STRING)
        values = [admit(a) for a in args[1:]]
        for field in (p for p in _parts(str(form.value)) if isinstance(p, _Field)):
            if not 0 <= field.place < len(values):
                raise BadArguments(
                    f"the format {form.value!r} asks for {field.place + 1} values, and there are {len(values)}"
                )
            values[field.place] = _taken(field, values[field.place])
        return Call("format_string", (form, *values), STRING)

    return bind


def _taken(field: _Field, value: Expr) -> Expr:
    dtype, kind = value.dtype, field.letter.lower()
    if kind in "dxo" and not (is_integral(dtype) or dtype == pl.Null()):
        raise BadArguments(f"%{field.letter} takes a whole number, not {type_name(dtype)}; write %s or %.0f")
    if kind in "fe":
        if not (is_numeric(dtype) or dtype == pl.Null()):
            raise BadArguments(f"%{field.letter} takes a number, not {type_name(dtype)}")
        return cast(value, DOUBLE)
    if kind == "c" and dtype not in (*INTEGRAL, pl.Null()):
        raise BadArguments(f"%c takes the number of a character, not {type_name(dtype)}; write %s for a text")
    if kind == "s" and not (is_numeric(dtype) or dtype in (STRING, BOOLEAN, pl.Null())):
        raise BadArguments(f"%{field.letter} takes a text or a number, not {type_name(dtype)}; write CAST(x AS STRING)")
    return value


def _formatted(call: Call, _: pl.Expr, *values: pl.Expr) -> pl.Expr:
    form = call.args[0]
    assert isinstance(form, Literal)
    parts = _parts(str(form.value))
    texts: list[pl.Expr] = []
    for part in parts:
        if isinstance(part, str):
            texts.append(pl.lit(part))
            continue
        texts.append(_shown(part, values[part.place], call.args[1 + part.place].dtype))
    return pl.concat_str(texts) if texts else pl.lit("")


def _shown(field: _Field, value: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """A value by its field, NULL as `null`."""
    kind = field.letter.lower()
    if kind in "sb" or dtype == pl.Null():
        return _words(field, value, dtype)
    write = {"d": _whole, "x": _digits, "o": _digits, "f": _fixed, "e": _scientific, "c": _character}[kind]
    bits = {8: pl.Int8(), 16: pl.Int16(), 32: pl.Int32()}
    size = next((n for n, t in bits.items() if t == dtype), 64)

    def text(series: pl.Series) -> pl.Series:
        made = [_padded(field, None if v is None else write(field, v, size)) for v in series.to_list()]
        return pl.Series(series.name, made, dtype=STRING)

    return calling(value, text, STRING)


def _words(field: _Field, value: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    from jupyter_stream.functions.kernel import compile_kernel  # the kernel knows the table, the table these rows

    if field.letter.lower() == "b":
        shown = value.cast(STRING) if dtype == BOOLEAN else pl.when(value.is_not_null()).then(pl.lit("true"))
        shown = shown.fill_null("false")
    else:
        name = "(value)"
        made = compile_kernel(cast(_column(name, dtype), STRING)).value
        shown = calling(value, lambda s: s.alias(name).to_frame().select(made).to_series(), STRING).fill_null("null")
    if field.digits is not None:
        most = field.digits
        shown = calling(shown, lambda s: pl.Series([_cut(t, most) for t in s.to_list()], dtype=STRING), STRING)
    shown = shown.str.to_uppercase() if field.letter.isupper() else shown
    if not field.width:
        return shown
    # Java counts a character beyond 16 bits as two
    missing = (
        field.width - shown.str.len_chars().cast(pl.Int64) - shown.str.count_matches(r"[\x{10000}-\x{10FFFF}]")
    ).clip(0)
    blanks = pl.lit(" ").repeat_by(missing).list.join("")
    return shown + blanks if "-" in field.flags else blanks + shown


def _cut(text: str | None, most: int) -> str | None:
    """So many of Java's characters, of which those beyond 16 bits are two."""
    if text is None:
        return None
    return text.encode("utf-16-le")[: 2 * most].decode("utf-16-le", errors="replace").replace("\ufffd", "?")


def _column(name: str, dtype: pl.DataType) -> Expr:
    from jupyter_stream.functions.expression import Column

    return Column(name, dtype)


def _padded(field: _Field, text: str | None) -> str:
    if text is None:
        text = "null" if field.digits is None else "null"[: field.digits]
        text = text.upper() if field.letter.isupper() else text
    return text.ljust(field.width) if "-" in field.flags else text.rjust(field.width)


def _signed(field: _Field, negative: bool, digits: str) -> str:
    """A number's digits with its sign, its zeros in front and its commas."""
    whole, dot, fraction = digits.partition(".")
    if "," in field.flags:
        whole = f"{int(whole):,}"
    text = whole + dot + fraction
    before, behind = "", ""
    if negative:
        before, behind = ("(", ")") if "(" in field.flags else ("-", "")
    elif "+" in field.flags or " " in field.flags:
        before = "+" if "+" in field.flags else " "
    if "0" in field.flags:
        text = text.rjust(field.width - len(before) - len(behind), "0")
    return before + text + behind


def _whole(field: _Field, value: int, size: int) -> str:
    return _signed(field, value < 0, str(abs(value)))


def _digits(field: _Field, value: int, size: int) -> str:
    text = format(value % 2**size, field.letter)
    return text.rjust(field.width, "0") if "0" in field.flags else text


def _special(field: _Field, value: float) -> str | None:
    if value != value:
        return "NAN" if field.letter.isupper() else "NaN"
    if value in (float("inf"), float("-inf")):
        word = "INFINITY" if field.letter.isupper() else "Infinity"
        if value < 0:
            return f"({word})" if "(" in field.flags else f"-{word}"
        return ("+" if "+" in field.flags else " " if " " in field.flags else "") + word
    return None


def _fixed(field: _Field, value: float, size: int) -> str:
    """Rounded as Java does: the shortest decimal number, half away from zero."""
    special = _special(field, value)
    if special is not None:
        return special
    unit = Decimal(1).scaleb(-(6 if field.digits is None else field.digits))
    with localcontext() as exact:
        exact.prec = 2_000
        rounded = Decimal(repr(abs(value))).quantize(unit, ROUND_HALF_UP)
    return _signed(field, str(value).startswith("-"), f"{rounded:f}")


def _scientific(field: _Field, value: float, size: int) -> str:
    special = _special(field, value)
    if special is not None:
        return special
    digits = 6 if field.digits is None else field.digits
    number = Decimal(repr(abs(value)))
    exponent = number.adjusted() if number else 0
    with localcontext() as exact:
        exact.prec = 2_000
        rounded = number.scaleb(-exponent).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
        if rounded >= 10:
            exponent += 1
            rounded = number.scaleb(-exponent).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    sign = "-" if exponent < 0 else "+"
    return _signed(field, str(value).startswith("-"), f"{rounded:f}{field.letter}{sign}{abs(exponent):02}")


def _character(field: _Field, value: int, size: int) -> str:
    return chr(value) if 0 <= value < 0x110000 else "?"


def _on_spark(call: Call, args: Sequence[str]) -> str:
    return f"format_string({', '.join(args)})"


def _named(name: str, example: str) -> Function:
    return Function(
        name, f"{name}(format, value, ...) -> STRING",
        "The values written by a constant format as Java's: %d, %05d, %,d, %.2f, %e, %s, %10s, %-10s, %x, %1$s, %%.", example,
        _bind(name),
    )  # fmt: skip


FUNCTIONS: Final = (
    row(
        "format_string(format, value, ...) -> STRING",
        "The values written by a constant format as Java's: %d, %05d, %,d, %.2f, %e, %s, %10s, %-10s, %x, %1$s, %%.",
        "format_string('%s: %05.1f', 'a', 2.25) = 'a: 002.3'", _bind("format_string"), eager(_formatted), _on_spark,
    ),
    _named("printf", "printf('%d of %d', 1, 2) = '1 of 2'"),
)  # fmt: skip
