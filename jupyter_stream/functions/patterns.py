"""LIKE and regular expressions, whose syntax is in `regex`. A pattern that is a column is taken once for each of its values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import polars as pl

from jupyter_stream.functions import regex
from jupyter_stream.functions.binding import argument, constant, count
from jupyter_stream.functions.elementwise import calling
from jupyter_stream.functions.expression import Call, Expr, Literal, columns
from jupyter_stream.functions.function import BadArguments, Bind, Compiled, Failure, Function, Kernel, Spark, strict
from jupyter_stream.functions.types import BOOLEAN, INT, STRING


def _known(call: Call, index: int) -> str | None:
    arg = call.args[index]
    assert isinstance(arg, Literal)
    return arg.value if isinstance(arg.value, str) else None


def _bind(name: str, least: int, most: int, dtype: pl.DataType) -> Bind:
    """A string and a constant pattern, perhaps with more constants; the pattern is checked."""

    def bind(args: tuple[Expr, ...]) -> Expr:
        count(name, args, least, most)
        wanted = [STRING, STRING, INT if name.startswith("regexp_extract") else STRING]
        given = [argument(name, i, a, t) for i, (a, t) in enumerate(zip(args, wanted, strict=False))]
        fixed = (2,) if name in ("like", "ilike") or name.startswith("regexp_extract") else ()
        made = (
            given[0],
            *(a if i not in fixed and columns(a) else constant(name, i, a) for i, a in enumerate(given[1:], 1)),
        )
        if all(isinstance(a, Literal) for a in made[1:]):
            _check(name, made)
        return Call(name, made, dtype)

    return bind


def _check(name: str, args: tuple[Expr, ...]) -> None:
    pattern, *more = (a.value for a in args[1:] if isinstance(a, Literal))
    if not isinstance(pattern, str):
        return
    if name in ("like", "ilike"):
        _tokens(pattern, str(more[0]) if more else "\\")
        return
    made = regex.translate(pattern)
    if name == "regexp_replace" and isinstance(more[0], str):
        regex.replacement(more[0], made)
    if name.startswith("regexp_extract") and isinstance(more[0], int) and not 0 <= more[0] <= made.groups:
        raise BadArguments(f"the pattern {pattern!r} has {made.groups} groups, not {more[0]}")
    if name == "regexp_extract_all" and more[0] != 0 and ("\\b" in pattern or "\\B" in pattern):
        raise BadArguments(
            f"regexp_extract_all takes no \\b in a pattern with groups, which {pattern!r} has; take group 0"
        )
    if name == "split" and pl.select(pl.lit("").str.contains(made.polars)).item():
        raise BadArguments(f"split can't split at nothing, which the pattern {pattern!r} matches")


def _tokens(pattern: str, escape: str) -> list[str | None]:
    """Texts, with "_" as an empty string and "%" as None between them."""
    if len(escape) != 1:
        raise BadArguments("ESCAPE takes one character")
    made: list[str | None] = []
    i = 0
    while i < len(pattern):
        c = pattern[i]
        if c == escape:
            following = pattern[i + 1 : i + 2]
            if not following or following not in ("_", "%", escape):
                raise BadArguments(f"in the pattern {pattern!r}, {escape} may stand before _, % and itself only")
            made.append(following)
            i += 2
            continue
        made.append(None if c == "%" else "" if c == "_" else c)
        i += 1
    return made


def _of_columns(call: Call) -> bool:
    """Whether a pattern, or what it is replaced by, isn't a constant."""
    return not all(isinstance(arg, Literal) for arg in call.args[1:])


