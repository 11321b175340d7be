"""Finds names in texts: how speakers introduce themselves, and whether a name is the user's."""

# ruff: noqa: RUF001 - two kinds of apostrophes
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Final

from palimpsest.text.folding import normalized
from palimpsest.text.word_files import entries

PACKAGE: Final = "palimpsest.memory"
_CAPITAL = re.compile(r"[A-ZÀ-Þ]")
_NAME = r"[A-ZÀ-Þ][\w'’-]*(?:\.(?=\s[A-ZÀ-Þ]))?(?: [A-ZÀ-Þ][\w'’-]*){0,2}"
_START = (
    r"(?:^|[.!?,;:–—-]|\b(?i:hi|hey|hello|hallo|salut|hola|bonjour|and|und|but|et|y)\b)[^\w\n]{0,4}"
)
_WORD = re.compile(r"[^\W_]+")
_LETTERS = re.compile(r"[^\W\d_]+")
_ID_IS_A_NAME = re.compile(r"[^\W\d_]+(?:[._ -][^\W\d_]+)*")

INTRODUCED = ("name", "preferred_name")
"""The topics whose current record says the user's name."""


def is_own_name(
    name: str, *, user: str, names: Iterable[str] = (), others: Iterable[str] = ()
) -> bool:
    """Return whether a name is the user's: "user", one of `names`, or a part of one of them or of
    the user's id. A user may have no known name, and an id that is not a name. Then any name is the
    user's if no other name occurs in the conversation (`others`).
    """
    known = [*names]
    words = _words(name)
    if not words or any(
        normalized(name) == normalized(known_name) for known_name in (user, "user", *known)
    ):
        return True
    if any(words <= _words(known_name) for known_name in known) or _letters(name) <= _letters(user):
        return True
    return not known and not is_name(user) and set(others) == {name}


def is_name(user: str) -> bool:
    """Return whether a user's id is a name, such as `sarah`, and not an opaque one."""
    return _ID_IS_A_NAME.fullmatch(user) is not None


def is_longer_name(name: str, of: str) -> bool:
    """Return whether a name is a longer form of another name, such as "Priya Nair" of "Priya"."""
    return _words(of) < _words(name)


def signing(user: str, names: Sequence[str]) -> str:
    """Return the name of the user for a reader. It is the id if the id is a name, else the first
    known name.
    """
    return user if is_name(user) or not names else names[0]


def _words(name: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(name)}


def _letters(name: str) -> set[str]:
    return {word.casefold() for word in _LETTERS.findall(name)} or {name}


def about(name: str, content: str) -> str:
    """Return the content of another person's statement with that person's name. The name replaces
    "the user" at the beginning, or else labels the words ("Bob: …").
    """
    if name.casefold() in content.casefold():
        return content
    match = _the_user().match(content)
    return name + content[match.end() :] if match else f"{name}: {content}"


def unlabelled(content: str, name: str | None) -> str:
    """Return the content of another person's statement without the label that `about` gave it."""
    label = f"{name}: "
    is_labelled = bool(name) and content[: len(label)].casefold() == label.casefold()
    return content[len(label) :] if is_labelled else content


@cache
def _the_user() -> re.Pattern[str]:
    return re.compile(rf"(?i:{'|'.join(entries(PACKAGE, 'the_user'))})(?=['’\s])")


def introduced_in(text: str) -> tuple[str, ...]:
    """Return the names with which a text's speaker introduces themselves, such as "Sarah" in "I'm
    Sarah" or "Ana" in "me llamo Ana".
    """
    return tuple(dict.fromkeys(_introductions(text))) if _CAPITAL.search(text) else ()


def is_introduction(text: str) -> bool:
    """Return whether a text only says the speaker's name, as "I'm Sarah." does."""
    match = _alone().fullmatch(text.strip())
    return match is not None and not _no_name().fullmatch(match["name"].split()[0])


def _introductions(text: str) -> Iterator[str]:
    sure, likely = _patterns()
    yield from (match["name"].rstrip("'’-") for match in sure.finditer(text))
    for match in likely.finditer(text):
        name = match["name"].rstrip("'’-")
        if not _no_name().fullmatch(name.split()[0]):
            yield name


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    sure, likely, after = (
        "|".join(entries(PACKAGE, field))
        for field in ("names_follow", "names_may_follow", "after_a_name")
    )
    ends = rf"(?=\s*(?:$|[.!?,;:()\n–—]|(?i:{after})\b))"
    return (
        re.compile(rf"(?<!\w)(?i:{sure}) (?P<name>{_NAME})", re.MULTILINE),
        re.compile(rf"{_START}(?i:{likely}) (?P<name>{_NAME}){ends}", re.MULTILINE),
    )


@cache
def _alone() -> re.Pattern[str]:
    leads = "|".join(entries(PACKAGE, "names_alone_follow"))
    return re.compile(rf"(?:[^\W\d_]+[,!] )?(?i:{leads}) (?P<name>{_NAME})[.!]?")


@cache
def _no_name() -> re.Pattern[str]:
    return re.compile("|".join(entries(PACKAGE, "no_names")))
