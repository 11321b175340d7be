"""Separates sentences that mean something by themselves from sentences that need their
conversation.
"""

from __future__ import annotations

# ruff: noqa: RUF001 - marks of many languages
import re
from functools import cache, lru_cache

from palimpsest.memory.meaning.reading import PACKAGE, candidates
from palimpsest.text.analyser import content_terms
from palimpsest.text.word_files import word_files

LONG = 13  # words; a longer sentence names its subject
SHORT = 12
LEAST_NAMED = 2  # words with content in what "it" may mean
_OWN_CLAUSE = re.compile(
    r"\W*(?:i(?:['’](?:m|ve|d))?|we(?:['’](?:re|ve))?|my|our|ich|wir|mein\w*"
    r"|je|j['’]|nous|mon|ma|yo|mi)"
    r"(?!\w)(?P<said>[^,;]{6,}?)"
    r"(?:[,;]| (?:and|but|because|so|und|aber|weil|et|mais|car|y|pero)\b)",
    re.IGNORECASE,
)
_MARKER = re.compile(r"^\W*(?:\d{1,2}[.)] )?")


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    found = [file["leaning"] for file in word_files(PACKAGE).values() if "leaning" in file]
    return tuple(
        re.compile(pattern, re.IGNORECASE) for leaning in found for pattern in leaning["patterns"]
    )


@cache
def _orders() -> re.Pattern[str]:
    verbs = [
        verb
        for file in word_files(PACKAGE).values()
        for verb in file.get("leaning", {}).get("orders", ())
    ]
    return re.compile(
        rf"^\W*(?:(?:ok(?:ay)?|please|just|then|now|and|so|well|fine|great|bitte|dann|und|jetzt|"
        rf"s'il te plaît|alors|et|por favor|y|entonces|pues)\b[,:]? *)*"
        rf"(?:{'|'.join(verbs)})(?![\w'])",
        re.IGNORECASE,
    )


@lru_cache(maxsize=64)
def leans(text: str) -> bool:
    """Whether the sentence refers to something that only its conversation names: "the second one",
    "that's our rule".
    """
    plain = _MARKER.sub("", text.replace("’", "'")).strip()
    if plain.count(" ") + 1 >= LONG:
        return False
    ending = plain.rstrip(" .!")
    found = (_patterns()[number].search(ending) for number in candidates("leaning", text))
    return any(match and not _is_anchored(ending[: match.start()]) for match in found)


def _is_anchored(before: str) -> bool:
    """Whether the words before "it" in its sentence state something of the speaker that "it" may
    mean: "I own a house in Nevada and I love it".
    """
    own = _OWN_CLAUSE.match(before)
    return own is not None and len(content_terms(own["said"])) >= LEAST_NAMED


@lru_cache(maxsize=64)
def is_order(text: str) -> bool:
    """Whether the sentence tells the assistant to do something with the text or topic at hand."""
    plain = _MARKER.sub("", text.replace("’", "'")).strip()
    return bool(_orders().match(plain)) and plain.count(" ") < SHORT
