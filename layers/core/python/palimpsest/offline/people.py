"""Whom a statement is about: relatives, names, and somebody named before whom "she", "his" or
"their" means.
"""

# ruff: noqa: RUF001 - two kinds of apostrophes
from __future__ import annotations

import re
from collections.abc import Sequence

NAME = r"(?-i:[A-ZÀ-Þ][\w'’-]+)"
"""Matches any word with a capital letter."""
_FEMALE = "wife|girlfriend|daughter|mother|mom|mum|sister|aunt|grandmother|grandma|frau|tochter|mutter|schwester|oma|tante"
_MALE = "husband|boyfriend|son|father|dad|brother|uncle|grandfather|grandpa|mann|sohn|vater|bruder|opa|onkel"
_EITHER = (
    "partner|dog|cat|boss|manager|friend|colleague|neighbou?r|cousin|roommate|child|baby|kid|partner(?:in)?|hund|katze"
    "|chef(?:in)?|freund(?:in)?|kolleg(?:e|in)|nachbar(?:in)?"
)
_SEVERAL = "kids|children|parents|grandparents|sons|daughters|brothers|sisters|friends|dogs|cats|kinder|eltern|geschwister"
_NAME = r"(?-i:[A-ZÀ-Þ][\w'’-]*\w)"
_PERSON = re.compile(
    r"\b(?:my|our|meine?|unsere?) (?:\w+ )?"
    rf"(?:(?P<she>{_FEMALE})|(?P<he>{_MALE})|(?P<they>{_SEVERAL})|{_EITHER})\b"
    rf"(?!['’])(?: {_NAME})?"
    rf"|\b(?:called|named|name is|name['’]s|heißt|heisst|met|friend|with) (?P<name>{_NAME})",
    re.IGNORECASE,
)
_PRONOUN = re.compile(
    r"^(?P<opening>\W*(?:(?:and|but|also|und|aber)\b,? )?)"
    r"(?:(?P<she>she|sie|her)|(?P<he>he|er|his)|(?P<they>they|their))(?P<verb>['’](?:s|re|ve"
    r"|ll|d))?(?= )",
    re.IGNORECASE,
)
_POSSESSIVE = ("her", "his", "their")
_WRITTEN_OUT = {"s": " is", "re": " are", "ve": " have", "ll": " will", "d": " would"}
RELATION = re.compile(
    r"^\W*(?:and |but )?my (?P<en>wife|husband|partner|girlfriend"
    r"|boyfriend|son|daughter|kids?|children|dog|cat|mother"
    r"|father|mom|mum|dad|brother|sister|boss|manager|team|company)\b"
    r"|^\W*meine? (?P<de>frau|mann|partner(?:in)?|sohn|tochter|kinder|hund|katze"
    r"|mutter|vater|bruder|schwester"
    r"|chef(?:in)?)\b"
    r"|^\W*mi (?P<es>esposa|mujer|marido|esposo|pareja|hij[oa]s?|perr[oa]|gat[oa]"
    r"|madre|padre|herman[oa]|jef[ea])\b"
    r"|^\W*m(?:a|on) (?P<fr>femme|mari|compagne|compagnon|fils|fille|chien|chat|mère|père"
    r"|frère|sœur|chef)\b"
    r"|^我(?:的)?(?P<zh>妻子|老婆|丈夫|老公|儿子|女儿|狗|猫|妈妈|爸爸|哥哥|姐姐|弟弟|妹妹|老板)",
    re.IGNORECASE,
)
"""The person or animal that a statement is about, if it is not the user."""

YOU = "sie"  # German: also "you" and "they"
MOST_LOOKED_AT = 8  # sentences before


def with_names(sentence: str, before: Sequence[str]) -> str | None:
    """The sentence with somebody whom the sentences before name, the last one first, in place of
    the pronoun that it begins with; None if they name nobody whom the pronoun could mean.
    """
    found = _PRONOUN.match(sentence)
    if found is None:
        return sentence
    pronoun = next(name for name in ("she", "he", "they") if found[name])
    who = next(
        filter(None, (_named(each, pronoun) for each in before[: -MOST_LOOKED_AT - 1 : -1])), None
    )
    if who is None:
        return sentence if found[pronoun].casefold() == YOU else None
    if found[pronoun].casefold() in _POSSESSIVE:
        who += "'" if who.endswith("s") else "'s"
    verb = _WRITTEN_OUT[found["verb"][1:].casefold()] if found["verb"] else ""
    return found["opening"] + who + verb + sentence[found.end() :]


def _named(sentence: str, pronoun: str) -> str | None:
    """The last one whom the sentence names and the pronoun can mean."""
    named = None
    for found in _PERSON.finditer(sentence):
        is_known = any(found[each] for each in ("she", "he", "they"))
        if found[pronoun] or (not is_known and pronoun != "they"):
            named = found["name"] or found[0]
    return named
