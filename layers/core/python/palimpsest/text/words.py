"""Words as texts are compared within the process: folded, without endings and without those that say nothing."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Sequence

from palimpsest.text.cutting import ELLIPSIS, shortened

MAX_CHARACTERS = 8_000  # of a text that are read
MAX_TERMS = 64  # of a question
MAX_EXCERPTED = 50_000  # characters among which an excerpt is chosen
NEAR = 100
K1, B = 1.2, 0.75  # BM25's

_CJK = (
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)
_RUN = re.compile(rf"([{_CJK}]+)|[^\W_{_CJK}]+")
_BREAK = re.compile(r"[\s\u3002\uff01\uff1f]+")
_ACCENTS = re.compile(r"[\u0300-\u036f]")
# How a question is put, not what it is about.
_FUNCTION_WORDS = """
    a about again after all also am an and any are as at be because been before but by can could d did do does doing
    each else ever exactly for from get give had has have he her hers him his how i if in into is it its just know ll m
    may me might mine more most much many my no nor not now of off on or our out own please re remember s say said she
    should so some such t tell than that the their them then there these they this those to too up us ve very want was
    we were what when where whether which while who whom whose why will with would you your yours
    ich mein meine du der die das den dem ein eine einen ist sind war hat haben und oder wer was wann wo wie warum
    welche welcher welches im am in an auf zu von mit fur ihr sein
    je mon ma mes tu le la les un une des du de est sont et ou qui que quoi quand comment pourquoi quel quelle quels
    quelles dans pour avec son sa ses elle il
    yo mi mis el los las una y o es son que quien cuando donde como por cual cuales en con para su sus ella
"""
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())
_ENDINGS = (("ies", "y", 2), ("sses", "ss", 1), *((ending, "", 3) for ending in ("ing", "ed", "es", "s", "e")))


def folded(text: str) -> str:
    """Case, width and accents made one."""
    return unicodedata.normalize("NFKC", _ACCENTS.sub("", unicodedata.normalize("NFKD", text.casefold())))


def words(text: str) -> list[str]:
    """The text's words, folded; a run of Chinese, Japanese or Korean writing is one."""
    return [run[0] for run in _RUN.finditer(folded(text[:MAX_CHARACTERS]))]


def terms(text: str) -> list[str]:
    """What of a text is compared: stems of words, pairs of the characters of scripts without blanks."""
    found: list[str] = []
    for run in _RUN.finditer(folded(text[:MAX_CHARACTERS])):
        found += _pairs(run[0]) if run[1] else (stem(run[0]),)
    return found


def content_terms(text: str) -> tuple[str, ...]:
    """The terms of a question, each once, without function words unless there is nothing else."""
    every = words(text)
    kept = [word for word in every if word not in FUNCTION_WORDS] or every
    return tuple(dict.fromkeys(term for word in kept for term in terms(word)))[:MAX_TERMS]


def stem(word: str) -> str:
    """The word without its English ending; words of other scripts stay as they are."""
    if not word.isascii() or word.endswith(("ss", "us", "is")):
        return word
    for ending, instead, least in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= least:
            short = word[: -len(ending)] + instead
            is_doubled = ending in ("ing", "ed") and short[-1] == short[-2] and short[-1] not in "lsz"
            return short[:-1] if is_doubled else short
    return word


def coverage(asked: Sequence[str], found: Collection[str]) -> float:
    """The share (0..1) of the question's terms that a text holds."""
    return sum(term in found for term in asked) / len(asked) if asked else 0.0


def scores(asked: Sequence[str], texts: Sequence[Sequence[str]]) -> list[float]:
    """BM25 of each text, given as its terms, among these texts alone."""
    counts = [Counter(text) for text in texts]
    rarity = {term: _rarity(sum(term in count for count in counts), len(texts)) for term in asked}
    average = sum(map(len, texts)) / len(texts) if texts else 1.0
    return [
        sum(
            rarity[term] * (K1 + 1) * count[term] / (count[term] + K1 * (1 - B + B * len(text) / (average or 1.0)))
            for term in asked
            if term in count
        )
        for text, count in zip(texts, counts, strict=True)
    ]


def _rarity(holding: int, texts: int) -> float:
    return math.log1p((texts - holding + 0.5) / (holding + 0.5))


def _pairs(run: str) -> tuple[str, ...]:
    return tuple(run[at : at + 2] for at in range(len(run) - 1)) or (run,)


def excerpt(text: str, asked: Sequence[str], *, limit: int) -> str:
    """At most `limit` characters of the text: the part in which most of the question's terms are."""
    if len(text) <= limit:
        return text
    starts = [_beginning(text, start) for start in range(0, min(len(text), MAX_EXCERPTED), max(1, limit // 2))]
    best = max(starts, key=lambda start: (coverage(asked, frozenset(terms(text[start : start + limit]))), -start))
    before = ELLIPSIS if best else ""
    return before + shortened(text[best:], limit=limit - len(before), count=len)[0]


def _beginning(text: str, start: int) -> int:
    """A place near `start` where a word begins; the text's own beginning where there is none."""
    found = _BREAK.search(text, start, start + NEAR) if start else None
    return found.end() if found else 0
