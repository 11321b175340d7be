"""Reads corrections of earlier words ("I meant Bremen"), and corrects a memory's content."""

from __future__ import annotations

# ruff: noqa: RUF001 - marks of many languages
import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache, lru_cache
from itertools import pairwise

from palimpsest.memory.meaning.fitting import (
    denies_in_english,
    form_of,
    in_a_label,
    is_short,
    is_year,
    number_or_day,
)
from palimpsest.memory.meaning.reading import (
    PACKAGE,
    after,
    begins_with,
    candidates,
    compiled,
    groups_of,
    shared,
    spoken,
)
from palimpsest.memory.meaning.slots import slot_of
from palimpsest.text.analyser import function_words, words
from palimpsest.text.folding import folded
from palimpsest.text.word_files import entries

MOST_WORDS = 4  # of a value that is corrected
MOST_TAILED = 8  # words of a statement whose last words are corrected
MOST_OF_OBJECT = 2  # words of the only value of a statement
MOST_AGAIN = 6  # words of a phrase that is begun again
FEW_WORDS = 3  # of a correction that only a word such as "sorry" marks
ALIKE, CLEARLY_ALIKE = 0.7, 0.8  # how alike two spellings of one word must be
LEAST_WORD = 4  # letters of a word that can be misspelled
_IN_NUMBER = r"(?<=\d) (?=\d{3}\b)|(?<=\d\d) (?=\d\d)"  # "1 250", "06 12 34 56 78"
_TOKEN = re.compile(rf"[^\W_](?:[\w.'’:/-]|(?<=\d),(?=\d)|{_IN_NUMBER})*[^\W_]|[^\W_]")
_GAPS = re.compile(_IN_NUMBER)
_COMMA = re.compile(r",(?!\d)")
_STARRED = re.compile(r"^\*(?P<new>[^*\s][^*]{1,40})\*?$|^(?P<other>[^*\s]{2,40})\*$")
_UNIT = re.compile(r"(?i)^(?:[ap]\.?m\.?|uhr|o'clock|h|floor|st|nd|rd|th|of|\d+|[%€$]|euros?)$")
FIRST_PART = 40  # characters
_MARKED = re.compile(r"[,;:.!–—-]")
_PART = re.compile(r"[,;–—]\s+|\s-\s+")
_SPEAKS = re.compile(r"(?i)(?:i|ich|je|da|das|that|my|mein) (?!have\b|'|am\b|live\b|work\b)")
_MARKS = frozenset(",:.!–—-")
_ENDS = " \t.!,;:-–—()\"'”“„"


@dataclass(frozen=True, slots=True)
class Correction:
    """A correction: a new value, and the old value if the user named it. `is_meant` is true if the
    words are certainly a correction, `is_bare` if they are a value alone.
    """

    new: str
    old: str | None = None
    is_meant: bool = True
    is_bare: bool = False


@lru_cache(maxsize=256)
def may_correct(text: str) -> bool:
    """Return whether the text has one of the words and marks that occur in corrections. Corrections
    that are marked by a star are the exception.
    """
    groups = groups_of(text)
    return (
        "signals" in groups
        or "corrections" in groups
        or "->" in text
        or "→" in text
        or text.startswith("s/")
    )


@cache
def _signal() -> re.Pattern[str]:
    return compiled(r"(?<!\w)(?:{signals})(?!\w)[,:.! ]*")


@cache
def _signals_first() -> re.Pattern[str]:
    return compiled(r"^(?:(?:{signals}|{weak_signals}|{openers})(?!\w)[,:.!\s–—-]*)+")


@cache
def _last_signals() -> re.Pattern[str]:
    words_ = r"instead|rather|plutôt|stattdessen|mejor|sorry|i meant?|typo|perdón|pardon"
    return compiled(
        rf",?\s+(?:{words_})$|"
        r"(?:\s*[,;:.!(–—-]+\s*(?:{signals})(?!\w)[,:.!)]*|(?<=^\S) (?:{signals}))+$"
    )


