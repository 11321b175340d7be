"""Derives pieces of text from a pattern, which every match of the pattern contains.

Patterns of word files consist of words, groups of alternatives, and signs that a part is optional.
This module reads the few forms that they use. At any other form a piece ends, or the whole pattern
has no pieces.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

from palimpsest.text.triggers import lowered

Pieces = frozenset[str]

BEYOND_LATIN: Final = "\u0250"
"""Letters from this one on may have more than two forms that are equal when case is ignored."""
SHORTEST = 2  # a shorter piece is in most texts
_MICRO = "\N{MICRO SIGN}"
_TOKEN = re.compile(
    r"(?P<escaped>\\(?:\d+|N\{[^}]*\}|x..|u.{4}|U.{8}|.))"
    r"|(?P<set>\[\^?\]?(?:\\.|[^\]\\])*\])"
    r"|(?P<around>\(\?(?:[=!]|<[=!]|\(\w+\)))"
    r"|(?P<opens>\(\?(?:[ims]*(?:-[ims]+)?:|>|P<\w+>)|\((?!\?))"
    r"|(?P<any>\.|\(\?P=\w+\))"
    r"|(?P<unknown>\(\?)"
    r"|(?P<closes>\))"
    r"|(?P<or>\|)"
    r"|(?P<often>(?:[*+?]|\{\d+(?:,\d*)?\}|\{,\d*\})[?+]?)"
    r"|(?P<edge>[\^$])"
    r"|(?P<letter>.)",
    re.DOTALL,
)
_EDGES, _BLANKS = frozenset("bBAZ"), {"n": "\n", "t": "\t"}
_MAY_BE_MISSING = re.compile(r"[*?]|\{0*,|\{0+\}")
_NO_LIST = re.compile(r"\^|.+-.|.*\\\w", re.DOTALL)


class _UnknownFormError(Exception):
    """The pattern has a form that this module does not read."""


@dataclass(frozen=True, slots=True)
class _Group:
    """Alternatives, each a sequence of parts. A piece ends at the border of a repeated group,
    because the number of repetitions is unknown.
    """

    branches: Sequence[Sequence[_Part]]
    is_repeated: bool = False


_Part = str | _Group
"""A letter, a group, or an empty string for any text."""


def pieces_of(pattern: str) -> Sequence[Pieces]:
    """Return sets of pieces in lower case, the smallest set first. Each match contains at least one
    piece of each set.
    """
    sets = dict.fromkeys(_of_parts([_read(pattern)]))
    return sorted(filter(_counts, map(_shortest, sets)), key=len)


def forms_of(pattern: str) -> Sequence[Sequence[Pieces]]:
    """Return the sets of pieces of each alternative of a pattern. For every match there is an
    alternative such that the match contains at least one piece of each of its sets.
    """
    parts = list(_inlined([_read(pattern)]))
    groups = (part for part in parts if isinstance(part, _Group) and _has_words(part))
    several = next(groups, _Group([[]]))
    forms = [list(map(_shortest, _of_parts(branch))) for branch in several.branches]
    common = list(map(_shortest, _of_parts("" if part is several else part for part in parts)))
    every = [list(filter(_counts, (*common, *form))) for form in forms]
    return every if all(every) else [[]]


def is_of_beginning(pattern: str) -> bool:
    """Return whether the pattern matches only at the beginning of a text."""
    return pattern.startswith("^") and len(_read(pattern).branches) == 1


def _has_words(group: _Group) -> bool:
    """Return whether an alternative of the group is longer than a letter."""
    return not group.is_repeated and max(map(len, group.branches)) > 1


def _read(pattern: str) -> _Group:
    """Return the alternatives of the pattern. A pattern of an unknown form may match any text."""
    tokens = _TOKEN.finditer(pattern)
    try:
        return _group(tokens)
    except _UnknownFormError:
        return _Group([[""], [""]])


def _group(tokens: Iterator[re.Match[str]]) -> _Group:
    """Return the alternatives up to the bracket that closes them, or to the end of the pattern."""
    branches: list[list[_Part]] = [[]]
    for token in tokens:
        kind, parts = str(token.lastgroup), branches[-1]
        if kind == "closes":
            break
        if kind == "or":
            branches.append([])
        elif kind == "opens":
            parts.append(_group(tokens))
        elif kind == "around":
            _group(tokens)
            parts.append("")
        elif kind == "often":
            parts[-1:] = [_repeated(part, token[0]) for part in parts[-1:]]
        else:
            parts += _plain(kind, token[0])
    return _Group(branches)


def _repeated(part: _Part, often: str) -> _Part:
    return "" if _MAY_BE_MISSING.match(often) else _Group([[part]], is_repeated=True)


def _plain(kind: str, token: str) -> Sequence[_Part]:
    """Return the parts of a token outside groups: a letter, a set of letters, or any text."""
    if kind == "unknown":
        raise _UnknownFormError
    if kind == "edge" or (kind == "escaped" and token[1] in _EDGES):
        return []
    if kind == "escaped":
        letter = _BLANKS.get(token[1], "") if token[1].isalnum() else token[1]
        return [letter]
    if kind == "set":
        return [_set(token[1:-1])]
    return [token if kind == "letter" else ""]


def _set(listed: str) -> _Part:
    if _NO_LIST.match(listed):
        return ""
    letters = re.sub(r"\\(.)", r"\1", listed, flags=re.DOTALL)
    return letters if len(letters) == 1 else _Group([[letter] for letter in letters])


def _inlined(parts: Iterable[_Part]) -> Iterator[_Part]:
    """Yield the parts. A group with a single alternative is replaced by its parts."""
    for part in parts:
        if isinstance(part, _Group) and len(part.branches) == 1 and not part.is_repeated:
            yield from _inlined(part.branches[0])
        else:
            yield part


def _of_parts(parts: Iterable[_Part]) -> Iterator[Pieces]:
    """Yield the pieces of a sequence of parts."""
    run = ""
    for part in chain(_inlined(parts), [""]):
        if isinstance(part, str) and part and _has_one_lower_form(part):
            run += lowered(part)
            continue
        if run:
            yield frozenset({run})
        run = ""
        if isinstance(part, _Group):
            yield from _of_group(part)


def _of_group(group: _Group) -> Iterator[Pieces]:
    if len(group.branches) == 1:
        yield from _of_parts(group.branches[0])
        return
    rarest = [max(_of_parts(branch), key=_rarity, default=None) for branch in group.branches]
    if all(rarest):
        yield frozenset().union(*filter(None, rarest))


def _has_one_lower_form(letter: str) -> bool:
    """Return whether upper and lower case of the letter have only one lower form."""
    is_plain = letter < BEYOND_LATIN and letter != _MICRO
    return is_plain or letter.lower() == letter.upper()


def _counts(pieces: Pieces) -> bool:
    return min(map(_weight, pieces)) >= SHORTEST


def _weight(piece: str) -> int:
    """Return a number for how many texts a piece rules out: the number of its letters, and one more
    for a piece with marks or with letters beyond the English alphabet.
    """
    is_common = piece.isascii() and (piece.isalnum() or (piece.isspace() and piece != "\n"))
    return len(piece) if is_common else len(piece) + 1


def _shortest(pieces: Pieces) -> Pieces:
    """Return the pieces without those in which a shorter piece occurs."""
    return frozenset(
        piece for piece in pieces if not any(map(piece.__contains__, pieces - {piece}))
    )


def _rarity(pieces: Pieces) -> tuple[int, int]:
    return min(map(_weight, pieces)), -len(pieces)
