"""The words for dates, as patterns for texts in lower case. They are in `words/`, by language."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal, get_args

from palimpsest.text.matching import PACKAGE
from palimpsest.text.sought import Sought, SoughtTogether
from palimpsest.text.word_files import word_files

Unit = Literal["day", "week", "month", "year"]
UNITS: Final[Sequence[Unit]] = get_args(Unit)

# In German, the French word "hier" means "here", so it counts only in a French text.
FRENCH_YESTERDAY = re.compile(r"\bhier\b")
FRENCH = re.compile(
    r"\b(?:je|j['\u2019]\w+|nous|elle|ils|est|était|avons|ont|chez|mon|ma|mes|les|une)\b"
)
GERMAN = re.compile(r"\b(?:ich|ist|und|der|das|wir|nicht|bin|sind|wohne|habe)\b")

_YEAR = r"(?P<year>(?:19|20)\d\d)"
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th|er|\.|º)?"


@dataclass(frozen=True, slots=True)
class DateWords:
    """The patterns of dates, and the numbers that the found words mean.

    `fixed` has a unit, how many of them it is from now, and the pattern. The others have a
    direction (-1 for the past) and a pattern. `counted` finds "three weeks ago" as `n` and `unit`.
    `on_weekdays` finds "last Monday" as `day`. `in_weeks` finds a day of the week before or after
    the present week. `absolute` finds dates that need no day to count from; `month_alone` is one of
    them. `relative` are all patterns of dates that are counted from a day.
    """

    numbers: Mapping[str, int]
    units: Mapping[Unit, str]
    weekdays: Mapping[str, int]
    months: Mapping[str, int]
    fixed: Sequence[tuple[Unit, int, Sought]]
    counted: Sequence[tuple[int, Sought]]
    on_weekdays: Sequence[tuple[int, Sought]]
    in_weeks: Sequence[tuple[int, Sought]]
    absolute: Sequence[re.Pattern[str]]
    month_alone: re.Pattern[str]
    relative: SoughtTogether


@cache
def date_words() -> DateWords:
    """Return the words for dates in all languages."""
    numbers = {word: int(value) for words in _field("numbers") for value, word in _pairs(words)}
    units = {unit: "|".join(_of_units(unit)) for unit in UNITS}
    weekdays = _numbered("weekdays", first=0)
    months = _numbered("months", first=1)
    pieces = {
        "{n}": rf"(?P<n>\d{{1,3}}|{_either(numbers)})",
        "{unit}": f"(?P<unit>{'|'.join(units.values())})",
        "{day}": f"(?P<day>{_either(name for name in weekdays if len(name) > 1)})",
    }
    month = rf"(?P<month>{_either(months)})\b\.?"
    month_alone = re.compile(
        rf"\b(?:in|im|en|since|last|during|for|until|of|seit|depuis|desde)\s+{month}"
    )
    fixed, counted = tuple(_fixed()), tuple(_directed("counted", pieces))
    on_weekdays = tuple(_directed("on_weekday", pieces))
    in_weeks = tuple(_directed("in_weeks", {}))
    directed = (*counted, *on_weekdays, *in_weeks)
    relative = [*(sought for _, _, sought in fixed), *(sought for _, sought in directed)]
    return DateWords(
        numbers=numbers,
        units=units,
        weekdays=weekdays,
        months=months,
        fixed=fixed,
        counted=counted,
        on_weekdays=on_weekdays,
        in_weeks=in_weeks,
        absolute=tuple(_absolute(month, month_alone)),
        month_alone=month_alone,
        relative=SoughtTogether(relative),
    )


def _field(name: str) -> Iterator[Any]:
    """Yield the values of a field of the dates, over all languages."""
    for file in word_files(PACKAGE).values():
        if name in file.get("dates", {}):
            yield file["dates"][name]


def _pairs(lists: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    for key, words in lists.items():
        yield from ((key, word) for word in words)


def _of_units(unit: Unit) -> Iterator[str]:
    for words in _field("units"):
        yield from words.get(unit, ())


def _numbered(field: str, *, first: int) -> Mapping[str, int]:
    """Return the number that each name means. The field lists the names of each number, beginning
    with the number `first`.
    """
    numbers: dict[str, int] = {}
    for names_in_order in _field(field):
        for number, names in enumerate(names_in_order, first):
            numbers |= dict.fromkeys(names, number)
    return numbers


def _either(words: Iterator[str] | Mapping[str, int]) -> str:
    """Return the words as alternatives of a pattern, the longer ones first."""
    return "|".join(sorted(words, key=len, reverse=True))


def _fixed() -> Iterator[tuple[Unit, int, Sought]]:
    """Return one pattern for each unit and distance, over all languages. In scripts that write
    blanks it finds whole words.
    """
    by_distance: dict[tuple[Unit, int], tuple[list[str], list[str]]] = {}
    for file in word_files(PACKAGE).values():
        for unit, distances in file.get("dates", {}).get("fixed", {}).items():
            for distance, word in _pairs(distances):
                whole, attached = by_distance.setdefault((unit, int(distance)), ([], []))
                (attached if file.get("joins_words") else whole).append(word)
    for (unit, units_from_now), (whole, attached) in by_distance.items():
        words = (rf"\b(?:{'|'.join(whole)})\b", *attached)
        yield unit, units_from_now, Sought("|".join(words))


def _directed(field: str, pieces: Mapping[str, str]) -> Iterator[tuple[int, Sought]]:
    for directions in _field(field):
        for direction, pattern in _pairs(directions):
            whole = pattern
            for name, piece in pieces.items():
                whole = whole.replace(name, piece)
            yield int(direction), Sought(whole)


def _absolute(month: str, month_alone: re.Pattern[str]) -> Iterator[re.Pattern[str]]:
    """Yield the patterns of absolute dates, the more exact ones first."""
    for pattern in (
        rf"\b{_YEAR}-(?P<number>[01]\d)-(?P<day>[0-3]\d)\b",
        rf"{_YEAR}[年년]\s?(?P<number>1?\d)[月월]\s?(?:(?P<day>[1-3]?\d)[日号일])?",
        rf"\b{_YEAR}-(?P<number>[01]\d)\b",
        rf"\b{month}\s+{_DAY},?\s+{_YEAR}\b",
        rf"\b{_DAY}\s+(?:de\s+|of\s+)?{month}(?:,?\s+(?:de\s+)?{_YEAR})?\b",
        rf"\b{month},?\s+(?:(?:of|de)\s+)?{_YEAR}\b",
        rf"\b{month}\s+{_DAY}(?!\d)\b",
    ):
        yield re.compile(pattern)
    yield month_alone
    for pattern in (
        rf"\b(?:from|ab|anfang|mitte|ende|début|fin|(?:partir|finales|principios) de)\s+{month}",
        r"(?<!\d)(?P<number>1?\d)[月월](?:\s?(?P<day>[1-3]?\d)[日号일])?",
        rf"\b(?:in|im|en|since|during|of|seit|depuis|desde)\s+{_YEAR}\b",
        rf"{_YEAR}[年년]",
    ):
        yield re.compile(pattern)
