"""Separates sentences that mean something by themselves from sentences that need their
conversation.
"""

from __future__ import annotations

# ruff: noqa: RUF001 - marks of many languages
import re
from functools import cache, lru_cache

from palimpsest.memory.meaning.reading import PACKAGE, candidates
from palimpsest.text.word_files import word_files

LONG = 13  # words; a longer sentence names its subject
SHORT = 12
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
    return any(_patterns()[number].search(ending) for number in candidates("leaning", text))


@lru_cache(maxsize=64)
def is_order(text: str) -> bool:
    """Whether the sentence tells the assistant to do something with the text or topic at hand."""
    plain = _MARKER.sub("", text.replace("’", "'")).strip()
    return bool(_orders().match(plain)) and plain.count(" ") < SHORT
