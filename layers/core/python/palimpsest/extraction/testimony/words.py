"""The phrases that separate testimony from material, by language. They are read from the files in
this folder at first use. A text is searched once for the beginnings of words, and a pattern is
tried only at words that begin like one of its phrases.
"""

from __future__ import annotations

# ruff: noqa: RUF001 - marks of many scripts
import json
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path

from palimpsest.privacy.wishes import asks_to_keep
from palimpsest.text.sought import Sought

SENTENCE_START = r"(?:^|(?<=[.!?:\n\"'”’»)…*]))[ \t]*"
BEGINNING = 6
"""Phrases are looked up by this many first letters of a word."""

_WORD = re.compile(rf"(?<!\w)\w{{1,{BEGINNING}}}(?P<end>(?!\w))?")
_FULL_LINE = re.compile(r"[^\n]+")
_LED = re.compile(
    r"(?:\A|[.!?\n\"'”’»)…*(])[ \t]*"
    r"(?:(?:and|but|oh|so|well|ok|okay|und|aber|et|mais|y|pero)\b,? )?\Z",
    re.IGNORECASE,
)
LONGEST_LEAD = 16
_SENTENCE = re.compile(
    r"(?<!\w)(?!(?:Dr|Mrs?|Ms|Prof|St|Sra?|Dra?|Mme|Mlle|Hr|Fr)\.)\w{2,}\. ", re.IGNORECASE
)
"""The end of a sentence. Titles have a full stop too."""
NOT_LOOKED_FOR = frozenset(
    {
        "closing", "salutation", "not_a_person", "mail_headers", "own_labels", "machine_labels",
        "self_labels", "headings", "topics", "documents", "wrote_line", "questions", "others",
        "passwords", "bare_objects", "orders", "asks_in_short",
        "media_verbs", "introduces", "introduced", "begins_own",
        "parts_of_a_profile", "persons", "of_persons", "examples", "told_by_i",
        "arrives", "stops_alone", "but_own", "refers_back", "according_to",
        "stubs",
    }
)  # fmt: skip
"""Names of phrases that are used only within patterns of lines or labels."""


@cache
def _languages() -> tuple[dict[str, list[str]], ...]:
    files = sorted(Path(__file__).parent.glob("words.*.json"))
    return tuple(json.loads(file.read_text(encoding="utf-8")) for file in files)


@cache
def phrases(name: str) -> str:
    """Return a pattern for any phrase of this name in any language."""
    return "|".join(phrase for words in _languages() for phrase in words[name])


class Phrases:
    """A pattern of phrases, which the word files list under `names`, between the patterns `before`
    and `after`. The group that matched has the name of its list. At each word, only phrases that
    begin like that word are tried.
    """

    def __init__(self, names: tuple[str, ...], *, before: str, after: str) -> None:
        self._names, self._before, self._after = names, before, after
        self._patterns: dict[str, re.Pattern[str] | None] = {}

    def _pattern(self, word: str) -> re.Pattern[str] | None:
        """Return the pattern for words with this beginning; None if no phrase has it."""
        if word not in self._patterns:
            groups = [_beginning_as(name, word) for name in self._names]
            self._patterns[word] = (
                _compiled(self._names, tuple(groups), self._before, self._after)
                if any(groups)
                else None
            )
        return self._patterns[word]

    def search(self, text: str, start: int = 0, end: int | None = None) -> re.Match[str] | None:
        """Return the first match between two places."""
        if not _places_of(text, self._names):
            return None
        return next(self.finditer(text, start, end), None)

    def search_before(self, text: str, end: int) -> re.Match[str] | None:
        """Return the first match in the text up to a place, as if the text ended there."""
        if len(text) <= end:
            return self.search(text)
        places = _places_of(text, self._names)
        is_begun = bool(places) and places[0][0] < end
        return self.search(text[:end]) if is_begun or self._is_cut(text, end) else None

    def _is_cut(self, text: str, end: int) -> bool:
        """Return whether a phrase may begin with the last word before `end`. If `end` is inside the
        word, its first letters decide.
        """
        for match in _WORD.finditer(text, max(0, end - BEGINNING), end):
            if not _names_of(_word(match)).isdisjoint(self._names):
                return True
        return False

    def finditer(
        self, text: str, start: int = 0, end: int | None = None
    ) -> Iterator[re.Match[str]]:
        """Yield the matches between two places, in order; they may overlap."""
        limit = len(text) if end is None else end
        places, known = _places_of(text, self._names), self._patterns
        for number in range(bisect_left(places, (start, "")) if start else 0, len(places)):
            place, word = places[number]
            if place >= limit:
                return
            pattern = known[word] if word in known else self._pattern(word)
            if pattern and (match := pattern.match(text, place, limit)):
                yield match

    def may_begin(self, text: str, start: int) -> bool:
        """Return whether a word at a place, or after it, begins like one of the phrases."""
        places = _places_of(text, self._names)
        return bool(places) and places[-1][0] >= start

    def begins_sentence(self, text: str, start: int, end: int) -> int | None:
        """Return where the first sentence begins that opens with a match; None if there is none."""
        for match in self.finditer(text, start, end):
            lead = lead_of_sentence(text, match.start())
            if lead is not None:
                return max(start, match.start() - len(lead))
        return None


