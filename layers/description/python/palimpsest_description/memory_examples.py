"""An example of every request to long-term memory and of every answer, for the API's
description.
"""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

MEMORY: Json = {
    "id": "mem_2f0c7c1e9ad84b6f8a3d5e7092c1b4aa",
    "type": "fact",
    "content": "Sarah works in Marketing.",
    "subject": "Sarah",
    "speaker": "user",
    "topic_key": "department",
    "keywords": ["marketing", "department"],
    "queries": ["Which department is Sarah in?"],
    "importance": 0.8,
    "confidence": 1.0,
    "status": "current",
    "version": 2,
    "valid_from": "2026-01-05T09:00:00.000Z",
    "valid_to": None,
    "ended": False,
    "occurs_at": None,
    "due_at": None,
    "rests_on": [],
    "rests_on_changed": False,
    "created_at": "2026-01-05T09:00:06.000Z",
    "supersedes": "mem_9d1b0f5c3a7e4d2286c4f1a0b3e5d7c9",
    "superseded_by": None,
    "source": {
        "session_id": "onboarding-7",
        "message_ids": ["5d6caf4c1aec7bdf1e11b71aa81a87f7"],
        "seqs": [1],
        "quote": "I moved to Marketing last week.",
        "text": None,
    },
    "sources": [
        {
            "session_id": "onboarding-7",
            "message_ids": ["5d6caf4c1aec7bdf1e11b71aa81a87f7"],
            "seqs": [1],
            "quote": "I moved to Marketing last week.",
            "text": None,
        },
        {
            "session_id": "onboarding-9",
            "message_ids": ["0b7c59b0c1d0d3a1c8a2b6f4f0f8a9d2"],
            "seqs": [4],
            "quote": "My team is Marketing.",
            "text": None,
        },
    ],
    "agent_id": "hr-assistant",
    "metadata": {"channel": "chat"},
    "data": {"floor": 3},
    "method": "model",
    "expires_at": "2027-01-05T09:00:06.000Z",
    "access_count": 3,
    "last_accessed_at": "2026-01-09T10:00:00.000Z",
    "decay": 0.9702,
}
SUPERSEDED: Json = {
    **MEMORY,
    "id": MEMORY["supersedes"],
    "content": "Sarah works in Sales.",
    "status": "superseded",
    "version": 1,
    "valid_from": "2025-03-01T08:00:00.000Z",
    "valid_to": MEMORY["valid_from"],
    "supersedes": None,
    "superseded_by": MEMORY["id"],
}
COUNTS: Json = {"fact": 7, "event": 3, "instruction": 2, "task": 0, "preference": 0, "total": 12}

FOUND: Json = {
    **{
        name: MEMORY[name]
        for name in (
            "id",
            "type",
            "content",
            "source",
            "valid_from",
            "valid_to",
            "ended",
            "occurs_at",
            "due_at",
            "rests_on_changed",
            "subject",
            "speaker",
            "topic_key",
            "importance",
            "agent_id",
            "metadata",
            "data",
        )
    },
    "score": 0.91,
    "found_by": ["keyword", "vector"],
    "times": 1,
    "when": None,
    "role": None,
    "outdated_by": None,
    "material": False,
}
PREFERENCE: Json = {
    "key": "language",
    "value": "German",
    "memory_id": "mem_7b1e0c5d2f9a4c3e8d6b5a4f3e2d1c0b",
    "updated_at": "2026-01-05T09:00:00.000Z",
}
ENTITY: Json = {
    "id": "ent_4f8b6a1f0c2d4e5f9a8b7c6d",
    "type": "Company",
    "name": "Acme",
    "properties": {"employees": 120},
    "valid_from": "2026-01-05T09:00:00.000Z",
    "valid_to": None,
    "source": MEMORY["source"],
    "memory_id": "mem_1c9e4b7a2d5f4e8c9b6a3d2f1e0c7b5a",
    "method": "model",
}
RELATIONSHIP: Json = {
    **{name: ENTITY[name] for name in ("valid_from", "valid_to", "source", "method")},
    "id": "rel_9a1f0c2d4e5f8b6a7c6d4f8b",
    "type": "WORKS_AT",
    "from": "sarah",
    "to": ENTITY["id"],
    "properties": {"role": "Marketing"},
    "memory_id": "mem_5a7b0c1e2f3d6a9b8c4e1d5f7a2b0c9e",
}
NAMESPACE: Json = {"namespace": "default", "dimension": 3, "model": None, "count": 1}
FACT: Json = {
    "id": "remote-work",
    "content": "Employees may work from home two days a week.",
    "agent_id": None,
    "updated_at": "2026-01-05T09:00:00.000Z",
}

