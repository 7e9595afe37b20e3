"""Series are told apart whatever colours someone can see: the palette as people without one kind of cones see it."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from jupyter_stream.views.colours import NIGHT, PALETTE

Values = NDArray[np.float64]

# Machado, Oliveira, Fernandes, "A Physiologically-based Model for Simulation of Color Vision Deficiency" (2009), severity 1.0
VISION = {
    "all cones": np.eye(3),
    "no red cones": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "no green cones": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "no blue cones": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
TOLD_APART = 12.0
"""Distance in CIELAB: 2.3 is just noticeable side by side. Common palettes have 5 to 7 without red or green cones."""
LIGHT, DARK = "#ffffff", "#111111"


def linear(colour: str) -> Values:
    """Red, green and blue light of `#rrggbb`."""
    part = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)


def lab(light: Values) -> Values:
    """CIELAB, white being that of sRGB."""
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = to_xyz @ np.clip(light, 0, 1) / to_xyz.sum(axis=1)
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


AT_NIGHT = tuple(NIGHT.get(colour, colour) for colour in PALETTE)


def contrast(one: str, other: str) -> float:
    """As WCAG 2 has it: 1 for the same, 21 for black on white; shapes want 3."""
    light = sorted(float(linear(colour) @ [0.2126, 0.7152, 0.0722]) for colour in (one, other))
    return (light[1] + 0.05) / (light[0] + 0.05)


def test_every_colour_can_be_read_on_dark_pages() -> None:
    assert min(contrast(colour, page) for colour in AT_NIGHT for page in (DARK, "#1e1e1e")) > 3.5


@pytest.mark.parametrize("palette", [PALETTE, AT_NIGHT], ids=["light", "dark"])
@pytest.mark.parametrize("vision", VISION)
def test_no_two_colours_look_the_same(vision: str, palette: tuple[str, ...]) -> None:
    seen = {colour: lab(VISION[vision] @ linear(colour)) for colour in palette}
    near = {pair: float(np.linalg.norm(seen[pair[0]] - seen[pair[1]])) for pair in combinations(palette, 2)}
    assert min(near.values()) > TOLD_APART, min(near, key=lambda pair: near[pair])


@pytest.mark.parametrize("background", [LIGHT, DARK])
@pytest.mark.parametrize("vision", VISION)
def test_every_colour_is_seen_on_light_and_dark_pages(vision: str, background: str) -> None:
    behind = lab(VISION[vision] @ linear(background))
    assert min(float(np.linalg.norm(lab(VISION[vision] @ linear(c)) - behind)) for c in PALETTE) > TOLD_APART
