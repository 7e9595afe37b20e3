"""A plan as a picture: boxes and arrows in SVG, the same for the live view and the saved notebook. All text is escaped.

Streams are at the top and the answers at the bottom. Not for deciding when to draw.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Final

from jupyter_stream.core.diagram import Diagram, Flow, Node
from jupyter_stream.views.words import count, size

BOX: Final = (216, 66)
GAP: Final = (26, 46)
_MARGIN: Final = 12
_LABEL: Final = 120
"""Room for what is written beside the arrows on the right."""
_LONGEST: Final = 26
"""Characters of a line that fit in a box, bold ones in a wide font, with two more that say there are others."""
_COLOURS: Final = {"source": "#56b4e9", "operator": "#999999", "result": "#009e73"}
"""Borders, of Okabe and Ito's palette."""
_GROWING: Final = "#d55e00"
_PAPER: Final = "var(--vscode-editor-background,var(--jp-layout-color1,#fff))"
"""Colours of the page's theme, light or dark; where there is none, those of paper."""
_BOX: Final = "var(--vscode-editorWidget-background,var(--jp-layout-color2,#fafafa))"
_INK: Final = "var(--vscode-foreground,var(--jp-ui-font-color1,#222))"
_FAINT: Final = "var(--vscode-descriptionForeground,var(--jp-ui-font-color2,#555))"
_CHOSEN: Final = "rgba(230,159,0,0.25)"
PATTERNS: Final = {
    "MON": "monotonic: nothing is taken back",
    "WKS": "weakest: rows leave in the order they came",
    "WK": "weak: rows leave at times known when they come",
    "STR": "strict: some rows leave at times nobody knows beforehand",
}


@dataclass(frozen=True, slots=True)
class Pace:
    """What has changed each second since the last picture.

    Attributes:
        rows: rows per second by flow (source id, target id).
        growth: bytes per second by node id.
    """

    rows: Mapping[tuple[str, str], float]
    growth: Mapping[str, float]


def places(diagram: Diagram) -> dict[str, tuple[int, int]]:
    """Where each node's box has its upper left corner: a level below the lowest node that feeds it."""
    into: dict[str, list[str]] = {n.id: [] for n in diagram.nodes}
    for flow in diagram.flows:
        into[flow.target].append(flow.source)
    level: dict[str, int] = {}
    for node in diagram.nodes:  # each after those that feed it
        level[node.id] = 1 + max((level[s] for s in into[node.id]), default=-1)
    across: dict[str, float] = {}
    taken = 0.0
    for node in diagram.nodes:
        known = [across[s] for s in into[node.id]]
        if known:
            across[node.id] = sum(known) / len(known)
        else:
            across[node.id], taken = taken, taken + 1
    rows: dict[tuple[int, float], int] = {}
    for node in diagram.nodes:  # no two boxes in one place
        while (level[node.id], across[node.id]) in rows:
            across[node.id] += 1
        rows[level[node.id], across[node.id]] = 1
    width, height = BOX[0] + GAP[0], BOX[1] + GAP[1]
    return {n: (int(_MARGIN + x * width), int(_MARGIN + level[n] * height)) for n, x in across.items()}


def svg(diagram: Diagram, pace: Pace | None = None, chosen: str | None = None) -> str:
    """The picture as text.

    Args:
        diagram: the plan.
        pace: rates, where they are known.
        chosen: id of the node to draw as chosen.
    """
    where = places(diagram)
    width = max(x for x, _ in where.values()) + BOX[0] // 2 + max(BOX[0] // 2, _LABEL) + _MARGIN + _LABEL // 4
    height = max(y for _, y in where.values()) + BOX[1] + _MARGIN
    leaving = Counter(flow.source for flow in diagram.flows)
    body = [_arrow(flow, where, pace, 0.75 if leaving[flow.source] > 1 else 0.3) for flow in diagram.flows]
    body += [_box(node, where[node.id], pace, node.id == chosen) for node in diagram.nodes]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="system-ui,Helvetica,Arial,sans-serif" font-size="11" '
        f'fill="{_INK}"><rect width="{width}" height="{height}" rx="6" fill="{_PAPER}"/>'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0 0L8 4L0 8z" fill="{_FAINT}"/></marker></defs>' + "".join(body) + "</svg>"
    )


def _arrow(flow: Flow, where: Mapping[str, tuple[int, int]], pace: Pace | None, along: float) -> str:
    """An arrow with its counts that far along it: apart from those of others that leave, or come to, the same box."""
    (x1, y1), (x2, y2) = where[flow.source], where[flow.target]
    x1, y1, x2 = x1 + BOX[0] // 2, y1 + BOX[1], x2 + BOX[0] // 2
    rate = pace.rows.get((flow.source, flow.target)) if pace else None
    words = f"{count(flow.rows)} rows" + (f", {count(rate)}/s" if rate else "")
    x, y = x1 + (x2 - x1) * along + 7, y1 + (y2 - y1) * along + 3
    label = f'<tspan font-weight="600">{escape(flow.pattern)}</tspan> ' if flow.pattern else ""
    tip = f"<title>{escape(PATTERNS.get(flow.pattern, ''))}</title>" if flow.pattern else ""
    return (
        f'<g>{tip}<path d="M{x1} {y1}L{x2} {y2 - 2}" stroke="{_FAINT}" fill="none" marker-end="url(#tip)"/>'
        f'<text x="{x:.0f}" y="{y:.0f}" fill="{_FAINT}">{label}{escape(words)}</text></g>'
    )


def _box(node: Node, at: tuple[int, int], pace: Pace | None, chosen: bool) -> str:
    x, y = at
    growth = pace.growth.get(node.id, 0.0) if pace else 0.0
    title, *more = _wrapped(node.title)
    lines = [(title + (" …" if more else ""), "600")]
    held = []
    if node.queued is not None:
        held.append(f"{count(node.queued)} rows waiting")
    if node.bytes:
        held.append(
            size(node.bytes) + (f" {'+' if growth > 0 else '−'}{size(abs(growth))}/s" if abs(growth) >= 1 else "")
        )
    lines.append((", ".join(held) or f"{count(node.rows_out)} rows", "400"))
    if node.shared_by:
        lines.append((f"shared by {node.shared_by}", "400"))
    elif node.keeps:
        lines.append((node.keeps, "400"))
    text = "".join(
        f'<text x="{x + 9}" y="{y + 18 + 17 * i}" font-weight="{weight}">{escape(_cut(line))}</text>'
        for i, (line, weight) in enumerate(lines)
    )
    border = _GROWING if growth > 1e6 else _COLOURS[node.kind]
    return (
        f'<g data-node="{escape(node.id, quote=True)}" style="cursor:pointer"><title>{escape(node.title)}</title>'
        f'<rect x="{x}" y="{y}" width="{BOX[0]}" height="{BOX[1]}" rx="5" fill="{_CHOSEN if chosen else _BOX}" '
        f'stroke="{border}" stroke-width="{3 if chosen or node.shared_by else 1.5}"/>{text}</g>'
    )


def _wrapped(title: str) -> list[str]:
    return [title[i : i + _LONGEST] for i in range(0, len(title), _LONGEST)] or [""]


def _cut(line: str) -> str:
    return line if len(line) <= _LONGEST + 2 else line[:_LONGEST] + "…"