def _varying(compute: Callable[..., pl.Expr]) -> Kernel:
    """A kernel of a function whose patterns may be columns: each value of theirs is taken as a constant for its rows."""

    def kernel(call: Call, text: pl.Expr, *others: pl.Expr) -> pl.Expr | Compiled:
        if not _of_columns(call):
            return compute(call, text, *others)
        wrong = calling((text, *others), lambda c: _without_meaning(call, c), BOOLEAN)
        made = calling((text, *others), lambda c: _by_value(call, compute, c), call.dtype)
        return Compiled(made, (Failure(wrong, f"{call.function} was given a text that is no pattern"),))

    return strict(kernel)


def _constants(call: Call, row: tuple[object, ...]) -> Call | None:
    """The call with the values of a row in the place of columns; None where they have no meaning."""
    args = tuple(Literal(value, arg.dtype) for value, arg in zip(row, call.args[1:], strict=True))
    made = Call(call.function, (call.args[0], *args), call.dtype)
    try:
        _check(call.function, made.args)
    except BadArguments:
        return None
    return made


def _by_value(call: Call, compute: Callable[..., pl.Expr], columns: Sequence[pl.Series]) -> pl.Series:
    frame = _frame_of(columns)
    found, places = [pl.Series([None], dtype=call.dtype)], np.zeros(frame.height, np.int64)
    for row, rows in frame.with_row_index("at").group_by(frame.columns[1:], maintain_order=True):
        known = None if None in row else _constants(call, row)
        if known is not None:
            expr = compute(known, pl.col("0"), *(pl.lit(value) for value in row))
            places[rows.get_column("at").to_numpy()] = sum(map(len, found)) + np.arange(rows.height)
            found.append(rows.select(expr.alias("made")).get_column("made").cast(call.dtype))
    return pl.concat([f.alias("made") for f in found]).gather(places).alias(columns[0].name)


def _without_meaning(call: Call, columns: Sequence[pl.Series]) -> pl.Series:
    frame = _frame_of(columns)
    others = frame.columns[1:]
    bad = [row for row in frame.select(others).unique().rows() if None not in row and _constants(call, row) is None]
    if not bad:
        return pl.repeat(False, frame.height, dtype=BOOLEAN, eager=True).alias(columns[0].name)
    found = pl.DataFrame(bad, schema={name: frame.schema[name] for name in others}, orient="row")
    marked = frame.with_row_index("at").join(found, on=others, how="semi").get_column("at")
    text = frame.get_column("0").is_not_null()
    return (
        pl.Series(columns[0].name, pl.int_range(frame.height, eager=True).is_in(marked.cast(pl.Int64).implode())) & text
    )


def _frame_of(columns: Sequence[pl.Series]) -> pl.DataFrame:
    size = max(len(c) for c in columns) if all(len(c) for c in columns) else 0
    aligned = (c if len(c) == size else c.new_from_index(0, size) if size else c.clear() for c in columns)
    return pl.DataFrame([c.alias(str(i)) for i, c in enumerate(aligned)])


def _like(call: Call, text: pl.Expr, *_: pl.Expr) -> pl.Expr:
    pattern = _known(call, 1)
    if pattern is None or (len(call.args) == 3 and _known(call, 2) is None):
        return pl.lit(None, dtype=BOOLEAN)
    escape = str(_known(call, 2)) if len(call.args) == 3 else "\\"
    if call.function == "ilike":
        text, pattern = text.str.to_lowercase(), pattern.lower()
    tokens = _tokens(pattern, escape)
    if "" not in tokens:
        inner = [t for t in tokens[1:-1] if t is None]
        exact = "".join(t for t in tokens if t is not None)
        if None not in tokens:
            return text == exact
        if not inner and exact:
            first, last = tokens[0] is None, tokens[-1] is None
            if first and last:
                return text.str.contains(exact, literal=True)
            return text.str.ends_with(exact) if first else text.str.starts_with(exact)
    parts = (".*" if t is None else "." if t == "" else regex.escape(t) for t in tokens)
    return text.str.contains(f"(?s)^{''.join(parts)}$")


