"""Conversations in plain text and Markdown. A message begins with its speaker, in one of the forms
`Sarah: …`, `[2024-01-05 10:02] Sarah: …`, `**Sarah:** …` and `## Sarah`.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from palimpsest_client.chats.conversation import JSON, Chat, message
from palimpsest_client.chats.speakers import SYSTEM, Speakers, plain
from palimpsest_client.chats.stamps import CLOCK, STAMP, DayOrder, order_of, time_in

SILENCE = timedelta(hours=6)
"""After a longer silence a new conversation begins."""
FIRST = 2
OFTEN = 2
_FENCE = re.compile(r"\s{0,3}(?:```|~~~)")
_RULE = re.compile(r"\s{0,3}(?:-{3,}|\*{3,}|_{3,})\s*$")
_LABEL = r"[^\W\d_][^:*#<>|\[\]{}\"\n/\\]{0,39}"
_BOLD = re.compile(rf"\*\*(?P<label>{_LABEL}?)(?::\*\*|\*\*:|\*\*\s*$)\s*(?P<text>.*)", re.DOTALL)
_PLAIN = re.compile(rf"(?P<label>{_LABEL}):(?:\s+(?P<text>.*)|$)", re.DOTALL)
_HEADING = re.compile(rf"#{{1,6}}\s+(?:[^\w\s]+\s*)?(?P<label>{_LABEL}?)\s*:?\s*#*$")


@dataclass(frozen=True, slots=True)
class _Line:
    """A line. It may begin with a label and a time. `text` is the rest of the line."""

    whole: str
    text: str
    label: str = ""
    stamp: re.Match[str] | None = None
    is_heading: bool = False


def chats_of(
    text: str, *, name: str, speakers: Speakers, dates: DayOrder | None = None
) -> list[Chat]:
    """Return the conversations of a text. If its messages have times, a silence of six hours ends a
    conversation. Raises `ValueError` if the text has no speakers, or if its days can be read in two
    ways.
    """
    lines = list(_lines(text))
    labels = _labels(lines, speakers)
    if not labels:
        raise ValueError(
            f"{name} names no speakers (as in `Sarah: Hello`). Name them with --speaker."
        )
    order = order_of((line.stamp for line in lines if line.stamp), dates, name)
    messages = list(_messages(lines, labels, speakers, order))
    has_user = any(speakers.is_user(label) for label in labels)
    return [
        Chat(_name(name, part), part, name, Counter(), tuple(labels), has_user)
        for part in _parts(messages)
    ]


def _lines(text: str) -> Iterator[_Line]:
    is_code = False
    for whole in text.replace("\u200e", "").replace("\u202f", " ").splitlines():
        if _FENCE.match(whole):
            is_code = not is_code
        yield _Line(whole, whole) if is_code or _FENCE.match(whole) else _line(whole)


def _line(whole: str) -> _Line:
    heading = _HEADING.fullmatch(whole.strip())
    if heading:
        return _Line(whole, "", plain(heading["label"]), None, is_heading=True)
    stamp = STAMP.match(whole)
    clock = None if stamp else CLOCK.match(whole)
    begun = stamp or clock
    rest = whole[begun.end() :] if begun else whole
    match = _BOLD.fullmatch(rest) or _PLAIN.fullmatch(rest)
    if match is None or "://" in rest[: match.end("label") + 3]:
        return _Line(whole, whole)
    return _Line(whole, (match["text"] or "").strip(), plain(match["label"]), stamp)


def _labels(lines: Sequence[_Line], speakers: Speakers) -> list[str]:
    """Return the labels that are speakers, in their order. If any label follows a time, only labels
    that follow a time are speakers. If the user and an assistant are among the labels, only known
    labels are speakers. Otherwise a label that occurs again is a speaker too, and so are the first
    two labels of a text that begins with a label.
    """
    marked = [line for line in lines if line.label]
    counts = Counter(line.label for line in marked)
    known = [label for label in counts if speakers.is_known(label)]
    stamped = {line.label for line in marked if line.stamp}
    if speakers.named:
        return known
    if stamped:
        return [label for label in counts if label in stamped]
    if {speakers.role_of(label)[0] for label in known} >= {"user", "assistant"}:
        return known
    likely = _first_labels(lines)
    return [
        label
        for label, count in counts.items()
        if label in known or count >= OFTEN or label in likely
    ]


def _first_labels(lines: Sequence[_Line]) -> list[str]:
    first = next((line for line in lines if line.whole.strip()), None)
    if first is None or not first.label or first.is_heading:
        return []
    labels = dict.fromkeys(line.label for line in lines if line.label and not line.is_heading)
    return list(labels)[:FIRST]


def _messages(
    lines: Iterable[_Line], labels: Sequence[str], speakers: Speakers, order: DayOrder
) -> Iterator[JSON]:
    """Yield the messages. Lines before the first speaker are a title, and are left out."""
    label, at, text = "", None, list[str]()
    for line in lines:
        if line.label and line.label in labels:
            yield from _message(label, at, text, speakers)
            label, text = line.label, [line.text]
            at = time_in(line.stamp, order) if line.stamp else None
        elif line.stamp or STAMP.match(line.whole):  # a notice of the messenger
            yield from _message(label, at, text, speakers)
            label, text = "", []
        elif not _RULE.match(line.whole):
            text.append(line.whole)
    yield from _message(label, at, text, speakers)


def _message(label: str, at: str | None, text: Sequence[str], speakers: Speakers) -> Iterator[JSON]:
    content = "\n".join(text).strip()
    if label and content:
        role, speaker = speakers.role_of(label)
        if role != SYSTEM:
            yield message(role, content, at=at, speaker=speaker)


def _parts(messages: Sequence[JSON]) -> Iterator[Sequence[JSON]]:
    """Yield the conversations of a history, which end with a silence."""
    begun: list[JSON] = []
    for spoken in messages:
        if begun and _is_after_silence(begun[-1], spoken):
            yield begun
            begun = []
        begun.append(spoken)
    if begun:
        yield begun


def _is_after_silence(before: JSON, after: JSON) -> bool:
    if "timestamp" not in before or "timestamp" not in after:
        return False
    passed = datetime.fromisoformat(after["timestamp"]) - datetime.fromisoformat(
        before["timestamp"]
    )
    return passed > SILENCE


def _name(name: str, messages: Sequence[JSON]) -> str:
    """Return the name of a conversation. Messengers give every file the same name, so the first
    message is a part of the conversation's name.
    """
    first = repr(sorted(messages[0].items()))
    return f"{name}-{hashlib.sha256(first.encode()).hexdigest()[:12]}"
