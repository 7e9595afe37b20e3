"""Expressions as lines of Python: what `compile_scalar` computes, without a function call for each part of the tree.

Lines rather than one expression: NULL, an overflow and the laziness of CASE are `if`s. What has no line in the table below is
called as `compile_scalar` makes it, so that both give the same values and the same errors, whatever the expression.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from jupyter_stream.core.schema import INTERVAL, TIMESTAMP, type_name
from jupyter_stream.functions.expression import Call, Column, Expr, Literal, columns, conjuncts
from jupyter_stream.functions.scalar import RowError, compile_scalar
from jupyter_stream.functions.types import BOOLEAN, DOUBLE, RANGES, STRING, VOID, is_integral

_LEVELS: Final = 40
"""Levels of an expression, and of blocks, that are written out: Python reads a hundred at most."""
_PLAIN: Final = (bool, int, str)
_ARITHMETIC: Final = (DOUBLE, *RANGES)
_TIMES: Final = (TIMESTAMP, INTERVAL)
COMPARISONS: Final[Mapping[str, str]] = {"=": "==", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


@dataclass(frozen=True, slots=True)
class Value:
    """A value in the source.

    Attributes:
        text: an expression without side effects that is cheap to read again only where it is a name or a number.
        nullable: whether it may be None.
    """

    text: str
    nullable: bool


@dataclass
class PythonLines:
    """Lines of one function under way.

    Attributes:
        names: what the lines name beside their own variables.
    """

    names: dict[str, Any] = field(default_factory=lambda: {"RowError": RowError})
    _lines: list[str] = field(default_factory=list)
    _depth: int = 0
    _made: int = 0
    _level: int = 0

    @property
    def depth(self) -> int:
        """How many lines the next one is under."""
        return self._depth

    def line(self, text: str) -> None:
        """One more line."""
        self._lines.append("    " * self._depth + text)

    @contextmanager
    def block(self, text: str) -> Iterator[None]:
        """Lines under a line."""
        self.line(text)
        self._depth += 1
        before = len(self._lines)
        yield
        if len(self._lines) == before:
            self.line("pass")
        self._depth -= 1

    def enter(self, text: str) -> None:
        """All lines that follow are under this one."""
        self.line(text)
        self._depth += 1

    def stands_at(self, place: str) -> None:
        """Where the lines that follow stand, for what is told when they fail."""
        self.line(f"at = {place!r}")

    @contextmanager
    def placed_failures(self) -> Iterator[None]:
        """Lines whose errors of a row say where they come from (`stands_at`)."""
        self.line("at = ''")
        with self.block("try:"):
            yield
        with self.block("except RowError as error:"):
            self.line("raise RowError(at + str(error)) from None")

    def variable(self) -> str:
        """A new name."""
        self._made += 1
        return f"v{self._made}"

    def constant(self, value: Any) -> str:
        """A name for a value, the same for the same value."""
        for name, known in self.names.items():
            if known is value:
                return name
        self._made += 1
        name = f"k{self._made}"
        self.names[name] = value
        return name

    def attempted(self, write: Callable[[], None]) -> bool:
        """Whether something could be written; the lines before it alone are left where it reads what has no value here."""
        before, depth, level = len(self._lines), self._depth, self._level
        try:
            write()
        except KeyError:
            del self._lines[before:]
            self._depth, self._level = depth, level
            return False
        return True

    def function(self, name: str) -> Callable[..., Any]:
        """The function of that name the lines define."""
        scope = dict(self.names)
        exec(compile("\n".join(self._lines), f"<{name}>", "exec"), scope)
        made: Callable[..., Any] = scope[name]
        return made

    # -- expressions

    def value(self, expr: Expr, read: Mapping[str, Value]) -> Value:
        """Lines that compute an expression, and where its value is.

        Args:
            expr: what to compute.
            read: the values of the columns it reads.
        """
        if isinstance(expr, Column):
            return read[expr.name]
        if isinstance(expr, Literal):
            return self._literal(expr)
        write = _WRITTEN.get(expr.function)
        made = None
        if write is not None and self._level < _LEVELS and self._depth < _LEVELS:
            self._level += 1
            made = write(self, expr, read)
            self._level -= 1
        return made if made is not None else self._called(expr, read)

    def named(self, part: Value) -> Value:
        """The same as a variable, so that it can be read twice."""
        if part.text.isidentifier() and part.text not in ("None", "True", "False"):
            return part
        name = self.variable()
        self.line(f"{name} = {part.text}")
        return Value(name, part.nullable)

    def condition(self, expr: Expr | None, read: Mapping[str, Value]) -> str:
        """What stands behind `if`: whether a condition is true."""
        if expr is None:
            return "True"
        return self._equal(expr, read) if is_equality(expr) else self.value(expr, read).text

    def _equal(self, expr: Expr, read: Mapping[str, Value]) -> str:
        """An equality, or several, without the difference between false and NULL."""
        tests = []
        for part in conjuncts(expr):
            assert isinstance(part, Call)
            a, b = (self.value(arg, read) for arg in part.args)
            tests.append(f"{a.text} == {b.text}")
            if a.nullable and b.nullable:
                tests.append(f"{a.text} is not None")
        return " and ".join(tests)

    def _literal(self, literal: Literal) -> Value:
        value = literal.value
        if value is None:
            return Value("None", True)
        if type(value) in _PLAIN:
            return Value(repr(value), False)
        if type(value) is float and math.isfinite(value):
            return Value(repr(value), False)
        get = compile_scalar(literal, {})
        return Value(self.constant(get([])), False)

    def _called(self, expr: Call, read: Mapping[str, Value]) -> Value:
        """The function of one row, over the columns it reads."""
        names = sorted(columns(expr))
        run = self.constant(compile_scalar(expr, {name: i for i, name in enumerate(names)}))
        made = self.variable()
        self.line(f"{made} = {run}([{', '.join(read[n].text for n in names)}])")
        return Value(made, True)

    def strict(
        self,
        args: Sequence[Expr],
        read: Mapping[str, Value],
        compute: Callable[[list[Value]], str],
        at: tuple[int, ...],
    ) -> Value:
        """NULL where an argument is; arguments are looked at in the order `at`, those behind a NULL not at all."""
        found: dict[int, Value] = {}
        result = self.variable()
        opened: list[Any] = []
        for i in at:
            part = self.value(args[i], read)
            if part.nullable:
                part = self.named(part)
                if not opened:
                    self.line(f"{result} = None")
                test = self.block(f"if {part.text} is not None:")
                test.__enter__()
                opened.append(test)
            found[i] = part
        text = compute([Value(found[i].text, False) for i in range(len(args))])
        if not opened:
            return Value(text, False)
        self.line(f"{result} = {text}")
        for test in reversed(opened):
            test.__exit__(None, None, None)
        return Value(result, True)

    def bounded(self, text: str, call: Call) -> str:
        """A whole number that is in the bounds of its type, else an error of the row."""
        low, high = RANGES[call.dtype]
        name = self.variable()
        self.line(f"{name} = {text}")
        with self.block(f"if not {low} <= {name} <= {high}:"):
            self.line(f"raise RowError({type_name(call.dtype) + ' overflow in ' + call.function!r})")
        return name


def is_equality(expr: Expr) -> bool:
    """Whether it only compares columns and constants for equality, or is several such put together by AND: it can't fail."""
    return all(_compares_plain(part) for part in conjuncts(expr))


