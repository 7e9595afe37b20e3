"""Partial results of an aggregate that works by arrays, by pane: each made once, merged and taken back as the window moves."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from jupyter_stream.aggregates.protocol import SLOT
from jupyter_stream.aggregates.user.answers import ordered
from jupyter_stream.aggregates.user.python import ArrayProgram
from jupyter_stream.core.messages import ints
from jupyter_stream.functions.scalar import RowError

Outcome = tuple[list[Any] | None, str | None]


class PanePartials:
    """What panes gave, by slot.

    Args:
        program: the user's array functions.
    """

    def __init__(self, program: ArrayProgram) -> None:
        self._program = program
        self._known: dict[int, tuple[dict[int, Any], dict[int, str]]] = {}
        self._window: list[int] = []  # panes merged in `_merged`
        self._merged: dict[int, tuple[int, Any]] = {}  # slot -> how many panes, and what they give together

    def forget(self, pane: int) -> None:
        """The pane has changed, or is gone."""
        if self._known.pop(pane, None) is not None and pane in self._window:
            self._window, self._merged = [], {}

    def clear(self) -> None:
        """Slots have other numbers."""
        self._known.clear()
        self._window, self._merged = [], {}

    def answers(self, panes: dict[int, list[pl.DataFrame]], keep: bool) -> dict[int, Outcome]:
        """Answers over some panes' rows, in their order; `keep` what is made of them, as the window goes on from here."""
        failed: dict[int, str] = {}
        made: list[dict[int, Any]] = []
        for pane, frames in panes.items():
            found, wrong = self._of(pane, frames, keep)
            failed.update(wrong)
            made.append(found)
        stays = self._program.subtracts or set(self._window) <= set(panes)
        if keep and stays and not failed:
            merged = self._moved(list(panes), failed)
        else:
            merged = {}
            if keep:
                self._merged = {}
            for found in made:
                for slot, partial in found.items():
                    self._add(merged, slot, partial, failed)
        if keep:
            for pane in [p for p in self._known if p not in panes]:
                del self._known[pane]
            self._window = list(panes) if self._merged else []
        answers: dict[int, Outcome] = {}
        for slot, (_, partial) in merged.items():
            try:
                answers[slot] = self._program.finish(partial), None
            except RowError as error:
                failed[slot] = str(error)
        answers.update({slot: (None, reason) for slot, reason in failed.items()})
        return answers

    def _moved(self, panes: list[int], failed: dict[int, str]) -> dict[int, tuple[int, Any]]:
        """The window before, without the panes that have left and with those that came.

        They are merged in their order: a late row's pane that came before others of the window has all of them merged anew.
        """
        held = set(self._window) & set(panes)
        if not held or min(set(panes) - held, default=max(held)) < max(held):
            self._window, self._merged = [], {}
        for pane in [p for p in self._window if p not in panes]:
            for slot, partial in self._known.get(pane, ({}, {}))[0].items():
                count, whole = self._merged[slot]
                if count == 1:
                    del self._merged[slot]
                    continue
                try:
                    self._merged[slot] = count - 1, self._program.subtract(whole, partial)
                except RowError as error:
                    failed[slot] = str(error)
        for pane in [p for p in panes if p not in self._window]:
            for slot, partial in self._known[pane][0].items():
                self._add(self._merged, slot, partial, failed)
        if failed:
            merged, self._merged = self._merged, {}
            return {s: m for s, m in merged.items() if s not in failed}
        return self._merged

    def _add(self, merged: dict[int, tuple[int, Any]], slot: int, partial: Any, failed: dict[int, str]) -> None:
        if slot not in merged:
            merged[slot] = 1, partial
            return
        count, before = merged[slot]
        try:
            merged[slot] = count + 1, self._program.merge(before, partial)
        except RowError as error:
            failed[slot] = str(error)

    def _of(self, pane: int, frames: list[pl.DataFrame], keep: bool) -> tuple[dict[int, Any], dict[int, str]]:
        known = self._known.get(pane)
        if known is not None:
            return known
        frame = pl.concat(frames) if len(frames) > 1 else frames[0]
        slots = ints(frame.get_column(SLOT))
        arrays = [c.to_numpy() for c in ordered(frame.drop(SLOT), slots)]
        found: dict[int, Any] = {}
        wrong: dict[int, str] = {}
        stop = 0
        present, counts = np.unique(slots, return_counts=True)
        for slot, count in zip(present.tolist(), counts.tolist(), strict=True):
            start, stop = stop, stop + count
            try:
                found[slot] = self._program.partial([a[start:stop] for a in arrays])
            except RowError as error:
                wrong[slot] = str(error)
        if keep:
            self._known[pane] = found, wrong
        return found, wrong
