"""Divides texts into words and into the terms that a search compares. Keyword search, topics and
comparisons use them.

There are three kinds of writing, and none needs a dictionary (docs/adr/0005-search-analysis.md).
Words become Snowball's English stems, and in a text in German, French or Spanish the stems of that
language too. Texts in Chinese, Japanese and Korean become characters and
pairs of characters, because their words have no clear edges. For every other word, a search index
also holds parts, which are overlapping runs of letters. They find German compounds, Arabic prefixes
and the inflections of any language.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

from palimpsest.text.folding import WITH_ACCENTS, folded, folded_by
from palimpsest.text.language import ENGLISH, language_of
from palimpsest.text.word_files import entries, word_files

MAX_INDEXED = 32_768  # characters of a document or a query

MAX_COMPARED = 8_000  # characters of a text that is compared within the process

MAX_WORD = 64  # characters of one term

MAX_QUERY_WORDS = 64

MAX_QUERY_TERMS = 256  # with the parts below Lucene's limit of 1,024 clauses

MAX_QUERY_PARTS = 512

PART, SHORT_PART = 4, 3  # letters; scripts that leave out vowels or spaces have shorter stems

PART_WEIGHT = 0.5  # the weight of all parts of a word, beside the word itself

PARTS_NEEDED = 0.4  # share of a word's parts that a document needs

_CJK = (
    "\u1100-\u11ff\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)

_RUN = re.compile(rf"([{_CJK}]+)|[^\s{_CJK}]+")


@cache
def function_words() -> frozenset[str]:
    """Return the words of all languages that form a question but do not say what it is about."""
    return frozenset(entries("palimpsest.text", "function_words"))


@cache
def _english_function_words() -> frozenset[str]:
    """Return the English function words. A query without them finds fewer accidental matches."""
    return frozenset(word_files("palimpsest.text")["en"]["function_words"])


@dataclass(frozen=True, slots=True)
class DocumentTerms:
    """The terms of an indexed text, in the order of the text. A term that occurs several times is
    listed as often.
    """

    words: list[str]
    parts: list[str]


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """The terms of a query, each once.

    Each group of `parts` belongs to one word. A document must hold `needed(group)` parts of a
    group. Otherwise none of the group's parts count.
    """

    words: list[str]
    parts: list[list[str]]


@dataclass(frozen=True, slots=True)
class TermGroup:
    """Terms of a query that count only in documents that have at least `needed` of them. Each such
    term then adds `share` of its weight.
    """

    terms: list[str]
    is_word: bool
    needed: int
    share: float


@dataclass(frozen=True, slots=True)
class _Word:
    """A run of letters, marks and digits. `is_cjk` says whether it is of Chinese, Japanese or
    Korean writing.
    """

    text: str
    is_cjk: bool


def words(text: str) -> list[str]:
    """Return the folded words of the text's first `MAX_COMPARED` characters. A run of Chinese,
    Japanese or Korean writing is one word.
    """
    folded_text = folded(text[:MAX_COMPARED])
    return (
        folded_text.split()
        if folded_text.isascii()
        else [word.text for word in _split(folded_text)]
    )


def accented_words(text: str) -> list[str]:
    """Return the words of the whole text, found as `words` finds them, but with their accents and
    points.
    """
    return [word.text for word in _split(folded_by(WITH_ACCENTS, text))]


def topic_key(text: str) -> str | None:
    """Return the key under which a topic is stored: its words in lower case, joined by `_`, at most
    80 characters.
    Return None if the text has no words.
    """
    return "_".join(words(text)).casefold()[:80].strip("_") or None


def terms(text: str) -> list[str]:
    """Return the terms by which two texts are compared: the stems of words, and the pairs of
    characters of scripts without spaces.
    """
    return _compared(_split(folded(text[:MAX_COMPARED])))


def term_set(text: str) -> frozenset[str]:
    """Return the `terms` of the text, each once. The results for the last texts are cached, because
    a recall compares each text several times.
    """
    return _term_set(text[:MAX_COMPARED])


@lru_cache(maxsize=256)
def _term_set(text: str) -> frozenset[str]:
    return frozenset(terms(text))


def content_terms(text: str) -> tuple[str, ...]:
    """Return the terms of a question, each once. Function words are left out unless the question
    has no other words.
    """
    every = list(_split(folded(text[:MAX_COMPARED])))
    language = _language(every)
    kept = _without(_function_words_of(language), every)
    return tuple(dict.fromkeys(_compared(kept, language)))[:MAX_QUERY_WORDS]


Stems = tuple[str, ...]
"""The stems of one word: the English one, and that of the text's language if it differs."""


def content_words(text: str) -> tuple[Stems, ...]:
    """Return the stems of each word of a question, without stop words. If there are no other words,
    return these. A pair of characters counts as a word.
    """
    every, language = _analysed(text)
    kept = _without(_stop_words_of(language), every)
    return tuple(dict.fromkeys(_compared_by_word(kept, language)))[:MAX_QUERY_WORDS]


def own_words(text: str, *, besides: Collection[str] = ()) -> tuple[Stems, ...]:
    """Return the stems of each word of a text, without stop words and without the folded words in
    `besides`. The result may be empty.
    """
    every, language = _analysed(text)
    left_out = _stop_words_of(language)
    kept = [word for word in every if word.text not in left_out and word.text not in besides]
    return tuple(dict.fromkeys(_compared_by_word(kept, language)))


