"""The reference page of limits: what a caller may send, store and ask for at most. Each value is
read from the constant that sets it.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping

from tests.documents.tables import HEAD, table

LIMITS: Mapping[str, Mapping[str, str]] = {
    "Requests and answers": {
        "incoming.MAX_BYTES": "bytes of a request",
        "api.answers.MAX_BYTES": "bytes of an answer",
        "incoming.MAX_DEPTH": "levels of a body's JSON",
        "api.fields.LONGEST_WAIT": "seconds that a call waits for a job",
        "api.call.MOST_WAITING": "calls of a tenant that wait at the same time",
        "api.call.QUERIES_AT_ONCE": "queries in Cypher of a tenant at the same time",
        "idempotency.KEY_SECONDS": "seconds for which an idempotency key is kept",
    },
    "Conversations": {
        "conversations.drafts.MAX_MESSAGES_PER_APPEND": "messages of an append",
        "conversations.drafts.MAX_BATCH_BYTES": "bytes of the messages of an append, in its item",
        "conversations.drafts.MAX_TOOL_CALLS": "tool calls of a message",
        "conversations.overflow.semantic.MAX_PINNED": "pinned messages of a session",
        "conversations.allowed.MAX_SETTINGS_BYTES": "bytes of a session's configuration",
        "extraction.ingest.MAX_TRANSCRIPT": "messages of an ingest",
        "extraction.step.MOST_FINDINGS": "memories that a model finds in one part of a session",
    },
    "Memories": {
        "memory.remember.MAX_STATEMENTS": "memories of a call that saves",
        "memory.record.MAX_CONTENT": "characters of a memory",
        "memory.record.MAX_DATA": "bytes of the JSON beside a memory, and of a preference",
        "memory.preferences.MOST_PREFERENCES": "preferences of a user",
        "profile.profile.MOST_TOKENS": "tokens of a profile",
        "profile.profile.MOST_CHARACTERS": "characters of a line of a profile",
        "tenants.static_facts.MOST_FACTS": "static facts of a tenant",
        "tenants.static_facts.LONGEST_FACT": "characters of a static fact",
    },
    "Recall, vectors and graph": {
        "api.resources.recall.MAX_QUERY": "characters of a question",
        "vectors.manage.MOST_NAMESPACES": "namespaces with vectors of a user",
        "vectors.manage.MOST_VECTORS": "vectors of a namespace",
        "vectors.manage.MAX_DIMENSION": "numbers of a vector",
        "graph.things.MOST_THINGS": "entities of a user, and as many relationships",
        "graph.query.MAX_QUERY": "characters of a query in Cypher",
    },
    "Transfer": {
        "transfer.export.MOST_BYTES": "bytes of one file of an export",
        "transfer.foreign.MOST_MEMORIES": "memories of another system in one import",
    },
}
"""For each chapter, the constants by their place, and what each limits."""


def limits() -> str:
    """Every limit with its value."""
    head = (
        f"# Limits\n\n{HEAD} A request over a limit is refused with a problem before anything is "
        "written ([the API](../api.md#errors)). A tenant's settings hold its own limits.\n"
    )
    parts = [head]
    for chapter, constants in LIMITS.items():
        rows = [(f"{value_of(place):,}", meaning) for place, meaning in constants.items()]
        parts.append(f"## {chapter}\n\n{table(('at most', 'of what'), rows)}")
    return "\n".join(parts)


def value_of(place: str) -> int:
    module, _, name = place.rpartition(".")
    value: int = getattr(importlib.import_module(f"palimpsest.{module}"), name)
    return value
