"""Reads statements that something ended ("I don't live in Hamburg any more", "I quit"), and finds
the memory that each ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Final

from palimpsest.memory.meaning.beside import is_only_beside
from palimpsest.memory.meaning.reading import (
    NAME_OR_NUMBER,
    PACKAGE,
    any_of,
    candidates,
    classes,
    clauses,
    compiled,
    compiled_lower,
    goes_with,
    groups_of,
    is_alike,
    is_meant_by,
    is_rewritten,
    naming,
    spoken,
    without_grounds,
    without_times,
)
from palimpsest.memory.meaning.slots import slot_of
from palimpsest.memory.record import Record
from palimpsest.memory.times import tense_of
from palimpsest.text.folding import folded
from palimpsest.text.pieces import pieces_of
from palimpsest.text.sentences import is_question
from palimpsest.text.triggers import lowered
from palimpsest.text.word_files import entries, filled, word_files

GROUPS: Final = ("what", "more", "that", "those")
# most blanks of a sentence with a plain denial, and of any sentence
MOST_PLAIN, MOST_BLANKS = 10, 30
_OF_ANOTHER = re.compile(r"(?:her|his|their|ihr\w*|sein\w*|son|sa|ses|leurs?|sus?) ", re.IGNORECASE)
SHORT = 8  # most blanks of a sentence that is also read as a whole
_PRONOUN = re.compile(
    r"^(?:it|that|this|them|those|him|her|das|es|ihn|sie|ça|cela|eso|lo|la)(?: (?:all|ages))?$",
    re.IGNORECASE,
)
_PRONOUNS = frozenset(
    {"it", "that", "this", "them", "those", "him", "her", "das", "es", "ihn", "lo"}
)
LONGEST = 12  # words that name something: a longer record says more than what ends
FEW, LEAST_SHARE = 7, 0.25  # of more words, so many in one clause
PLAINLY = 0.6  # of a record's words, where a denial says nothing of a change
# words that name something, in a clause that states something else
LEAST_STATED, LEAST_AT_PRESENT = 3, 1
LEAST_HEAD = 5  # letters of a word that ends a compound
LEAST_STEM = 6  # letters of a word that begins a compound
LEAST_BEGINNING = 7  # letters with which two forms of a word begin
USER: Final = frozenset({"", "user"})
OF_THE_THING: Final = frozenset({"thing", "activity", "left", "done"})
"""Kinds of ends after which statements that only name the ended thing stay true."""
TOPICS: Final = {
    "job": ("employer", "department"),
    "partner": ("partner",),
    "home": ("residence",),
    "diet": ("diet",),
    "study": ("study",),
}
STATES: Final = frozenset(
    {"pregnancy", "absence", "single", "search", "jobless", "parents", "fiance", "alone"}
)
"""States of a person that end when another state begins, such as being single."""
WEDDING: Final = "wedding"
STATE: Final = "state"
"""The kind of an end of a state."""
LIFTED: Final = "lifted"
"""The kind of an end of something that was avoided."""
OF_A_CLASS: Final = frozenset({"partner", "study", "job"}) | STATES
"""What an end may be about without naming it, if this is found by the words of a record, not only
by its topic.
"""
MOST_SAID = 4  # words of a record, among which its verb is
MAY_HAVE_A_TAIL: Final = frozenset({"activity", "left", "possession", "thing", "job"})
MENDED: Final = "mended"
"""The kind of an end of something that was broken or ill."""
SAYS: Final = {LIFTED: "bans", MENDED: "broken", "visit": "visits"}
"""By kind of end, the list of words of which a statement has one if such an end can concern it."""
DEEDS: Final = ("done", "task")
"""Kinds of ends of what somebody had to do: "I booked the trip" ends no trip."""
NEVER: Final = frozenset({"never", "nie", "niemals", "jamais", "nunca"})
HELD: Final = ("boss", "role_", "held_by_")
"""The topics whose value is a person with a role: "my boss"."""
ALLERGIC: Final = "allerg"
"""The beginning of every word for an allergy, in all languages that have words here."""
NOT_LEFT: Final = frozenset({"residence", "birthplace"})


@dataclass(frozen=True, slots=True)
class End:
    """A statement that something ended: the kind of end, the topic (if no words name it), and the
    words that name the thing that ended.
    """

    kind: str
    about: str | None
    words: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class _Cue:
    kind: str
    about: str | None
    pattern: str


@cache
def _cues() -> tuple[_Cue, ...]:
    return tuple(
        _Cue(entry["kind"], entry.get("about"), entry["pattern"])
        for entry in entries(PACKAGE, "ends")
    )


@cache
def _cue_pattern(number: int) -> re.Pattern[str]:
    return compiled(_cues()[number].pattern)


@cache
def _needed(number: int) -> Sequence[Sequence[str]]:
    """Return words, or parts of words, in lower case. A sentence that a cue matches has at least
    one of each set. They have no blanks, because times between two words are removed before.
    """
    sets = pieces_of(filled(PACKAGE, _cues()[number].pattern))
    return [list(map(_longest_word, pieces)) for pieces in sets]


def _longest_word(piece: str) -> str:
    return max(piece.split(), key=len, default="")


def _has_needed(number: int, sentence: str) -> bool:
    """Return whether a spoken sentence in lower case has the words that the cue needs."""
    return all(any(map(sentence.__contains__, pieces)) for pieces in _needed(number))


@cache
def _unreal() -> re.Pattern[str]:
    phrases = [phrase for file in word_files(PACKAGE).values() for phrase in file.get("unreal", ())]
    return compiled_lower(rf"\b(?:{'|'.join(phrases)})\b")


@cache
def _at_present() -> re.Pattern[str]:
    return compiled_lower(rf"\b(?:{'|'.join(entries(PACKAGE, 'at_present'))})\b")


@cache
def _number() -> re.Pattern[str]:
    return compiled("{number_words}")


def _never(clause: str) -> bool:
    """Return whether a clause says that something never was true."""
    return not NEVER.isdisjoint(lowered(clause).split())


@cache
def _owns() -> frozenset[str]:
    return frozenset(entries(PACKAGE, "owns"))


def owns_something(content: str) -> bool:
    """Return whether a statement says that somebody has something, which is not broken."""
    is_owned = not _owns().isdisjoint(_WORD.findall(spoken(content.casefold())))
    return is_owned and not _has(SAYS[MENDED], content)


@lru_cache(maxsize=64)
def ends_of(sentence: str) -> tuple[End, ...]:
    """Return the ends that a sentence states. A sentence that supposes, plans or asks
    states none.
    """
    numbers = _cues_that_may_match(sentence)
    if not numbers or is_question(sentence):
        return ()
    in_own_voice = spoken(sentence)
    if not is_rewritten(in_own_voice):
        lower = lowered(in_own_voice)
        numbers = [number for number in numbers if _has_needed(number, lower)]
    return tuple(_ends_by_clause(in_own_voice, numbers)) if numbers else ()


def _cues_that_may_match(sentence: str) -> Sequence[int]:
    """Return the numbers of the cues that may match a sentence, by its words. For a long sentence,
    cues of plain denials are left out. For a very long one, there are none.
    """
    blanks = sentence.count(" ")
    if blanks > MOST_BLANKS:
        return ()
    numbers = candidates("ends", spoken(sentence) if "user" in sentence else sentence)
    if blanks > MOST_PLAIN:
        numbers = [number for number in numbers if _cues()[number].kind != "plain"]
    return numbers if _has_any_needed(numbers, sentence) else ()


def _ends_by_clause(sentence: str, numbers: Sequence[int]) -> list[End]:
    """Return the ends that the clauses of a sentence state. A short sentence is also read as a
    whole, because a comma may separate a verb from its thing. Words such as "if" make what comes
    after them unreal, but not what comes before: "I left, because I couldn't pay".
    """
    ends: list[End] = []
    before = ""
    is_read_whole = "," in sentence and sentence.count(" ") < SHORT
    for clause in dict.fromkeys((*clauses(sentence), *([sentence] if is_read_whole else ()))):
        likely = _likely(clause, sentence, numbers)
        if likely and not _never(clause):
            found = _ends_of(spoken(clause), before, likely)
            ends += found if found and not _is_unreal_in(clause, sentence) else ()
        before = clause if _has_pronoun(sentence) else ""
    return ends


def _is_unreal_in(clause: str, sentence: str) -> bool:
    """Return whether a clause is unreal, by its own words or by words before it in its sentence."""
    place = sentence.find(clause)
    return is_unreal(sentence if place < 0 else sentence[: place + len(clause)])


def begins_state(sentence: str) -> bool:
    """Return whether a sentence ends a state by telling of the next one: "We got married", "I can
    eat nuts again".
    """
    return any(end.kind in (STATE, LIFTED) for end in ends_of(sentence))


def says_more(sentence: str) -> bool:
    """Return whether a sentence that ends something also states something else, as the second
    clause of "I closed my account and went to Monzo" does.
    """
    pieces = clauses(spoken(sentence))
    return any(
        _states(piece) and not ends_of(piece) for piece in pieces if _is_finest(piece, pieces)
    )


@cache
def _begun() -> re.Pattern[str]:
    return compiled(r"(?:{begun})")


def _is_finest(clause: str, pieces: Sequence[str]) -> bool:
    """Return whether none of the other pieces is a part of the clause."""
    return not any(piece != clause and piece in clause for piece in pieces)


def _states(clause: str) -> bool:
    """Return whether a clause gives a topic a value, has a name or a number, says that something
    has begun, or names several things. A clause with a word such as "now" needs to name fewer.
    """
    has_value = slot_of(clause) is not None or NAME_OR_NUMBER.search(clause) is not None
    has_value = has_value or _begun().match(clause) is not None
    least = LEAST_AT_PRESENT if _at_present().search(lowered(clause)) else LEAST_STATED
    return has_value or len(naming(clause)) >= least


def is_of_one_occurrence(text: str) -> bool:
    """Return whether a text says that something does not take place on one day: "the bus was
    cancelled today". What happens on other days too goes on.
    """
    return any_of("called_off").search(text) is not None and _on_one_day().search(text) is not None


@cache
def _on_one_day() -> re.Pattern[str]:
    return compiled(r"(?<!\w)(?<!as of )(?<!from )(?<!ab )(?<!desde )(?:{of_one_day})(?!\w)")


def is_unreal(text: str) -> bool:
    """Return whether a text supposes, plans or wishes."""
    return bool(_unreal().search(lowered(text)))


def _has_any_needed(numbers: Sequence[int], sentence: str) -> bool:
    """Return whether a sentence has the words that one of the cues needs. If the sentence must be
    rewritten first, return True.
    """
    if "(" in sentence or is_rewritten(sentence):
        return True
    lower = lowered(sentence)
    return any(_has_needed(number, lower) for number in numbers)


@lru_cache(maxsize=256)
def may_end(text: str) -> bool:
    """Return whether the text has one of the words that occur in every statement of an end."""
    return "user" in text or "ends" in groups_of(text)


def _likely(clause: str, sentence: str, numbers: Sequence[int]) -> Sequence[int]:
    """Return the cues of the sentence that may match the clause."""
    if clause == sentence:
        return numbers
    likely = candidates("ends", clause)
    return [number for number in numbers if number in likely] if likely else ()


def _has_pronoun(text: str) -> bool:
    return not _PRONOUNS.isdisjoint(_WORD.findall(text.lower()))


def _ends_of(clause: str, before: str, numbers: Sequence[int]) -> list[End]:
    """Return the ends that a clause states, by the cues with these numbers. A pronoun refers to the
    clause before. A plain denial with a time ("not today") ends nothing.
    """
    matches = list(_matches(clause, numbers))
    lasting = [number for number in numbers if _cues()[number].kind != "plain"]
    timeless = without_times(clause) if matches or lasting else clause
    if timeless != clause:
        matches = [pair for pair in matches if pair[0].kind != "plain"]
        matches += _matches(timeless, lasting)
    ends = list[End]()
    for cue, match in matches:
        groups = match.groupdict()
        named = " ".join(groups.get(group) or "" for group in GROUPS).strip()
        # A clause of "my sister and her boyfriend broke up" is "her boyfriend broke up".
        if clause.startswith(named) and _OF_ANOTHER.match(named):
            continue
        meant = _thing(before if _PRONOUN.match(named) else named)
        end = End(cue.kind, cue.about, meant, named)
        ends += [end] if end.words or end.about else []
        shorter = _thing(_without_tail(named)) if cue.kind in MAY_HAVE_A_TAIL else ()
        ends += [replace(end, words=shorter)] if shorter and shorter != meant else []
    return ends


def _thing(named: str) -> tuple[str, ...]:
    """Return the words that name an ended thing. Numbers alone name none: "we sold one"."""
    words = naming(named)
    return () if all(map(_number().fullmatch, words)) else words


@cache
def _tail() -> re.Pattern[str]:
    return compiled(r"(?<=\w) (?:(?P<clause>{clause_tails})|{tails})\b(?P<rest>.*)$")


def _without_tail(named: str) -> str:
    """Return the name of the ended thing without words on when or why it ended, unless they name
    somebody. A further clause may name anybody.
    """
    tail = _tail().search(named)
    names_somebody = tail is not None and any(word[:1].isupper() for word in tail["rest"].split())
    if tail is None or (names_somebody and not tail["clause"]):
        return named
    return named[: tail.start()]


def _matches(text: str, numbers: Sequence[int]) -> Iterator[tuple[_Cue, re.Match[str]]]:
    for number in numbers:
        match = _cue_pattern(number).match(text)
        if match:
            yield _cues()[number], match


def is_ended(record: Record, by: Sequence[End], *, subject: str | None = None) -> bool:
    """Return whether one of these ends is the end of the record. `subject` is whom the statement of
    the ends is about. An end of a record's ground is not its own end.
    """
    record = replace(record, content=without_grounds(record.content))
    return any(
        _ends(end, record, subject)
        and not _says_so(record, end)
        and not _is_in_passing(end, record)
        for end in by
    )


def _is_in_passing(end: End, record: Record) -> bool:
    """Return whether a record names the ended thing only in passing, or only supposes something."""
    if end.kind == "plain":
        return is_unreal(spoken(record.content))
    return end.kind in OF_THE_THING and is_only_beside(end.words, record.content)


def _says_so(record: Record, end: End) -> bool:
    """Return whether a record itself says that the thing has ended."""
    return end.kind not in SAYS and any(
        end_of_record.kind not in (LIFTED, *DEEDS)
        and not set(end.words).isdisjoint(end_of_record.words)
        for end_of_record in ends_of(record.content)
    )


def _ends(end: End, record: Record, subject: str | None) -> bool:
    slot = slot_of(record.content)
    known = slot.topic if slot else record.topic_key or ""
    if not end.words:
        return _is_about(end, known, record)
    named = naming(record.content)
    if not 0 < len(named) <= LONGEST or record.type == "instruction":
        return False
    is_of_one = record.subject not in USER and record.subject == subject
    if not is_of_one and not _is_of(end, record):
        return False
    if not _is_of_kind(end, known, record):
        return False
    if not _names_all(end.words, named, record.content, topic=known):
        return _denies_value(end, record)
    return _share_of_record(end, record, named) >= (PLAINLY if end.kind == "plain" else LEAST_SHARE)


def _names_all(ended: Sequence[str], named: Sequence[str], content: str, *, topic: str) -> bool:
    """Return whether a record names all of the ended thing. Words such as "course" may be others in
    the record: "I dropped the Italian course" and "I'm learning Italian". A word of the class of
    the record's topic names its value: "car", for "I have a Toyota".
    """
    missing = [
        word
        for word in ended
        if not (_is_named(word, named) or topic in classes(word) or shortens(word, content))
    ]
    return len(missing) < len(ended) and all(goes_with(word, content) for word in missing)


def shortens(word: str, content: str) -> bool:
    """Return whether a content has a name of several parts that begins with this word: "Mongo", for
    "MongoDB".
    """
    return any(folded(match[1]) == word for match in _OF_PARTS.finditer(content))


def names_share(ends: Sequence[End], named: Sequence[str], content: str) -> float:
    """Return the largest share (0..1) of an ended thing's words that a record names."""
    shares = (_share_named(end.words, named, content) for end in ends if end.words)
    return max(shares, default=0.0)


