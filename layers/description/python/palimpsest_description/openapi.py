"""The OpenAPI description, which is made from the operations. `python -m
palimpsest_description.openapi` prints it; the file `openapi.json` beside this module is its output.
"""

from __future__ import annotations

import json
import sys
from http import HTTPStatus
from typing import Any, get_args

from palimpsest.api import problems
from palimpsest.api.app import resolver
from palimpsest.api.call import KEY, OWNER
from palimpsest.api.fields import LIKE_AN_ID
from palimpsest.api.operations import Function, Operation, operations_of
from pydantic import TypeAdapter
from typing_extensions import is_typeddict

from palimpsest_description import examples, memory_examples
from palimpsest_description.links import links

Json = dict[str, Any]
OPERATIONS = tuple(
    operation for function in get_args(Function) for operation in operations_of(function)
)
PUBLISHED = {
    "Compaction": "ShownCompaction",
    "Job": "ShownJob",
    "ModelCall": "ShownModelCall",
    "Review": "ShownReview",
    "StaticFact": "ShownStaticFact",
    "TenantSettings": "ShownTenantSettings",
    "Usage": "ShownUsage",
}
"""The names of schemas that differ from the names of their classes here, because the library has
another class of this name.
"""
EXAMPLES = examples.ANSWERS | memory_examples.ANSWERS
REQUESTS = examples.REQUESTS | memory_examples.REQUESTS
SCHEMAS = "#/components/schemas/"
TITLE = "Palimpsest"
VERSION = "1"
DESCRIPTION = (
    "Agent memory as a service: append a conversation's messages, get back a context that always "
    "fits, read every word "
    "of it later, and keep what is worth remembering of each user. Ids are 1 to 128 of `A-Z a-z "
    "0-9 . _ : @ + | = -`. "
    "Bodies and answers stay under 5 MB. "
    "A key with `write` alone reads nothing: fields that show what is stored are blank in the "
    "answers that it gets. "
    "400 is for what can't be parsed or named, 422 for what breaks the schema."
)
TAGS = {
    "sessions": "A session is one conversation of a user, with its configuration: begin, "
    "configure, read, list, end "
    "and delete sessions.",
    "messages": "Append messages to a session and read its history. What is appended is kept word "
    "for word.",
    "context": "The messages to send to the model next: always within the budget, with what is "
    "remembered. What left "
    "the window can be unfolded.",
    "memories": "Facts, events, instructions and tasks remembered of a user: extracted from "
    "conversations, or saved by "
    "hand.",
    "preferences": "What a user prefers: any JSON value under a key, kept for ever and shown in "
    "contexts.",
    "vectors": "Vectors under ids of your own, in namespaces: stored, searched by nearness and "
    "metadata, deleted.",
    "graph": "Entities and the relationships between them: stored, versioned, walked through, and "
    "queried in Cypher.",
    "recall": "Find what is remembered of a user, by question or by search; a tool lets a model "
    "ask by itself.",
    "mcp": "A user's memory as tools of the Model Context Protocol, for clients that speak it.",
    "mem0": "mem0's REST API as a thin layer, for programs that were written for it.",
    "users": "Users of whom anything is remembered. Erasing a user removes everything.",
    "jobs": "Work that outlasts a call, such as a summary or an extraction: read it, wait for it, "
    "try it again.",
    "administration": "Settings and static facts of the tenant. Changing them needs the scope "
    "`admin`.",
    "site": "Pages that need no key.",
}
"""The order of the tags. It follows a user's path through the API. The page shows tags, and the
operations of each, in this order.
"""
PHRASES = {200: "Done", 201: "Created", 202: "Accepted: a job does the rest, see Location"}
NOTHING = {
    202: "Accepted: nothing is answered",
    304: "Not modified: what `If-None-Match` names is current, and nothing is answered",
}
EVERYWHERE = (400, 401, 403, 422, 500, 503)
OWNER_PARAMETER = {
    "name": OWNER,
    "in": "query",
    "required": False,
    "description": "The user of the session. A session of another user is not found",
    "schema": {"type": "string", **LIKE_AN_ID},
}
KEY_PARAMETER = {
    "name": KEY,
    "in": "header",
    "required": False,
    "description": "If the same request is sent again with the same key within a day, it makes "
    "nothing new and names what the first request made",
    "schema": {"type": "string", **LIKE_AN_ID},
}
TEXTS = frozenset({"UserProfile"})
"""Answers that are also available as plain text."""
PAGES = {"application/json": {"type": "object"}, "text/html; charset=utf-8": {"type": "string"}}
PAGE_EXAMPLES = {
    "openapi": {"openapi": "3.1.0", "info": {"title": TITLE}, "paths": {}},
    "docs": "<!DOCTYPE html>…",
} | {"console": "<!DOCTYPE html>…"}