def _analysed(text: str) -> tuple[list[_Word], str]:
    """Return the words of the beginning of a text, and its language."""
    every = list(_split(folded(text[:MAX_COMPARED])))
    return every, _language(every)


def _compared_by_word(every: Iterable[_Word], language: str) -> Iterator[Stems]:
    kept = list(every)
    stems_of = _stems_of(kept, language)
    for word in kept:
        if word.is_cjk:
            yield from ((pair,) for pair in _pairs(word.text))
        else:
            yield stems_of[word.text]


def document_terms(text: str) -> DocumentTerms:
    """Return the terms under which a search index holds a text."""
    kept = list(_split(folded(text[:MAX_INDEXED])))
    stems_of = _stems_of(kept, _language(kept))
    indexed: list[str] = []
    parts: list[str] = []
    for word in kept:
        indexed += _characters_and_pairs(word.text) if word.is_cjk else stems_of[word.text]
        parts += () if word.is_cjk else _parts(word.text)
    return DocumentTerms(indexed, parts)


def query_terms(text: str) -> QueryTerms:
    """Return the terms with which a query searches an index. They match the terms that
    `document_terms` makes of the same words.

    Function words of languages other than English are included, because they favour texts in the
    question's language.
    """
    every = list(_split(folded(text[:MAX_INDEXED])))
    kept = _without(_english_function_words(), every)[:MAX_QUERY_WORDS]
    stems_of = _stems_of(kept, _language(every))
    searched: dict[str, None] = {}
    parts: list[list[str]] = []
    room = MAX_QUERY_PARTS
    for word in kept:
        searched |= dict.fromkeys(
            _characters_and_pairs(word.text) if word.is_cjk else stems_of[word.text]
        )
        group = [] if word.is_cjk else list(dict.fromkeys(_parts(word.text)))
        if 0 < len(group) <= room:
            room -= len(group)
            parts.append(group)
    return QueryTerms(list(searched)[:MAX_QUERY_TERMS], parts)


def asked(query: QueryTerms) -> Iterator[TermGroup]:
    """Yield each word of the query, then the parts of each word."""
    yield from (TermGroup([word], is_word=True, needed=1, share=1.0) for word in query.words)
    for group in query.parts:
        yield TermGroup(group, is_word=False, needed=needed(group), share=PART_WEIGHT / len(group))


def stems(every: Iterable[str]) -> list[str]:
    """Return Snowball's English stem of each folded word. Words that are not ASCII are returned
    unchanged.
    """
    return [stem for _, stem in _stemmed(every)]


def needed(group: list[str]) -> int:
    """Return how many parts of a word a document must hold so that they count."""
    return -int(-len(group) * PARTS_NEEDED // 1)


def _language(text_words: Iterable[_Word]) -> str:
    return language_of([word.text for word in text_words if not word.is_cjk])


@cache
def _function_words_of(language: str) -> frozenset[str]:
    """Return the function words of the language, and the English ones, which are found in texts of
    any language.
    """
    own = word_files("palimpsest.text")[language].get("function_words", ())
    return _english_function_words().union(own)


@cache
def _stop_words_of(language: str) -> frozenset[str]:
    """Return the function words of the language and its other stop words."""
    more = word_files("palimpsest.text")[language].get("stop_words", ())
    return _function_words_of(language).union(more)


def _stems_of(text_words: Iterable[_Word], language: str) -> dict[str, tuple[str, ...]]:
    """Return the stems of each word: the English one, and that of the text's language if it
    differs. With the English stems, an English question also finds the names in a German text.
    """
    every = [word.text for word in text_words if not word.is_cjk]
    stems_of: dict[str, tuple[str, ...]] = {word: (stem,) for word, stem in _stemmed(every)}
    if language != ENGLISH:
        for word, stem in _stemmed(every, language):
            stems_of[word] = tuple(dict.fromkeys((*stems_of[word], stem)))
    return stems_of


def _stemmed(every: Iterable[str], language: str = ENGLISH) -> Iterator[tuple[str, str]]:
    from Stemmer import Stemmer  # not at import: a first request without words does not wait for it

    stemmer = Stemmer(language, 0)  # one for each call, because threads may not share it
    for word in every:
        term = word[:MAX_WORD]
        yield word, str(stemmer.stemWord(term)) if term.isascii() else term


def _split(text: str) -> Iterator[_Word]:
    for run in _RUN.finditer(text):
        yield _Word(run[0], is_cjk=run[1] is not None)


def _without(left_out: Collection[str], every: Iterable[_Word]) -> list[_Word]:
    """Return each word once, without the words in `left_out`. If no other words are left, return
    all.
    """
    kept = list(dict.fromkeys(every))
    return [word for word in kept if word.text not in left_out] or kept


def _compared(every: Iterable[_Word], language: str | None = None) -> list[str]:
    kept = list(every)
    stems_of = _stems_of(kept, language or _language(kept))
    compared: list[str] = []
    for word in kept:
        compared += _pairs(word.text) if word.is_cjk else stems_of[word.text]
    return compared


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run]


def _characters_and_pairs(run: str) -> Iterator[str]:
    for place, character in enumerate(run):
        yield character
        if place + 1 < len(run):
            yield run[place : place + 2]


def _parts(word: str) -> list[str]:
    # Scripts before Hebrew (Latin, Greek, Cyrillic, Armenian) write vowels, so parts are longer.
    size = PART if word < "\u0590" else SHORT_PART
    most = min(len(word), MAX_WORD)
    return [] if word[:most].isdigit() else [word[at : at + size] for at in range(most - size + 1)]
