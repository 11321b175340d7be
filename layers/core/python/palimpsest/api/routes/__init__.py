"""The routes of the API, one module a resource."""

from __future__ import annotations

from palimpsest.api.routes import compactions, context, extract, forget, jobs, messages, sessions, settings

ROUTERS = (
    sessions.router,
    forget.router,
    messages.router,
    context.router,
    compactions.router,
    extract.router,
    settings.router,
    jobs.router,
)
