"""Reduces a sentence to its meaning: first person, without opening words and times, as the words
that name something.
"""

from __future__ import annotations

# ruff: noqa: RUF001 - marks of many languages
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import takewhile
from operator import eq
from typing import Any, Final

from palimpsest.text.analyser import function_words, words
from palimpsest.text.folding import folded
from palimpsest.text.triggers import Triggers, lowered, places
from palimpsest.text.word_files import entries, filled, filled_words, word_files

PACKAGE: Final = "palimpsest.memory.meaning"
MOST = 300  # most characters of a sentence that is read
NAME_OR_NUMBER = re.compile(r"(?<=\w )(?!I\b)[A-ZÀ-Þ]\w|\d")
LEAST_SHARED = 3  # letters that two forms of a word must share
_ENDS = " \t\n.!¡¿…,;:-–—*\"'”“„"
_PUNCTUATION = re.compile(
    r"(?<!\bDr)(?<!\bMr)(?<!\bSt)(?<!\bMrs)[,;:.!?–—]\s+|\s+[-–—]\s+|\s+[:;]-?[()/DP]+\s+"
)
# Dates that the service wrote beside relative ones.
_DATES = re.compile(r" \([^()]{0,20}\d{4}-\d\d[^()]{0,20}\)")
_REWRITTEN = re.compile(
    r"['’‘]|\b(?:user|any more|Im|cannot|hab|nen|ne"
    r"|(?:do|does|did|is|are|was|were|have|has|had|would|could|should)nt"
    r"|ich \w+[^\We]|\w+[^\We] ich)\b",
    re.IGNORECASE,
)
_EVERYWHERE = frozenset({"i", "ich", "je", "j", "my", "that", "let", "should", "it", "c"})
"""Words that begin too many sentences. Phrases that begin with them are found by another word."""
_SINCE = re.compile(
    r"\b(?:since|seit|depuis|desde) (?!.*\b(?:kein\w*|nicht|nie|not|no|ya|plus|jamais)\b)"
    r"(?:(?:hace )?(?:\w+ ){1,2}?(?:jahre?n?|monate?n?|wochen?|tage?n?|ans?|mois|semaines?|jours?"
    r"|años?|mes(?:es)?|semanas?|días?)\b|[\w' ]{1,30}$)",
    re.IGNORECASE,
)
_TAIL = re.compile(r"(?:[\s,]+(?:btw|lol|haha|[:;]-?[()/D]+|<3|[\U0001f300-\U0001faff]+))+$")
_LAST_OF_TAILS, _EMOJI = frozenset("wla()/D3"), "\U0001f300"
_CAPITALS = re.compile(r"(?<!\\)[A-ZÀ-Þ]")
_DIGIT = re.compile(r"\d")
_FIRST = re.compile(r"[^\W_]+")
_ANYTHING, _VARIES = re.compile(r"\.\{[\d,]*\}"), re.compile(r"[()|\[\]?*+]")
_PAIRS = (frozenset({"", "n"}), frozenset({"", "r"}), frozenset({"", "d"}), frozenset({"y", "ied"}))
"""Endings of two forms of one word: "live" and "lived", "manage" and "manager"."""
_INFLECTIONS = frozenset(
    {
        "",
        "e",
        "s",
        "es",
        "en",
        "ing",
        "ed",
        "er",
        "ar",
        "ir",
        "o",
        "as",
        "a",
        "t",
        "te",
        "st",
        "ais",
    }
)


