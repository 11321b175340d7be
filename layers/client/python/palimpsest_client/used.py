"""Reads the usage of a call from the answer of a model's API."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

Used = dict[str, Any]


def used_of_openai(answer: Mapping[str, Any]) -> Used | None:
    """Return the usage in an answer of the chat API, or in the last chunk of its stream; None
    without one.
    """
    usage = answer.get("usage")
    if not usage:
        return None
    details = usage.get("prompt_tokens_details") or {}
    return counted(
        answer.get("model"),
        tokens_in=usage.get("prompt_tokens"),
        cached=details.get("cached_tokens"),
        tokens_out=usage.get("completion_tokens"),
    )


def used_of_chunks(chunks: Iterable[Mapping[str, Any]]) -> Used | None:
    """Return the usage that a stream of the chat API ends with, if it was asked for."""
    usages = [used for chunk in chunks if (used := used_of_openai(chunk))]
    return usages[-1] if usages else None


def used_of_anthropic(message: Mapping[str, Any]) -> Used | None:
    """Return the usage of a message of Anthropic's API. Its `input_tokens` do not include the
    tokens that a cache served and the tokens that were written into it.
    """
    usage = message.get("usage")
    if not usage:
        return None
    cached = usage.get("cache_read_input_tokens") or 0
    written = usage.get("cache_creation_input_tokens") or 0
    return counted(
        message.get("model"),
        tokens_in=(usage.get("input_tokens") or 0) + cached + written,
        cached=cached,
        written=written,
        tokens_out=usage.get("output_tokens"),
    )


def used_of_responses(answer: Mapping[str, Any]) -> Used | None:
    """Return the usage in an answer of OpenAI's Responses API; None without one."""
    usage = answer.get("usage")
    if not usage:
        return None
    details = usage.get("input_tokens_details") or {}
    return counted(
        answer.get("model"),
        tokens_in=usage.get("input_tokens"),
        cached=details.get("cached_tokens"),
        tokens_out=usage.get("output_tokens"),
    )


def used_of_converse(usage: Mapping[str, Any], *, model: str | None) -> Used | None:
    """Return the usage of a call of Bedrock's Converse, whose answers do not name the model.
    `totalTokens` shows whether `inputTokens` includes the tokens of a cache. Return None if nothing
    was counted.
    """
    tokens_in, tokens_out = usage.get("inputTokens") or 0, usage.get("outputTokens") or 0
    cached = usage.get("cacheReadInputTokens") or 0
    written = usage.get("cacheWriteInputTokens") or 0
    if not (tokens_in or tokens_out or cached or written):
        return None
    has_all = tokens_in + tokens_out == usage.get("totalTokens")
    whole = tokens_in if has_all else tokens_in + cached + written
    return counted(model, tokens_in=whole, cached=cached, written=written, tokens_out=tokens_out)


def used_of_answer(answer: Mapping[str, Any]) -> Used | None:
    """Return the usage in an answer of any of these APIs; None without one."""
    usage = answer.get("usage") or {}
    if "prompt_tokens" in usage:
        return used_of_openai(answer)
    if "inputTokens" in usage:
        return used_of_converse(usage, model=answer.get("model"))
    if "input_tokens_details" in usage:
        return used_of_responses(answer)
    return used_of_anthropic(answer) if "input_tokens" in usage else None


def used_of_events(events: Iterable[Mapping[str, Any]]) -> Used | None:
    """Return the usage in the events of a stream: each later event replaces the counts
    that it has.
    """
    model, usage = None, dict[str, Any]()
    for event in events:
        message = event.get("message") or event
        model = message.get("model") or model
        usage |= {name: count for name, count in (message.get("usage") or {}).items() if count}
    return used_of_anthropic({"model": model, "usage": usage})


def summed(calls: Iterable[Used]) -> Used | None:
    """Return the usage of several calls as that of one call of the last call's model. Return None
    if there are no calls.
    """
    every = list(calls)
    if not every:
        return None
    total = Counter[str]()
    for call in every:
        total.update({name: tokens for name, tokens in call.items() if name != "model"})
    return {"model": every[-1]["model"], **total}


def counted(
    model: str | None, *, tokens_in: int | None, cached: int | None, tokens_out: int | None,
    written: int = 0,
) -> Used:  # fmt: skip
    """Return the counts in the form that an append takes. A part is never larger than the whole,
    whatever a server says.
    """
    whole = max(0, tokens_in or 0)
    served = min(max(0, cached or 0), whole)
    return {
        "model": model or None,
        "tokens_in": whole,
        "cached_tokens": served,
        "written_tokens": min(max(0, written), whole - served),
        "tokens_out": max(0, tokens_out or 0),
    }
