"""A row pattern as an automaton: from each state, the variables that may come next, the preferred one first.

What goes from state to state without a row is followed once, here (K. Thompson, CACM 1968; the order is that of R. Cox's
"Virtual Machine Approach"). So the search reads a row at each step. Not for conditions: a variable is a number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from jupyter_stream.core.row_pattern import (
    PatternChoice,
    PatternRepeat,
    PatternSequence,
    PatternVariable,
    RowPattern,
)

END: Final = -1
"""In the place of a variable: the match is whole here."""


class Automaton:
    """The states of a pattern; state 0 is its beginning.

    Args:
        pattern: the pattern.

    Attributes:
        symbols: for each code the variable, and whether its row is shown. A variable may have two codes.
        steps: for each state (code, next state), in order of preference; (`END`, 0) is the last of those before which it ends.
    """

    def __init__(self, pattern: RowPattern) -> None:
        self.symbols: list[tuple[str, bool]] = []
        self._nodes: list[tuple[int, list[int]]] = [(END, [])]  # code, and where it goes; a code of -2 for a choice
        first = self._before(pattern, 0)
        self.steps: list[tuple[tuple[int, int], ...]] = []
        numbers = {first: 0}
        todo = [first]
        for node in todo:  # grows while it is gone through
            found = []
            for code, then in self._reached(node):
                if code != END and then not in numbers:
                    numbers[then] = len(todo)
                    todo.append(then)
                found.append((code, 0 if code == END else numbers[then]))
            self.steps.append(tuple(found))

    def codes(self, variables: Sequence[str]) -> bytes:
        """The codes of some variables; of all where none is named."""
        return bytes(c for c, (name, _) in enumerate(self.symbols) if not variables or name in variables)

    def _before(self, pattern: RowPattern, then: int) -> int:
        """A node from which the pattern leads to another."""
        match pattern:
            case PatternVariable(name=name, shown=shown):
                if (name, shown) not in self.symbols:
                    self.symbols.append((name, shown))
                return self._node(self.symbols.index((name, shown)), [then])
            case PatternSequence(parts=parts):
                for part in reversed(parts):
                    then = self._before(part, then)
                return then
            case PatternChoice(parts=parts):
                return self._choice([self._before(part, then) for part in parts])
            case PatternRepeat():
                return self._repeated(pattern, then)

    def _repeated(self, pattern: PatternRepeat, then: int) -> int:
        if pattern.high is None:
            node = self._choice([])
            again = self._before(pattern.part, node)
            self._nodes[node][1].extend([again, then] if pattern.greedy else [then, again])
        else:
            node = then
            for _ in range(pattern.high - pattern.low):
                more = self._before(pattern.part, node)
                node = self._choice([more, then] if pattern.greedy else [then, more])
        for _ in range(pattern.low):
            node = self._before(pattern.part, node)
        return node

    def _node(self, code: int, then: list[int]) -> int:
        self._nodes.append((code, then))
        return len(self._nodes) - 1

    def _choice(self, then: list[int]) -> int:
        return self._node(-2, then)

    def _reached(self, node: int) -> list[tuple[int, int]]:
        """The rows that may come from a node on, each with the node behind it, up to where the match is whole."""
        found: list[tuple[int, int]] = []
        seen: set[int] = set()
        left = [node]
        while left:
            at = left.pop()
            if at in seen:
                continue
            seen.add(at)
            code, then = self._nodes[at]
            if code == -2:
                left.extend(reversed(then))
                continue
            found.append((code, then[0] if then else 0))
            if code == END:
                break
        return found


__all__ = ["END", "Automaton"]