def _share_named(ended: Sequence[str], named: Sequence[str], content: str) -> float:
    return sum(_is_named(word, named) or goes_with(word, content) for word in ended) / len(ended)


def _is_named(word: str, named: Sequence[str]) -> bool:
    """Return whether a record names a thing by this word, by a compound that begins or ends with
    it, or by a word with the same long beginning: "Konto" in "Tagesgeldkonto", "bénévolat" and
    "bénévole".
    """
    if is_meant_by(word, named):
        return True
    return len(word) >= LEAST_HEAD and any(
        other.endswith(word)
        or word[:LEAST_BEGINNING] == other[:LEAST_BEGINNING]
        or (len(word) >= LEAST_STEM and other.startswith(word))
        for other in named
    )


def _share_of_record(end: End, record: Record, named: Sequence[str]) -> float:
    """Return the share of a record's words that the end names. For a `plain` end, all words of the
    record count. For other ends, the share is 1 if the record is short or the end names the value
    of its topic, else the largest share in any of its clauses.
    """
    if end.kind == "plain":
        return _share(named, end)
    if len(named) <= FEW or _is_a_value(end, record):
        return 1.0
    return max(_share(naming(part), end) for part in clauses(record.content))


def _is_a_value(end: End, record: Record) -> bool:
    """Return whether the ended thing is the value of the record's topic: "Tesco", for "I work at
    Tesco head office as an analyst".
    """
    slot = slot_of(record.content)
    return slot is not None and all(is_meant_by(word, slot.value) for word in end.words)