@cache
def _marked_signals() -> re.Pattern[str]:
    return compiled(
        r"^(?:(?:{signals}|{openers})\s*[,:.!;–—-]+\s*|(?:sorry|typo|oops|correction|pardon|perdón|desolée?"
        r"|korrektur|tippfehler) )+"
    )


@cache
def _weak() -> re.Pattern[str]:
    return compiled(r"^(?:(?:{weak_signals}) )+")


def without_signals(text: str) -> str:
    """Return the text without opening words such as "no, that's wrong"."""
    if not may_correct(text) or not _MARKED.search(text, 0, FIRST_PART):
        return text
    if not begins_with(text, "signals", "openers") and not _SPEAKS.match(text):
        return text
    rest = after(_signals_first(), text)
    return rest[0].upper() + rest[1:] if len(words(rest)) > 1 else text


@cache
def _forms() -> tuple[str, ...]:
    return tuple(entry["pattern"] for entry in entries(PACKAGE, "corrections"))


@cache
def _glue() -> re.Pattern[str]:
    return compiled(rf"^(?:{shared('prepositions')}\s+)+(?=\w)")


@lru_cache(maxsize=64)
def correction_of(text: str) -> Correction | None:
    """Return the correction if the whole text is one, else None."""
    starred = _STARRED.match(text.strip()) if "*" in text else None
    if starred:
        new = _COMMA.split(starred["new"] or starred["other"])[0]
        return Correction(new.strip(_ENDS), is_meant=True)
    if _is_bare_value(text):
        return Correction(text.strip(_ENDS), is_meant=False, is_bare=True)
    if not may_correct(text) or text.count(" ") >= 3 * MOST_WORDS or "?" in text:
        return _spelled(text)
    return _with_signals(text)


def _with_signals(text: str) -> Correction | None:
    """Return the correction in a text that has a word of corrections."""
    sentence = spoken(text)
    if _MEANT_NOTHING.search(sentence):
        return None
    marked = after(_marked_signals(), sentence).strip(_ENDS)
    left = _after_clear_signals(text.strip())
    marked = marked if left is None else spoken(left).strip(_ENDS)
    bare = after(_signals_first(), sentence).strip(_ENDS)
    for tried in dict.fromkeys((sentence, marked, bare)):
        for number in candidates("corrections", text):
            match = compiled(_forms()[number]).match(tried)
            if match and (made := _correction(match)) and not _is_no_value(match):
                return made
    rest = _last_signals().sub("", marked).strip(_ENDS)
    rest = _without_excuses(after(_weak(), rest))
    is_marked = rest != sentence.strip(_ENDS) or left is not None
    if is_marked and _is_short_value(rest):
        return Correction(rest, is_meant=_strong().match(text.strip()) is not None)
    return _at_the_end(text, sentence)


def _is_no_value(match: re.Match[str]) -> bool:
    """Return whether a match has an English "no" before words that name no old value."""
    old = match.groupdict().get("old")
    return old is not None and form_of(old) == "words" and denies_in_english(match)


def _is_short_value(text: str) -> bool:
    is_short = bool(text) and len(words(after(_glue(), text))) <= FEW_WORDS
    return is_short and _is_value(text) and _is_whole_name(text)


@cache
def _bare_value() -> re.Pattern[str]:
    return compiled(
        r"(?:(?:at|on|um|am|à|le|el|a las) )?(?:the |den )?(?:{any_value})(?: (?:am|pm|uhr))?"
    )


def _is_bare_value(text: str) -> bool:
    """Return whether the text is only a day, a time or a number. Right after a statement with
    another such value, it is a correction.
    """
    value = text.strip(_ENDS)
    is_short = value.count(" ") < FEW_WORDS
    return is_short and _bare_value().fullmatch(value) is not None


def _spelled(text: str) -> Correction | None:
    """Return the correction of a name's spelling: "Mathys with a y"."""
    spelling = text.strip(_ENDS)
    if spelling.count(" ") > MOST_WORDS + 1 or not spelling[:1].isupper():
        return None
    name = _without_excuses(spelling)
    is_name = name != spelling and name.istitle() and name.count(" ") < FEW_WORDS
    return Correction(name, is_meant=False) if is_name else None


