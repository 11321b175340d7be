"""Reads sentences in which one thing takes the place of another, both named by the sentence: "I
switched from Vim to Zed".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from palimpsest.memory.meaning.ends import is_unreal
from palimpsest.memory.meaning.fitting import form_of
from palimpsest.memory.meaning.makes import Make, make_of
from palimpsest.memory.meaning.reading import PACKAGE, any_of, candidates, compiled, naming, spoken
from palimpsest.memory.meaning.slots import denials_of, slot_of
from palimpsest.memory.times import tense_of
from palimpsest.text.folding import folded
from palimpsest.text.sentences import is_question
from palimpsest.text.word_files import entries

MOST_BLANKS = 20  # of a sentence that is read
MOST_NAMED = 5  # words that name something, in a statement that may get the new thing
_VOWEL = re.compile(r"[aeioAEIO]")
_OF_THE_USER = re.compile(r"(?:i|we|my|our|the)\b", re.IGNORECASE)
_NEXT = re.compile(r"(?:\s+|-)(?:[A-ZÀ-Þ]|\d)")
_FIRST_PERSON = re.compile(
    r"(?:i|we|ich|wir|je|nous|on|me|nos|he|hemos|cambi\w+|pas\w+)\b|j'", re.IGNORECASE
)
_ARTICLE = re.compile(r"\ban? $", re.IGNORECASE)
_DETERMINER = re.compile(
    r"^(?:(?:my|our|the|an?|mein\w*|unser\w*|d[eia][rsenm]|ein\w*|mon|ma|notre|les?|la|une?|mi"
    r"|nuestr[oa]|el) |l')+",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Transition:
    """The old thing and the thing that takes its place, as a sentence names them without articles.
    If it `is_own`, the user has changed them. Some sentences name only the new one: "we moved to
    the 9th floor". Then `old` is empty, and both are `of` one thing: "floor".
    """

    old: str
    new: str
    is_own: bool
    of: str = ""


@cache
def _patterns() -> Sequence[re.Pattern[str]]:
    return [compiled(entry["pattern"]) for entry in entries(PACKAGE, "transitions")]


@lru_cache(maxsize=64)
def transitions_of(sentence: str) -> tuple[Transition, ...]:
    """Return the transitions that a sentence states. A question, plan or wish states none."""
    numbers = candidates("transitions", sentence)
    if not numbers or sentence.count(" ") > MOST_BLANKS or is_question(sentence):
        return ()
    in_own_voice = spoken(sentence)
    if is_unreal(in_own_voice):
        return ()
    matches = (_patterns()[number].match(in_own_voice) for number in numbers)
    transitions = dict.fromkeys(map(_transition, filter(None, matches)))
    return tuple(by for by in transitions if folded(by.old) != folded(by.new))


def _transition(match: re.Match[str]) -> Transition:
    groups = match.groupdict()
    return Transition(
        _DETERMINER.sub("", groups.get("old") or groups.get("dropped") or ""),
        _DETERMINER.sub("", match["new"]),
        is_own=_FIRST_PERSON.match(match.string) is not None,
        of=groups.get("of") or "",
    )


def carried_over(content: str, by: Transition) -> str | None:
    """Return the content with the new thing in the place of the old one: "I use Vim" becomes "I
    use Zed". Return None if the content says more than a few words, or is about something else, or
    if the two things are of different forms.
    """
    if by.of:
        return _with_another(content, by)
    match = re.search(rf"(?<![\w.:-]){re.escape(by.old)}(?![\w-])", content, re.IGNORECASE)
    form = form_of(by.new)
    if match is None or not form or form != form_of(by.old) or len(naming(content)) > MOST_NAMED:
        return None
    before, after = content[: match.start()], content[match.end() :]
    if _is_part_of_a_name(match[0], before, after) or tense_of(content) == "past":
        return None
    if form != "name" and (" " in by.new or " " in by.old):
        return None
    article = _ARTICLE.search(before)
    if article is not None:
        has_vowel = _VOWEL.match(by.new) is not None
        before = before[: article.start()] + (article[0][0] + ("n " if has_vowel else " "))
    return before + by.new + after


@cache
def _switches() -> Sequence[re.Pattern[str]]:
    return [compiled(entry["pattern"]) for entry in entries(PACKAGE, "switches")]


@lru_cache(maxsize=64)
def switched_to(sentence: str) -> Make | None:
    """Return the make of the thing that the speaker has changed to or has now, in a sentence that
    does not say what it was before: "I switched to an iPhone". A sentence that asks, plans or adds
    something has none.
    """
    numbers = candidates("switches", sentence)
    if not numbers or sentence.count(" ") > MOST_BLANKS or is_question(sentence):
        return None
    in_own_voice = spoken(sentence)
    if is_unreal(in_own_voice) or any_of("additions").search(in_own_voice):
        return None
    matches = (_switches()[number].match(in_own_voice) for number in numbers)
    makes = (make_of(match["new"]) for match in matches if match)
    return next(filter(None, makes), None)


def is_of_another_make(content: str, by: Make) -> bool:
    """Return whether a statement says that the speaker has a thing of the same kind and another
    make, and says of it nothing else.
    """
    make = make_of(content, by.kind)
    if make is None or not make.names.isdisjoint(by.names):
        return False
    is_denied = bool(denials_of(content)) or is_unreal(spoken(content))
    others = make.rest ^ by.rest
    has_more = any(not any_of("having").fullmatch(word) for word in others)
    return not (is_denied or has_more or tense_of(content) == "past")


def _with_another(content: str, by: Transition) -> str | None:
    """Return the content with another thing of the same kind: "dark mode" becomes "light mode"."""
    match = re.search(rf"(?<![\w.:-])(?P<old>[\w.-]+) {re.escape(by.of)}(?![\w-])", content)
    if match is None or len(naming(content)) > MOST_NAMED or tense_of(content) == "past":
        return None
    old = match["old"]
    is_value = naming(old) or any(map(str.isdigit, old))
    if not is_value or folded(old) == folded(by.new) or not _is_of_the_user(content):
        return None
    start, end = match.span("old")
    return content[:start] + by.new + content[end:]


def _is_of_the_user(content: str) -> bool:
    """Return whether a statement begins with the user or with a thing of theirs."""
    return _OF_THE_USER.match(spoken(content)) is not None


def _is_part_of_a_name(old: str, before: str, after: str) -> bool:
    """Return whether the old thing and a name next to it are one name, as "Octavia" and "Skoda" are
    in "Skoda Octavia".
    """
    if not old[0].isupper():
        return False
    last = before.split()[-1:]
    is_begun = bool(last) and last[0][0].isupper() and len(before.split()) > 1
    return is_begun or _NEXT.match(after) is not None


def is_value_of(content: str, by: Transition) -> bool:
    """Return whether the old thing is the value of the content's topic, as "Karen" in "My boss is
    Karen".
    """
    slot = slot_of(content)
    return slot is not None and folded(slot.text) == folded(by.old)
