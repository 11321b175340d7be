"""Draws a storm: the acknowledged calls, the messages in queues, and each fault at its time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.chart import BLUE, GREEN, INK, ORANGE, RED, Panel, drawing, rounded, text
from benchmarks.storm.weather import AWAY, KILL, MODEL, THROTTLED, Event

WIDTH, HEIGHT = 960, 470
LEFT, RIGHT = 130, 30
SLOT = 10.0  # seconds of a bar
LANES = (KILL, MODEL, THROTTLED, AWAY)


@dataclass(frozen=True, slots=True)
class Story:
    """The course of a storm. Times are seconds since it began. `calls` are the second and the
    duration of each acknowledged append, `waiting` the messages in queues, `quiet` the second from
    which nothing was under way.
    """

    seconds: float
    calls: Sequence[tuple[float, float]]
    waiting: Sequence[tuple[float, float]]
    events: Sequence[Event]
    quiet: float | None


def svg(story: Story, title: str) -> str:
    most = max(story.quiet or 0, story.seconds, *(at for at, _ in story.waiting)) + SLOT
    parts = [*_rate(story, most), *_waiting(story, most), *_lanes(story, most)]
    return drawing(WIDTH, HEIGHT, parts, title=title)


def _panel(top: float, height: float, most_x: float, most_y: float) -> Panel:
    return Panel(LEFT, top, WIDTH - LEFT - RIGHT, height, most_x, rounded(max(most_y, 1)))


def _rate(story: Story, most: float) -> Iterator[str]:
    slots = Counter(int(at / SLOT) for at, _ in story.calls)
    panel = _panel(40, 120, most, max(slots.values(), default=1))
    yield from panel.axis(unit="appends acknowledged in 10 s", stroke=BLUE)
    yield from panel.bars(
        ((slot * SLOT, count) for slot, count in slots.items()), wide=SLOT * 0.9, fill=BLUE
    )


def _waiting(story: Story, most: float) -> Iterator[str]:
    panel = _panel(205, 80, most, max((count for _, count in story.waiting), default=1))
    yield from panel.axis(unit="messages in queues", stroke=ORANGE)
    yield panel.line(story.waiting, stroke=ORANGE)


def _lanes(story: Story, most: float) -> Iterator[str]:
    panel = _panel(320, 110, most, 1)
    for number, kind in enumerate(LANES):
        top = 326 + number * 26
        yield text(LEFT - 8, top + 12, kind, anchor="end")
        for event in story.events:
            if event.kind == kind:
                wide = max(1.5, panel.x(event.seconds) - panel.x(0))
                place = f'x="{panel.x(event.at)}" y="{top}" width="{wide:.1f}"'
                yield f'<rect {place} height="16" fill="{RED}" fill-opacity=".7"/>'
    for number in range(0, int(most // 60) + 1, 1 + int(most // 600)):
        yield text(panel.x(number * 60), 448, f"{number} min", anchor="middle")
    for at, words, fill in ((story.seconds, "the storm ends", INK), (story.quiet, "quiet", GREEN)):
        if at is not None:
            yield f'<path d="M{panel.x(at)} 30V432" stroke="{fill}" stroke-dasharray="4 3"/>'
            yield text(panel.x(at) - 4, 26, words, anchor="end", fill=fill)