def _share(named: Sequence[str], end: End) -> float:
    """Return the share of the words that the end names."""
    return sum(is_meant_by(word, end.words) for word in named) / max(1, len(named))


_WORD = re.compile(r"\w+")
_OF_PARTS = re.compile(r"\b([A-ZÀ-Þ][a-zß-ÿ]+)(?=[A-Z][A-Za-z]*\b)")


def _is_of_kind(end: End, topic: str, record: Record) -> bool:
    """Return whether an end of this kind can concern a record of this topic."""
    content = record.content
    if end.kind in SAYS:
        return _has(SAYS[end.kind], content)
    match end.kind:
        case "left":
            may_end = topic not in NOT_LEFT
        case "possession":
            may_end = not _owns().isdisjoint(_WORD.findall(spoken(content).casefold()))
        case "done" | "task":
            is_in_progress = end.kind == "done" and _has("in_progress", content)
            may_end = record.type == "task" or is_in_progress
        case "trip":
            may_end = _visit().match(spoken(content)) is not None
        case "holder":
            may_end = topic.startswith(HELD)
        case _:
            may_end = not _is_of_an_allergy(content, end)
    return may_end


def _is_of_an_allergy(content: str, end: End) -> bool:
    """Return whether a record is about an allergy and an end is not. Who eats no fish any more may
    still be allergic to it.
    """
    return ALLERGIC in lowered(content) and ALLERGIC not in lowered(end.text)


