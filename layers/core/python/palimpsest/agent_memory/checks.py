"""Check what a program says as the API checks a request, and read lists page by page."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from palimpsest.api.problems import refusal
from palimpsest.errors import BadRequest
from palimpsest.incoming import json_object

PAGE = 100

Body = TypeVar("Body", bound=BaseModel)
Row = TypeVar("Row")
Said = str | Mapping[str, Any]
"""A chat message, or the user's text."""


def pages(page: Callable[[Any], tuple[Sequence[Row], Any]]) -> Iterator[Row]:
    after = None
    while True:
        rows, after = page(after)
        yield from rows
        if after is None:
            return


def message_of(said: Said) -> Said:
    return {"role": "user", "content": said} if isinstance(said, str) else said


def read(kind: type[Body], **said: Any) -> Body:
    """Check the fields as the API checks a request; what is None is not given. Raises its
    errors.
    """
    return checked(
        kind,
        {k: value for k, value in said.items() if value is not None or k not in kind.model_fields},
    )


def checked(kind: type[Body], said: Mapping[str, Any]) -> Body:
    try:
        return kind.model_validate(json_of(said))
    except ValidationError as error:
        raise refusal(
            [{**fault, "loc": ("body", *fault["loc"])} for fault in error.errors()]
        ) from error


def json_of(said: Mapping[str, Any]) -> dict[str, Any]:
    try:
        text = json.dumps(said, default=dict)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadRequest("This can't be written as JSON.", code="invalid_json") from error
    return json_object(text)
