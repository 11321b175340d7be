"""Takes the clause about an ended thing out of a statement, if another clause is a statement by
itself. "We use MongoDB, the backend is in Go" becomes "The backend is in Go".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from palimpsest.memory.meaning.ends import shortens
from palimpsest.memory.meaning.one_of_several import without_one
from palimpsest.memory.meaning.reading import any_of, compiled, is_meant_by, naming
from palimpsest.memory.meaning.slots import slot_of
from palimpsest.text.language import ENGLISH, language_of

MOST = 300  # characters of a statement that is read
PAIR = 2  # clauses
FEWEST = 4  # words of a clause that says something
_NAME = re.compile(r"(?<=\w )(?!I\b)[A-ZÀ-Þ]\w")
_SUBJECT = re.compile(r"\W*(I|We|Ich|Wir|i|we|ich|wir)\b")


@cache
def _joint() -> re.Pattern[str]:
    return compiled(r"\s*[,;]\s+(?:(?:{several}|but|aber|mais|pero)\s+)?|\s+(?:and|und|et|y)\s+")


@cache
def _begins_alone() -> re.Pattern[str]:
    return compiled(
        r"(?!(?:it|that|this|he|she|they|es|das|er|sie|il|elle|ça|ello)\b)"
        r"(?:(?:the|my|our|die|der|das|mein\w*|unser\w*|mon|ma|notre|mi|nuestr\w+) )?"
        r"[\w'-]+(?: [\w'-]+)? (?:is|are|runs|run|uses|ist|sind|läuft|est|sont|es|está|son)\b"
    )


def parts_left(content: str, things: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield what is left of a statement without one of these things, each named by its folded
    words, if the thing is one of several there. Then yield what is left without its clause.
    """
    for without in (without_one, without_clause):
        yield from filter(None, (without(content, thing) for thing in things))


def without_clause(content: str, thing: Sequence[str]) -> str | None:
    """Return the one clause that stays true without the clause that names a thing, by its folded
    words, as a statement. Return None if it is not clear which clause that is.
    """
    pieces = [piece for piece in _joint().split(content[:MOST].rstrip(" .!")) if piece.strip()]
    naming_it = [piece for piece in pieces if _names(piece, thing)]
    if len(pieces) != PAIR or len(naming_it) != 1:
        return None
    (gone,) = naming_it
    if gone.count(" ") + 1 < FEWEST and any_of("owners").match(gone):
        return None  # "my girlfriend Jess", before "and I live in Bath"
    left = _with_subject_of(content, pieces[1 - pieces.index(gone)])
    if not _is_clear(left) or (slot_of(gone) is None and _NAME.search(gone) is None):
        return None
    return f"{left[0].upper()}{left[1:]}."


def _names(text: str, thing: Sequence[str]) -> bool:
    named = naming(text)
    return all(is_meant_by(word, named) or shortens(word, text) for word in thing)


def _with_subject_of(content: str, clause: str) -> str:
    """Return the clause with the subject that it leaves out: "und vertrage keine Laktose"."""
    subject = _SUBJECT.match(content)
    is_first = content.startswith(clause)
    has_own = any_of("clause_subjects").match(clause) or any_of("owners").match(clause)
    if is_first or subject is None or has_own or _begins_alone().match(clause):
        return clause
    return f"{subject[1]} {clause}"


def _is_clear(clause: str) -> bool:
    """Return whether a clause is a statement by itself: about a known topic, or of the speaker or a
    thing with a name in it. "The engine light keeps coming on" is not.
    """
    if slot_of(clause) is not None:
        return True
    is_english = language_of(clause.split()) == ENGLISH
    has_name = is_english and _NAME.search(clause) is not None
    is_alone = _begins_alone().match(clause) or any_of("first_persons").match(clause)
    return has_name and is_alone is not None
