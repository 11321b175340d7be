"""Dates that texts name in the commonest languages: relative ones made absolute, and the time a question is about."""
# ruff: noqa: RUF001 - words of many scripts

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from itertools import chain
from typing import Literal

from palimpsest.clock import milliseconds
from palimpsest.text.sieve import Sieve, lowered

Unit = Literal["day", "week", "month", "year"]
Found = tuple[re.Match[str], Unit, int]
"""Where a relative date stands, and how many days, weeks, months or years it is from now."""

# German "morgen" and Spanish "mañana" are also the morning.
_MORGEN = "".join(rf"(?<!\b{word} )" for word in ("guten", "heute", "gestern", "am", "jeden", "diesen")) + "morgen"
_MANANA = "".join(rf"(?<!\b{word} )" for word in ("la", "esta", "cada", "una")) + "mañana"
_LAST, _NEXT, _THIS = "(?:letzte|vergangene|vorige)[nrs]?", "(?:nächste|kommende)[nrs]?", "diese[nrs]?"
_NO_DAY = "(?![一二三四五六日天])"

_FIXED_WORDS: tuple[tuple[Unit, int, str, str], ...] = (
    ("day", -2, "(?:the )?day before yesterday|vorgestern|anteayer|antes de ayer|avant-hier", "前天|一昨日|おととい"),
    (
        "day", 2, "(?:the )?day after tomorrow|übermorgen|pasado mañana|après-demain",
        "后天|後天|明後日|あさって",
    ),
    ("day", -1, "yesterday|last night|gestern|ayer|anoche", "昨天|昨日|昨晚|昨夜|きのう"),
    ("day", 1, f"tomorrow|demain|{_MORGEN}|{_MANANA}", "明天|明日|あした"),
    (
        "day", 0, "today|tonight|this (?:morning|afternoon|evening)|heute|hoy|aujourd['’]hui|ce (?:soir|matin)",
        "今天|今日|今晚|今夜",
    ),
    (
        "week", -1, f"last week|{_LAST} woche|la semana pasada|la semaine (?:dernière|passée)",
        f"上个?(?:周|星期){_NO_DAY}|先週(?!の?[月火水木金土日]曜)",
    ),
    ("week", 0, f"this week|{_THIS} woche|esta semana|cette semaine", f"[本这這]个?(?:周|星期){_NO_DAY}|今週"),
    (
        "week", 1, f"next week|{_NEXT} woche|la próxima semana|la semana que viene|la semaine prochaine",
        f"下个?(?:周|星期){_NO_DAY}|来週(?!の?[月火水木金土日]曜)",
    ),
    ("month", -1, f"last month|{_LAST} monat|el mes pasado|le mois dernier", "上个月|先月"),
    ("month", 0, f"this month|{_THIS} monat|este mes|ce mois-ci", "这个月|本月|今月"),
    ("month", 1, f"next month|{_NEXT} monat|el próximo mes|el mes que viene|le mois prochain", "下个月|来月"),
    ("year", -1, f"last year|{_LAST} jahr|el año pasado|l['’]an(?:née)? derni(?:er|ère)", "去年|昨年"),
    ("year", 0, f"this year|{_THIS} jahr|este año|cette année", "今年"),
    (
        "year", 1, f"next year|{_NEXT} jahr|el próximo año|el año que viene|l['’]an(?:née)? prochaine?",
        "明年|来年",
    ),
)  # fmt: skip
# All patterns are for a text in lower case: that takes half the time of ignoring case.
# Unit, distance from now in it, and the words for it (those of scripts without blanks last); the longer ones first.
_FIXED = tuple(
    (unit, offset, re.compile(rf"\b(?:{words})\b|{attached}")) for unit, offset, words, attached in _FIXED_WORDS
)

# French "hier" is German for "here": it counts only in a French text.
_FRENCH_YESTERDAY = re.compile(r"\bhier\b")
_FRENCH = re.compile(r"\b(?:je|j['’]\w+|nous|elle|ils|est|était|avons|ont|chez|mon|ma|mes|les|une)\b")
_GERMAN = re.compile(r"\b(?:ich|ist|und|der|das|wir|nicht|bin|sind|wohne|habe)\b")

