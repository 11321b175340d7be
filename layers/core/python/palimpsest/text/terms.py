"""Words as the search indexes see them: texts become terms here, so that every engine matches and ranks alike.

Three kinds of writing, each in the way that finds it again without a dictionary (docs/adr/0005-search-analysis.md):
English by Snowball's stems; Chinese, Japanese and Korean, where words have no edges, by characters and pairs of them;
and every other word also by its parts, overlapping runs of letters, which carry German compounds, Arabic prefixes and
inflections of any language.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

MAX_CHARACTERS = 32_768  # of a document or a query that are read
MAX_WORD = 64  # characters of one term
MAX_QUERY_WORDS = 64
MAX_QUERY_TERMS = 256  # with the parts below Lucene's limit of 1,024 clauses
MAX_QUERY_PARTS = 512
PART, SHORT_PART = 4, 3  # letters; scripts that leave out vowels or spaces have shorter stems
PART_WEIGHT = 0.5  # what all parts of a word count beside the word itself
PARTS_NEEDED = 0.4  # of a word's parts, before they count at all

_CJK = (
    "\u1100-\u11ff\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f"
    "\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)
_RUN = re.compile(rf"([{_CJK}]+)|[^\s{_CJK}]+")
# Words that say how a question is put, not what it is about: a query without them finds less by accident.
_FUNCTION_WORDS = """
a about after all also am an and any are as at be because been before being but by can could d did do does doing down
for from had has have having he her hers him his how i if in into is it its just ll m may me might mine more most my no
nor not now of off on or our ours out over own please re s shall she should so some such t tell than that the their
theirs them then there these they this those to too up us ve very was we were what when where which while who whom
whose why will with would you your yours
"""
_LEFT_OUT = frozenset(_FUNCTION_WORDS.split())


@dataclass(frozen=True, slots=True)
class DocumentTerms:
    """In the order of the text, each as often as it stands there."""

    words: list[str]
    parts: list[str]


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """Each once. Of a group of `parts`, those of one word, `needed(group)` must be in a document for any to count."""

    words: list[str]
    parts: list[list[str]]


def document_terms(text: str) -> DocumentTerms:
    words: list[str] = []
    parts: list[str] = []
    stems = _Stems()
    for word, is_cjk in _words(text):
        words += _characters_and_pairs(word) if is_cjk else (stems.of(word),)
        parts += () if is_cjk else _parts(word)
    return DocumentTerms(words, parts)


def query_terms(text: str) -> QueryTerms:
    found = list(dict.fromkeys(_words(text)))
    kept = [each for each in found if each[0] not in _LEFT_OUT] or found
    stems = _Stems()
    words: dict[str, None] = {}
    parts: list[list[str]] = []
    room = MAX_QUERY_PARTS
    for word, is_cjk in kept[:MAX_QUERY_WORDS]:
        words |= dict.fromkeys(_characters_and_pairs(word) if is_cjk else (stems.of(word),))
        group = [] if is_cjk else list(dict.fromkeys(_parts(word)))
        if 0 < len(group) <= room:
            room -= len(group)
            parts.append(group)
    return QueryTerms(list(words)[:MAX_QUERY_TERMS], parts)


def needed(group: list[str]) -> int:
    return -int(-len(group) * PARTS_NEEDED // 1)


def _words(text: str) -> Iterator[tuple[str, bool]]:
    """Runs of letters, marks and digits in one form, and whether each is Chinese, Japanese or Korean writing."""
    decomposed = unicodedata.normalize("NFKD", text[:MAX_CHARACTERS].casefold())
    for run in _RUN.finditer(unicodedata.normalize("NFC", decomposed.translate(_FOLDED))):
        yield run[0][:MAX_WORD] if run[1] is None else run[0], run[1] is not None


def _characters_and_pairs(run: str) -> Iterator[str]:
    for place, character in enumerate(run):
        yield character
        if place + 1 < len(run):
            yield run[place : place + 2]


def _parts(word: str) -> list[str]:
    size = PART if word < "\u0590" else SHORT_PART  # Latin, Greek, Cyrillic, Armenian stand before Hebrew
    return [] if word.isdigit() else [word[at : at + size] for at in range(len(word) - size + 1)]


class _Stems:
    """Snowball's English stemmer; an object of its own in each call, since it is not safe between threads."""

    def __init__(self) -> None:
        from Stemmer import Stemmer

        self._stemmer = Stemmer("english", 0)

    def of(self, word: str) -> str:
        return str(self._stemmer.stemWord(word)) if word.isascii() else word


class _Folded(dict[int, int | str | None]):
    """What becomes of a character: letters, digits and marks stay, accents and points go, anything else is a space."""

    def __missing__(self, point: int) -> int | str | None:
        character = chr(point)
        kept: int | str | None = " "
        if unicodedata.combining(character) in _ACCENTS:
            kept = None
        elif character.isalnum() or unicodedata.category(character)[0] == "M":
            kept = point
        self[point] = kept
        return kept


_ACCENTS = frozenset((*range(10, 37), *range(200, 241)))  # combining classes: Hebrew and Arabic points, accents
_FOLDED = _Folded({
    0xAD: None, 0x200D: None, 0x640: None,  # soft hyphen, joiner, tatweel
    0x629: None, 0x649: 0x64A,  # Arabic: ta marbuta, which endings replace; alef maqsura as ya
})  # fmt: skip
