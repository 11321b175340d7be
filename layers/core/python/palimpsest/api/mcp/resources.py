"""The resource that an MCP client may read: the user's profile."""

from __future__ import annotations

from collections.abc import Mapping

from palimpsest.api.call import Call, Service
from palimpsest.api.fields import Json

URI = "palimpsest://profile"
PROFILE: Json = {
    "uri": URI,
    "name": "profile",
    "title": "Who the user is",
    "description": (
        "What is current of the user on one page of at most 400 tokens: who they are, "
        "instructions, preferences, people and open tasks, each line with the id of its memory."
    ),
    "mimeType": "text/plain",
    "annotations": {"audience": ["assistant"], "priority": 0.9},
}
LISTS: Mapping[str, Json] = {
    "resources/list": {"resources": [PROFILE]},
    "resources/templates/list": {"resourceTemplates": []},
}
FRESH = {"ttlMs": 0, "cacheScope": "private"}
"""Tells a client, since 2026-07-28, not to reuse what it read, because deleted memories must
disappear at once.
"""
NOT_FOUND_BEFORE = -32002
"""The error code for a resource that does not exist, in versions before 2026-07-28."""


def read(service: Service, call: Call, user: str, uri: object) -> list[Json] | None:
    """Return the contents of the resource; None if there is no such resource."""
    if uri != URI:
        return None
    found = service.profile(call.user(user))
    return [{"uri": URI, "mimeType": PROFILE["mimeType"], "text": found.text}]
