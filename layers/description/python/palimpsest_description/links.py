"""Links from one answer to the operations that use its values, as OpenAPI describes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from palimpsest_description.examples import Json


@dataclass(frozen=True, slots=True)
class Led:
    """Links from the answers of some operations to other operations. The parameters come from the
    answer or from the request.
    """

    by: tuple[str, ...]
    to: tuple[str, ...]
    parameters: Mapping[str, str]


SAME_SESSION = {"session_id": "$request.path.session_id"}

SAME_USER = {"user_id": "$request.path.user_id"}

OF_SESSION = (
    "read_session",
    "change_session",
    "replace_session",
    "end_session",
    "append_messages",
    "read_history",
    "remove_messages",
    "get_context",
    "get_context_for",
    "prune_window",
    "list_compactions",
    "extract_session",
    "delete_session",
)

OF_MEMORY = (
    "read_memory",
    "change_memory",
    "read_memory_history",
    "revert_memory",
    "delete_memory",
)

WITH_JOB = (
    "delete_session",
    "remove_messages",
    "prune_window",
    "extract_session",
    "ingest_transcript",
    "forget_memories",
    "delete_preferences",
    "forget_sessions",
    "erase_user",
    "retry_job",
    "end_session",
)

LINKS = (
    Led(("create_session",), OF_SESSION, {"session_id": "$response.body#/session_id"}),
    Led(
        ("append_messages", "ingest_transcript"),
        ("read_history", "get_context", "delete_session"),
        {"session_id": "$response.body#/session_id"},
    ),
    Led(
        ("delete_session",),
        ("read_session", "read_history", "get_context", "delete_session"),
        SAME_SESSION,
    ),
    Led(
        ("list_compactions",),
        ("unfold_compaction",),
        {**SAME_SESSION, "n": "$response.body#/compactions/0/n"},
    ),
    Led(WITH_JOB, ("read_job",), {"job_id": "$response.body#/job_id"}),
    Led(("save_memories",), OF_MEMORY, {**SAME_USER, "memory_id": "$response.body#/memories/0/id"}),
    Led(
        ("change_memory", "revert_memory"),
        OF_MEMORY,
        {**SAME_USER, "memory_id": "$response.body#/id"},
    ),
    Led(
        ("delete_memory",),
        ("read_memory", "delete_memory"),
        {**SAME_USER, "memory_id": "$response.body#/id"},
    ),
    Led(
        ("put_preference", "read_preference"),
        ("read_memory_history",),
        {**SAME_USER, "memory_id": "$response.body#/memory_id"},
    ),
    Led(
        ("put_preference", "delete_preference"),
        ("read_preference", "delete_preference"),
        {**SAME_USER, "key": "$request.path.key"},
    ),
    Led(
        ("put_static_fact", "delete_static_fact"),
        ("read_static_fact", "delete_static_fact"),
        {"fact_id": "$response.body#/id"},
    ),
)
"""The links between operations. The links of a deletion lead to resources that answer 404 from then
on.
"""


def links(operation: str) -> Json:
    """Return the links of an operation's successful answer."""
    return dict(_links(operation))


def _links(operation: str) -> Iterator[tuple[str, Json]]:
    for led in LINKS:
        if operation in led.by:
            for target in led.to:
                yield target, {"operationId": target, "parameters": dict(led.parameters)}