@cache
def _strong() -> re.Pattern[str]:
    return compiled(
        r"^(?:(?:{openers}|{signals})\b[,!.\s\u2013\u2014-]*){0,4}?(?:{strong_signals})(?!\w)"
    )


@cache
def _excuse() -> re.Pattern[str]:
    return compiled(r"(?:^|(?<=\w))[\s,;.!()–—-]*\b(?:{excuses})\W*$")


def _without_excuses(text: str) -> str:
    """Return the text without an excuse at its end, such as "fat fingers"."""
    excuse = _excuse().search(text)
    return text[: excuse.start()].strip(_ENDS) if excuse else text


def _is_whole_name(text: str) -> bool:
    """Return whether a text that begins as a name has nothing else. "Fiona called" isn't a name."""
    first, *others = text.split()
    if not first[0].isupper() or not others or number_or_day().match(first):
        return True
    return others[-1][0].isupper() or others[-1][0].isdigit()


@cache
def _last_clause() -> re.Pattern[str]:
    return compiled(
        r"[,;.!–—-]\s*(?:it is|that is|they are|there are|we are|it should be|it was|es ist|es sind"
        r"|es war|wir sind|c'est|c'était|ce sont|il y en a|es|son|era|fue|hay|somos) "
        r"(?P<new>(?:(?:the|at|on|um|am|den|der|le|la|el) )?(?:{any_value})(?: ?[\w%€$.]{1,12})?)$"
    )


def _at_the_end(text: str, sentence: str) -> Correction | None:
    """Return the correction whose value is in the last clause: "Actually the scale was off, it's
    79".
    """
    if not _begins(text) and not _strong().match(text):
        return None
    last = _last_clause().search(sentence)
    return Correction(last["new"].strip(_ENDS), is_meant=False) if last else None


def _is_clear(lead: str) -> bool:
    """Return whether the words before a value clearly say that something was wrong. They do so if a
    mark such as a comma ends them, or if they have two signals of a correction.
    """
    words_before = lead.strip()
    return words_before[-1:] in _MARKS or len(_signal().findall(words_before)) > 1


def _after_clear_signals(text: str) -> str | None:
    """Return the text after words that clearly say that something was wrong; None if there are no
    such words.
    """
    lead = _signals_first().match(text)
    if lead is None or not _signal().search(lead[0]):
        return None
    left = text[lead.end() :]
    is_value = _is_dated(left) or _is_placed(left)
    return left if _is_clear(lead[0]) or is_value else None


@cache
def _placed() -> re.Pattern[str]:
    return compiled("{name_with_preposition}")


def _is_placed(rest: str) -> bool:
    """Return whether a text is only a name with a preposition: "in Leoben"."""
    return _placed().match(rest.strip(_ENDS)) is not None


def _is_dated(rest: str) -> bool:
    """Return whether a text begins with a number, or with a day."""
    first, *_ = after(_glue(), rest.strip(_ENDS)).split() or [""]
    return bool(number_or_day().match(first.strip(_ENDS)))


def begins_as_correction(text: str) -> tuple[str, str] | None:
    """Return the correction at the beginning of a text, and the text after it."""
    if "?" in text or not _PART.search(text) or not may_correct(text) or not _begins(text):
        return None
    for mark in _PART.finditer(text):
        head, rest = text[: mark.start()], text[mark.end() :]
        if rest and not is_signal(head) and correction_of(head) is not None:
            return head, rest[0].upper() + rest[1:]
    return None


def _correction(match: re.Match[str]) -> Correction | None:
    groups = match.groupdict()
    new = after(_signals_first(), groups["new"]).strip(_ENDS)
    new = _signal().sub(" ", new).strip(_ENDS) or new
    named_old = (groups.get("old") or "").strip(_ENDS)
    old = _last_signals().sub("", named_old).strip(_ENDS) or named_old or None
    if not _is_value(new) or (old is not None and is_signal(old)):
        return None
    if old is not None and _pronoun().fullmatch(old):  # "that should be Essex"
        if form_of(new) not in ("name", "number"):  # "that should be fun"
            return None
        old = None
    if old is not None and _is_dated(old) and not _is_dated(after(_weak(), new)):
        return None
    return Correction(new, old)


