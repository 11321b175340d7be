"""The trace of a deleted memory, and the comparison of statements with it. Both are digests."""

from __future__ import annotations

from dataclasses import dataclass

ALIKE, ALIKE_WITHOUT_NAMES = 0.6, 0.8
"""Two statements say the same if they share at least this part of their words."""

FEW = 4
"""If a deleted memory has a single word, such as "asthma", a statement with this word says the same
only if it has at most this many words: "I've had asthma since childhood".
"""


@dataclass(frozen=True, slots=True)
class Burial:
    """The trace of a memory that was deleted at the time `at` (epoch milliseconds). All other
    fields are digests. `said` has its texts and quotes, `words` its words, `values` its names and
    numbers. `names` and `distinct` have the words that tell it from other memories, `abouts` the
    words for its subject, and `areas` its areas of life. If `is_somebody` is true, the names belong
    to a person or animal. `meanings` has what it says in a form that does not depend on its words.
    `stated` is when it was last said (epoch milliseconds). Burials of older releases lack the last
    fields.
    """

    id: str
    at: int
    topics: tuple[str, ...] = ()
    subject: str = ""
    said: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    distinct: tuple[str, ...] = ()
    abouts: tuple[str, ...] = ()
    areas: tuple[str, ...] = ()
    is_somebody: bool = False
    meanings: tuple[str, ...] = ()
    stated: int = 0


@dataclass(frozen=True, slots=True)
class ComparedWords:
    """Digests of a statement: of the beginnings of its words, of whole words, and of the beginnings
    of its names and numbers.
    """

    begun: set[str]
    whole: set[str]
    named: set[str]


@dataclass(frozen=True, slots=True)
class OldStatement:
    """Digests of an old statement: its subjects, its words and numbers, the beginnings of its
    words, and its areas of life.
    """

    subjects: set[str]
    whole: set[str]
    begun: set[str]
    areas: set[str]


def tells_of(burial: Burial, statement: OldStatement, *, user: str) -> bool:
    """Return whether a statement has the distinct words of a burial: all names, or half of the
    other words if there are no names.
    """
    names, words, where = {*burial.names}, {*burial.distinct}, {*burial.areas}
    # Another area of life is another fact: "I work in Kiel" is not "I live in Kiel"
    # (docs/adr/0120).
    if where and statement.areas and not where & statement.areas:
        return False
    if not (burial.is_somebody or _is_about_the_same(burial, statement, user=user)):
        return False
    if names:
        return names <= statement.whole
    return bool(words) and 2 * len(words & statement.begun) >= len(words)


def _is_about_the_same(burial: Burial, statement: OldStatement, *, user: str) -> bool:
    if burial.subject != user or burial.abouts:
        is_named = not burial.abouts or bool({*burial.abouts} & statement.whole)
        return is_named or (burial.subject != user and burial.subject in statement.subjects)
    return burial.subject in statement.subjects


def says_the_same(burial: Burial, topics: set[str], statement: ComparedWords) -> bool:
    own, named = {*burial.words}, {*burial.values}
    if own <= statement.begun and (len(own) > 1 or len(statement.begun) <= FEW):
        return True
    if topics & {*burial.topics} and named and named <= statement.whole:
        return True
    shared = len(own & statement.begun) / max(1, len(own | statement.begun))
    if not named and not statement.named:
        return shared >= (ALIKE if own <= statement.begun else ALIKE_WITHOUT_NAMES)
    return shared >= ALIKE and named <= statement.whole and statement.named <= own
