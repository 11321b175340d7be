"""Writes the client's types from the service's OpenAPI description: `python
layers/client/write_types.py`.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
DESCRIPTION = HERE.parent / "description" / "python" / "palimpsest_description" / "openapi.json"
TYPES = HERE / "python" / "palimpsest_client" / "types.py"
HEAD = '''"""The types of the service's inputs and answers. `write_types.py` writes this file."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict
'''
WANTED = (
    "AnyFilter",
    "Appended",
    "Compaction",
    "Context",
    "Deleted",
    "EndedSession",
    "FeedbackTaken",
    "Filter",
    "Found",
    "GraphEntity",
    "GraphRelationship",
    "GraphRows",
    "Health",
    "HistoryMessage",
    "Job",
    "ListedJob",
    "ListedUser",
    "Memory",
    "ModelCall",
    "NamedUser",
    "Neighbors",
    "Preference",
    "Recalled",
    "Review",
    "SavedMemory",
    "Session",
    "StaticFact",
    "TenantSettings",
    "ToolResult",
    "Used",
    "User",
    "UserProfile",
    "WindowEmptied",
)
"""The types that the client's methods accept and return. The types that these contain are written
too.
"""
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


def written(description: dict[str, Any]) -> str:
    """Return the source of the module of types."""
    schemas = description["components"]["schemas"]
    reached: set[str] = set()
    waiting = list(WANTED)
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += re.findall(r'"#/components/schemas/(\w+)"', json.dumps(schemas[name]))
    return HEAD + "".join(_declared(name, schemas[name]) for name in sorted(reached))


def _declared(name: str, schema: dict[str, Any]) -> str:
    fields = {
        field: _annotation(field, shape, schema) for field, shape in schema["properties"].items()
    }
    if not all(field.isidentifier() and field != "from" for field in fields):
        listed = "".join(
            f'        "{field}": {_now(annotation)},\n' for field, annotation in fields.items()
        )
        return f'\n\n{name} = TypedDict(\n    "{name}",\n    {{\n{listed}    }},\n)\n'
    return f"\n\nclass {name}(TypedDict):\n" + "".join(
        f"    {field}: {kind}\n" for field, kind in fields.items()
    )


def _now(annotation: str) -> str:
    """Return the annotation for places where it is evaluated at once. A type that is declared later
    is in quotation marks.
    """
    names = set(re.findall(r"\b[A-Z]\w+", annotation)) - {"Any", "Literal", "NotRequired", "None"}
    return json.dumps(annotation) if names else annotation


def _annotation(field: str, shape: dict[str, Any], schema: dict[str, Any]) -> str:
    kind = type_of(shape)
    return kind if field in schema.get("required", ()) else f"NotRequired[{kind}]"


def type_of(shape: dict[str, Any] | bool) -> str:  # noqa: FBT001 - a schema may be true
    """Return the annotation for a schema."""
    if isinstance(shape, bool):
        return "Any"
    if ref := shape.get("$ref"):
        return str(ref).rpartition("/")[2]
    if several := shape.get("anyOf") or shape.get("oneOf"):
        return " | ".join(
            sorted(dict.fromkeys(map(type_of, several)), key=lambda kind: kind == "None")
        )
    if values := shape.get("enum") or [shape[name] for name in ("const",) if name in shape]:
        return f"Literal[{', '.join(map(json.dumps, values)).replace('true', 'True')}]"
    return _plain(shape)


def _plain(shape: dict[str, Any]) -> str:
    kind = shape.get("type")
    if kind == "array":
        return f"list[{type_of(shape.get('items', True))}]"
    if kind == "object":
        return f"dict[str, {type_of(shape.get('additionalProperties', True))}]"
    return PLAIN.get(str(kind), "Any")


if __name__ == "__main__":
    TYPES.write_text(written(json.loads(DESCRIPTION.read_text())))
