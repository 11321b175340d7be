"""The preparation of messages for storing. Tool calls are joined, sizes and call results are
checked, and numbers and ids are assigned.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any, TypeVar

from palimpsest.conversations.message import (
    ITEM,
    MAX_MESSAGE_BYTES,
    SYSTEM_ROLES,
    UNSHOWN_ROLES,
    Chat,
    Message,
    call_ids,
    digest,
    short_call_id,
    size_of,
    text_of,
)
from palimpsest.conversations.weight import weigh
from palimpsest.errors import FieldError, TooLarge, Unprocessable

MAX_MESSAGES_PER_APPEND = 50  # with a transaction's other actions, they stay below DynamoDB's 100
MAX_TOOL_CALLS = 128  # as OpenAI's API has it
MAX_BATCH_BYTES = 3_000_000  # a transaction holds 4 MB (DynamoDB)
_SHORTENED = re.compile(r"call_([0-9a-f]{8})[0-9a-f]{24}")  # as `digested_call_id` writes it
# The most bytes of a request. Contents too large for an item or a transaction are stored outside
# the table.
MAX_CALL_BYTES = 5_000_000


@dataclass(frozen=True, slots=True)
class Draft:
    """A message as a caller sent it, checked but not yet numbered. `hidden` is not from the caller;
    `Message` explains it.
    """

    chat: Chat
    extra: Mapping[str, Any] = field(default_factory=dict)
    client_id: str | None = None
    timestamp: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    hidden: tuple[tuple[int, int], ...] = ()


Sized = TypeVar("Sized", Draft, Message)


@dataclass(frozen=True, slots=True)
class Batch:
    """The messages of one append. `size` is their bytes, `hash` a hash of the whole input, and
    `key` the idempotency key (None if there is none). `weights` returns the tokens of each message
    in an encoding, and counts them only once.
    """

    drafts: Sequence[Draft]
    size: int
    key: str | None
    hash: str
    weights: Callable[[str], tuple[int, ...]]


def batch_of(
    drafts: Sequence[Draft], *, key: str | None, count: Callable[..., int], has_contents: bool
) -> Batch:
    """Return the messages of an append with their calls joined. `count(text, encoding=…)` returns
    the tokens of a text. `has_contents` is true if there is a store for large contents. Raises
    `TooLarge`.
    """
    joined = with_joined_calls(drafts)
    size = check_size(joined, has_contents=has_contents)

    @cache
    def weights(encoding: str) -> tuple[int, ...]:
        return tuple(weigh(draft.chat, partial(count, encoding=encoding)) for draft in joined)

    return Batch(joined, size, key or _key_of_ids(joined), batch_hash(joined), weights)


def _key_of_ids(drafts: Sequence[Draft]) -> str | None:
    """Return a key made from the ids of all messages; None if a message has no id."""
    ids = [draft.client_id for draft in drafts]
    if not all(ids):
        return None
    return "ids:" + hashlib.sha256("\x1f".join(map(str, ids)).encode()).hexdigest()


def batch_hash(drafts: Sequence[Draft]) -> str:
    """Return a hash of everything that the caller sent. Equal batches have equal hashes."""
    contents = [[d.chat, d.extra, d.client_id, d.timestamp, d.metadata] for d in drafts]
    return hashlib.sha256(json.dumps(contents, sort_keys=True, default=dict).encode()).hexdigest()[
        :32
    ]


def with_joined_calls(drafts: Sequence[Draft]) -> list[Draft]:
    """Return the batch in the chat API's form, with one message for several calls. Other APIs send
    each call in its own message. An assistant message that has only calls joins the assistant
    message before it, if that has calls too. Items between them stay in place.
    """
    joined: list[Draft] = []
    for draft in drafts:
        place = next(
            (n for n in reversed(range(len(joined))) if joined[n].chat["role"] != ITEM), None
        )
        both = None if place is None else _joined(joined[place], draft)
        if place is None or both is None:
            joined.append(draft)
        else:
            joined[place] = both
    return joined


def _joined(first: Draft, second: Draft) -> Draft | None:
    """Return one draft with the calls of both; None if the chat API does not accept these calls in
    one message.
    """
    calls = [*first.chat.get("tool_calls", ()), *second.chat.get("tool_calls", ())]
    are_calls = bool(call_ids(first.chat) and call_ids(second.chat)) and not text_of(second.chat)
    if (
        not are_calls
        or len(calls) > MAX_TOOL_CALLS
        or len({short_call_id(call["id"]) for call in calls}) < len(calls)
    ):
        return None
    sent = [
        call
        for half in (first, second)
        for call in half.extra.get("tool_calls", half.chat["tool_calls"])
    ]
    extra = {**second.extra, **first.extra} | ({"tool_calls": sent} if sent != calls else {})
    if second.client_id is not None:
        extra["joined_ids"] = [*first.extra.get("joined_ids", ()), second.client_id]
    metadata = {**second.metadata, **first.metadata}
    return replace(first, chat={**first.chat, "tool_calls": calls}, extra=extra, metadata=metadata)


def message_sizes(drafts: Sequence[Draft], *, has_contents: bool) -> list[int]:
    """Return the bytes of each message. Raises `TooLarge` for a message that is too large for an
    item, if it is a system message or if there is no store for large contents.
    """
    sizes = [size_of(d.chat, d.extra, d.metadata) for d in drafts]
    for number, (draft, size) in enumerate(zip(drafts, sizes, strict=True)):
        most = (
            MAX_CALL_BYTES
            if has_contents and draft.chat["role"] not in SYSTEM_ROLES
            else MAX_MESSAGE_BYTES
        )
        if size > most:
            error = FieldError(
                f"messages.{number}", f"has {size} bytes; at most {most} are allowed"
            )
            raise TooLarge("A message is too large.", code="message_too_large", errors=(error,))
    return sizes


def check_size(drafts: Sequence[Draft], *, has_contents: bool = False) -> int:
    """Return the bytes of all messages together. Raises `TooLarge` if a message or the whole batch
    can't be stored. `has_contents` is true if there is a store for large contents; the limits of an
    item and a transaction then do not apply.
    """
    size = sum(message_sizes(drafts, has_contents=has_contents))
    most = MAX_CALL_BYTES if has_contents else MAX_BATCH_BYTES
    if size > most:
        raise TooLarge(
            f"The messages have {size} bytes; at most {most} are allowed.", code="batch_too_large"
        )
    return size


def first_batch(messages: Sequence[Sized], *, most: int = MAX_BATCH_BYTES) -> Sequence[Sized]:
    """Return the first messages that fit into one append. They are at most 50, with at most `most`
    bytes together. A larger message is returned alone.
    """
    size = 0
    for number, message in enumerate(messages[:MAX_MESSAGES_PER_APPEND]):
        size += size_of(message.chat, message.extra, message.metadata)
        if number and size > most:
            return messages[:number]
    return messages[:MAX_MESSAGES_PER_APPEND]


def numbered(
    drafts: Sequence[Draft],
    weights: Sequence[int],
    *,
    session: str,
    seq: int,
    turn: int,
    before: str,
    encoding: str,
    now: str,
) -> tuple[Message, ...]:
    """Return the drafts as messages that follow the message with number `seq`, turn `turn` and id
    `before`. `weights` are their tokens in `encoding`.
    """
    messages = []
    for draft, tokens in zip(drafts, weights, strict=True):
        seq += 1
        turn += draft.chat["role"] == "user"
        before = digest(draft.chat, session=session, before=before)
        messages.append(
            Message(
                seq=seq,
                id=before,
                turn=turn,
                tokens=tokens,
                encoding=encoding,
                chat=draft.chat,
                created_at=now,
                extra=draft.extra,
                client_id=draft.client_id,
                timestamp=draft.timestamp,
                metadata=draft.metadata,
                hidden=draft.hidden,
            )
        )
    return tuple(messages)


def open_calls_after(drafts: Iterable[Draft], open_calls: bytes) -> bytes:
    """Return the calls that still wait for their result after the batch. Raises `Unprocessable` for
    a result without its call.

    `open_calls` has the first four bytes of each waiting call's digest. Four bytes are enough to
    distinguish 128 calls, and small enough for the head. A user's or assistant's message ends the
    wait of all earlier calls; later results for them are refused.
    """
    for number, draft in enumerate(drafts):
        if draft.chat["role"] == "tool" and not _answered(draft.chat["tool_call_id"]).intersection(
            _split(open_calls)
        ):
            error = FieldError(
                f"messages.{number}.tool_call_id", "answers no call of the message before it"
            )
            detail = "A tool message needs its call before it."
            raise Unprocessable(detail, code="tool_message_without_call", errors=(error,))
        open_calls = open_calls_through((draft.chat,), open_calls)
    return open_calls


def call_digest(call_id: str) -> bytes:
    return hashlib.sha256(call_id.encode()).digest()[:4]


def _answered(call_id: str) -> frozenset[bytes]:
    """Return the digests of all calls that a result with this id may answer. A caller may send the
    id of the call as it was sent, or in the short form that a context shows. The short form begins
    with the digest of the long id.
    """
    digests = {call_digest(call_id), call_digest(short_call_id(call_id))}
    if shortened := _SHORTENED.fullmatch(call_id):
        digests.add(bytes.fromhex(shortened[1]))
    return frozenset(digests)


def open_calls_through(chats: Iterable[Chat], open_calls: bytes = b"") -> bytes:
    """Return the calls that still wait for their result after these messages, as the first four
    bytes of each one's digest.
    """
    waiting = _split(open_calls)
    for chat in chats:
        if chat["role"] == "tool":
            answered = _answered(chat["tool_call_id"])
            waiting = [call for call in waiting if call not in answered]
        elif chat["role"] not in UNSHOWN_ROLES:
            waiting = [call_digest(call) for call in call_ids(chat)]
    return b"".join(waiting)


def _split(open_calls: bytes) -> list[bytes]:
    return [open_calls[i : i + 4] for i in range(0, len(open_calls), 4)]
