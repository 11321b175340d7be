"""The resources that an MCP client may read: the user's profile, and each memory. Their
descriptions are those of the API's operations with the same content.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from palimpsest.api.call import Call, Service
from palimpsest.api.encoding import dumps
from palimpsest.api.fields import Json
from palimpsest.api.operations import operations_of
from palimpsest.api.resources.memories.operations import read_memory
from palimpsest.errors import BadRequest, NotFound

PROFILE, MEMORY = "palimpsest://profile", "palimpsest://memories/"
TEXT, JSON = "text/plain", "application/json"
FRESH = {"ttlMs": 0, "cacheScope": "private"}
"""The mark (since version 2026-07-28) that forbids a client to reuse an answer, because deleted
memories must disappear at once.
"""
NOT_FOUND_BEFORE = -32002
"""The error code for a resource that does not exist, in versions before 2026-07-28."""


@cache
def listed(method: str) -> Mapping[str, list[Json]]:
    """Return the answer to `resources/list`, or to `resources/templates/list`."""
    if method == "resources/list":
        profile = {"uri": PROFILE, "name": "profile", "mimeType": TEXT}
        hints = {"annotations": {"audience": ["assistant"], "priority": 0.9}}
        return {"resources": [{**profile, **_described("read_profile"), **hints}]}
    memory = {"uriTemplate": MEMORY + "{memory_id}", "name": "memory", "mimeType": JSON}
    return {"resourceTemplates": [{**memory, **_described("read_memory")}]}


def read(service: Service, call: Call, user: str, uri: object) -> list[Json] | None:
    """Return the contents of a resource; None if there is no such resource."""
    if uri == PROFILE:
        profile = service.profile(call.user(user))
        return [{"uri": uri, "mimeType": TEXT, "text": profile.text}]
    if not isinstance(uri, str) or not uri.startswith(MEMORY):
        return None
    try:
        memory = read_memory(service, call, user_id=user, memory_id=uri.removeprefix(MEMORY))
    except (NotFound, BadRequest):
        return None
    return [{"uri": uri, "mimeType": JSON, "text": dumps(memory)}]


def _described(name: str) -> Json:
    """Return title and description of the API's operation with this name."""
    (operation,) = (candidate for candidate in operations_of("memories") if candidate.name == name)
    return {"title": operation.summary, "description": operation.description}