@cache
def _pronoun() -> re.Pattern[str]:
    return compiled("{pronouns}")


def _is_value(text: str) -> bool:
    """Return whether a text is short and has a word that names something."""
    terms = words(text)
    return 0 < len(terms) <= MOST_WORDS and any(
        word not in function_words() or word.isdigit() for word in terms
    )


def is_signal(text: str) -> bool:
    """Return whether a text only announces a correction ("that's wrong")."""
    if not may_correct(text) and "s/" not in text:  # without its ends it has the same words
        return False
    announcement = text.strip(_ENDS)
    if not announcement or announcement.count(" ") > MOST_WORDS or not may_correct(announcement):
        return False
    return not _signal().sub("", spoken(announcement)).strip(_ENDS) and announcement != "*"


_AFTER = r"(?<!\w){} ([A-ZÀ-Þ][\w'-]*(?: [A-ZÀ-Þ][\w'-]*)?)"


def corrected(content: str, by: Correction) -> str | None:
    """Return the content with the new value in place of the old one; None if it has no place for
    it.
    """
    placed = _placed().match(by.new.strip(_ENDS)) if by.old is None else None
    if placed and (match := re.search(_AFTER.format(placed["glue"]), content)):
        return content[: match.start(1)] + placed["name"] + content[match.end(1) :]
    if by.old is None and (worded := _with_its_preposition(content, by.new.strip(_ENDS))):
        return worded
    new = after(_glue(), by.new).strip(_ENDS)
    if new and by.old:
        return _contrasted(content, by.new.strip(_ENDS), by.old)
    place = _likely_place(content, new, by) if new and is_short(content) else None
    if place is None:
        return None
    return _put_with_article(content, place, new, by.new.strip(_ENDS).removesuffix(new))


def _put_with_article(content: str, place: tuple[int, int], new: str, article: str) -> str | None:
    """Return the content with the new value in this place, and with its own article if the old one
    has an article too: "la batería" in place of "el bajo".
    """
    start, end = place
    before = _ARTICLE.search(content[:start])
    if before is not None and _ARTICLE.fullmatch(article):
        return _put(content, (before.start(), end), article + new)
    return _put(content, place, new)


_ARTICLE = re.compile(
    r"(?<!\w)(?:el|la|los|las|una?|le|les|une|der|die|das|den|eine?n?) $", re.IGNORECASE
)
_PREPOSITION = re.compile(
    r"(?P<glue>to|with|from|gegen|mit|bei|contre|aux?|à la|à l['’]|con|al|a la|a los|a las) ?"
    r"(?P<word>(?<=[ '’])[^\W\d_A-ZÀ-Þ][\w'-]*)"
)


def _with_its_preposition(content: str, new: str) -> str | None:
    """Return the content with the word after its preposition in place of the word after the same
    one in the content: "alergia al melocotón" for "alergia al kiwi" and "al melocotón".
    """
    placed = _PREPOSITION.fullmatch(new)
    if placed is None or not is_short(content):
        return None
    glue = re.escape(placed["glue"])
    places = list(re.finditer(rf"(?<!\w){glue}(?:(?<=['’])| )[\w'-]+(?=\W*$|[,;])", content))
    return _put(content, places[0].span(), new) if len(places) == 1 else None


def _contrasted(content: str, new: str, old: str) -> str | None:
    """Return the content with the new value in place of the old one, both with their prepositions
    or both without.
    """
    new = _without_lead(content, new, old)
    bare_new, bare_old = after(_glue(), new).strip(_ENDS), after(_glue(), old).strip(_ENDS)
    if form_of(bare_new) != form_of(bare_old):
        return None
    has_both = bare_new != new and bare_old != old
    for before, value in ((old, new if has_both else bare_new), (bare_old, bare_new)):
        place = _place_of(content, before)
        if place is not None:
            return _put(content, place, value)
    return None


