"""An example of each request and answer. Tests check each example against its schema."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

WINDOW: Json = {"messages": 2, "tokens": 41, "max_tokens": 100000, "is_full": False}

SESSION: Json = {
    "session_id": "onboarding-7",
    "user_id": "sarah",
    "agent_id": "hr-assistant",
    "status": "active",
    "system": "You answer questions about our HR policies.",
    "memory": {
        "strategy": "summarize",
        "max_tokens": 100000,
        "trigger_ratio": 0.8,
        "keep_recent_turns": 5,
    },
    "metadata": {"channel": "chat"},
    "retention_days": 30,
    "window": WINDOW,
    "totals": {"messages": 2, "tokens": 29},
    "compaction": "none",
    "created_at": "2026-01-05T09:00:00.000Z",
    "updated_at": "2026-01-05T09:00:04.000Z",
    "expires_at": "2026-02-04T09:00:04.000Z",
}

QUESTION: Json = {"role": "user", "content": "May I work from home on Fridays?"}

REPLY: Json = {"role": "assistant", "content": "Yes, with your manager's approval."}

ROW: Json = {
    **QUESTION,
    "id": "5d6caf4c1aec7bdf1e11b71aa81a87f7",
    "seq": 1,
    "tokens": 12,
    "timestamp": None,
    "created_at": "2026-01-05T09:00:00.000Z",
    "metadata": {},
}

CONTEXT: Json = {
    "messages": [{"role": "system", "content": SESSION["system"]}, QUESTION, REPLY],
    "refs": [
        None,
        {"seq": 1, "id": ROW["id"]},
        {"seq": 2, "id": "81a87f75d6caf4c1aec7bdf1e11b71aa"},
    ],
    "tokens": {
        "context": 41,
        "budget": 100000,
        "window": 41,
        "summary": 0,
        "memory": 0,
        "tools": 0,
        "total": 41,
        "parts": {
            "system": 12,
            "memory": 0,
            "summary": 0,
            "messages": 26,
            "framing": 3,
            "tools": 0,
        },
    },
    "cache": {"mark": "AHZ0aQM0ofYDm9o8", "common_tokens": None, "broke_at": None, "why": None},
    "prompt_cache_key": "0c4a4f6f5f6a7e0e6f7c5f9c1c1f3a52",
    "omitted": None,
    "compaction": "none",
    "degraded": [],
    "static_facts": [],
    "extracted_facts": [],
    "vector_matches": [],
    "memory_prompt": "",
}

COMPACTION: Json = {
    "n": 12,
    "from": 1,
    "to": 12,
    "summary": "Sarah from Marketing works from home on Fridays, as her manager approved.",
    "method": "model",
    "model": "gpt-4.1-nano",
    "prompt_hash": "0c6a1f5b2d7e4a39",
    "tokens_before": 81234,
    "tokens_after": 9120,
    "created_at": "2026-01-05T09:30:00.000Z",
}

JOB: Json = {
    "job_id": "job_9d4bf2d413a632e7ceba9a364dd6175b",
    "kind": "summarize",
    "state": "done",
    "user_id": None,
    "session_id": "onboarding-7",
    "range": {"from": 1, "to": 12},
    "attempt": 0,
    "error": None,
    "result": {"first": 1, "last": 12, "messages": 12},
    "ledger": {
        "received": 0,
        "extracted": 0,
        "skipped": 0,
        "parked": 0,
        "reasons": {},
        "dropped": {},
        "withheld": {},
    },
    "records": [],
    "usage": {"model_calls": 1, "tokens_in": 6021, "tokens_out": 210, "cost_usd": None},
    "created_at": "2026-01-05T09:29:58.000Z",
}

LISTED: Json = {
    name: value
    for name, value in JOB.items()
    if name not in {"result", "ledger", "records", "usage"}
}

DELETED: Json = {**JOB, "kind": "delete", "result": {"removed": 13}}

ERASED: Json = {
    **DELETED,
    "kind": "erase",
    "user_id": "sarah",
    "session_id": None,
    "range": None,
    "result": {"sessions": 4, "memories": 57, "exports": 1},
    "receipt": {
        "sessions": {"state": "done", "count": 4},
        "memories": {"state": "done", "count": 57},
        "index": {"state": "done"},
        "usage": {"state": "nameless"},
        "jobs": {"state": "expires", "until": "2026-02-04T09:29:58.000Z"},
        "tombstones": {"state": "expires", "until": "2026-02-05T09:29:58.000Z"},
        "keys": {"state": "expires", "until": "2026-01-06T10:29:58.000Z"},
        "queues": {"state": "expires", "until": "2026-01-19T09:29:58.000Z"},
        "streams": {"state": "expires", "until": "2026-01-06T09:29:58.000Z"},
        "exports": {"state": "done", "count": 1},
        "logs": {"state": "expires", "until": "2026-04-05T09:29:58.000Z"},
        "backups": {"state": "expires", "until": "2026-02-09T09:29:58.000Z"},
        "epoch": {"state": "stays"},
    },
}

PENDING: Json = {"job_id": JOB["job_id"], "state": "pending"}

NEW_TENANT_SETTINGS: Json = {
    "memory": {"strategy": "summarize", "max_tokens": 32000},
    "retention_days": 30,
    "memory_days": 365,
    "retention": {"facts": "2y", "preferences": "permanent"},
    "models": None,
    "secrets": "keep_in_message",
    "limits": {
        "requests_per_second": 50,
        "sessions": None,
        "memories": 5000,
        "model_cost_usd": 20.0,
    },
}

TENANT_SETTINGS: Json = NEW_TENANT_SETTINGS | {
    "retention": {
        "conversations": "30d",
        "facts": "2y",
        "events": "1y",
        "instructions": "1y",
        "preferences": "permanent",
    },
    "answer_floor": None,
    "keep_model_calls": False,
    "retention_job": None,
}

USAGE: Json = {
    "from": "2026-01-01",
    "to": "2026-01-31",
    "by": "user",
    "usage": [
        {
            "day": None,
            "user_id": "sarah",
            "messages": 412,
            "message_tokens": 18903,
            "bytes": 97310,
            "model_calls": 57,
            "tokens_in": 31200,
            "tokens_out": 2410,
            "embedding_calls": 240,
            "embedding_tokens": 9120,
            "cost_usd": 0.004084,
            "unpriced_calls": 0,
            "chat_calls": 120,
            "chat_tokens_in": 604800,
            "chat_tokens_cached": 531200,
            "chat_tokens_out": 21400,
            "chat_cost_usd": 0.11680,
            "chat_unpriced_calls": 0,
            "feedback_useful": 3,
            "feedback_wrong": 1,
            "feedback_missing": 0,
        }
    ],
    "next_cursor": None,
}

PAGES: dict[str, Json] = {
    "SessionPage": {"sessions": [SESSION], "next_cursor": None},
    "MessagePage": {"messages": [ROW], "next_cursor": None},
    "JobPage": {"jobs": [LISTED], "next_cursor": None},
    "ModelCallPage": {
        "kept": True,
        "calls": [
            {
                "at": "2026-03-02T09:31:07.412Z",
                "model": "gpt-4.1-nano",
                "instructions": "You extract memories …",
                "text": '<message number="4" speaker="user">I work in Marketing.</message>',
                "answer": '{"memories": []}',
                "error": None,
                "tokens_in": 1840,
                "tokens_out": 12,
            }
        ],
        "next_cursor": None,
    },
    "CompactionPage": {"compactions": [COMPACTION], "next_cursor": None},
}

ANSWERS: dict[str, Json] = {
    **PAGES,
    "Session": SESSION,
    "Appended": {
        "session_id": "onboarding-7",
        "created": True,
        "messages": [{"id": ROW["id"], "seq": 1, "tokens": 12}],
        "window": WINDOW,
        "overflow": None,
        "replayed": False,
    },
    "Context": CONTEXT,
    "HistoryMessage": ROW,
    "Job": JOB,
    "JobDone": DELETED,
    "UserErased": ERASED,
    "JobPending": PENDING,
    "NothingExtracted": {
        "session_id": "onboarding-7",
        "job_id": None,
        "state": "done",
        "armed": False,
    },
    "WindowEmptied": {
        "session_id": "onboarding-7",
        "window": {**WINDOW, "messages": 0, "tokens": 12},
    },
    "Pruned": {
        "session_id": "onboarding-7",
        "job_id": None,
        "state": "done",
        "why_not": None,
        "kept": [],
        "window": WINDOW,
        "context": CONTEXT,
        "degraded": [],
    },
    "EndedSession": SESSION | {"status": "ended", "job_id": PENDING["job_id"], "state": "pending"},
    "TenantSettings": TENANT_SETTINGS,
    "Usage": USAGE,
    "Health": {"status": "ok", "stage": "prod"},
    "Problem": {
        "type": "urn:palimpsest:problem:invalid",
        "title": "Unprocessable Content",
        "status": 422,
        "detail": "The request breaks the schema: messages.0.content: is required",
        "code": "invalid",
        "request_id": "Jh2bZg9nliAEMJw=",
        "retryable": False,
        "errors": [{"field": "messages.0.content", "message": "is required"}],
    },
}

REQUESTS: dict[str, Json] = {
    "ForgetSessionsRequest": {"user_id": "sarah", "status": "ended", "dry_run": True},
    "NewSession": {
        "session_id": "onboarding-7",
        "user_id": "sarah",
        "agent_id": "hr-assistant",
        "system": SESSION["system"],
        "memory": {"strategy": "summarize", "max_tokens": 100000},
    },
    "SessionSetup": {
        "system": "You answer in one sentence.",
        "memory": {"strategy": "trim", "max_tokens": 8000},
    },
    "SessionChange": {"memory": {"keep_recent_turns": 3}, "metadata": {"channel": None}},
    "AppendRequest": {"user_id": "sarah", "messages": [QUESTION], "context": {"max_tokens": 8000}},
    "ContextRequest": {"message": "And on Mondays?", "max_tokens": 8000},
    "PruneRequest": {"strategy": "summarize", "wait": 20},
    "EndRequest": {"wait": 20},
    "Redaction": {"content": "[redacted]", "wait": 20},
    "ExtractRequest": {"if_needed": True, "wait": 20},
    "NewTenantSettings": NEW_TENANT_SETTINGS,
}
