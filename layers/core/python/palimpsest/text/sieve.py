"""Tells which of many patterns may match a text, by words that every match of a pattern must
have.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from re import _constants as ops
from re import _parser as parser
from threading import RLock
from typing import Any

from palimpsest.text.folding import folded

Signs = frozenset[str]
Part = tuple[Any, Any]
BOUNDARY = "\b"
GRAM = 3  # letters by which the words are looked up
MOST_TEXTS = 16  # that one part of a pattern may stand for before it counts as any text
MOST_BITS = 4_096  # combinations of patterns, remembered
# in lower case it is two characters, of which one is no letter: such a text passes every sieve
_TWO = "İ"
MOST_WORDS = 16_384  # remembered
_ALIKE = {ord("ı"): "i", ord("ſ"): "s", ord(_TWO): "i"}  # noqa: RUF001 - other letters that ignoring case takes for these
_COMMON = "etaoinshrdlcumwfgypbvkjxqz"  # the commonest first
_REPEATS = (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT)
_LOOKS = (ops.ASSERT, ops.ASSERT_NOT)
_WIDTHLESS = (ops.AT, *_LOOKS)
_BOUNDARY = (ops.AT, ops.AT_BOUNDARY)
_NOTHING, _EDGE = frozenset({""}), frozenset({BOUNDARY})
_NO_SIGNS = frozenset[str]()
_ALL = -1  # every bit of the number is set
_LETTERS = re.compile(r"[^\W_]+")


class _Lexicon:
    """The patterns of all sieves by their signs, each as one bit of a number, and the signs by
    words. What was found for the last words is remembered, because words come back.
    """

    def __init__(self) -> None:
        self._found: dict[str, Signs] = {}
        self._silent: set[str] = (
            set()
        )  # most words: none of a text's words is looked at one by one that is in here
        self._by_word: dict[str, set[str]] = defaultdict(set)
        self._by_gram: dict[str, set[tuple[str, str]]] = defaultdict(set)
        self._patterns: dict[str, int] = defaultdict(int)
        self.size = 0
        self.lock = RLock()  # while a sieve is added no word is looked up

    def add(self, sign: str, pattern: int) -> None:
        """Store a sign under its longest run of letters: a whole word, or a part of one where it
        has an open end.
        """
        run, text = _longest(sign), sign.replace(BOUNDARY, "")
        self._patterns[text] |= 1 << pattern
        if run and _is_whole(run):
            self._by_word[run[0]].add(text)
        elif run:
            self._by_gram[max(_grams(run[0]), key=_rarity)].add((run[0], text))
        self._found, self._silent = {}, set()

    def patterns(self, lower: str) -> int:
        """The patterns of which a sign stands in the text."""
        found = 0
        known, patterns = self._found, self._patterns
        for word in word_set(lower) - self._silent:
            for sign in known.get(word) or self._signs(word):
                if sign in lower:
                    found |= patterns[sign]
        return found

    def _signs(self, word: str) -> Signs:
        if (known := self._found.get(word)) is not None:
            return known
        with self.lock:
            if len(self._found) + len(self._silent) >= MOST_WORDS:
                self._found, self._silent = {}, set()
            grams = self._by_gram.keys() & _grams(word)
            whole = self._by_word.get(word, ())
            if not (grams or whole):
                self._silent.add(word)
                return _NO_SIGNS
            parts = (each for gram in grams for each in self._by_gram[gram])
            found = frozenset((*whole, *(text for part, text in parts if part in word)))
            if found:
                self._found[word] = found
            else:
                self._silent.add(word)
        return found


_LEXICON = _Lexicon()


class Sieve:
    """Patterns by number, taken apart when they are first asked about. Those without words of which
    a match must have one are tried on every text.

    A text's words are looked up once for all sieves.
    """

    def __init__(self, patterns: Sequence[str], flags: int = 0) -> None:
        self._patterns, self._flags = patterns, flags
        self._place: tuple[int, int, int] | None = None

    def candidates(self, text: str) -> Sequence[int]:
        """The numbers of the patterns that may match the text, in order; no other one does."""
        first, all_, always = self._place or self._placed()
        found = _standing(text, _LEXICON.size) & all_ | always
        return _bits(found >> first) if found else ()

    def _placed(self) -> tuple[int, int, int]:
        """The place of the first pattern's bit, the bits of all, and of those that are always
        tried.
        """
        with _LEXICON.lock:
            first, always = _LEXICON.size, 0
            for number, pattern in enumerate(self._patterns):
                found = signs(pattern, self._flags)
                if not all(map(_is_looked_up, found or _NOTHING)):
                    always |= 1 << first + number
                    continue
                for sign in found:
                    _LEXICON.add(sign, first + number)
            _LEXICON.size += len(self._patterns)
            self._place = first, (1 << _LEXICON.size) - (1 << first), always
        return self._place


@lru_cache(maxsize=MOST_BITS)  # most texts have one of few combinations
def _bits(number: int) -> Sequence[int]:
    """Which bits of the number are set, in order."""
    return tuple(place for place in range(number.bit_length()) if number >> place & 1)


@lru_cache(maxsize=8)  # several sieves look at a sentence one after the other
def _standing(text: str, size: int) -> int:
    del size  # of the lexicon: what was found before it grew is looked for again
    return _ALL if _TWO in text else _LEXICON.patterns(lowered(text))


@lru_cache(maxsize=8)  # several readers look at a sentence one after the other
def word_set(lower: str) -> frozenset[str]:
    """The runs of letters and digits of a text in lower case."""
    return frozenset(folded(lower).split() if lower.isascii() else _LETTERS.findall(lower))


@lru_cache(maxsize=8)
def lowered(text: str) -> str:
    """The text in lower case, each letter in its place, with one letter for those that ignoring
    case takes for the same.
    """
    return (text if text.isascii() else text.translate(_ALIKE)).lower()


def signs(pattern: str, flags: int = 0) -> Signs:
    """Words in lower case of which every match has one, with `BOUNDARY` where a word must begin or
    end; none if no such words are known.
    """
    return _of_sequence(parser.parse(pattern, flags))


def _is_looked_up(sign: str) -> bool:
    run = _longest(sign)
    return run is not None and (_is_whole(run) or len(run[0]) >= GRAM or not run[0].isascii())


def _longest(sign: str) -> re.Match[str] | None:
    """Its longest run of letters: it stands within a word of each text that has the sign."""
    return max(_LETTERS.finditer(sign), key=lambda run: len(run[0]), default=None)


def _is_whole(run: re.Match[str]) -> bool:
    """Whether it is a word itself: something else stands on both sides of it."""
    return run.start() > 0 and run.end() < len(run.string)


def _grams(word: str) -> frozenset[str]:
    """The word's runs of three letters; of one and two as well where they say as much."""
    runs = frozenset([word[at : at + GRAM] for at in range(len(word) - GRAM + 1)])
    return runs if word.isascii() else runs.union(map("".join, pairwise(word)), word)