def _without_lead(content: str, new: str, old: str) -> str:
    """Return the new value without the words before the old one in the content, if a whole clause
    states it: "the cello" in "I play the cello, not the piano.".
    """
    place = _place_of(content, old)
    lead = content[: place[0]].casefold() if place else ""
    return new[len(lead) :] if lead and new.casefold().startswith(lead) else new


def _put(content: str, place: tuple[int, int], new: str) -> str | None:
    """Return the content with the new value in this place, or None if this changes nothing."""
    if in_a_label(content, place):
        return None
    start, end = place
    result = content[:start] + new + content[end + _repeated(new, content[end:]) :]
    return None if folded(result) == folded(content) else result


def _repeated(new: str, rest: str) -> int:
    """Return with how many characters of the rest the new value ends, too: those of " June", for
    "13 June" in place of the 3 in "on 3 June.".
    """
    tails = (new[gap.start() :] for gap in re.finditer(r"\W(?=.*\w)", new))
    is_tail = (re.match(rf"(?i){re.escape(tail)}(?!\w)", rest) and len(tail) for tail in tails)
    return next(filter(None, is_tail), 0)


def _place_of(content: str, old: str) -> tuple[int, int] | None:
    """Return the place of the old value in the content."""
    whole = rf"(?<!\w)(?<!\d[.,]){re.escape(old)}(?!\w|[.,]\d)"
    match = re.search(whole, content, re.IGNORECASE)
    return match.span() if old and match else None


def _likely_place(content: str, new: str, by: Correction) -> tuple[int, int] | None:
    """Return the place in the content where a value has the shape of the new one. The shapes are a
    number, a misspelled word, a name, and the value of the content's topic.
    """
    tokens = list(_TOKEN.finditer(content))
    places = [
        _numbers(tokens, new),
        _misspelled(tokens, new),
        _value(content, new),
        _names(tokens, new),
    ]
    if by.is_meant:
        places += [_tail(content, new), _only_value(content, new)]
    return next((place for place in places if place is not None), None)


def _numbers(tokens: list[re.Match[str]], new: str) -> tuple[int, int] | None:
    first, *others = _GAPS.sub("", new).split()
    stated = {token[0].casefold() for token in tokens}
    is_alone = all(word.casefold() in stated or _UNIT.match(word) for word in others)
    if not number_or_day().match(first) or not is_alone:
        return None
    places = [
        token
        for token in tokens
        if number_or_day().match(_GAPS.sub("", token[0])) and is_year(token[0]) == is_year(first)
    ]
    kind = _kind_of_value(first)
    same = [token for token in places if _kind_of_value(token[0]) == kind]
    counts = [token for token in places if {kind, _kind_of_value(token[0])} == COUNTS]
    unit = others[0].casefold() if others else None
    of_unit = [
        token
        for token, following in pairwise(tokens)
        if token in places and following[0].casefold() == unit
    ]
    best = (of_unit or same or counts or places)[-1:]
    return best[0].span() if best else None


_MEANT_NOTHING = re.compile(r"\bmeant? no \w", re.IGNORECASE)  # "I meant no harm"
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th|er|ère|e|º|ª)", re.IGNORECASE)
COUNTS = frozenset({"digits", "words"})


@cache
def _calendar() -> re.Pattern[str]:
    return compiled(r"^(?:{weekdays}|{months})$")


def _kind_of_value(text: str) -> str:
    """Return the kind of a value: a day of the calendar, a time, an ordinal, a number in digits or
    in words.
    """
    if ":" in text:
        return "time"
    if _ORDINAL.fullmatch(text):
        return "ordinal"
    if any(map(str.isdigit, text)):
        return "digits"
    return "calendar" if _calendar().match(text) else "words"


