"""Writes stored messages and summaries for a model: as chat messages, as a transcript, or with cut
texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from html import escape
from typing import Any, Literal

from palimpsest.conversations.message import CHAT_FIELDS, Chat, Message, short_call_id
from palimpsest.conversations.own_tools import SUMMARY_TOOL, called
from palimpsest.conversations.spoken import SUMMARY_PREFIX
from palimpsest.conversations.weight import weigh
from palimpsest.conversations.window.days import day_of
from palimpsest.text.cutting import Count, cut, level, marker, replacement

SummaryAs = Literal["user", "system", "tool_call"]

SUMMARY_BEGIN, SUMMARY_END = "[Previous Conversation Summary]", "[End of Summary]"
_END = re.compile(re.escape(SUMMARY_END), re.IGNORECASE)


def shown(chat: Chat) -> Chat:
    """The message as the chat API takes it: the fields of its role, content always there, no empty
    list of calls, and no id of a call that is too long.
    """
    message = {name: chat[name] for name in CHAT_FIELDS[chat["role"]] if chat.get(name) is not None}
    if not message.get("content"):
        message["content"] = ""
    if not message.get("tool_calls", True):
        del message["tool_calls"]
    if "tool_calls" in message:
        message["tool_calls"] = [
            {**call, "id": short_call_id(call["id"])} for call in message["tool_calls"]
        ]
    if "tool_call_id" in message:
        message["tool_call_id"] = short_call_id(message["tool_call_id"])
    return message


def summary_messages(text: str, summary_as: SummaryAs) -> tuple[Chat, ...]:
    """The chat messages that carry a summary. In a tool message its text can't write the line that
    ends it.
    """
    if summary_as != "tool_call":
        return ({"role": summary_as, "content": SUMMARY_PREFIX + text},)
    return called_for(
        f"{SUMMARY_BEGIN}\n{_END.sub('(End of Summary)', text)}\n{SUMMARY_END}", tool=SUMMARY_TOOL
    )


def called_for(content: str, *, tool: str) -> tuple[Chat, ...]:
    """A call of one of our own tools, and the content as its result."""
    call = {"id": f"call_{tool}", "type": "function", "function": {"name": tool, "arguments": "{}"}}
    return (
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": content},
    )


def plain(content: Any) -> str:
    """Content as one text: its parts joined by new lines. Parts that are not text are named in
    brackets.
    """
    if isinstance(content, str):
        return content
    return "\n".join(_part(part) for part in content or ())


def _part(part: Mapping[str, Any]) -> str:
    text = part.get("text")
    return text if isinstance(text, str) else f"[{part.get('type', 'part')} left out]"


def transcript(messages: Sequence[Message]) -> str:
    """The messages as data for a prompt, one element each; the first of a turn has its day. No text
    can close its element or open another one, so nobody can speak in another's name.
    """
    elements: list[str] = []
    turn = None
    for message in messages:
        elements.append(_element(message, day=None if message.turn == turn else day_of(message)))
        turn = message.turn
    return "\n".join(elements)


def _element(message: Message, *, day: date | None) -> str:
    attributes = {
        "seq": message.seq,
        "day": day,
        "speaker": message.role,
        "name": message.chat.get("name"),
    }
    if "tool_call_id" in message.chat:
        attributes["answers"] = short_call_id(message.chat["tool_call_id"])
    said = "".join(_inside(message.chat))
    return f"<message{_attributes(attributes)}>{said}</message>"


def _inside(chat: Chat) -> Iterator[str]:
    yield escape(plain(chat.get("content")), quote=False)
    yield escape(str(chat.get("refusal") or ""), quote=False)
    for call in chat.get("tool_calls") or ():
        name, text = called(call)
        attributes = _attributes({"id": short_call_id(call["id"]), "name": name})
        yield f"<call{attributes}>{escape(text, quote=False)}</call>"


def _attributes(values: Mapping[str, Any]) -> str:
    return "".join(
        f' {name}="{escape(str(value))}"' for name, value in values.items() if value is not None
    )


def abridged(messages: Sequence[Message], *, room: int, count: Count) -> tuple[Message, ...]:
    """The messages, cut so that their transcript has about `room` tokens; unchanged if they fit.
    The largest are cut in the middle, so that part of every message remains.
    """
    sizes = [count(transcript((message,))) + 1 for message in messages]
    if sum(sizes) <= room:
        return tuple(messages)
    height = level(sizes, room=room)
    return tuple(
        message if size <= height else _cut(message, size=size, height=height, count=count)
        for message, size in zip(messages, sizes, strict=True)
    )


def _cut(message: Message, *, size: int, height: int, count: Count) -> Message:
    """The message with content and arguments cut so that its element has about `height` tokens."""

    def escaped(text: str) -> int:
        return count(escape(text, quote=False))

    calls: Sequence[Mapping[str, Any]] = message.chat.get("tool_calls") or ()
    texts = [plain(message.chat.get("content")), str(message.chat.get("refusal") or "")]
    texts += [called(call)[1] for call in calls]
    weights = [escaped(text) for text in texts]
    limit = level(weights, room=max(0, height - (size - sum(weights))))
    content, refusal, *arguments = (
        cut(text, limit=limit, count=escaped, tokens=weight, seq=message.seq)[0]
        for text, weight in zip(texts, weights, strict=True)
    )
    return replace(message, chat=_with(message.chat, content, refusal, arguments))


def _with(
    chat: Mapping[str, Any], content: str, refusal: str, arguments: Sequence[str]
) -> Mapping[str, Any]:
    """The message with other texts: as a transcript shows it, not as the chat API would take it."""
    calls = [
        {
            "id": call["id"],
            "type": "function",
            "function": {"name": called(call)[0], "arguments": text},
        }
        for call, text in zip(chat.get("tool_calls") or (), arguments, strict=True)
    ]
    return {**chat, "content": content, "refusal": refusal or None, "tool_calls": calls}


# The tokens that a text keeps while others can be cut: a marker, and a little text on both sides of
# it.
FLOOR = 32

Part = Literal["content", "refusal", "arguments"]
_Part = tuple[Part, int, str]  # which part, of which call, its text


@dataclass(frozen=True, slots=True)
class WindowEntry:
    """A message as a context shows it, and its weight there. `seq` is None if it is not stored."""

    chat: Chat
    tokens: int
    seq: int | None = None

    @property
    def role(self) -> str:
        return str(self.chat["role"])


@dataclass(frozen=True, slots=True)
class Cut:
    """The tokens that a context leaves out of a part of a message. For the part `message`, the
    whole message is left out; if nothing else would remain, a word takes its place.
    """

    seq: int | None
    part: Part | Literal["message"]
    tokens: int


@dataclass(slots=True)
class Text:
    """One text of a message: its weight, the least weight to which it can be cut, and its allowed
    weight (at first all).
    """

    part: Part
    call: int  # whose arguments
    text: str
    tokens: int
    least: int
    allowed: int = field(init=False)

    def __post_init__(self) -> None:
        self.allowed = self.tokens

    def lower(self, height: int) -> None:
        """Allow no more than `height`, but never less than the least."""
        self.allowed = min(self.tokens, max(height, self.least))


@dataclass(slots=True)
class MessageParts:
    """A message in parts: its texts, and the weight of the parts that are never cut."""

    entry: WindowEntry
    fixed: int
    texts: list[Text]

    @property
    def role(self) -> str:
        return self.entry.role

    @property
    def weight(self) -> int:
        return self.fixed + sum(text.allowed for text in self.texts)


def drafted(entry: WindowEntry, count: Count) -> MessageParts:
    """Take a message apart. Its longest text is not counted, because its weight is that of the
    message without the other parts.
    """
    fixed = weigh(_bare(entry.chat), count)
    *others, longest = sorted(_parts(entry.chat), key=lambda part: _length(entry.chat, part))
    weights = [count(text) for _, _, text in others]
    weights.append(max(0, entry.tokens - fixed - sum(weights)))
    parts = zip([*others, longest], weights, strict=True)
    return MessageParts(entry, fixed, [_text(entry, part, tokens, count) for part, tokens in parts])


def _parts(chat: Chat) -> Iterator[_Part]:
    yield "content", 0, plain(chat["content"])
    if "refusal" in chat:
        yield "refusal", 0, str(chat["refusal"])
    for number, call in enumerate(chat.get("tool_calls", ())):
        yield "arguments", number, called(call)[1]


def _length(chat: Chat, part: _Part) -> tuple[bool, int]:
    """A text's length, to find the longest. Content in parts counts as the longest, because its
    text does not show the weight of its images.
    """
    return part[0] == "content" and not isinstance(chat["content"], str), len(part[2])


def _text(entry: WindowEntry, part: _Part, tokens: int, count: Count) -> Text:
    name, call, text = part
    least = min(tokens, FLOOR)
    if name == "arguments" and tokens > FLOOR:
        least = min(tokens, count(_replaced(entry, call, tokens)))
    return Text(name, call, text, tokens, least)


def _replaced(entry: WindowEntry, call: int, tokens: int) -> str:
    """The text in place of arguments. Arguments of a function must be JSON; the input of a custom
    tool is free text.
    """
    is_function = entry.chat["tool_calls"][call].get("type", "function") == "function"
    return replacement(tokens, entry.seq) if is_function else marker(tokens, entry.seq).strip()


def finished(draft: MessageParts, count: Count) -> tuple[WindowEntry, list[Cut]]:
    """Put a message together again, with each text cut to its allowed weight."""
    entry, tokens, cuts = draft.entry, draft.fixed, []
    chat = dict(entry.chat)
    for text in draft.texts:
        if text.allowed >= text.tokens:
            tokens += text.tokens
            continue
        shorter, weight = _shorter(entry, text, count)
        chat |= _holding(chat, text, shorter)
        tokens += weight
        cuts.append(Cut(entry.seq, text.part, text.tokens - weight))
    return (WindowEntry(chat, tokens, entry.seq), cuts) if cuts else (entry, cuts)


def _shorter(entry: WindowEntry, text: Text, count: Count) -> tuple[str, int]:
    if text.part == "arguments":
        return _replaced(entry, text.call, text.tokens), text.allowed
    is_known = text.part == "refusal" or isinstance(entry.chat["content"], str)
    tokens = text.tokens if is_known else None
    return cut(text.text, limit=text.allowed, count=count, tokens=tokens, seq=entry.seq)


def _holding(chat: Chat, text: Text, new: str) -> Chat:
    """The field of the message that held this text, with the new one."""
    if text.part != "arguments":
        return {text.part: new}
    calls = list(chat["tool_calls"])
    calls[text.call] = _calling(calls[text.call], new)
    return {"tool_calls": calls}


def _bare(chat: Chat) -> Chat:
    """The message without its texts."""
    bare = {**chat, "content": ""}
    bare.pop("refusal", None)
    if "tool_calls" in chat:
        bare["tool_calls"] = [_calling(call, "") for call in chat["tool_calls"]]
    return bare


def _calling(call: Mapping[str, Any], text: str) -> Mapping[str, Any]:
    """The call with other arguments."""
    kind = str(call.get("type", "function"))
    inner = call.get(kind) or {}
    return {**call, kind: {**inner, "input" if "input" in inner else "arguments": text}}
