"""Tells which of many patterns may match a text, by words that every match of a pattern must have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from re import _constants as ops
from re import _parser as parser
from typing import Any

Signs = frozenset[str]
GRAM = 3  # letters by which the words are looked up
_ALIKE = {ord("ı"): "i", ord("İ"): "i", ord("ſ"): "s"}  # noqa: RUF001 - other letters that ignoring case takes for these
_REPEATS = (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT)


class Sieve:
    """Patterns by number. Those without words of three letters, or of one beyond ASCII, are tried on every text."""

    def __init__(self, patterns: Sequence[str], flags: int = 0) -> None:
        self._always: set[int] = set()
        self._by_gram: dict[str, list[tuple[str, int]]] = defaultdict(list)
        self._beyond_ascii: list[tuple[str, int]] = []
        for number, pattern in enumerate(patterns):
            self._add(number, signs(pattern, flags))

    def _add(self, number: int, words: Signs) -> None:
        if not words or any(word.isascii() and len(word) < GRAM for word in words):
            self._always.add(number)
            return
        for word in words:
            if word.isascii():
                self._by_gram[word[:GRAM]].append((word, number))
            else:
                self._beyond_ascii.append((word, number))

    def candidates(self, text: str) -> list[int]:
        """The numbers of the patterns that may match the text, in order; no other one does."""
        lower, grams = _grams(text)
        near = [self._by_gram[gram] for gram in grams & self._by_gram.keys()]
        if not lower.isascii():
            near.append(self._beyond_ascii)
        return sorted(self._always.union(number for words in near for word, number in words if word in lower))


def signs(pattern: str, flags: int = 0) -> Signs:
    """Words in lower case of which every match has one; none if no such words are known."""
    return _of_sequence(parser.parse(pattern, flags))


@lru_cache(maxsize=8)  # several sieves look at a sentence one after the other
def _grams(text: str) -> tuple[str, frozenset[str]]:
    """The text in lower case, and all its runs of three letters."""
    lower = _lowered(text)
    return lower, frozenset(lower[at : at + GRAM] for at in range(len(lower) - GRAM + 1))


def _lowered(text: str) -> str:
    return (text if text.isascii() else text.translate(_ALIKE)).lower()


def _of_sequence(sequence: Iterable[tuple[Any, Any]]) -> Signs:
    """The best of what must stand there: runs of letters, and what each group must have."""
    found: list[Signs] = []
    run = ""
    for op, value in (*sequence, (None, None)):
        if op is ops.LITERAL:
            run += chr(value)
            continue
        if run:
            found.append(frozenset({_lowered(run)}))
            run = ""
        found.append(_of_part(op, value))
    return max(found, key=lambda words: (min(map(_length, words), default=0), -len(words)))


def _length(word: str) -> int:
    return len(word) if word.isascii() else GRAM * len(word)


def _of_part(op: Any, value: Any) -> Signs:
    if op is ops.BRANCH:
        branches = [_of_sequence(branch) for branch in value[1]]
        return frozenset().union(*branches) if all(branches) else frozenset()
    if op is ops.SUBPATTERN:
        return _of_sequence(value[3])
    if op is ops.ATOMIC_GROUP:
        return _of_sequence(value)
    if op is ops.IN and all(kind is ops.LITERAL for kind, _ in value):
        return frozenset(_lowered(chr(letter)) for _, letter in value)
    if op in _REPEATS and value[0] > 0:
        return _of_sequence(value[2])
    return frozenset()
