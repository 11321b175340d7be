"""The checks of a session in an import. Its lines must agree with its head. The counts and weights
in the head are computed again from the lines.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from palimpsest.conversations.configuration import Strategy, Summarize, parsed
from palimpsest.conversations.drafts import MAX_CALL_BYTES, open_calls_through
from palimpsest.conversations.lifecycle import kept_for
from palimpsest.conversations.message import UNSHOWN_ROLES, Chat, Message, digest
from palimpsest.conversations.overflow.eviction import RAISE_SHARE
from palimpsest.conversations.session import Compaction, Head, Settings
from palimpsest.conversations.weight import weigh
from palimpsest.conversations.window.render import SummaryAs, summary_messages
from palimpsest.errors import Unprocessable
from palimpsest.models.ports import TokenCounter

CALL_BYTES = 4  # bytes of one waiting call in a head
_ID = re.compile(r"[0-9a-f]{32}")


def require(is_so: bool, wrong: str) -> None:  # noqa: FBT001 - a condition and what is wrong without it
    if not is_so:
        raise Unprocessable(wrong)


class SessionLines:
    """Checks the lines of one session, one after the other. `number` is the number of the line with
    which the session begins.

    A message's id is the digest of the message and of the id before it. The ids therefore show
    whether a line is missing, changed or moved. Ids can't be checked for redacted messages, and for
    messages whose history the caller keeps, because their first text is gone. Numbers of withdrawn
    messages may be missing between two messages.
    """

    def __init__(self, name: str, head: Head, *, number: int) -> None:
        self.number = number
        self.head = head
        self._name = name
        self._compactions: set[int] = set()
        self._last, self._last_id, self._turn = head.base, "", 0
        self._asked, self._waiting = 0, b""
        self._count = self._in_window = self._redacted = self._outside = 0
        self._pinned: set[int] = set()

    @property
    def last(self) -> int:
        """The sequence number of the newest message so far."""
        return self._last

    def check_compaction(self, made: Compaction) -> None:
        newest = max(self._compactions, default=self.head.base)
        require(made.last > newest, "compactions must be in the order of their numbers")
        require(
            made.previous in {0, *self._compactions}, "previous: it names no compaction before it"
        )
        self._compactions.add(made.last)

    def check_message(self, message: Message) -> None:
        head, chat = self.head, message.chat
        require(
            self._last < message.seq <= head.seq,
            "seq: messages must be in the order of their numbers",
        )
        require(
            message.turn - self._turn in _steps(message),
            "turn: it is not the number of user messages so far",
        )
        is_gone = message.redacted_at is not None or message.is_outside
        expected = message.id if is_gone else digest(chat, session=self._name, before=self._last_id)
        is_next = message.id == expected and _ID.fullmatch(message.id) is not None
        require(
            is_next,
            "id: it does not follow from the message and the one before it; a line is missing or "
            "changed",
        )
        self._last, self._last_id, self._turn = message.seq, message.id, message.turn
        self._count += 1
        self._redacted += message.redacted_at is not None
        self._outside = message.seq if message.is_outside else self._outside
        self._asked = message.seq if message.role == "user" else self._asked
        if message.role not in UNSHOWN_ROLES and message.seq >= head.window_start:
            self._in_window += 1
        if message.seq in {seq for seq, _ in head.pins} and message.role not in UNSHOWN_ROLES:
            self._pinned.add(message.seq)
        if message.seq > head.cleared:
            self._waiting = open_calls_through((chat,), self._waiting)

    def check_end(self) -> None:
        """Raise `Unprocessable` if the head contradicts the lines."""
        head = self.head
        require(head.last_id == self._last_id, "head: last_id is not that of the last message")
        require(head.turn == self._turn, "head: turn is not that of the last message")
        require(
            head.last_user_seq in (0, self._asked),
            "head: last_user_seq is not the user's newest message",
        )
        require(
            _calls(head.open_calls) <= _calls(self._waiting),
            "head: open_calls has a call that does not wait for a result",
        )
        is_counted = head.total_messages == head.seq - head.base >= self._count
        require(is_counted, "head: total_messages is not the number of its messages")
        require(
            head.window_messages == self._in_window,
            "head: window_messages is not the number of messages in the window",
        )
        has_window = head.cleared < head.window_start <= max(self._last, head.cleared) + 1
        require(
            has_window and head.window_start > head.base,
            "head: window_start lies beyond its messages",
        )
        has_summary = head.summary in {0, *self._compactions} and head.summary < head.window_start
        require(has_summary, "head: summary names no compaction before the window")
        pins = [seq for seq, _ in head.pins]
        is_pinned = set(pins) == self._pinned and len(pins) == len(self._pinned)
        is_before = all(head.cleared < seq < head.window_start for seq in pins)
        require(is_pinned and is_before, "head: pins has a message that is not before the window")
        require(
            self._redacted <= head.redactions, "head: redactions is less than its redacted messages"
        )
        require(
            self._outside <= head.outside,
            "head: outside is not the newest message whose history the caller keeps",
        )


def _steps(message: Message) -> tuple[int, ...]:
    """Return by how much the message may raise the number of the turn: by 1 if it is the user's,
    else by 0. Both are possible for a redacted message whose history the caller keeps, because its
    role is unknown.
    """
    if not message.is_outside:
        return (int(message.role == "user"),)
    role = message.chat["item"].get("role")
    return (0, 1) if role is None else (int(role == "user"),)


def _calls(waiting: bytes) -> set[bytes]:
    return {waiting[at : at + CALL_BYTES] for at in range(0, len(waiting), CALL_BYTES)}


@dataclass(frozen=True, slots=True)
class Counted:
    """A session in the form in which an import stores it, with weights, sizes and retention
    computed by this service.
    """

    head: Head
    messages: Sequence[Message]
    compactions: Sequence[Compaction]


def counted(
    head: Head,
    settings: Settings,
    messages: Sequence[Message],
    compactions: Sequence[Compaction],
    *,
    tokens: TokenCounter,
    tenant_days: int | None,
) -> Counted:
    """Return the session with its tokens counted again, in the encoding of its model. Limits and
    retention come from its settings, or else from the tenant's days (`tenant_days`). The messages
    must have their whole contents.
    """
    config = parsed(dict(settings.memory))
    encoding = tokens.encoding_for(config.model)
    count = partial(tokens.count, encoding=encoding)

    def weight(chats: Sequence[Chat]) -> int:
        return sum(weigh(chat, count) for chat in chats)

    new = [
        replace(
            message,
            encoding=encoding,
            tokens=message.tokens if message.is_outside else weight([message.chat]),
        )
        for message in messages
    ]
    summary_as: SummaryAs = config.summary_as if isinstance(config, Summarize) else "user"
    own = {
        compaction.last: weight(summary_messages(compaction.summary, summary_as))
        for compaction in compactions
        if compaction.summary
    }
    head = replace(
        _with_weights(head, new, before=messages),
        encoding=encoding,
        system_tokens=0 if settings.system is None else weight([settings.system]),
        summary_tokens=own.get(head.summary, 0),
    )
    days = tenant_days if settings.retention is None else settings.retention or None
    return Counted(
        kept_for(_configured(head, config), days),
        new,
        [
            replace(compaction, summary_tokens=own.get(compaction.summary_number, 0))
            for compaction in compactions
        ],
    )


def _with_weights(head: Head, messages: Sequence[Message], *, before: Sequence[Message]) -> Head:
    """Return the head with the weights of its messages. Withdrawn messages are counted in the total
    but have no line. Their weight is taken from the file, up to the most that such messages can
    have.
    """
    weights: Mapping[int, int] = {message.seq: message.tokens for message in messages}
    shown = [
        message
        for message in messages
        if message.seq >= head.window_start and message.role not in UNSHOWN_ROLES
    ]
    withdrawn = (head.total_messages - len(messages)) * MAX_CALL_BYTES
    said_of_them = head.total_tokens - sum(message.tokens for message in before)
    return replace(
        head,
        window_tokens=sum(message.tokens for message in shown),
        pins=tuple((seq, weights[seq]) for seq, _ in head.pins),
        total_tokens=sum(weights.values()) + max(0, min(said_of_them, withdrawn)),
    )


def _configured(head: Head, config: Strategy) -> Head:
    """Return the head with the limits of its configuration."""
    trigger = config.trigger if config.keeps_window else 0
    over = max(0, head.tokens - trigger) + max(1, config.max_tokens // RAISE_SHARE)
    return replace(
        head,
        max_tokens=config.max_tokens,
        trigger=trigger,
        raised=min(head.raised, over),
        extract_turns=config.extract_turns,
        extract_idle=config.extract_idle,
        extract_turn=min(head.extract_turn, head.turn),
    )
