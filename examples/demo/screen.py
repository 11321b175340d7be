"""The demo's output: colours and pauses on a terminal, plain lines anywhere else."""

import os
import shutil
import sys
import textwrap
import time
from collections.abc import Iterator
from dataclasses import dataclass

CELLS = 50
FRAMES = 10
FRAME_SECONDS = 0.02
GUTTER = 10
COLOURS = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "36"}


@dataclass(frozen=True, slots=True)
class Window:
    """The contents of a window's bar, in tokens. `summary` of the `tokens` are the summary. At
    `trigger` tokens, old turns are folded.
    """

    tokens: int
    summary: int
    trigger: int
    budget: int


@dataclass(frozen=True, slots=True)
class Screen:
    """A screen of `columns` characters. `live` is true if a person watches."""

    live: bool
    columns: int

    def line(self, text: str = "") -> None:
        print(text, flush=True)

    def heading(self, text: str) -> None:
        self.line(f"\n{self.paint(text, 'bold')}\n{'-' * min(len(text), self.columns)}")
        self.pause(0.6)

    def entry(self, title: str, text: str, *, colour: str = "", body: str = "") -> None:
        """Write a title in the gutter and the text beside it, in lines that fit the terminal."""
        gutter = self.paint(title.ljust(GUTTER - 1), colour) + " "
        for number, part in enumerate(self._broken(text)):
            self.line((" " * GUTTER if number else gutter) + self.paint(part, body))
        self.pause(0.25)

    def bar(self, title: str, window: Window, *, before: int, note: str = "") -> None:
        """Draw the window as a bar. On a live screen it grows or shrinks from `before` tokens."""
        full = window.tokens >= window.trigger
        colour = "red" if full else "yellow" if window.tokens > 0.8 * window.trigger else "green"
        label = f" {window.tokens:>3}/{window.budget} tokens  {self.paint(note, colour)}".rstrip()
        for tokens in _steps(before, window.tokens) if self.live else ():
            self._write(f"\r{title:<{GUTTER}}[{self._cells(window, tokens, colour)}] {tokens:>3}")
            time.sleep(FRAME_SECONDS)
        self._write("\r" if self.live else "")
        self.line(f"{title:<{GUTTER}}[{self._cells(window, window.tokens, colour)}]{label}")
        self.pause(0.3)

    def pause(self, seconds: float) -> None:
        if self.live:
            time.sleep(seconds)

    def paint(self, text: str, colour: str) -> str:
        return f"\x1b[{COLOURS[colour]}m{text}\x1b[0m" if self.live and colour and text else text

    def _cells(self, window: Window, tokens: int, colour: str) -> str:
        """`=` is summary, `#` the rest, `|` the trigger while there is room before it."""
        used, summary, trigger = (
            _cells_of(part, window.budget) for part in (tokens, window.summary, window.trigger)
        )
        summary = min(summary, used)
        free = "." * (trigger - used) + "|" + "." * (CELLS - max(trigger, used) - 1)
        room = free if used <= trigger else "." * (CELLS - used)
        return (
            self.paint("=" * summary, "blue")
            + self.paint("#" * (used - summary), colour)
            + room[: CELLS - used]
        )

    def _broken(self, text: str) -> list[str]:
        width = self.columns - GUTTER
        return [
            part for line in text.splitlines() for part in textwrap.wrap(line, width) or [""]
        ] or [""]

    def _write(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()


def screen() -> Screen:
    live = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    return Screen(live=live, columns=min(100, shutil.get_terminal_size().columns))


def _cells_of(tokens: int, budget: int) -> int:
    return min(CELLS, round(tokens * CELLS / budget))


def _steps(before: int, after: int) -> Iterator[int]:
    return (before + (after - before) * frame // FRAMES for frame in range(FRAMES))