def _compares_plain(expr: Expr) -> bool:
    if not isinstance(expr, Call) or expr.function != "=":
        return False
    return all(
        (isinstance(arg, Literal) or (isinstance(arg, Column) and not arg.name.startswith("@")))
        and not (arg.dtype.is_float() or arg.dtype.is_nested())
        for arg in expr.args
    )


def _sum(source: PythonLines, call: Call, read: Mapping[str, Value]) -> Value | None:
    sign = {"+": "+", "-": "-", "*": "*"}[call.function]
    if call.dtype in _TIMES or any(a.dtype in _TIMES for a in call.args):
        return None
    if call.dtype not in _ARITHMETIC or any(a.dtype not in _ARITHMETIC for a in call.args):
        return None

    def compute(parts: list[Value]) -> str:
        text = f"({parts[0].text} {sign} {parts[1].text})"
        return source.bounded(text, call) if is_integral(call.dtype) else text

    return source.strict(call.args, read, compute, (0, 1))


def _quotient(source: PythonLines, call: Call, read: Mapping[str, Value]) -> Value | None:
    if call.dtype != DOUBLE or any(a.dtype != DOUBLE for a in call.args):
        return None

    def compute(parts: list[Value]) -> str:
        below = source.named(parts[1])
        with source.block(f"if {below.text} == 0:"):
            source.line("raise RowError('division by zero')")
        return f"({parts[0].text} / {below.text})"

    return source.strict(call.args, read, compute, (1, 0))


