"""The pruning of a window by meaning. The older turns that matter most to the current topic
stay.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal

from palimpsest.conversations.message import UNSHOWN_ROLES, Message, text_of
from palimpsest.conversations.overflow.eviction import Eviction, evict
from palimpsest.conversations.own_tools import answers_own_tool
from palimpsest.conversations.session import Compaction, Head
from palimpsest.conversations.spoken import spoken_text
from palimpsest.conversations.window.turns import turns
from palimpsest.text.analyser import terms
from palimpsest.text.salience import facts, is_own
from palimpsest.text.sentences import sentences

MAX_PINNED = 20  # the most messages, because the head stores their numbers
RECENT_TURNS = 5
RECENT_SHARE = (
    2  # recent turns take at most 1/RECENT_SHARE of the room; the newest turn always stays
)
RELEVANCE = 0.7  # the weight of relevance to the topic; the rest is the weight of importance
MANY_FACTS = 4  # this many facts (such as names and numbers) give a turn the highest importance


@dataclass(frozen=True, slots=True)
class KeptTurn:
    """The messages `first` through `last`, which stay in the window. `why` is `recent` for the
    newest turns. For others it is the larger part of their `score` (0..1): `relevant` to the topic,
    or `important`.
    """

    first: int
    last: int
    why: Literal["recent", "relevant", "important"]
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Pruning:
    """The result of a pruning: the new head, the compaction of the messages that left the window,
    and the turns that stay. The compaction is None if only turns left that an earlier pruning had
    kept.
    """

    head: Head
    compaction: Compaction | None
    kept: tuple[KeptTurn, ...]


def contested(head: Head, window: Sequence[Message], *, budget: int) -> tuple[Message, ...]:
    """Return the messages that a pruning compares with the topic. They are the messages of older
    turns that have text, because others have no vectors. Empty if the window already fits the
    budget (tokens).
    """
    older = _older(head, _turns_of(window), budget) if head.tokens > budget else ()
    return tuple(
        message
        for turn in older
        for number, message in enumerate(turn)
        if spoken_text(message) and not answers_own_tool(message, turn[:number])
    )


def prune(
    head: Head,
    window: Sequence[Message],
    *,
    budget: int,
    topic: str,
    near: Mapping[int, float],
    created_at: str,
) -> Pruning | None:
    """Keep the newest turns and the older turns that matter most, within the budget (tokens). Turns
    are kept whole and in order. None if the window already fits or only the newest turn is left.

    `window` begins with turns that an earlier pruning has kept. `near` has the similarity of
    messages to the topic (-1..1), by sequence number; it is empty without a model. Words and
    importance always count.
    """
    if head.tokens <= budget:
        return None
    held = _turns_of(window)
    older = _older(head, held, budget)
    if not older:
        return None
    recent = held[len(older) :]
    scores = [
        _scored(turn, score, near) for turn, score in zip(older, _shares(older, topic), strict=True)
    ]
    picked = _picked(scores, older, _room(head, budget) - sum(map(_weight, recent)))
    return _pruned(
        head,
        older,
        recent=recent,
        kept=[scores[n] for n in picked],
        stays=[older[n] for n in picked],
        created_at=created_at,
    )


def _turns_of(window: Sequence[Message]) -> list[Sequence[Message]]:
    return turns([message for message in window if message.role not in UNSHOWN_ROLES])


def _room(head: Head, budget: int) -> int:
    """Return the tokens of the budget that turns may take."""
    return budget - (head.tokens - head.window_tokens - head.pin_tokens)


def _older(
    head: Head, held: Sequence[Sequence[Message]], budget: int
) -> Sequence[Sequence[Message]]:
    """Return the turns that are not among the recent ones. Recent turns always stay."""
    return held[: len(held) - len(_recent(held, _room(head, budget)))] if held else ()


def _recent(held: Sequence[Sequence[Message]], room: int) -> Sequence[Sequence[Message]]:
    number, left = 1, room // RECENT_SHARE - _weight(held[-1])
    while (
        number < min(RECENT_TURNS, len(held)) and (left := left - _weight(held[-number - 1])) >= 0
    ):
        number += 1
    return held[-number:]


def _weight(turn: Sequence[Message]) -> int:
    return sum(message.tokens for message in turn)


def _shares(older: Sequence[Sequence[Message]], topic: str) -> list[float]:
    """Return for each turn the share of the topic's words that it has. Rare words weigh more."""
    term_sets = [_terms_of(turn) for turn in older]
    common = Counter(chain.from_iterable(term_sets))
    weights = {
        term: math.log(1 + len(term_sets) / (1 + common[term])) for term in set(terms(topic))
    }
    total = sum(weights.values()) or 1.0
    shares = []
    for of_turn in term_sets:
        shared = sum(weight for term, weight in weights.items() if term in of_turn)
        shares.append(shared / total)
    return shares


def _terms_of(turn: Sequence[Message]) -> frozenset[str]:
    return frozenset(term for message in turn for term in terms(text_of(message.chat)))


def _scored(turn: Sequence[Message], share: float, near: Mapping[int, float]) -> KeptTurn:
    relevance = RELEVANCE * max(share, *(near.get(message.seq, 0.0) for message in turn), 0.0)
    user_sentences = [
        sentence
        for message in turn
        if message.role == "user"
        for sentence in sentences(text_of(message.chat))
    ]
    factual = min(1.0, sum(len(facts(sentence)) for sentence in user_sentences) / MANY_FACTS)
    importance = (1 - RELEVANCE) * (factual + any(map(is_own, user_sentences))) / 2
    why: Literal["relevant", "important"] = "relevant" if relevance >= importance else "important"
    return KeptTurn(turn[0].seq, turn[-1].seq, why, round(relevance + importance, 4))


def _picked(scores: Sequence[KeptTurn], older: Sequence[Sequence[Message]], room: int) -> list[int]:
    """Return the indexes of the older turns that stay, in order. Turns with the highest score are
    chosen first, as long as they fit. If two turns have equal scores, the newer one is chosen.
    """
    picked, places = [], MAX_PINNED
    for number in sorted(
        range(len(older)), key=lambda n: (scores[n].score or 0.0, n), reverse=True
    ):
        turn = older[number]
        if scores[number].score and _weight(turn) <= room and len(turn) <= places:
            picked.append(number)
            room, places = room - _weight(turn), places - len(turn)
    return sorted(picked)


def _pruned(
    head: Head,
    older: Sequence[Sequence[Message]],
    *,
    recent: Sequence[Sequence[Message]],
    kept: Sequence[KeptTurn],
    stays: Sequence[Sequence[Message]],
    created_at: str,
) -> Pruning:
    left = [message for turn in older for message in turn if message.seq >= head.window_start]
    pins = tuple((message.seq, message.tokens) for turn in stays for message in turn)
    after, compaction = replace(head, pins=pins), None
    if left:
        gone = Eviction(
            first=head.window_start, last=left[-1].seq, messages=len(left), tokens=_weight(left)
        )
        armed = evict(head, gone, method="semantic", created_at=created_at)
        after = replace(armed.head, pins=pins)
        compaction = armed.compaction and replace(armed.compaction, tokens_after=after.tokens)
    newest = KeptTurn(recent[0][0].seq, recent[-1][-1].seq, "recent")
    return Pruning(after, compaction, (*kept, newest))