MEM0_MEMORY: Json = {
    "id": f"{MEMORY['id']}@sarah",
    "memory": MEMORY["content"],
    "user_id": "sarah",
    "agent_id": None,
    "metadata": {},
    "categories": ["fact"],
    "created_at": "2026-01-05T09:00:00.000Z",
    "updated_at": "2026-01-05T09:00:00.000Z",
}
RECALL = "rec_0a1b2c3d4e5f60718293a4b5c6d7e8f9"
REVIEW: Json = {
    "id": "rev_5d6e7f8091a2b3c4d5e6f708192a3b4c",
    "user_id": "sarah",
    "kind": "wrong",
    "recall_id": RECALL,
    "created_at": "2026-01-06T09:00:00.000Z",
    "memory": {name: MEMORY[name] for name in ("id", "type", "content", "topic_key", "valid_from")},
    "missing": None,
}
ANSWERS: dict[str, Json] = {
    "Memory": MEMORY,
    "SavedMemories": {"memories": [{**MEMORY, "outcome": "created"}]},
    "MemoryPage": {"memories": [MEMORY], "next_cursor": None},
    "MemoryVersions": {"versions": [MEMORY, SUPERSEDED], "next_cursor": None},
    "Deleted": {"id": MEMORY["id"], "deleted": True},
    "FoundMemories": {"memories": [FOUND]},
    "FeedbackTaken": {
        "recall_id": RECALL,
        "counted": [MEMORY["id"]],
        "ignored": [],
        "reviews": [REVIEW["id"]],
    },
    "ReviewPage": {"reviews": [REVIEW], "next_cursor": None},
    "Recalled": {
        "recall_id": RECALL,
        "answer": "Sarah works in Marketing.",
        "answerable": 0.82,
        "citations": [MEMORY["id"]],
        "method": "model",
        "memories": [FOUND],
        "degraded": [],
        "usage": {"model_calls": 1, "tokens_in": 312, "tokens_out": 24, "cost_usd": 0.0000408},
    },
    "Tools": {
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "search_memory_tool",
                    "description": "Search and recall relevant memories about the user.",
                    "parameters": {"type": "object", "properties": {"query": {"type": "string"}}},
                },
            }
        ]
    },
    "ToolResult": {
        "role": "tool",
        "tool_call_id": "call_1",
        "content": "[User Memory]\n- Sarah works in Marketing.",
    },
    "Preference": PREFERENCE,
    "Preferences": {"preferences": [PREFERENCE]},
    "GraphEntity": ENTITY,
    "GraphEntities": {"entities": [{**ENTITY, "outcome": "created"}]},
    "GraphEntityPage": {"entities": [ENTITY], "next_cursor": None},
    "GraphRelationship": RELATIONSHIP,
    "GraphRelationships": {"relationships": [{**RELATIONSHIP, "outcome": "created"}]},
    "GraphRelationshipPage": {"relationships": [RELATIONSHIP], "next_cursor": None},
    "Neighbors": {
        "entities": [{**ENTITY, "depth": 1}],
        "relationships": [RELATIONSHIP],
        "is_whole": True,
    },
    "GraphRows": {
        "columns": ["p.name", "p.value"],
        "rows": [["language", "German"]],
        "is_whole": True,
    },
    "PreferencePage": {"preferences": [PREFERENCE], "next_cursor": None},
    "ProtectedResource": {
        "resource": "https://abc123.execute-api.eu-central-1.amazonaws.com/v1/users/sarah/mcp",
        "authorization_servers": ["https://issuer.example"],
        "scopes_supported": ["read", "write", "admin"],
        "bearer_methods_supported": ["header"],
    },
    "Mem0Ping": {"status": "ok", "org_id": "acme", "project_id": "acme"},
    "Mem0Message": {
        "message": "Memory deleted successfully!",
        "hidden": {"messages": 1, "message_ids": ["5f1c0d8f0f2b4a6e8c9d7b3a1e2f4c6d"]},
    },
    "Mem0Memory": MEM0_MEMORY,
    "Mem0Results": {"results": [MEM0_MEMORY]},
    "Mem0Change": {
        "id": MEM0_MEMORY["id"],
        "memory_id": MEM0_MEMORY["id"],
        "old_memory": None,
        "new_memory": MEMORY["content"],
        "event": "ADD",
        "created_at": "2026-01-05T09:00:00.000Z",
        "updated_at": "2026-01-05T09:00:00.000Z",
    },
    "RpcFailure": {
        "jsonrpc": "2.0",
        "id": 1,
        "error": {"code": -32602, "message": "There is no such tool."},
    },
    "RpcResult": {
        "jsonrpc": "2.0",
        "id": 1,
        "result": {
            "content": [
                {
                    "type": "text",
                    "text": f"- Sarah works in Marketing. (fact, 2026-01-05, id {MEMORY['id']})",
                }
            ],
            "structuredContent": {"memories": [FOUND], "degraded": []},
            "isError": False,
        },
    },
    "VectorNamespace": NAMESPACE,
    "VectorStats": {"namespaces": [NAMESPACE], "count": 1},
    "VectorMatches": {
        "matches": [{"id": "photo-1", "score": 0.98, "metadata": {"album": "Rome"}, "text": None}]
    },
    "VectorsDeleted": {"count": 1},
    "PartStored": {"upload_id": "move", "part": 0, "bytes": 1204},
    "Imported": {
        "job_id": None,
        "state": "done",
        "result": {"restored": 2, "there": 0, "conflicts": 0},
    },
    "StaticFact": FACT,
    "StaticFactPage": {"static_facts": [FACT], "next_cursor": None},
    "WouldForget": {"dry_run": True, "count": 1, "ids": [MEMORY["id"]]},
    "UserProfile": {
        "user_id": "sarah",
        "sections": [
            {
                "kind": "who",
                "lines": [
                    {
                        "memory_id": "mem_3f2a91c04b7d5e6fa1b2c3d4e5f60718",
                        "text": "I live in Bremen.",
                        "topic_key": "residence",
                        "subject": None,
                        "due_at": None,
                        "rests_on_changed": False,
                    }
                ],
            }
        ],
        "text": (
            'What is known of the user ("I" is the user, or the one named first):\nWho:\n'
            "- I live in Bremen. [mem_3f2a91c04b7d5e6fa1b2c3d4e5f60718]\n"
        ),
        "tokens": 41,
        "complete": True,
    },
    "User": {
        "user_id": "sarah",
        "name": "Sarah",
        "aliases": ["sj", "Sarah J."],
        "memories": COUNTS,
        "sessions": {"active": 1, "ended": 2, "total": 3},
        "last_activity": "2026-01-05T09:30:00.000Z",
    },
    "NamedUser": {"user_id": "sarah", "name": "Sarah", "aliases": ["sj", "Sarah J."]},
    "UserPage": {"users": [{"user_id": "sarah"}], "next_cursor": None},
}
REQUESTS: dict[str, Json] = {
    "TenantImport": {"data": {"export_job_id": "job_" + "0" * 32}, "wait": 20},
    "ImportPart": {
        "data": '{"format":"palimpsest","kind":"export","version":1}\n'
        '{"kind":"user","user_id":"sarah"}\n'
    },
    "UserImport": {"format": "mem0", "data": {"results": [{"id": "1", "memory": "Likes tea."}]}},
    "FeedbackBody": {"useful": [MEMORY["id"]], "missing": "That Sarah moved to Bremen in May."},
    "UserNaming": {"name": "Sarah", "aliases": ["sj", "Sarah J."]},
    "Mem0Add": {
        "messages": [{"role": "user", "content": "I work in Marketing."}],
        "user_id": "sarah",
    },
    "Mem0Query": {"query": "Where does Sarah work?", "user_id": "sarah"},
    "Mem0List": {"filters": {"user_id": "sarah"}},
    "Mem0Update": {"text": "Sarah works in Sales."},
    "RpcMessage": {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "recall", "arguments": {"query": "Where does Sarah work?"}},
    },
    "NewMemories": {
        "memories": [
            {
                "type": "fact",
                "content": "Sarah works in Marketing.",
                "subject": "Sarah",
                "topic_key": "department",
                "importance": 0.8,
                "metadata": {"channel": "chat"},
            }
        ]
    },
    "ForgetRequest": {
        "filter": {"types": ["event"], "created_before": "2025-12-31T23:59:59Z"},
        "wait": 20,
    },
    "IngestRequest": {
        "session_id": "onboarding-7",
        "messages": [{"role": "user", "content": "I moved to Marketing last week."}],
        "wait": 20,
    },
    "RecallBody": {
        "query": "Which department is Sarah in?",
        "filter": {
            "types": ["fact"],
            "min_confidence": 0.5,
            "metadata": {"channel": {"in": ["chat", "mail"]}},
        },
        "answer": True,
    },
    "SearchBody": {"query": "marketing", "mode": "keyword", "k": 10},
    "ToolCallBody": {"arguments": '{"query": "department"}', "tool_call_id": "call_1"},
    "PreferenceValue": {"value": "German"},
    "NewPreferences": {
        "preferences": {"language": "German", "answers": {"length": "short", "emoji": False}}
    },
    "VectorsToStore": {
        "vectors": [{"id": "photo-1", "values": [0.1, 0.2, 0.3], "metadata": {"album": "Rome"}}]
    },
    "VectorSearch": {
        "values": [0.1, 0.2, 0.25],
        "top_k": 5,
        "filter": {"album": {"in": ["Rome", "Oslo"]}},
    },
    "NewEntities": {
        "entities": [{"type": "Company", "name": "Acme", "properties": {"employees": 120}}]
    },
    "NewRelationships": {
        "relationships": [{"type": "WORKS_AT", "from": "sarah", "to": ENTITY["id"], "single": True}]
    },
    "GraphQuery": {"cypher": "MATCH (u:User {id: $userId})-[:PREFERS]->(p) RETURN p.name, p.value"},
    "EntityChange": {"properties": {"employees": 130}},
    "RelationshipChange": {"valid_to": "2026-03-01T00:00:00Z"},
    "StaticFactBody": {"content": FACT["content"]},
    "MemoryChange": {"content": "Sarah works in Product Marketing."},
}
