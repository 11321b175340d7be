"""Reads JSON that can be stored: all of it is Unicode text, finite numbers, and nested no deeper than can be walked."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from math import isfinite
from typing import Any, NoReturn

from palimpsest.errors import BadRequest, FieldError

MAX_DEPTH = 64
ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def json_object(text: str) -> dict[str, Any]:
    """As `read_json`, for an object; anything else is `BadRequest` (`invalid_json`), too."""
    value = read_json(text)
    if not isinstance(value, dict):
        raise BadRequest("This must be a JSON object.", code="invalid_json")
    return value


def read_json(text: str) -> Any:
    """What the text says. Raises `BadRequest`: `invalid_json` for what is no JSON, is nested too deep, or holds NaN or
    a number too large for a double; `invalid_unicode` for half a surrogate pair, which no store and no model can hold.
    """
    try:
        value = json.loads(text, parse_constant=_no_number, parse_float=_finite)
    except RecursionError as error:
        raise _too_deep() from error
    except ValueError as error:  # JSONDecodeError, or a number with too many digits
        where = f" at character {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
        raise BadRequest(f"This is not JSON{where}.", code="invalid_json") from error
    _check_depth(value)
    if ESCAPED_SURROGATE.search(text):
        _check_unicode(value)
    return value


def _no_number(name: str) -> NoReturn:
    raise BadRequest(f"{name} is not JSON.", code="invalid_json")


def _finite(text: str) -> float:
    number = float(text)
    return number if isfinite(number) else _no_number("A number too large for a double")


def _too_deep() -> BadRequest:
    return BadRequest(f"This is nested deeper than {MAX_DEPTH} levels.", code="invalid_json")


def _check_depth(value: Any) -> None:
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(MAX_DEPTH):
        if not level:
            return
        level = [child for node in level for child in _children(node) if isinstance(child, dict | list)]
    raise _too_deep()


def _children(node: Any) -> Any:
    return node.values() if isinstance(node, dict) else node


def _check_unicode(value: Any) -> None:
    for path, text in _texts(value, ""):
        try:
            text.encode()
        except UnicodeEncodeError as error:
            errors = (FieldError(path or "body", "holds half of a surrogate pair"),)
            detail = f"{path or 'body'} is not Unicode text."
            raise BadRequest(detail, code="invalid_unicode", errors=errors) from error


def _texts(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Every text with its path; a key counts as a text of the object it stands in."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _texts(item, f"{path}.{number}".lstrip("."))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield path, key
            yield from _texts(item, f"{path}.{key}".lstrip("."))
