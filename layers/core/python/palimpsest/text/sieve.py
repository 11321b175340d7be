"""Tells which of many patterns may match a text, by words that every match of a pattern must have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from re import _constants as ops
from re import _parser as parser
from typing import Any

Signs = frozenset[str]
Gram = tuple[str, str, str]
GRAM = 3  # letters by which the words are looked up
MOST_TEXTS = 16  # that one part of a pattern may stand for before it counts as any text
_ALIKE = {ord("ı"): "i", ord("İ"): "i", ord("ſ"): "s"}  # noqa: RUF001 - other letters that ignoring case takes for these
_COMMON = " etaoinshrdlcumwfgypbvkjxqz"  # the commonest first
_REPEATS = (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT)
_WIDTHLESS = (ops.AT, ops.ASSERT, ops.ASSERT_NOT)


class Sieve:
    """Patterns by number. Those without words of three letters, or of one beyond ASCII, are tried on every text."""

    def __init__(self, patterns: Sequence[str], flags: int = 0) -> None:
        self._always: set[int] = set()
        self._by_word: dict[str, set[int]] = defaultdict(set)
        for number, pattern in enumerate(patterns):
            words = signs(pattern, flags)
            if not words or any(word.isascii() and len(word) < GRAM for word in words):
                self._always.add(number)
            else:
                for word in words:
                    self._by_word[word].add(number)
        self._beyond_ascii = [word for word in self._by_word if not word.isascii()]
        self._by_gram: dict[Gram, list[str]] = defaultdict(list)
        for word in self._by_word.keys() - set(self._beyond_ascii):
            self._by_gram[max(_grams_of(word), key=_rarity)].append(word)
        self._grams = frozenset(self._by_gram)

    def candidates(self, text: str) -> list[int]:
        """The numbers of the patterns that may match the text, in order; no other one does."""
        lower = _lowered(text)
        found = set(self._always)
        for gram in self._grams & _grams(lower):
            for word in self._by_gram[gram]:
                if word in lower:
                    found |= self._by_word[word]
        for word in () if lower.isascii() else self._beyond_ascii:
            if word in lower:
                found |= self._by_word[word]
        return sorted(found)


def signs(pattern: str, flags: int = 0) -> Signs:
    """Words in lower case of which every match has one; none if no such words are known."""
    return _of_sequence(parser.parse(pattern, flags))


@lru_cache(maxsize=8)  # several sieves look at a sentence one after the other
def _grams(lower: str) -> frozenset[Gram]:
    return frozenset(_grams_of(lower))


def _grams_of(text: str) -> Iterable[Gram]:
    """All runs of three letters."""
    return zip(text, text[1:], text[2:], strict=False)


def _rarity(gram: Gram) -> int:
    return sum(_COMMON.find(letter) % len(_COMMON) for letter in gram)


def _lowered(text: str) -> str:
    return (text if text.isascii() else text.translate(_ALIKE)).lower()


def _of_sequence(sequence: Iterable[tuple[Any, Any]]) -> Signs:
    """The best of what must stand there: texts that stand in one piece, and what each other part must have."""
    found: list[Signs] = []
    texts = _NOTHING
    for op, value in sequence:
        here = _texts(op, value)
        if here and len(texts) * len(here) <= MOST_TEXTS:
            texts = _in_turn(texts, here)
            continue
        found += (texts, here or _of_part(op, value))
        texts = here or _NOTHING
    return max((*found, texts), key=lambda words: (min(map(_length, words), default=0), -len(words)))


_NOTHING = frozenset({""})


def _in_turn(first: Signs, then: Signs) -> Signs:
    return frozenset(one + other for one in first for other in then)


def _texts(op: Any, value: Any) -> Signs:
    """The few texts of which the part matches one and nothing else; none if there are others."""
    if op in _WIDTHLESS:
        return _NOTHING
    if op is ops.LITERAL:
        return frozenset({_lowered(chr(value))})
    if op is ops.IN and all(kind is ops.LITERAL for kind, _ in value):
        return frozenset(_lowered(chr(letter)) for _, letter in value)
    if op is ops.SUBPATTERN:
        return _texts_of(value[3])
    if op is ops.BRANCH:
        branches = [_texts_of(branch) for branch in value[1]]
        texts = frozenset[str]().union(*branches)
        return texts if all(branches) and len(texts) <= MOST_TEXTS else frozenset()
    return frozenset()


def _texts_of(sequence: Iterable[tuple[Any, Any]]) -> Signs:
    texts = _NOTHING
    for part in sequence:
        texts = _in_turn(texts, _texts(*part))
        if not 0 < len(texts) <= MOST_TEXTS:
            return frozenset()
    return texts


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
    if op in _REPEATS and value[0] > 0:
        return _of_sequence(value[2])
    return frozenset()