def _rarity(gram: str) -> tuple[int, int]:
    return len(gram), sum(_COMMON.find(letter) % len(_COMMON) for letter in gram)


def _of_sequence(
    sequence: Sequence[Part], *, before: Signs = _NOTHING, after: Signs = _NOTHING
) -> Signs:
    """The best of what must stand there: texts that stand in one piece, and what each other part
    must have. `before` and `after` say whether a word must begin or end there.
    """
    found: list[Signs] = []
    texts = before
    for place, part in enumerate(sequence):
        here = _texts(*part)
        if here and len(texts) * len(here) <= MOST_TEXTS:
            texts = _in_turn(texts, here)
            continue
        edge = _EDGE if all(text.endswith(BOUNDARY) for text in texts) else _NOTHING
        found.append(texts)
        if not here:
            found.append(_of_part(*part, before=edge, after=_behind(sequence[place + 1 :], after)))
        texts = _in_turn(edge, here) if here else _NOTHING
    found.append(_in_turn(texts, after))
    return max(found, key=lambda words: (min(map(_length, words), default=0), -len(words)))


def _behind(sequence: Iterable[Part], after: Signs) -> Signs:
    """Whether a word must end before the sequence: the first part that is no lookaround tells."""
    return next(
        (_EDGE if part == _BOUNDARY else _NOTHING for part in sequence if part[0] not in _LOOKS),
        after,
    )


def _in_turn(first: Signs, then: Signs) -> Signs:
    return frozenset(one + other for one in first for other in then)


def _texts(op: Any, value: Any) -> Signs:
    """The few texts of which the part matches one and nothing else; none if there are others."""
    if op in _WIDTHLESS:
        return _EDGE if (op, value) == _BOUNDARY else _NOTHING
    if op is ops.LITERAL:
        return frozenset({lowered(chr(value))})
    if op is ops.IN and all(kind is ops.LITERAL for kind, _ in value):
        return frozenset(lowered(chr(letter)) for _, letter in value)
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
    return (1 if word.isascii() else GRAM) * sum(map(str.isalnum, word))


def _of_part(op: Any, value: Any, *, before: Signs = _NOTHING, after: Signs = _NOTHING) -> Signs:
    if op is ops.BRANCH:
        branches = [_of_sequence(branch, before=before, after=after) for branch in value[1]]
        return frozenset().union(*branches) if all(branches) else frozenset()
    if op is ops.SUBPATTERN:
        return _of_sequence(value[3], before=before, after=after)
    if op is ops.ATOMIC_GROUP:
        return _of_sequence(value)
    if op in _REPEATS and value[0] > 0:
        return _of_sequence(value[2])
    return frozenset()
