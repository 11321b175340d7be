"""The fitting of the summary and the newest turns into a token budget. The result is never empty
and always valid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter

from palimpsest.conversations.configuration import MIN_SYSTEM_ROOM
from palimpsest.conversations.message import UNSHOWN_ROLES, Chat, Message
from palimpsest.conversations.weight import MESSAGE_OVERHEAD, REPLY_PRIMING, weigh
from palimpsest.conversations.window.days import beginning_day, day_of
from palimpsest.conversations.window.render import (
    Cut,
    SummaryAs,
    WindowEntry,
    shown,
    summary_messages,
)
from palimpsest.conversations.window.turns import Chain, no_result, turns, with_every_result
from palimpsest.errors import BudgetTooSmall
from palimpsest.text.cutting import Count, shortened

SUMMARY_SHARE = 4  # a summary takes at most this part of the budget

LEAST_SUMMARY = 16  # tokens; a shorter summary says nothing

READ_IN_CHAIN = 64  # the most tokens that a message of the current chain counts while reading

MOST_BYTES = 3_000_000  # Bytes of older turns; with the other parts, they fit an answer of 5 MB.

LEAST_MESSAGE = MESSAGE_OVERHEAD + 1  # tokens; no message weighs less


@dataclass(frozen=True, slots=True)
class Fitted:
    """A context, ready to send, with its weight. `tokens` is the weight of everything, including
    the tokens that open the model's reply. `window_tokens` is the weight of the messages after
    system message and summary.

    `places` has one entry for each message: the sequence number of the stored message that it
    shows, or None. `cuts` lists the parts of the newest turn that the context leaves out.
    `reserved` is the number of tokens that the context leaves free.
    """

    messages: tuple[Chat, ...]
    tokens: int
    system_tokens: int
    summary_tokens: int
    window_tokens: int
    places: tuple[int | None, ...]
    cuts: tuple[Cut, ...] = ()
    is_summary_cut: bool = False
    reserved: int = 0

    @property
    def seqs(self) -> tuple[int, ...]:
        """The sequence numbers of the stored messages in the context."""
        return tuple(seq for seq in self.places if seq is not None)


def newest(stored: Iterator[Message], *, budget: int, last_user_seq: int) -> tuple[Message, ...]:
    """Read messages, newest first, as far as a context of this budget can hold them, and return
    them oldest first.

    Each message after the last user message counts for at most `READ_IN_CHAIN` tokens. Otherwise a
    huge tool output would hide the rest of its turn, although such outputs are cut later. Reading
    ends with a whole turn. If the newest turn is too long, reading ends inside it, and the caller
    supplies the user message itself. System messages are not counted, because they are not part of
    the window. Reading also stops at the size that an answer can carry, even if the budget is
    larger.
    """
    held: list[Message] = []
    read = weight = size = 0
    for message in stored:
        held.append(message)
        is_shown = message.role not in UNSHOWN_ROLES
        read += min(message.tokens, READ_IN_CHAIN) if is_shown else LEAST_MESSAGE
        weight += message.tokens if is_shown else 0
        size += _bytes(message)
        in_chain = message.seq > last_user_seq
        is_enough = (
            budget <= read if in_chain else budget <= max(read, weight) or size >= MOST_BYTES
        )
        # Read from the newest on, a result comes before its call, and a context needs both.
        if message.role != "tool" and is_enough:
            return _oldest_first(held, last_user_seq)
    return tuple(reversed(held))


def _bytes(message: Message) -> int:
    """Return the approximate bytes of the message in an answer."""
    content, calls = message.chat.get("content"), message.chat.get("tool_calls")
    text = content if isinstance(content, str) else str(content or "")
    if calls:
        text += str(calls)
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def _oldest_first(held: Sequence[Message], last_user_seq: int) -> tuple[Message, ...]:
    """Return messages, which were read newest first, with the oldest first. A turn that was read
    only in part is left out.
    """
    messages = tuple(reversed(held))
    if messages[0].seq >= last_user_seq or messages[0].role == "user":
        return messages
    return messages[len(turns(messages)[0]) :]


def newest_turn(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the newest turn. It is all that a session without short-term memory shows of its
    history.
    """
    shown_ones = [message for message in messages if message.role not in UNSHOWN_ROLES]
    return tuple(turns(shown_ones)[-1]) if shown_ones else ()


