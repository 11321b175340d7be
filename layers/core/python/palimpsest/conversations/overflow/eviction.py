"""The selection of the messages that leave an overflowing window. They leave in whole turns, oldest
first. The current chain, which is the newest turn, never leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate
from typing import Literal

from palimpsest.conversations.blocks import BlockType
from palimpsest.conversations.configuration import (
    Delete,
    Flush,
    NoWindow,
    Strategy,
    Summarize,
    Trim,
)
from palimpsest.conversations.lifecycle import armed_extraction, evicted, job_on
from palimpsest.conversations.message import UNSHOWN_ROLES, Message
from palimpsest.conversations.payloads import FlushPayload
from palimpsest.conversations.session import Compaction, Head
from palimpsest.conversations.window.turns import groups, turns
from palimpsest.jobs.job import Job
from palimpsest.jobs.payloads import NOTHING, Payload
from palimpsest.scope import SessionScope

Turn = Sequence[Message]

STAYING_SHARE, FOLDED_SHARE = Fraction(3, 4), Fraction(7, 8)
"""How much of the trigger the system message, the recent turns and a summary may take together
after an overflow, so that the next overflow is not due soon. The first share is for the summary
from before the overflow, the second for the longest summary.
"""

RAISE_SHARE = 10  # if nothing can be evicted, the trigger rises by this part of the budget


@dataclass(frozen=True, slots=True)
class Eviction:
    """The messages `first` through `last`, which leave the window. `messages` is their number and
    `tokens` their weight. System messages are not counted, because the window never holds them.
    """

    first: int
    last: int
    messages: int
    tokens: int


def plan(config: Strategy, *, head: Head, window: Sequence[Message]) -> Eviction | None:
    """Return the messages that the strategy evicts from the window, even if the window is not full.
    None if none can leave. `window` has its messages, oldest first. Turns that a pruning kept
    before the window leave with them.
    """
    head = replace(head, pins=())
    held = turns(_shown(window))
    match config:
        case Summarize():
            is_over = head.tokens > config.messages_room
            going = _all_but_recent(
                config, head, held, at_least=1 if is_over else config.fold_at_least
            )
        case Flush():
            going = _all_but_recent(config, head, held, at_least=1)
        case Trim():
            going = _trimmed(config, head, held)
        case Delete():
            going = _deleted(config, head, held)
        case NoWindow():
            going = []
    return _eviction(head, going)


def fifo(head: Head, window: Sequence[Message], *, budget: int) -> Eviction | None:
    """Return the oldest turns that must leave so that a context with the rest of the window fits
    the budget (tokens). None if it fits already, or if only the newest turn is left.
    """
    return _eviction(head, _dropped(head, turns(_shown(window)), at_least=0, budget=budget))


def step(messages: Sequence[Message], *, previous_tokens: int, capacity: int) -> int:
    """Return the sequence number of the last message that one summarising step reads; it is at
    least the first one. `capacity` is the number of tokens that fit into the step, and
    `previous_tokens` is the part of them that the old summary takes.

    The step ends with a whole turn if one fits. Otherwise it ends inside the first turn, after a
    group of calls and results; the window then begins inside that turn until the next step. A
    single group that is too large is read whole, and the summariser cuts it.
    """
    shown = _shown(messages)
    room = capacity - previous_tokens
    for parts in (turns(shown), groups(shown)):
        taken = _fitting(parts, room)
        if taken:
            return parts[taken - 1][-1].seq
    return groups(shown)[0][-1].seq


def raised(head: Head, config: Strategy) -> int:
    """Return by how many tokens the window may now exceed its configured trigger, because nothing
    can be evicted. It is the present excess plus a tenth of the budget. Without this, every append
    would plan an overflow again. The next one is planned at the latest when a context can no longer
    show the whole window.
    """
    excess, to_full = head.tokens - head.trigger, config.messages_room + 1 - head.trigger
    over = max(head.raised, excess) + max(1, config.max_tokens // RAISE_SHARE)
    return over if excess >= to_full else min(over, to_full)


def _shown(window: Sequence[Message]) -> list[Message]:
    """Return the messages that are part of a window."""
    return [message for message in window if message.role not in UNSHOWN_ROLES]


def _all_but_recent(
    config: Summarize | Flush, head: Head, held: Sequence[Turn], *, at_least: int
) -> Sequence[Turn]:
    """Return the turns that leave: all but the recent ones. Recent turns leave too if, together
    with the system message and the summary, they take more than three quarters of the trigger, or
    more than seven eighths with the longest summary. If these turns have fewer than `at_least`
    messages, none leave.
    """
    recent = _recent(config, held)
    longest = config.summary_tokens if isinstance(config, Summarize) else 0
    room = min(
        int(config.trigger * STAYING_SHARE) - head.summary_tokens,
        int(config.trigger * FOLDED_SHARE) - longest,
    )
    going = held[: len(held) - _staying(recent, room - head.system_tokens)]
    return going if sum(map(len, going)) >= at_least else []


def _recent(config: Summarize | Flush, held: Sequence[Turn]) -> Sequence[Turn]:
    """Return the newest turns that the configuration keeps. It sets either their number or the
    number of their messages.
    """
    least = config.summary_message_count if isinstance(config, Summarize) else None
    if least is None:
        return held[-config.keep_recent_turns :]
    messages = accumulate(len(turn) for turn in reversed(held))
    return held[
        -next((turns for turns, total in enumerate(messages, 1) if total >= least), len(held)) :
    ]


def _trimmed(config: Trim, head: Head, held: Sequence[Turn]) -> Sequence[Turn]:
    """Return the turns that leave: all but the newest ones that fit both `max_memory_tokens` and
    the low-water mark.
    """
    around = head.tokens - head.window_tokens
    return held[
        : len(held) - _staying(held, min(config.max_memory_tokens, config.low_water - around))
    ]


def _deleted(config: Delete, head: Head, held: Sequence[Turn]) -> Sequence[Turn]:
    return _dropped(head, held, at_least=config.count, budget=config.low_water)


def _dropped(head: Head, held: Sequence[Turn], *, at_least: int, budget: int) -> Sequence[Turn]:
    """Return the turns that leave: the oldest `at_least` messages, in whole turns. If the rest does
    not fit the budget, the same number leaves again, until the rest fits.
    """
    tokens, gone, wanted = head.tokens, 0, at_least
    for number, turn in enumerate(held[:-1]):
        if gone >= wanted:
            if tokens <= budget:
                return held[:number]
            wanted = gone + max(1, at_least)
        gone += len(turn)
        tokens -= _weight(turn)
    return held[:-1]


def _staying(held: Sequence[Turn], room: int) -> int:
    """Return how many of the newest turns fit into the room. The newest turn always counts as
    fitting.
    """
    return max(1, _fitting(list(reversed(held)), room))


def _fitting(parts: Sequence[Turn], room: int) -> int:
    """Return how many parts, counted from the first, fit into the room together."""
    for number, part in enumerate(parts):
        room -= _weight(part)
        if room < 0:
            return number
    return len(parts)


def _weight(messages: Sequence[Message]) -> int:
    return sum(message.tokens for message in messages)


def _eviction(head: Head, going: Sequence[Turn]) -> Eviction | None:
    if not going:
        return None
    return Eviction(
        first=head.window_start,
        last=going[-1][-1].seq,
        messages=sum(map(len, going)),
        tokens=sum(map(_weight, going)),
    )


@dataclass(frozen=True, slots=True)
class OverflowResult:
    """The result of an overflow. It is `done` at once, or `pending` until its job has run."""

    strategy: str
    state: Literal["done", "pending"]
    job_id: str | None = None


@dataclass(frozen=True, slots=True)
class Armed:
    """A decided overflow: the new head, and the other data to write in the same transaction."""

    head: Head
    overflow: OverflowResult | None = None
    jobs: tuple[Job, ...] = ()
    compaction: Compaction | None = None


def decide(
    head: Head,
    config: Strategy,
    window: Sequence[Message],
    *,
    scope: SessionScope,
    now: int,
    created_at: str,
) -> Armed:
    """Decide how this window overflows. If nothing can be evicted, the trigger is raised. `now` is
    in epoch seconds, and `created_at` is the same time in RFC 3339.
    """
    eviction = plan(config, head=head, window=window)
    if eviction is None:
        return Armed(replace(head, raised=raised(head, config)))
    if not isinstance(config, Summarize | Flush) or (
        isinstance(config, Flush) and not config.parts
    ):
        return evict(head, eviction, method=config.strategy, created_at=created_at)
    parts: tuple[BlockType, ...] = ()
    payload: Payload = NOTHING
    if isinstance(config, Flush):
        parts = config.parts
        payload = FlushPayload(messages=eviction.messages, tokens=eviction.tokens)
    job = job_on(
        head,
        scope,
        kind=config.strategy,
        first=eviction.first,
        last=eviction.last,
        attempt=head.attempts,
        parts=parts,
        payload=payload,
        now=now,
    )
    head = replace(head, job=job.id, compaction="pending")
    # The flush waits until these messages are extracted.
    waits = "extractive" in parts
    head, extraction = armed_extraction(head, scope, now=now) if waits else (head, ())
    return Armed(
        head, overflow=OverflowResult(config.strategy, "pending", job.id), jobs=(job, *extraction)
    )


def evict(head: Head, eviction: Eviction, *, method: str, created_at: str) -> Armed:
    """Move the start of the window past the evicted messages, and record this as a compaction. The
    summary stays.
    """
    after = evicted(head, through=eviction.last, tokens=eviction.tokens, messages=eviction.messages)
    compaction = Compaction(
        first=eviction.first,
        last=eviction.last,
        method=method,
        created_at=created_at,
        tokens_before=head.tokens,
        tokens_after=after.tokens,
        previous=head.summary,
        newest=head.seq,
        summary_tokens=head.summary_tokens,
    )
    return Armed(after, overflow=OverflowResult(method, "done"), compaction=compaction)
