"""Patterns that few texts match. Most texts are ruled out without the pattern, because they lack a
piece of text that every match contains.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import chain
from typing import Final

from palimpsest.text.pieces import Pieces, forms_of, pieces_of
from palimpsest.text.triggers import lowered

ASKED_BEFORE: Final = 8  # times, before a pattern is read for its pieces
_PLAIN = re.compile(r"[a-zà-öø-ÿ0-9 =-]+", re.IGNORECASE)


class Sought:
    """A pattern that is compiled at its first use. A text without the pieces that each match
    contains is skipped. These pieces are derived from the pattern itself.
    """

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self._pattern, self._flags = pattern, flags
        self._asked = 0

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        return re.compile(self._pattern, self._flags)

    @cached_property
    def needed(self) -> Sequence[Pieces]:
        """Sets of pieces. Each match contains at least one piece of each set."""
        return pieces_of(self._pattern)

    @cached_property
    def _forms(self) -> Sequence[Sequence[Pieces]]:
        return forms_of(self._pattern)

    @cached_property
    def _pieces(self) -> Sequence[str]:
        return sorted({piece for form in self._forms for piece in chain(*form)})

    def may_match(self, text: str) -> bool:
        """Return False if the text lacks pieces that every match contains. For the first texts
        return True without a look, because deriving the pieces would delay a cold start.
        """
        if self._asked < ASKED_BEFORE:
            self._asked += 1
            return True
        return self.has_pieces(text)

    def has_pieces(self, text: str) -> bool:
        """Return whether the text contains pieces of text without which the pattern can't match."""
        has = lowered(text).__contains__
        for pieces in self.needed:
            if not any(map(has, pieces)):
                return False
        if len(self._forms) == 1:
            return True
        present = set(filter(has, self._pieces))
        return any(not any(map(present.isdisjoint, form)) for form in self._forms)

    def search(self, text: str) -> re.Match[str] | None:
        return self.compiled.search(text) if self.may_match(text) else None

    def sub(self, by: str, text: str) -> str:
        return self.compiled.sub(by, text) if self.may_match(text) else text

    def finditer(self, text: str) -> Iterable[re.Match[str]]:
        return self.compiled.finditer(text) if self.may_match(text) else ()


class SoughtTogether:
    """Several patterns. A text is searched once for the pieces of all of them."""

    def __init__(self, several: Sequence[Sought]) -> None:
        self._several = several
        self._asked = 0

    @cached_property
    def _pieces(self) -> Sequence[str]:
        return sorted({piece for pattern in self._several for piece in chain(*pattern.needed)})

    def likely(self, text: str) -> frozenset[Sought]:
        """Return the patterns that may match the text. For the first texts, return all."""
        if self._asked < ASKED_BEFORE:
            self._asked += 1
            return frozenset(self._several)
        present = set(filter(lowered(text).__contains__, self._pieces))
        return frozenset(
            pattern for pattern in self._several if not any(map(present.isdisjoint, pattern.needed))
        )


class Stems:
    """Parts of words in any case, written as the alternatives of a pattern. No alternative has a
    `|` of its own. Most are plain text, which is found faster without a pattern.
    """

    def __init__(self, pattern: str) -> None:
        self._source = pattern

    @cached_property
    def _plain(self) -> Sequence[str]:
        return sorted(
            {
                lowered(alternative)
                for alternative in self._alternatives
                if _PLAIN.fullmatch(alternative)
            }
        )

    @cached_property
    def _others(self) -> Sought:
        others = [
            alternative for alternative in self._alternatives if not _PLAIN.fullmatch(alternative)
        ]
        return Sought("|".join(others) or "(?!)", re.IGNORECASE)

    @cached_property
    def _alternatives(self) -> Sequence[str]:
        return self._source.split("|")

    def are_in(self, text: str) -> bool:
        """Return whether the text has one of the parts."""
        is_plain = any(map(lowered(text).__contains__, self._plain))
        return is_plain or self._others.search(text) is not None
