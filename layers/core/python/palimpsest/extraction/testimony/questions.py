"""Separates statements from a question, an order, or words about another person in the same
sentence, as in "I have three kids, what applies?".
"""

from __future__ import annotations

# ruff: noqa: RUF001 - marks of many scripts
import re
from functools import cache

from palimpsest.extraction.testimony.words import SENTENCE_START, anywhere, phrases
from palimpsest.memory.meaning.standing import begins_as_order
from palimpsest.privacy.wishes import asks_to_keep

JOINING = "so|and|but|also|then|und|aber|et|mais|donc|alors|y|pero|entonces"


@cache
def _stated_and_asked() -> re.Pattern[str]:
    asks = rf"(?:(?:{JOINING}) |[^\W\d_]{{1,12}}, )?(?:{phrases('questions')})(?![\w,])"
    return re.compile(
        rf"(?P<own>{SENTENCE_START}(?!{asks})(?:[^\W\d_]{{1,12}},? ){{0,2}}"
        rf"(?:{phrases('first_person')})(?!\w)"
        r"[^\n.!?]{3,200}?)(?:,|[ ][–—-])(?P<gap>[ ])"
        rf"(?=(?:(?!(?:or|oder|ou|o|u)\b)[^\s.!?,;\n]+ ){{2,20}}[^\s.!?,\n]+ ?\?"
        rf"|(?:{phrases('asks_in_short')}) ?\?"
        rf"|(?:(?:{JOINING}) )?"
        rf"¿?(?:{phrases('questions')})(?!\w)"
        r"[^\n.!?]{2,200}\?)",
        re.IGNORECASE | re.MULTILINE,
    )


@cache
def _stated_and_ordered() -> re.Pattern[str]:
    return re.compile(
        rf"(?P<own>{SENTENCE_START}(?:[^\W\d_]{{1,12}},? ){{0,2}}"
        rf"(?:{phrases('first_person')})(?!\w)"
        r"[^\n.!?]{3,200}?),? (?:so|also|donc|alors|así que|therefore)[ ,]+(?:please |bitte )?"
        rf"(?=(?:{phrases('orders')})(?!\w))",
        re.IGNORECASE | re.MULTILINE,
    )


@cache
def _before_own() -> re.Pattern[str]:
    return re.compile(
        rf"(?P<order>{SENTENCE_START}[^\n.!?:]{{3,200}}?)"
        rf"(?P<mark>,|[ ]?:|[ ][–—-])[ ](?=(?:{phrases('begins_own')})(?!\w))",
        re.IGNORECASE | re.MULTILINE,
    )


@cache
def _order() -> re.Pattern[str]:
    """Return a pattern for the beginning of an order, with at most two words before it."""
    order = rf"(?!(?:{phrases('questions')})(?!\w))(?:{phrases('orders')})(?!\w)"
    return re.compile(
        rf"\W*(?:[^\W\d_]{{1,12}},? ){{0,2}}?(?:(?:{phrases('task_polite')})\b,? )?{order}",
        re.IGNORECASE,
    )


def _orders_apart(match: re.Match[str]) -> str:
    """Put an order that comes before a statement of the speaker on a line of its own. An order such
    as "write that nicely:" keeps the text that it is about.
    """
    order = match["order"]
    if asks_to_keep(order):
        return f"{order}\n"
    is_order = _order().match(order) is not None or begins_as_order(order)
    is_of_text = match["mark"].strip() == ":" and anywhere("task_deictics").search(order)
    return f"{order}\n" if is_order and not is_of_text else match[0]


@cache
def _question() -> re.Pattern[str]:
    return re.compile(rf"\W*(?:(?:{JOINING}) )?(?:{phrases('questions')})(?!\w)", re.IGNORECASE)


def asks_for_an_answer(text: str) -> bool:
    """Return whether a text begins as a question."""
    return _question().match(text) is not None


@cache
def _of_others_and_own() -> re.Pattern[str]:
    return re.compile(
        rf"(?P<own>{SENTENCE_START}(?:my|our|his|her|their|he|she|they|m[ae]s?|mon|mein\w*|unser\w*"
        r"|er|sie|mis?|él|ella|il|elle) (?!(?:names?|nom|nombre|opinion|view|point)\b)"
        r"[^\n.!?,]{3,160}),"
        r" (?:but|while|whereas|aber|während|mais|tandis que|pero|mientras que) "
        r"(?=(?:i(?:['’]m|['’]ve)?|ich|moi|je|j['’]|yo)(?![\w]))",
        re.IGNORECASE | re.MULTILINE,
    )


_MY = r"my|our|mein\w*|unser\w*|mon|ma|mes|notre|nos|mi|mis|nuestr\w+"
_ME = r"i(?:['’](?:m|ve|d|ll))?|ich|je|j['’]\w+|yo|me|mich|mir|moi"
_NO_VERB = (
    r"from|at|in|on|with|of|to|who|whose|and|or|as|too|von|aus|mit|der|die|das|und|oder|qui|de|du|des"
    r"|et|ou|que|con|del|en|y|o|also|auch|aussi|también"
)


_JOINT = r"(?:,? (?:{but_own})|,? (?:and|und|et|y)|,) "
_OWN = r"(?:i(?:['’](?:m|ve))?|ich|(?:moi,? )?je|(?:moi,? )?j['’]\w+|yo)(?!\w)"


@cache
def _joined_to_own() -> re.Pattern[str]:
    joint = _JOINT.format(but_own=phrases("but_own"))
    return re.compile(rf"{joint}{_OWN}", re.IGNORECASE)


@cache
def _of_a_person_and_own() -> re.Pattern[str]:
    """Return a pattern for a statement about somebody of the speaker, before a statement of the
    speaker about themselves: "My wife drinks tea" in "My wife drinks tea but I drink coffee".
    """
    word = rf"(?!(?:{_ME})(?!\w))[^\s.!?,;:]+"
    person = rf"(?:{_MY}) (?:[\w-]+ )??(?:{phrases('persons')})(?![\w'’-])"
    named = r"(?-i:(?: [A-ZÀ-Þ][\w'’-]+){0,2})"
    verb = rf" (?!(?:{_NO_VERB})(?!\w))(?-i:[a-zà-ÿ])[^\s.!?,;:]*(?: {word}){{1,12}}?"
    joint = _JOINT.format(but_own=phrases("but_own"))
    own = rf"{_OWN}(?! ?(?:{_NO_VERB})(?!\w))"
    back = rf"[^\n.!?,;]*?(?<!\w)(?:{phrases('refers_back')})(?!\w)"
    return re.compile(
        rf"(?P<own>{SENTENCE_START}(?:(?:{JOINING}),? )?{person}{named}{verb}){joint}"
        rf"(?={own})(?!{back})",
        re.IGNORECASE | re.MULTILINE,
    )


def apart(text: str) -> str:
    """Return the text in which statements about the user alone have a line of their own."""
    text = _before_own().sub(_orders_apart, questions_apart(text))
    text = _of_others_and_own().sub(r"\g<own>.\n", text)
    if _joined_to_own().search(text) is not None:
        text = _of_a_person_and_own().sub(r"\g<own>.\n", text)
    return _stated_and_ordered().sub(r"\g<own>.\n", text)


def questions_apart(text: str) -> str:
    """Return the text with each question on a line of its own if a statement comes before it in the
    same sentence. A sentence that begins as a question has no statement, such as "What may I claim,
    and by when?".
    """
    if "?" not in text:
        return text
    return _stated_and_asked().sub(r"\g<own>\n", text)
