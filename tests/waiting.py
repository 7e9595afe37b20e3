"""How tests wait: for a condition, as long as a busy machine may take, never for so many seconds."""

import time
from collections.abc import Callable

from jupyter_stream.engine.engine import Engine

PATIENCE = 200.0
"""Seconds: a net for what never comes, however slow the machine."""


def until(
    condition: Callable[[], object],
    what: Callable[[], object] = lambda: "",
    step: float = 0.01,
    *,
    patience: float = PATIENCE,
) -> None:
    """Wait for a condition.

    Args:
        condition: asked again and again.
        what: says how things stand, if it never comes about.
        step: seconds between questions.
        patience: seconds, where more than a Spark that is at work has to come about.

    Raises:
        TimeoutError: it doesn't come about.
        TypeError: `what` can't be asked: a number there was meant for patience, and would be seen when it has run out.
    """
    if not callable(what):
        raise TypeError(f"{what!r} can't say how things stand")
    end = time.monotonic() + patience
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"it doesn't come about {what()}".rstrip())
        time.sleep(step)


def settle(engine: Engine) -> None:
    """Wait until an engine has done what it was told, steps in threads of their own among it."""

    def at_rest() -> bool:
        return not any(getattr(r, "busy", False) or getattr(r, "catching_up", False) for r in engine.runners)

    until(lambda: engine.submit(at_rest).result(), step=0.0005)