def lead_of_sentence(text: str, place: int) -> str | None:
    """Return the blanks and small words between the beginning of a sentence and a place; None if
    other words are between.
    """
    lead = _LED.search(text[max(0, place - LONGEST_LEAD) : place])
    return lead[0].lstrip(".!?\n\"'”’»)…*(") if lead else None


@cache
def anywhere(name: str) -> Phrases:
    """Return the phrases of this name as whole words, wherever they are."""
    return Phrases((name,), before="", after=r"(?!\w)")


@lru_cache(maxsize=8192)
def _beginning_as(name: str, word: str) -> str:
    """Return the phrases of a name that begin like a word, as alternatives of a pattern; empty if
    there are none.
    """
    begun = _begun_by(word)
    numbers = {number for several in begun for number in several.get(name, ())}
    return "|".join(_looked_for()[name][number] for number in sorted(numbers))


@lru_cache(maxsize=2048)
def _compiled(
    names: tuple[str, ...], groups: tuple[str, ...], before: str, after: str
) -> re.Pattern[str]:
    named = zip(names, groups, strict=True)
    alternatives = "|".join(f"(?P<{name}>{phrases or '(?!)'})" for name, phrases in named)
    return re.compile(rf"(?<!\w){before}(?:{alternatives}){after}", re.IGNORECASE)


@cache
def whole(name: str) -> re.Pattern[str]:
    """Return a pattern for a text that is exactly one of the phrases of this name."""
    return re.compile(rf"(?:{phrases(name)})", re.IGNORECASE)


def _places_of(text: str, names: tuple[str, ...]) -> Sequence[tuple[int, str]]:
    """Return the places of words that begin as phrases of these names do, in order."""
    return _places(text).get(names[0], ()) if len(names) == 1 else _of_several(text, names)


@lru_cache(maxsize=16)
def _of_several(text: str, names: tuple[str, ...]) -> Sequence[tuple[int, str]]:
    every = _places(text)
    return sorted({place for name in names for place in every.get(name, ())})


@lru_cache(maxsize=16)
def _places(text: str) -> Mapping[str, Sequence[tuple[int, str]]]:
    """Return the places of words that begin like a phrase, with their first letters, by the
    phrase's name.
    """
    places: dict[str, list[tuple[int, str]]] = {}
    for match in _WORD.finditer(text):
        word = _word(match)
        begun = (match.start(), word)
        for name in _names_of(word):
            if name in places:
                places[name].append(begun)
            else:
                places[name] = [begun]
    return places


def _word(match: re.Match[str]) -> str:
    """Return the beginning of a word, with a blank after it if it is the whole word."""
    return match[0].lower() if match.lastindex is None else f"{match[0].lower()} "


@lru_cache(maxsize=8192)
def _names_of(word: str) -> frozenset[str]:
    """Return the names of phrases that begin like a word."""
    return frozenset(name for several in _begun_by(word) for name in several)


def _begun_by(word: str) -> Iterator[Mapping[str, Sequence[int]]]:
    """Yield the numbers of the phrases that begin like a word, by the name of their list."""
    every = _by_beginning()
    for length in range(1, len(word) + 1):
        if word[:length] in every:
            yield every[word[:length]]


@cache
def _looked_for() -> Mapping[str, Sequence[str]]:
    """Return the phrases of each name that is looked for in texts."""
    phrases: dict[str, list[str]] = defaultdict(list)
    for words in _languages():
        for name in words.keys() - NOT_LOOKED_FOR:
            phrases[name] += words[name]
    return phrases


