"""What of a user's sentence says nothing to remember: greetings, requests, jokes, and remarks on the conversation."""
# ruff: noqa: RUF001 - words of many scripts

from __future__ import annotations

import re

from palimpsest.extraction.people import NAME
from palimpsest.text.analyser import FUNCTION_WORDS, words
from palimpsest.text.sieve import Sieve, lowered

_GREETED = (
    r"^\W*\b(?:hi|hello|hey|hallo|moin|servus|good (?:morning|afternoon|evening|day)|guten (?:tag|morgen|abend))\b"
    r"(?: there| all| everyone| zusammen)?+"
)
GREETING = rf"{_GREETED}[,!. ]+"
_REQUEST = re.compile(
    r"^\W*(?:(?:ok(?:ay)?|and|now|then|hey|please|bitte|por favor|so)\b[,!]? ?)*"
    r"(?:(?:show|tell|write|give|explain|help|find|list|make|create|translate|summari[sz]e|describe|compare|generate|fix"
    r"|check|look|let['’]?s|suggest|recommend|draft|rewrite|convert|calculate|book|send|search|open|play|try|add|remove|call)\b"
    r"|I(?:['’]d like| want| need| would like) to (?:know|ask|see|understand)\b"
    r"|(?:zeig|gib|schreib|erklär|hilf|übersetz|mach|such|nenne|fass)(?:e|en sie)?\b(?! mich)"
    r"|(?:muéstra|da|escríbe|explíca|ayúda|tradúce|dí)me\b|(?:escribe|explica|traduce|haz|busca)\b"
    r"|(?:montre|donne|explique|aide|dis)(?:z|s)?-?(?:moi)?\b|(?:écris|traduis|fais|cherche)\b"
    r"|请?(?:帮我|给我|告诉我|写|解释|翻译|列出))"
    r"|(?:ください|教えて|お願いします?)[。！]?$",
    re.IGNORECASE,
)
_EMPTY = re.compile(
    r"^\W*(?:(?:well|ok(?:ay)?|so|and|but|oh|ah|hm+|yes|no|yeah|actually|honestly|sorry|thanks?)\b\W*)*"
    r"(?:i(?:['’](?:m|ll|d|ve))?|ich|je|yo)?\b ?"
    r"(?:(?:am|was|just|really|also|still|do|totally|completely|so|very) )*"
    r"(?:see(?=\W*$| (?:what|that|how|why|your|it)\b)|(?:get|got) (?:it|that)|understand|(?:dis)?agree|guess|suppose"
    r"|think|believe(?! in)|hope(?! to)|wonder(?:ing)?|mean|know(?=\W*$| (?:that|what|how|why|it|this|you)\b)"
    r"|(?:don['’]t|do not) (?:know|think|mind|understand)|can['’]t (?:believe|tell|say)|appreciate|(?:not )?sure|sorry"
    r"|glad|happy to|fine|good(?! at)|ok(?:ay)?|ready|back|here|done|confused|just asking|looking forward|trying"
    r"|listening|(?:will |['’]ll )?(?:try|check|do|get back|let you know|wait)"
    r"|(?:would |['’]d )?(?:like|love) to (?:know|hear|ask)|have (?:a|another|one more|some) (?:\w+ )?questions?"
    r"|need (?:your |some |a bit of )?help|(?:love|like) (?:it|that|this)"
    r"|verstehe|weiß (?:es )?nicht|denke|glaube|hoffe|entiendo|no sé|creo|comprends|vois|pense)\b"
)
_OWN_THING = re.compile(r"\b(?:my|our|mein\w*|unser\w*|mon|ma|mes|mis?)\b|\d", re.IGNORECASE)
_NAMED = re.compile(r"(?<=\w )(?!I\b)[A-ZÀ-Þ][\w'’-]+")
FEW_WORDS = 2


_JEST = re.compile(r"\b(?:just|only|I['’]m|am) (?:kidding|joking)\b", re.IGNORECASE)
_IS_GREETED = re.compile(rf"{GREETING}(?=\w)", re.IGNORECASE)
_LEADS_IN = re.compile(
    r"(?:(?:oh|ah|ok(?:ay)?|well),? )?(?:one more thing|by the way|btw|fyi|anyway|übrigens|ach ja)[,:]? (?=\w)",
    re.IGNORECASE,
)
_ONLY_GREETS = re.compile(rf"{_GREETED}[!,. ]*", re.IGNORECASE)
_INTRODUCES = re.compile(rf"(?:this is|I['’]?m|I am) {NAME}", re.IGNORECASE)
_REQUEST_SIEVE = Sieve([_REQUEST.pattern], re.IGNORECASE)


def asks_for_something(text: str) -> bool:
    """Whether the text is a request to do something now, which says nothing to remember."""
    return bool(_REQUEST_SIEVE.candidates(text) and _REQUEST.search(text))


def is_in_jest(text: str) -> bool:
    """Whether the text takes back what it says."""
    return ("kidding" in text or "joking" in text) and bool(_JEST.search(text))


def without_greeting(text: str) -> str:
    """The text without the greeting that it begins with, unless it is nothing else."""
    found = _IS_GREETED.match(text)
    return text[found.end() :] if found else text


def to_the_point(text: str) -> str:
    """The text without a greeting or a phrase that only leads to what it says: "By the way, I'm Mira."."""
    said = without_greeting(text)
    lead = _LEADS_IN.match(said)
    said = said[lead.end() :] if lead else said
    return text if said is text else said[0].upper() + said[1:]


def with_greeting(sentences: list[str]) -> list[str]:
    """The sentences, a first one that only greets together with the next: "Hey!" and "I'm Mira." say a name."""
    if len(sentences) > 1 and _ONLY_GREETS.fullmatch(sentences[0]) and _INTRODUCES.match(sentences[1]):
        return [f"{sentences[0]} {sentences[1]}", *sentences[2:]]
    return sentences


def _names_something(word: str) -> bool:
    return (len(word) > FEW_WORDS or word.isdigit() or not word.isascii()) and word not in FUNCTION_WORDS


def says_nothing(text: str) -> bool:
    """Whether the text is a remark on the conversation ("I see what you mean"), or has no word that names anything."""
    if not any(map(_names_something, words(text))):
        return True
    empty = _EMPTY.match(lowered(text))
    if empty is None or _OWN_THING.search(text) or _NAMED.search(text):
        return False
    return len(set(words(text[empty.end() :])) - FUNCTION_WORDS) <= FEW_WORDS
