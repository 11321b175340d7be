"""Makes patterns and triggers from the words in `words/`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from palimpsest.text.word_files import entries, word_files

PACKAGE: Final = "palimpsest.text"
_LETTERS = re.compile(r"[^\W_]+\*?")


def either(
    words: Sequence[str], attached: Sequence[str] = (), *, flags: int = 0, opening: str = ""
) -> re.Pattern[str]:
    """Return a pattern for whole words, or for `attached` letters of scripts that join words or
    write no spaces. `opening` matches what may come before them.

    Lookaheads let the pattern fail fast at most positions. Without flags, the pattern is for texts
    in lower case, which takes a third of the time of a pattern that ignores case.
    """
    patterns = []
    if words:
        patterns.append(rf"\b(?=\w)(?:{'|'.join(words)})\b")
    if attached:
        patterns.append(rf"(?![\x00-\x7f])(?:{'|'.join(attached)})")
    return re.compile(f"{opening}(?:{'|'.join(patterns)})", flags)


def patterns_by_writing(field: str) -> tuple[Sequence[str], Sequence[str]]:
    """Return the patterns of all languages in a field. The first sequence is for scripts with
    spaces between words, the second one for all other scripts.
    """
    by_writing: dict[bool, list[str]] = {False: [], True: []}
    for file in word_files(PACKAGE).values():
        patterns = map(pattern_of, file.get(field, ()))
        by_writing[file.get("joins_words", False)] += patterns
    return by_writing[False], by_writing[True]


def triggers_of(field: str) -> tuple[str, ...]:
    """Return the triggers of all languages in a field."""
    return tuple(trigger for entry in entries(PACKAGE, field) for trigger in triggers_in(entry))


def pattern_of(entry: str | dict[str, Any]) -> str:
    """Return the pattern of an entry. An entry is either plain words, or a pattern with its
    triggers. In plain words `*` means any ending, and `'` means any apostrophe.
    """
    if isinstance(entry, dict):
        return str(entry["pattern"])
    return entry.replace("*", r"\w*").replace("'", "['\N{RIGHT SINGLE QUOTATION MARK}]")


def triggers_in(entry: str | dict[str, Any]) -> Sequence[str]:
    """Return the triggers of an entry. For plain words, that is the longest word."""
    return entry["words"] if isinstance(entry, dict) else [max(_LETTERS.findall(entry), key=len)]