def description() -> Json:
    """Return the OpenAPI document."""
    behind_a_key = tuple(operation for operation in OPERATIONS if operation.function != "site")
    made = json.loads(resolver(behind_a_key).get_openapi_json_schema(title=TITLE, version=VERSION))
    requests = {
        name: shape
        for name, shape in made["components"]["schemas"].items()
        if "Validation" not in name
    }
    for name, example in REQUESTS.items():
        requests[name]["examples"] = [example]
    _move_defaults(requests)
    paths: Json = {}
    for operation in sorted(OPERATIONS, key=lambda known: [*TAGS].index(known.tag)):
        stated = made["paths"].get(operation.path, {}).get(operation.method.lower(), {})
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(
            operation, stated, requests
        )
    return {
        "openapi": "3.1.0",
        "info": {
            "title": TITLE,
            "version": VERSION,
            "description": DESCRIPTION,
            "license": {"name": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"key": []}],
        "tags": [{"name": name, "description": text} for name, text in TAGS.items()],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer", "description": "An API key: `pal_…`"}
            },
            "schemas": _by_any_name(dict(sorted(_apart(requests, _answer_schemas()).items()))),
            "responses": {
                f"Problem{status}": _problem(status) for status in (*EVERYWHERE, 404, 405, 409, 413)
            }
            | {"Gateway429": _gateway("Too many requests"), "Limit429": _limit()},
        },
    }


def _operation(known: Operation, stated: Json, requests: Json) -> Json:
    made: Json = {
        "tags": [known.tag],
        "summary": known.summary,
        "description": known.description,
        "operationId": known.name,
        "x-function": known.function,
    }
    if known.function == "site":
        refused = {str(status): _ref(f"Problem{status}") for status in known.refuses}
        return made | {
            "security": [],
            "responses": {"200": _page(known)} | refused | {"429": _ref("Gateway429")},
        }
    made["x-scopes"] = list(known.scopes)
    parameters = [*stated.get("parameters", ())]
    if known.makes:
        parameters.append(KEY_PARAMETER)
    if known.takes_owner:
        parameters.append(OWNER_PARAMETER)
    if parameters:
        made["parameters"] = parameters
    if body := stated.get("requestBody"):
        made["requestBody"] = _request_body(known, body, requests)
    return made | {
        "responses": _responses(
            known, has_path_ids="{" in known.path, has_body="requestBody" in stated
        )
    }


def _request_body(known: Operation, body: Json, requests: Json) -> Json:
    """Return the body with an example, and whether a request must have it. A body that may be `{}`
    may be left out.
    """
    content = body["content"]["application/json"]
    shape = requests[content["schema"]["$ref"].removeprefix(SCHEMAS)]
    must_hold_something = "required" in shape or "minProperties" in shape
    # Tools read the example of a body more often than that of its schema.
    examples = _example(shape["examples"][0]) if "examples" in shape else {}
    return body | {
        "content": {"application/json": content | examples},
        "required": known.method == "PUT" or must_hold_something,
    }


def _example(value: Any) -> Json:
    """Return the example of a content. RapiDoc can't show an `example` whose fields are null."""
    return {"examples": {"example": {"value": value}}}


def _move_defaults(schema: Any) -> None:
    """State each default of a field in the field's description, and remove `default` itself. Code
    generators would make fields with a `default` required.
    """
    if isinstance(schema, list):
        for part in schema:
            _move_defaults(part)
    elif isinstance(schema, dict):
        fields = schema.get("properties", {})
        for field in fields.values():
            default = field.pop("default", None)
            if default not in (None, {}, []):
                text = field.get("description", "")
                field["description"] = f"{text}{'. ' if text else ''}Default: {json.dumps(default)}"
        others = [part for name, part in schema.items() if name not in ("examples", "properties")]
        _move_defaults([*fields.values(), *others])


def _responses(known: Operation, *, has_path_ids: bool, has_body: bool) -> Json:
    responses = {
        str(status): _answer(status, models) | _links(known.name)
        for status, models in known.answers.items()
    }
    refused = {*EVERYWHERE, *known.refuses}
    refused |= {404} if has_path_ids else set()
    refused |= {413} if has_body or known.method in ("POST", "PUT", "PATCH") else set()
    problem = {str(status): _ref(f"Problem{status}") for status in refused - known.answers.keys()}
    for status in refused & known.answers.keys():
        responses[str(status)]["content"] |= _problem(status)["content"]
    return responses | dict(sorted((problem | {"429": _ref("Limit429")}).items()))


def _answer(status: int, models: str) -> Json:
    if not models:
        return {"description": NOTHING[status]}
    names = models.split(" | ")
    if models.endswith("[]"):
        names = [models.removesuffix("[]")]
        listed: Json = {"type": "array", "items": {"$ref": SCHEMAS + names[0]}}
        content: Json = {"schema": listed} | _example([EXAMPLES[names[0]]])
        return {"description": PHRASES[status], "content": {"application/json": content}}
    refs = [{"$ref": SCHEMAS + name} for name in names]
    schema: Json = refs[0] if len(refs) == 1 else {"anyOf": refs}
    content = {"schema": schema} | _example(EXAMPLES[names[0]])
    answer: Json = {
        "description": PHRASES.get(status, "Refused"),
        "content": {"application/json": content},
    }
    if names[0] in TEXTS:
        text = {"schema": {"type": "string"}} | _example(EXAMPLES[names[0]]["text"])
        answer["content"]["text/plain"] = text
        answer["headers"] = {
            "ETag": {"description": "Changes with the text", "schema": {"type": "string"}}
        }
    if status == HTTPStatus.ACCEPTED:
        answer["headers"] = {
            "Location": {"description": "Where the job can be read", "schema": {"type": "string"}}
        }
    return answer