_NUMBER_WORDS = (
    "a an one ein eine einem einer un una une 一", "two zwei dos deux 二 两 兩", "three drei tres trois 三",
    "four vier cuatro quatre 四", "five fünf cinco cinq 五", "six sechs seis 六", "seven sieben siete sept 七",
    "eight acht ocho huit 八", "nine neun nueve neuf 九", "ten zehn diez dix 十",
)  # fmt: skip
_NUMBERS = {word: value for value, words in enumerate(_NUMBER_WORDS, 1) for word in words.split()} | {"couple of": 2}
_UNITS: tuple[tuple[Unit, str], ...] = (
    ("day", "days?|tag(?:e|en)?|días?|jours?|[天日]"),
    ("week", "weeks?|wochen?|semanas?|semaines?|个?星期|週間?|周"),
    ("month", "months?|monat(?:e|en)?|mes(?:es)?|mois|个月|[ヶかカ]月"),
    ("year", "years?|jahr(?:e|en)?|años?|ans?|年"),
)
_N = rf"(?P<n>\d{{1,3}}|{'|'.join(sorted(_NUMBERS, key=len, reverse=True))})"
_U = f"(?P<unit>{'|'.join(words for _, words in _UNITS)})"
# Direction, and "three weeks ago" with the number `n` and the unit `unit`.
_COUNTED = tuple(
    (sign, re.compile(pattern))
    for sign, pattern in (
        (-1, rf"\b(?:a )?{_N} {_U} ago\b"),
        (-1, rf"\b(?:vor|hace|il y a) {_N} {_U}\b"),
        (-1, rf"{_N}{_U}(?:以)?前"),
        (1, rf"\b(?:in|dans|dentro de) {_N} {_U}\b"),
        (1, rf"{_N}{_U}[之以]?[后後]"),
    )
)

_WEEKDAY_NAMES = (
    "monday montag lunes lundi 一 月",
    "tuesday dienstag martes mardi 二 火",
    "wednesday mittwoch miércoles mercredi 三 水",
    "thursday donnerstag jueves jeudi 四 木",
    "friday freitag viernes vendredi 五 金",
    "saturday samstag sonnabend sábado samedi 六 土",
    "sunday sonntag domingo dimanche 日 天",
)
_WEEKDAYS = {name: number for number, names in enumerate(_WEEKDAY_NAMES) for name in names.split()}
_D = rf"(?P<day>{'|'.join(name for name in _WEEKDAYS if len(name) > 1)})"


def _on_weekdays() -> Iterator[tuple[int, str]]:
    for sign, before, behind in ((-1, f"last|{_LAST}", "pasado|dernier"), (1, f"next|{_NEXT}|el próximo", "prochain")):
        yield sign, rf"\b(?:{before}) {_D}\b"
        yield sign, rf"\b(?:el )?{_D} (?:{behind})\b"


# Direction, and "last Monday" with the name `day`: the nearest before or after today.
_ON_WEEKDAYS = tuple((sign, re.compile(pattern)) for sign, pattern in _on_weekdays())
# Direction, and a day of the week before or after this one.
_IN_WEEKS = tuple(
    (sign, re.compile(pattern))
    for sign, pattern in (
        (-1, "上个?(?:周|星期)(?P<day>[一二三四五六日天])|先週の?(?P<ja>[月火水木金土日])曜日?"),
        (1, "下个?(?:周|星期)(?P<day>[一二三四五六日天])|来週の?(?P<ja>[月火水木金土日])曜日?"),
    )
)

_COMPILED = (
    *(pattern for _, _, pattern in _FIXED),
    *(pattern for _, pattern in (*_COUNTED, *_ON_WEEKDAYS, *_IN_WEEKS)),
    _FRENCH_YESTERDAY,
)
PATTERNS = [pattern.pattern for pattern in _COMPILED]
_SIEVE = Sieve(PATTERNS)

MOST_READ = 8_000  # characters of a text in which dates are looked for
_SAID_ALREADY = re.compile(r"\s*[(\uff08][^)\uff09]{,40}\d")


@dataclass(frozen=True, slots=True)
class Dated:
    """A relative date in a text: where it stands, and the day, week, month or year that it means, in ISO 8601.

    `direction` is 1 for the future, -1 for the past and 0 for now.
    """

    start: int
    end: int
    label: str
    direction: int


