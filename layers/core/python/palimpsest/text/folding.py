"""Folds case, width and accents, so that equal words compare equal."""

from __future__ import annotations

import re
import unicodedata


def folded(text: str) -> str:
    """Return the text with case, width and accents unified. Every character that belongs to no word
    becomes a space.
    """
    return (
        text.encode().translate(_OF_ASCII).decode()
        if text.isascii()
        else folded_by(_WITHOUT_ACCENTS, text)
    )


def normalized(text: str) -> str:
    """Return the text by which statements are compared: lower case, single spaces, Unicode
    compatibility forms replaced, no full stop or exclamation mark at the end.
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    return re.sub(r"\s+", " ", folded).strip().rstrip(".\N{IDEOGRAPHIC FULL STOP}! ")


def folded_by(table: _Folding, text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return unicodedata.normalize("NFC", decomposed.translate(table))


class _Folding(dict[int, int | str | None]):
    """Maps each character to its folded form: letters, digits and marks stay, `removed` marks are
    left out, and everything else becomes a space.
    """

    def __init__(self, *, removed: frozenset[int], letters: dict[int, int | str | None]) -> None:
        super().__init__(letters)
        self._removed = removed

    def __missing__(self, point: int) -> int | str | None:
        character = chr(point)
        result: int | str | None = " "
        if unicodedata.combining(character) in self._removed:
            result = None
        elif character.isalnum() or unicodedata.category(character)[0] == "M":
            result = point
        self[point] = result
        return result


_OF_ASCII = bytes(
    ord(chr(point).lower() if chr(point).isalnum() else " ") for point in range(128)
).ljust(256)

_NO_LETTERS = dict[int, int | str | None].fromkeys((0xAD, 0x200D))  # soft hyphen, joiner

WITH_ACCENTS = _Folding(removed=frozenset(), letters=_NO_LETTERS)

_WITHOUT_ACCENTS = _Folding(
    # combining classes: Hebrew and Arabic points, accents
    removed=frozenset((*range(10, 37), *range(200, 241))),
    letters=_NO_LETTERS
    | {0x640: None, 0x629: None, 0x649: 0x64A},  # Arabic: tatweel, ta marbuta, alef maqsura to ya
)
