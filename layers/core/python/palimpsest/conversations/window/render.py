"""The rendering of stored messages and summaries for a model: as chat messages, as a transcript,
and with cut texts.
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
    """Return the message in the form that the chat API takes. It has only the fields of its role.
    Content is always present, an empty list of calls is left out, and ids of calls that are too
    long are shortened.
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
    """Return the chat messages that carry a summary. In a tool message, the text of the summary
    can't contain the line that marks the summary's end.
    """
    if summary_as != "tool_call":
        return ({"role": summary_as, "content": SUMMARY_PREFIX + text},)
    return called_for(
        f"{SUMMARY_BEGIN}\n{_END.sub('(End of Summary)', text)}\n{SUMMARY_END}", tool=SUMMARY_TOOL
    )


def call_id_of(tool: str) -> str:
    """Return the id of a context's call of one of this service's tools."""
    return f"call_{tool}"


def called_for(content: str, *, tool: str) -> tuple[Chat, ...]:
    """Return a call of one of this service's tools, and a result with this content."""
    call = {
        "id": call_id_of(tool),
        "type": "function",
        "function": {"name": tool, "arguments": "{}"},
    }
    return (
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": content},
    )


def plain(content: Any) -> str:
    """Return content as one text. The texts of its parts are joined by new lines, and parts that
    are not text are named in brackets.
    """
    if isinstance(content, str):
        return content
    return "\n".join(_part(part) for part in content or ())


def _part(part: Mapping[str, Any]) -> str:
    text = part.get("text")
    return text if isinstance(text, str) else f"[{part.get('type', 'part')} left out]"


def transcript(messages: Sequence[Message]) -> str:
    """Return the messages as data for a prompt, one element for each. The first message of a turn
    has its day. Texts are escaped, so that no text can close its element or open another one and
    speak in another's name.
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
    text = "".join(_inside(message.chat))
    return f"<message{_attributes(attributes)}>{text}</message>"


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
    """Return the messages, cut so that their transcript has about `room` tokens. If they fit, they
    are unchanged. The largest are cut in the middle, so that a part of every message remains.
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
    """Return the message with its texts and arguments cut so that its element of the transcript has
    about `height` tokens. `size` is the number of tokens of the uncut element.
    """

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
    """Return the message with other texts, in a form for a transcript. The chat API might not
    accept it.
    """
    calls = [
        {
            "id": call["id"],
            "type": "function",
            "function": {"name": called(call)[0], "arguments": text},
        }
        for call, text in zip(chat.get("tool_calls") or (), arguments, strict=True)
    ]
    return {**chat, "content": content, "refusal": refusal or None, "tool_calls": calls}


# A text keeps at least this many tokens as long as other texts can be cut: a marker, and a little
# text on both sides of it.
FLOOR = 32

Part = Literal["content", "refusal", "arguments"]
_Part = tuple[Part, int, str]  # the part, the index of its call, and its text


@dataclass(frozen=True, slots=True)
class WindowEntry:
    """A message as a context shows it, with its weight there. `seq` is None if the message is not
    stored.
    """

    chat: Chat
    tokens: int
    seq: int | None = None

    @property
    def role(self) -> str:
        return str(self.chat["role"])


@dataclass(frozen=True, slots=True)
class Cut:
    """A part of a message that a context leaves out, with its tokens. If `part` is `message`, the
    whole message is left out; a short text replaces it if nothing else would remain.
    """

    seq: int | None
    part: Part | Literal["message"]
    tokens: int


@dataclass(slots=True)
class Text:
    """One text of a message. `tokens` is its weight, `least` is the lowest weight to which it can
    be cut, and `allowed` is the weight that it may have, at first its full weight.
    """

    part: Part
    call: int  # the index of the call whose arguments this is
    text: str
    tokens: int
    least: int
    allowed: int = field(init=False)

    def __post_init__(self) -> None:
        self.allowed = self.tokens

    def lower(self, height: int) -> None:
        """Allow at most the weight `height`, but never less than `least`."""
        self.allowed = min(self.tokens, max(height, self.least))


@dataclass(slots=True)
class MessageParts:
    """A message in parts: its texts, and the weight `fixed` of the parts that are never cut."""

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
    """Split a message into parts. The longest text is not counted; its weight is that of the
    message minus the other parts.
    """
    fixed = weigh(_bare(entry.chat), count)
    *others, longest = sorted(_parts(entry.chat), key=lambda part: _length(entry.chat, part))
    weights = [count(text) for _, _, text in others]
    # Counting the longest text would take most of the time.
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
    """Return a sort key by which the longest text is found. Content in parts counts as the longest,
    because the length of its text does not show the weight of its images.
    """
    return part[0] == "content" and not isinstance(chat["content"], str), len(part[2])


def _text(entry: WindowEntry, part: _Part, tokens: int, count: Count) -> Text:
    name, call, text = part
    least = min(tokens, FLOOR)
    if name == "arguments" and tokens > FLOOR:
        least = min(tokens, count(_replaced(entry, call, tokens)))
    return Text(name, call, text, tokens, least)


def _replaced(entry: WindowEntry, call: int, tokens: int) -> str:
    """Return the text that replaces the arguments of a call. Arguments of a function must be JSON;
    the input of a custom tool is free text.
    """
    is_function = entry.chat["tool_calls"][call].get("type", "function") == "function"
    return replacement(tokens, entry.seq) if is_function else marker(tokens, entry.seq).strip()


def finished(draft: MessageParts, count: Count) -> tuple[WindowEntry, list[Cut]]:
    """Build the message again from its parts. Each text is cut to its allowed weight. Also return
    the cuts.
    """
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
    """Return the field of the message that held this text, now with the new text."""
    if text.part != "arguments":
        return {text.part: new}
    calls = list(chat["tool_calls"])
    calls[text.call] = _calling(calls[text.call], new)
    return {"tool_calls": calls}


def _bare(chat: Chat) -> Chat:
    """Return the message without its texts."""
    bare = {**chat, "content": ""}
    bare.pop("refusal", None)
    if "tool_calls" in chat:
        bare["tool_calls"] = [_calling(call, "") for call in chat["tool_calls"]]
    return bare


def _calling(call: Mapping[str, Any], text: str) -> Mapping[str, Any]:
    """Return the call with other arguments."""
    kind = str(call.get("type", "function"))
    inner = call.get(kind) or {}
    return {**call, kind: {**inner, "input" if "input" in inner else "arguments": text}}
