"""Finds the speaker of a finding: by a message's name, a line's label, or words such as
"Bob says".
"""

from __future__ import annotations

# ruff: noqa: RUF001 - two kinds of apostrophes
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from palimpsest.conversations.message import Message, text_of
from palimpsest.extraction.finding import Finding
from palimpsest.extraction.testimony.extents import sentence_start
from palimpsest.extraction.testimony.words import is_order, is_own_label, phrases, whole
from palimpsest.memory.names import about, introduced_in, is_introduction, is_own_name
from palimpsest.text.folding import normalized

USER = "user"
MOST_READ = 4_000  # first characters of a message, in which users introduce themselves
_LABEL = re.compile(r"[ \t]*(?:[-*•] )?\**(?P<name>[A-ZÀ-Þ][\w.'-]*(?: [A-ZÀ-Þ][\w.'-]*)?)\**:[ *]")


@cache
def _report() -> re.Pattern[str]:
    somebody = (
        rf"(?P<{{}}>(?!(?i:{phrases('according_to')})(?!\w))"
        r"[A-ZÀ-Þ][\w'-]*(?: [A-ZÀ-Þ][\w'-]*)?)"
    )
    return re.compile(
        r"(?i:(?:and|but|as|und|aber|wie|et|mais|comme|y|pero|como) )?(?:"
        rf"(?i:(?:{phrases('according_to')})(?!\w) ?)?{somebody.format('name')} "
        rf"(?i:{phrases('reports')})"
        r"(?i:,? (?:that|dass|que\b)|,? qu['’](?=ils?\b|elles?\b|on\b)| ?[:,]"
        r"| (?:he|she|they|er|sie|il|elle|él|ella)\b)"
        rf"|(?i:according to|laut|selon|d['’]après|según) {somebody.format('source')}\b)"
    )


def _reporter(sentence: str) -> str | None:
    """Return whose words a sentence repeats according to its beginning, as in "As Bob put it: …"
    and "According to Bob …". Return None if its beginning names nobody.
    """
    report = _report().match(sentence)
    name = (report["name"] or report["source"]) if report is not None else None
    is_speaker = name is not None and whole("first_person").fullmatch(name.split()[-1]) is not None
    return None if is_speaker else name


def is_report(sentence: str) -> bool:
    """Return whether a sentence begins with the name of somebody who says something about
    themselves, as in "Bogdan says he keeps bees".
    """
    return _reporter(sentence.strip()) is not None


def speaker_of(
    finding: Finding, message: Message, *, user: str, names: Sequence[str] = ()
) -> str | None:
    """Return the name of the person who says the finding's quote. Return None if this is the user,
    or if the message names nobody else. `names` are the names of the user.
    """
    text = text_of(message.chat)
    place = text.find(finding.quote.strip())
    start = text.rfind("\n", 0, place) + 1 if place >= 0 else 0
    line = text[start : start + 400]
    label = _LABEL.match(line) if place >= 0 else None
    if label and not is_own_label(label["name"]) and not is_order(label["name"]):
        return None if is_own_name(label["name"], user=user, names=names) else label["name"]
    if place >= 0 and own_label(line, names=(*names, user)):
        return None
    begun = sentence_start(text, max(place, 0))
    sentence = text[begun : max(place, 0) + len(finding.quote)].strip()
    reporter = _reporter(sentence) if place >= 0 else None
    if reporter is not None:
        return None if is_own_name(reporter, user=user, names=names) else reporter
    name = message.chat.get("name")
    if name and normalized(str(name)) == USER:
        return None
    if name and message.role == USER:
        return str(name)
    return _guest(text, user=user, names=names)


@cache
def _introduces() -> re.Pattern[str]:
    name = r"[A-ZÀ-Þ][\w'-]+"
    return re.compile(
        rf"\W*(?:(?i:{phrases('salutation')})[,!.]? )?"
        rf"(?:(?i:{phrases('introduces')}) (?P<after>{name})|(?P<before>{name}) "
        rf"(?i:{phrases('introduced')})(?!\w))(?P<who>[^\n.!?]{{0,80}})"
    )


def _guest(text: str, *, user: str, names: Sequence[str]) -> str | None:
    """Return the name of somebody else who writes instead of the user. The first sentence names
    both, as in "This is Tom, Ada's husband".
    """
    match = _introduces().match(text[:MOST_READ])
    if match is None:
        return None
    name = str(match["after"] or match["before"])
    owners = [own for own in (*names, user) if re.search(_owned(own), match["who"])]
    return name if owners and not is_own_name(name, user=user, names=names) else None