def shared(name: str) -> Any:
    """Return a field of `shared.json`, whose words belong to no language."""
    return word_files(PACKAGE)["shared"][name]


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Return the pattern with its pieces filled in, for a text in any case."""
    return re.compile(filled(PACKAGE, pattern), re.IGNORECASE)


@cache
def compiled_lower(pattern: str) -> re.Pattern[str]:
    """Return the pattern with its pieces filled in, for a text in lower case. A case-sensitive
    search takes a fraction of the time.
    """
    return re.compile(_CAPITALS.sub(lambda capitals: capitals[0].lower(), filled(PACKAGE, pattern)))


_VERB_LAST: Final = frozenset({"ich", "wir"})  # beginnings of clauses whose verb is the last word
SLOT_FORMS: Final = ("slots", "many", "each")


@cache
def _groups() -> tuple[Triggers, Mapping[str, tuple[int, int]]]:
    """Return the triggers of all groups in one structure, so that a sentence is searched once. For
    each group, also return where its patterns begin, and a mask with a bit for each pattern.
    """
    leaning = [file["leaning"] for file in word_files(PACKAGE).values() if "leaning" in file]
    groups: dict[str, list[list[str]]] = {
        "slots": [triggers(entry) for _, _, entry in slot_entries()],
        "ends": [triggers(entry) for entry in entries(PACKAGE, "ends")],
        "corrections": [triggers(entry) for entry in entries(PACKAGE, "corrections")],
        "transitions": [triggers(entry) for entry in entries(PACKAGE, "transitions")],
        "finds": [triggers(entry) for entry in entries(PACKAGE, "finds")],
        "switches": [triggers(entry) for entry in entries(PACKAGE, "switches")],
        "signals": [_listed_first("signals")],
        "leaning": [leaning_words["words"] for leaning_words in leaning],
    }
    parts, every = dict[str, tuple[int, int]](), list[list[str]]()
    for name, those in groups.items():
        parts[name] = len(every), (1 << len(those)) - 1
        every += those
    return Triggers(every, asked_together=True), parts


def slot_entries() -> list[tuple[str, str, Any]]:
    """Return the phrases that give a topic a value, each with its form and the topic's name."""
    return [
        (form, name, entry)
        for form in SLOT_FORMS
        for file in word_files(PACKAGE).values()
        for name, listed in file.get(form, {}).items()
        for entry in listed
    ]


def candidates(group: str, text: str) -> Sequence[int]:
    """Return the numbers of the group's patterns that may match the text."""
    return groups_of(text).get(group, ())


@lru_cache(maxsize=256)  # each reader of a sentence asks whether it has anything to read
def groups_of(text: str) -> Mapping[str, Sequence[int]]:
    """Return the groups with a pattern that may match the text, each with the numbers of these
    patterns. A text without groups needs no further reading.
    """
    mask = _groups()[0].mask(text)
    return _divided(mask) if mask else {}


@lru_cache(maxsize=4096)
def _divided(matches: int) -> Mapping[str, Sequence[int]]:
    by_group = {name: matches >> start & mask for name, (start, mask) in _groups()[1].items()}
    return {name: places(numbers) for name, numbers in by_group.items() if numbers}


def _listed_first(*names: str) -> list[str]:
    return [
        word
        for file in word_files(PACKAGE).values()
        for name in names
        for phrase in file.get("lists", {}).get(name, ())
        for word in first_words(phrase)
        if word.rstrip("*") not in _EVERYWHERE
    ]


@cache
def _beginnings(*names: str) -> tuple[frozenset[str], tuple[str, ...]]:
    listed = _listed_first(*names)
    return (
        frozenset(word for word in listed if not word.endswith("*")),
        tuple(word[:-1] for word in listed if word.endswith("*")),
    )


def begins_with(text: str, *names: str) -> bool:
    """Return whether the text's first word begins a phrase of one of these lists."""
    first = _FIRST.search(text)
    if first is None:
        return False
    word = lowered(first[0])
    words_, beginnings = _beginnings(*names)
    return word in words_ or word.startswith(beginnings)


def triggers(entry: Any) -> list[str]:
    """Return words that a text must have to match the entry: at least one of them. A word that ends
    with "*" is a beginning of a word. A pattern in the list contributes only its first letters.
    """
    return [
        trigger for word in filled_words(PACKAGE, entry["words"]) for trigger in _plain_words(word)
    ]


def _plain_words(word: str) -> Iterator[str]:
    beginning = re.match(r"[^\W_]+", word)
    if beginning is None:
        return
    if beginning[0] == word or word == beginning[0] + "*":
        yield word
    elif len(beginning[0]) > LEAST_SHARED:
        yield beginning[0][:-1] + "*"
    else:
        yield beginning[0] + "*" if len(beginning[0]) == LEAST_SHARED else beginning[0]


def first_words(phrase: str) -> list[str]:
    """Return the word, or beginning of a word, that a phrase of a list begins with."""
    plain = re.sub(r"\(\?:[^()]*\)\?|\(\?:|\)", " ", phrase).split()
    return [trigger for word in plain[:1] for trigger in _plain_words(word)]


@cache
def _rewrites() -> Sequence[tuple[re.Pattern[str], str, str]]:
    """Return the short forms that are written out. Each has a pattern, its full text, and letters
    in lower case that every match has.
    """
    return [
        (re.compile(pattern, re.IGNORECASE), text, has)
        for pattern, text, has in entries(PACKAGE, "spoken")
    ]