@dataclass(frozen=True, slots=True)
class Material:
    """The parts of a context. `messages` are ordered oldest first. They may begin inside a turn at
    a group, and may lack the messages between the newest user message and the rest of its turn.
    `given` is a message that is about to be sent. It is weighed but not stored; if it is the
    user's, it alone is the current chain.

    `taken` is the part of the `budget` that goes to parts sent beside the messages. `system_tokens`
    is the weight of the system message; None if it was not counted.
    """

    messages: Sequence[Message]
    budget: int
    count: Count
    system: Chat | None = None
    system_tokens: int | None = None
    summary: str | None = None
    summary_as: SummaryAs = "user"
    given: Chat | None = None
    taken: int = 0

    def counted(self) -> Material:
        """Return the same material with the tokens of the system message."""
        if self.system is None or self.system_tokens is None:
            return replace(
                self, system_tokens=weigh(shown(self.system), self.count) if self.system else 0
            )
        return self

    @property
    def shown_messages(self) -> int:
        """The number of messages that a context shows if all of them fit."""
        return sum(message.role not in UNSHOWN_ROLES for message in self.messages)

    def only(self, seqs: Sequence[int]) -> Material:
        return replace(self, messages=[message for message in self.messages if message.seq in seqs])


def fit(material: Material, *, reserve: int = 0) -> Fitted:
    """Make the context from the system message, the summary, the newest turns that fit whole, and
    the current chain, which is the newest turn.

    If the current chain alone is too large, it is cut (see `turns.Chain`). The summary takes at
    most a quarter of the budget, and is cut before the newest user message is. Weights were counted
    when messages were appended. Only the summary, cut texts, and a system message of unknown weight
    are counted again. `reserve` tokens stay free if system message, summary and current chain leave
    that much; older turns are left out for it. Raises `BudgetTooSmall`.
    """
    material = material.counted()
    count, system_tokens = material.count, material.system_tokens or 0
    heading = [] if material.system is None else [shown(material.system)]
    if material.budget < (least := material.taken + system_tokens + MIN_SYSTEM_ROOM):
        raise BudgetTooSmall(minimum=least)
    budget = material.budget - material.taken
    room = budget - system_tokens - REPLY_PRIMING
    parts = _turns(material.messages, material.given, count) or [[]]
    summary_within = partial(_summary_within, material.summary, material.summary_as, count=count)
    reserve = min(reserve, budget - system_tokens - MIN_SYSTEM_ROOM)
    shares = _shared_out(
        parts, summary_within, room=room, most=budget // SUMMARY_SHARE, reserve=reserve, count=count
    )
    shown_summary, window = shares.summary, shares.window
    window_tokens = _weight(window)
    return Fitted(
        messages=(*heading, *shown_summary.messages, *(entry.chat for entry in window)),
        tokens=REPLY_PRIMING + system_tokens + shown_summary.tokens + window_tokens,
        system_tokens=system_tokens,
        summary_tokens=shown_summary.tokens,
        window_tokens=window_tokens,
        places=(
            *[None] * (len(heading) + len(shown_summary.messages)),
            *(entry.seq for entry in window),
        ),
        cuts=shares.cuts,
        is_summary_cut=shown_summary.is_cut,
        reserved=shares.reserved,
    )


@dataclass(frozen=True, slots=True)
class _Shares:
    """The summary as it fits, the window, the cuts of the current chain, and the reserved
    tokens.
    """

    summary: _ShownSummary
    window: Sequence[WindowEntry]
    cuts: tuple[Cut, ...] = ()
    reserved: int = 0


