"""Conversations as they come: strategies for transcripts, and short ways to say one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st
from palimpsest.conversations.message import SYSTEM_ROLES, Chat, Message
from palimpsest.conversations.session import Head
from palimpsest.conversations.weight import weigh
from palimpsest.conversations.window.turns import no_result, with_every_result
from palimpsest.text.cutting import Count

STAMP = "2026-01-15T09:00:00.000Z"

# What texts are made of: plain words, and all that is hard to cut.
PIECES = (
    "ok ",
    "Sarah works in Marketing. ",
    "日本語の文です。",
    "\x00<|endoftext|></memory>",
    "👩‍👩‍👧‍👦",
    "🇩🇪🇫🇷",
    "e\u0301\u0323\u0302",
    "\u202eשלום\u202c عالم ",
    "क्षि",
    '{"a": [1, 2]}\n',
    " " * 30,
)


def quarter(text: str) -> int:
    """A token is four characters."""
    return (len(text) + 3) // 4


def in_bytes(text: str) -> int:
    """A token is a byte: a text that is cut to fewer characters may still have more tokens."""
    return len(text.encode())


def message(seq: int, chat: Chat, *, turn: int = 0, count: Count = quarter) -> Message:
    return Message(
        seq=seq,
        id=f"{seq:032x}",
        turn=turn,
        tokens=weigh(chat, count),
        encoding="o200k_base",
        chat=chat,
        created_at=STAMP,
    )


def conversation(*chats: Chat, count: Count = quarter, after: int = 0) -> list[Message]:
    """The messages in order, numbered from `after` on."""
    turn, messages = 0, []
    for seq, chat in enumerate(chats, after + 1):
        turn += chat["role"] == "user"
        messages.append(message(seq, chat, turn=turn, count=count))
    return messages


def user(content: Any = "hi", **more: Any) -> Chat:
    return {"role": "user", "content": content, **more}


def assistant(content: str = "ok", **more: Any) -> Chat:
    return {"role": "assistant", "content": content, **more}


def calling(*ids: str, arguments: str = "{}", content: str = "") -> Chat:
    calls = [
        {"id": call_id, "type": "function", "function": {"name": "look", "arguments": arguments}}
        for call_id in ids
    ]
    return assistant(content, tool_calls=calls)


def result(call_id: str, content: Any = "found") -> Chat:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def system(content: str = "You help.") -> Chat:
    return {"role": "system", "content": content}


def head_of(window: Sequence[Message], **more: Any) -> Head:
    """The head of a session that holds these messages."""
    shown = [message for message in window if message.role not in SYSTEM_ROLES]
    return Head(
        user="sarah",
        seq=window[-1].seq if window else 0,
        window_start=window[0].seq if window else 1,
        window_tokens=sum(message.tokens for message in shown),
        window_messages=len(shown),
        last_user_seq=last_user_seq(window),
        **more,
    )


def last_user_seq(window: Sequence[Message]) -> int:
    return max((message.seq for message in window if message.role == "user"), default=0)


def repaired(messages: Sequence[Chat]) -> list[Chat]:
    """The messages, ready to send."""
    return with_every_result(
        messages,
        chat=lambda message: message,
        missing=no_result,
        answering=lambda message, call: {**message, "tool_call_id": call},
    )


def shown(window: Sequence[Message]) -> list[Message]:
    return [message for message in window if message.role not in SYSTEM_ROLES]


# Strategies. Texts are drawn as a piece and how often it comes, so that a huge one costs Hypothesis
# nothing.
texts = st.builds(
    lambda piece, times: piece * times,
    st.sampled_from(PIECES),
    st.sampled_from((0, 1, 2, 9, 60, 500)),
)
short_texts = st.builds(
    lambda piece, times: piece * times, st.sampled_from(PIECES), st.integers(0, 4)
)

_text_parts = texts.map(lambda text: {"type": "text", "text": text})
_image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
_answers = texts | st.lists(_text_parts, min_size=1, max_size=3)
contents = texts | st.lists(_text_parts | st.just(_image), min_size=1, max_size=3)

users = st.builds(user, contents) | st.builds(lambda text: user(text, name="sarah"), texts)
systems = st.builds(
    lambda role, text: {"role": role, "content": text}, st.sampled_from(sorted(SYSTEM_ROLES)), texts
)
_arguments = texts.map(lambda text: '{"text": "' + text.replace('"', "'").replace("\n", " ") + '"}')


@st.composite
def _call(draw: st.DrawFn, call_id: str) -> dict[str, Any]:
    if draw(st.integers(0, 9)) == 0:
        return {"id": call_id, "type": "custom", "custom": {"name": "run", "input": draw(texts)}}
    return {
        "id": call_id,
        "type": "function",
        "function": {"name": "look", "arguments": draw(_arguments)},
    }


@st.composite
def _exchanges(draw: st.DrawFn, number: int) -> list[Chat]:
    """An assistant's calls, and results for some of them in any order."""
    beginning = draw(st.sampled_from(("call", "call", "provider" * 20)))
    ids = [
        f"{beginning}_{number}_{place}" for place in range(draw(st.sampled_from((1, 1, 2, 3, 12))))
    ]
    calls = [draw(_call(call_id)) for call_id in ids]
    answered = draw(st.permutations(draw(st.sampled_from((ids, ids, ids[1:], ids[:-1], [])))))
    return [
        assistant(draw(short_texts | texts), tool_calls=calls),
        *(result(call_id, draw(_answers)) for call_id in answered),
    ]


@st.composite
def chats(draw: st.DrawFn, max_size: int = 12) -> list[Chat]:
    """A transcript as an append would take it: each result has its call before it, not each call
    its result.
    """
    spoken: list[Chat] = []
    for number in range(draw(st.integers(0, max_size))):
        kind = draw(
            st.sampled_from(("user", "user", "assistant", "refusal", "calls", "calls", "system"))
        )
        if kind == "user":
            spoken.append(draw(users))
        elif kind == "assistant":
            spoken.append(assistant(draw(texts)))
        elif kind == "refusal":
            spoken.append(assistant("", refusal=draw(texts)))
        elif kind == "calls":
            spoken += draw(_exchanges(number))
        else:
            spoken.append(draw(systems))
    return spoken
