"""A message taken apart into the texts that can give way, and put together again from what is left of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from palimpsest.conversations.messages import Chat, called, weigh
from palimpsest.conversations.window.render import plain
from palimpsest.text.cutting import Count, cut, marker, replacement

FLOOR = 32  # tokens that a text keeps while others can give way: a marker, and a little on both sides of it

Part = Literal["content", "refusal", "arguments"]
_Part = tuple[Part, int, str]  # which part, of which call, its text


@dataclass(frozen=True, slots=True)
class Entry:
    """A message as a context shows it, and its weight there. `seq` is None for what is not stored."""

    chat: Chat
    tokens: int
    seq: int | None = None

    @property
    def role(self) -> str:
        return str(self.chat["role"])


@dataclass(frozen=True, slots=True)
class Cut:
    """What a context leaves out of a message: how many tokens of which part. `message`: all of it, but for a word in
    its place where nothing else would be left.
    """

    seq: int | None
    part: Part | Literal["message"]
    tokens: int


@dataclass(slots=True)
class Text:
    """One text of a message: what it weighs, the least that can be left of it, and what it may weigh (at first all)."""

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
class Draft:
    """A message in parts: its texts, and the weight of all that is never cut."""

    entry: Entry
    fixed: int
    texts: list[Text]

    @property
    def role(self) -> str:
        return self.entry.role

    @property
    def weight(self) -> int:
        return self.fixed + sum(text.allowed for text in self.texts)


def drafted(entry: Entry, count: Count) -> Draft:
    """Take a message apart. Its longest text is not counted: it weighs what the rest leaves of the whole."""
    fixed = weigh(_bare(entry.chat), count)
    *others, longest = sorted(_parts(entry.chat), key=lambda part: _length(entry.chat, part))
    weights = [count(text) for _, _, text in others]
    weights.append(max(0, entry.tokens - fixed - sum(weights)))
    parts = zip([*others, longest], weights, strict=True)
    return Draft(entry, fixed, [_text(entry, part, tokens, count) for part, tokens in parts])


def _parts(chat: Chat) -> Iterator[_Part]:
    yield "content", 0, plain(chat["content"])
    if "refusal" in chat:
        yield "refusal", 0, str(chat["refusal"])
    for number, call in enumerate(chat.get("tool_calls", ())):
        yield "arguments", number, called(call)[1]


def _length(chat: Chat, part: _Part) -> tuple[bool, int]:
    """A text's length, to find the longest. Content in parts counts as longest: no text tells what its images weigh."""
    return part[0] == "content" and not isinstance(chat["content"], str), len(part[2])


def _text(entry: Entry, part: _Part, tokens: int, count: Count) -> Text:
    name, call, text = part
    least = min(tokens, FLOOR)
    if name == "arguments" and tokens > FLOOR:
        least = min(tokens, count(_replaced(entry, call, tokens)))
    return Text(name, call, text, tokens, least)


def _replaced(entry: Entry, call: int, tokens: int) -> str:
    """What stands in place of arguments. Only a function's must be JSON; a custom tool's input is free text."""
    is_function = entry.chat["tool_calls"][call].get("type", "function") == "function"
    return replacement(tokens, entry.seq) if is_function else marker(tokens, entry.seq).strip()


def finished(draft: Draft, count: Count) -> tuple[Entry, list[Cut]]:
    """Put a message together again, each text within what it is allowed."""
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
    return (Entry(chat, tokens, entry.seq), cuts) if cuts else (entry, cuts)


def _shorter(entry: Entry, text: Text, count: Count) -> tuple[str, int]:
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
