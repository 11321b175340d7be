"""Recognizes sentences about the user's life that have no word of the first person: "wife's a
nurse", "coffee gives me headaches", "vegan btw".
"""

from __future__ import annotations

# ruff: noqa: RUF001 - two kinds of apostrophes
from functools import lru_cache
from typing import Final

from palimpsest.text.salience import is_own
from palimpsest.text.word_files import compiled

PACKAGE: Final = "palimpsest.offline"
_AT_THE_BEGINNING = (
    r"^\W*(?:(?:{before_a_remark}|{leads_in}|{additions}|{and})\b[,.!]* )*"
    r"(?:(?:{close_people})(?:['’]s|s)? (?:{states_of_people})"
    r"|(?:{things_at_home})(?:['’]s)? (?:{states_of_things})"
    r"|(?:{daily_places}) (?:{states_of_places})"
    r"|(?:{conditions})(?=\W*$|,? (?:{after_a_condition})\b)"
    r"|{others_of_oneself})"
)
_ANYWHERE = r"\b(?:{effects_on_me})|, (?:{bodily_conditions})(?=\W*$|,? (?:{after_a_condition})\b)"


def implies_the_user(sentence: str) -> bool:
    """Return whether the sentence is about the speaker's own people, home, body or habits, which
    its words show though none is in the first person.
    """
    begins = compiled(PACKAGE, _AT_THE_BEGINNING).match(sentence)
    return bool(begins or compiled(PACKAGE, _ANYWHERE).search(sentence))


@lru_cache(maxsize=8)
def speaks_of_oneself(sentence: str) -> bool:
    """Return whether the sentence speaks in the first person, or is about the speaker anyway."""
    return is_own(sentence) or implies_the_user(sentence)
