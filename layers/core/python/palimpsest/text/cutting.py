"""Prepares stored texts for display. It shortens them without splitting what is read as one
character, and escapes them.

Counting tokens takes most of the time. To cut a text of any size, about four texts of the result's
length are counted.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache, partial
from html import escape
from typing import Any

Count = Callable[[str], int]
"""Counts the tokens of a text, in one encoding."""

ELLIPSIS = "…"
REPLACED = '{"left out"'  # the beginning of arguments that replace others
TRIES = 3  # counting tokens takes most of the time, and a guess is near after a few
GOOD_ENOUGH = 0.85  # of the tokens allowed: another try would cost more than it gains
LOOK_BACK = 256  # characters; most texts have a place between two graphemes in the last few


def marker(tokens: int, seq: int | None) -> str:
    """Return the note for the place where a text was cut. It says how many tokens are missing, and
    which message has them (`seq`; None: no stored message has them).
    """
    return f"\n[{ELLIPSIS} {_missing(tokens, seq)} left out {ELLIPSIS}]\n"


def replacement(tokens: int, seq: int | None) -> str:
    """Return a JSON object that replaces a function's arguments, which must be a JSON object
    too.
    """
    return f'{REPLACED}: "{_missing(tokens, seq)}"}}'


def _missing(tokens: int, seq: int | None) -> str:
    return f"{tokens} tokens of {'this message' if seq is None else f'message {seq}'}"


def cut(
    text: str, *, limit: int, count: Count, tokens: int | None = None, seq: int | None = None
) -> tuple[str, int]:
    """Return the text without its middle, so that at most `limit` tokens remain, and its number of
    tokens. The limit includes the marker.

    `tokens` is the number of tokens of the whole text, if it is known. If not even the marker fits,
    only the text's beginning is left.
    """
    tokens = count(text) if tokens is None else tokens
    if tokens <= limit:
        return text, tokens
    mark = marker(tokens, seq)
    weight = count(mark)
    if weight >= limit:
        return shortened(text, limit=limit, count=count, tokens=tokens)

    guess = len(text) * (limit - weight) // tokens
    build = partial(around, text, mark=mark)
    size, used = _longest(
        lambda size: build(size=size), size=guess, most=len(text), limit=limit, count=count
    )
    exact = around(text, size=size, mark=marker(max(1, tokens - used + weight), seq))
    exactly = count(exact)
    return (exact, exactly) if exactly <= limit else (build(size=size), used)


def around(text: str, *, size: int, mark: str) -> str:
    """Return `size` characters of the text, half from its beginning and half from its end, with the
    mark between them.
    """
    return text[: _before(text, size // 2)] + mark + text[_behind(text, len(text) - size // 2) :]


def shortened(text: str, *, limit: int, count: Count, tokens: int | None = None) -> tuple[str, int]:
    """Return the beginning of the text within `limit` tokens, and its number of tokens. It ends at
    a sentence's end if there is one near the limit.
    """
    tokens = count(text) if tokens is None else tokens
    if tokens <= limit:
        return text, tokens
    if limit < count(ELLIPSIS):
        return "", 0

    def beginning(size: int) -> str:
        head = text[: _before(text, size)]
        end = max(
            (match.end() for match in _patterns().sentence.finditer(head, len(head) // 2)),
            default=0,
        )
        return head[:end].rstrip() if end else head + ELLIPSIS

    size, used = _longest(
        beginning, size=len(text) * limit // tokens, most=len(text), limit=limit, count=count
    )
    return beginning(size), used


def _longest(
    build: Callable[[int], str], *, size: int, most: int, limit: int, count: Count
) -> tuple[int, int]:
    """Return a size for which `build` gives a text of at most `limit` tokens, and the number of
    these tokens. It is the largest such size that a few tries find.

    `size` is a first guess and `most` the upper bound, both in characters. `build(0)` must fit.
    """
    fitting, used, tries = 0, -1, 0
    while size > fitting and (tries < TRIES or used < 0):
        tokens = count(build(size))
        tries += 1
        if tokens > limit:
            size = size * limit * 9 // (tokens * 10) if tries < TRIES else size // 2
            continue
        fitting, used = size, tokens
        if tokens >= GOOD_ENOUGH * limit:
            break
        size = min(most, size * limit // max(1, tokens))
    return (fitting, used) if used >= 0 else (0, count(build(0)))


def level(sizes: Sequence[int], *, room: int) -> int:
    """Return the size to which the largest parts must be cut so that all parts together fit the
    room. Smaller parts stay whole.
    """
    left, waiting = room, len(sizes)
    for size in sorted(sizes):
        if size * waiting > left:
            return max(0, left // waiting)
        left -= size
        waiting -= 1
    return max(sizes, default=0)


class _Patterns:
    """Patterns of the library `regex`, which knows grapheme clusters (Unicode's UAX 29). They are
    compiled when a text is first cut.
    """

    def __init__(self) -> None:
        import regex  # type: ignore[import-untyped] # it ships no types

        self.cluster: Any = regex.compile(r"\X")
        self.seam: Any = regex.compile(r"(?r)\p{GCB=Other}(?=\p{GCB=Other})")
        self.sentence: Any = regex.compile(r"\p{Sentence_Terminal}['\")\]]*(?=\s|\P{ASCII})|\n")


@cache
def _patterns() -> _Patterns:
    return _Patterns()


def _before(text: str, end: int) -> int:
    """Return the last position at or before `end` that splits no grapheme cluster."""
    if end <= 0 or end >= len(text):
        return max(0, min(end, len(text)))
    place = _seam(text, end)
    for cluster in _patterns().cluster.finditer(text, place):
        if cluster.end() > end:
            break
        place = cluster.end()
    return place


def _behind(text: str, start: int) -> int:
    """Return the first position at or after `start` that splits no grapheme cluster."""
    place = _before(text, start)
    if place == start or place >= len(text):
        return place
    match = _patterns().cluster.match(text, place)
    return int(match.end())


def _seam(text: str, end: int) -> int:
    """Return a position at or before `end` that is certainly a boundary, because it lies between
    two characters that never join others.
    """
    reach = LOOK_BACK
    while True:
        start = max(0, end - reach)
        match = _patterns().seam.search(text, start, end)
        if match or start == 0:
            return int(match.end()) if match else 0
        reach *= 4


_ODD = re.compile(r"[^\x20-\x7e]")
_JOINERS = "\u200c\u200d"
# characters that models read as the plain ones
_BRACKETS = str.maketrans("\uff1c\ufe64\uff1e\ufe65\uff06\ufe60", "<<>>&&")
# letters and marks that are not visible
_INVISIBLE = re.compile("[\u115f\u1160\u17b4\u17b5\u3164\uffa0\U000e0100-\U000e01ef]")
_UNSEEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs"})


def escaped(text: str) -> str:
    """Return the text with `<`, `>`, `&` and characters that look like these replaced by markup
    entities.
    """
    return escape(text.translate(_BRACKETS), quote=False)


def harmless(text: str) -> str:
    """Return the text in one line, without the characters that people do not see and a model does:
    control and format characters, direction marks and tag characters. Joiners between characters
    outside ASCII stay, because scripts and emoji need them.
    """
    if _ODD.search(text):
        text = _INVISIBLE.sub("", "".join(_seen(text)))
    return " ".join(text.split())


def _seen(text: str) -> list[str]:
    seen: list[str] = []
    for place, letter in enumerate(text):
        if letter.isascii():
            seen.append(letter if letter.isprintable() else " ")
        elif letter in _JOINERS:
            seen += letter if _joins(text, place) else ""
        elif unicodedata.category(letter) in ("Zl", "Zp", "Zs"):
            seen.append(" ")
        elif unicodedata.category(letter) not in _UNSEEN:
            seen.append(letter)
    return seen


def _joins(text: str, place: int) -> bool:
    around = text[place - 1 : place] + text[place + 1 : place + 2]
    if len(around) < 2:  # noqa: PLR2004 - the place is at an end of the text
        return False
    return not any(character.isascii() or character in _JOINERS for character in around)