@cache
def _by_beginning() -> Mapping[str, Mapping[str, Sequence[int]]]:
    """Return the numbers of the phrases of each name, by the letters with which their matches
    begin.
    """
    numbers: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for name, several in _looked_for().items():
        for number, phrase in enumerate(several):
            for begun in beginnings(phrase):
                numbers[begun][name].append(number)
    return numbers


def beginnings(phrase: str) -> frozenset[str]:
    """Return the letters with which a match of a phrase may begin. Each beginning has at most
    `BEGINNING` letters, and a blank after a whole word. If the phrase allows any beginning, one of
    them is empty.
    """
    return frozenset(_beginnings(phrase, ""))


def _beginnings(rest: str, begun: str) -> Iterator[str]:
    # Lookarounds take up no letters.
    while rest.startswith(("(?<", "(?=", "(?!")):
        rest = rest[_group_end(rest) :]
    if len(begun) == BEGINNING:
        yield begun
    elif not rest or rest.startswith((" ", "\\b")):
        yield f"{begun} " if begun else begun
    elif rest.startswith("("):
        yield from _beginnings_of_group(rest, begun)
    # From here on, the pattern does not say which letters follow.
    elif not (rest[0].isalnum() or rest[0] == "_") or rest[1:2] in ("*", "{"):
        yield begun
    elif rest[1:2] == "?":
        yield from _beginnings(rest[0] + rest[2:], begun)
        yield from _beginnings(rest[2:], begun)
    else:
        yield from _beginnings(rest[1:], begun + rest[0].lower())


def _beginnings_of_group(rest: str, begun: str) -> Iterator[str]:
    end = _group_end(rest)
    inside, after = rest[rest.index(":") + 1 : end - 1], rest[end:]
    if after[:1] in ("?", "*", "{"):
        after = after[after.find("}") + 1 if after[0] == "{" else 1 :]
        yield from _beginnings(after, begun)
    for alternative in _alternatives(inside):
        yield from _beginnings(alternative + after, begun)


def _group_end(text: str) -> int:
    """Return the end of the group of a pattern that begins the text."""
    depth, place = 0, 0
    while place < len(text):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        place += 2 if text[place] == "\\" else 1
        if depth == 0:
            return place
    return len(text)


def _alternatives(inside: str) -> Iterator[str]:
    depth, begun, place = 0, 0, 0
    while place < len(inside):
        depth += {"(": 1, ")": -1}.get(inside[place], 0)
        if inside[place] == "|" and depth == 0:
            yield inside[begun:place]
            begun = place + 1
        place += 2 if inside[place] == "\\" else 1
    yield inside[begun:]


@lru_cache(maxsize=8)
def line_starts(text: str) -> Sequence[int]:
    """Return the beginnings of all lines that are not empty."""
    return [match.start() for match in _FULL_LINE.finditer(text)]


def in_lines(
    pattern: re.Pattern[str] | Sought, text: str, start: int = 0, end: int | None = None
) -> Iterator[re.Match[str]]:
    """Yield the matches of a pattern at the beginnings of lines between two places. A match does
    not overlap the match before it.
    """
    if isinstance(pattern, Sought):
        if not pattern.may_match(text):
            return
        pattern = pattern.compiled
    limit, place = len(text) if end is None else end, start
    starts = line_starts(text)
    for number in range(bisect_left(starts, start), len(starts)):
        begun = starts[number]
        if begun >= limit:
            return
        if begun >= place and (match := pattern.match(text, begun, limit)):
            place = match.end()
            yield match


@cache
def _topics() -> frozenset[str]:
    return frozenset(topic.casefold() for words in _languages() for topic in words["topics"])


def is_own_label(label: str) -> bool:
    """Return whether a label announces the speaker's own words, as "Note to self" and "Please
    remember this" do. So does a heading that names a topic ("Venue"), and a name that does not
    begin its line, as in "Sent. Bristol: …".
    """
    return (
        whole("own_labels").fullmatch(label) is not None
        or label.replace("’", "'").casefold() in _topics()
        or _SENTENCE.search(label) is not None
        or asks_to_keep(label)
    )


def is_order(label: str) -> bool:
    """Return whether a label asks for work on the text after it, as "Rephrase" does."""
    return whole("work").fullmatch(label) is not None