def _whole(source: PythonLines, call: Call, read: Mapping[str, Value]) -> Value | None:
    """`div` and `%` of integers, as the function of one row does them, on values already known."""
    if any(not is_integral(a.dtype) for a in call.args):
        return None
    below = call.args[1]
    if isinstance(below, Literal) and type(below.value) is int and below.value > 0 and call.dtype == call.args[0].dtype:
        sign, most = "//" if call.function == "div" else "%", below.value  # towards zero, as SQL has it

        def towards_zero(parts: list[Value]) -> str:
            a = source.named(parts[0]).text
            return f"({a} {sign} {most} if {a} >= 0 else -(-{a} {sign} {most}))"

        return source.strict(call.args, read, towards_zero, (1, 0))
    plain = Call(call.function, tuple(Column(f"{i}", a.dtype) for i, a in enumerate(call.args)), call.dtype)
    run = source.constant(compile_scalar(plain, {"0": 0, "1": 1}))

    def compute(parts: list[Value]) -> str:
        name = source.variable()
        source.line(f"{name} = {run}(({parts[0].text}, {parts[1].text}))")
        return name

    return source.strict(call.args, read, compute, (1, 0))


def _sign(source: PythonLines, call: Call, read: Mapping[str, Value]) -> Value | None:
    if call.dtype not in _ARITHMETIC or call.args[0].dtype != call.dtype:
        return None

    def compute(parts: list[Value]) -> str:
        text = f"(-{parts[0].text})" if call.function == "neg" else f"abs({parts[0].text})"
        return source.bounded(text, call) if is_integral(call.dtype) else text

    return source.strict(call.args, read, compute, (0,))


def _comparison(source: PythonLines, call: Call, read: Mapping[str, Value]) -> Value | None:
    sign = COMPARISONS[call.function]
    floats = any(a.dtype.is_float() for a in call.args)

    def compute(parts: list[Value]) -> str:
        a, b = parts[0].text, parts[1].text
        if not floats:
            return f"({a} {sign} {b})"
        a, b = source.named(parts[0]).text, source.named(parts[1]).text
        if sign == "==":  # NaN is equal to NaN
            return f"({a} == {b} or ({a} != {a} and {b} != {b}))"
        if sign == "!=":
            return f"({a} != {b} and ({a} == {a} or {b} == {b}))"
        return f"({a} {sign} {b} if {a} == {a} and {b} == {b} else ({a} != {a}) {sign} ({b} != {b}))"

    return source.strict(call.args, read, compute, (0, 1))


def _is_null(source: PythonLines, call: Call, read: Mapping[str, Value]) -> Value | None:
    part = source.value(call.args[0], read)
    null = call.function == "is_null"
    if not part.nullable:
        return Value(repr(not null), False)
    return Value(f"({part.text} is {'' if null else 'not '}None)", False)


def _logic(source: PythonLines, call: Call, read: Mapping[str, Value]) -> Value | None:
    """AND and OR: the right side is looked at only where the left one doesn't say all."""
    decisive = call.function == "or"
    left = source.named(source.value(call.args[0], read))
    result = source.variable()
    source.line(f"{result} = {decisive}")
    nullable = left.nullable
    with source.block(f"if {left.text} is not {decisive}:"):
        right = source.named(source.value(call.args[1], read))
        nullable = nullable or right.nullable
        if not nullable:
            source.line(f"{result} = {right.text}")
        else:
            with source.block(f"if {right.text} is not {decisive}:"):
                source.line(f"{result} = None if {left.text} is None or {right.text} is None else {not decisive}")
    return Value(result, nullable)