def _rlike(call: Call, text: pl.Expr, _: pl.Expr) -> pl.Expr:
    pattern = _known(call, 1)
    return pl.lit(None, dtype=BOOLEAN) if pattern is None else text.str.contains(regex.translate(pattern).polars)


def _extract(call: Call, text: pl.Expr, *_: pl.Expr) -> pl.Expr:
    pattern, group = _known(call, 1), call.args[2]
    assert isinstance(group, Literal)
    if pattern is None or not isinstance(group.value, int):
        return pl.lit(None, dtype=STRING)
    found = text.str.extract(regex.translate(pattern).polars, group.value)
    return pl.when(text.is_not_null()).then(found.fill_null(""))


def _bind_extract(args: tuple[Expr, ...]) -> Expr:
    count("regexp_extract", args, 2, 3)
    args = args if len(args) == 3 else (*args, Literal(1, INT))
    return _bind("regexp_extract", 3, 3, STRING)(args)


def _replace(call: Call, text: pl.Expr, *_: pl.Expr) -> pl.Expr:
    pattern, by = _known(call, 1), _known(call, 2)
    if pattern is None or by is None:
        return pl.lit(None, dtype=STRING)
    made = regex.translate(pattern)
    return text.str.replace_all(made.polars, regex.replacement(by, made))


def _count(call: Call, text: pl.Expr, _: pl.Expr) -> pl.Expr:
    pattern = _known(call, 1)
    if pattern is None:
        return pl.lit(None, dtype=INT)
    return text.str.count_matches(regex.translate(pattern).polars).cast(INT)


def _substr(call: Call, text: pl.Expr, _: pl.Expr) -> pl.Expr:
    pattern = _known(call, 1)
    if pattern is None:
        return pl.lit(None, dtype=STRING)
    found = text.str.extract(regex.translate(pattern).polars, 0)
    return pl.when(found != "").then(found)


def _instr(call: Call, text: pl.Expr, _: pl.Expr) -> pl.Expr:
    pattern = _known(call, 1)
    if pattern is None:
        return pl.lit(None, dtype=INT)
    found = text.str.extract(f"(?s)^(.*?)(?:{regex.translate(pattern).polars})", 1)
    return pl.when(text.is_not_null()).then((found.str.len_chars().cast(INT) + 1).fill_null(0))


def _bind_extract_all(args: tuple[Expr, ...]) -> Expr:
    count("regexp_extract_all", args, 2, 3)
    args = args if len(args) == 3 else (*args, Literal(1, INT))
    return _bind("regexp_extract_all", 3, 3, pl.List(STRING))(args)


def _extract_all(call: Call, text: pl.Expr, *_: pl.Expr) -> pl.Expr:
    pattern, group = _known(call, 1), call.args[2]
    assert isinstance(group, Literal)
    if pattern is None or not isinstance(group.value, int):
        return pl.lit(None, dtype=call.dtype)
    made = regex.translate(pattern).polars
    whole = text.str.extract_all(made)
    return (
        whole
        if group.value == 0
        else whole.list.eval(pl.element().str.extract(f"^(?:{made})$", group.value).fill_null(""))
    )


def _split(call: Call, text: pl.Expr, _: pl.Expr) -> pl.Expr:
    pattern = _known(call, 1)
    if pattern is None:
        return pl.lit(None, dtype=call.dtype)
    parts = text.str.split(regex.translate(pattern).polars, literal=False)
    return pl.when(text == "").then(pl.lit([""], dtype=call.dtype)).otherwise(parts)


def _spark(name: str) -> Spark:
    def write(call: Call, args: tuple[str, ...]) -> str:
        from jupyter_stream.functions.spark import quoted  # it knows the table, and the table these rows

        pattern = _known(call, 1) if isinstance(call.args[1], Literal) else None
        if pattern is not None:
            args = (args[0], quoted(regex.translate(pattern).spark), *args[2:])
        return f"{name}({', '.join(args)})"

    return write