@cache
def _replacements(field: str) -> Sequence[tuple[re.Pattern[str], str, str]]:
    """Return the entries of a field: a pattern, its text, and letters in lower case that every
    match has.
    """
    return [(compiled(pattern), text, has) for pattern, text, has in entries(PACKAGE, field)]


def restated(sentence: str) -> str:
    """Return a sentence about a change as a sentence about the new state: "I switched my bank to
    Monzo" becomes "my bank is Monzo".
    """
    lower = sentence.lower()
    for pattern, by, has in _replacements("restated"):
        if has in lower and (match := pattern.match(sentence)):
            return match.expand(by)
    return sentence


def after(pattern: re.Pattern[str], text: str) -> str:
    """Return the text without the match of the pattern at its beginning."""
    match = pattern.match(text)
    return text[match.end() :] if match else text


@cache
def _openers() -> re.Pattern[str]:
    return compiled(r"^(?:\W*\b(?:{openers})\b[,:.!]*\s+)+(?=\w|\*)")


@cache
def _owned() -> Sequence[tuple[re.Pattern[str], str]]:
    """Return, for each language, a pattern of the things that speakers own, and the word for "my".
    The pattern is for the beginning of a sentence without that word.
    """
    owned = [
        ("|".join(file["lists"]["owned"]), file["my"])
        for file in word_files(PACKAGE).values()
        if "owned" in file.get("lists", {})
    ]
    return [
        (re.compile(rf"^(?:{things})(?=(?:['’]s)? \w)", re.IGNORECASE), word)
        for things, word in owned
    ]


_ARTICLE = re.compile(r"^(?:the|der|die|das|le|la|les|el|los|las) ", re.IGNORECASE)


def _with_owner(sentence: str) -> str:
    """Return the sentence with "my" before the relative, animal or thing that begins it: "wife's a
    nurse", "the car is a Corsa".
    """
    for pattern, word in _owned():
        if pattern.match(sentence):
            return f"{word} {_ARTICLE.sub('', sentence)}"
    return sentence


@lru_cache(maxsize=64)
def spoken(text: str) -> str:
    """Return the sentence in the user's voice, without contractions and opening words. A relative,
    animal or thing of the user's has "my" before it.
    """
    sentence = (_DATES.sub("", text[:MOST]) if "(" in text else text[:MOST]).strip()
    if is_rewritten(sentence):
        lower = sentence.lower().replace("\u2019", "'")
        for pattern, by, has in _rewrites():
            sentence = pattern.sub(by, sentence) if has in lower else sentence
    if begins_with(sentence, "openers"):
        sentence = after(_openers(), sentence)
    sentence = _with_owner(" ".join(sentence.split()))
    last = sentence[-1:]
    has_tail = last in _LAST_OF_TAILS or last >= _EMOJI
    return (_TAIL.sub("", sentence) if has_tail else sentence).strip(_ENDS)


def of_several_people(sentence: str) -> str:
    """Return the sentence with "we" in place of people such as "my wife and I"."""
    lower = sentence.lower()
    for pattern, by, has in _replacements("jointly"):
        if has in lower:
            sentence = pattern.sub(by, sentence)
    return sentence


def is_rewritten(text: str) -> bool:
    """Return whether a text may have short forms to write out."""
    return _may_be_rewritten(lowered(text)) and _REWRITTEN.search(text) is not None


def _may_be_rewritten(lower: str) -> bool:
    """Return whether a text may hold a short form. It is faster than trying all patterns."""
    return (
        "'" in lower
        or "’" in lower
        or "‘" in lower
        or "user" in lower
        or "im" in lower
        or "any more" in lower
        or "cannot" in lower
        or "nt " in lower
        or "hab " in lower
        or "ich " in lower
        or " ich" in lower
        or " ne " in lower
        or " nen " in lower
    )


