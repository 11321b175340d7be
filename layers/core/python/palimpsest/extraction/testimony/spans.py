"""Divides a message's text into its speaker's own words and material."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from palimpsest.extraction.testimony.blocks import Mark, blocks
from palimpsest.extraction.testimony.frames import frames
from palimpsest.extraction.testimony.turns import without_own_turns
from palimpsest.privacy.secrets import secrets

SpanClass = Literal["own", "material", "secret", "off_record"]
GAP = "\n"
"""The end of a line, which takes the place of each span that is not the speaker's own."""


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a text, its class, and the reason for that class. Own words have no reason."""

    start: int
    end: int
    kind: SpanClass
    reason: str = ""


def spans(text: str, *, user: str | None = None) -> tuple[Span, ...]:
    """Return the spans of a text, in order. They cover all of it, and none is empty. `user` is the
    name that the user signs with. The time is linear in the length of the text.
    """
    return tuple(_covering(_merged(text, user=user), len(text)))


def secret_spans(text: str) -> tuple[Span, ...]:
    """Return the spans of a text that has no material. They are its secrets, and the words between
    the secrets.
    """
    return tuple(_covering(_secret(text), len(text)))


def own_text(text: str, parts: Iterable[Span]) -> str:
    """Return the text with only the speaker's own words. If all of it is own words, it is
    unchanged.
    """
    return "".join(text[span.start : span.end] if span.kind == "own" else GAP for span in parts)


def withheld(text: str, parts: Iterable[Span]) -> tuple[tuple[SpanClass, str], ...]:
    """Return the words of each span that is not the speaker's own."""
    return tuple((span.kind, text[span.start : span.end]) for span in parts if span.kind != "own")


def _merged(text: str, *, user: str | None) -> list[Span]:
    marks: list[Mark] = [*blocks(text, user=user)]
    marks += (part for mark in frames(text) for part in without_own_turns(mark, text, user=user))
    material = [Span(start, end, "material", reason) for start, end, reason in marks]
    return sorted([*material, *_secret(text)], key=lambda span: (span.start, span.end))


def _secret(text: str) -> list[Span]:
    return [Span(start, end, "secret", reason) for start, end, reason in sorted(secrets(text))]


def _covering(marked: Iterable[Span], length: int) -> Iterator[Span]:
    place = 0
    for span in marked:
        if span.end <= max(place, span.start):
            continue
        if span.start > place:
            yield Span(place, span.start, "own")
        yield Span(max(place, span.start), span.end, span.kind, span.reason)
        place = span.end
    if place < length:
        yield Span(place, length, "own")