def _owned(name: str) -> str:
    """Return a pattern for words that say that something belongs to a person, such as "Ada's", "von
    Ada", "d'Ada" or "de Ada".
    """
    word = re.escape(name)
    return rf"(?i:\b{word}(?:['’]s|s)\b|\b(?:von|de|del?|of)\s+{word}\b|\bd['’]{word}\b)"


def own_label(line: str, *, names: Sequence[str]) -> str:
    """Return the label of a line if it is a name of the user, in upper or lower case; else an empty
    text.
    """
    match = re.match(r"[ \t]*(?P<name>[^:\n]{1,80}): *", line)
    is_own = match and any(normalized(match["name"]) == normalized(name) for name in names)
    return match[0] if match and is_own else ""


def names_in(messages: Sequence[Message], *, user: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the user: the known ones, and names by which the user introduces
    themselves in these messages.
    """
    known = [*names]
    for message in messages:
        name = message.chat.get("name")
        if message.role != USER or (name and not is_own_name(str(name), user=user, names=names)):
            continue
        if _guest(text_of(message.chat), user=user, names=names):
            continue
        for line in text_of(message.chat)[:MOST_READ].splitlines():
            label = _LABEL.match(line)
            if not label or is_own_label(label["name"]):
                known += introduced_in(line)
    return tuple(dict.fromkeys(known))


def attributed(
    finding: Finding, messages: Sequence[Message], *, user: str, names: Sequence[str] = ()
) -> Finding:
    """Return the finding as a statement of its speaker. If it was about the user, it is now about
    the speaker, and its topic is the speaker's. `names` are the names of the user.
    """
    cited = [message for message in messages if message.seq in finding.seqs]
    roles = {message.role for message in cited}
    if roles and USER not in roles:
        return _of_no_person(finding, role=min(roles))
    said_by = [(message, speaker_of(finding, message, user=user, names=names)) for message in cited]
    if not any(name for _, name in said_by):
        return _of_the_user(finding, user=user, names=names)
    # Of a message without a name, the user is the speaker, so that a name beside it is another's.
    others = [message.chat.get("name") or "" for message in messages if message.role == USER]
    speakers = [
        name
        for message, name in said_by
        if name
        and (
            name != message.chat.get("name")
            or not is_own_name(name, user=user, names=names, others=others)
        )
    ]
    if not speakers or len(speakers) < len(cited):
        return _of_the_user(finding, user=user, names=names)
    name = speakers[0]
    subject, topic = finding.subject, None
    if subject in (None, USER):
        subject = name.casefold()
    if finding.topic:
        topic = f"{name.casefold()} {finding.topic}"
    return replace(
        finding,
        content=about(name, finding.content),
        subject=subject,
        topic=topic,
        speaker=name,
        relations=tuple(
            relation for relation in finding.relations if USER not in (relation.start, relation.end)
        ),
    )


def _of_no_person(finding: Finding, *, role: str) -> Finding:
    """Return the finding as the words of the assistant or a tool. It changes no topic of
    the user.
    """
    subject = role if finding.subject in (None, USER) else finding.subject
    topic = f"{role} {finding.topic}" if finding.topic else None
    return replace(finding, subject=subject, topic=topic, speaker=role)


def _of_the_user(finding: Finding, *, user: str, names: Sequence[str]) -> Finding:
    """Return the finding without the label of its line. If it names the user, it is about the user.
    If it only says a name, its topic is the topic of names.
    """
    subject = finding.subject
    is_named = subject is not None and subject != USER and names
    if is_named and is_own_name(str(subject), user=user, names=names):
        subject = USER
    label = _LABEL.match(finding.content)
    own = label[0] if label and is_own_name(label["name"], user=user, names=names) else ""
    content = finding.content[
        len(own or own_label(finding.content, names=(*names, user))) :
    ].strip()
    is_name = finding.topic is None and finding.type == "fact" and is_introduction(content)
    content, topic = content or finding.content, "name" if is_name else finding.topic
    if (content, subject, topic) == (finding.content, finding.subject, finding.topic):
        return finding
    return replace(finding, content=content, subject=subject, topic=topic)
