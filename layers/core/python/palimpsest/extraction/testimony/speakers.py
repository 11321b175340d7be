"""Whose statement a finding is: a message's name, the label of a line, or "Bob says" decide it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from palimpsest.conversations.message import Message, text_of
from palimpsest.extraction.finding import Finding
from palimpsest.extraction.testimony.extents import sentence_start
from palimpsest.extraction.testimony.words import phrases, whole

USER = "user"
_WORDS = re.compile(r"[^\W\d_]+")
_ID_IS_A_NAME = re.compile(r"[^\W\d_]+(?:[._ -][^\W\d_]+)*")
_LABEL = re.compile(r"[ \t]*(?:[-*•] )?\**(?P<name>[A-ZÀ-Þ][\w.'-]*(?: [A-ZÀ-Þ][\w.'-]*)?)\**:[ *]")


@cache
def _report() -> re.Pattern[str]:
    return re.compile(
        rf"(?P<name>[A-ZÀ-Þ][\w'-]*(?: [A-ZÀ-Þ][\w'-]*)?) "
        rf"(?i:{phrases('reports')})"
        r"(?i:,? (?:that|dass|que)|[:,]| (?:he|she|they|er|sie|il|elle|él|ella)\b)"
    )


def is_user(name: str, *, user: str, messages: Sequence[Message]) -> bool:
    """Whether a name is that of the user: the id has it, or the id is no name and nobody in the
    messages has another.
    """
    words = {word.casefold() for word in _WORDS.findall(name)}
    if not words or words <= {word.casefold() for word in _WORDS.findall(user)}:
        return True
    names = {message.chat.get("name") for message in messages if message.role == "user"}
    return not _ID_IS_A_NAME.fullmatch(user) and names == {name}


def speaker_of(finding: Finding, message: Message, *, user: str) -> str | None:
    """The name of the one whose words a message gives in the place of a finding's quote; None if
    they are the user's, as far as the message shows.
    """
    text = text_of(message.chat)
    place = text.find(finding.quote.strip())
    start = text.rfind("\n", 0, place) + 1 if place >= 0 else 0
    line = text[start : start + 400]
    label = _LABEL.match(line) if place >= 0 else None
    if label and not whole("own_labels").fullmatch(label["name"]):
        return None if is_user(label["name"], user=user, messages=()) else label["name"]
    begun = sentence_start(text, max(place, 0))
    sentence = text[begun : max(place, 0) + len(finding.quote)].strip()
    report = _report().match(sentence) if place >= 0 else None
    if report and not whole("first_person").fullmatch(report["name"]):
        return report["name"]
    name = message.chat.get("name")
    return str(name) if name and message.role == USER else None


def attributed(finding: Finding, messages: Sequence[Message], *, user: str) -> Finding:
    """The finding as a statement of its speaker: about them, where it was about the user, and with
    a topic of their own.
    """
    cited = [message for message in messages if message.seq in finding.seqs]
    told = [(message, speaker_of(finding, message, user=user)) for message in cited]
    names = [
        name
        for message, name in told
        if name
        and (name != message.chat.get("name") or not is_user(name, user=user, messages=messages))
    ]
    if not names or len(names) < len(cited):
        return finding
    name = names[0]
    is_named = name.casefold() in finding.content.casefold()
    return replace(
        finding,
        content=finding.content if is_named else f"{name}: {finding.content}",
        subject=name.casefold() if finding.subject in (None, USER) else finding.subject,
        topic=f"{name.casefold()} {finding.topic}" if finding.topic else None,
        relations=tuple(
            relation for relation in finding.relations if USER not in (relation.start, relation.end)
        ),
    )
