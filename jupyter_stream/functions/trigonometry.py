"""Functions of angles, in radians and (with a `d` at the end, as PostgreSQL has them) in degrees, and hyperbolic ones.

In degrees multiples of 30 and 45 are exact: `sind(30)` is 0.5.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from jupyter_stream.functions.arithmetic import FUNCTIONS as ARITHMETIC
from jupyter_stream.functions.binding import count, takes
from jupyter_stream.functions.expression import Call, Expr, Literal
from jupyter_stream.functions.function import Bind, Function
from jupyter_stream.functions.rows import by_numpy, double, row
from jupyter_stream.functions.types import DOUBLE

_QUOTIENT: Final = next(f.bind for f in ARITHMETIC if f.name == "/")
_DEGREE: Final = 0.017453292519943295
_ROOT: Final = 0.8660254037844386
_SINES: Final = (0.0, 0.5, _ROOT, 1.0, _ROOT, 0.5, 0.0, -0.5, -_ROOT, -1.0, -_ROOT, -0.5)
_TANGENTS: Final = (0.0, 1.0, np.inf, -1.0, 0.0, 1.0, -np.inf, -1.0)


def _atan2(y: Any, x: Any) -> Any:
    return np.arctan2(y + 0.0, x + 0.0)  # Spark knows no -0.0 here


def _by_one(name: str, of: str, description: str, example: str) -> Function:
    """One divided by a function of a number; by 0 is an error of the row."""

    def bind(args: tuple[Expr, ...]) -> Expr:
        count(name, args, 1, 1)
        return _QUOTIENT((Literal(1.0, DOUBLE), takes(of, DOUBLE, result=DOUBLE)(args)))

    return row(f"{name}(number) -> DOUBLE", description, example, bind)


def _of_degrees(
    name: str, description: str, example: str, compute: Callable[[Any], Any], exact: tuple[float, ...]
) -> Function:
    """A function of an angle in degrees, with its values at multiples of 30 or 45 degrees."""
    step, values = 360.0 / len(exact), np.array(exact)

    def numpy(x: Any) -> Any:
        place = np.where(np.fmod(x, step) == 0, np.mod(x, 360.0) / step, 0).astype(np.int64)
        return np.where(np.fmod(x, step) == 0, values[place], compute(np.fmod(x, 360.0) * _DEGREE))

    shown = ", ".join(f"CAST('{v}' AS DOUBLE)" for v in exact)
    plain = {"sind": "sin({0})", "cosd": "cos({0})", "tand": "tan({0})", "cotd": "cot({0})"}[name]
    other = plain.format(f"(({{0}} % 360D) * {_DEGREE}D)")
    spark = (
        f"(CASE WHEN ({{0}} % {step}D) = 0D THEN element_at(array({shown}), CAST(pmod({{0}}, 360D) / {step}D AS INT) + 1)"
        f" ELSE {other} END)"
    )
    bind = takes(name, DOUBLE, result=DOUBLE)
    return Function(name, f"{name}(degrees) -> DOUBLE", description, example, bind, by_numpy(DOUBLE, numpy), spark)


def _inverse(
    name: str, description: str, example: str, compute: Callable[[Any], Any], base: float, slope: float
) -> Function:
    """An inverse sine or cosine in degrees; where the number is one half, `base` and `slope` say the exact value."""

    def numpy(x: Any) -> Any:
        return np.where(np.abs(x) == 0.5, base + slope * x, np.degrees(compute(x)))

    of = name.removesuffix("d")
    spark = f"(CASE WHEN abs({{0}}) = 0.5D THEN {base}D + {{0}} * {slope}D ELSE degrees({of}({{0}})) END)"
    bind = takes(name, DOUBLE, result=DOUBLE)
    return Function(name, f"{name}(number) -> DOUBLE", description, example, bind, by_numpy(DOUBLE, numpy), spark)


def _degrees_of(name: str, count_of: int) -> Bind:
    def bind(args: tuple[Expr, ...]) -> Expr:
        return Call("degrees", (takes(name, *[DOUBLE] * count_of, result=DOUBLE)(args),), DOUBLE)

    return bind


FUNCTIONS: Final = (
    double("sin", "Sine.", "sin(0) = 0.0", lambda x: x.sin()),
    double("cos", "Cosine.", "cos(0) = 1.0", lambda x: x.cos()),
    double("tan", "Tangent.", "tan(0) = 0.0", lambda x: x.tan()),
    double("asin", "Inverse sine; NaN outside -1 to 1.", "asin(0) = 0.0", lambda x: x.arcsin()),
    double("acos", "Inverse cosine; NaN outside -1 to 1.", "acos(1) = 0.0", lambda x: x.arccos()),
    double("atan", "Inverse tangent.", "atan(0) = 0.0", lambda x: x.arctan()),
    Function(
        "atan2", "atan2(y, x) -> DOUBLE", "Angle of the point (x, y).", "atan2(0, 1) = 0.0",
        takes("atan2", DOUBLE, DOUBLE, result=DOUBLE), by_numpy(DOUBLE, _atan2), "atan2({0}, {1})",
    ),
    double("sinh", "Hyperbolic sine.", "sinh(0) = 0.0", lambda x: x.sinh()),
    double("cosh", "Hyperbolic cosine.", "cosh(0) = 1.0", lambda x: x.cosh()),
    double("tanh", "Hyperbolic tangent.", "tanh(0) = 0.0", lambda x: x.tanh()),
    Function(
        "cot", "cot(number) -> DOUBLE", "Cotangent; infinite at 0.", "cot(1) = 0.6420926159343306",
        takes("cot", DOUBLE, result=DOUBLE), by_numpy(DOUBLE, lambda x: 1 / np.tan(x)), "cot({0})",
    ),
    Function(
        "sec", "sec(number) -> DOUBLE", "Secant, 1 / cos.", "sec(0) = 1.0",
        takes("sec", DOUBLE, result=DOUBLE), by_numpy(DOUBLE, lambda x: 1 / np.cos(x)), "sec({0})",
    ),
    Function(
        "csc", "csc(number) -> DOUBLE", "Cosecant, 1 / sin; infinite at 0.", "csc(1) = 1.1883951057781212",
        takes("csc", DOUBLE, result=DOUBLE), by_numpy(DOUBLE, lambda x: 1 / np.sin(x)), "csc({0})",
    ),
    _by_one("coth", "tanh", "Hyperbolic cotangent, 1 / tanh; of 0 an error.", "coth(1) = 1.3130352854993315"),
    _by_one("sech", "cosh", "Hyperbolic secant, 1 / cosh.", "sech(0) = 1.0"),
    _by_one("csch", "sinh", "Hyperbolic cosecant, 1 / sinh; of 0 an error.", "csch(1) = 0.8509181282393216"),
    double("asinh", "Inverse hyperbolic sine.", "asinh(0) = 0.0", lambda x: x.arcsinh()),
    double("acosh", "Inverse hyperbolic cosine; NaN below 1.", "acosh(1) = 0.0", lambda x: x.arccosh()),
    double("atanh", "Inverse hyperbolic tangent; NaN outside -1 to 1.", "atanh(0) = 0.0", lambda x: x.arctanh()),
    _of_degrees("sind", "Sine of degrees.", "sind(30) = 0.5", np.sin, _SINES),
    _of_degrees("cosd", "Cosine of degrees.", "cosd(60) = 0.5", np.cos, (*_SINES[3:], *_SINES[:3])),
    _of_degrees("tand", "Tangent of degrees.", "tand(45) = 1.0", np.tan, _TANGENTS),
    _of_degrees(
        "cotd", "Cotangent of degrees.", "cotd(45) = 1.0", lambda x: 1 / np.tan(x), (*_TANGENTS[2::-1], *_TANGENTS[:2:-1])
    ),
    _inverse("asind", "Inverse sine, in degrees.", "asind(0.5) = 30.0", np.arcsin, 0.0, 60.0),
    _inverse("acosd", "Inverse cosine, in degrees.", "acosd(0.5) = 60.0", np.arccos, 90.0, -60.0),
    row("atand(number) -> DOUBLE", "Inverse tangent, in degrees.", "atand(1) = 45.0", _degrees_of("atan", 1)),
    row(
        "atan2d(y, x) -> DOUBLE", "Angle of the point (x, y), in degrees.", "atan2d(1, 0) = 90.0", _degrees_of("atan2", 2)
    ),
)  # fmt: skip
