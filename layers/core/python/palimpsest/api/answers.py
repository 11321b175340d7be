"""What callers get: sessions, messages, contexts, compactions and jobs as plain JSON objects."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

from palimpsest.clock import stamp
from palimpsest.context.blocks.block import Item
from palimpsest.context.explain import trace
from palimpsest.context.read import Context
from palimpsest.conversations.append import Appended
from palimpsest.conversations.configuration import parsed
from palimpsest.conversations.manage import Session
from palimpsest.conversations.messages import Chat, Message
from palimpsest.conversations.overflow.plan import Overflow
from palimpsest.conversations.session import Compaction, Head
from palimpsest.extraction.report import Ledger, Report
from palimpsest.jobs.job import Job
from palimpsest.memory.records import Source
from palimpsest.memory.removal.erase import receipt
from palimpsest.tenants.ports import TenantSettings

Json = dict[str, Any]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def session(shown: Session) -> Json:
    head, settings = shown.head, shown.settings
    return {
        "session_id": shown.id,
        "user_id": head.user,
        "agent_id": head.agent,
        "status": head.status,
        "system": _system(settings.system),
        "memory": parsed(dict(settings.memory)).model_dump(),
        "metadata": settings.metadata,
        "window": window(head),
        "totals": {"messages": head.total_messages, "tokens": head.total_tokens},
        "compaction": head.compaction,
        "created_at": settings.created_at,
        "updated_at": instant(head.updated_at),
        "expires_at": moment(head.expires_at),
    }


def _system(chat: Chat | None) -> Chat | str | None:
    """A plain text as it was given; anything more as the message it is."""
    is_plain = chat is not None and chat["role"] == "system" and set(chat) == {"role", "content"}
    return chat["content"] if chat is not None and is_plain and isinstance(chat["content"], str) else chat


def window(head: Head) -> Json:
    return {
        "messages": head.window_messages,
        "tokens": head.tokens,
        "max_tokens": head.max_tokens,
        "is_full": head.is_full,
    }


def appended(session_id: str, done: Appended) -> Json:
    return {
        "session_id": session_id,
        "created": done.created,
        "messages": [{"id": each.id, "seq": each.seq, "tokens": each.tokens} for each in done.messages],
        "window": window(done.head),
        "overflow": None if done.overflow is None else overflow(done.overflow),
        "replayed": done.replayed,
    }


def overflow(happened: Overflow) -> Json:
    return {"strategy": happened.strategy, "state": happened.state, "job_id": happened.job_id}


def context(given: Context, *, explain: bool = False) -> Json:
    """With what the session's blocks brought; tools and the trace are there if they are asked for."""
    answer = {
        "messages": list(given.fitted.messages),
        "tokens": {
            "context": given.fitted.tokens,
            "budget": given.budget,
            "window": given.head.tokens,
            "summary": given.fitted.summary_tokens,
            "memory": given.memory.tokens,
        },
        "compaction": given.compaction,
        "degraded": list(given.degraded),
        "static_facts": [_static_fact(item) for item in given.memory.of("static")],
        "extracted_facts": [_remembered(item) for item in given.memory.of("extractive")],
        "vector_matches": [{**_remembered(item), "role": item.speaker} for item in given.memory.of("vector")],
        "memory_prompt": given.memory.text,
    }
    if given.tools:
        answer["tools"] = given.tools
    return {**answer, "trace": trace(given)} if explain else answer


def _static_fact(item: Item) -> Json:
    return {"id": item.id, "content": item.text, "agent_id": item.agent}


def _remembered(item: Item) -> Json:
    return {
        "id": item.id,
        "type": item.kind,
        "content": item.text,
        "score": item.score,
        "valid_from": instant(item.said_at),
        "source": source(item.source),
        "agent_id": item.agent,
    }


def source(given: Source) -> Json:
    return {"session_id": given.session, "message_ids": given.message_ids, "seqs": given.seqs, "quote": given.quote}


def instant(milliseconds: int | None) -> str | None:
    """RFC 3339 of epoch milliseconds."""
    return None if milliseconds is None else stamp(EPOCH + timedelta(milliseconds=milliseconds))


def message(stored: Message) -> Json:
    """A row of the history: what the caller said of it, unknown fields included, and what we know of it."""
    row = {
        **stored.chat,
        **stored.extra,
        "id": stored.id,
        "seq": stored.seq,
        "tokens": stored.tokens,
        "timestamp": stored.timestamp,
        "created_at": stored.created_at,
        "metadata": stored.metadata,
    }
    return row if stored.client_id is None else {**row, "client_id": stored.client_id}


def compaction(folded: Compaction) -> Json:
    return {
        "n": folded.last,
        "from": folded.first,
        "to": folded.last,
        "summary": folded.summary,
        "method": folded.method,
        "model": folded.model,
        "prompt_hash": folded.prompt_hash,
        "tokens_before": folded.tokens_before,
        "tokens_after": folded.tokens_after,
        "created_at": folded.created_at,
    }


def listed_job(found: Job) -> Json:
    """A job on all of a user's memory has no session and no range."""
    return {
        "id": found.id,
        "kind": found.kind,
        "state": found.state,
        "user_id": found.user,
        "session_id": found.session or None,
        "range": {"from": found.first, "to": found.last} if found.session else None,
        "attempt": found.attempt,
        "error": found.error,
        "created_at": moment(found.created_at),
    }


def job(found: Job, report: Report | None) -> Json:
    """The ledger counts what an extraction did with messages: jobs without a report extract nothing."""
    usage = {"model_calls": 0, "tokens_in": 0, "tokens_out": 0, "cost_usd": None}
    answer = {
        **listed_job(found),
        "result": found.result,
        "ledger": asdict(report.ledger if report else Ledger(0, 0, 0, 0, {}, {})),
        "records": report.records if report else (),
        "usage": asdict(report.spent) if report else {**usage, **found.usage},
    }
    if found.kind == "erase":
        answer["receipt"] = _receipt(found)
    return {**answer, "state": report.state} if report else answer


def _receipt(job: Job) -> Json:
    """What an erasure has reached; its index follows by the stream, and its backups end by themselves."""
    stores = receipt(job)
    for store in stores.values():
        if "until" in store:
            store["until"] = moment(store["until"])
    return stores


def tenant_settings(settings: TenantSettings) -> Json:
    return {"memory": settings.memory, "retention_days": settings.retention_days, "memory_days": settings.memory_days}


def moment(seconds: int | None) -> str | None:
    return None if seconds is None else stamp(datetime.fromtimestamp(seconds, UTC))
