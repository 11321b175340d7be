"""Draws charts as SVG: parts of a drawing, with round numbers on the axes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

INK, PALE, GRID = "#24292f", "#57606a", "#d0d7de"
BLUE, ORANGE, RED, GREEN = "#0969da", "#bc4c00", "#cf222e", "#1a7f37"


@dataclass(frozen=True, slots=True)
class Panel:
    """A rectangle of the drawing whose values go from 0 to `most` on each axis. Lengths are in
    pixels.
    """

    left: float
    top: float
    width: float
    height: float
    most_x: float
    most_y: float

    def x(self, value: float) -> float:
        return round(self.left + self.width * value / self.most_x, 1)

    def y(self, value: float) -> float:
        return round(self.top + self.height * (1 - value / self.most_y), 1)

    def bars(
        self, values: Iterable[tuple[float, float]], *, wide: float, fill: str
    ) -> Iterator[str]:
        """Yield a bar for each pair of a place and a height."""
        for place, value in values:
            left, top = self.x(place), self.y(value)
            size = f'width="{self.x(place + wide) - left:.1f}" height="{self.y(0) - top:.1f}"'
            yield f'<rect x="{left}" y="{top}" {size} fill="{fill}" fill-opacity=".75"/>'

    def line(self, points: Sequence[tuple[float, float]], *, stroke: str) -> str:
        path = " ".join(f"{self.x(place)},{self.y(value)}" for place, value in points)
        return f'<polyline points="{path}" fill="none" stroke="{stroke}" stroke-width="1.6"/>'

    def axis(self, *, unit: str, stroke: str = PALE) -> Iterator[str]:
        """Yield lines and numbers at round values."""
        step = rounded(self.most_y / 3)
        right = self.left + self.width
        for number in range(int(self.most_y / step) + 1):
            height = self.y(number * step)
            yield f'<path d="M{self.left} {height}H{right}" stroke="{GRID}"/>'
            yield text(self.left - 6, height + 4, f"{number * step:g}", anchor="end", fill=stroke)
        yield text(self.left, self.top - 7, unit, fill=stroke)


def rounded(value: float) -> float:
    """Return 1, 2 or 5 times a power of ten, at least the value."""
    power = 10.0 ** math.floor(math.log10(max(value, 1e-9)))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= value * (1 - 1e-9))


def text(left: float, top: float, words: str, *, anchor: str = "start", fill: str = INK) -> str:
    place = f'x="{left:g}" y="{top:g}" text-anchor="{anchor}" fill="{fill}"'
    return f"<text {place}>{escape(words)}</text>"


def drawing(width: int, height: int, parts: Iterable[str], *, title: str) -> str:
    style = "font-family:system-ui,sans-serif;font-size:12px"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"'
    back = f'<rect width="{width}" height="{height}" fill="#fff"/>'
    named = f"<title>{escape(title)}</title>"
    return "\n".join([f'{head} style="{style}">', named, back, *parts, "</svg>", ""])
