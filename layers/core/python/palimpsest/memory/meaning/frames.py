"""Reads the days, times and numbers of things ("our standup is at 9:30"), and recognizes sentences
that give a thing a new value.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cache, lru_cache

from palimpsest.memory.meaning.ends import is_unreal
from palimpsest.memory.meaning.fitting import (
    CURRENCIES,
    count_the_same,
    denies_in_english,
    form_of,
    in_a_label,
    is_about,
    is_year,
    without_habits,
)
from palimpsest.memory.meaning.reading import PACKAGE, any_of, compiled, is_meant_by, naming, spoken
from palimpsest.memory.meaning.slots import are_of_one_value
from palimpsest.memory.meaning.transitions import transitions_of
from palimpsest.memory.times import tense_of
from palimpsest.text.analyser import words
from palimpsest.text.folding import folded
from palimpsest.text.sentences import is_question
from palimpsest.text.triggers import lowered, word_set
from palimpsest.text.word_files import filled_words

MOST = 300  # characters of a sentence that is read
SHORT = 9  # most blanks of a text that only dates a thing
HOURS = 24
LONGEST_LABEL = 30  # characters of a name before a number
ALIKE = 0.8  # of two spellings of one name
MOST_OLD = 4  # words of a value that is denied
LEAST_PART = 4  # letters of a word in a compound
MEASURES = frozenset({"mg", "mcg", "ml", "µg"})
LONG_PART = 6  # letters of a word that alone shows a compound
MOST_THINGS = 3  # words after "my" that may name what has the value
_PLAIN = re.compile(
    r"(?i)^\W*(?:my|our|mein\w*|unser\w*|mon|ma|notre|mi|nuestr\w+) .{2,40}"
    r" (?:is|are|ist|sind|est|es)\b"
)
_FIRST_PERSON = re.compile(r"(?i)\b(?:i|we|ich|wir|je|j'|nous|on|yo|tengo|trabajo)\b")
_ENDS = " \t.!,;:-()\"'"
_HAS_GERMAN = re.compile(r"(?i) (?:hat|haben)(?! sich)\b")  # its main verb comes last
_NEAR = re.compile(r"(?i)(?:next|this|tomorrow|today)\b")
_ON = re.compile(r"(?i)\bon $")
_AT = re.compile(r"(?i)\b(?:at|um|gegen|à|a las?) $")
_UNIT = re.compile(r"\s[^\W\d_]")
_LABEL = re.compile(r"(?<=\s)([^\W\d_][\w-]*) $")


@dataclass(frozen=True, slots=True)
class Value:
    """A value in a text, and the text after it. `label` is a name right before a number that
    belongs to it: "Pixel" in "Pixel 7".
    """

    shape: str
    start: int
    end: int
    text: str
    after: str = ""
    label: str = ""

    @property
    def place(self) -> tuple[int, int]:
        return self.start, self.end


@dataclass(frozen=True, slots=True)
class Contrast:
    """A new value, and the old value that the same sentence denies: "41, not 14". If
    `is_of_today`, the old value was right before: "41 now instead of 14". `things` are the words
    before a new number or day in its clause that name what has it.
    """

    new: str
    old: str
    rest: tuple[str, ...]
    is_of_today: bool = False
    things: tuple[str, ...] = ()

    @property
    def is_of_spelling(self) -> bool:
        return _likeness(self.new, self.old) >= ALIKE


def _likeness(word: str, other: str) -> float:
    return SequenceMatcher(None, word.casefold(), other.casefold()).ratio()


@cache
def _value() -> re.Pattern[str]:
    return compiled("{any_value}")


_DIGIT = re.compile(r"\d")


@cache
def _value_words() -> frozenset[str]:
    """Return words of which every value without a digit has at least one."""
    lists = filled_words(PACKAGE, ["{weekdays}", "{months}", "{near_days}", "{number_words}"])
    alternatives = {
        word for pattern in lists for word in re.findall(r"[^\W_]+", pattern.replace("s?", ""))
    }
    plurals = {f"{word}s" for word in alternatives}
    return frozenset(alternatives | plurals | {"noon", "midnight", "half", "quarter"})


@cache
def _noun_phrase() -> re.Pattern[str]:
    return compiled("{noun_phrase}")


@cache
def _of_whom() -> re.Pattern[str]:
    return compiled(r"(?<!\w)(?:{of_words}) (?:(?:{owners}) |l')?(?P<word>[^\W\d_]{3,})")


@cache
def _old_value() -> re.Pattern[str]:
    return compiled(r"(?<!\w)(?:{before_old}) (?:(?:the|am|dem|den|le|el) )?$")


@cache
def _change_words() -> frozenset[str]:
    listed = filled_words(PACKAGE, ["{moves}", "{changes}"])
    return frozenset(word for pattern in listed for word in re.findall(r"[^\W_]+", pattern))


@cache
def _marks() -> frozenset[str]:
    """Return words of which every sentence about a change has at least one."""
    listed = filled_words(PACKAGE, ["{moves}", "{changes}"])
    return frozenset(word for pattern in listed for word in re.findall(r"^[^\W_]+", pattern))


def values_of(text: str) -> list[Value]:
    """Return the days, times and numbers in a text."""
    return [
        Value(
            match.lastgroup or "",
            match.start(),
            match.end(),
            match[0],
            text[match.end() :],
            _label_before(text, match.start()),
        )
        for match in _value().finditer(text)
    ]


def _label_before(text: str, place: int) -> str:
    label = _LABEL.search(text, max(0, place - LONGEST_LABEL), place)
    return label[1].casefold() if label and not label[1].islower() else ""


def may_move(text: str) -> bool:
    """Return whether a sentence may give something a new day, time or number."""
    plain = text[:MOST]
    if not _DIGIT.search(plain) and _value_words().isdisjoint(word_set(lowered(plain))):
        return False
    return bool(_value().search(plain))


@dataclass(frozen=True, slots=True)
class Move:
    """A sentence that gives a thing new values. `things` are the words that name it, each as a
    phrase. `of` are the words after "of" or "with" that belong to its name. If `is_marked` is
    false, nothing in the sentence says that something has changed. `is_plain` is true for a
    sentence such as "my deposit is 550 euros". `is_moved` is true if something was moved or raised.
    """

    things: tuple[tuple[str, ...], ...]
    named: tuple[str, ...]
    values: tuple[Value, ...]
    denied: tuple[str, ...]
    of: tuple[str, ...]
    is_marked: bool
    is_plain: bool = False
    is_moved: bool = False


@lru_cache(maxsize=64)
def move_of(text: str) -> Move | None:
    """Return the things and their new values in a sentence. Return None if the sentence asks,
    supposes, adds something, or is about the past.
    """
    plain = text[:MOST]
    values = [value for value in values_of(plain) if not _counts_off(value, plain)]
    if not values or is_question(plain) or is_unreal(plain):
        return None
    is_changed = bool(any_of("moves").search(plain))
    if any_of("additions").search(plain) or (any_of("was").search(plain) and not is_changed):
        return None
    region = _region(plain, values)
    is_marked = is_changed or bool(any_of("changes").search(plain))
    things = tuple(_things(region, is_marked=is_marked))
    if not things and not (is_marked and _FIRST_PERSON.search(region)):
        return None
    old = [value for value in values if _is_old(value, values, plain)]
    new = tuple(value for value in values if value not in old)
    named = tuple(word for word in _named(region) if word not in _change_words())
    denied = tuple(folded(value.text) for value in old)
    of = tuple(word for owner in _of_whom().finditer(region) for word in naming(owner["word"]))
    is_plain = bool(_PLAIN.search(region))
    return Move(things, named, new, denied, of, is_marked, is_plain, is_changed) if new else None


def _counts_off(value: Value, text: str) -> bool:
    """Return whether a number is that of a day or week: "day 40 in the new office"."""
    return value.shape == "number" and _counted().search(text[: value.start]) is not None


@cache
def _counted() -> re.Pattern[str]:
    return compiled(r"(?<!\w)(?:day|week|tag|woche|jour|semaine|día|semana) $")


def differ_in_value(sentence: str, other: str) -> bool:
    """Return whether two sentences have different days, different times or different numbers."""
    return differ(values_of(sentence[:MOST]), values_of(other[:MOST]))


def differ(ours: Sequence[Value], theirs: Sequence[Value]) -> bool:
    """Return whether the statements have different values of the same kind."""
    return any(
        value.shape == known.shape and not are_of_one_value(value.text, known.text)
        for value in ours
        for known in theirs
    )


def has_of(name: str, text: str) -> list[str]:
    """Return the words of a text that are in the list of this name, in lower case."""
    return [match[0].casefold() for match in any_of(name).finditer(text)]


def changes_a_value(text: str) -> bool:
    """Return whether a sentence says that something has a new value now."""
    if contrasts_of(text) or transitions_of(text):
        return True
    if _marks().isdisjoint(word_set(lowered(text[:MOST]))):
        return False
    move = move_of(text) if may_move(text) else None
    return move is not None and move.is_marked


def _end_of_clause(text: str, place: int) -> int:
    clause_end = _clause_end().search(text, place)
    return clause_end.start() if clause_end else len(text)


def _region(text: str, values: Sequence[Value]) -> str:
    """Return the clause around the values, without the values. If the clause names nothing that
    belongs to somebody, return the text before it too.
    """
    end = _end_of_clause(text, values[-1].end)
    start = max(text.rfind(mark, 0, values[0].start) for mark in (", ", "; ", ". ", "! ", ": "))
    whole = _without(text[:end], values)
    clause = whole[start + 2 :] if start >= 0 else whole
    return clause if any(phrase[0] for phrase in _noun_phrase().finditer(clause)) else whole


def _is_old(value: Value, values: Sequence[Value], text: str) -> bool:
    """Return whether the words before a value say that it no longer holds. After "from", that is so
    only if another value follows.
    """
    marker = _old_value().search(text[: value.start])
    is_from = marker is not None and any_of("from_words").search(marker[0])
    return marker is not None and not (is_from and value is values[-1])


@cache
def _clause_end() -> re.Pattern[str]:
    return compiled(r"[,;.!?\u2013\u2014]\s|\s(?:{joining})\s|$")


def _without(text: str, values: Sequence[Value]) -> str:
    left = text
    for value in reversed(values):
        left = f"{left[: value.start]} {left[value.end :]}"
    return left


def _things(text: str, *, is_marked: bool) -> Iterator[tuple[str, ...]]:
    """Yield the phrases of a text that name a thing. A phrase for the person who changes a thing is
    left out. If the sentence says that something has changed (`is_marked`), the first phrase may
    lack its article.
    """
    phrases = list(_noun_phrase().finditer(spoken(text)))
    for number, match in enumerate(phrases):
        acts = any_of("moves").search(match["thing"]) or _HAS_GERMAN.search(match["thing"])
        is_agent = number + 1 < len(phrases) and acts
        phrase = tuple(_until_a_verb(match["thing"]))
        if phrase and not is_agent and (match[0] or is_marked):
            yield phrase


def _until_a_verb(thing: str) -> Iterator[str]:
    """Yield the words of a phrase up to the first word that names nothing."""
    for word in words(thing):
        if word in _change_words() or not naming(word):
            return
        yield word


def moved(content: str, by: Move) -> str | None:
    """Return the content with the new values in the places of its own. Return None if it is about
    another thing, or has no such values, or already has the new ones.
    """
    own = [
        _as_time(value, content)
        for value in values_of(content[:MOST])
        if not in_a_label(content, value.place)
    ]
    known_words = _named(_without(content[:MOST], own))
    named = [word for word in known_words if word not in _change_words()]
    if not own or not _may_be_moved(content, named, by):
        return None
    is_joined = any(_is_named(word, named) and not is_meant_by(word, named) for word in by.named)
    things = (*by.named, *named) if is_joined else by.named
    beside = _beside_the_thing(own, content, by)
    elsewhere = {value.shape for value in own if value not in beside}
    result, changed = content, set[str]()
    for value in reversed(beside):
        new = _new_value(value, beside, by)
        if new is None or folded(new.text) == folded(value.text):
            continue
        is_of_several = value.shape in elsewhere
        among = things if is_of_several else None
        if _fits(new, value, among=among) and _is_about_it(
            things, content, value, by, is_of_several=is_of_several
        ):
            before, after = result[: value.start], result[value.end :]
            if _NEAR.match(new.text):  # "due on Friday" becomes "due next Wednesday"
                before = _ON.sub("", before)
            result = before + _in_the_form_of(value, new) + after
            changed.add(value.shape)
    if by.is_marked and _leaves_a_day(changed, beside, by):
        return None  # "Monday at 9" is neither the old time nor the new one
    return result if changed else None


def _may_be_moved(content: str, named: Sequence[str], by: Move) -> bool:
    """Return whether a content, which names these words, is about what was moved, is not about the
    past, and has the old values.
    """
    if not named or not _is_of(by, named):
        return False
    is_over = by.is_marked and tense_of(content) == "past"
    return not is_over and all(_has(content, old) for old in by.denied)


def _leaves_a_day(changed: Collection[str], own: Sequence[Value], by: Move) -> bool:
    """Return whether only the time of a moved thing was replaced although it also has a new day."""
    days = {folded(value.text) for value in own if value.shape == "day"}
    new_days = {folded(value.text) for value in by.values if value.shape == "day"}
    return "day" not in changed and bool(days) and not new_days <= days


def _is_about_it(
    things: Sequence[str], content: str, value: Value, by: Move, *, is_of_several: bool
) -> bool:
    """Return whether the clause of a value is about the moved things: alone, or with the clause
    that an "and" joins to it. If it `is_of_several` values of its shape, its part of the content
    must be about the things: "the 4,000 for the bathroom" is not what is in another tin.
    """
    part = _part_at(content, value.start)
    start = content.find(part, max(0, value.start - len(part)))
    place = (value.start - start, value.end - start)
    names_old, is_moved = bool(by.denied), by.is_moved
    may_stand_alone = is_of_several or (by.is_marked and value.shape != "number")
    return is_about(things, content, value.place, names_old=names_old, is_moved=is_moved) or (
        may_stand_alone and is_about(things, part, place, names_old=names_old, is_moved=is_moved)
    )


def _beside_the_thing(own: Sequence[Value], content: str, by: Move) -> Sequence[Value]:
    """Return the values of the thing that a move is about, if the content gives each of several
    things a value: "the dentist on 4 March and a flight on 6 March".
    """
    heads = {thing[0] for thing in by.things}
    if not heads:
        return own
    beside = [value for value in own if _names_one(heads, _part_at(content, value.start))]
    return beside or own


@cache
def _several() -> re.Pattern[str]:
    return compiled(r"[,;]? (?:and|und|et|y) |[,;] ")


def _part_at(content: str, place: int) -> str:
    """Return the part of a content between the joints before and after a place in it."""
    ends = [joint.span() for joint in _several().finditer(content)]
    start = max((end for _, end in ends if end <= place), default=0)
    return content[start : min((begin for begin, _ in ends if begin >= place), default=None)]


def _names_one(heads: Collection[str], text: str) -> bool:
    named = naming(text)
    return any(is_meant_by(head, named) for head in heads)


def _in_the_form_of(old: Value, new: Value) -> str:
    """Return the new value, in the singular if it is a day of the week and the old one was."""
    is_single = old.shape == "day" and old.text[-3:] == "day"
    return new.text.removesuffix("s") if is_single and new.text[-4:] == "days" else new.text


def _named(text: str) -> Sequence[str]:
    """Return the words that name something. If a text has none, as "I usually get up at", return
    all its words except "usually" and the like.
    """
    plain = without_habits(text)
    return naming(plain) or words(spoken(plain))


def _has(content: str, value: str) -> bool:
    """Return whether a content has a value. Of a value with digits, only the numbers are compared,
    so that a day counts in any form.
    """
    plain, digits = folded(content), re.findall(r"\d+", value)
    own = re.findall(r"\d+", plain)
    return all(digit in own for digit in digits) if digits else value in plain


def _is_of(by: Move, named: Sequence[str]) -> bool:
    heads = {thing[0] for thing in by.things} | set(by.of)
    if not all(_is_named(head, named) for head in heads):
        return False
    if by.is_marked and by.things:
        return True
    both = all(is_meant_by(word, named) for word in by.named)
    own = [word for word in named if word not in _words_of("appointments")] or named
    if not both or not all(is_meant_by(word, by.named) for word in own):
        return False
    return not by.things or by.is_plain or _is_dated(named)


def _is_named(head: str, named: Sequence[str]) -> bool:
    """Return whether a thing is named by its word, or in a German compound that begins or ends with
    it: "Termin" by "Zahnarzttermin", "Abgabetermin" by "Abgabe". An appointment is also named by
    a person ("the dentist on Monday"), a deadline by another word for it, a dose by its measure.
    """
    return (
        is_meant_by(head, named)
        or (head in _words_of("appointments") and not _words_of("appointed").isdisjoint(named))
        or (head in _words_of("doses") and not MEASURES.isdisjoint(named))
        or (head in _words_of("deadlines") and not _words_of("deadlines").isdisjoint(named))
        or _is_compound(head, named)
        or any(_begins_or_ends(word, head) or _begins_or_ends(head, word) for word in named)
    )


def _begins_or_ends(word: str, part: str) -> bool:
    is_long = len(part) >= LONG_PART and len(word) >= len(part) + LEAST_PART
    return is_long and (word.startswith(part) or word.endswith(part))


@cache
def _words_of(name: str) -> frozenset[str]:
    return frozenset(folded(word) for word in filled_words(PACKAGE, [f"{{{name}}}"]))


def _is_compound(word: str, named: Sequence[str]) -> bool:
    """Return whether a German word is made of two of the words: "Friseurtermin" of "Termin beim
    Friseur".
    """
    begun = (word.removeprefix(first) for first in named if len(first) >= LEAST_PART)
    return any(rest != word and rest.lstrip("sn") in named for rest in begun)


def _is_dated(named: Sequence[str]) -> bool:
    """Return whether the words name a thing that has one day, time or number."""
    return any(word in _words_of("dated_things") or word.endswith(_COMPOUNDS) for word in named)


def dates_a_thing(text: str) -> bool:
    """Return whether a short text only gives a day or a time to a thing that has one ("the exam is
    on Monday").
    """
    if text.count(" ") > SHORT or not may_move(text):
        return False
    move = move_of(text)
    if (
        move is None
        or len(move.things) != 1
        or {value.shape for value in move.values} == {"number"}
    ):
        return False
    (thing,) = move.things
    return _is_dated((*thing, "-".join(thing)))


_COMPOUNDS = ("termin", "flug", "budget", "frist", "treffen", "nummer", "preis", "miete", "prufung")


def _fits(new: Value, old: Value, *, among: Sequence[str] | None) -> bool:
    """Return whether a new value can replace an old one of the same shape. `among` is as in
    `count_the_same`.
    """
    if new.shape != "number":
        return True
    if (
        old.label and new.label and old.label != new.label
    ):  # "Pixel 7" is no new value of "iPhone 15"
        return False
    return count_the_same(new.text, new.after, old.text, old.after, among=among)


def _new_value(value: Value, own: Sequence[Value], by: Move) -> Value | None:
    """Return the new value that replaces this one. There is one only if each side has a single
    value of this shape.
    """
    same = [new for new in by.values if new.shape == value.shape]
    if not same and value.shape == "time":
        same = [new for new in by.values if _is_hour(new)]
    if len(same) != 1 or sum(other.shape == value.shape for other in own) != 1:
        denied = folded(value.text) in by.denied
        return same[0] if denied and len(same) == 1 else None
    return same[0]


def _as_time(value: Value, content: str) -> Value:
    """Return the hour in "I get up at 6" as a time of the day."""
    is_time = value.shape == "number" and _AT.search(content, 0, value.start) and _is_hour(value)
    return replace(value, shape="time") if is_time else value


def _is_hour(value: Value) -> bool:
    """Return whether a number may be an hour of the day: "moved to 10"."""
    return value.text.isdigit() and int(value.text) <= HOURS and not _UNIT.match(value.after)


@cache
def _contrast() -> re.Pattern[str]:
    return compiled("{new_not_old}")


@cache
def _but() -> re.Pattern[str]:
    return compiled("{not_old_but_new}")


@cache
def _contrast_words() -> frozenset[str]:
    listed = filled_words(PACKAGE, ["{instead_of}"])
    return frozenset(phrase.split()[0] for phrase in listed)


@lru_cache(maxsize=64)
def contrasts_of(text: str) -> tuple[Contrast, ...]:
    """Return the pairs of new and old values in a sentence that has both, the likeliest first."""
    plain = text[:MOST]
    if _contrast_words().isdisjoint(word_set(lowered(plain))) or is_question(plain):
        return ()
    contrasts = list[Contrast]()
    for match in (*_but().finditer(plain), *_contrast().finditer(plain)):
        old, new_words = match["old"].strip(_ENDS), _without_now(match["new"].strip(_ENDS))
        is_plain = match.re is _contrast() and _is_plain_denial(match)
        for old_value in [] if is_plain or any_of("no_more").search(old) else _olds(old):
            new = _counterpart(new_words, old_value)
            if new is None or folded(new) == folded(old_value):
                continue
            if form_of(old_value) == "words" and denies_in_english(match):
                continue
            if _stand_alike(new_words, new, old, old_value):
                rest = naming(plain.replace(old_value, " ").replace(new, " "))
                things = _things_of(new, new_words)
                contrasts.append(Contrast(new, old_value, rest, _is_of_today(match), things))
    return tuple(contrasts)


def _without_now(text: str) -> str:
    return compiled("{trailing_now}").sub("", text)


def _is_plain_denial(match: re.Match[str]) -> bool:
    """Return whether a match only denies something, as in "I am not in Bonn", and does not name an
    old value beside a new one.
    """
    mark = match.string[match.end("mark") : match.start("old")]
    is_clear = match["mark"] == "," or any(
        word in mark for word in (" of", " than", "statt", " lieu", " vez", "que ")
    )
    return not is_clear and not values_of(match["old"])


def _things_of(new: str, new_words: str) -> tuple[str, ...]:
    """Return the words before a number or day that name something."""
    return naming(new_words[: new_words.rfind(new)]) if values_of(new) else ()


def _is_of_today(match: re.Match[str]) -> bool:
    """Return whether a match says, in the present tense, what is there instead of the old value."""
    if match.re is not _contrast() or tense_of(match.string) == "past":
        return False
    mark = match.string[match.start("mark") : match.start("old")]
    return any(word in mark for word in (" of ", "statt", " lieu", " vez"))


def _olds(old: str) -> list[str]:
    """Return the possible old values in the words after a denial: all of these words, or only the
    last ones.
    """
    parts = old.split()
    if len(parts) > MOST_OLD + 1:
        return []
    return [" ".join(parts[start:]) for start in range(len(parts))]


def _stand_alike(new_words: str, new: str, old: str, old_value: str) -> bool:
    """Return whether two values stand after the same word, if that word is in both phrases: "on
    trees, not on dispersal". In "on trees after heat, not on dispersal" heat does not.
    """
    before_old = old[: old.rfind(old_value)].split()[-1:]
    before_new = new_words[: new_words.rfind(new)].split()
    return not before_old or before_old[0] not in before_new or before_new[-1:] == before_old


def _counterpart(new_words: str, old: str) -> str | None:
    """Return the part of the new words that corrects the old value: the last part that has the same
    form. That is a value of the same shape, a name if the old value begins with a capital, or as
    many words as the old value has.
    """
    value, own = values_of(old), values_of(new_words)
    same = [candidate.text for candidate in own if value and _are_of_one_form(candidate, value[0])]
    if value and value[0].text == old and same:
        return same[-1]
    if value or not old[:1].isalnum():
        return None
    parts = new_words.split()
    if old[0].isupper():
        taken = len(parts)
        while taken and parts[taken - 1][:1].isupper():
            taken -= 1
        alike = [part for part in parts if _likeness(part, old) >= ALIKE and part[0].isupper()]
        return " ".join(parts[taken:]) or " ".join(alike[:1]) or None
    count = len(old.split())
    return " ".join(parts[-count:]) if len(parts) >= count else None


def _are_of_one_form(value: Value, other: Value) -> bool:
    """Return whether two values have one shape, and both have digits or none: "the 14th" corrects
    "the 12th", and "Thursday" does not.
    """
    has_digits = [_DIGIT.search(text) is not None for text in (value.text, other.text)]
    return value.shape == other.shape and has_digits[0] == has_digits[1]


def contrasted(content: str, by: Contrast) -> str | None:
    """Return the content with the new value of the contrast in place of the old one. Return None if
    the content is about something else.
    """
    match = re.search(
        rf"(?<![\w.:])(?<!\d,){re.escape(by.old)}(?!\w|[.,]\d)", content, re.IGNORECASE
    )
    if match is None or (by.old[0].isupper() and not match[0][0].isupper()):
        return None
    form = form_of(by.new)
    if not form or form != form_of(by.old) or is_year(by.new) != is_year(by.old):
        return None
    named = naming(content)
    if by.things and not any(is_meant_by(word, named) for word in by.things):
        return None
    if by.is_of_today and tense_of(content) == "past":
        return None
    start, end = _whole_day(content, match.span())
    is_spelled = by.is_of_spelling and by.old[0].isupper()
    if not is_spelled and not (
        by.rest and is_about(by.rest, content, (start, end), names_old=True)
    ):
        return None
    if content[match.start() - 4 : match.start()] == "the " and start < match.start():
        by = replace(by, new=f"the {by.new}")
    if by.new[0] in CURRENCIES and content[:start].endswith(by.new[0]):
        start -= 1
    return content[:start] + by.new + content[end:]


def _whole_day(content: str, place: tuple[int, int]) -> tuple[int, int]:
    """Return the place of the day of which a place has only a part: "Tuesday the 12th"."""
    start, end = place
    days = (value.place for value in values_of(content) if value.shape == "day")
    return next((day for day in days if day[0] < start and end <= day[1]), place)