def _spark_like(call: Call, args: tuple[str, ...]) -> str:
    escape = f" ESCAPE {args[2]}" if len(args) == 3 else ""
    return f"({args[0]} {call.function.upper()} {args[1]}{escape})"


def _regex(signature: str, description: str, example: str, bind: Bind, kernel: Kernel | None = None) -> Function:
    name = signature.partition("(")[0]
    return Function(name, signature, description, example, bind, kernel, _spark(name) if kernel else None, _of_columns)


_RLIKE: Final = _bind("rlike", 2, 2, BOOLEAN)

FUNCTIONS: Final = (
    Function(
        "like", "a LIKE pattern [ESCAPE character] -> BOOLEAN",
        "Whether all of it matches: % stands for any text, _ for one character.", "'abc' LIKE 'a%' is true",
        _bind("like", 2, 3, BOOLEAN), _varying(_like), _spark_like,
    ),
    Function(
        "ilike", "a ILIKE pattern [ESCAPE character] -> BOOLEAN", "As LIKE, whatever the case.",
        "'ABC' ILIKE 'a%' is true", _bind("ilike", 2, 3, BOOLEAN), _varying(_like), _spark_like,
    ),
    _regex(
        "rlike(string, pattern) -> BOOLEAN", "Whether a regular expression is found in it.",
        "rlike('abc', 'b.') is true", _RLIKE, _varying(_rlike),
    ),
    _regex(
        "regexp(string, pattern) -> BOOLEAN", "Whether a regular expression is found in it.",
        "regexp('abc', 'b.') is true", _RLIKE,
    ),
    _regex(
        "regexp_like(string, pattern) -> BOOLEAN", "Whether a regular expression is found in it.",
        "regexp_like('abc', 'b.') is true", _RLIKE,
    ),
    _regex(
        "regexp_matches(string, pattern) -> BOOLEAN", "Whether a regular expression is found in it.",
        "regexp_matches('abc', 'b.') is true", _RLIKE,
    ),
    _regex(
        "regexp_instr(string, pattern) -> INT", "Where it first matches, from 1; 0 if nowhere.",
        "regexp_instr('abc12', '[0-9]+') = 4", _bind("regexp_instr", 2, 2, INT), _varying(_instr),
    ),
    _regex(
        "regexp_extract_all(string, pattern[, group]) -> ARRAY<STRING>",
        "What the group (1) matched, each time; 0 is the whole match.",
        "regexp_extract_all('a1b22', '[a-z]([0-9]+)') = ['1', '22']", _bind_extract_all, _varying(_extract_all),
    ),
    _regex(
        "regexp_extract(string, pattern[, group]) -> STRING", "What the group (1) first matched, '' if nothing did.",
        "regexp_extract('a-12', '([a-z])-([0-9]+)', 2) = '12'", _bind_extract, _varying(_extract),
    ),
    _regex(
        "regexp_substr(string, pattern) -> STRING", "What first matched, NULL if nothing did or that is empty.",
        "regexp_substr('a-12', '[0-9]+') = '12'", _bind("regexp_substr", 2, 2, STRING), _varying(_substr),
    ),
    _regex(
        "regexp_count(string, pattern) -> INT", "How often it matches.", "regexp_count('a-1-2', '[0-9]') = 2",
        _bind("regexp_count", 2, 2, INT), _varying(_count),
    ),
    _regex(
        "regexp_replace(string, pattern, by) -> STRING", "Every match replaced; $1 stands for the first group.",
        "regexp_replace('a-12', '([0-9])', '<$1>') = 'a-<1><2>'", _bind("regexp_replace", 3, 3, STRING),
        _varying(_replace),
    ),
    _regex(
        "split(string, pattern) -> ARRAY<STRING>", "Parts between the matches of a regular expression.",
        "split('a,b', ',') = ['a', 'b']", _bind("split", 2, 2, pl.List(STRING)), _varying(_split),
    ),
)  # fmt: skip
