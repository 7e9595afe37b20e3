"""Messages through operators, one by one and at once, to what comes out in the end.

Not for a running query of the kernel, whose operators may rest and have control tables: that is `engine.circuit`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from jupyter_stream.core.messages import SIGN, Batch, Failed, KeyPunctuation, Message, Missed, Punctuation, Tick
from jupyter_stream.flow.protocol import ByKey
from jupyter_stream.flow.steps import StepInput


def delivered(target: StepInput | None, message: Message) -> Iterator[Message]:
    """What is said, in the end, of a message for a step; late rows and rows an expression failed on, of any step."""
    if isinstance(message, Failed) and SIGN in message.frame.columns:
        entering = message.frame.get_column(SIGN) > 0  # what can't enter a relation, can't leave it either
        message = Failed(message.frame.filter(entering).drop(SIGN), message.reasons.filter(entering))
    if target is None or isinstance(message, Missed | Failed):
        yield message
        return
    operator = target.step.operator
    made: Iterable[Message] = ()
    if isinstance(message, Batch):
        made = operator.on_batch(target.port, message)
    elif isinstance(message, Punctuation):
        made = operator.on_punctuation(target.port, message)
    elif isinstance(message, KeyPunctuation) and isinstance(operator, ByKey):
        made = operator.on_key_punctuation(target.port, message)
    elif isinstance(message, Tick):
        made = operator.on_tick(message)
    for said in made:
        yield from delivered(target.step.target, said)


__all__ = ["delivered"]
