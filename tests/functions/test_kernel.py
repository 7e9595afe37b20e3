"""How expressions are compiled, apart from what they compute."""

import polars as pl
import pytest

from jupyter_stream.functions import Column, cast, compile_kernel, kernel, parsing, resolve
from jupyter_stream.functions.expression import Call, Expr, Literal
from jupyter_stream.functions.steps import with_steps
from jupyter_stream.functions.types import BIGINT, BOOLEAN, STRING
from tests.tiers import slow


def test_what_stands_in_an_expression_again_and_again_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = []
    compile_one = kernel._compile
    monkeypatch.setattr(kernel, "_compile", lambda expr, parts: compiled.append(expr) or compile_one(expr, parts))

    def term() -> Expr:
        product = resolve("*", [Column("a", BIGINT), Literal(2**62, BIGINT)])
        return resolve(">", [product, Literal(1, BIGINT)])

    chain = term()
    for _ in range(49):
        chain = resolve("and", [chain, term()])
    compile_kernel(chain)
    calls = [expr.function for expr in compiled if isinstance(expr, Call)]
    assert (calls.count("*"), calls.count(">"), calls.count("and")) == (1, 1, 49)


@pytest.mark.parametrize("same", [True, False])
def test_in_a_long_chain_each_term_that_calls_python_is_computed_once(
    same: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    parse, calls = parsing._parsed, []
    monkeypatch.setattr(parsing, "_parsed", lambda *given: calls.append(given) or parse(*given))
    k = Column("k", STRING)
    terms = [cast(k if same else resolve("concat", [k, Literal(f"{i}", STRING)]), BIGINT) for i in range(300)]
    chain: Expr = Literal(False, BOOLEAN)
    for i, term in enumerate(terms):
        chain = resolve("or", [chain, resolve("=", [term, Literal(i, BIGINT)])])
    made = compile_kernel(chain)
    read = [made.value, *(f.condition for f in made.failures)]
    rows = with_steps(pl.DataFrame({"k": ["1", "x", None]}), made.steps, read)
    found = rows.select(v.alias(f"{i}") for i, v in enumerate(read))
    assert [any(row[1:]) for row in found.rows()] == [False, True, False]
    assert len(calls) <= 3 * (1 if same else 300)  # the value, and whether it fails


@slow
def test_columns_of_steps_that_nobody_reads_any_more_are_left_out() -> None:
    a = Column("a", BIGINT)
    total: Expr = a
    for i in range(1_000):
        total = resolve("+", [total, resolve("*", [a, Literal(i, BIGINT)])])
    made = compile_kernel(total)
    rows = with_steps(pl.DataFrame({"a": [2, None]}), made.steps, [made.value, *(f.condition for f in made.failures)])
    assert len(made.steps) > 64
    assert rows.width <= 1 + 64
    assert rows.select(made.value).to_series().to_list() == [2 + 2 * sum(range(1_000)), None]


def test_a_constant_that_fails_says_why_and_one_that_does_not_is_there() -> None:
    good, bad = (compile_kernel(cast(Literal(text, STRING), BIGINT)) for text in ("12", "x"))
    assert not good.failures and pl.select(good.value).item() == 12
    assert [f.reason for f in bad.failures] == ["the value can't be cast to BIGINT"]
