"""Filled shapes between two lines each, as areas and bands are made of. Not for where the lines go."""

from __future__ import annotations

from typing import Final

import numpy as np

from jupyter_stream.views.picture import Floats, Layer, Ragged

_FILLED: Final = 0.45
"""Opacity of what is filled solidly."""


class Fill:
    """Filled shapes between two lines each."""

    def __init__(self) -> None:
        self._xs: list[Floats] = []
        self._ys: list[Floats] = []
        self._colours: list[str] = []
        self._alphas: list[float] = []

    def add(self, x: Floats, low: Floats, high: Floats, colour: str, alpha: float) -> None:
        """Between low and high; NaN in x ends a shape, and one in high is left out."""
        for part in np.split(np.arange(len(x)), np.flatnonzero(np.isnan(x))):
            at = part[np.isfinite(x[part]) & np.isfinite(high[part])]
            if not len(at):
                continue
            self._xs.append(np.concatenate((x[at], x[at][::-1])))
            self._ys.append(np.concatenate((high[at], low[at][::-1])))
            self._colours.append(colour)
            self._alphas.append(alpha)

    def layer(self) -> Layer:
        """All of them."""
        alphas = np.array(self._alphas, dtype=np.float64) * _FILLED
        return Layer(
            "areas", {"xs": Ragged.of(self._xs), "ys": Ragged.of(self._ys), "color": self._colours, "alpha": alphas}
        )
