"""Calls with lambdas: names of parameters are the lambda's own, and what it takes from around it is an argument more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from jupyter_stream.functions import Column, Expr, Literal
from jupyter_stream.functions.expression import LambdaBody, substitute, walk
from jupyter_stream.functions.function import BadArguments
from jupyter_stream.functions.higher_order import FORMS
from jupyter_stream.syntax.nodes import FunctionCall, Lambda, Node
from jupyter_stream.syntax.source_text import Name

if TYPE_CHECKING:
    from jupyter_stream.binding.bind_expression import ExpressionBinder, Names


def takes_lambda(node: FunctionCall) -> bool:
    """Whether a call has a lambda among its arguments."""
    return any(isinstance(arg, Lambda) for arg in node.args)


def bind_with_lambdas(node: FunctionCall, binder: ExpressionBinder) -> Expr:
    """Such a call.

    Raises:
        QueryError: the function takes none, or other parameters.
    """
    name = node.name.text.lower()
    form = FORMS.get(name)
    if form is None:
        usage = "Lambdas go with transform, filter, exists, forall, zip_with and aggregate."
        raise binder.error(f"{node.name.text} takes no lambda", node, usage)
    types: list[pl.DataType] = []
    args: list[Expr] = []
    lambdas = iter(form.lambdas)
    for arg in node.args:
        if not isinstance(arg, Lambda):
            bound = binder.bind(arg)
            types.append(bound.dtype)
            args.append(bound)
            continue
        wanted = next(lambdas, None)
        if wanted is None or len(types) < form.arrays:
            raise binder.error(f"a lambda isn't expected here by {node.name.text}", arg)
        try:
            known = wanted(types)
        except (BadArguments, IndexError) as bad:
            raise binder.error(str(bad) or f"{node.name.text} takes an array first", node) from None
        made, around = _bound(arg, known, name, binder)
        types.append(made.body.dtype)
        args += [*around, Literal(made, pl.Null())]
    return binder.call(name, args, node)


def _bound(
    node: Lambda, types: tuple[pl.DataType, ...], function: str, binder: ExpressionBinder
) -> tuple[LambdaBody, list[Expr]]:
    """A lambda whose parameters have these types, and what it takes from around it."""
    optional = function in ("transform", "list_transform", "filter", "list_filter")
    if len(node.parameters) > len(types) or (len(node.parameters) < len(types) and not optional):
        raise binder.error(
            f"the lambda of {function} takes {len(types)} parameter{'s' * (len(types) > 1)} here, not {len(node.parameters)}",
            node,
            "Write x -> x + 1, or (a, b) -> a + b.",
        )
    place = node.span.start
    own = tuple(
        Column(f"${parameter.text} {place}", dtype) for parameter, dtype in zip(node.parameters, types, strict=False)
    )
    names = _LambdaNames(binder.names, {p.text.lower(): c for p, c in zip(node.parameters, own, strict=True)})
    body = binder.over(names).bind(node.body)
    outside: dict[str, Column] = {}
    for part in walk(body):
        if isinstance(part, Column) and part not in own:
            outside.setdefault(part.name, part)
    around: list[Expr] = list(outside.values())
    captured = tuple(Column(f"$around {place} {i}", c.dtype) for i, c in enumerate(outside.values()))
    there: dict[str, Expr] = dict(zip(outside, captured, strict=True))
    return LambdaBody(own, captured, substitute(body, there)), around


class _LambdaNames:
    """The names around a lambda, behind its own."""

    def __init__(self, names: Names, own: dict[str, Column]) -> None:
        self._names = names
        self._own = own

    def column(self, name: Name, qualifier: Name | None) -> Expr | None:
        if qualifier is None and name.text.lower() in self._own:
            return self._own[name.text.lower()]
        if qualifier is not None and qualifier.text.lower() in self._own:
            return None  # a field of a parameter
        return self._names.column(name, qualifier)

    def known(self) -> tuple[str, ...]:
        return (*self._own, *self._names.known())

    def pseudo(self) -> tuple[str, ...]:
        return self._names.pseudo()

    def aggregate(self, call: FunctionCall) -> Expr:
        return self._names.aggregate(call)

    def special(self, node: Node) -> Expr | None:
        return self._names.special(node)


__all__ = ["bind_with_lambdas", "takes_lambda"]
