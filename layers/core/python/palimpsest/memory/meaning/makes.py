"""Reads the makes of things, such as the name of a phone or a bank. A person usually has one thing
of each kind.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache

from palimpsest.memory.meaning.reading import PACKAGE, naming, shared
from palimpsest.text.folding import folded
from palimpsest.text.word_files import filled

MOST = 300  # characters of a text that is read
_MODEL = r"(?:[ -](?:(?-i:Pro|Max|Plus|Ultra|Air|Mini|Note|Fold|Flip|[A-Z])|\w*\d[\w+-]*)(?!\w))*"


@dataclass(frozen=True, slots=True)
class Make:
    """A thing that a text names by its make: its kind, the folded names, and the folded words of
    the text that name anything else.
    """

    kind: str
    names: frozenset[str]
    rest: frozenset[str]


@cache
def _patterns() -> Mapping[str, re.Pattern[str]]:
    """Return the pattern of the makes of each kind, with the model that follows."""
    return {
        kind: re.compile(rf"(?<![\w.]){names}(?:[ -]{names})*{_MODEL}", re.IGNORECASE)
        for kind in shared("makes")
        for names in (_names(kind),)
    }


def _names(kind: str) -> str:
    """Return a pattern of the makes of a kind. Some of them are other words too, and begin with a
    capital: "Sky".
    """
    makes = shared("makes")[kind]
    names = "|".join(filled(PACKAGE, name) for name in makes["names"])
    proper = "|".join(makes["proper"])
    return rf"(?:(?:{names}{f'|(?-i:{proper})' if proper else ''})(?!\w))"


@cache
def _words(kind: str) -> frozenset[str]:
    return frozenset(folded(word) for word in shared("makes")[kind]["words"])


@lru_cache(maxsize=256)
def make_of(text: str, kind: str | None = None) -> Make | None:
    """Return the only make that a text names, of this kind or of any; None if it names none or
    several.
    """
    plain = text[:MOST]
    matches = [
        (name, match)
        for name, pattern in _patterns().items()
        if kind in (None, name)
        for match in pattern.finditer(plain)
    ]
    if len({name for name, _ in matches}) != 1 or len(matches) > 1:
        return None
    ((name, match),) = matches
    rest = naming(f"{plain[: match.start()]} {plain[match.end() :]}")
    own = frozenset(re.findall(r"[^\W_]+", folded(match[0])))
    return Make(name, own, frozenset(rest) - _words(name))


def is_make(text: str) -> bool:
    """Return whether a text is only the name of a make, which no place has."""
    make = make_of(text)
    return make is not None and not make.rest and not text[:1].islower()