def _shared_out(
    parts: Sequence[Sequence[WindowEntry]],
    summary_within: Callable[..., _ShownSummary],
    *,
    room: int,
    most: int,
    reserve: int,
    count: Count,
) -> _Shares:
    """Divide the room between the summary (at most `most`), the current chain, the reserve, and
    older turns.
    """
    *older, current = parts
    weight = _weight(current)
    summary = summary_within(room=most)
    # To count the texts of a chain takes long. A context that fits needs no counting
    # (docs/adr/0009).
    chain = Chain(current, count) if weight + summary.tokens > room else None
    # The summary is cut before the newest user message is (docs/adr/0009).
    if chain and chain.least + summary.tokens > room:
        summary = summary_within(room=min(most, room - chain.least))
    room -= summary.tokens
    if chain and weight > room:
        window, cuts = chain.fit(room)
        return _Shares(summary, window, tuple(cuts))
    room -= weight
    reserved = max(0, min(reserve, room))
    return _Shares(
        summary, [*_newest_turns(older, room=room - reserved), *current], reserved=reserved
    )


def _turns(
    messages: Sequence[Message], unsent: Chat | None, count: Count
) -> list[Sequence[WindowEntry]]:
    """Return the messages for the window in turns. Each call has a result. `unsent` comes last."""
    entries = list(_entries(messages, count))
    if unsent is not None:
        entries.append(_weighed(shown(unsent), count))
    entries = with_every_result(
        entries,
        chat=attrgetter("chat"),
        missing=lambda call: _weighed(no_result(call), count),
        answering=lambda entry, call: _answering(entry, call, count),
    )
    if unsent is not None and unsent["role"] == "user":
        return [*turns(entries[:-1]), entries[-1:]]
    return turns(entries)


def _entries(messages: Sequence[Message], count: Count) -> Iterator[WindowEntry]:
    """Yield the messages as the window shows them. A user's message begins with its day if that
    differs from the last shown day. At first, that is the day of the window's first message. The
    text therefore does not depend on the present time.
    """
    current = None
    for message in messages:
        if message.role in UNSHOWN_ROLES:
            continue
        chat, tokens, day = shown(message.chat), message.tokens, day_of(message)
        if current is None:
            current = day
        elif day not in (None, current) and message.role == "user":
            current, marked = day, beginning_day(chat, day)
            tokens += max(0, weigh(marked, count) - weigh(chat, count))
            chat = marked
        yield WindowEntry(chat, tokens, message.seq)


def _weighed(chat: Chat, count: Count) -> WindowEntry:
    return WindowEntry(chat, weigh(chat, count))


def _answering(entry: WindowEntry, call: str, count: Count) -> WindowEntry:
    """Return the tool's result with the id of the call that it answers."""
    return replace(_weighed({**entry.chat, "tool_call_id": call}, count), seq=entry.seq)


def _weight(entries: Sequence[WindowEntry]) -> int:
    return sum(entry.tokens for entry in entries)


def _newest_turns(older: Sequence[Sequence[WindowEntry]], *, room: int) -> list[WindowEntry]:
    """Return as many turns as fit whole, without gaps from the newest one back."""
    first = len(older)
    while first and (weight := _weight(older[first - 1])) <= room:
        first -= 1
        room -= weight
    return [entry for turn in older[first:] for entry in turn]


@dataclass(frozen=True, slots=True)
class _ShownSummary:
    """The summary as the context shows it."""

    messages: tuple[Chat, ...] = ()
    tokens: int = 0
    is_cut: bool = False


def _summary_within(
    text: str | None, summary_as: SummaryAs, *, room: int, count: Count
) -> _ShownSummary:
    """Return the summary, cut if it exceeds the room. It is left out if hardly anything of it would
    remain.
    """
    if not text:
        return _ShownSummary()
    shown_summary = _shown_summary(text, summary_as, count)
    limit = (
        room - _shown_summary("", summary_as, count).tokens if shown_summary.tokens > room else 0
    )
    while shown_summary.tokens > room and limit >= LEAST_SUMMARY:
        short, _ = shortened(text, limit=limit, count=count)
        shown_summary = _shown_summary(short, summary_as, count, is_cut=True)
        # A marker is added, and tokens join at the cut, so the weight differs a little from the
        # limit.
        limit -= max(1, shown_summary.tokens - room)
    return shown_summary if shown_summary.tokens <= room else _ShownSummary(is_cut=True)


def _shown_summary(
    text: str, summary_as: SummaryAs, count: Count, *, is_cut: bool = False
) -> _ShownSummary:
    messages = summary_messages(text, summary_as)
    return _ShownSummary(messages, sum(weigh(message, count) for message in messages), is_cut)
