"""Reads a context and writes it as an answer, alone or beside the answer of another operation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from aws_lambda_powertools.event_handler import Response

from palimpsest.api.answers import answered, provenance
from palimpsest.api.call import Call, Service
from palimpsest.api.fields import LONGEST_WAIT, moment_or_null, rfc3339
from palimpsest.api.resources.context.shapes import (
    CacheInfo,
    Context,
    ContextOptions,
    MessageRef,
    ShownMemory,
    TokenParts,
)
from palimpsest.api.resources.jobs import SequenceRange
from palimpsest.context.ahead import ReadAhead
from palimpsest.context.blocks.ports import Item
from palimpsest.context.cache import CacheUse, cache_key, mark_of, use_of, written_with_points
from palimpsest.context.explain import cache_trace, trace
from palimpsest.context.formats import ContextFormat, FormattedMessages, written
from palimpsest.context.session_context import SessionContext
from palimpsest.conversations.message import Chat
from palimpsest.conversations.session import Head
from palimpsest.conversations.weight import REPLY_PRIMING, weigh
from palimpsest.models.catalogue import takes_cache_points
from palimpsest.observability import logger
from palimpsest.scope import SessionScope


def answered_with_context(
    service: Service,
    call: Call,
    done: Mapping[str, Any],
    scope: SessionScope,
    options: ContextOptions,
    *,
    given: Chat | None = None,
    newest: Chat | None = None,
    ahead: ReadAhead | None = None,
    head: Head | None = None,
    status: int = 200,
) -> Response[str]:
    """Return the answer to a call that has already changed something, with the context added. The
    context is null if it can't be read. `ahead` and `head` are those of an append, as `ReadContext`
    takes them.
    """
    arguments: dict[str, Any] = {"given": given, "newest": newest, "ahead": ahead, "head": head}
    try:
        context = context_of(service, call, scope, options, **arguments)
        degraded = dict.fromkeys((*done.get("degraded", ()), *context["degraded"]))
        return answered(
            {**done, "context": context, "degraded": list(degraded)},
            status=status,
            shows=call.shows,
        )
    except Exception as error:  # noqa: BLE001 - whatever it is, what was committed stands
        logger.warning("no context beside the answer", extra={"error": type(error).__name__})
        return answered(
            {**done, "context": None, "degraded": ["context"]}, status=status, shows=call.shows
        )


def context_of(
    service: Service,
    call: Call,
    scope: SessionScope,
    options: ContextOptions,
    *,
    given: Chat | None = None,
    newest: Chat | None = None,
    ahead: ReadAhead | None = None,
    head: Head | None = None,
) -> Context:
    is_asked = options.compact is not None
    why_not = service.prune.compact(scope, wait=call.patience(LONGEST_WAIT)) if is_asked else None
    read = service.context
    arguments: dict[str, Any] = {
        "max_tokens": options.max_tokens,
        "model": options.model,
        "at": options.at,
    }
    begun: dict[str, Any] = {} if is_asked else {"ahead": ahead, "head": head}
    context = read(scope, given=given, newest=newest, **begun, **arguments)
    if is_asked and options.at is None and context.loses_turns:
        why_not = service.prune.fold(scope, budget=context.budget, wait=call.patience(LONGEST_WAIT))
        context = read(scope, given=given, newest=newest, **arguments)
    shown = _shown(context, _written(context, options), form=options.format)
    use = _use(context, options.after, count=service.tokens.count)
    shown["cache"] = _cached(context, use)
    if options.explain:
        shown["trace"] = {**trace(context), "cache": cache_trace(context, use)}
    if options.format in ("openai", "responses"):
        shown["prompt_cache_key"] = cache_key(scope)
    return {**shown, "why_not": why_not} if is_asked else shown


def _written(read: SessionContext, options: ContextOptions) -> FormattedMessages:
    if _takes_points(options, read.config.model):
        return written_with_points(read, options.format)
    return written(read.messages, options.format)


def _takes_points(options: ContextOptions, model: str | None) -> bool:
    """Return whether the caller wants cache points and the model that will read the context accepts
    them.
    """
    takes = options.format != "converse" or takes_cache_points(options.model or model)
    return options.cache_points and takes


def _ref(place: tuple[int, str] | None) -> MessageRef | None:
    return None if place is None else {"seq": place[0], "id": place[1]}


def _range(omitted: tuple[int, int] | None) -> SequenceRange | None:
    return None if omitted is None else {"from": omitted[0], "to": omitted[1]}


def _use(read: SessionContext, after: str | None, *, count: Callable[..., int]) -> CacheUse | None:
    """Return how much the context shares with the earlier context whose mark the caller sent; None
    if no mark was sent.
    """
    if after is None:
        return None
    counted = partial(count, encoding=read.head.encoding)
    return use_of(read, [weigh(chat, counted) for chat in read.messages], after=after)


def _cached(read: SessionContext, use: CacheUse | None) -> CacheInfo:
    mark = mark_of(read)
    if use is None:
        return {"mark": mark, "common_tokens": None, "broke_at": None, "why": None}
    return {
        "mark": mark,
        "common_tokens": use.common_tokens,
        "broke_at": use.broke_at,
        "why": use.why,
    }


def _parts(read: SessionContext) -> TokenParts:
    """Return the tokens of each part of the context. Each token belongs to exactly one part."""
    memory, system = read.memory.tokens, read.fitted.system_tokens
    return {
        "system": system - memory if read.config.memory_as == "system" else system,
        "memory": memory,
        "summary": read.fitted.summary_tokens,
        "messages": read.fitted.window_tokens,
        "framing": REPLY_PRIMING,
        "tools": read.tools_tokens,
    }


def _shown(read: SessionContext, written: FormattedMessages, *, form: ContextFormat) -> Context:
    parts = _parts(read)
    answer: Context = {
        "messages": written.messages,
        "refs": [_ref(ref) for ref in read.refs(written)],
        "tokens": {
            "context": read.fitted.tokens,
            "budget": read.budget,
            "window": read.head.tokens,
            "summary": read.fitted.summary_tokens,
            "memory": read.memory.tokens,
            "tools": read.tools_tokens,
            "total": read.total_tokens,
            "parts": parts,
        },
        "cache": {"mark": "", "common_tokens": None, "broke_at": None, "why": None},
        "omitted": _range(read.omitted),
        "compaction": read.compaction,
        "degraded": read.degraded,
        "static_facts": [
            {"id": item.id, "content": item.text, "agent_id": item.agent}
            for item in read.memory.of("static")
        ],
        "extracted_facts": [_remembered(item) for item in read.memory.of("extractive")],
        "vector_matches": [
            {**_remembered(item), "role": item.speaker} for item in read.memory.of("vector")
        ],
        "memory_prompt": read.memory.text,
    }
    if written.system is not None:
        answer["system"] = written.system
    if read.tools:
        answer["tools"] = read.tools_for(form)
    return answer


def _remembered(item: Item) -> ShownMemory:
    return {
        "id": item.id,
        "type": item.kind,
        "content": item.text,
        "speaker": item.said_by,
        "score": item.score,
        "valid_from": None if item.said_at is None else rfc3339(item.said_at),
        "valid_to": moment_or_null(item.ended_at),
        "ended": item.ended_at is not None,
        "when": item.when,
        "rests_on_changed": item.rests_on_changed,
        "material": item.is_material,
        "source": provenance(item.source),
        "agent_id": item.agent,
    }