def _not(source: PythonLines, call: Call, read: Mapping[str, Value]) -> Value | None:
    return source.strict(call.args, read, lambda parts: f"(not {parts[0].text})", (0,))


def _case(source: PythonLines, call: Call, read: Mapping[str, Value]) -> Value | None:
    result = source.variable()
    opened: list[Any] = []
    nullable = False
    *pairs, otherwise = call.args
    for test, value in zip(pairs[::2], pairs[1::2], strict=True):
        with source.block(f"if {source.value(test, read).text}:"):
            part = source.value(value, read)
            nullable = nullable or part.nullable
            source.line(f"{result} = {part.text}")
        other = source.block("else:")
        other.__enter__()
        opened.append(other)
    part = source.value(otherwise, read)
    nullable = nullable or part.nullable
    source.line(f"{result} = {part.text}")
    for other in reversed(opened):
        other.__exit__(None, None, None)
    return Value(result, nullable)


def _coalesce(source: PythonLines, call: Call, read: Mapping[str, Value]) -> Value | None:
    result = source.variable()
    opened: list[Any] = []
    nullable = True
    for arg in call.args:
        part = source.value(arg, read)
        source.line(f"{result} = {part.text}")
        if not part.nullable:
            nullable = False
            break
        other = source.block(f"if {result} is None:")
        other.__enter__()
        opened.append(other)
    for other in reversed(opened):
        other.__exit__(None, None, None)
    return Value(result, nullable)


def _cast(source: PythonLines, call: Call, read: Mapping[str, Value]) -> Value | None:
    before, after = call.args[0].dtype, call.dtype
    if before in (VOID, after):
        return source.value(call.args[0], read)
    if after == DOUBLE and (is_integral(before) or before == BOOLEAN):
        name = "float"
    elif is_integral(after) and is_integral(before):
        low, high = RANGES[after]
        least, most = RANGES[before]
        if low <= least and most <= high:
            return source.value(call.args[0], read)
        return _fitting(source, call, read)
    elif is_integral(after) and before == BOOLEAN:
        name = "int"
    elif after == STRING and is_integral(before):
        name = "str"
    else:
        return None
    return source.strict(call.args, read, lambda parts: f"{name}({parts[0].text})", (0,))


def _fitting(source: PythonLines, call: Call, read: Mapping[str, Value]) -> Value:
    low, high = RANGES[call.dtype]

    def compute(parts: list[Value]) -> str:
        part = source.named(parts[0])
        with source.block(f"if not {low} <= {part.text} <= {high}:"):
            source.line(f"raise RowError({'the value can' + chr(39) + 't be cast to ' + type_name(call.dtype)!r})")
        return part.text

    return source.strict(call.args, read, compute, (0,))


def _most(source: PythonLines, call: Call, read: Mapping[str, Value]) -> Value | None:
    """`greatest` and `least` of whole numbers: NULLs don't count."""
    if not is_integral(call.dtype) or len(call.args) != 2:
        return None
    parts = [source.named(source.value(a, read)) for a in call.args]
    a, b = parts[0].text, parts[1].text
    sign = "<=" if call.function == "least" else ">="
    if not any(p.nullable for p in parts):
        return Value(f"({a} if {a} {sign} {b} else {b})", False)
    text = f"({b} if {a} is None else {a} if {b} is None or {a} {sign} {b} else {b})"
    return Value(text, all(p.nullable for p in parts))


_WRITTEN: Final[Mapping[str, Callable[[PythonLines, Call, Mapping[str, Value]], Value | None]]] = {
    "+": _sum, "-": _sum, "*": _sum, "/": _quotient, "div": _whole, "%": _whole, "neg": _sign, "abs": _sign,
    **dict.fromkeys(COMPARISONS, _comparison), "is_null": _is_null, "is_not_null": _is_null, "and": _logic, "or": _logic,
    "not": _not, "case": _case, "coalesce": _coalesce, "cast": _cast, "greatest": _most, "least": _most,
}  # fmt: skip
"""Functions written out; None from one of them leaves the call to `compile_scalar`."""

__all__ = ["COMPARISONS", "PythonLines", "Value", "is_equality"]
