"""The filters of memories and the metadata that filters match, as bodies and query parameters."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite
from typing import Annotated, Any

from pydantic import AfterValidator, Field, WithJsonSchema

from palimpsest.api.fields import NOT_BLANK, Closed, Timestamp, milliseconds_of, not_blank
from palimpsest.api.resources.chat import Id
from palimpsest.errors import FieldError, Unprocessable
from palimpsest.memory import filters
from palimpsest.memory.conditions import OPERATORS, RANGES, leaves, place
from palimpsest.memory.preferences import TOPICS as PREFERENCES
from palimpsest.memory.record import MAX_METADATA_TERMS, ListedType
from palimpsest.scope import ID_PATTERN
from palimpsest.text.analyser import topic_key as key_of

MAX_TOPIC_KEY = 80
MAX_TERM = 256  # characters of a metadata value
MAX_NAME = 64
MOST_IN = 20
NAME = r"^[^=]*$"
Scalar = str | int | float | bool


def _topic(text: str) -> str:
    """Return the text unchanged. Raises `ValueError` unless it has a letter or digit, and at most
    80 characters once it is folded into words joined by `_`.
    """
    words = re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold())
    if not "_".join(words).strip("_"):
        raise ValueError("must hold a letter or digit")
    if len("_".join(words)) > MAX_TOPIC_KEY:
        message = f"must have at most {MAX_TOPIC_KEY} characters as words joined by _"
        raise ValueError(message)
    return text


def _scalar(value: Any) -> Scalar:
    if not isinstance(value, Scalar) or (isinstance(value, float) and not isfinite(value)):
        raise ValueError("must be a text, a number, true or false")
    if isinstance(value, str) and len(value) > MAX_TERM:
        message = f"must have at most {MAX_TERM} characters"
        raise ValueError(message)
    return value


def _metadata(value: Any) -> Any:
    """Return a metadata value unchanged. Raises `ValueError` if it, or a value nested in it, could
    not be matched by a filter.
    """
    names = [
        name
        for name in _names(value)
        if not re.fullmatch(NAME, name) or not 0 < len(name) <= MAX_NAME
    ]
    if names:
        message = f"names have 1 to {MAX_NAME} characters and no ="
        raise ValueError(message)
    for _, leaf in leaves(value, "value"):
        if not isinstance(leaf, Mapping | list):
            _scalar(leaf)
    return value


def _names(value: Any) -> Iterator[str]:
    parts: Iterable[Any] = value if isinstance(value, list) else ()
    if isinstance(value, Mapping):
        yield from value
        parts = value.values()
    for part in parts:
        yield from _names(part)


def _few(metadata: dict[str, Any]) -> dict[str, Any]:
    if sum(1 for _ in leaves(metadata)) > MAX_METADATA_TERMS:
        message = f"must hold at most {MAX_METADATA_TERMS} values"
        raise ValueError(message)
    return metadata


def _condition(value: Any) -> Any:
    """Return a filter's condition on one path unchanged: a value, or operators with values. Raises
    `ValueError` for anything else.
    """
    if not isinstance(value, Mapping):
        return _scalar(value)
    if not value or not value.keys() <= OPERATORS:
        message = (
            f"must be a text, a number, true, false, or an object of {', '.join(sorted(OPERATORS))}"
        )
        raise ValueError(message)
    for operator, operand in value.items():
        _operand(operator, operand)
    return value


def _operand(operator: str, operand: Any) -> None:
    if operator == "exists":
        if not isinstance(operand, bool):
            raise ValueError("the operator exists takes true or false")
    elif operator == "in":
        if not isinstance(operand, list) or not 1 <= len(operand) <= MOST_IN:
            message = f"the operator in takes a list of 1 to {MOST_IN} values"
            raise ValueError(message)
        for part in operand:
            _scalar(part)
    elif place(_scalar(operand)) is None and operator in RANGES:
        message = f"the operator {operator} takes a number, or a time in ISO 8601"
        raise ValueError(message)


TopicKey = Annotated[str, Field(max_length=1_000), AfterValidator(_topic)]
Subject = Annotated[
    str, Field(max_length=200, json_schema_extra=NOT_BLANK), AfterValidator(not_blank)
]
Share = Annotated[float, Field(ge=0, le=1)]
TermName = Annotated[str, Field(min_length=1, max_length=64, pattern=NAME)]
Path = Annotated[str, Field(min_length=1, max_length=256, pattern=NAME)]
Metadata = Annotated[
    dict[TermName, Annotated[Any, AfterValidator(_metadata)]],
    AfterValidator(_few),
    Field(
        max_length=MAX_METADATA_TERMS,
        description="Values that filters match, by name: texts, numbers, true and false, also "
        "nested in objects and "
        "lists; 64 values at most",
    ),
]
_PREFERENCE = re.compile(f"{PREFERENCES}{ID_PATTERN}")
SCALARS = [{"type": kind} for kind in ("string", "number", "boolean")]
RANGED = {"description": "A number, or a time as a text in ISO 8601", "anyOf": SCALARS[:2]}
Condition = Annotated[
    Any,
    AfterValidator(_condition),
    WithJsonSchema(
        {
            "anyOf": [
                *SCALARS,
                {
                    "type": "object",
                    "minProperties": 1,
                    "additionalProperties": False,
                    "properties": {
                        "eq": {"anyOf": SCALARS},
                        "ne": {"anyOf": SCALARS},
                        **dict.fromkeys(sorted(RANGES), RANGED),
                        "in": {
                            "type": "array",
                            "minItems": 1,
                            "maxItems": MOST_IN,
                            "items": {"anyOf": SCALARS},
                        },
                        "exists": {"type": "boolean"},
                    },
                },
            ]
        }
    ),
]
Conditions = Annotated[
    dict[Path, Condition],
    Field(
        max_length=MAX_METADATA_TERMS,
        description="Conditions on metadata, by name; names of nested values are joined by dots. "
        "A condition is a value, or an object with operators. `ne` is also met where there is no "
        "value. Of a list, one matching value is enough",
    ),
]


class Filter(Closed):
    """Conditions, all of which must hold. Values match exactly. Limits of numbers and times are
    inclusive.
    """

    types: Annotated[
        list[ListedType], Field(max_length=5, default_factory=list, description="Only these types")
    ]
    min_importance: Share | None = None
    max_importance: Share | None = None
    min_confidence: Share | None = None
    max_confidence: Share | None = None
    created_after: Annotated[Timestamp | None, Field(description="Not earlier than this time")] = (
        None
    )
    created_before: Annotated[Timestamp | None, Field(description="Not later than this time")] = (
        None
    )
    subject: Annotated[
        Subject | None, Field(description="Only memories about this person or thing")
    ] = None
    topic_key: Annotated[TopicKey | None, Field(description="The topic that it belongs to")] = None
    session_id: Annotated[Id | None, Field(description="The session that it comes from")] = None
    agent_id: Id | None = None
    metadata: Annotated[Conditions, Field(default_factory=dict)]

    def read(self) -> filters.MemoryFilter:
        return filters.MemoryFilter(
            types=frozenset(self.types),
            min_importance=self.min_importance,
            max_importance=self.max_importance,
            min_confidence=self.min_confidence,
            max_confidence=self.max_confidence,
            created_after=milliseconds_of(self.created_after),
            created_before=milliseconds_of(self.created_before),
            subject=self.subject,
            topic=stored_topic(self.topic_key),
            session=self.session_id,
            agent=self.agent_id,
            metadata=self.metadata,
        )


def stored_topic(key: str | None) -> str | None:
    """Return a topic's key in the form in which it is stored. The key of a preference stays
    unchanged.
    """
    return key if key is None or _PREFERENCE.fullmatch(key) else key_of(key) or key


def read_terms(sent: Sequence[str]) -> dict[str, Any] | None:
    """Return the conditions of a query parameter by path; None if there are none. A term is
    `name=value` or `name[operator]=value`; the operator `in` is repeated for each value.

    A value that is a JSON number, true, false or a quoted text is read as JSON. Any other value is
    a text. Raises `Unprocessable`.
    """
    if len(sent) > MAX_METADATA_TERMS:
        raise _refused(f"at most {MAX_METADATA_TERMS} terms")
    terms: dict[str, Any] = {}
    for term in sent:
        name, has_value, value = term.partition("=")
        if not name or not has_value:
            raise _refused("must be name=value")
        path, _, operator = name.removesuffix("]").rpartition("[")
        if not path or not name.endswith("]") or operator not in OPERATORS:
            terms[name] = _value_of(value)
            continue
        known = terms.get(path)
        operators = known if isinstance(known, dict) else {}
        read = _value_of(value)
        terms[path] = operators | {
            operator: [*operators.get(operator, ()), read] if operator == "in" else read
        }
    try:
        return {path: _condition(wanted) for path, wanted in terms.items()} or None
    except ValueError as error:
        raise _refused(str(error)) from error


def _value_of(text: str) -> Scalar:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, Scalar) else text


def _refused(message: str) -> Unprocessable:
    return Unprocessable(
        f"The request breaks the schema: metadata: {message}",
        errors=(FieldError("metadata", message),),
    )
