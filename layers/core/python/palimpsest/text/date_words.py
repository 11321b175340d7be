"""The words that say a date by its distance from today, in the commonest languages."""
# ruff: noqa: RUF001 - words of many scripts

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

Unit = Literal["day", "week", "month", "year"]


def _either(*words: str, attached: str = "") -> str:
    """Whole words, or (`attached`) words of scripts that write no blanks."""
    whole = rf"\b(?:{'|'.join(words)})\b"
    return f"{whole}|{attached}" if attached else whole


# German "morgen" and Spanish "mañana" are also the morning.
_MORGEN = "".join(rf"(?<!\b{word} )" for word in ("guten", "heute", "gestern", "am", "jeden", "diesen")) + "morgen"
_MANANA = "".join(rf"(?<!\b{word} )" for word in ("la", "esta", "cada", "una")) + "mañana"
_LAST, _NEXT, _THIS = "(?:letzte|vergangene|vorige)[nrs]?", "(?:nächste|kommende)[nrs]?", "diese[nrs]?"
_NO_DAY = "(?![一二三四五六日天])"

_FIXED: tuple[tuple[Unit, int, str], ...] = (
    (
        "day",
        -2,
        _either(
            "(?:the )?day before yesterday|vorgestern|anteayer|antes de ayer|avant-hier",
            attached="前天|一昨日|おととい",
        ),
    ),
    (
        "day",
        2,
        _either(
            "(?:the )?day after tomorrow|übermorgen|pasado mañana|après-demain", attached="后天|後天|明後日|あさって"
        ),
    ),
    ("day", -1, _either("yesterday|last night|gestern|ayer|anoche", attached="昨天|昨日|昨晚|昨夜|きのう")),
    ("day", 1, _either("tomorrow|demain", _MORGEN, _MANANA, attached="明天|明日|あした")),
    (
        "day",
        0,
        _either(
            "today|tonight|this (?:morning|afternoon|evening)|heute|hoy|aujourd['’]hui|ce (?:soir|matin)",
            attached="今天|今日|今晚|今夜",
        ),
    ),
    (
        "week",
        -1,
        _either(
            f"last week|{_LAST} woche|la semana pasada|la semaine (?:dernière|passée)",
            attached=f"上个?(?:周|星期){_NO_DAY}|先週(?!の?[月火水木金土日]曜)",
        ),
    ),
    (
        "week",
        0,
        _either(f"this week|{_THIS} woche|esta semana|cette semaine", attached=f"[本这這]个?(?:周|星期){_NO_DAY}|今週"),
    ),
    (
        "week",
        1,
        _either(
            f"next week|{_NEXT} woche|la próxima semana|la semana que viene|la semaine prochaine",
            attached=f"下个?(?:周|星期){_NO_DAY}|来週(?!の?[月火水木金土日]曜)",
        ),
    ),
    ("month", -1, _either(f"last month|{_LAST} monat|el mes pasado|le mois dernier", attached="上个月|先月")),
    ("month", 0, _either(f"this month|{_THIS} monat|este mes|ce mois-ci", attached="这个月|本月|今月")),
    (
        "month",
        1,
        _either(f"next month|{_NEXT} monat|el próximo mes|el mes que viene|le mois prochain", attached="下个月|来月"),
    ),
    (
        "year",
        -1,
        _either(f"last year|{_LAST} jahr|el año pasado|l['’]an(?:née)? derni(?:er|ère)", attached="去年|昨年"),
    ),
    ("year", 0, _either(f"this year|{_THIS} jahr|este año|cette année", attached="今年")),
    (
        "year",
        1,
        _either(
            f"next year|{_NEXT} jahr|el próximo año|el año que viene|l['’]an(?:née)? prochaine?", attached="明年|来年"
        ),
    ),
)
FIXED = tuple((unit, offset, re.compile(pattern, re.IGNORECASE)) for unit, offset, pattern in _FIXED)
"""Unit, distance from now in it, and the words for it; what contains another comes first."""