@cache
def _times() -> re.Pattern[str]:
    heads, middles, nouns = shared("time_heads"), shared("time_middles"), shared("time_nouns")
    day = r"(?:{weekdays}|{months}|{seasons}|(?:19|20)\d\d)"
    return compiled_lower(
        rf"(?<!\w)(?:(?:{heads} )?(?:{middles} )*{day}(?: (?:19|20)\d\d)?"
        rf"|(?:{heads} )*(?:{middles} )+{nouns}|(?:{heads} )?(?:the )?\d\d?(?:st|nd|rd|th|\.)"
        r"(?: of)?(?: {months})?(?: (?:19|20)\d\d)?"
        rf"|(?:vor|hace|il y a) \w+ {nouns}|(?:\d+|an?|two|three|a few|several) {nouns} ago"
        rf"|(?:{heads} )?(?:{{time_words}}))(?!\w)"
    )


@cache
def _words_of_times() -> frozenset[str]:
    """Return words of which every text with a time has at least one, unless it has a number."""
    phrases = [
        phrase
        for file in word_files(PACKAGE).values()
        for name in ("weekdays", "months", "seasons", "time_words")
        for phrase in file.get("lists", {}).get(name, ())
    ]
    phrases += [shared("time_nouns"), "since", "seit", "depuis", "desde"]
    needed = {word for phrase in phrases for word in _words_needed(phrase.lower())}
    plurals = {f"{word}s" for word in needed} | {
        word.rstrip("s") for word in needed if len(word) > LEAST_SHARED
    }
    return frozenset(needed | plurals)


def _words_needed(phrase: str) -> Sequence[str]:
    """Return words of which each match of a phrase has at least one. For a plain phrase, this is
    its longest word.
    """
    plain = _ANYTHING.sub("", phrase)
    literal = _FIRST.findall(re.sub(r"(\w)\?", r"\1", plain))
    if _VARIES.search(plain):
        return [word for word in literal if len(word) > 1]
    return [max(literal, key=len)]


@lru_cache(maxsize=64)
def without_times(text: str) -> str:
    """Return the text without its expressions of time."""
    if _words_of_times().isdisjoint(_FIRST.findall(text.lower())) and not _DIGIT.search(text):
        return text
    left = _SINCE.sub("", text)
    for match in reversed(list(_times().finditer(lowered(left)))):
        left = f"{left[: match.start()]} {left[match.end() :]}"
    return " ".join(left.split()).strip(_ENDS)


@cache
def _present() -> re.Pattern[str]:
    return compiled(r",? ?(?<!\w)(?:{present})(?!\w),?")


@cache
def _words_of_present() -> frozenset[str]:
    """Return words of which every text that says "now" has at least one."""
    lists = (file.get("lists", {}).get("present", ()) for file in word_files(PACKAGE).values())
    return frozenset(
        word for phrases in lists for phrase in phrases for word in _FIRST.findall(phrase)
    )


@lru_cache(maxsize=64)
def without_present(text: str) -> str:
    """Return the text without words such as "now" or "from now on". It is returned unchanged if it
    has none, or nothing else.
    """
    if _words_of_present().isdisjoint(_FIRST.findall(text.lower())):
        return text
    left = " ".join(_present().sub(" ", text).split()).replace(" .", ".").replace(" !", "!")
    if left == text or not any(map(str.isalnum, left)):
        return text
    return left[0].upper() + left[1:]


@cache
def empty_words() -> frozenset[str]:
    """Return the folded words that name nothing."""
    return function_words() | frozenset(map(folded, entries(PACKAGE, "empty")))


@lru_cache(maxsize=256)
def naming(text: str) -> tuple[str, ...]:
    """Return the words of the text that name something, folded, in order."""
    plain = spoken(text).replace("-", " ").replace("’", " ").replace("'", " ")
    terms = words(without_times(plain))
    empty = empty_words()
    return tuple(dict.fromkeys(word for word in terms if word not in empty))


@cache
def _names_by_word(field: str) -> Mapping[str, frozenset[str]]:
    """Return, for each folded word, the names of the lists of a field that contain the word."""
    names_by_word: dict[str, set[str]] = {}
    for file in word_files(PACKAGE).values():
        for name, those in file.get(field, {}).items():
            for word in those:
                names_by_word.setdefault(_key(word), set()).add(name)
    return {word: frozenset(names) for word, names in names_by_word.items()}


def _key(word: str) -> str:
    """Return the folded word, unless that is a word of another kind: French "thé" keeps its accent,
    because "the" is an article in English.
    """
    plain = folded(word)
    return word if plain != word and plain in function_words() else plain


def classes(word: str) -> frozenset[str]:
    """Return the classes of things that a word is in: "car" and "drive" are both in "vehicle"."""
    return _names_by_word("classes").get(word, frozenset())