def _misspelled(tokens: list[re.Match[str]], new: str) -> tuple[int, int] | None:
    if " " in new or len(new) < LEAST_WORD or number_or_day().match(new):
        return None
    near = [
        (SequenceMatcher(None, token[0].casefold(), new.casefold()).ratio(), token)
        for token in tokens
        if len(token[0]) >= LEAST_WORD - 1
    ]
    best = max(near, key=lambda pair: pair[0], default=None)
    if best is None:
        return None
    is_of_one_case = best[1][0][0].isupper() == new[0].isupper()
    least = ALIKE if is_of_one_case else CLEARLY_ALIKE
    return best[1].span() if best[0] >= least else None


def _is_name(text: str) -> bool:
    """Return whether a value may be a name: it begins with a capital, and not with a number or a
    function word.
    """
    first = text.split(maxsplit=1)[0]
    is_word = first.casefold() in function_words() or number_or_day().match(first) is not None
    return first[0].isupper() and not is_word


def _value(content: str, new: str) -> tuple[int, int] | None:
    slot = slot_of(content)
    if slot is None or not _is_name(new) or _ends_in_a_name(slot.text, new):
        return None
    return _place_of(content, slot.text)


def _ends_in_a_name(value: str, new: str) -> bool:
    """Return whether a correction by a single name is about the last word of the value alone, as
    "Bonn" is about "Ulm" in "a firm in Ulm".
    """
    first, *others = value.split()
    return bool(others) and " " not in new and _is_name(others[-1]) and not _is_name(first)


def _names(tokens: list[re.Match[str]], new: str) -> tuple[int, int] | None:
    """Return the last run of capitalized words. The first word of the content does not count."""
    if not _is_name(new):
        return None
    run: list[re.Match[str]] = []
    for token in reversed(tokens[1:]):
        if _is_name(token[0]):
            run.insert(0, token)
        elif run:
            break
    return (run[0].start(), run[-1].end()) if run else None


_COPULA = re.compile(
    r".*\b(?:is|are|called|named|heißt|ist|est|es|llama|s'appelle|prefer|like|love)\s+(?P<tail>[^,;]+?)[.!]*$",
    re.IGNORECASE,
)


def _tail(content: str, new: str) -> tuple[int, int] | None:
    """Return the value after a verb such as "is", if it has as many words as the new value."""
    match = _COPULA.match(content)
    if match is None or new[0].isupper() or content.count(" ") >= MOST_TAILED:
        return None
    tail = after(_glue(), match["tail"])
    if len(tail.split()) != len(new.split()) or _names_nothing(new):
        return None
    if number_or_day().match(tail) and not number_or_day().match(new):
        return None  # thanks after a number are not a new number
    return match.end("tail") - len(tail), match.end("tail")


_OBJECT = re.compile(
    r"^(?:(?:(?:i|we|ich|wir|je|on|nous) (?:am |have |do |also |bin |habe |suis )?|j['\u2019])\w+ "
    r"|\w+o (?=(?:el|la|los|las|una?) ))(?P<tail>[^,;]+?)[.!]*$",
    re.IGNORECASE,
)


def _only_value(content: str, new: str) -> tuple[int, int] | None:
    """Return the words after the verb of a short statement about the user, if they are as many as
    those of the new value and have its form: "bass" in "I play bass".
    """
    match = _OBJECT.match(content)
    if match is None or content.count(" ") >= MOST_TAILED or _names_nothing(new):
        return None
    tail = after(_glue(), match["tail"])
    count = len(new.split())
    if count > MOST_OF_OBJECT or len(tail.split()) != count or form_of(tail) != form_of(new):
        return None
    return match.end("tail") - len(tail), match.end("tail")


def _names_nothing(text: str) -> bool:
    return all(word in function_words() for word in words(text))


_DIVIDES = re.compile(r"[,;–—(-]+\s*|\.\.\.?\s*|\s-\s")


def inline(sentence: str) -> Iterator[tuple[str, Correction]]:
    """Yield all ways to split a sentence into a statement and a correction of that statement."""
    for mark in _DIVIDES.finditer(sentence):
        before, after = sentence[: mark.start()].rstrip(), sentence[mark.end() :].rstrip(" .!)")
        if len(before) < LEAST_WORD or not may_correct(after) or not _begins(after):
            continue
        correction = correction_of(after)
        if correction is not None:
            yield before, correction