def dated(text: str, *, at: date) -> str:
    """The text with each relative date's absolute one in brackets behind it, unless that stands there already."""
    parts, done = [], 0
    for found in relative_dates(text, at=at):
        parts.append(text[done : found.end])
        if not _SAID_ALREADY.match(text, found.end) and found.label not in text:
            parts.append(f" ({found.label})")
        done = found.end
    return "".join((*parts, text[done:]))


def relative_dates(text: str, *, at: date) -> list[Dated]:
    """The relative dates of a text that was written on the day `at`, in order; of two that overlap the first, or the
    longer one.
    """
    begins = text[:MOST_READ]
    numbers = _SIEVE.candidates(begins)
    if not numbers:
        return []
    lower = begins.lower() if begins.isascii() else "".join(each.lower()[:1] for each in begins)  # places stay
    found = sorted(_all(lower, {PATTERNS[number] for number in numbers}, at), key=lambda each: (each.start, -each.end))
    result: list[Dated] = []
    for each in found:
        if not result or each.start >= result[-1].end:
            result.append(each)
    return result


def _all(lower: str, may_match: Container[str], at: date) -> Iterator[Dated]:
    found = chain(_fixed(lower, may_match), _counted(lower, may_match), _weekdays(lower, may_match, at))
    for match, unit, offset in found:
        label = _label(unit, offset, at)
        if label is not None:
            yield Dated(match.start(), match.end(), label, (offset > 0) - (offset < 0))


def _fixed(text: str, may_match: Container[str]) -> Iterator[Found]:
    for unit, offset, pattern in _FIXED:
        if pattern.pattern in may_match:
            yield from ((match, unit, offset) for match in pattern.finditer(text))
    if _FRENCH_YESTERDAY.pattern in may_match and _FRENCH.search(text) and not _GERMAN.search(text):
        yield from ((match, "day", -1) for match in _FRENCH_YESTERDAY.finditer(text))


def _counted(text: str, may_match: Container[str]) -> Iterator[Found]:
    for sign, pattern in _COUNTED:
        if pattern.pattern in may_match:
            yield from ((match, _unit(match["unit"]), sign * _number(match["n"])) for match in pattern.finditer(text))


def _weekdays(text: str, may_match: Container[str], at: date) -> Iterator[Found]:
    for sign, pattern in _ON_WEEKDAYS:
        for match in pattern.finditer(text) if pattern.pattern in may_match else ():
            days = (_WEEKDAYS[match["day"].lower()] - at.weekday()) * sign % 7 or 7
            yield match, "day", sign * days
    for sign, pattern in _IN_WEEKS:
        for match in pattern.finditer(text) if pattern.pattern in may_match else ():
            yield match, "day", _WEEKDAYS[match["day"] or match["ja"]] - at.weekday() + 7 * sign


def _number(text: str) -> int:
    return int(text) if text.isdigit() else _NUMBERS[text.lower()]


def _unit(text: str) -> Unit:
    return next(unit for unit, words in _UNITS if re.fullmatch(words, text, re.IGNORECASE))