def _page(known: Operation) -> Json:
    kind = known.answers[200]
    if kind not in PAGES:
        return _answer(200, kind)
    content = {"schema": PAGES[kind]} | _example(PAGE_EXAMPLES[known.name])
    return {"description": known.summary, "content": {kind.partition(";")[0]: content}}


def _links(name: str) -> Json:
    return {"links": known} if (known := links(name)) else {}


def _problem(status: int) -> Json:
    schema = {"$ref": f"{SCHEMAS}Problem"}
    content = {"schema": schema} | _example(EXAMPLES["Problem"] | _like(status))
    return {
        "description": problems.title(HTTPStatus(status)),
        "content": {problems.CONTENT_TYPE: content},
    }


def _like(status: int) -> Json:
    kind = next((kind for kind, known in problems.STATUS.items() if known == status), None)
    if status == HTTPStatus.UNPROCESSABLE_ENTITY:
        return {}
    code = kind.code if kind else problems.INTERNAL_ERROR
    title = problems.title(HTTPStatus(status))
    return {
        "type": f"urn:palimpsest:problem:{code}",
        "title": title,
        "status": status,
        "detail": title,
        "code": code,
        "retryable": bool(kind and kind.retryable),
        "errors": [],
    }


def _gateway(message: str) -> Json:
    schema = {"type": "object", "properties": {"message": {"type": "string"}}}
    return {
        "description": f"{message}: the gateway's own answer",
        "content": {"application/json": {"schema": schema} | _example({"message": message})},
    }


def _limit() -> Json:
    """Return the answer for a limit of the tenant or of the gateway."""
    gateway, problem = _gateway("Too many requests"), _problem(429)
    text = "A limit that the tenant has set, or the gateway's own answer to too many requests"
    return {"description": text, "content": gateway["content"] | problem["content"]}


def _ref(name: str) -> Json:
    return {"$ref": f"#/components/responses/{name}"}


def _answer_schemas() -> Json:
    """Return the schemas of all answers. An answer may hold fields that its schema does not name
    only if the schema itself allows it.
    """
    names = {
        name
        for operation in OPERATIONS
        for models in operation.answers.values()
        for name in models.removesuffix("[]").split(" | ")
        if name
    }
    shapes = [problems.Problem, *(_shape(name) for name in sorted(names - PAGES.keys()))]
    adapters: Any = [(shape, "serialization", TypeAdapter(shape)) for shape in shapes]
    _, defined = TypeAdapter.json_schemas(adapters, ref_template=SCHEMAS + "{model}")
    for shape in defined["$defs"].values():
        if shape.get("type") == "object":
            shape.setdefault("additionalProperties", False)
    return _published(defined["$defs"])


def _published(shapes: Json) -> Json:
    """Return the same schemas under their published names."""
    written = json.dumps(shapes)
    for public, inner in PUBLISHED.items():
        written = written.replace(f'"{SCHEMAS}{inner}"', f'"{SCHEMAS}{public}"')
        written = written.replace(f'"title": "{inner}"', f'"title": "{public}"')
    names = {inner: public for public, inner in PUBLISHED.items()}
    return {names.get(name, name): shape for name, shape in json.loads(written).items()}


def _shape(name: str) -> Any:
    """Return the typed dictionary of this schema, from the module of the API that defines it."""
    inner = PUBLISHED.get(name, name)
    modules = [
        module for place, module in sys.modules.items() if place.startswith("palimpsest.api.")
    ]
    return next(shape for module in modules if is_typeddict(shape := getattr(module, inner, None)))


def _apart(requests: Json, answers: Json) -> Json:
    """Return the schemas of requests and answers together. Raises `ValueError` if one name is used
    for two different schemas.
    """
    both = {name for name in requests.keys() & answers.keys() if requests[name] != answers[name]}
    if both:
        message = f"two shapes have one name: {', '.join(sorted(both))}"
        raise ValueError(message)
    return requests | answers


def _by_any_name(shapes: Any) -> Any:
    """Return the schemas with a pattern of property names as `propertyNames`. So it says that other
    names are refused, and the page that shows the description can read it.
    """
    if isinstance(shapes, list):
        return [_by_any_name(shape) for shape in shapes]
    if not isinstance(shapes, dict):
        return shapes
    made = {name: _by_any_name(shape) for name, shape in shapes.items()}
    if patterns := made.pop("patternProperties", None):
        ((pattern, values),) = patterns.items()
        made["additionalProperties"] = values
        made["propertyNames"] = {**made.get("propertyNames", {}), "pattern": pattern}
    return made


def written() -> str:
    """Return the document as it is checked in."""
    return json.dumps(description(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(written())