def _begins(text: str) -> bool:
    return bool(_signal().match(text) or _signal().match(spoken(text) or " "))


def put_right(sentence: str) -> str:
    """Return the sentence with its own correction applied: "I live in Kiel, no, Bremen" becomes "I
    live in Bremen".
    """
    if not may_correct(sentence) or not _MARKED.search(sentence, 0, len(sentence) - 1):
        return sentence
    right = _begun_again(sentence) or _without_slip(sentence)
    if right is not None:
        return right
    for before, correction in inline(sentence):
        after = corrected(before, correction)
        if after is not None:
            return after if after[-1:] in ".!?" else after + "."
    return sentence


@cache
def _interruption() -> re.Pattern[str]:
    """Return a pattern for the words that interrupt a sentence in order to correct it, between
    marks.
    """
    return compiled(
        r"(?:\s(?:{hesitations}))?\s*(?:[,;(–—-]+|\.\.+|…)\s*(?:(?:{hesitations})[,.\s]+)*"
        r"(?:{signals})(?:[,;:.)–—-]+\s*|\s+(?={number}))(?=(?P<again>\S+))"
    )


def _begun_again(sentence: str) -> str | None:
    """Return a sentence whose speaker interrupts a phrase and begins it again, without the first
    beginning: "I live in Kiel, no, in Bremen, by the river". The new phrase begins with the same
    word, or it is a number in place of a number.
    """
    for stop in _interruption().finditer(sentence):
        before, rest = sentence[: stop.start()].rstrip(), sentence[stop.end() :]
        old = list(_TOKEN.finditer(before))[-MOST_AGAIN:]
        new = [token[0] for token in _TOKEN.finditer(rest)][:MOST_AGAIN]
        place = _place_of_beginning(old, new) if new else None
        if place is not None:
            return f"{before[:place]}{rest}"
        number = _place_of_number(old, rest) if new else None
        if number is not None:
            start, end = number
            return f"{before[:start]}{new[0]}{before[end:]}{rest[len(new[0]) :]}"
    return None


def _place_of_beginning(old: list[re.Match[str]], new: list[str]) -> int | None:
    """Return where the phrase that is begun again begins. The first words that differ must have the
    same form.
    """
    for number in reversed(range(len(old))):
        if old[number][0].casefold() != new[0].casefold():
            continue
        pairs = [
            (token[0], word)
            for token, word in zip(old[number:], new, strict=False)
            if token[0].casefold() != word.casefold()
        ]
        if pairs and form_of(pairs[0][0]) == form_of(pairs[0][1]) != "":
            return old[number].start()
    return None


def _place_of_number(old: list[re.Match[str]], rest: str) -> tuple[int, int] | None:
    """Return the place of the number that the first word of the rest corrects. That word must stand
    alone: "three sisters, well, actually four, if you count Bea".
    """
    value = _number_alone().match(rest)
    if value is None:
        return None
    places = [token.span() for token in old if number_or_day().match(token[0])]
    return places[-1] if places else None


@cache
def _number_alone() -> re.Pattern[str]:
    return compiled(r"{number}(?=[,;.!?)]|$| (?:{joining}|if|wenn|si)\b)")


@cache
def _slip() -> re.Pattern[str]:
    return compiled(r"(?:[,;(–—-]+\s*(?:(?:{hesitations})[,\s]+)*)?{slip}")


def _without_slip(sentence: str) -> str | None:
    """Return a sentence whose speaker says that one word was meant as another, with the other."""
    slip = _slip().search(sentence)
    place = _place_of(sentence[: slip.start()], slip["old"].strip()) if slip else None
    if slip is None or place is None:
        return None
    start, end = place
    before = sentence[:start] + slip["new"].strip() + sentence[end : slip.start()]
    return before + sentence[slip.end() :]