def goes_with(word: str, text: str) -> bool:
    """Return whether a text has a word that may be said in place of this one, if both texts also
    name the same thing. "Account" in "my Barclays account" goes with "bank" in "I bank with
    Barclays".
    """
    companions = _names_by_word("companions")
    own = companions.get(word)
    if own is None:
        return False
    return any(not own.isdisjoint(companions.get(other, ())) for other in words(text))


def fields_of(text: str) -> frozenset[str]:
    """Return the names of the fields of life that the words of a text belong to. Both "vet" and
    "ewes" belong to the field that is named "vet".
    """
    known, fields = _names_by_word("fields"), set[str]()
    for word in _FIRST.findall(text):
        key = _key(word.lower())
        fields |= known.get(key) or known.get(key.rstrip("s"), frozenset())
    return frozenset(fields)


def rests(word: str, other: str) -> tuple[str, str]:
    """Return the rest of each word after their common beginning. If that beginning is too short,
    return both words unchanged.
    """
    both = sum(takewhile(bool, map(eq, word, other)))
    return (word[both:], other[both:]) if both >= LEAST_SHARED else (word, other)


def is_alike(word: str, other: str) -> bool:
    """Return whether two folded words are forms of the same word."""
    ends = set(rests(word, other))
    is_number = word[:1].isdigit() and word.rstrip("s") == other.rstrip("s")
    return word == other or is_number or ends <= _INFLECTIONS or ends in _PAIRS


@cache
def any_of(name: str) -> re.Pattern[str]:
    """Return a pattern of the words of a list, as whole words."""
    return compiled(rf"(?<!\w)(?:{{{name}}})(?!\w)")


def is_meant_by(word: str, others: Sequence[str]) -> bool:
    """Return whether one of the other words is a form of the word, or is in the same class."""
    own = classes(word)
    return any(is_alike(word, other) or bool(own & classes(other)) for other in others)


@cache
def _splits() -> re.Pattern[str]:
    return compiled(rf"\s+{shared('splits')}\s+")


def clauses(sentence: str) -> list[str]:
    """Return the clauses of a sentence. It is split at punctuation marks, then at conjunctions."""
    parts = [part.strip(_ENDS) for part in _PUNCTUATION.split(sentence)]
    finer = [piece for part in parts for piece in _splits().split(part) if piece != part]
    return [part for part in dict.fromkeys((*parts, *finer)) if part]


@cache
def _grounds() -> re.Pattern[str]:
    spanish = "vivo|vivimos|trabajo|tengo|tenemos|soy|somos|estoy|estamos"
    own = rf"(?=(?:{{clause_subjects}}|my|our|mein\w*|mon|ma|mi|{spanish})(?!\w)|j['’])"
    return compiled(
        rf"^\W*(?:{{ground_words}}) {own}[^,]{{2,}}, (?=\w)"
        rf"|^\W*because of [\w' ]{{2,30}}?,? {own}"
        rf"|,? (?:{{ground_words}}) {own}[^.;!?]*"
    )


@cache
def _ground_words() -> frozenset[str]:
    """Return the first words of all phrases with which a ground begins."""
    return frozenset(phrase.split()[0] for phrase in filled_words(PACKAGE, ["{ground_words}"]))


@lru_cache(maxsize=256)
def without_grounds(text: str) -> str:
    """Return a statement without the clause that names its ground: "I pay 12 pounds" for "Since I
    live in Leeds, I pay 12 pounds".
    """
    if _ground_words().isdisjoint(_FIRST.findall(lowered(text[:MOST]))):
        return text
    left = _grounds().sub("", text[:MOST], count=1).strip()
    return text if left == text or len(left.split()) <= 1 else left[0].upper() + left[1:]


def ground_in(text: str) -> str:
    """Return the clause that names the ground of a statement, such as "I live in Leeds"; empty if
    there is none.
    """
    match = _grounds().search(text[:MOST]) if without_grounds(text) != text else None
    clause = _after_ground_word().sub("", match[0], count=1).strip(" ,.") if match else ""
    begins, *rest = clause.split() or [""]
    if begins.casefold() in _VERB_LAST and rest:
        return " ".join((begins, rest[-1], *rest[:-1]))
    return clause


@cache
def _after_ground_word() -> re.Pattern[str]:
    return compiled(r"^\W*(?:{ground_words}) ")
