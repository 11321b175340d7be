"""The JSON schemas of tool arguments as models see them, made from the bodies that check the
arguments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from pydantic import BaseModel

from palimpsest.api.fields import Json

Schema = Mapping[str, Any]

LEFT_OUT = ("title", "default", "$ref", "anyOf")


@cache
def schema_of(body: type[BaseModel], shown: tuple[str, ...]) -> Json:
    """Return the schema of the fields in `shown`. A name such as `filter.types` selects a field of
    a field. The body may accept more fields than are shown to models, because each shown field
    costs tokens in every call.
    """
    whole = body.model_json_schema()
    return _object(whole, shown, whole.get("$defs", {}))


def _object(schema: Schema, shown: Sequence[str], definitions: Schema) -> Json:
    inner: dict[str, list[str]] = {}
    for path in shown:
        name, _, rest = path.partition(".")
        inner.setdefault(name, []).extend([rest] if rest else [])
    fields = schema["properties"]
    required = [name for name in schema.get("required", ()) if name in inner]
    made: Json = {
        "type": "object",
        "properties": {name: _field(fields[name], inner[name], definitions) for name in inner},
        "additionalProperties": False,
    }
    return {**made, "required": required} if required else made


def _field(field: Schema, shown: Sequence[str], definitions: Schema) -> Json:
    """Return a field's schema in a form that every client can read: without null, references or
    titles.
    """
    kinds = [kind for kind in field.get("anyOf", (field,)) if kind.get("type") != "null"]
    kind = kinds[0]
    own = {name: value for name, value in field.items() if name not in LEFT_OUT}
    if field.get("default") is not None:
        own["default"] = field["default"]
    if "$ref" not in kind:
        return {**{name: value for name, value in kind.items() if name not in LEFT_OUT}, **own}
    definition = definitions[kind["$ref"].rpartition("/")[2]]
    return {**_object(definition, shown, definitions), **own}
