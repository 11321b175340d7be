"""Reads wishes to keep words off the record by the kinds of words in a clause. Such a clause has a
denial and a verb of keeping, a verb of erasing, or words of secrecy. It also names the words that
it is about ("this").
"""

from __future__ import annotations

# ruff: noqa: RUF001 - marks of many scripts
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal

from palimpsest.privacy.phrases import phrases

Asks = Literal["keep_off", "take_back"]
LONGEST_CLAUSE = 160
MOST_OTHER_WORDS = 2
"""How many words of a clause with a wish may not belong to the wish, such as "a minute" in "wipe
what I said a minute ago".
"""
_CLAUSE = re.compile(
    r"(?:[^.!?;:,\n()–—]|,(?=\s*(?:dass|daß|that|que|wenn|if|si)\b))+(?:[.!?;:,\n()–—]|\Z)",
    re.IGNORECASE,
)
_JOINS = re.compile(
    r"(?<=\s)(?:but|and|so|aber|und|mais|et|pero|y|donc)(?=\s)(?!\s(?:me|moi|mir|yo)\b)|\s-\s",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+")
_OWN_AFTER = re.compile(r"\s+(?:i|ich|je|yo|we|wir|nous)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class WishClause:
    """A clause that states a wish: its place, and whether the wish takes back what was said
    before.
    """

    start: int
    end: int
    asks: Asks


_ANY_OF = ("negations", "erase_verbs", "private_words", "heres", "among_us", "undone", "outs")
_NAMES_NOTHING = (
    "undone", "what_was_said", "memory_places", "heres", "among_us", "wants",
    "addresses", "these", "speech_nouns",
    "negations", "keep_verbs", "erase_verbs", "put_verbs", "private_words", "stays", "copulas",
    "small_words",
)  # fmt: skip
"""The kinds of words that belong to a wish and name nothing else."""


@cache
def _never_mind() -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{phrases('never_mind')})", re.IGNORECASE)


@cache
def _class(*names: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(phrases, names))})(?!\w)", re.IGNORECASE)


@cache
def _after() -> str:
    """Return a pattern for the place after "this": the end of the clause, or a word of a wish."""
    names = ("small_words", "keep_verbs", "erase_verbs", "put_verbs", "private_words", "heres",
             "stays", "copulas", "negations")  # fmt: skip
    small = "|".join(phrases(name) for name in names)
    return rf"(?=\s*(?:[^\w\s'’]|\Z)|['’]s|\s+(?:{small})(?!\w))"


@cache
def _said() -> re.Pattern[str]:
    """Return a pattern for expressions that refer to words of the conversation: "this", "this
    part", "what I said", but not "this milk".
    """
    nouns = phrases("speech_nouns")
    return re.compile(
        rf"(?<![\w'’])(?:(?:{phrases('what_was_said')})(?!\w)"
        rf"|(?:{phrases('these')})(?:\s+(?:{nouns}))?(?!\w){_after()})",
        re.IGNORECASE,
    )


@cache
def _private() -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{phrases('private_words')})(?!\w){_after()}", re.IGNORECASE)


@cache
def _out_of_memory() -> re.Pattern[str]:
    return re.compile(
        rf"(?<!\w)(?:{phrases('outs')}) (?:{phrases('memory_places')})(?!\w)", re.IGNORECASE
    )


def names_words(text: str) -> bool:
    """Return whether a text refers to words of the conversation, as "I was drunk when I said that"
    does.
    """
    return _said().search(text) is not None


def wish_clauses(text: str) -> Iterator[WishClause]:
    """Yield the clauses of a text that state a wish about what is said."""
    for start, end in _clauses(text):
        asks = _asked(text[start:end])
        if asks is not None:
            yield WishClause(start, end, asks)


def without(text: str, clauses: Iterable[WishClause]) -> str:
    """Return the text without the words of these clauses that state the wish."""
    for clause in sorted(clauses, key=lambda clause: -clause.start):
        left = _without_wish(text[clause.start : clause.end])
        text = f"{text[: clause.start]}{left}{text[clause.end :]}"
    return text


def _without_wish(clause: str) -> str:
    return _class(*_NAMES_NOTHING).sub(" ", clause)


def _clauses(text: str) -> Iterator[tuple[int, int]]:
    for match in _CLAUSE.finditer(text):
        if len(match[0]) > LONGEST_CLAUSE:
            continue
        start = match.start()
        for join in _JOINS.finditer(text, match.start(), match.end()):
            yield start, join.start()
            start = join.end()
        yield start, len(text[: match.end()].rstrip())


def _asked(clause: str) -> Asks | None:
    """Return the wish of a clause, or None if it states no wish."""
    if not _class(*_ANY_OF).search(clause):
        return None
    if _class("undone").search(clause):
        return "take_back"
    names_words = _said().search(clause) is not None
    is_about_words = (
        names_words or clause.endswith(":") or _class("heres").search(clause) is not None
    )
    if not is_about_words or _never_mind().search(clause) or _says_more(clause):
        return None
    return _asked_of(clause, names_words=names_words)


def _asked_of(clause: str, *, names_words: bool) -> Asks | None:
    denied = _class("negations").search(clause) is not None
    if names_words and not denied and _is_ordered("erase_verbs", clause) and _is_plain(clause):
        return "take_back"
    is_denied = (
        denied and (names_words or clause.endswith(":")) and _is_ordered("keep_verbs", clause)
    )
    is_wished = (names_words or not _other_words(clause)) and not _has_subject(clause)
    is_off = is_denied or (is_wished and _is_kept_out(clause, denied=denied))
    return "keep_off" if is_off else None


def _says_more(clause: str) -> bool:
    if _class("what_was_said").search(clause):
        return False
    return len(_other_words(clause)) > MOST_OTHER_WORDS


def _is_plain(clause: str) -> bool:
    """Return whether a clause asks to erase words of the conversation, unlike "erase it from the
    table".
    """
    return not _other_words(clause) or _class("what_was_said").search(clause) is not None


def _other_words(clause: str) -> list[str]:
    """Return the words of a clause that do not belong to a wish."""
    return _WORD.findall(_without_wish(clause))


def _is_kept_out(clause: str, *, denied: bool) -> bool:
    """Return whether a clause asks to keep words out of a memory, or within a conversation."""
    in_memory = _class("memory_places").search(clause) is not None
    if in_memory and (denied or _out_of_memory().search(clause)):
        return True
    stays = _class("stays").search(clause) is not None
    if stays and _class("heres").search(clause):
        return True
    is_so = _class("copulas").search(clause) is not None
    if is_so and _class("among_us").search(clause):
        return True
    is_secret = _private().search(clause) is not None
    return is_secret and not denied and (stays or is_so)


def _is_ordered(verbs: str, clause: str) -> bool:
    """Return whether a sentence asks somebody to act, unlike a report such as "I never keep it"."""
    for verb in _class(verbs).finditer(clause):
        before = clause[: verb.start()]
        if _OWN_AFTER.match(clause, verb.end()) is None and not _has_subject(before):
            return not _other_words(before)
    return False


def _has_subject(clause: str) -> bool:
    """Return whether a clause begins with somebody who does something, and who asks for nothing."""
    if _class("wants").search(clause):
        return False
    return _subject().match(_class("what_was_said").sub(" ", clause)) is not None


@cache
def _subject() -> re.Pattern[str]:
    small = rf"(?:(?:{phrases('small_words')}|{phrases('negations')})(?!\w)\s*,?\s*)*"
    return re.compile(rf"\s*{small}(?:{phrases('subjects')})(?![\w])", re.IGNORECASE)