FRENCH_YESTERDAY = re.compile(r"\bhier\b", re.IGNORECASE)
"""A German "here", too: only in a text that `FRENCH` finds French."""
FRENCH = re.compile(r"\b(?:je|j['’]\w+|nous|elle|ils|est|était|avons|ont|chez|mon|ma|mes|les|une)\b", re.IGNORECASE)
GERMAN = re.compile(r"\b(?:ich|ist|und|der|das|wir|nicht|bin|sind|wohne|habe)\b", re.IGNORECASE)

_NUMBERS = (
    "a an one ein eine einem einer un una une 一", "two zwei dos deux 二 两 兩", "three drei tres trois 三",
    "four vier cuatro quatre 四", "five fünf cinco cinq 五", "six sechs seis 六", "seven sieben siete sept 七",
    "eight acht ocho huit 八", "nine neun nueve neuf 九", "ten zehn diez dix 十",
)  # fmt: skip
NUMBERS = {word: value for value, words in enumerate(_NUMBERS, 1) for word in words.split()} | {"couple of": 2}
UNITS: tuple[tuple[Unit, str], ...] = (
    ("day", "days?|tag(?:e|en)?|días?|jours?|[天日]"),
    ("week", "weeks?|wochen?|semanas?|semaines?|个?星期|週間?|周"),
    ("month", "months?|monat(?:e|en)?|mes(?:es)?|mois|个月|[ヶかカ]月"),
    ("year", "years?|jahr(?:e|en)?|años?|ans?|年"),
)
_N = rf"(?P<n>\d{{1,3}}|{'|'.join(sorted(NUMBERS, key=len, reverse=True))})"
_U = f"(?P<unit>{'|'.join(words for _, words in UNITS)})"
COUNTED = tuple(
    (sign, re.compile(pattern, re.IGNORECASE))
    for sign, pattern in (
        (-1, rf"\b(?:a )?{_N} {_U} ago\b"),
        (-1, rf"\b(?:vor|hace|il y a) {_N} {_U}\b"),
        (-1, rf"{_N}{_U}(?:以)?前"),
        (1, rf"\b(?:in|dans|dentro de) {_N} {_U}\b"),
        (1, rf"{_N}{_U}[之以]?[后後]"),
    )
)
"""Direction, and "three weeks ago" with the number `n` and the unit `unit`."""

_WEEKDAYS = (
    "monday montag lunes lundi 一 月",
    "tuesday dienstag martes mardi 二 火",
    "wednesday mittwoch miércoles mercredi 三 水",
    "thursday donnerstag jueves jeudi 四 木",
    "friday freitag viernes vendredi 五 金",
    "saturday samstag sonnabend sábado samedi 六 土",
    "sunday sonntag domingo dimanche 日 天",
)
WEEKDAYS = {name: number for number, names in enumerate(_WEEKDAYS) for name in names.split()}
_D = rf"(?P<day>{'|'.join(name for name in WEEKDAYS if len(name) > 1)})"


def _on_weekdays() -> Iterator[tuple[int, str]]:
    for sign, before, behind in ((-1, f"last|{_LAST}", "pasado|dernier"), (1, f"next|{_NEXT}|el próximo", "prochain")):
        yield sign, rf"\b(?:{before}) {_D}\b"
        yield sign, rf"\b(?:el )?{_D} (?:{behind})\b"


ON_WEEKDAYS = tuple((sign, re.compile(pattern, re.IGNORECASE)) for sign, pattern in _on_weekdays())
"""Direction, and "last Monday" with the name `day`: the nearest before or after today."""
IN_WEEKS = tuple(
    (sign, re.compile(pattern))
    for sign, pattern in (
        (-1, "上个?(?:周|星期)(?P<day>[一二三四五六日天])|先週の?(?P<ja>[月火水木金土日])曜日?"),
        (1, "下个?(?:周|星期)(?P<day>[一二三四五六日天])|来週の?(?P<ja>[月火水木金土日])曜日?"),
    )
)
"""Direction, and a day of the week before or after this one."""
