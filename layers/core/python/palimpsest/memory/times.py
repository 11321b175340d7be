"""Finds in a text when something happens or is due, counted from the day on which the text was
said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import cache
from typing import TYPE_CHECKING, Final, Literal

from palimpsest.text.sought import Sought
from palimpsest.text.word_files import entries, word_files

if TYPE_CHECKING:
    from palimpsest.text.date_words import DateWords, Unit

PACKAGE: Final = "palimpsest.memory"
Tense = Literal["past", "planned", "none"]
MOST_READ = 2_000  # characters
BEFORE = 24  # characters before a date that may say how it is meant
LATELY = timedelta(days=31)
"""A day that is named beside an arrangement ("I signed up for the race in October") is that of the
arrangement itself if it was so lately. Else it is the day of what was arranged.
"""
_DIGIT = re.compile(r"\d")
_A_DATE = re.compile(r",? (?:den |le |the )?(?:\d{1,2}\b|[^\W\d_]{3,9} \d{1,2}\b)")
_A_GAP = re.compile(r"\.?,? ?(?:the |den |dem |le |el )?")
_LABEL = re.compile(r"(?P<week>week of )?(?P<year>\d{4})(?:-(?P<month>\d\d))?(?:-(?P<day>\d\d))?")
_NUMERIC = re.compile(
    r"(?<![\d.])(?P<day>[0-3]?\d)\.\s?(?P<number>[01]?\d)\.(?:\s?(?P<year>20\d\d))?(?!\d)"
)


def _date_words() -> DateWords:
    from palimpsest.text.date_words import date_words  # late, as no turn needs them

    return date_words()


@dataclass(frozen=True, slots=True)
class Moment:
    """A day, week, month or year that a text names. It has a first and a last day, and says whether
    it is the time by which something must be done.
    """

    start: int
    end: int
    first: date
    last: date
    unit: Unit
    is_limit: bool = False


def ended_on(text: str, *, at: date) -> Moment | None:
    """Return the time at which something ended according to a text, such as May for "I left in
    May". The text was said on the day `at`. Return None if it names no time that has begun by then.
    """
    begins = text[:MOST_READ]
    lower = _lowered(begins)
    if not _may_name_a_time(lower):
        return None
    moments = _moments(lower, at, "past", limits=True)
    return next((moment for moment in moments if moment.first <= at), None)


def is_to_come(text: str, *, at: date) -> bool:
    """Return whether a text that was said on the day `at` is about a later day, as "I'm leaving on
    1 October" is. "I cancelled Friday's class" is about the past. If the text may be about either,
    the nearer day counts.
    """
    begins = text[:MOST_READ]
    tense = tense_of(begins)
    lower = _lowered(begins)
    if tense == "past" or not _may_name_a_time(lower):
        return False
    moment = next(_moments(lower, at, tense, limits=True), None)
    if moment is None or moment.last <= at:
        return False
    if moment.first <= at:  # of the present week, month or year, what is planned is to come
        return tense == "planned"
    before = lower[max(0, moment.start - BEFORE) : moment.start]
    if _before("since").search(before):
        return False
    earlier = ended_on(text, at=at) if tense == "none" else None
    return earlier is None or moment.first - at < at - earlier.last


def moment_of(text: str, *, at: date) -> Moment | None:
    """Return the first time that a text names, counted from the day `at` on which it was said, or
    None if it names none. The time since which something is true does not count, and neither do
    days that repeat every week.
    """
    begins = text[:MOST_READ]
    lower = _lowered(begins)
    if not _may_name_a_time(lower):
        return None
    tense = tense_of(begins)
    moment = next(_moments(lower, at, tense), None)
    if moment is None or _before("terms").search(lower[: moment.start]):
        return None
    clause = clause_at(begins, moment.start)
    of_clause = tense_of(clause)
    if of_clause == tense or (of_clause == "none" and not _words("present").search(clause)):
        return moment
    again = _moments(lower, at, of_clause)
    return next((other for other in again if other.start == moment.start), moment)


def clause_at(text: str, place: int) -> str:
    """Return the clause of a text that has this place: "he was ill on Friday" in "Excuse him, he
    was ill on Friday, and he needs rest".
    """
    ends = [match.span() for match in _clause_end().finditer(text)]
    start = max((end for _, end in ends if end <= place), default=0)
    return text[start : min((begin for begin, _ in ends if begin >= place), default=len(text))]


@cache
def _clause_end() -> re.Pattern[str]:
    return re.compile(
        rf"(?:[,;:!?]|(?<!\d)\.)\s+|\s+(?:{'|'.join(entries(PACKAGE, 'clauses'))})\s+"
    )


def lasts_until(text: str, *, at: date) -> date | None:
    """Return until when a text holds, such as a vacation "until Sunday". Return None if it names no
    such day, or if something must be done by then.
    """
    begins = text[:MOST_READ]
    lower = _lowered(begins)
    if not _words("until").search(lower) or not _may_name_a_time(lower) or must_be_done(begins):
        return None
    moments = _moments(lower, at, "none", limits=True)
    return next(
        (
            moment.last
            for moment in moments
            if _before("until").search(lower[max(0, moment.start - BEFORE) : moment.start])
        ),
        None,
    )


def _may_name_a_time(lower: str) -> bool:
    """Return whether a text in lower case may name a day, week, month or year."""
    from palimpsest.text.dates import may_be_relative  # not at import: no turn needs them

    is_named = _DIGIT.search(lower) is not None or _named_times().may_match(lower)
    return is_named or may_be_relative(lower)


@cache
def _named_times() -> Sought:
    """Return a pattern of times by name: months, weekdays, ends of months, weekends."""
    words = _date_words()
    patterns = (*_by_key("ends_of").values(), *_by_key("weekends").values())
    listed = (pattern.pattern for pattern in patterns)
    return Sought("|".join((*words.months, *words.weekdays, *listed)))


def tense_of(text: str) -> Tense:
    """Return whether a text is about the future, about the past, or says neither."""
    if _words("planned").search(text):
        return "planned"
    return "past" if _words("past").search(text) else "none"


def is_planned(text: str) -> bool:
    return tense_of(text) == "planned"


def must_be_done(text: str) -> bool:
    """Return whether a text is about something that must be done."""
    return _words("must").search(text) is not None


@cache
def _words(field: str) -> Sought:
    return Sought(rf"(?<!\w)(?:{'|'.join(entries(PACKAGE, field))})(?!\w)", re.IGNORECASE)


@cache
def _before(field: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{'|'.join(entries(PACKAGE, field))})\s+$", re.IGNORECASE)


def _lowered(text: str) -> str:
    from palimpsest.text.dates import with_places  # not at import: no turn needs them

    return with_places(text)


def _moments(text: str, at: date, tense: Tense, *, limits: bool = False) -> Iterator[Moment]:
    """Yield the times in a text in lower case. Times since or until which something is true are
    left out, unless `limits` is true.
    """
    named = (
        *_relative(text, at),
        *_absolute(text, at, tense),
        *_weekdays(text, at, tense),
        *_ends(text, at),
        *_weekends(text, at),
    )
    end = 0
    for moment in sorted(named, key=lambda moment: (moment.start, -moment.end)):
        if moment.start < end:
            continue
        end = moment.end
        before = text[max(0, moment.start - BEFORE) : moment.start]
        is_limit = _before("limits").search(before) is not None
        if _before("by").search(before) and (must_be_done(text) or not is_limit):
            yield replace(moment, is_limit=True)
        elif limits or not is_limit:
            yield moment


def _relative(text: str, at: date) -> Iterator[Moment]:
    from palimpsest.text.dates import relative_dates  # late, as no turn needs them

    for phrase in relative_dates(text, at=at):
        label = _LABEL.fullmatch(phrase.label)
        if label is None:
            continue
        first, last, unit = _period(label)
        yield Moment(phrase.start, phrase.end, first, last, unit)


def _period(label: re.Match[str]) -> tuple[date, date, Unit]:
    year, month, day = int(label["year"]), int(label["month"] or 0), int(label["day"] or 0)
    if label["week"]:
        first = date(year, month, day)
        return first, first + timedelta(days=6), "week"
    return _spanned(year, month, day)


def _spanned(year: int, month: int, day: int) -> tuple[date, date, Unit]:
    """Return first and last day of a day, of a month (if `day` is 0) or of a year (if `month` is
    0). Raises `ValueError`.
    """
    if day:
        return date(year, month, day), date(year, month, day), "day"
    if month:
        following = date(year + month // 12, month % 12 + 1, 1)
        return date(year, month, 1), following - timedelta(days=1), "month"
    return date(year, 1, 1), date(year, 12, 31), "year"


def _absolute(text: str, at: date, tense: Tense) -> Iterator[Moment]:
    for pattern in (*_date_words().absolute, _NUMERIC):
        for match in pattern.finditer(text):
            if pattern is _NUMERIC and _is_a_version(match, text):
                continue
            try:
                moment = _dated(match, text, at, tense)
            except (ValueError, OverflowError):
                continue
            yield moment


def _is_a_version(match: re.Match[str], text: str) -> bool:
    """Return whether a number is the end of a sentence, as in "It runs Ubuntu 20.04.". In other
    languages than English, it is so only after a known name, because days look like this there.
    """
    from palimpsest.text.language import ENGLISH, language_of  # not at import: no turn needs them

    before = text[max(0, match.start() - BEFORE) : match.start()]
    return _before("versions_follow").search(before) is not None or (
        match["year"] is None
        and before.rstrip()[-1:].isalpha()
        and not _before("numeric_dates_follow").search(before)
        and language_of(text.split()) == ENGLISH
    )


_YEARS = {"next": 1, "this": 0, "last": -1}
_YEAR_AFTER = re.compile(
    r",? (?:of |des |de |del )?(?:(?P<next>next year|(?:nächsten|kommenden) jahres|nächstes jahr"
    r"|l['\u2019]an(?:née)? prochaine?|(?:el )?(?:año que viene|próximo año|año próximo))"
    r"|(?P<this>this year|dieses jahr(?:es)?|cette année|(?:de )?este año)"
    r"|(?P<last>last year|(?:letzten|vorigen) jahres|letztes jahr"
    r"|l['\u2019]an(?:née)? derni(?:er|ère)"
    r"|(?:el )?año pasado))(?!\w)"
)
"""A year after a date that is counted from the present one: "on 12 June next year"."""


def _dated(match: re.Match[str], text: str, at: date, tense: Tense) -> Moment:
    groups = match.groupdict()
    name = groups.get("month")
    month = _date_words().months[name] if name else int(groups.get("number") or 0)
    day, year = int(groups.get("day") or 0), int(groups.get("year") or 0)
    named = min(
        place for group, value in groups.items() if value and (place := match.start(group)) >= 0
    )
    tense = "planned" if _before("for").search(text[max(0, named - BEFORE) : named]) else tense
    counted = _YEAR_AFTER.match(text, match.end()) if not year else None
    if counted is not None and counted.lastgroup is not None:
        year = at.year + _YEARS[counted.lastgroup]
    if year:
        first, last, unit = _spanned(year, month, day)
    else:
        year = _year_of(_weekday_before(text, named), month, day, at) or 0
        first, last, unit = _spanned(year, month, day) if year else _nearest(month, day, at, tense)
        if tense == "past" and at - last > LATELY and _words("arranging").search(text):
            first, last, unit = _nearest(month, day, at, "planned")
    return Moment(named, match.end(), first, last, unit)


def _weekday_before(text: str, place: int) -> int | None:
    """Return the number of the weekday that a text names right before a date, such as Saturday in
    "Saturday 16 August".
    """
    before = text[max(0, place - BEFORE) : place]
    weekday = next(
        (match for match in _weekday().finditer(before) if _A_GAP.fullmatch(before, match.end())),
        None,
    )
    return None if weekday is None else _date_words().weekdays[weekday["day"]]


def _year_of(weekday: int | None, month: int, day: int, at: date) -> int | None:
    """Return the year in which a date falls on this day of the week: this year, the next or the
    last. Raises `ValueError`.
    """
    years = (at.year, at.year + 1, at.year - 1)
    if weekday is None or not day:
        return None
    return next((year for year in years if date(year, month, day).weekday() == weekday), None)


def _nearest(month: int, day: int, at: date, tense: Tense) -> tuple[date, date, Unit]:
    """Return the date of a day or month that has no year. It is the last such date if the text is
    about the past, else the next one. Raises `ValueError`.
    """
    first, last, unit = _spanned(at.year, month, day)
    if tense == "past" and first > at:
        return _spanned(at.year - 1, month, day)
    if tense != "past" and last < at:
        return _spanned(at.year + 1, month, day)
    return first, last, unit


def _weekdays(text: str, at: date, tense: Tense) -> Iterator[Moment]:
    """Yield the days of the week that a text names, as in "on Friday", "by Friday" or "vendredi".
    Days that repeat every week, and days with a date after them, are left out.
    """
    for match in _weekday().finditer(text):
        before = text[max(0, match.start() - BEFORE) : match.start()]
        comes_again = _before("every").search(before) and not _before("by").search(before)
        if comes_again or _A_DATE.match(text, match.end()):
            continue
        weekday = _date_words().weekdays[match["day"]]
        is_past = tense == "past" and not _before("for").search(before)
        days = (weekday - at.weekday()) % 7 or 7
        day = at + timedelta(days=-(7 - days % 7) if is_past else days)
        yield Moment(match.start(), match.end(), day, day, "day")


def _ends(text: str, at: date) -> Iterator[Moment]:
    """Yield the last day of the present week, month or year if the text names it, as in "by the end
    of the month".
    """
    sunday = at + timedelta(days=6 - at.weekday())
    last = {
        "week": sunday,
        "month": _spanned(at.year, at.month, 0)[1],
        "year": date(at.year, 12, 31),
    }
    for unit, pattern in _by_key("ends_of").items():
        for match in pattern.finditer(text):
            yield Moment(match.start(), match.end(), last[unit], last[unit], "day")


def _weekends(text: str, at: date) -> Iterator[Moment]:
    for weeks, pattern in _by_key("weekends").items():
        saturday = at + timedelta(days=5 - at.weekday() + 7 * int(weeks))
        for match in pattern.finditer(text):
            yield Moment(match.start(), match.end(), saturday, saturday, "day")


@cache
def _by_key(field: str) -> dict[str, re.Pattern[str]]:
    """Return the patterns of all languages in a field that holds a list for each key."""
    lists: dict[str, list[str]] = {}
    for file in word_files(PACKAGE).values():
        for key, words in file.get(field, {}).items():
            lists.setdefault(key, []).extend(words)
    return {key: re.compile(rf"(?<!\w)(?:{'|'.join(words)})(?!\w)") for key, words in lists.items()}


@cache
def _weekday() -> re.Pattern[str]:
    names = sorted(
        (name for name in _date_words().weekdays if len(name) > 1), key=len, reverse=True
    )
    return re.compile(rf"(?<!\w)(?P<day>{'|'.join(names)})(?!\w)")
