"""The newest row's numbers, large, each with how it came to be: the values before it as a line, and the last change."""

from __future__ import annotations

import dataclasses
from typing import Final

import numpy as np
import polars as pl

from jupyter_stream.core.snapshot import Snapshot
from jupyter_stream.views import words
from jupyter_stream.views.colours import Colours
from jupyter_stream.views.picture import Floats, Picture, Table
from jupyter_stream.views.points import filled, floats, label_of
from jupyter_stream.views.roles import Roles

MOST_NUMBERS: Final = 6
LONGEST_PAST: Final = 120
"""Values a line beside a number shows."""


class Number:
    """One large number, or a few."""

    name: Final = "number"

    def picture(self, snapshot: Snapshot, roles: Roles, colours: Colours) -> Picture:
        """The last row's numbers, and under them the time they are about; for a few keys, the first number of each."""
        snapshot = filled(snapshot)
        rows = snapshot.rows
        names = [n for n in roles.y if n in rows.columns][:MOST_NUMBERS]
        figures = [(label_of(name, snapshot, rows), rows.get_column(name), _last(snapshot)) for name in names]
        shades: list[str] = []
        keys = [k for k in snapshot.key_columns if k in rows.columns and k not in names]
        if keys and names and 1 < rows.select(keys).n_unique() <= MOST_NUMBERS:
            label = label_of(names[0], snapshot, rows)
            numbered = rows.with_row_index(_AT)
            keyed = []
            for part in numbered.partition_by(keys, maintain_order=True):
                key = [words.cells(part.get_column(k))[0] for k in keys]
                name = f"{', '.join(key)} · {label}"
                keyed.append((key[0], name, part.get_column(names[0]), _last(snapshot, int(part[_AT][-1]))))
            keyed.sort(key=lambda figure: figure[1])
            first = [figure[0] for figure in keyed]
            shades = colours.of_values(keys[0], first, [float(np.nan_to_num(floats(f[2])[-1])) for f in keyed])
            figures = [figure[1:] for figure in keyed]
        note = None
        if snapshot.time_column in rows.columns and rows.height:
            assert snapshot.time_column is not None
            note = f"{snapshot.time_column} {words.cells(rows.get_column(snapshot.time_column).tail(1))[0]}"
        table = Table(
            tuple(label for label, _, _ in figures),
            tuple(_words(values.tail(1)) for _, values, _ in figures),
            (True,) * len(figures),
            (bool(figures) and not all(final for _, _, final in figures),) * min(1, rows.height),
            rows.tail(1),
        )
        past = tuple(floats(v)[-LONGEST_PAST:] for _, v, _ in figures)
        return Picture("number", table, note=note, past=past, shades=tuple(shades))


_AT: Final = "$at"


def _words(value: pl.Series) -> list[str]:
    return [words.amount(v) for v in value] if value.dtype.is_numeric() else words.cells(value)


def _last(snapshot: Snapshot, at: int = -1) -> bool:
    """Whether a row, the last one mostly, is final."""
    return bool(snapshot.final[at]) if len(snapshot.final) == snapshot.rows.height and snapshot.rows.height else True


class Past:
    """The values of a relation's numbers over time: a relation itself has only those of now. One for all views of a query."""

    def __init__(self) -> None:
        self._seen: dict[str, list[float]] = {}
        self._versions: dict[str, object] = {}  # that of the last value of each: views may show different ones

    def with_past(self, picture: Picture, version: object) -> Picture:
        """The picture with the values seen before those it has; those of a stream's rows stay as they are."""
        if any(len(values) > 1 for values in picture.past):
            return picture
        for name, values in zip(picture.rows.names, picture.past, strict=True):
            if version == self._versions.get(name):
                continue
            self._versions[name] = version
            seen = self._seen.setdefault(name, [])
            if len(values) and (not seen or seen[-1] != values[-1]):
                seen.append(float(values[-1]))
                del seen[:-LONGEST_PAST]
        past = tuple(np.array(self._seen.get(name, values), np.float64) for name, values in
                     zip(picture.rows.names, picture.past, strict=True))  # fmt: skip
        return dataclasses.replace(picture, past=past)


def change(past: Floats) -> str:
    """The last change in words: `▲ 3.2 (1.4 %)`; empty where there is none."""
    known = past[np.isfinite(past)]
    if len(known) < 2 or not np.isfinite(past[-1]):
        return ""
    before, now = float(known[-2]), float(known[-1])
    if before == now:
        return ""
    share = f" ({abs(now - before) / abs(before):.1%})" if before else ""
    return f"{'▲' if now > before else '▼'} {words.amount(float(f'{abs(now - before):.4g}'))}{share}"
