"""The words for dates in the commonest languages, as patterns for texts in lower case."""
# ruff: noqa: RUF001 - words of many scripts

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

Unit = Literal["day", "week", "month", "year"]

# German "morgen" and Spanish "mañana" are also the morning.
_MORGEN = (
    "".join(rf"(?<!\b{word} )" for word in ("guten", "heute", "gestern", "am", "jeden", "diesen"))
    + "morgen"
)
_MANANA = "".join(rf"(?<!\b{word} )" for word in ("la", "esta", "cada", "una")) + "mañana"
_LAST, _NEXT, _THIS = (
    "(?:letzte|vergangene|vorige)[nrs]?",
    "(?:nächste|kommende)[nrs]?",
    "diese[nrs]?",
)
_NO_DAY = "(?![一二三四五六日天])"

_FIXED_WORDS: tuple[tuple[Unit, int, str, str], ...] = (
    (
        "day",
        -2,
        "(?:the )?day before yesterday|vorgestern|anteayer|antes de ayer|avant-hier",
        "前天|一昨日|おととい",
    ),
    (
        "day",
        2,
        "(?:the )?day after tomorrow|übermorgen|pasado mañana|après-demain",
        "后天|後天|明後日|あさって",
    ),
    ("day", -1, "yesterday|last night|gestern|ayer|anoche", "昨天|昨日|昨晚|昨夜|きのう"),
    ("day", 1, f"tomorrow|demain|{_MORGEN}|{_MANANA}", "明天|明日|あした"),
    (
        "day",
        0,
        (
            "today|tonight|this (?:morning|afternoon|evening)|heute|hoy|aujourd['’]hui|ce "
            "(?:soir|matin)"
        ),
        "今天|今日|今晚|今夜",
    ),
    (
        "week",
        -1,
        f"last week|{_LAST} woche|la semana pasada|la semaine (?:dernière|passée)",
        f"上个?(?:周|星期){_NO_DAY}|先週(?!の?[月火水木金土日]曜)",
    ),
    (
        "week",
        0,
        f"this week|{_THIS} woche|esta semana|cette semaine",
        f"[本这這]个?(?:周|星期){_NO_DAY}|今週",
    ),
    (
        "week",
        1,
        f"next week|{_NEXT} woche|la próxima semana|la semana que viene|la semaine prochaine",
        f"下个?(?:周|星期){_NO_DAY}|来週(?!の?[月火水木金土日]曜)",
    ),
    ("month", -1, f"last month|{_LAST} monat|el mes pasado|le mois dernier", "上个月|先月"),
    ("month", 0, f"this month|{_THIS} monat|este mes|ce mois-ci", "这个月|本月|今月"),
    (
        "month",
        1,
        f"next month|{_NEXT} monat|el próximo mes|el mes que viene|le mois prochain",
        "下个月|来月",
    ),
    (
        "year",
        -1,
        f"last year|{_LAST} jahr|el año pasado|l['’]an(?:née)? derni(?:er|ère)",
        "去年|昨年",
    ),
    ("year", 0, f"this year|{_THIS} jahr|este año|cette année", "今年"),
    (
        "year",
        1,
        f"next year|{_NEXT} jahr|el próximo año|el año que viene|l['’]an(?:née)? prochaine?",
        "明年|来年",
    ),
)
# All patterns are for a text in lower case: that takes half the time of ignoring case. Unit,
# distance from now in it, and the words for it (those of scripts without blanks last); the longer
# ones first.
FIXED = tuple(
    (unit, offset, re.compile(rf"\b(?:{words})\b|{attached}"))
    for unit, offset, words, attached in _FIXED_WORDS
)

# French "hier" is German for "here": it counts only in a French text.
FRENCH_YESTERDAY = re.compile(r"\bhier\b")
FRENCH = re.compile(
    r"\b(?:je|j['’]\w+|nous|elle|ils|est|était|avons|ont|chez|mon|ma|mes|les|une)\b"
)
GERMAN = re.compile(r"\b(?:ich|ist|und|der|das|wir|nicht|bin|sind|wohne|habe)\b")

_NUMBER_WORDS = (
    "a an one ein eine einem einer un una une 一",
    "two zwei dos deux 二 两 兩",
    "three drei tres trois 三",
    "four vier cuatro quatre 四",
    "five fünf cinco cinq 五",
    "six sechs seis 六",
    "seven sieben siete sept 七",
    "eight acht ocho huit 八",
    "nine neun nueve neuf 九",
    "ten zehn diez dix 十",
)
NUMBERS = {
    word: value for value, words in enumerate(_NUMBER_WORDS, 1) for word in words.split()
} | {"couple of": 2}
UNITS: tuple[tuple[Unit, str], ...] = (
    ("day", "days?|tag(?:e|en)?|días?|jours?|[天日]"),
    ("week", "weeks?|wochen?|semanas?|semaines?|个?星期|週間?|周"),
    ("month", "months?|monat(?:e|en)?|mes(?:es)?|mois|个月|[ヶかカ]月"),
    ("year", "years?|jahr(?:e|en)?|años?|ans?|年"),
)
_N = rf"(?P<n>\d{{1,3}}|{'|'.join(sorted(NUMBERS, key=len, reverse=True))})"
_U = f"(?P<unit>{'|'.join(words for _, words in UNITS)})"
# Direction, and "three weeks ago" with the number `n` and the unit `unit`.
COUNTED = tuple(
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
WEEKDAYS = {name: number for number, names in enumerate(_WEEKDAY_NAMES) for name in names.split()}
_D = rf"(?P<day>{'|'.join(name for name in WEEKDAYS if len(name) > 1)})"


def _on_weekdays() -> Iterator[tuple[int, str]]:
    for sign, before, behind in (
        (-1, f"last|{_LAST}", "pasado|dernier"),
        (1, f"next|{_NEXT}|el próximo", "prochain"),
    ):
        yield sign, rf"\b(?:{before}) {_D}\b"
        yield sign, rf"\b(?:el )?{_D} (?:{behind})\b"


# Direction, and "last Monday" with the name `day`: the nearest before or after today.
ON_WEEKDAYS = tuple((sign, re.compile(pattern)) for sign, pattern in _on_weekdays())
# Direction, and a day of the week before or after this one.
IN_WEEKS = tuple(
    (sign, re.compile(pattern))
    for sign, pattern in (
        (-1, "上个?(?:周|星期)(?P<day>[一二三四五六日天])|先週の?(?P<ja>[月火水木金土日])曜日?"),
        (1, "下个?(?:周|星期)(?P<day>[一二三四五六日天])|来週の?(?P<ja>[月火水木金土日])曜日?"),
    )
)

_MONTHS = (
    "january januar janvier enero jan",
    "february februar février fevrier febrero feb",
    "march märz mars marzo mar",
    "april avril abril apr",
    "may mai mayo",
    "june juni juin junio jun",
    "july juli juillet julio jul",
    "august août aout agosto aug",
    "september septembre septiembre setiembre sep sept",
    "october oktober octobre octubre oct okt",
    "november novembre noviembre nov",
    "december dezember décembre decembre diciembre dec dez",
)
MONTH_NUMBERS = {name: number for number, names in enumerate(_MONTHS, 1) for name in names.split()}
_MONTH = rf"(?P<month>{'|'.join(sorted(MONTH_NUMBERS, key=len, reverse=True))})\b\.?"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th|er|\.|º)?"
ABSOLUTE = tuple(
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
MONTH_ALONE = ABSOLUTE[7]
