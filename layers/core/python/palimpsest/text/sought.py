"""Patterns that most texts do not match: a text without any of the pieces that every match has is
told without the pattern.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from importlib import import_module
from itertools import chain
from typing import Any, Final

from palimpsest.text.triggers import lowered

BEYOND_LATIN: Final = "\u0250"
"""From here on letters may have more than two forms that are equal when case is ignored."""
SHORTEST = 2  # a shorter piece is in most texts
ASKED_BEFORE: Final = 8  # times, before a pattern is read for its pieces
_PLAIN = re.compile(r"[a-zà-öø-ÿ0-9 =-]+", re.IGNORECASE)
_MICRO = "\N{MICRO SIGN}"
_TRANSPARENT = frozenset({"AT", "ASSERT", "ASSERT_NOT"})
_REPEATS = frozenset({"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"})

Pieces = frozenset[str]


class Sought:
    """A pattern that is read and compiled when it is first needed, and the pieces of text that are
    in its matches. The pieces are derived from the pattern: a new word is known by itself.
    """

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self._pattern, self._flags = pattern, flags
        self._asked = 0

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        return re.compile(self._pattern, self._flags)

    @cached_property
    def _items(self) -> Sequence[Any]:
        return _parsed(self._pattern, self._flags)

    @cached_property
    def needed(self) -> Sequence[Pieces]:
        """Sets of pieces: each match has one of each set."""
        return _needed_by(self._items)

    @cached_property
    def _forms(self) -> Sequence[Sequence[Pieces]]:
        return _forms_of(self._items)

    @cached_property
    def _pieces(self) -> Sequence[str]:
        return sorted({piece for form in self._forms for piece in chain(*form)})

    def may_match(self, text: str) -> bool:
        """Whether the text has the pieces that a match has. The first texts are not looked at: a
        cold start does not wait for the pieces.
        """
        if self._asked < ASKED_BEFORE:
            self._asked += 1
            return True
        return self.has_pieces(text)

    def has_pieces(self, text: str) -> bool:
        """Whether the text has the pieces that a match has."""
        has = lowered(text).__contains__
        for pieces in self.needed:
            if not any(map(has, pieces)):
                return False
        if len(self._forms) == 1:
            return True
        found = set(filter(has, self._pieces))
        return any(not any(map(found.isdisjoint, form)) for form in self._forms)

    def search(self, text: str) -> re.Match[str] | None:
        return self.compiled.search(text) if self.may_match(text) else None

    def sub(self, by: str, text: str) -> str:
        return self.compiled.sub(by, text) if self.may_match(text) else text

    def finditer(self, text: str) -> Iterable[re.Match[str]]:
        return self.compiled.finditer(text) if self.may_match(text) else ()


class SoughtTogether:
    """Several patterns: a text is looked at once for the pieces of all of them."""

    def __init__(self, several: Sequence[Sought]) -> None:
        self._several = several
        self._asked = 0

    @cached_property
    def _pieces(self) -> Sequence[str]:
        return sorted({piece for each in self._several for piece in chain(*each.needed)})

    def likely(self, text: str) -> frozenset[Sought]:
        """Those that may match the text; of the first texts, all."""
        if self._asked < ASKED_BEFORE:
            self._asked += 1
            return frozenset(self._several)
        found = set(filter(lowered(text).__contains__, self._pieces))
        return frozenset(
            each for each in self._several if not any(map(found.isdisjoint, each.needed))
        )


class Stems:
    """Parts of words in any case, as the alternatives of a pattern, none of them with a `|` of its
    own. The plain ones, which most are, are looked for without a pattern.
    """

    def __init__(self, pattern: str) -> None:
        self._source = pattern

    @cached_property
    def _plain(self) -> Sequence[str]:
        return sorted({lowered(each) for each in self._alternatives if _PLAIN.fullmatch(each)})

    @cached_property
    def _others(self) -> Sought:
        each = [each for each in self._alternatives if not _PLAIN.fullmatch(each)]
        return Sought("|".join(each) or "(?!)", re.IGNORECASE)

    @cached_property
    def _alternatives(self) -> Sequence[str]:
        return self._source.split("|")

    def are_in(self, text: str) -> bool:
        """Whether the text has one of them."""
        is_plain = any(map(lowered(text).__contains__, self._plain))
        return is_plain or self._others.search(text) is not None


def needed_by(pattern: str, flags: int = 0) -> Sequence[Pieces]:
    """Sets of pieces in lower case, the smallest first: each match has one of each set."""
    return _needed_by(_parsed(pattern, flags))


def _needed_by(items: Sequence[Any]) -> Sequence[Pieces]:
    found = dict.fromkeys(_of_sequence(items))
    return sorted(filter(_counts, map(_shortest, found)), key=len)


def forms_of(pattern: str, flags: int = 0) -> Sequence[Sequence[Pieces]]:
    """The sets of pieces of each alternative of a pattern: a match has one of each set of one."""
    return _forms_of(_parsed(pattern, flags))


def _forms_of(items: Sequence[Any]) -> Sequence[Sequence[Pieces]]:
    common, forms = list[Pieces](), list[list[Pieces]]()
    for kind, value in items:
        branches = _branches(str(kind), value)
        if branches and not forms:
            forms = [list(map(_shortest, _of_sequence(branch))) for branch in branches]
        else:
            common += map(_shortest, _of_item(str(kind), value))
    every = [list(filter(_counts, (*common, *form))) for form in forms or [[]]]
    return every if all(every) else [[]]


def _branches(name: str, value: Any) -> Sequence[Any]:
    """The alternatives of an item that is nothing else."""
    if name == "BRANCH":
        branches: Sequence[Any] = value[1]
        return branches
    inner = list(value[-1]) if name == "SUBPATTERN" else []
    return _branches(str(inner[0][0]), inner[0][1]) if len(inner) == 1 else ()


def is_of_beginning(pattern: str) -> bool:
    """Whether each match begins where the text begins."""
    if not pattern.startswith("^"):
        return False
    kind, value = next(iter(_parsed(pattern)), (None, None))
    return (str(kind), str(value)) == ("AT", "AT_BEGINNING")


def _parsed(pattern: str, flags: int = 0) -> Sequence[Any]:
    """The items of a pattern as `re` reads it: each has a kind and a value."""
    return list(import_module("re._parser").parse(pattern, flags))


def _counts(pieces: Pieces) -> bool:
    return min(map(_weight, pieces)) >= SHORTEST


def _weight(piece: str) -> int:
    """The letters of a piece; marks and letters beyond the English alphabet count for two."""
    is_common = piece.isascii() and (piece.isalnum() or (piece.isspace() and piece != "\n"))
    return len(piece) if is_common else len(piece) + 1


def _shortest(pieces: Pieces) -> Pieces:
    """The pieces without those that have another one within them."""
    return frozenset(
        piece for piece in pieces if not any(map(piece.__contains__, pieces - {piece}))
    )


def _rarity(pieces: Pieces) -> tuple[int, int]:
    return min(map(_weight, pieces)), -len(pieces)


def _of_sequence(items: Iterable[Any]) -> Iterator[Pieces]:
    """The pieces of each item of what stands one after the other."""
    run = ""
    for kind, value in items:
        name = str(kind)
        if name in _TRANSPARENT:
            continue
        if name == "LITERAL" and _has_one_lower_form(chr(value)):
            run += lowered(chr(value))
            continue
        if run:
            yield frozenset({run})
        run = ""
        yield from _of_item(name, value)
    if run:
        yield frozenset({run})


def _has_one_lower_form(letter: str) -> bool:
    """Whether a letter has one form in lower case, whatever its case is."""
    is_plain = letter < BEYOND_LATIN and letter != _MICRO
    return is_plain or letter.lower() == letter.upper()


def _of_item(name: str, value: Any) -> Iterator[Pieces]:
    if name == "SUBPATTERN":
        yield from _of_sequence(value[-1])
    elif name == "ATOMIC_GROUP":
        yield from _of_sequence(value)
    elif name == "IN" and all(str(kind) == "LITERAL" for kind, _ in value):
        letters = [chr(point) for _, point in value]
        yield from (
            [frozenset(map(lowered, letters))] if all(map(_has_one_lower_form, letters)) else ()
        )
    elif name in _REPEATS and value[0] > 0:
        yield from _of_sequence(value[2])
    elif name == "BRANCH":
        each = [max(_of_sequence(branch), key=_rarity, default=None) for branch in value[1]]
        if all(each):
            yield frozenset().union(*filter(None, each))
