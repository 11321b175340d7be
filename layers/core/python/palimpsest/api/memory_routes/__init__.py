"""The routes of long-term memory, and those of sessions that need its search, one module a resource."""

from __future__ import annotations

from palimpsest.api.memory_routes import context, forget, ingest, memories, recall, sessions, static_facts, tools, users

ROUTERS = (
    users.router,
    memories.router,
    forget.router,
    ingest.router,
    recall.router,
    tools.router,
    static_facts.router,
    context.router,
    sessions.router,
)
