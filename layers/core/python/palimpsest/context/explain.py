"""Explains a context: why each part is in it, and why other parts were left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from palimpsest.context.cache import CacheUse, Part, parts_of, points_of
from palimpsest.context.session_context import SessionContext
from palimpsest.conversations.blocks import PRIORITY, BlockType

Json = dict[str, Any]

WHY_MEMORY: Mapping[BlockType, str] = {
    "static": "stated by the tenant",
    "extractive": "ranked by importance, words shared with the newest message, and recency",
    "vector": "said before, and near in meaning to the given message",
}


def trace(context: SessionContext) -> Json:
    """Return the trace as JSON. It has the parts in order with their tokens, and the tokens of the
    memory that stays the same until the next compaction. It also has the cuts within messages, and
    each part that was left out with the reason.
    """
    return {
        "strategy": context.config.strategy,
        "window": {"from": context.head.window_start, "to": context.head.seq},
        "parts": [*_spoken_parts(context), *_memory_parts(context)],
        "stable_tokens": context.memory.stable_tokens,
        "cuts": [
            {"seq": cut.seq, "part": cut.part, "tokens": cut.tokens} for cut in context.fitted.cuts
        ],
        "left_out": [*_left_out_messages(context), *_left_out_items(context)],
        "failures": dict(context.failures),
    }


WHY_BROKEN: Mapping[Part, str] = {
    "system": "the system message has changed",
    "memory": "the stable memory was written again, after a compaction, a day or a deletion",
    "summary": "there is a new summary",
    "window": "messages left the window, or were changed",
    "recalled": "the memory for the earlier question is not repeated in this context",
    "message": "the message was stored in another form than it was sent",
}


def cache_trace(context: SessionContext, use: CacheUse | None) -> Json:
    """Return which part of this context a prompt cache can serve. It names the messages that are
    followed by a cache point, in formats that have cache points. It also says how much of the
    context is equal to an earlier context (None: the caller named no earlier context).
    """
    points: Json = {"points": list(points_of(context)), "parts": parts_of(context)}
    if use is None:
        return {
            **points,
            "common_tokens": None,
            "broke_at": None,
            "part": None,
            "why": "no `after`",
        }
    why = "it begins with the whole earlier context" if use.why is None else WHY_BROKEN[use.why]
    return {
        **points,
        "common_tokens": use.common_tokens,
        "broke_at": use.broke_at,
        "part": use.why,
        "why": why,
    }


def _spoken_parts(context: SessionContext) -> Iterator[Json]:
    fitted, summary = context.fitted, context.summary
    if fitted.system_tokens:
        yield {"part": "system", "tokens": fitted.system_tokens, "why": "always kept"}
    if summary is not None and fitted.summary_tokens:
        yield {
            "part": "summary",
            "tokens": fitted.summary_tokens,
            "compaction": summary.last,
            "through": summary.last,
            "method": summary.method,
            "is_cut": fitted.is_summary_cut,
            "why": "replaces the messages that left the window",
        }
    last_asked = context.head.last_user_seq
    older = [seq for seq in fitted.seqs if context.has_given or seq < last_asked]
    pinned = [seq for seq in older if seq < context.head.window_start and context.head.pins]
    yield from _range("pinned", pinned, "kept by a pruning, because it mattered most to the topic")
    yield from _range("recent_turns", older[len(pinned) :], "the newest turns that fit whole")
    yield from _range(
        "current_turn",
        fitted.seqs[len(older) :],
        "from the newest user message on; it is never left out",
    )
    if context.has_given:
        yield {"part": "given", "why": "the message about to be sent; it is counted but not stored"}


def _range(part: str, seqs: Sequence[int], why: str) -> Iterator[Json]:
    if seqs:
        yield {"part": part, "from": seqs[0], "to": seqs[-1], "messages": len(seqs), "why": why}


def _memory_parts(context: SessionContext) -> Iterator[Json]:
    for block in PRIORITY:
        items = context.memory.of(block)
        if items:
            shown = [{"id": item.id, "score": item.score} for item in items]
            name = context.config.names[block]
            yield {
                "part": f"{block}_memory",
                "name": name,
                "items": shown,
                "why": WHY_MEMORY[block],
            }


def _left_out_messages(context: SessionContext) -> Iterator[Json]:
    """Yield the messages of the window that are not in the context."""
    if context.summary is not None and not context.fitted.summary_tokens:
        yield {"part": "summary", "compaction": context.summary.last, "why": "no_room"}
    first, shown = context.head.window_start, context.fitted.seqs
    last = shown[0] - 1 if shown else context.head.seq
    if first <= last and len(shown) < context.head.window_messages:
        why = "no_room" if context.config.keeps_window else "short-term memory is off"
        yield {"part": "messages", "from": first, "to": last, "why": why}


def _left_out_items(context: SessionContext) -> Iterator[Json]:
    for item in context.memory.left_out:
        name = context.config.names[item.block]
        yield {"part": f"{item.block}_memory", "name": name, "id": item.id, "why": item.why}