def _has(name: str, content: str) -> bool:
    """Return whether a statement has words of the list of this name."""
    return any_of(name).search(spoken(content)) is not None


@cache
def _visit() -> re.Pattern[str]:
    return compiled(
        r"(?:i|we) (?:am|are) (?:\w+ )?(?:in|at|on|visiting|staying)\b(?!.*\b(?:live|work))"
    )


def _is_about(end: End, topic: str, record: Record) -> bool:
    if end.about is None:
        return False
    if end.about == WEDDING:  # only one that is still to come
        is_to_come = tense_of(record.content) != "past"
        return is_to_come and is_own(record) and _has("marrying", record.content)
    if topic in TOPICS.get(end.about, ()):
        return (record.subject or "") in USER or end.about == "partner"
    if end.about not in OF_A_CLASS or record.type == "instruction" or not is_own(record):
        return False
    content = lowered(record.content)
    return any(
        end.about in classes(word) and f"{word} of" not in content  # "sick of the heat"
        for word in naming(record.content)[:MOST_SAID]
    )


def is_own(record: Record) -> bool:
    """Return whether a record is about the user or the user's partner."""
    return (record.subject or "") in USER or "partner" in classes(record.subject or "")


def _is_of(end: End, record: Record) -> bool:
    """Return whether an end can concern a record about this subject."""
    subject = (record.subject or "").casefold()
    if subject in USER:
        return True
    if any(is_alike(word, subject) for word in end.words) or "partner" in classes(subject):
        return True
    names = {word.casefold() for word in re.findall(r"(?<=\s)[A-ZÀ-Þ]\w+", record.content)}
    return all(word in names for word in end.words)


def _denies_value(end: End, record: Record) -> bool:
    """Return whether an end denies the value of the record's topic, in words other than the
    record's.
    """
    if end.kind not in ("denial", "plain") or not end.text:
        return False
    denied = slot_of(f"I {end.text}") or slot_of(f"I am {end.text}")
    stated = slot_of(record.content)
    return (
        denied is not None
        and stated is not None
        and (denied.topic, denied.value) == (stated.topic, stated.value)
    )
