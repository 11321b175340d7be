"""Requests from the routes, answers from models: `python -m palimpsest.api.description.openapi` writes it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any, Literal

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from palimpsest.api import memory_routes as long_term
from palimpsest.api import problems, routes
from palimpsest.api.app import resolver
from palimpsest.api.description import documents, examples, job_documents, memory_documents, memory_examples
from palimpsest.api.description.links import links

Json = dict[str, Any]
ROUTERS = (*routes.ROUTERS, *long_term.ROUTERS)
EXAMPLES = examples.ANSWERS | memory_examples.ANSWERS
SCHEMAS = "#/components/schemas/"
TITLE = "Palimpsest"
VERSION = "1"
DESCRIPTION = (
    "Agent memory as a service: append a conversation's messages, get back a context that always fits, read every word "
    "of it later, and keep what is worth remembering of each user. Ids are 1 to 128 of `A-Z a-z 0-9 . _ : @ + | = -`. "
    "Bodies and answers stay under 5 MB. "
    "400 is for what can't be parsed or named, 422 for what breaks the schema."
)

ANSWERS: dict[str, dict[int, str]] = {
    "create_session": {201: "Session", 200: "Session"},
    "list_sessions": {200: "SessionPage"},
    "read_session": {200: "Session"},
    "replace_session": {200: "Session", 201: "Session"},
    "change_session": {200: "Session"},
    "delete_session": {200: "JobDone", 202: "JobPending"},
    "forget_sessions": {200: "WouldForget JobDone", 202: "JobPending"},
    "end_session": {200: "Session"},
    "append_messages": {201: "Appended"},
    "read_history": {200: "MessagePage"},
    "remove_messages": {200: "WindowEmptied JobDone", 202: "JobPending"},
    "get_context": {200: "Context"},
    "get_context_for": {200: "Context"},
    "prune_window": {200: "Pruned", 202: "JobPending"},
    "list_compactions": {200: "CompactionPage"},
    "unfold_compaction": {200: "MessagePage"},
    "read_settings": {200: "TenantSettings"},
    "replace_settings": {200: "TenantSettings"},
    "list_jobs": {200: "JobPage"},
    "read_job": {200: "Job"},
    "retry_job": {202: "JobPending"},
    "extract_session": {200: "NothingExtracted JobDone", 202: "JobPending"},
    "list_users": {200: "UserPage"},
    "read_user": {200: "User"},
    "erase_user": {200: "UserErased", 202: "JobPending"},
    "save_memories": {201: "SavedMemories"},
    "list_memories": {200: "MemoryPage"},
    "read_memory": {200: "Memory"},
    "change_memory": {200: "Memory"},
    "delete_memory": {200: "Deleted"},
    "ingest_transcript": {200: "NothingExtracted JobDone", 202: "JobPending"},
    "recall": {200: "Recalled"},
    "search_memories": {200: "FoundMemories"},
    "list_tools": {200: "Tools"},
    "call_tool": {200: "ToolMessage"},
    "list_static_facts": {200: "StaticFacts"},
    "put_static_fact": {201: "StaticFact", 200: "StaticFact"},
    "delete_static_fact": {200: "Deleted"},
    "read_memory_history": {200: "MemoryVersions"},
    "revert_memory": {200: "Memory"},
    "forget_memories": {200: "WouldForget JobDone", 202: "JobPending"},
}
"""What each operation answers: models by status, several where it depends on what was asked."""
SAID = {200: "Done", 201: "Created", 202: "Accepted: a job does the rest, see Location"}
EVERYWHERE = (400, 403, 422, 500, 503)
CONFLICTS = frozenset({
    "create_session", "append_messages", "replace_session", "change_session", "remove_messages",
    "change_memory", "revert_memory", "retry_job", "ingest_transcript", "put_static_fact",
})  # fmt: skip
READ_ONLY = frozenset({"change_memory", "delete_memory"})
LARGE = frozenset({
    "list_sessions", "forget_sessions", "read_history", "unfold_compaction", "list_compactions", "get_context",
    "list_memories", "read_memory_history", "forget_memories",
})  # fmt: skip
OPEN: dict[str, tuple[str, str, str]] = {
    "/v1/health": ("health", "Is the service there?", "application/json"),
    "/v1/openapi.json": ("openapi", "This description", "application/json"),
    "/v1/docs": ("docs", "This description as a page", "text/html"),
}
OPEN_CONTENT: dict[str, Json] = {
    "health": {"schema": {"$ref": f"{SCHEMAS}Health"}, "example": EXAMPLES["Health"]},
    "openapi": {"schema": {"type": "object"}, "example": {"openapi": "3.1.0", "info": {"title": TITLE}, "paths": {}}},
    "docs": {"schema": {"type": "string"}, "example": "<!DOCTYPE html>…"},
}


def description() -> Json:
    """The OpenAPI document."""
    app = resolver(ROUTERS)
    made = json.loads(app.get_openapi_json_schema(title=TITLE, version=VERSION))
    schemas = {name: shape for name, shape in made["components"]["schemas"].items() if "Validation" not in name}
    for name, example in (examples.REQUESTS | memory_examples.REQUESTS).items():
        schemas[name]["examples"] = [example]
    for methods in made["paths"].values():
        for method, operation in methods.items():
            operation["responses"] = _responses(operation, method, has_body="requestBody" in operation)
            if body := operation.get("requestBody"):
                body["required"] = method == "put" or _must_say_something(body, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": TITLE, "version": VERSION, "description": DESCRIPTION, "license": {"name": "Apache-2.0"}},
        "servers": [{"url": "/"}],
        "security": [{"key": []}],
        "paths": dict(sorted((made["paths"] | _open_paths()).items())),
        "components": {
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer", "description": "An API key: `pal_…`"}},
            "schemas": dict(sorted((schemas | _answer_schemas()).items())),
            "responses": {f"Problem{status}": _problem(status) for status in (*EVERYWHERE, 404, 405, 409, 413)}
            | {"Gateway401": _gateway("No key"), "Gateway429": _gateway("Too many requests")},
        },
    }


def _must_say_something(body: Json, schemas: Json) -> bool:
    """A body that may be `{}` may be left out."""
    shape = schemas[body["content"]["application/json"]["schema"]["$ref"].removeprefix(SCHEMAS)]
    return "required" in shape or "minProperties" in shape


def _responses(operation: Mapping[str, Any], method: str, *, has_body: bool) -> Json:
    name = operation["operationId"]
    given = {str(status): _answer(status, models) | _links(name) for status, models in ANSWERS[name].items()}
    refused = {str(status): _ref(f"Problem{status}") for status in _refusals(operation, method, has_body=has_body)}
    return given | dict(sorted((refused | {"401": _ref("Gateway401"), "429": _ref("Gateway429")}).items()))


def _refusals(operation: Mapping[str, Any], method: str, *, has_body: bool) -> Iterator[int]:
    name = operation["operationId"]
    yield from EVERYWHERE
    if any(parameter["in"] == "path" for parameter in operation.get("parameters", ())):
        yield 404
    if name in READ_ONLY:
        yield 405
    if name in CONFLICTS:
        yield 409
    if has_body or name in LARGE or method in ("post", "put", "patch"):
        yield 413


def _answer(status: int, models: str) -> Json:
    names = models.split()
    refs = [{"$ref": SCHEMAS + name} for name in names]
    content = {"schema": refs[0] if len(refs) == 1 else {"oneOf": refs}, "example": EXAMPLES[names[0]]}
    answer: Json = {"description": SAID[status], "content": {"application/json": content}}
    if status == HTTPStatus.ACCEPTED:
        answer["headers"] = {"Location": {"description": "Where the job can be read", "schema": {"type": "string"}}}
    return answer


def _links(name: str) -> Json:
    return {"links": found} if (found := links(name)) else {}


def _problem(status: int) -> Json:
    content = {"schema": {"$ref": f"{SCHEMAS}Problem"}, "example": EXAMPLES["Problem"] | _like(status)}
    return {"description": problems.title(HTTPStatus(status)), "content": {problems.CONTENT_TYPE: content}}


def _like(status: int) -> Json:
    found = next((kind for kind, known in problems.STATUS.items() if known == status), None)
    if status == HTTPStatus.UNPROCESSABLE_ENTITY:
        return {}
    code = found.code if found else problems.INTERNAL_ERROR
    title = problems.title(HTTPStatus(status))
    return {
        "type": f"urn:palimpsest:problem:{code}",
        "title": title,
        "status": status,
        "detail": title,
        "code": code,
        "retryable": bool(found and found.retryable),
        "errors": [],
    }


def _gateway(said: str) -> Json:
    schema = {"type": "object", "properties": {"message": {"type": "string"}}}
    return {
        "description": f"{said}: the gateway's own answer",
        "content": {"application/json": {"schema": schema, "example": {"message": said}}},
    }


def _ref(name: str) -> Json:
    return {"$ref": f"#/components/responses/{name}"}


def _answer_schemas() -> Json:
    names = {name for models in ANSWERS.values() for answer in models.values() for name in answer.split()}
    wanted: list[tuple[type[BaseModel], Literal["serialization"]]] = [
        (_document(name), "serialization") for name in sorted(names | {"Health", "Problem"})
    ]
    _, defined = models_json_schema(wanted, by_alias=True, ref_template=SCHEMAS + "{model}")
    return dict(defined["$defs"])


def _document(name: str) -> type[BaseModel]:
    rooms = (documents, job_documents, memory_documents)
    found: type[BaseModel] = next(getattr(room, name) for room in rooms if hasattr(room, name))
    return found


def _open_paths() -> Json:
    paths = {}
    for path, (name, summary, kind) in OPEN.items():
        answer = {"description": summary, "content": {kind: OPEN_CONTENT[name]}}
        operation = {"operationId": name, "summary": summary, "description": "No key is needed.", "tags": ["site"]}
        responses = {"200": answer, "429": _ref("Gateway429")}
        paths[path] = {"get": operation | {"security": [], "responses": responses}}
    return paths


def written() -> str:
    """The document as it is checked in."""
    return json.dumps(description(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(written())
