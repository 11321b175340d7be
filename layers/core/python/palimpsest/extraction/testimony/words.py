"""The phrases that tell testimony from material, by language, read from the files beside this one
at first use.
"""

from __future__ import annotations

# ruff: noqa: RUF001 - marks of many scripts
import json
import re
from functools import cache
from pathlib import Path

SENTENCE_START = r"(?:^|(?<=[.!?\n\"'”’»)…*]))[ \t]*"


@cache
def _languages() -> tuple[dict[str, list[str]], ...]:
    files = sorted(Path(__file__).parent.glob("words.*.json"))
    return tuple(json.loads(file.read_text(encoding="utf-8")) for file in files)


@cache
def phrases(name: str) -> str:
    """A pattern for any phrase of this name in any language."""
    return "|".join(phrase for words in _languages() for phrase in words[name])


@cache
def anywhere(name: str) -> re.Pattern[str]:
    """The phrases of this name as whole words, wherever they are."""
    return re.compile(rf"(?<!\w)(?=[\w(])(?:{phrases(name)})(?!\w)", re.IGNORECASE)


@cache
def beginning(name: str) -> re.Pattern[str]:
    """The phrases of this name where a sentence begins with them."""
    led = r"(?:(?:and|but|oh|so|well|ok|und|aber|et|mais|y|pero)\b,? )?"
    return re.compile(
        rf"{SENTENCE_START}{led}(?:{phrases(name)})(?!\w)", re.IGNORECASE | re.MULTILINE
    )


@cache
def whole(name: str) -> re.Pattern[str]:
    """Exactly one of the phrases of this name."""
    return re.compile(rf"(?:{phrases(name)})", re.IGNORECASE)