def _label(unit: Unit, offset: int, at: date) -> str | None:
    """ISO 8601, as exact as the unit; None beyond the calendar."""
    try:
        if unit == "day":
            return (at + timedelta(days=offset)).isoformat()
        if unit == "week":
            monday = at + timedelta(days=7 * offset - at.weekday())
            return f"week of {monday.isoformat()}"
        months = at.year * 12 + at.month - 1 + (offset if unit == "month" else 12 * offset)
        day = date(months // 12, months % 12 + 1, 1)
    except (ValueError, OverflowError):
        return None
    return day.isoformat()[:7] if unit == "month" else day.isoformat()[:4]


MARGIN = timedelta(days=1)  # in the asker's time zone a day may begin earlier or later

_MONTHS = (
    "january januar janvier enero jan", "february februar février fevrier febrero feb", "march märz mars marzo mar",
    "april avril abril apr", "may mai mayo", "june juni juin junio jun", "july juli juillet julio jul",
    "august août aout agosto aug", "september septembre septiembre setiembre sep sept",
    "october oktober octobre octubre oct okt", "november novembre noviembre nov",
    "december dezember décembre decembre diciembre dec dez",
)  # fmt: skip
_MONTH_NUMBERS = {name: number for number, names in enumerate(_MONTHS, 1) for name in names.split()}
_MONTH = rf"(?P<month>{'|'.join(sorted(_MONTH_NUMBERS, key=len, reverse=True))})\b\.?"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th|er|\.|º)?"
_ABSOLUTE = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\b{_YEAR}-(?P<number>[01]\d)-(?P<day>[0-3]\d)\b",
        rf"{_YEAR}[年년]\s?(?P<number>1?\d)[月월]\s?(?:(?P<day>[1-3]?\d)[日号일])?",
        rf"\b{_YEAR}-(?P<number>[01]\d)\b",
        rf"\b{_MONTH}\s+{_DAY},?\s+{_YEAR}\b",
        rf"\b{_DAY}\s+(?:de\s+|of\s+)?{_MONTH}(?:,?\s+(?:de\s+)?{_YEAR})?\b",
        rf"\b{_MONTH},?\s+(?:(?:of|de)\s+)?{_YEAR}\b",
        rf"\b{_MONTH}\s+{_DAY}(?!\d)\b",
        rf"\b(?:in|im|en|since|last|during|for|until|of|seit|depuis|desde)\s+{_MONTH}",
        r"(?<!\d)(?P<number>1?\d)[月월](?:\s?(?P<day>[1-3]?\d)[日号일])?",
        rf"\b(?:in|im|en|since|during|of|seit|depuis|desde)\s+{_YEAR}\b",
        rf"{_YEAR}[年년]",
    )
)
_MONTH_ALONE = _ABSOLUTE[7]
_DIGIT = re.compile(r"\d")
_LABEL = re.compile(r"(?P<week>week of )?(?P<year>\d{4})(?:-(?P<number>\d\d))?(?:-(?P<day>\d\d))?")


@dataclass(frozen=True, slots=True)
class Period:
    """From `start` to before `end`, in epoch milliseconds, with a margin of one day for all time zones. `words` are
    those that named it.
    """

    start: int
    end: int
    words: str = ""

    def holds(self, moment: int) -> bool:
        return self.start <= moment < self.end

    def nearness(self, moment: int) -> float:
        """1 on the days that were named, a half on the days of the margin, 0 outside."""
        margin = MARGIN // timedelta(milliseconds=1)
        return (self.holds(moment) + (self.start + margin <= moment < self.end - margin)) / 2


def period(text: str, *, now: datetime) -> Period | None:
    """The first time that the text names, or None; a month or day without a year is the last one that has begun."""
    begins = lowered(text[:MOST_READ])
    for pattern in _ABSOLUTE if _DIGIT.search(begins) else (_MONTH_ALONE,):
        for match in pattern.finditer(begins):
            if (found := _absolute(match, now.date())) is not None:
                return replace(found, words=match[0])
    return next(_relative(text, now.date()), None)


def _absolute(match: re.Match[str], today: date) -> Period | None:
    groups = match.groupdict()
    name = groups.get("month")
    month = _MONTH_NUMBERS[name.casefold()] if name else int(groups.get("number") or 0)
    day = int(groups.get("day") or 0)
    year = int(groups.get("year") or 0)
    try:
        if not year:
            begun = date(today.year, month, day or 1) <= today
            year = today.year if begun else today.year - 1
        return _between(year, month, day)
    except (ValueError, OverflowError):
        return None


def _between(year: int, month: int, day: int, *, days: int = 1) -> Period:
    """The period of `days` days, a month (day 0) or a year (month 0). Raises `ValueError` for an impossible date."""
    start = date(year, month or 1, day or 1)
    if day:
        return _spanning(start, start + timedelta(days=days))
    if month:
        return _spanning(start, date(year + month // 12, month % 12 + 1, 1))
    return _spanning(start, date(year + 1, 1, 1))


def _spanning(start: date, end: date) -> Period:
    first, beyond = (datetime(each.year, each.month, each.day, tzinfo=UTC) for each in (start, end))
    return Period(milliseconds(first - MARGIN), milliseconds(beyond + MARGIN))


def _relative(text: str, today: date) -> Iterator[Period]:
    """Relative dates in the past or now: memories are never of the future."""
    for each in relative_dates(text, at=today):
        label = _LABEL.fullmatch(each.label)
        if label is not None and each.direction <= 0:
            days = 7 if label["week"] else 1
            found = _between(int(label["year"]), int(label["number"] or 0), int(label["day"] or 0), days=days)
            yield replace(found, words=text[each.start : each.end])
