"""Completes sentences that leave out their subject: "Got a new car.", "sind umgezogen"."""

from __future__ import annotations

import re
from typing import Final

from palimpsest.text.word_files import compiled

PACKAGE: Final = "palimpsest.offline"
_ELIDED = (
    r"(?P<lead>(?:(?:{before_a_remark}|{leads_in})\b[,.!]* )*)"
    r"(?:(?P<i>{verbs_of_i})|(?P<ich>{verbs_of_ich})|(?P<wir>{verbs_of_wir}))\b"
)
_SUBJECTS = frozenset(
    {
        "i", "we", "my", "our", "the", "you", "he", "she", "it", "they", "this", "that", "a", "an",
        "what", "how", "can", "could", "if", "in", "is", "when", "ich", "wir", "mein", "meine",
        "der", "die", "das",
    }
)  # fmt: skip
"""First words of a sentence that has a subject."""
_STATE = re.compile(
    r"(?:(?:now|currently|still|just) )?(?:\w+ing|allergic|married)\b", re.IGNORECASE
)


def with_subject(sentence: str) -> str:
    """Return the sentence with the subject that it leaves out: "Got a new car." becomes "I got a
    new car.".
    """
    elided = None if _has_subject(sentence) else compiled(PACKAGE, _ELIDED).match(sentence)
    if elided is None:
        return sentence
    verb, place = elided[elided.lastgroup or 0], elided.end("lead")
    subject = {"ich": "Ich", "wir": "Wir"}.get(elided.lastgroup or "") or _subject_before(verb)
    return f"{sentence[:place]}{subject} {verb[0].lower()}{sentence[place + 1 :]}"


def _has_subject(sentence: str) -> bool:
    """Return whether the sentence has a subject. Its first word shows this, because each of these
    words can only begin a sentence with a subject.
    """
    first = sentence.split(None, 1)[:1]
    return not first or first[0].strip(",.").lower() in _SUBJECTS or "'" in first[0]


def _subject_before(verb: str) -> str:
    """Return the subject that an English sentence leaves out before these words."""
    if verb.lower().startswith("born"):
        return "I was"
    if verb.lower().startswith("been "):
        return "I've"
    return "I'm" if _STATE.match(verb) else "I"
